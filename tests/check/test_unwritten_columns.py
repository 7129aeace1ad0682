"""Tensor memory that is read where nothing was written: kernels by the text, right and wrong ones side by side.

9.7.16.7.1 says nothing of what is in columns that are allocated. D = A*B + D adds to them, where enable-input-d
is true (9.7.16.10.9.1). A case is a kernel with some of its lines replaced: one thread multiplies for some rounds
into one accumulator, and all then load it. The ways in which libraries begin a sum stand beside each other.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .changed_kernels import Lines, Told, told
from .test_tensor_order import (
    AFTER,
    BLOCK,
    COMMIT,
    FULL,
    HEAD,
    KNOWN,
    LAST,
    LOAD,
    LOADED,
    MULTIPLY,
    STORE,
    STORED,
    TAIL,
    USE,
    WIDE,
)

ADD = MULTIPLY.replace(", 0;", ", %p5;")
FIRST = "setp.ne.u32 %p5, %r5, 0;\n"
NEXT = "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, %r9;\n@%p4 bra ROUND;\n"
BEGIN = "setp.eq.u32 %p6, %r9, 0;\n@%p6 bra END;\n"
SUM = (
    HEAD.replace("THREADS", "128").replace("ALLOCATES", "0").replace("ISSUES", "0")
    + f"{BEGIN}mov.u32 %r6, 0;\n@!%p2 bra RESULT;\nROUND:\n{FIRST}{ADD}{NEXT}{COMMIT}"
    + f"RESULT:\nbar.warp.sync -1;\n{FULL}{AFTER}{LOAD}{LAST}{LOADED}{USE}{TAIL}"
)
UNWRITTEN = ("reading", "tensor-unwritten")
ZEROS = f"tcgen05.st.sync.aligned.32x32b.x32.b32 [%r4], {{{','.join(['%r5'] * 32)}}};\n"
ISSUE = "@!%p2 bra RESULT;\n"
ALWAYS = [(FIRST, ""), (ADD, MULTIPLY.replace(", 0;", ", 1;"))]
SCALED = 32 >> 3 << 17 | 1 << 23 | 128 >> 7 << 27
SCALE = (
    "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X "
    f"[%r3], %rd1, %rd1, {SCALED}, [%r7], [%r8], %p5;\n"
)
COPY = "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r7], %rd1;\ntcgen05.cp.cta_group::1.32x128b.warpx4 [%r8], %rd1;\n"
COLUMNS = "add.u32 %r7, %r3, 64;\nadd.u32 %r8, %r3, 68;\n"

SUMS: dict[str, tuple[Lines, Told]] = {
    "every round but the first one adds": ([], []),
    "every round adds": (ALWAYS, [UNWRITTEN]),
    "only the first round adds": ([(FIRST, FIRST.replace("ne", "eq"))], [UNWRITTEN]),
    "by a negated predicate": ([(FIRST, FIRST.replace("ne", "eq")), (ADD, ADD.replace("%p5", "!%p5"))], []),
    "the negation is forgotten elsewhere": ([(ADD, ADD.replace("%p5", "!%p5"))], [UNWRITTEN]),
    # As CUTLASS does: a register holds whether to add.
    "a register holds it": (
        [(BEGIN, BEGIN + "mov.u32 %r10, 0;\n"), (FIRST, "setp.ne.b32 %p5, %r10, 0;\n"), (NEXT, "mov.u32 %r10, 1;\n" + NEXT)],
        [],
    ),
    "a register holds it from the beginning on": (
        [(BEGIN, BEGIN + "mov.u32 %r10, 1;\n"), (FIRST, "setp.ne.b32 %p5, %r10, 0;\n"), (NEXT, "mov.u32 %r10, 1;\n" + NEXT)],
        [UNWRITTEN],
    ),
    # As DeepGEMM does: rounds and products within a round.
    "the first product of the first round": (
        [(ADD, ADD + "or.pred %p5, %p5, 1;\n" + ADD), ("or.pred %p5, %p5, 1", "setp.eq.u32 %p5, 0, 0")],
        [],
    ),
    # As TileLang does: the first product stands before the loop.
    "the first product stands before the loop": (
        [("ROUND:\n", MULTIPLY + "ROUND:\n"), *ALWAYS],
        [],
    ),
    # As Triton does: zeros are stored.
    "all store zeros before": ([(ISSUE, ZEROS + STORED + KNOWN + ISSUE), *ALWAYS], []),
    "all store zeros elsewhere": (
        [(ISSUE, ZEROS.replace("%r4", "%r4+64") + STORED + KNOWN + ISSUE), *ALWAYS],
        [UNWRITTEN],
    ),
    "all store zeros in two halves": (
        [
            (ISSUE, ZEROS.replace("32x32b.x32", "16x32bx2.x32").replace("[%r4],", "[%r4], 64,") + STORED + KNOWN + ISSUE),
            ("[%r3], %rd1", "[%r7], %rd1"), (BEGIN, BEGIN + COLUMNS), ("[%r4];", "[%r4+64];"), ("[%r4+28]", "[%r4+92]"), *ALWAYS[:1],
            (ADD.replace("[%r3]", "[%r7]"), ALWAYS[1][1].replace("[%r3]", "[%r7]")),
        ],
        [],
    ),
    "all store zeros in two halves, and the second one elsewhere": (
        [
            (ISSUE, ZEROS.replace("32x32b.x32", "16x32bx2.x32").replace("[%r4],", "[%r4], 32,") + STORED + KNOWN + ISSUE),
            ("[%r3], %rd1", "[%r7], %rd1"), (BEGIN, BEGIN + COLUMNS), ("[%r4];", "[%r4+64];"), ("[%r4+28]", "[%r4+92]"), *ALWAYS[:1],
            (ADD.replace("[%r3]", "[%r7]"), ALWAYS[1][1].replace("[%r3]", "[%r7]")),
        ],
        [UNWRITTEN],
    ),
    "zeros are stored nobody knows where": (
        [(ISSUE, f"ld.global.u32 %r4, [%rd3];\n{ZEROS}{STORED}{KNOWN}{ISSUE}"), *ALWAYS],
        [],
    ),
    "a parameter says whether it adds": (
        [(FIRST, "ld.param.u32 %r10, [n];\nsetp.gt.u32 %p5, %r10, 3;\n")],
        [],
    ),
    "a number in memory says whether it adds": (
        [(FIRST, "ld.global.u32 %r10, [%rd3];\nsetp.ne.u32 %p5, %r10, 0;\n")],
        [],
    ),
    "the accumulator is not known": ([(ADD, ADD.replace(str(WIDE), "%r20")), (FIRST, FIRST + "ld.global.b32 %r20, [%rd3];\n")], []),
    "scale factors are copied before": ([(BEGIN, BEGIN + COLUMNS), (ADD, COPY + SCALE)], []),
    "scale factors are copied behind": ([(BEGIN, BEGIN + COLUMNS), (ADD, SCALE + COPY)], [UNWRITTEN]),
    "scale factors of one matrix are copied": (
        [(BEGIN, BEGIN + COLUMNS), (ADD, COPY.replace("[%r8]", "[%r7]") + SCALE)],
        [UNWRITTEN],
    ),
    "columns beside the accumulator are loaded": ([(LAST, LAST.replace("+28", "+32"))], [UNWRITTEN]),
    "columns of the accumulator and beside it are loaded": (
        [(LAST, LAST.replace("+28", "+30"))],
        [],
    ),
}  # fmt: skip
OPERANDS: dict[str, tuple[Lines, Told]] = {
    "all store the first matrix": ([], []),
    "nobody stores the first matrix": ([(STORE + STORED + KNOWN, "")], [UNWRITTEN]),
    "the first matrix is stored elsewhere": ([(STORE, STORE.replace("+64", "+96"))], [UNWRITTEN]),
    # As attention does: the first round scales what nobody has written, and its product does not add.
    "what no round has written is loaded, scaled and stored, and not added to": (
        [(STORE + STORED, f"{LOAD}{LOADED}{STORE.replace('+64', '')}{STORE}{STORED}")],
        [],
    ),
    "the first round loads what only its product writes": (
        [(STORE + STORED, f"{LOAD}{LOADED}{STORE}{STORED}")],
        [],
    ),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_begin_somewhere(name: str) -> None:
    lines, expected = SUMS[name]
    assert told(SUM, lines) == expected


@pytest.mark.parametrize("name", OPERANDS)
def test_operands_are_written_before_they_are_read(name: str) -> None:
    lines, expected = OPERANDS[name]
    assert told(BLOCK, lines) == expected


def test_a_finding_says_what_is_added_to() -> None:
    text = SUM.replace(ADD, MULTIPLY.replace(", 0;", ", 1;"))
    (found,) = (one for one in check_text(text, "k.ptx").findings if one.rule == "tensor-unwritten")
    assert "begins a product that adds to columns 0 to 31" in found.message
    assert text.splitlines()[found.place.line - 1].startswith("tcgen05.mma")

"""About which statements of tensor memory `check` says that it did not judge their order: those that no followed
thread comes to, and those of which it does not know what they access. Of a kernel whose threads were all followed it
says nothing; of one in which some were not, that nothing of it was judged.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .test_tensor_order import AFTER, COMMIT, HEAD, LOAD, LOADED, MULTIPLY, STORED, TAIL, WIDE, waited

STORE = LOAD.replace(".ld.", ".st.").replace("{%v0,%v1,%v2,%v3}, [%r4]", "[%r4], {%v0,%v1,%v2,%v3}")
BLOCK = HEAD.replace("THREADS", "128").replace("ALLOCATES", "0").replace("ISSUES", "0")
WHOLE = STORE + STORED + LOAD + LOADED
FROM_MEMORY = "ld.global.u32 %r7, [%rd3];\nsetp.eq.u32 %p5, %r7, 1;\n"
SHIFTED = LOAD.replace("[%r4]", "[%r8]")
MULTIPLIED = f"@%p2 {MULTIPLY}@%p2 {COMMIT}{waited('DONE', 'tile+8', '0')}{AFTER}"
ALL = BLOCK.count("tcgen05.") + TAIL.count("tcgen05.")


def left_open(body: str, head: str = BLOCK) -> list[tuple[int, int]]:
    """How many statements of tensor memory nobody judged, and the line of the first."""
    report = check_text(head + body + TAIL, "k.ptx")
    return [(one.statements, one.place.line) for one in report.not_judged if one.instruction == "tcgen05"]


FIRST = BLOCK.count("\n") + 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (WHOLE, []),
        (MULTIPLIED + WHOLE, []),
        # An address that nobody shows.
        (f"ld.global.u32 %r8, [%rd3];\n{WHOLE}{SHIFTED}{LOADED}", [(1, FIRST + 5)]),
        # Descriptors, and what the product is.
        (f"ld.global.u64 %rd2, [%rd3];\n{MULTIPLIED}{WHOLE}", [(1, FIRST + 1)]),
        (f"ld.global.u32 %r8, [%rd3];\n{MULTIPLIED.replace(str(WIDE), '%r8')}{WHOLE}", [(1, FIRST + 1)]),
        # No thread of this block comes there.
        (f"setp.gt.u32 %p5, %r1, 500;\n@!%p5 bra ON;\n{WHOLE}ON:\n", [(4, FIRST + 2)]),
    ],
    ids=["all", "a product", "an address", "a matrix", "a shape", "nobody comes"],
)
def test_what_is_left_open_is_said_of_single_statements(body: str, expected: list[tuple[int, int]]) -> None:
    assert left_open(body) == expected


@pytest.mark.parametrize(
    ("body", "head"),
    [
        (f"{FROM_MEMORY}@%p5 bra ON;\n{WHOLE}bar.sync 0;\nON:\n", BLOCK),
        (WHOLE, BLOCK.replace(".reqntid 128, 1, 1\n", "")),
    ],
    ids=["a way that nobody shows", "a block of unknown size"],
)
def test_where_threads_are_not_followed_nothing_was_judged(body: str, head: str) -> None:
    ((statements, line),) = left_open(body, head)
    assert statements == ALL + body.count("tcgen05.")
    assert line == head[: head.index("tcgen05.")].count("\n") + 1


def test_what_was_judged_is_not_what_is_right() -> None:
    """A statement that is wrong was judged, too."""
    body = STORE + LOAD + LOADED
    report = check_text(BLOCK + body + TAIL, "k.ptx")
    assert "tensor-store-pending" in {one.rule for one in report.findings}
    assert not report.not_judged


def test_what_is_left_open_beside_tensor_memory_is_said_all_the_same() -> None:
    """A store whose bytes arrive at an mbarrier, in a kernel of which all about tensor memory is judged."""
    sent = "@%p2 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r3], %r1, [%r3];\n"
    report = check_text(BLOCK + WHOLE + sent + TAIL, "k.ptx")
    assert ("st.async", 1) in {(one.instruction, one.statements) for one in report.not_judged}
    assert "tcgen05" not in {one.instruction for one in report.not_judged}

"""Phases that expect fewer bytes than tensor copies bring: kernels by the text, right and wrong ones side by side.

The PTX does not show how many bytes a tensor copy brings. A product reads them, but may read rows that nobody has
copied and nobody needs, of A or of B. So a phase is told that expects no more than products read of each of its
copies, if these bring A and B: the copies of the others bring nothing then. One thread copies, another one of a single
block multiplies.
"""

from __future__ import annotations

import pytest

from .changed_kernels import Lines, Told, told
from .test_tensor_operands import (
    COPIED,
    COPIES,
    COPY,
    EXPECT,
    FREE,
    FULL,
    MATRIX,
    MULTIPLY,
    NEXT_COLUMNS,
    SHAPE,
    waited,
)

WHOLE = [(MULTIPLY, MULTIPLY + NEXT_COLUMNS * 3)]  # all 64 columns of both matrices
SQUARE_SHAPE = SHAPE & ~(63 << 17) | 128 >> 3 << 17
# Both matrices have 128 rows.
SQUARE = [
    *WHOLE,
    ("%r6, 24576", "%r6, 32768"),
    ("tile[49152]", "tile[65536]"),
    (str(SHAPE), str(SQUARE_SHAPE)),
    ("[bars+48], 64", "[bars+48], 128"),
    ("%r3, 64", "%r3, 128"),
]
SHORT: Told = [("likely", "copy-incomplete")]


def expected(bytes_: int) -> tuple[str, str]:
    return EXPECT, EXPECT.replace("24576", str(bytes_))


OTHER = COPIES.replace("[%r8]", "[%r8+48]").replace("[%r10]", "[%r35]").replace("[%r11]", "[%r36]")
# A second mbarrier for the second half of the rows of each matrix.
HALVES = [
    ("bars[64]", "bars[128]"),
    ("[bars+48]", "[bars+80]"),
    ("@%p2 mbarrier.init.shared::cta.b64 [bars], 1;\n", "".join(
        f"@%p2 mbarrier.init.shared::cta.b64 [bars+{at}], 1;\n" for at in (0, 48, 56)
    )),
    (EXPECT, EXPECT + EXPECT.replace("[%r8], 24576", "[%r8+48], 16384")),
    (COPIES, COPIES + "add.u32 %r35, %r10, 8192;\nadd.u32 %r36, %r11, 8192;\n" + OTHER),
    (FULL, FULL + waited("FULL2", "%r8+48", "%r12")),
]  # fmt: skip
STEPS = "add.s64 %rd5, %rd5, 2;\nadd.s64 %rd6, %rd6, 2;\nadd.s64 %rd7, %rd7, 2;\n"
PRODUCTS = MULTIPLY.replace("%rd6", "%rd7") + MULTIPLY.replace("%rd5, %rd6", "%rd6, %rd7")
# A has 128 columns, in two boxes; B lies behind the stages.
WIDE = [
    ("tile[49152]", "tile[81920]"),
    ("%r6, 24576", "%r6, 32768"),
    (
        FULL,
        f"mov.u32 %r20, tile+65536;\nshr.u32 %r20, %r20, 4;\ncvt.u64.u32 %rd7, %r20;\nor.b64 %rd7, %rd7, {MATRIX};\n{FULL}",
    ),
    (MULTIPLY, STEPS.join([PRODUCTS] * 4)),
]
CASES: dict[str, tuple[Lines, Told]] = {
    "right": (WHOLE, []),
    "right, and both matrices have as many rows": ([*SQUARE, expected(32768)], []),
    "right, and what is expected of each copy stands beside it": (
        [*SQUARE, (EXPECT, ""), (COPIES, "".join(expected(16384)[1].replace("arrive.expect_tx.shared::cta.b64 _,", "expect_tx.relaxed.cta.shared::cta.b64") + COPY.format(to) for to in ("%r10", "%r11")) + "mbarrier.arrive.shared::cta.b64 _, [%r8];\n")],
        [],
    ),
    "right, and the halves of the rows have mbarriers": ([*SQUARE, *HALVES, expected(16384)], []),
    "right, and a quarter of the columns is read": ([], []),
    "the bytes of B are expected": ([*WHOLE, expected(8192)], SHORT),
    "half of the bytes of B are expected": ([*WHOLE, expected(4096)], SHORT),
    # As many as half of the rows of A, and B.
    "the bytes of A are expected": ([*WHOLE, expected(16384)], []),
    "the bytes of A are expected, which has as many as B": ([*SQUARE, expected(16384)], SHORT),
    "three quarters of the bytes are expected": ([*SQUARE, expected(24576)], []),
    "right, and only A is copied, in two boxes": ([*WIDE, expected(32768)], []),
    "right, and two boxes of A have 8 rows": ([*WIDE, expected(2048)], []),
    "only A is copied": ([*SQUARE, (COPIES, COPY.format("%r10")), expected(16384)], []),
    "the bytes of A are expected, and a quarter of the columns is read": ([expected(16384)], []),
    "the bytes of A are expected, and a product is not known": (
        [*SQUARE, expected(16384), (str(SQUARE_SHAPE), "%r20"), (FREE, f"{FREE}ld.global.b32 %r20, [%rd3];\n")],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_expected_of_boxes(name: str) -> None:
    lines, told_ = CASES[name]
    assert told(COPIED, lines) == told_

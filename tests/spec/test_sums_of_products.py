"""Sums worked out by hand: each is the least that tells the chip's arithmetic from a plausible other one."""

from __future__ import annotations

import struct

import pytest

from ptxmma.spec.arithmetic import arithmetic, arithmetic_of
from ptxmma.spec.arithmetic_checks import sums_of
from ptxmma.spec.chip_arithmetic import matching_rows, of_row
from ptxmma.spec.dot_product import DotProduct, ElementCode
from ptxmma.spec.specification import Specification

WATCHES = ("spec/arithmetic/*.yaml",)
WGMMA, WMMA, MMA = (
    "wgmma.mma_async.sync.aligned.m64n8",
    "wmma.mma.sync.aligned.row.col.m16n16",
    "mma.sync.aligned.m16n8",
)
F16K4 = "mma.sync.aligned.m8n8k4.row.col"
BF16 = f"{WGMMA}k16.f32.bf16.bf16"
F16 = f"{WGMMA}k16.f16.f16.f16"
BYTES = {"f16": "e", "bf16": "f", "tf32": "f", "f32": "f", "f64": "d"}
# An instruction, products of two numbers (the others are 0 * 0), C, and D; behind it what another model would give.
SUMS = [
    # C = 2^-24 is normal in f32: the window ends at 2^-49 and keeps 2^-47. In f16 it would end at 2^-39.
    (f"{WMMA}k16.f32.f16", [(2**-23, 2**-24)], 2**-24, 2**-24 + 2**-47, 2**-24),
    # A window for f16 begins at 2^-21 at least and ends at 2^-46: above the tie 2^-25 it keeps 2^-46 and no 2^-48.
    (F16, [(2**-12, 2**-13), (2**-24, 2**-24)], 0, 0, 2**-24),
    (F16, [(2**-12, 2**-13), (2**-23, 2**-23)], 0, 2**-24, 0),
    # One for f32 begins at 2^-133 at least and ends at 2^-158. 7 * 73 = 2^9 - 1, and 31 * 33 = 2^10 - 1.
    (BF16, [(7 * 2**-79, 73 * 2**-79), (2**-79, 2**-79)], 0, 2**-149, 0),
    (BF16, [(31 * 2**-80, 33 * 2**-79), (2**-80, 2**-79)], 0, 0, 2**-149),
    # A zero takes no part in the greatest exponent, whatever stands beside it; a subnormal C has 2^-14.
    (f"{MMA}k4.row.col.f32.tf32.tf32.f32", [(0, 2.0**125)], 2.0**-100, 2.0**-100, 0),
    (F16, [(2**-13, 2**-12), (2**-22, 2**-22)], 2**-21, 2**-21, 9 * 2**-24),
    # A negative sum that is too small for D is +0, and so is one of negative zeros.
    (BF16, [(-(2**-80), 2**-80)], 0, 0.0, -0.0),
    (BF16, [(-0.0, 0.0)] * 16, -0.0, 0.0, -0.0),
    # Products are not normalised: the window of 1.5 * 1.5 ends at 2^-25; that of 2.25 at 2^-24.
    (f"{WGMMA}k16.f32.f16.f16", [(1.5, 1.5), (-1.5, 1.5), (2**-13, 2**-12)], 0, 2**-25, 0),
    # The sum falls though C grows by its last place: then the window ends at 2^-24, and cuts 16 products of 2^-25.
    (f"{WGMMA}k16.f32.f16.f16", [(2**-12, 2**-13)] * 16, 2 - 2**-23, 2 + 2**-22, 2),
    (f"{WGMMA}k16.f32.f16.f16", [(2**-12, 2**-13)] * 16, 2, 2, 2 + 2**-21),
    # 2^24 + 1 is not in f32: m8n8k4 rounds after each product, and with an f16 result after C and two products.
    (f"{F16K4}.f32.f16.f16.f32", [(2**12, 2**12), (1, 1), (1, 1)], 0, 2**24, 2**24 + 2),
    (f"{F16K4}.f16.f16.f16.f16", [(2**12, 2**12), (0, 0), (-(2**12), 2**12)], 1, 0, 1),
    # 1 + 3 * 2^-11 - 2^-25: cut to f32, it is below the tie of f16; rounded to f32, it is the tie.
    (f"{WMMA}k16.f16.f32", [(-(2**-12), 2**-13)], 1 + 3 * 2**-11, 1 + 2**-10, 1 + 2**-9),
    # The machine code of tf32 in wmma is two sums: the first is 0, and the second keeps 1.
    (f"{WMMA}k8.f32.tf32.tf32.f32", [(2**13, 2**13), (-(2**13), 2**13), (0, 0), (0, 0), (1, 1)], 0, 1, 0),
    # 2^53 + 1 is not in f64: each product is rounded by itself, after C.
    (f"{MMA}k4.row.col.f64.f64.f64.f64", [(1, 1), (1, 1)], 2**53, 2**53, 2**53 + 2),
    (f"{MMA}k4.row.col.rp.f64.f64.f64.f64", [(1, 1), (1, 1)], 2**53, 2**53 + 4, 2**53 + 2),
]  # fmt: skip


def code(element: str, value: float) -> int:
    """The bit pattern of a number that the type has."""
    letter = BYTES[element]
    found = int.from_bytes(struct.pack(f">{letter}", value), "big")
    return found >> 16 if element == "bf16" else found


@pytest.mark.parametrize(("mnemonic", "products", "c", "d", "other"), SUMS)
def test_the_least_sums_that_tell(
    specification: Specification,
    mnemonic: str,
    products: list[tuple[float, float]],
    c: float,
    d: float,
    other: float,
) -> None:
    arithmetic = arithmetic_of(specification.find(mnemonic), "sm_90a")
    dot, types = DotProduct(specification, arithmetic), arithmetic.types
    pairs = [*products, *[(0.0, 0.0)] * (arithmetic.products - len(products))]
    a, b = ([ElementCode(code(types[part], pair[n])) for pair in pairs] for n, part in enumerate(("A", "B")))
    found = dot.code(a, b, code(types["C"], c))
    assert found == code(types["D"], d) != code(types["D"], other)


NANS = {"f16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0xFFF8 << 48}
MODES = ("rn", "rz", "rm", "rp")


def test_sums_on_the_way(specification: Specification) -> None:
    """Each NaN, also one that only a later sum sees (`explain` prints it), has the pattern of its type. What is
    rounded once goes to nearest, but by the rounding of an f64 form; f64 alone keeps the bits of NaNs."""
    (family,) = arithmetic().families
    seen = set()
    for variant in sums_of(specification, family):
        for row in matching_rows(family, variant):
            for block in of_row(specification, family, row, variant).blocks:
                given, double = block.integers, block.result == "f64"
                mode = (
                    MODES.index(str(variant.fields["rnd"]))
                    if double and variant.fields["rnd"] != "none"
                    else 0
                )
                assert given.get("nan_code", NANS.get(block.result)) == NANS.get(block.result), row.id
                assert given.get("mode", mode) == mode and given.get("payload", double) == double, row.id
                assert given.get("nearest", block.result == "f16") == (block.result == "f16"), row.id
                seen.add((row.id, block.step.id))
    assert len(seen) == sum(len(row.steps) for row in family.rows)


A_NAN, B_NAN, C_NAN = (0x7FF0 << 48) + 1, (0xFFF0 << 48) + 2, (0x7FF0 << 48) + 3


@pytest.mark.parametrize(
    ("a", "b", "c", "d"),
    [
        (A_NAN, B_NAN, C_NAN, (0xFFF8 << 48) + 2),
        (A_NAN, 0, C_NAN, (0x7FF8 << 48) + 3),
        (0, B_NAN, 0, (0xFFF8 << 48) + 2),
        (A_NAN, 0, 0, (0x7FF8 << 48) + 1),
        (0x7FF0 << 48, 0, 0, 0xFFF8 << 48),  # an infinity times zero
    ],
)
def test_which_nan_of_f64_is_kept(specification: Specification, a: int, b: int, c: int, d: int) -> None:
    """That of B before C before A, made quiet."""
    arithmetic = arithmetic_of(specification.find(f"{MMA}k4.row.col.f64.f64.f64.f64"), "sm_90a")
    x, y = ([ElementCode(code), *[ElementCode(0)] * (arithmetic.products - 1)] for code in (a, b))
    assert DotProduct(specification, arithmetic).code(x, y, c) == d

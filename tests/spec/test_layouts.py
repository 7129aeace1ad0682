"""Layouts against check values that are typed here from the PTX ISA text, never read from the YAML."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ptxmma
from ptxmma.gen.pictures.tables import table_of
from ptxmma.spec.expressions import compiled
from ptxmma.spec.specification import Specification

WATCHES = (
    "specs.yaml",
    "spec/layouts/*.yaml",
    "spec/sparsity.yaml",
    "spec/addresses.yaml",
    "spec/descriptors.yaml",
)

Formula = Callable[[int, int], tuple[int, int]]


def lane(t: int) -> tuple[int, int]:
    """groupID = %laneid >> 2, threadID_in_group = %laneid % 4."""
    return t >> 2, t % 4


# 9.7.14.5.9 (seed 002): mma.m16n8k16, integer and fp8 types
def a_k16_8b(t: int, i: int) -> tuple[int, int]:
    group, member = lane(t)
    return (group if i < 4 else group + 8), member * 4 + (i & 0x3)


def b_k16_8b(t: int, i: int) -> tuple[int, int]:
    group, member = lane(t)
    return member * 4 + i, group


def c_m16n8(t: int, i: int) -> tuple[int, int]:
    group, member = lane(t)
    return (group if i < 2 else group + 8), member * 2 + (i & 0x1)


# 9.7.14.5.10: mma.m16n8k32
def a_k32_4b(t: int, i: int) -> tuple[int, int]:
    group, member = lane(t)
    return (group if i < 8 else group + 8), member * 8 + (i & 0x7)


def b_k32_4b(t: int, i: int) -> tuple[int, int]:
    group, member = lane(t)
    return member * 8 + (i & 0x7), group


def a_k32_8b(t: int, i: int) -> tuple[int, int]:
    group, member = lane(t)
    row = group if 0 <= i < 4 or 8 <= i < 12 else group + 8
    return row, member * 4 + (i & 0x3) + (0 if i < 8 else 16)


def b_k32_8b(t: int, i: int) -> tuple[int, int]:
    group, member = lane(t)
    return member * 4 + (i & 0x3) + (0 if i < 4 else 16), group


# 9.7.14.5.11: mma.m16n8k64
def a_k64_4b(t: int, i: int) -> tuple[int, int]:
    group, member = lane(t)
    row = group if 0 <= i < 8 or 16 <= i < 24 else group + 8
    return row, member * 8 + (i & 0x7) + (0 if i < 16 else 32)


def b_k64_4b(t: int, i: int) -> tuple[int, int]:
    group, member = lane(t)
    return member * 8 + (i & 0x7) + (0 if i < 8 else 32), group


K16 = "mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32"
K32_8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"
K32_6 = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32"
K32_4 = "mma.sync.aligned.m16n8k32.row.col.s32.s4.u4.s32"
K64 = "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32"
MXF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"

CASES: list[tuple[str, str, Formula, int, int]] = [
    (K16, "A", a_k16_8b, 8, 8),
    (K16, "B", b_k16_8b, 4, 8),
    (K16, "C", c_m16n8, 4, 32),
    (K16, "D", c_m16n8, 4, 32),
    (K32_8, "A", a_k32_8b, 16, 8),
    (K32_8, "B", b_k32_8b, 8, 8),
    (K32_6, "A", a_k32_8b, 16, 8),
    (K32_6, "B", b_k32_8b, 8, 8),
    (K32_4, "A", a_k32_4b, 16, 4),
    (K32_4, "B", b_k32_4b, 8, 4),
    (K64, "A", a_k64_4b, 32, 4),
    (K64, "B", b_k64_4b, 16, 4),
    (K64, "D", c_m16n8, 4, 32),
    (MXF4, "A", a_k64_4b, 32, 4),
    (MXF4, "B", b_k64_4b, 16, 4),
]


@pytest.mark.parametrize(("mnemonic", "operand", "formula", "elements", "width"), CASES)
def test_the_texts_formulas(
    specification: Specification, mnemonic: str, operand: str, formula: Formula, elements: int, width: int
) -> None:
    table = table_of(specification, specification.find(mnemonic), operand)
    assert len(table.entries) == 32 * elements
    for thread, element, register, low, row, col in table.entries:
        assert (row, col) == formula(thread, element)
        assert (register, low) == (element * width // 32, element * width % 32)


def wgmma_d(t: int, i: int) -> tuple[int, int]:
    warp, (group, member) = t // 32, lane(t % 32)
    return 16 * warp + group + (8 if i & 2 else 0), 8 * (i // 4) + 2 * member + (i & 1)


@pytest.mark.parametrize("n", [8, 24, 128, 256])
@pytest.mark.parametrize(("dtype", "a", "k"), [("f32", "f16", 16), ("f16", "e4m3", 32)])
def test_accumulators_of_wgmma(specification: Specification, n: int, dtype: str, a: str, k: int) -> None:
    variant = specification.find(f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{dtype}.{a}.{a}")
    table = table_of(specification, variant, "D")
    assert len(table.entries) == 64 * n
    assert all((row, col) == wgmma_d(t, i) for t, i, _, _, row, col in table.entries)
    registers = {register for _, _, register, *_ in table.entries}
    assert len(registers) == (n // 2 if dtype == "f32" else n // 4)


# What an H200 does, measured by flipping every metadata bit alone: the inverse of the YAML's maps,
# as (row, chunk, bit of the code, selector) -> (thread, bit).
def holder_k32(row: int, chunk: int, code_bit: int, selector: int) -> tuple[int, int]:
    thread = 32 * (row // 16) + 4 * (row % 8) + 2 * selector + chunk // 4
    return thread, 16 * (row % 16 // 8) + 4 * (chunk % 4) + code_bit


def holder_k64(row: int, chunk: int, code_bit: int, _: int) -> tuple[int, int]:
    return 32 * (row // 16) + 4 * (row % 8) + 2 * (chunk // 8) + row % 16 // 8, 4 * (chunk % 8) + code_bit


@pytest.mark.parametrize(
    ("shape", "types", "selectors", "chunks", "index_bits", "holder"),
    [
        ("m64n8k32", "f32.f16.f16", (0, 1), 8, 2, holder_k32),
        ("m64n16k32", "f32.bf16.bf16", (0, 1), 8, 2, holder_k32),
        ("m64n8k16", "f32.tf32.tf32", (0, 1), 8, 4, holder_k32),
        ("m64n8k64", "f32.e4m3.e5m2", (0,), 16, 2, holder_k64),
        ("m64n8k64", "s32.u8.s8", (0,), 16, 2, holder_k64),
    ],
)
def test_metadata(
    specification: Specification,
    shape: str,
    types: str,
    selectors: tuple[int, ...],
    chunks: int,
    index_bits: int,
    holder: Callable[[int, int, int, int], tuple[int, int]],
) -> None:
    variant = specification.find(f"wgmma.mma_async.sp.sync.aligned.{shape}.{types}")
    for selector in selectors:
        table = table_of(specification, variant, "metadata", None, {"s": selector})
        assert len(table.entries) == 64 * chunks * 4
        for thread, bit, row, chunk, slot, index_bit in table.entries:
            assert (thread, bit) == holder(row, chunk, slot * index_bits + index_bit, selector)


def test_scale_factors(specification: Specification) -> None:
    """9.7.14.3: thread-id-a names a pair, thread-id-b one thread of each group of four."""
    variant = specification.find(MXF4)
    table = table_of(specification, variant, "scale-a", None, {"thread_id": 1, "byte_id": 2})
    assert {t % 4 for t, *_ in table.entries} == {2, 3}
    assert {i for _, i, *_ in table.entries} == {2, 3}
    assert {(row, col) for *_, row, col in table.entries} == {(r, c) for r in range(16) for c in (0, 1)}
    table = table_of(specification, variant, "scale-b", None, {"thread_id": 3, "byte_id": 0})
    assert {t % 4 for t, *_ in table.entries} == {3}
    assert {i for _, i, *_ in table.entries} == {0, 1}
    assert {(row, col) for *_, row, col in table.entries} == {(r, c) for r in (0, 1) for c in range(8)}


def test_every_layout_by_enumeration(specification: Specification) -> None:
    """What the solvers prove symbolically, counted point by point at every parameter value."""
    checked = 0
    for layout in specification.layouts.values():
        for case in layout.cases():
            for parameters in case.assignments():
                points = case.points(parameters)
                width = len(case.inputs)
                images = {point[width:] for point in points}
                shape = case.shape(parameters)
                assert len(images) == len(points)
                for values, size in zip(zip(*images, strict=True), shape.values(), strict=True):
                    assert min(values) >= 0 and max(values) < size
                if layout.layout.kind == "bijection":
                    assert len(points) == case.count(parameters)
                checked += 1
    assert checked > 100


def test_the_inverse_finds_every_holder(specification: Specification) -> None:
    table = table_of(specification, specification.find(K32_8), "A")
    thread, element = (compiled(table.backward[name], ("row", "col")) for name in ("t", "i"))
    assert all((thread(row, col), element(row, col)) == (t, i) for t, i, _, _, row, col in table.entries)


def test_python_api() -> None:
    layout = ptxmma.layout(K16, "D")
    assert (5, 3, 9, 3) in layout.points()

"""Layouts of tensor memory against CUTLASS's, typed here as shapes and strides, and against the text's tables.

CUTLASS: include/cute/atom/copy_traits_sm100.hpp and mma_traits_sm100_frag.hpp. A layout of CuTe takes an index
apart by its shape, the first mode fastest, and adds each digit times its stride.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import pytest

from ptxmma.spec.specification import Specification

WATCHES = ("spec/layouts/tcgen05*.yaml", "specs.yaml")
Nested = Any  # an integer, or a tuple of such
LANE, COLUMN = 128 * 1024, 32  # CUTLASS's bits: a lane is far from the next, a column 32 bits from its


def flat(nested: Nested) -> list[int]:
    return [nested] if isinstance(nested, int) else [number for one in nested for number in flat(one)]


def cute(shape: Nested, stride: Nested, index: int) -> int:
    """What a layout of CuTe maps an index to."""
    found = 0
    for size, step in zip(flat(shape), flat(stride), strict=True):
        found += index % size * step
        index //= size
    assert index == 0
    return found


def points(specification: Specification, name: str, **parameters: int) -> list[dict[str, int]]:
    """Every point of a layout, by name."""
    layout = specification.layouts[name]
    names = (*layout.inputs, *layout.outputs)
    return [dict(zip(names, point, strict=True)) for point in layout.points(parameters)]


# Shape of a load: how many columns of a lane one repetition has, how many lanes, and by repetitions CUTLASS's
# map from (thread, bit of its registers) to a bit of (column, lane): shape and stride of both modes.
LOADS: dict[str, tuple[int, int, dict[int, tuple[Nested, Nested]]]] = {
    "16x256b": (8, 16, {
        1: (((4, 8), (64, 2)), ((64, 256), (1, 2048))),
        2: (((4, 8), (64, 2, 2)), ((64, 512), (1, 4096, 256))),
        32: (((4, 8), (64, 2, 32)), ((64, 8192), (1, 65536, 256))),
    }),
    "16x128b": (4, 16, {
        1: (((4, 8), (32, 2)), ((32, 128), (1, 1024))),
        8: (((4, 8), (32, 2, 8)), ((32, 1024), (1, 8192, 128))),
    }),
    "16x64b": (2, 16, {
        1: (((2, 2, 8), 32), ((512, 32, 64), 1)),
        2: (((2, 2, 8), (32, 2)), ((1024, 32, 128), (1, 64))),
        32: (((2, 2, 8), (32, 32)), ((16384, 32, 2048), (1, 64))),
    }),
    "32x32b": (1, 32, {1: ((32, 32), (32, 1)), 8: ((32, 256), (256, 1))}),
    "16x32bx2": (2, 16, {1: (((16, 2), 32), ((64, 32), 1)), 8: (((16, 2), 256), ((512, 256), 1))}),
}  # fmt: skip


@pytest.mark.parametrize(("shape", "packed"), list(product(LOADS, (False, True))))
def test_loads_are_those_of_cutlass(specification: Specification, shape: str, packed: bool) -> None:
    columns, lanes, atoms = LOADS[shape]
    width = 16 if packed else 32
    for num, ((threads, bits), (thread_stride, bit_stride)) in atoms.items():
        own = prod(flat(bits))
        found = points(specification, f"tcgen05.ld.{shape}" + ".packed" * packed, num=num)
        assert len(found) == 32 * own // width == lanes * columns * num * (2 if packed else 1)
        for point in found:
            bit = cute(threads, thread_stride, point["t"])
            bit += cute(bits, bit_stride, width * point["i"])
            lane, low = divmod(bit, 32 * columns * num)  # of a lane's bits as the registers have them
            column = low // width  # packed: each 16 bits are the lower half of a column
            if "access" in point:  # CUTLASS puts the second access right behind the first
                access, column = divmod(column, num * (2 if packed else 1))
                assert point["access"] == access
            assert (point["lane"], point["column"]) == (lane, column), (num, point)


@pytest.mark.parametrize(
    ("shape", "registers"),
    [
        ("32x32b", {1: 1, 2: 2, 4: 4, 8: 8, 16: 16, 32: 32, 64: 64, 128: 128}),
        ("16x64b", {1: 1, 2: 2, 4: 4, 8: 8, 16: 16, 32: 32, 64: 64, 128: 128}),
        ("16x32bx2", {1: 1, 2: 2, 4: 4, 8: 8, 16: 16, 32: 32, 64: 64, 128: 128}),
        ("16x128b", {1: 2, 2: 4, 4: 8, 8: 16, 16: 32, 32: 64, 64: 128}),
        ("16x256b", {1: 4, 2: 8, 4: 16, 8: 32, 16: 64, 32: 128}),
    ],
)
def test_registers_are_those_of_table_49(
    specification: Specification, shape: str, registers: dict[int, int]
) -> None:
    for suffix, each in (("", 1), (".packed", 2)):
        layout = specification.layouts[f"tcgen05.ld.{shape}{suffix}"]
        assert layout.layout.params["num"].values == tuple(registers)
        counts = {num: layout.domain({"num": num})["i"] for num in registers}
        assert counts == {num: count * each for num, count in registers.items()}


# The data paths: CTAs, rows of each CTA, CUTLASS's map of a CTA's (row, col) to lane + 128 * column (None: the
# text alone), and the values of N.
PATHS: dict[str, tuple[int, int, Any, list[int]]] = {
    "A": (2, 128, lambda n: ((128, n), (1, 128)), [16, 48, 256]),
    "B": (2, 64, lambda n: ((64, (n // 2, 2)), (1, (128, 64))), [16, 48, 256]),
    "C": (2, 64, lambda n: (((16, 4), n), ((1, 32), 128)), [16, 48, 256]),
    "D": (1, 128, lambda n: ((128, n), (1, 128)), [8, 24, 256]),
    "E": (1, 64, lambda n: ((64, (n // 2, 2)), (1, (128, 64))), [64, 128, 256]),
    "F": (1, 64, lambda n: (((16, 4), n), ((1, 32), 128)), [8, 24, 256]),
    "G": (1, 32, lambda n: ((32, (n // 4, 4)), (1, (128, 32))), [64, 128, 256]),
}
HALVES = "CF"  # the paths that use one half of each warp's lanes


@pytest.mark.parametrize("path", PATHS)
def test_accumulators_are_those_of_cutlass(specification: Specification, path: str) -> None:
    ctas, rows, atom, sizes = PATHS[path]
    for n, half in product(sizes, (0, 1) if path in HALVES else (0,)):
        shape, stride = atom(n)
        found = points(specification, f"tcgen05.d.{path}", n=n, **({"half": half} if path in HALVES else {}))
        assert len(found) == ctas * rows * n
        for point in found:
            cta, row = divmod(point["row"], rows)
            place = cute(shape, stride, row + rows * point["col"]) + 16 * half
            assert (point.get("cta", 0), point["lane"], point["column"]) == (cta, place % 128, place // 128)


def test_sizes_of_n_are_those_of_table_39(specification: Specification) -> None:
    """Two CTAs by 16 from 16 on, one CTA by 8 from 8 on, .ws 64, 128 and 256."""
    values = {path: specification.layouts[f"tcgen05.d.{path}"].layout.params["n"].values for path in PATHS}
    pair, one, stationary = tuple(range(16, 257, 16)), tuple(range(8, 257, 8)), (64, 128, 256)
    assert values == {"A": pair, "B": pair, "C": pair, "D": one, "E": stationary, "F": one, "G": stationary}


@pytest.mark.parametrize("path", "ABCDF")
def test_multiplicands_lie_in_the_lanes_of_cutlass(specification: Specification, path: str) -> None:
    """The lanes of D, and every element of a row behind the one before; path B twice (TmemAllocMode)."""
    ctas, rows, atom, _ = PATHS[path]
    sizes = specification.layouts[f"tcgen05.a.{path}"].layout.params
    assert sizes["width"].values == (4, 8, 16, 32)
    assert "bytes" not in sizes or sizes["bytes"].values == (32, 48)
    for width, half in product((4, 8, 16, 32), (0, 1) if path in HALVES else (0,)):
        given = {"width": width, **({"half": half} if path in HALVES else {"bytes": 32})}
        found = points(specification, f"tcgen05.a.{path}", **given)
        copies = 2 if path == "B" else 1
        assert len(found) == ctas * rows * copies * 256 // width
        shape, stride = ((128, 1), (1, 128)) if path == "B" else atom(1)
        for point in found:
            row = point["row"] % rows + rows * point.get("copy", 0)
            assert point["lane"] == cute(shape, stride, row) + 16 * half
            assert point.get("cta", 0) == point["row"] // rows
            assert 32 * point["column"] + width * point["i"] == width * point["col"]


@pytest.mark.parametrize("num", [1, 4])
def test_a_lane_is_read_by_one_warp(specification: Specification, num: int) -> None:
    """9.7.16.8.1: a warp reads 32 lanes, all at once or in halves."""
    for name, layout in specification.layouts.items():
        if name.startswith("tcgen05.ld."):
            lanes = {point["lane"] for point in points(specification, name, num=num)}
            assert lanes == set(range(32 if "32x32b" in name else 16))
            assert layout.domain({"num": num})["t"] == 32


def test_accumulators_of_16_bits_are_no_multiplicand(specification: Specification) -> None:
    """Why no permutation of columns makes one the other: A has elements where D has nothing."""
    multiplicand = {
        (p["lane"], p["column"], p["i"]) for p in points(specification, "tcgen05.a.D", bytes=32, width=16)
    }
    accumulator = {(p["lane"], p["column"], 0) for p in points(specification, "tcgen05.d.D", n=16)}
    assert len(multiplicand - accumulator) == len(multiplicand) // 2

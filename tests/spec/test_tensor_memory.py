"""Layouts of tensor memory against CUTLASS's, typed here as shapes and strides, and against the text's tables.

CUTLASS: include/cute/atom/copy_traits_sm100.hpp and mma_traits_sm100_frag.hpp. A layout of CuTe takes an index
apart by its shape, the first mode fastest, and adds each digit times its stride.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import pytest

from ptxmma.spec.paths import path_of, path_values
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
    wanted = {"A": (32, 48, 64), "B": (32, 48), "D": (32, 48, 64)}
    assert path not in wanted or sizes["bytes"].values == wanted[path]
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


def scale_places(rows: int, factors: int) -> dict[tuple[int, int, int], tuple[int, int, int]]:
    """CUTLASS's tmem_sf_frg: (copy, row or column, factor) to (lane, column, byte), the first byte being 0."""
    shape, stride = (32, rows // 32, 4, factors), (1, 512, 32, 128)
    found = {}
    for index in range(rows * 4 * factors):
        row, copy, factor = index % rows, index // rows % 4, index // rows // 4
        byte = cute(shape, stride, index)
        found[copy, row, factor] = (byte % 128, byte // 512, byte // 128 % 4)
    return found


@pytest.mark.parametrize(
    ("vector", "factors", "ids"), [("1X", 1, (0, 1, 2, 3)), ("2X", 2, (0, 2)), ("4X", 4, (0,))]
)
def test_scale_factors_are_those_of_cutlass(
    specification: Specification, vector: str, factors: int, ids: tuple[int, ...]
) -> None:
    """B's with N rounded up to 32: the places of the columns that there are."""
    for first in ids:
        given = {} if vector == "4X" else {"id": first}
        for m in (64, 128):
            wanted = scale_places(m, factors)
            found = points(specification, f"tcgen05.scale-a.{vector}", m=m, **given)
            assert len(found) == len(wanted)
            for p in found:
                assert wanted[p["copy"], p["row"], p["col"]] == (p["lane"], p["column"], p["byte"] - first)
        for n in (8, 40, 128, 136, 256):
            wanted = scale_places(-(-n // 32) * 32, factors)
            found = points(specification, f"tcgen05.scale-b.{vector}", n=n, **given)
            assert len(found) == 4 * n * factors
            for p in found:
                assert wanted[p["copy"], p["col"], p["row"]] == (p["lane"], p["column"], p["byte"] - first)


def test_scale_factors_of_data_path_b_are_those_of_cutlass(specification: Specification) -> None:
    """ScaleFactorDuplicated2by2: ((32, N/2/32), 2, 2), then the factors."""
    for n in (128, 256):
        found = points(specification, "tcgen05.scale-b.4X.B", n=n)
        assert len(found) == 2 * 4 * n
        shape, stride = (32, n // 64, 2, 2, 4), (1, 512, 64, 32, 128)
        for p in found:
            byte = cute(shape, stride, p["col"] + n * (p["copy"] + 2 * p["row"]))
            assert (p["lane"], 4 * p["column"] + p["byte"]) == (byte % 128, byte // 128)


@pytest.mark.parametrize(("vector", "factors", "ids"), [("3X", 3, (0, 1, 2, 3)), ("6X", 6, (0, 2))])
def test_scale_factors_of_k_96_go_on_in_the_next_word(
    specification: Specification, vector: str, factors: int, ids: tuple[int, ...]
) -> None:
    """Typed from 9.7.16.10.7.2.4: with id 3 the first is the last byte of a word, the next in the next word."""
    for first, (part, sizes) in product(ids, (("a", (128,)), ("b", (8, 128, 136, 256)))):
        assert specification.layouts[f"tcgen05.scale-{part}.{vector}"].layout.params["id"].values == ids
        for size in sizes:
            given = {"id": first, **({"n": size} if part == "b" else {})}
            found = points(specification, f"tcgen05.scale-{part}.{vector}", **given)
            assert len(found) == 4 * size * factors
            words = 4 if size <= 128 else 8
            for p in found:
                own, factor = (p["row"], p["col"]) if part == "a" else (p["col"], p["row"])
                word, byte = divmod(first + factor, 4)
                assert (p["lane"], p["column"], p["byte"]) == (
                    32 * p["copy"] + own % 32,
                    own // 32 + words * word,
                    byte,
                )


def test_eight_scale_factors_are_in_two_words(specification: Specification) -> None:
    """Typed from 9.7.18.10.7.2.6 of PTX ISA 9.4: words of four bytes, the second four columns on, or eight."""
    for part, size in (("a", 128), ("b", 8), ("b", 128), ("b", 136), ("b", 256)):
        found = points(specification, f"tcgen05.scale-{part}.8X", **({"n": size} if part == "b" else {}))
        assert len(found) == 4 * size * 8
        words = 4 if size <= 128 else 8
        for p in found:
            own, factor = (p["row"], p["col"]) if part == "a" else (p["col"], p["row"])
            column = own // 32 + (words if factor >= 4 else 0)
            assert (p["lane"] - 32 * p["copy"], p["column"], p["byte"]) == (own % 32, column, factor % 4)


def test_scale_factors_in_shared_memory_are_those_of_cutlass(specification: Specification) -> None:
    """Sm1xxBlockScaledBasicChunk ((32,4),(VS,4)):((16,4),(0,1)), copied by 32x128b.warpx4, is what mma reads."""
    source = {
        (p["lane"], p["column"], p["byte"]): 16 * p["row"] + p["offset"]
        for p in points(specification, "tcgen05.cp.32x128b")
    }
    for p in points(specification, "tcgen05.scale-a.4X", m=128):
        assert source[p["lane"], p["column"], p["byte"]] == cute(
            (32, 4, 4), (16, 4, 1), p["row"] + 128 * p["col"]
        )


# Metadata by kind: elements of A in a chunk, CUTLASS's atom from (row, k) to lane + 128 * unit, the bits of a unit,
# and K. tmem_e_frg for M = 128, tmem_e_frg_ws for the others, whose last mode counts copies.
METADATA: dict[str, tuple[int, int, int, Any]] = {
    "16b": (4, 32, 1, lambda m: (((8, 2, m // 16), (16, 2), 128 // m), ((1, 2048, 16), (128, 8), m))),
    "tf32": (2, 16, 2, lambda m: (((8, 2, m // 16), (8, 2), 128 // m), ((1, 1024, 16), (128, 8), m))),
    "8b": (4, 64, 1, lambda m: ((m, 64, 128 // m), (1, 128, m))),
}


@pytest.mark.parametrize(("kind", "m"), list(product(METADATA, (128, 64, 32))))
def test_metadata_is_that_of_cutlass(specification: Specification, kind: str, m: int) -> None:
    chunk, k, unit, atom = METADATA[kind]
    shape, stride = atom(m)
    for selector in (0,) if kind == "8b" else (0, 1):
        given = {} if kind == "8b" else {"s": selector}
        name, size = (
            (f"tcgen05.metadata.{kind}", {}) if m == 128 else (f"tcgen05.metadata.{kind}.ws", {"m": m})
        )
        found = points(specification, name, **given, **size)
        assert len(found) == 128 * k * unit  # each code has four bits
        for p in found:
            code_bit = p["slot"] * 2 + p["index_bit"]
            element, rest = divmod(code_bit, 4 // chunk) if chunk < 4 else (code_bit, 0)
            index = p["row"] + m * (p["chunk"] * chunk + element + k * p.get("copy", 0))
            place = cute(shape, stride, index)
            low = 32 * selector + place // 128 * unit + rest
            assert (p["lane"], 32 * p["column"] + p["bit"]) == (place % 128, low)


@pytest.mark.parametrize("kind", METADATA)
def test_metadata_of_64_rows_lies_in_the_lanes_of_d(specification: Specification, kind: str) -> None:
    """9.7.16.10.8.5: the same lanes for D and metadata; within 16 rows as with 128."""
    whole = points(specification, f"tcgen05.metadata.{kind}", **({} if kind == "8b" else {"s": 0}))
    first = {(p["lane"], p["column"], p["bit"]): p for p in whole if p["lane"] < 16}
    for half in (0, 1):
        lanes = {
            p["row"] // 16: p["lane"] // 16 for p in points(specification, "tcgen05.d.F", n=8, half=half)
        }
        found = points(
            specification, f"tcgen05.metadata.{kind}.m64", half=half, **({} if kind == "8b" else {"s": 0})
        )
        assert len(found) == len(whole) // 2
        for p in found:
            like = first[p["lane"] % 16, p["column"], p["bit"]]
            assert (p["row"] % 16, p["chunk"], p["slot"], p["index_bit"]) == (
                like["row"], like["chunk"], like["slot"], like["index_bit"],
            )  # fmt: skip
            assert lanes[p["row"] // 16] == p["lane"] // 16


# Copies: CUTLASS's map from (lane of the source, bit of its row, copy) to lanes and bits, as ValID has it.
COPIES: dict[str, tuple[int, int, Nested, Nested]] = {
    "128x256b": (128, 256, (128, 256), (LANE, 1)),
    "128x128b": (128, 128, (128, 128), (LANE, 1)),
    "64x128b.02_13": (64, 128, (64, 128, 2), (LANE, 1, 64 * LANE)),
    "64x128b.01_23": (64, 128, (32, 2, 128, 2), (LANE, 64 * LANE, 1, 32 * LANE)),
    "32x128b": (32, 128, (32, 128, 4), (LANE, 1, 32 * LANE)),
    "4x256b": (4, 256, (4, 256), (32 * LANE, 1)),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_those_of_cutlass(specification: Specification, name: str) -> None:
    rows, bits, shape, stride = COPIES[name]
    found = points(specification, f"tcgen05.cp.{name}")
    assert len(found) == prod(flat(shape)) // 8
    for p in found:
        place = cute(shape, stride, p["row"] + rows * (8 * p["offset"] + bits * p.get("copy", 0)))
        assert (LANE * p["lane"] + 32 * p["column"] + 8 * p["byte"]) == place


def test_warp_pairs_of_copies_are_those_of_the_text(specification: Specification) -> None:
    """9.7.16.9.2: warps 0 and 2, 1 and 3 (0 and 1, 2 and 3) share; with warpx4 all do."""
    for name, shared in (
        ("64x128b.02_13", {(0, 2), (1, 3)}),
        ("64x128b.01_23", {(0, 1), (2, 3)}),
        ("32x128b", {(0, 1, 2, 3)}),
    ):
        warps: dict[tuple[int, int], set[int]] = {}
        for p in points(specification, f"tcgen05.cp.{name}"):
            warps.setdefault((p["row"], p["offset"]), set()).add(p["lane"] // 32)
        assert {tuple(sorted(who)) for who in warps.values()} == shared


def test_decompression_takes_elements_in_their_order(specification: Specification) -> None:
    """9.7.16.9.1: 16 elements of 4 (6) bits, then 8 (4) bytes of padding; 4 bits stand in the middle of a byte."""
    for name, width, low in (("b4x16_p64", 4, 2), ("b6x16_p32", 6, 0)):
        taken = {(p["byte"], p["bit"]): p["source_bit"] for p in points(specification, f"tcgen05.cp.{name}")}
        assert taken == {(e, low + b): e * width + b for e in range(16) for b in range(width)}


def test_a_shift_moves_31_lanes_of_32_bytes(specification: Specification) -> None:
    """9.7.16.2.3: .31x256b."""
    found = points(specification, "tcgen05.shift")
    assert {(p["lane"], p["column"]): (p["source_lane"], p["source_column"]) for p in found} == {
        (lane, column): (lane + 1, column) for lane in range(31) for column in range(8)
    }


EIGHTS, SIXTEENS = tuple(range(8, 257, 8)), tuple(range(16, 257, 16))
WS_METADATA: dict[str, tuple[int, ...]] = {"m": (32, 64), "s": (0, 1)}
# The parameters of every layout that has any and is not a load, and their values: Table 39 for N, 9.7.16.10.7 for ids,
# 9.7.16.10.5 for the half of the lanes (alignment 0 or 16).
PARAMETERS: dict[str, dict[str, tuple[int, ...]]] = {
    "d.A": {"n": SIXTEENS},
    "d.B": {"n": SIXTEENS},
    "d.C": {"n": SIXTEENS, "half": (0, 1)},
    "d.D": {"n": EIGHTS},
    "d.E": {"n": (64, 128, 256)},
    "d.F": {"n": EIGHTS, "half": (0, 1)},
    "d.G": {"n": (64, 128, 256)},
    "a.A": {"bytes": (32, 48, 64), "width": (4, 8, 16, 32)},
    "a.B": {"bytes": (32, 48), "width": (4, 8, 16, 32)},
    "a.C": {"width": (4, 8, 16, 32), "half": (0, 1)},
    "a.D": {"bytes": (32, 48, 64), "width": (4, 8, 16, 32)},
    "a.F": {"width": (4, 8, 16, 32), "half": (0, 1)},
    "scale-a.1X": {"m": (64, 128), "id": (0, 1, 2, 3)},
    "scale-a.2X": {"m": (64, 128), "id": (0, 2)},
    "scale-a.4X": {"m": (64, 128)},
    "scale-a.3X": {"id": (0, 1, 2, 3)},
    "scale-a.6X": {"id": (0, 2)},
    "scale-b.1X": {"n": EIGHTS, "id": (0, 1, 2, 3)},
    "scale-b.2X": {"n": EIGHTS, "id": (0, 2)},
    "scale-b.4X": {"n": EIGHTS},
    "scale-b.3X": {"n": EIGHTS, "id": (0, 1, 2, 3)},
    "scale-b.6X": {"n": EIGHTS, "id": (0, 2)},
    "scale-b.8X": {"n": EIGHTS},
    "scale-b.4X.B": {"n": (128, 256)},
    "metadata.16b": {"s": (0, 1)},
    "metadata.tf32": {"s": (0, 1)},
    "metadata.16b.m64": {"s": (0, 1), "half": (0, 1)},
    "metadata.tf32.m64": {"s": (0, 1), "half": (0, 1)},
    "metadata.8b.m64": {"half": (0, 1)},
    "metadata.16b.ws": WS_METADATA,
    "metadata.tf32.ws": WS_METADATA,
    "metadata.8b.ws": {"m": (32, 64)},
}


def test_parameters_take_the_values_of_the_text(specification: Specification) -> None:
    found = {
        name.removeprefix("tcgen05."): {key: scalars.values for key, scalars in layout.layout.params.items()}
        for name, layout in specification.layouts.items()
        if name.startswith("tcgen05.") and not name.startswith("tcgen05.ld.") and layout.layout.params
    }
    assert found == PARAMETERS


# Arrangements: columns of the memory, and by occupant its layout, the lane and the column that it begins at, over N.
ARRANGED: dict[str, tuple[Any, dict[str, tuple[str, int, Any]]]] = {
    "accumulators.two": (lambda n: 512, {"first": ("d.D", 0, lambda n: 0), "second": ("d.D", 0, lambda n: n)}),
    "accumulators.halves": (lambda n: n, {"first": ("d.F", 0, lambda n: 0), "second": ("d.F", 16, lambda n: 0)}),
    "tmem-a": (lambda n: n + 12, {"D": ("d.D", 0, lambda n: 0), "A": ("a.D", 0, lambda n: n)}),
    "block-scaled": (
        lambda n: n + 12,
        {"D": ("d.D", 0, lambda n: 0), "scale-a": ("scale-a.4X", 0, lambda n: n),
         "scale-b": ("scale-b.4X", 0, lambda n: n + 4)},
    ),
    "block-scaled.k96": (
        lambda n: n + 24,
        {"D": ("d.D", 0, lambda n: 0), "scale-a": ("scale-a.6X", 0, lambda n: n),
         "scale-b": ("scale-b.6X", 0, lambda n: n + 8)},
    ),
    "block-scaled.sparse": (
        lambda n: n + 14,
        {"D": ("d.A", 0, lambda n: 0), "scale-a": ("scale-a.4X", 0, lambda n: n),
         "scale-b": ("scale-b.4X", 0, lambda n: n + 4), "metadata": ("metadata.8b", 0, lambda n: n + 12)},
    ),
    "block-scaled.two.512": (
        lambda n: 512,
        {"first": ("d.D", 0, lambda n: 0), "second": ("d.D", 0, lambda n: 256),
         "scale-a": ("scale-a.4X", 0, lambda n: 512), "scale-b": ("scale-b.4X", 0, lambda n: 516)},
    ),
    "block-scaled.two.576": (
        lambda n: 576,
        {"first": ("d.D", 0, lambda n: 0), "second": ("d.D", 0, lambda n: 256),
         "scale-a": ("scale-a.4X", 0, lambda n: 512), "scale-b": ("scale-b.4X", 0, lambda n: 516),
         "next-scale-a": ("scale-a.4X", 0, lambda n: 524), "next-scale-b": ("scale-b.4X", 0, lambda n: 528)},
    ),
}  # fmt: skip


def test_arrangements_are_those_typed_here(specification: Specification) -> None:
    """Each at its least and greatest N, cell by cell: none twice; the columns as many as are said, or too few."""
    assert {name.removeprefix("tcgen05.") for name in specification.arrangements} == {*ARRANGED}
    for name, (columns, occupants) in ARRANGED.items():
        arrangement = specification.arrangements[f"tcgen05.{name}"]
        sizes = arrangement.params["n"].values
        given = {key: int(scalars.values[-1]) for key, scalars in arrangement.params.items()}
        wanted_n = (256,) if ".two" in name and "scaled" in name else SIXTEENS if "sparse" in name else EIGHTS
        assert sizes == wanted_n
        rest = {key: scalars.values for key, scalars in arrangement.params.items() if key != "n"}
        assert rest == {
            "accumulators.two": {},
            "accumulators.halves": {"half": (0,)},
            "tmem-a": {"bytes": (32, 48), "width": (4, 8, 16, 32)},
            "block-scaled.k96": {"id": (0, 2)},
        }.get(name, {"m": (128,)})
        assert arrangement.fits == (name != "block-scaled.two.512")
        for n in (int(sizes[0]), int(sizes[-1])):
            taken: set[tuple[int, int, int]] = set()
            for who, (layout, lane, column) in occupants.items():
                assert arrangement.occupants[who].layout == f"tcgen05.{layout}"
                own = {
                    key: {**given, "n": n}[key]
                    for key in specification.layouts[f"tcgen05.{layout}"].parameters
                }
                cells = {
                    (cta, p["lane"] + lane, p["column"] + column(n))
                    for p in points(specification, f"tcgen05.{layout}", **own)
                    for cta in ((p["cta"],) if "cta" in p else (0, 1))
                }
                assert taken.isdisjoint(cells)
                taken |= cells
            assert {one[1] for one in taken} == set(range(128))
            top = max(one[2] for one in taken) + 1
            assert (top <= columns(n)) == arrangement.fits
            if n == 256 and name not in ("block-scaled.two.512", "block-scaled.two.576", "accumulators.two"):
                assert top == columns(n)


# 9.7.16.10.5: M, cta_group, whether .ws, whether A is sparse (None: either), and the data path.
TABLE = (
    (32, 1, 1, None, "G"),
    (64, 1, 1, None, "E"),
    (64, 1, 0, None, "F"),
    (128, 1, None, None, "D"),
    (128, 2, 0, 0, "B"),
    (128, 2, 0, 1, "C"),
    (256, 2, 0, None, "A"),
)


def test_data_paths_are_those_of_the_table(specification: Specification) -> None:
    rest = dict.fromkeys(path_values(specification.descriptors), 0)
    for part, known in (("D", "ABCDEFG"), ("A", "ABCDF")):
        for m, group, ws, sp in product((16, 32, 64, 128, 256), (1, 2), (0, 1), (0, 1)):
            given = rest | {"m": m, "cta_group": group, "ws": ws, "sp": sp, "bytes": 32}
            wanted = [
                f"tcgen05.{part.lower()}.{path}"
                for rows, groups, stationary, sparse, path in TABLE
                if (rows, groups) == (m, group)
                and stationary in (None, ws)
                and sparse in (None, sp)
                and path in known
            ]
            assert path_of(specification.layouts, part, given) == wanted

"""Ask JAX's Mosaic GPU for its layouts, and record them in evidence/peers-jax.json.

python -m venv V && V/bin/pip install jax absl-py && V/bin/python bench/peers/mosaic.py

No GPU is needed. A TiledLayout says which dimensions of a tiled array are warps, lanes and the vector of a
register; the others number the registers, in the order in which Mosaic hands them to an instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._src.interpreters.mlir import make_ir_context
from jax._src.lib.mlir import ir
from jax.experimental.mosaic.gpu import fragmented_array as fa
from jax.experimental.mosaic.gpu import tcgen05
from jax.experimental.mosaic.gpu.mma import MMALayouts
from peer_file import Observations, bases_of

Place = tuple[int, ...]
Cells = dict[tuple[int, int], tuple[int, ...]]
seen = Observations("JAX Mosaic GPU", "jax-ml/jax", "jax")


def holders(layout: Any, shape: Sequence[int], warps: int = 4) -> dict[tuple[int, int], tuple[int, ...]]:
    """By thread and element, the row and column that it holds."""
    tiled = layout.tiling.tile_shape(tuple(shape))
    found = {}
    for row in range(shape[0]):
        for col in range(shape[1]):
            index = layout.tiling.tile_indices((row, col))
            thread = 0
            for dimension in (*layout.partitioned_warp_dims, *layout.lane_dims):
                thread = thread * tiled[dimension] + index[dimension]
            element = 0
            threads = {d % len(tiled) for d in (*layout.partitioned_warp_dims, *layout.lane_dims)}
            vector = layout.vector_dim % len(tiled)
            for dimension, size in enumerate(tiled):
                if dimension not in threads and dimension != vector:
                    element = element * size + index[dimension]
            element = element * tiled[vector] + index[vector]
            found[thread, element] = row, col
    return found


def keep(name: str, function: str, layout: Any, shape: Sequence[int], **parameters: int) -> None:
    """Record a layout of a shape."""
    found = holders(layout, shape)
    threads, elements = (1 + max(key[place] for key in found) for place in (0, 1))
    inputs = {"t": threads, "i": elements}
    bases = bases_of(inputs, lambda t, i: found[t, i])
    seen.add_map(name, function, inputs, {"row": shape[0], "col": shape[1]}, bases, **parameters)


def fragments() -> None:
    """The fragments of wgmma, and of mma of one warp out of the four that Mosaic speaks of."""
    for n in (8, 16, 32, 64, 128, 256):
        keep("wgmma.d", "WGMMA_LAYOUT", fa.WGMMA_LAYOUT, (64, n), n=n)
    keep("wgmma.a.16b", "WGMMA_LAYOUT", fa.WGMMA_LAYOUT, (64, 16))
    keep("wgmma.a.8b", "WGMMA_LAYOUT_8BIT", fa.WGMMA_LAYOUT_8BIT, (64, 32))
    with ir.Context():
        for kind, k, names in (
            (ir.F16Type.get(), 16, ("mma.m16n8k16.a.16b", "mma.m16n8k16.b.16b")),
            (ir.IntegerType.get_signless(8), 32, ("mma.m16n8k32.a.8b", "mma.m16n8k32.b.8b")),
        ):
            layouts = MMALayouts(kind)
            warp(names[0], f"MMALayouts({kind}).lhs", layouts.lhs, (64, k))
            keep(names[1], f"MMALayouts({kind}).rhs", layouts.rhs, (k, 8))
            warp("mma.m16n8.c", f"MMALayouts({kind}).acc", layouts.acc, (64, 8))


def warp(name: str, function: str, layout: Any, shape: tuple[int, int]) -> None:
    """Record what the first of four warps holds, which have 16 rows each."""
    found = {key: place for key, place in holders(layout, shape).items() if key[0] < 32}
    elements = 1 + max(element for _, element in found)
    inputs, outputs = {"t": 32, "i": elements}, {"row": shape[0] // 4, "col": shape[1]}
    seen.add_map(name, function, inputs, outputs, bases_of(inputs, lambda t, i: found[t, i]))


def accumulators() -> None:
    """Where D lies in tensor memory; of two CTAs, each has half of the rows."""
    for letter, rows, ctas, of in (
        ("D", 128, 1, lambda n: tcgen05.tmem_default_layout()),
        ("A", 128, 2, lambda n: tcgen05.tmem_default_layout()),
        ("F", 64, 1, tcgen05.tmem_half_lane_layout),
        ("B", 64, 2, tcgen05.tmem_m64_collective_layout),
    ):
        for n in (16, 32, 64, 128):
            whole = 2 * n if letter == "F" else n  # of two products, the first one: its half of the lanes
            cells = {place: cell for cell, place in holders(of(whole), (rows, whole)).items()}

            def place(
                row: int, col: int, at: Cells = cells, size: int = rows, pair: int = ctas
            ) -> tuple[int, ...]:
                lane, column = at[row % size, col]
                return column, lane, *((row // size,) if pair == 2 else ())

            inputs = {"row": rows * ctas, "col": n}
            columns = n // 2 if letter == "B" else n
            outputs = {"column": columns, "lane": 128, **({"cta": 2} if ctas == 2 else {})}
            function = {"F": "tmem_half_lane_layout", "B": "tmem_m64_collective_layout"}.get(
                letter, "tmem_default_layout"
            )
            parameters = {"n": n, **({"half": 0} if letter == "F" else {})}
            seen.add_map(
                f"tcgen05.d.{letter}", function, inputs, outputs, bases_of(inputs, place), **parameters
            )


def scale_factors() -> None:
    """Scale factors of A and B in bytes of tensor memory; copies are numbered as the warps that hold them."""
    cells: dict[tuple[int, int, int], Place] = {}
    layout, rows = tcgen05.scales_layout(), 128
    tiled = layout.tiling.tile_shape((rows, 4))
    for row in range(rows):
        for factor in range(4):
            index = layout.tiling.tile_indices((row, factor))
            (lane,) = (index[dimension] for dimension in layout.lane_dims)
            vector = layout.vector_dim % len(tiled)
            taken = {vector, *(dimension % len(tiled) for dimension in layout.lane_dims)}
            column = 0
            for dimension, size in enumerate(tiled):
                if dimension not in taken:
                    column = column * size + index[dimension]
            (replicated,) = layout.warp_dims
            for copy in range(replicated.times):
                cells[copy, row, factor] = 32 * copy + lane, column, index[vector]
    for kind, scales in (("1X", 1), ("2X", 2), ("4X", 4)):
        given = {} if kind == "4X" else {"id": 0}
        for side in "ab":

            def place(copy: int, row: int, col: int, swapped: bool = side == "b") -> Place:
                return cells[(copy, col, row) if swapped else (copy, row, col)]

            shape = {"row": rows, "col": scales} if side == "a" else {"row": scales, "col": rows}
            inputs = {"copy": 4, **shape}
            seen.add_map(
                f"tcgen05.scale-{side}.{kind}",
                "scales_layout",
                inputs,
                {"lane": 128, "column": rows // 32, "byte": 4},
                bases_of(inputs, place),
                **{"m" if side == "a" else "n": rows},
                **given,
            )


def words() -> None:
    """Words of the instruction descriptors."""
    with make_ir_context(), ir.Location.unknown() as place, ir.InsertionPoint(ir.Module.create(place).body):
        types = {
            "f16": ir.F16Type.get(),
            "bf16": ir.BF16Type.get(),
            "f32": ir.F32Type.get(),
            "e4m3": ir.Float8E4M3FNType.get(),
            "e5m2": ir.Float8E5M2Type.get(),
            "s8": ir.IntegerType.get_signless(8),
            "s32": ir.IntegerType.get_signless(32),
            "e2m1": ir.Float4E2M1FNType.get(),
            "ue8m0": ir.Float8E8M0FNUType.get(),
            "ue4m3": ir.Float8E4M3FNType.get(),
        }
        function = "create_instr_descriptor"
        for kind, d, ab in (
            ("f16", "f16", "f16"),
            ("f16", "f32", "bf16"),
            ("f8f6f4", "f32", "e4m3"),
            ("f8f6f4", "f16", "e5m2"),
            ("i8", "s32", "s8"),
        ):
            for m, n, a, b, sparse in (
                (64, 8, 0, 0, 0),
                (128, 256, 0, 0, 0),
                (256, 48, 1, 0, 0),
                (64, 16, 0, 1, 0),
                (64, 16, 0, 0, 1),
            ):
                made = tcgen05.create_instr_descriptor(
                    m, n, types[d], types[ab], bool(a), bool(b), 1 if sparse else None
                )
                fields = {
                    "dtype": d,
                    "atype": ab,
                    "btype": ab,
                    "M": m,
                    "N": n,
                    "transpose-A": a,
                    "transpose-B": b,
                }
                chosen = {"sparse": 1, "sparsity-selector": 1} if sparse else {}
                seen.add_word(f"tcgen05.{kind}", function, {**fields, **chosen}, value(made))
        for kind, make, ab, scale in (
            ("mxf8f6f4", tcgen05.create_scaled_f8f6f4_instr_descriptor, "e4m3", "ue8m0"),
            ("mxf8f6f4", tcgen05.create_scaled_f8f6f4_instr_descriptor, "e5m2", "ue8m0"),
            ("mxf4", tcgen05.create_scaled_f4_instr_descriptor, "e2m1", "ue8m0"),
            ("mxf4nvf4", tcgen05.create_scaled_f4_instr_descriptor, "e2m1", "ue4m3"),
        ):
            for m, n, a, b, x, y, sparse in (
                (128, 8, 0, 0, 0, 0, 0),
                (256, 256, 1, 0, 2, 0, 0),
                (128, 64, 0, 1, 0, 2, 1),
            ):
                made = make(m, n, types[ab], types[ab], x, y, bool(a), bool(b), types[scale], bool(sparse))
                fields = {"atype": ab, "btype": ab, "M": m, "N": n, "transpose-A": a, "transpose-B": b}
                more = {"scale-id-A": x, "scale-id-B": y, "scale-type": scale, "sparse": sparse}
                seen.add_word(f"tcgen05.{kind}", make.__name__, {**fields, **more}, value(made))


def value(made: Any) -> int:
    """The word of a constant operation."""
    return ir.IntegerAttr(made.owner.attributes["value"]).value & 0xFFFFFFFF


if __name__ == "__main__":
    fragments()
    accumulators()
    scale_factors()
    words()
    seen.write()

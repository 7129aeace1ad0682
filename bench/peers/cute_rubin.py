"""Print CuTe's layouts of A and of scale factors for products that only sm_107 has, as JSON: one map a line.

cute_dsl.py runs it, since CuTe builds for one target a process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

os.environ["CUTE_DSL_ARCH"] = "sm_107a"

import cutlass
from cute_scales import record_factors
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05
from cutlass.utils import blockscaled_layout
from peer_file import Observations, bases_of

seen = Observations("CuTe DSL", "NVIDIA/cutlass", "nvidia-cutlass-dsl")


def address(whole: Any, nested: bool, product: int) -> Callable[[int, int, int], int]:
    """The address of a copy of a factor; eight factors of a row are in words of four."""

    def of(copy: int, row: int, factor: int) -> int:
        along = (factor % 4, factor // 4) if nested else factor
        return int(whole(((((row % 32, row // 32), copy), (0, along)), 0, product)))

    return of


def every() -> None:
    """Eight factors of A and of B, of products with K = 128, and two of products with K = 64."""
    one, source, k = tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, OperandMajorMode.K
    e4m3, ue8m0 = cutlass.Float8E4M3FN, cutlass.Float8E8M0FNU
    for n in (128, 256):
        four = tcgen05.SM107MmaMXF4NVF4Op(e4m3, 16, (128, n, 128), one, source)
        eight = tcgen05.SM107BlockScaledMmaMXF8F6F4Op(e4m3, e4m3, ue8m0, 32, (128, n, 64), one, source, k, k)
        for made, vector, kind, scales in ((four, 16, "8X", 8), (eight, 32, "2X", 2)):
            tiled, tile = cute.make_tiled_mma(made), (128, n, 2 * made.shape_mnk[2])
            for side, rows, shared, ask in (
                ("a", 128, blockscaled_layout.make_smem_layout_sfa, blockscaled_layout.make_tmem_layout_sfa),
                ("b", n, blockscaled_layout.make_smem_layout_sfb, blockscaled_layout.make_tmem_layout_sfb),
            ):
                staged = shared(tiled, tile, vector, 1)
                whole = ask(tiled, tile, vector, cute.slice_(staged, (None, None, None, 0)))
                for product in range(2 if kind == "2X" else 1):
                    function = f"{ask.__name__} of {type(made).__name__}, product {product}"
                    at = address(whole, kind == "8X", product)
                    record_factors(seen, function, side, kind, rows, scales, at)


def multiplicands() -> None:
    """A in tensor memory, of products whose rows of A have 64 bytes."""
    e4m3, f32, k = cutlass.Float8E4M3FN, cutlass.Float32, OperandMajorMode.K
    source = tcgen05.OperandSource.TMEM
    for letter, group, ctas in (("D", tcgen05.CtaGroup.ONE, 1), ("A", tcgen05.CtaGroup.TWO, 2)):
        m = 128 * ctas
        for width, made in (
            (8, tcgen05.SM107MmaFP8Op(e4m3, e4m3, f32, (m, 64, 64), group, source, k, k)),
            (4, tcgen05.SM107MmaMXF4NVF4Op(e4m3, 16, (m, 64, 128), group, source)),
        ):
            tiled, held = cute.make_tiled_mma(made), 32 // width
            whole = tiled.make_fragment_A(tiled.partition_shape_A((m, 512 // width))).layout[0]

            def place(
                row: int, col: int, of: Any = whole, each: int = held, pair: bool = ctas == 2
            ) -> tuple[int, ...]:
                address = int(of((row % 128, col)))
                element, lane = address % (65536 * each), address // (65536 * each)
                return element % each, element // each, lane, *((row // 128,) if pair else ())

            inputs = {"row": m, "col": 512 // width}
            outputs = {"i": held, "column": 16, "lane": 128, **({"cta": 2} if ctas == 2 else {})}
            function = f"make_fragment_A of {type(made).__name__}, {ctas} CTA, M = {m}"
            bases = bases_of(inputs, place)
            seen.add_map(f"tcgen05.a.{letter}", function, inputs, outputs, bases, width=width, bytes=64)


@cute.jit
def ask() -> None:
    """A function that CuTe traces."""
    every()
    multiplicands()


if __name__ == "__main__":
    ask()
    for one in seen.maps:
        print(json.dumps(one))

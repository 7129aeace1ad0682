"""Ask Triton for its linear layouts, and record them in evidence/peers-triton.json.

python -m venv V && V/bin/pip install triton && V/bin/python bench/peers/triton_layouts.py

No GPU is needed. A linear layout is what each bit of a register's or a lane's number adds (XOR) to the row
and to the column. It has powers of two only, so N is one.
"""

from __future__ import annotations

from typing import Any

from peer_file import Observations
from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language._semantic import _compute_tmem_reg_layout
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
)
from triton_words import record_words

_CONTEXT = ir.context()
ir.load_dialects(_CONTEXT)
BUILDER = gluon_ir.GluonOpBuilder(_CONTEXT)
WARP = gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[1, 1], instr_shape=[16, 8])

# Which operand (0: A, 1: B), the elements of a thread that follow one another along K, K, and the layout.
OPERANDS = (
    (0, 2, 16, "mma.m16n8k16.a.16b"),
    (1, 2, 16, "mma.m16n8k16.b.16b"),
    (0, 4, 32, "mma.m16n8k32.a.8b"),
    (1, 4, 32, "mma.m16n8k32.b.8b"),
    (0, 1, 8, "mma.m16n8.a.word"),
    (1, 1, 8, "mma.n8.b.word"),
    (0, 8, 64, "mma.m16n8k64.a.4b"),
    (1, 8, 64, "mma.m16n8k64.b.4b"),
    (1, 2, 32, "mma.sp.m16n8k32.b.16b"),
    (1, 4, 64, "mma.sp.m16n8k64.b.8b"),
)
WITH_K = ("mma.m16n8.a.word", "mma.n8.b.word")

seen = Observations("Triton", "triton-lang/triton", "triton")


def keep(layout: str, function: str, given: Any, shape: list[int], **parameters: int) -> None:
    """Record the linear layout of a tensor of a shape."""
    linear = BUILDER.to_linear_layout(given._to_ir(BUILDER), shape)
    bases = {"t": [*linear.lane_bases, *linear.warp_bases], "i": linear.reg_bases}
    inputs = {name: 1 << len(parts) for name, parts in bases.items()}
    seen.add_map(layout, function, inputs, {"row": shape[0], "col": shape[1]}, bases, **parameters)


def fragments() -> None:
    """The fragments of mma and wgmma."""
    keep("mma.m16n8.c", "NVMMADistributedLayout(version=[2, 0])", WARP, [16, 8])
    for operand, width, k, layout in OPERANDS:
        given = gl.DotOperandLayout(operand_index=operand, parent=WARP, k_width=width)
        shape = [k, 8] if operand else [16, k]
        parameters = {"k": k} if layout in WITH_K else {}
        function = f"DotOperandLayout({operand}, version=[2, 0], k_width={width})"
        keep(layout, function, given, shape, **parameters)
    for n in (8, 16, 32, 64, 128, 256):
        given = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, n])
        keep("wgmma.d", "NVMMADistributedLayout(version=[3, 0])", given, [64, n], n=n)
        for width, k, layout in ((1, 8, "wgmma.a.tf32"), (2, 16, "wgmma.a.16b"), (4, 32, "wgmma.a.8b")):
            operand = gl.DotOperandLayout(operand_index=0, parent=given, k_width=width)
            function = f"DotOperandLayout(0, version=[3, 0], k_width={width})"
            keep(layout, function, operand, [64, k])


def transfers() -> None:
    """What tcgen05.ld moves: of four warps, what the threads of the first one hold."""
    for name, lanes, factor, most in (
        ("32x32b", 32, 1, 128),
        ("16x64b", 16, 2, 128),
        ("16x128b", 16, 4, 64),
        ("16x256b", 16, 8, 32),
    ):
        for num in (1 << power for power in range(8)):
            columns = factor * num
            if num > most or not 8 <= columns <= 256:
                continue
            shape = [4 * lanes, columns]
            given = TensorMemoryLayout(block=tuple(shape), col_stride=1)
            linear = _compute_tmem_reg_layout(gl.float32, shape, shape, given, 4, name)
            bases = {"t": linear.lane_bases, "i": linear.reg_bases}
            inputs = {"t": 32, "i": 1 << len(linear.reg_bases)}
            function = f"compute_tmem_reg_layout({name})"
            seen.add_map(
                f"tcgen05.ld.{name}", function, inputs, {"lane": lanes, "column": columns}, bases, num=num
            )


def accumulators() -> None:
    """Where D lies in tensor memory; of two CTAs, each has half of the rows."""
    for letter, rows, ctas, fold in (("D", 128, 1, 1), ("F", 64, 1, 1), ("B", 64, 2, 2), ("A", 128, 2, 1)):
        for n in (16, 32, 64, 128, 256):
            pair = {"two_ctas": True, "cga_layout": [[1, 0]]} if ctas == 2 else {}
            given = TensorMemoryLayout(block=(rows, n), col_stride=1, **pair)
            shape = [rows * ctas, n]
            linear = BUILDER.to_linear_layout(given._to_ir(BUILDER), shape)
            bases = {"lane": linear.rows, "column": linear.cols}
            inputs = {"lane": 128, "column": n // fold}
            if ctas == 2:
                bases, inputs = {**bases, "cta": [[rows, 0]]}, {**inputs, "cta": 2}
            parameters = {"n": n, **({"half": 0} if letter == "F" else {})}
            function = f"TensorMemoryLayout(block=({rows}, {n}), two_ctas={ctas == 2})"
            seen.add_map(
                f"tcgen05.d.{letter}", function, inputs, {"row": shape[0], "col": n}, bases, **parameters
            )


def scales() -> None:
    """Where scale factors lie, four a row; a lane that adds nothing is in another copy."""
    linear = BUILDER.to_linear_layout(TensorMemoryScalesLayout()._to_ir(BUILDER), [128, 4])
    copies = iter(([0, 0, 1], [0, 0, 2]))
    lanes = [[*base, 0] if any(base) else next(copies) for base in linear.rows]
    cells = [[*base, 0] for base in linear.cols]
    bases = {"lane": lanes, "byte": cells[:2], "column": cells[2:]}
    inputs, function = {"lane": 128, "byte": 4, "column": 4}, "TensorMemoryScalesLayout()"
    outputs = {"row": 128, "col": 4, "copy": 4}
    seen.add_map("tcgen05.scale-a.4X", function, inputs, outputs, bases, m=128)
    exchanged = {name: [[col, row, copy] for row, col, copy in parts] for name, parts in bases.items()}
    outputs = {"row": 4, "col": 128, "copy": 4}
    seen.add_map("tcgen05.scale-b.4X", function, inputs, outputs, exchanged, n=128)


if __name__ == "__main__":
    fragments()
    transfers()
    accumulators()
    scales()
    record_words(seen)
    seen.write()

"""Ask CuTe (nvidia-cutlass-dsl) for its layouts, and record them in evidence/peers-nvidia-cutlass-dsl.json.

python -m venv V && V/bin/pip install "nvidia-cutlass-dsl[cu13]" && V/bin/python bench/peers/cute_dsl.py

No GPU is needed: CuTe computes the layouts while it builds a kernel, which nobody runs. CuTe writes B as
(n, k), so the column of B comes first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peer_file import Observations, bases_of

os.environ["CUTE_DSL_ARCH"] = "sm_100a"

import cutlass
from cute_scales import record_factors
from cute_words import record_words
from cutlass import cute
from cutlass._mlir.dialects import cute_nvgpu as ir
from cutlass.cute.atom import MmaAtom, Trait, make_atom
from cutlass.cute.core import _pack_shape
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05, warp
from cutlass.cute.nvgpu.warpgroup import OperandSource
from cutlass.utils import blockscaled_layout

TYPES: dict[str, Any] = {
    "f16": cutlass.Float16,
    "bf16": cutlass.BFloat16,
    "tf32": cutlass.TFloat32,
    "f64": cutlass.Float64,
    "f32": cutlass.Float32,
    "s32": cutlass.Int32,
    "s8": cutlass.Int8,
    "e4m3": cutlass.Float8E4M3FN,
    "e2m1": cutlass.Float4E2M1FN,
    "ue8m0": cutlass.Float8E8M0FNU,
    "ue4m3": cutlass.Float8E4M3FN,
}
# The shape and types of an atom, and the layouts of A, B and C that it has.
WARP = (
    ((16, 8, 8), "f16", "f32", ("mma.m16n8k8.a.16b", "mma.m16n8k8.b.16b", "mma.m16n8.c")),
    ((16, 8, 16), "f16", "f16", ("mma.m16n8k16.a.16b", "mma.m16n8k16.b.16b", "mma.m16n8.c")),
    ((16, 8, 4), "tf32", "f32", ("mma.m16n8.a.word", "mma.n8.b.word", "mma.m16n8.c")),
    ((16, 8, 8), "tf32", "f32", ("mma.m16n8.a.word", "mma.n8.b.word", "mma.m16n8.c")),
    ((8, 8, 4), "f64", "f64", ("mma.m8n8.a", "mma.n8.b.word", "mma.m8n8.c")),
    ((8, 8, 16), "s8", "s32", ("mma.m8n8.a", "mma.m16n8k16.b.8b", "mma.m8n8.c")),
    ((16, 8, 16), "s8", "s32", ("mma.m16n8k16.a.8b", "mma.m16n8k16.b.8b", "mma.m16n8.c")),
    ((16, 8, 32), "s8", "s32", ("mma.m16n8k32.a.8b", "mma.m16n8k32.b.8b", "mma.m16n8.c")),
)
WITH_K = ("mma.m8n8.a", "mma.m16n8.a.word", "mma.n8.b.word")
WARPGROUP = (
    (16, "f16", "f32", "wgmma.a.16b"),
    (8, "tf32", "f32", "wgmma.a.tf32"),
    (32, "e4m3", "f32", "wgmma.a.8b"),
    (32, "s8", "s32", "wgmma.a.8b"),
)
# The shapes of tcgen05.ld and .st, their lanes, and the greatest repetition.
TENSOR_MEMORY = (
    ("32x32b", 32, 128),
    ("16x64b", 16, 128),
    ("16x128b", 16, 64),
    ("16x256b", 16, 32),
    ("16x32bx2", 16, 128),
)

seen = Observations("CuTe DSL", "NVIDIA/cutlass", "nvidia-cutlass-dsl")


def atom(of: Any, *more: Any) -> MmaAtom:
    """An atom of a type of CuTe's compiler; which operation stands beside it says nothing about layouts."""
    operation = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    return MmaAtom(operation, Trait(make_atom(of, [*more])))


def keep(function: str, made: MmaAtom, shape: tuple[int, int, int], layouts: tuple[str, str, str]) -> None:
    """Record the layouts of A, B and C of an atom."""
    m, n, k = shape
    threads = 128 if m == 64 else 32
    for letter, name in zip("ABC", layouts, strict=True):
        if not name:
            continue
        outputs = {"A": {"row": m, "col": k}, "B": {"col": n, "row": k}, "C": {"row": m, "col": n}}[letter]
        whole = getattr(made, f"tv_layout_{letter}")
        inputs = {"t": threads, "i": cute.size(whole.shape[1])}
        parameters = {"k": k} if name in WITH_K else {"n": n} if name == "wgmma.d" else {}
        seen.add_map(name, f"{function}.tv_layout_{letter}", inputs, outputs, str(whole), **parameters)


def matrices() -> None:
    """What ldmatrix and stmatrix move: the layout of the registers, and the rows of the addresses."""
    half, byte = cutlass.Float16, cutlass.Int8
    for count in (1, 2, 4):
        for transposed, name in ((False, "matrix.m8n8"), (True, "matrix.m8n8.trans")):
            load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transposed, count), half)
            store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(transposed, count), half)
            move("LdMatrix8x8x16bOp.layout_dst_tv", load.layout_dst_tv, name, 8, count)
            move("StMatrix8x8x16bOp.layout_src_tv", store.layout_src_tv, name, 8, count)
            rows("LdMatrix8x8x16bOp", load.layout_src_tv, 8, count)
        unpacking = cute.make_copy_atom(warp.LdMatrix8x16x8bOp(False, count, 4), byte)
        move("LdMatrix8x16x8bOp.layout_dst_tv", unpacking.layout_dst_tv, "matrix.m8n16", 16, count)
        narrow = cute.make_copy_atom(warp.StMatrix16x8x8bOp(True, count), byte)
        move("StMatrix16x8x8bOp.layout_src_tv", narrow.layout_src_tv, "matrix.m16n8.trans", 16, count)
    for count in (1, 2):
        square = cute.make_copy_atom(warp.LdMatrix16x16x8bOp(True, count), byte)
        name = "matrix.m16n16.trans"
        move("LdMatrix16x16x8bOp.layout_dst_tv", square.layout_dst_tv, name, 16, count, 16)
        rows("LdMatrix16x16x8bOp", square.layout_src_tv, 16, count)


def move(function: str, whole: Any, name: str, width: int, count: int, height: int = 8) -> None:
    """Record where the registers of a copy lie in the rows of memory."""
    inputs = {"t": 32, "i": cute.size(whole.shape[1])}
    seen.add_map(name, function, inputs, {"col": width, "row": height * count}, str(whole), matrices=count)


def rows(operation: str, source: Any, height: int, count: int) -> None:
    """Record which thread supplies the address of which row; a row has 8 elements of 16 bits or 16 of 8."""

    def place(t: int) -> tuple[int, int]:
        row = source((t, 0)) // height
        return row % height, row // height

    inputs, outputs = {"t": height * count}, {"row": height, "matrix": count}
    function, name = f"{operation}.layout_src_tv", f"matrix.rows.{height}"
    seen.add_map(name, function, inputs, outputs, bases_of(inputs, place), matrices=count)


def transfers() -> None:
    """What tcgen05.ld and .st move, with 32-bit elements and with two of 16 bits a register."""
    for name, lanes, most in TENSOR_MEMORY:
        for num in (1 << power for power in range(8)):
            if num > most:
                continue
            times = getattr(tcgen05.Repetition, f"x{num}")
            load, store = (getattr(tcgen05, f"{way}{name}Op") for way in ("Ld", "St"))
            word, half = cutlass.Float32, cutlass.Float16
            pack, unpack = tcgen05.Pack.PACK_16b_IN_32b, tcgen05.Unpack.UNPACK_32b_IN_16b
            held = cute.make_copy_atom(load(times), word).layout_dst_tv
            transfer(f"Ld{name}Op.layout_dst_tv", held, f"tcgen05.ld.{name}", lanes, num)
            held = cute.make_copy_atom(store(times), word).layout_src_tv
            transfer(f"St{name}Op.layout_src_tv", held, f"tcgen05.ld.{name}", lanes, num)
            held = cute.make_copy_atom(load(times, pack), half).layout_dst_tv
            transfer(f"Ld{name}Op(PACK).layout_dst_tv", held, f"tcgen05.ld.{name}.packed", lanes, num)
            held = cute.make_copy_atom(store(times, unpack), half).layout_src_tv
            transfer(f"St{name}Op(UNPACK).layout_src_tv", held, f"tcgen05.ld.{name}.packed", lanes, num)


def transfer(function: str, whole: Any, layout: str, lanes: int, num: int) -> None:
    """Record the cells of one access: CuTe numbers them column by column, lane by lane."""
    elements = cute.size(whole.shape[1])
    twice = 2 if layout.startswith("tcgen05.ld.16x32bx2") else 1
    columns = 32 * elements // lanes // twice
    outputs = {"column": columns, **({"access": 2} if twice == 2 else {}), "lane": lanes}
    seen.add_map(layout, function, {"t": 32, "i": elements}, outputs, str(whole), num=num)


def accumulators() -> None:
    """Where D lies in tensor memory, and A where it comes from there."""
    one, two = tcgen05.CtaGroup.ONE, tcgen05.CtaGroup.TWO
    f16, f32 = cutlass.Float16, cutlass.Float32
    k = OperandMajorMode.K
    for letter, group, m in (("D", one, 128), ("F", one, 64), ("B", two, 128), ("A", two, 256)):
        ctas = 1 if group is one else 2
        for n in (16, 32, 64, 128, 256):
            made = tcgen05.MmaF16BF16Op(f16, f32, (m, n, 16), group, tcgen05.OperandSource.SMEM, k, k)
            tiled = cute.make_tiled_mma(made)
            whole = tiled.make_fragment_C(tiled.partition_shape_C((m, n))).layout[0]
            accumulator(f"make_fragment_C of MmaF16BF16Op, {ctas} CTA, M = {m}", whole, letter, m, n, ctas)
        for width, made in (
            (32, tcgen05.MmaTF32Op((m, 64, 8), group, tcgen05.OperandSource.TMEM, k, k)),
            (16, tcgen05.MmaF16BF16Op(f16, f32, (m, 64, 16), group, tcgen05.OperandSource.TMEM, k, k)),
            (8, eight_bits(m, group)),
        ):
            tiled = cute.make_tiled_mma(made)
            whole = tiled.make_fragment_A(tiled.partition_shape_A((m, 256 // width))).layout[0]
            multiplicand(
                f"make_fragment_A of {type(made).__name__}, {ctas} CTA, M = {m}", whole, letter, m, width
            )
    for n in (32, 256):
        sparse = tcgen05.MmaF16BF16SparseOp(
            f16, f32, (128, n, 32), two, tcgen05.OperandSource.SMEM, k, k, tcgen05.SparseMetadataFormat.TID
        )
        tiled = cute.make_tiled_mma(sparse)
        whole = tiled.make_fragment_C(tiled.partition_shape_C((128, n))).layout[0]
        accumulator("make_fragment_C of MmaF16BF16SparseOp, 2 CTA, M = 128", whole, "C", 128, n, 2)
    sparse = tcgen05.MmaF16BF16SparseOp(
        f16, f32, (128, 64, 32), two, tcgen05.OperandSource.TMEM, k, k, tcgen05.SparseMetadataFormat.TID
    )
    tiled = cute.make_tiled_mma(sparse)
    whole = tiled.make_fragment_A(tiled.partition_shape_A((128, 32))).layout[0]
    multiplicand("make_fragment_A of MmaF16BF16SparseOp, 2 CTA, M = 128", whole, "C", 128, 16)


def eight_bits(m: int, group: Any) -> Any:
    """A product of 8-bit types with A from tensor memory."""
    e4m3, k = cutlass.Float8E4M3FN, OperandMajorMode.K
    source = tcgen05.OperandSource.TMEM
    return tcgen05.MmaF8F6F4Op(e4m3, e4m3, cutlass.Float32, (m, 64, 32), group, source, k, k)


def accumulator(function: str, whole: Any, letter: str, m: int, n: int, ctas: int) -> None:
    """Record where each element of D lies; an address is a lane times 65536, and a column."""
    rows = m // ctas

    def place(row: int, col: int) -> tuple[int, ...]:
        address = whole((row % rows, col))
        return address % 65536, address // 65536, *((row // rows,) if ctas == 2 else ())

    columns = {"B": n // 2, "C": n}.get(letter, n)
    outputs = {"column": columns, "lane": 128, **({"cta": 2} if ctas == 2 else {})}
    inputs = {"row": m, "col": n}
    parameters = {"n": n, **({"half": 0} if letter in "CF" else {})}
    seen.add_map(f"tcgen05.d.{letter}", function, inputs, outputs, bases_of(inputs, place), **parameters)


def multiplicand(function: str, whole: Any, letter: str, m: int, width: int) -> None:
    """Record where each element of A lies; an address counts elements in the columns."""
    ctas, held = (2 if letter in "ABC" else 1), 32 // width
    rows = m // ctas

    def place(row: int, col: int, copy: int = 0) -> tuple[int, ...]:
        address = whole((row % rows + rows * copy, col))
        element, lane = address % (65536 * held), address // (65536 * held)
        return element % held, element // held, lane, *((row // rows,) if ctas == 2 else ())

    inputs = {"row": m, "col": 256 // width, **({"copy": 2} if letter == "B" else {})}
    outputs = {"i": held, "column": 8, "lane": 128, **({"cta": 2} if ctas == 2 else {})}
    parameters = {"width": width, **({"half": 0} if letter in "CF" else {"bytes": 32})}
    seen.add_map(f"tcgen05.a.{letter}", function, inputs, outputs, bases_of(inputs, place), **parameters)


def scale_factors() -> None:
    """Where each scale factor of a product with K = 96 lies: some products have theirs behind one another."""
    one, source = tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM
    for kind, scales, vector in (("3X", 3, 32), ("6X", 6, 16)):
        for n in (128, 256):
            shape = (128, n, 96)
            made = (
                tcgen05.SM103MmaMXF4Op(shape, one, source)
                if vector == 32
                else tcgen05.SM103MmaMXF4NVF4Op(cutlass.Float8E4M3FN, shape, one, source)
            )
            tiled, tile = cute.make_tiled_mma(made), (128, n, 4 * 96)
            for side, rows, ask in (
                ("a", 128, blockscaled_layout.make_tmem_layout_sfa),
                ("b", n, blockscaled_layout.make_tmem_layout_sfb),
            ):
                if side == "a" and n != 128:
                    continue
                each = (((32, 4), rows // 128), (vector, 1)), 1, 4 * scales
                whole = ask(tiled, tile, vector, cute.make_layout(each))
                for product in range(4 if scales == 3 else 2):
                    function = f"{ask.__name__} of {type(made).__name__}, product {product}"
                    at = factor_address(whole, product * scales)
                    record_factors(seen, function, side, kind, rows, scales, at)


def factor_address(whole: Any, before: int) -> Callable[[int, int, int], int]:
    """The address of a copy of a factor of a product; so many factors come before."""

    def of(copy: int, row: int, factor: int) -> int:
        return int(whole(((((row % 32, row // 32), copy), (0, 0)), 0, before + factor)))

    return of


def other_target() -> None:
    """What CuTe has for sm_107 only."""
    command = [sys.executable, Path(__file__).with_name("cute_rubin.py")]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    seen.maps += [json.loads(line) for line in lines if line.startswith("{")]


def every() -> None:
    """Ask for every layout."""
    for shape, ab, c, layouts in WARP:
        of = ir.MmaAtomSM80Type.get(
            _pack_shape(shape).type.attribute, *(TYPES[kind].mlir_type for kind in (ab, ab, c))
        )
        keep(f"MmaAtomSM80Type({shape}, {ab}, {c})", atom(of), shape, layouts)
    e4m3, f32 = TYPES["e4m3"], TYPES["f32"]
    of = ir.MmaAtomSM89Type.get(
        _pack_shape((16, 8, 32)).type.attribute, *(kind.mlir_type for kind in (e4m3, e4m3, f32))
    )
    eight = ("mma.m16n8k32.a.8b", "mma.m16n8k32.b.8b", "mma.m16n8.c")
    four = ("mma.m16n8k64.a.4b", "mma.m16n8k64.b.4b", "mma.m16n8.c")
    keep("MmaAtomSM89Type((16, 8, 32), e4m3, f32)", atom(of), (16, 8, 32), eight)
    for shape, ab, vector, scale, layouts in (
        ((16, 8, 32), "e4m3", 32, "ue8m0", eight),
        ((16, 8, 64), "e2m1", 32, "ue8m0", four),
        ((16, 8, 64), "e2m1", 16, "ue4m3", four),
    ):
        kinds = (TYPES[kind].mlir_type for kind in (ab, ab, "f32", scale))
        of = ir.MmaAtomSM120BlockScaledType.get(_pack_shape(shape).type.attribute, vector, False, *kinds)
        keep(f"MmaAtomSM120BlockScaledType({shape}, {ab}, {scale})", atom(of), shape, layouts)
    matrices()
    transfers()
    accumulators()
    scale_factors()
    for k, ab, c, a_layout in WARPGROUP:
        for n in range(8, 257, 8):
            if ab != "f16" and n not in (8, 64, 256):
                continue
            of = ir.MmaAtomSM90Type.get(
                _pack_shape((64, n, k)).type.attribute,
                OperandMajorMode.K._to_ir(),
                OperandMajorMode.K._to_ir(),
                *(TYPES[kind].mlir_type for kind in (ab, ab, c)),
                OperandSource.RMEM._to_ir(),
            )
            made = atom(of, cutlass.Boolean(False).ir_value())
            keep(f"MmaAtomSM90Type((64, N, {k}), {ab}, {c})", made, (64, n, k), (a_layout, "", "wgmma.d"))


@cute.jit
def ask() -> None:
    """A function that CuTe traces: it knows layouts only in one, and rewrites its loops but not its calls."""
    every()


if __name__ == "__main__":
    ask()
    other_target()
    record_words(seen)
    seen.write()

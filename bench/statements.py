"""Write the statements of the `legal --batch` benchmark: N x K x D x A x B of wgmma.mma_async.sp.

python bench/statements.py [--family wgmma.sp|mma|tcgen05] [--kernel] > FILE

One statement a line (19,404 of wgmma.sp); with --kernel the same lines inside a PTX kernel, for ptxas.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterable, Iterator

_K = (8, 16, 32, 64)
_D = ("f16", "f32", "s32")
_AB = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8")


def wgmma_sp() -> Iterator[str]:
    """Every N from 8 to 264, every K, every type: most of them illegal."""
    for n, k, d, a, b in itertools.product(range(8, 265, 8), _K, _D, _AB, _AB):
        registers = n // 4 if d == "f16" else n // 2
        name = "f" if d == "f32" else "r"
        vector = ",".join(f"%{name}{i}" for i in range(registers))
        if a in ("s8", "u8"):
            tail = ""
        elif a in ("f16", "bf16"):
            tail = ", 1, 1, 0, 0"
        else:
            tail = ", 1, 1"
        yield (
            f"wgmma.mma_async.sp.sync.aligned.m64n{n}k{k}.{d}.{a}.{b} "
            f"{{{vector}}}, %rd0, %rd1, %r0, 0, %p0{tail};"
        )


def mma() -> Iterator[str]:
    """Short lines: mma.sync of three shapes and all types."""
    types = ("f16", "bf16", "e4m3", "e5m2", "s8", "u8", "s4", "u4")
    operands = "{%r0,%r1,%r2,%r3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%r0,%r1,%r2,%r3}"
    for k, d, a, b, c in itertools.product(
        (16, 32, 64), ("f16", "f32", "s32"), types, types, ("f16", "f32", "s32")
    ):
        for _ in range(10):
            yield f"mma.sync.aligned.m16n8k{k}.row.col.{d}.{a}.{b}.{c} {operands};"


def tcgen05() -> Iterator[str]:
    """Products (each with ten choices of registers), loads and stores of tensor memory: most are illegal."""
    kinds = ("f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4")
    scales = (
        "",
        ".block_scale",
        ".block_scale.scale_vec::1X",
        ".block_scale.block32",
        ".block_scale.block16",
    )
    buffers = ("", *(f".collector::a::{use}" for use in ("fill", "use", "lastuse", "discard")))
    sources, tails = ("%rd0", "[%r1]"), ("", ", [%r3], [%r4]")
    for kind, scale, sp, ashift, buffer, a, tail, first in itertools.product(
        kinds, scales, ("", ".sp"), ("", ".ashift"), buffers, sources, tails, range(10)
    ):
        metadata = ", [%r2]" if sp else ""
        name = f"tcgen05.mma{sp}.cta_group::1.kind::{kind}{scale}{ashift}{buffer}"
        yield f"{name} [%r{first}], {a}, %rd1{metadata}, %r5{tail}, %p0;"
    shapes = ("32x32b", "16x64b", "16x128b", "16x256b")
    for way, shape, num, packed, count in itertools.product(
        ("ld", "st"), shapes, (1, 2, 4, 8, 16, 32, 64, 128), ("", ".pack::16b", ".unpack::16b"), range(1, 33)
    ):
        vector, place = f"{{{','.join(f'%r{i}' for i in range(count))}}}", "[%r0]"
        operands = f"{vector}, {place}" if way == "ld" else f"{place}, {vector}"
        yield f"tcgen05.{way}.sync.aligned.{shape}.x{num}{packed}.b32 {operands};"


# the statements, their version and target, and the part of ptxas's rate that `legal --batch` must reach
FAMILIES: dict[str, tuple[Callable[[], Iterator[str]], str, str, float]] = {
    "wgmma.sp": (wgmma_sp, "8.4", "sm_90a", 1.0),
    "mma": (mma, "8.4", "sm_90a", 0.5),
    "tcgen05": (tcgen05, "8.8", "sm_100a", 0.5),
}


def kernel(lines: Iterable[str], version: str, target: str) -> str:
    """The statements inside a PTX kernel."""
    head = (
        f".version {version}\n.target {target}\n.address_size 64\n.entry k() {{\n"
        ".reg .b32 %r<136>; .reg .f32 %f<136>; .reg .b64 %rd<4>; .reg .pred %p<2>;\n"
    )
    return head + "\n".join(lines) + "\nret; }\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=tuple(FAMILIES), default="wgmma.sp")
    parser.add_argument("--kernel", action="store_true", help="wrap the lines in a PTX kernel")
    args = parser.parse_args()
    lines, version, target, _ = FAMILIES[args.family]
    print(kernel(lines(), version, target) if args.kernel else "\n".join(lines()))


if __name__ == "__main__":
    main()

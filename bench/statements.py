"""Write the statements of the `legal --batch` benchmark: N x K x D x A x B of wgmma.mma_async.sp.

python bench/statements.py [--family wgmma.sp|mma] [--kernel] > FILE

One statement a line (19,404 of wgmma.sp); with --kernel the same lines inside a PTX kernel, for ptxas.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

_K = (8, 16, 32, 64)
_D = ("f16", "f32", "s32")
_AB = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8")
_HEAD = """.version 8.4
.target sm_90a
.address_size 64
.entry k() {
.reg .b32 %r<136>; .reg .f32 %f<136>; .reg .b64 %rd<4>; .reg .pred %p<2>;
"""


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=("wgmma.sp", "mma"), default="wgmma.sp")
    parser.add_argument("--kernel", action="store_true", help="wrap the lines in a PTX kernel")
    args = parser.parse_args()
    lines = wgmma_sp() if args.family == "wgmma.sp" else mma()
    if args.kernel:
        print(_HEAD, end="")
    print("\n".join(lines))
    if args.kernel:
        print("ret; }")


if __name__ == "__main__":
    main()

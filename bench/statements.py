"""Write the statements of the `legal --batch` benchmark: N x K x D x A x B of wgmma.mma_async.sp.

python bench/statements.py [--family wgmma.sp|mma] [--kernel] > FILE

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


# the statements, their target, and the part of ptxas's rate that `legal --batch` must reach
FAMILIES: dict[str, tuple[Callable[[], Iterator[str]], str, float]] = {
    "wgmma.sp": (wgmma_sp, "sm_90a", 1.0),
    "mma": (mma, "sm_90a", 0.5),
}


def kernel(lines: Iterable[str], target: str) -> str:
    """The statements inside a PTX kernel."""
    head = (
        f".version 8.4\n.target {target}\n.address_size 64\n.entry k() {{\n"
        ".reg .b32 %r<136>; .reg .f32 %f<136>; .reg .b64 %rd<4>; .reg .pred %p<2>;\n"
    )
    return head + "\n".join(lines) + "\nret; }\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=tuple(FAMILIES), default="wgmma.sp")
    parser.add_argument("--kernel", action="store_true", help="wrap the lines in a PTX kernel")
    args = parser.parse_args()
    lines, target, _ = FAMILIES[args.family]
    print(kernel(lines(), target) if args.kernel else "\n".join(lines()))


if __name__ == "__main__":
    main()

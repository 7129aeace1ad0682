"""How many products a second ptxmma computes as a chip does, by compiled C and by numpy, with the same bits.

python bench/sums.py [MNEMONIC…] [--products N]

The goal: 10^8 products a second through C and 10^7 by numpy, on two cores. Each line has both, by the clock
on all cores, and for one second of a processor, in the best of three runs. The exit code is 1 where the
bits differ.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxmma.cli.main import run_script
from ptxmma.gen.arithmetic.dot_products import SumsOfProducts
from ptxmma.spec.api import find

TARGET = "sm_90a"
CHOSEN = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32",
    "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8",
)
RUNS = 3
SHARE = 16  # numpy computes so many times fewer products: it is slower


def rates(compute: Callable[[], object], products: int) -> str:
    """Millions of products a second: by the clock, and for a processor; the best of some runs."""
    walls, cpus = [], []
    for _ in range(RUNS):
        wall, cpu = time.perf_counter(), time.process_time()
        compute()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return f"{products / min(walls) / 1e6:.1f} / {products / min(cpus) / 1e6:.1f}"


def measure(mnemonic: str, products: int) -> tuple[str, str, bool]:
    """The rates of C and numpy, and whether their bits are the same."""
    sums = SumsOfProducts(find(mnemonic), TARGET)
    count = sums.arithmetic.products
    generator = np.random.default_rng(1)

    def patterns(part: str, shape: Sequence[int]) -> NDArray[Any]:
        most = (1 << sums.widths[part]) - 1
        drawn = generator.integers(0, most, shape, np.uint64, endpoint=True)
        return drawn.astype(np.min_scalar_type(most))

    jobs = max(1, products // count)
    a, b, c = patterns("A", (jobs, count)), patterns("B", (jobs, count)), patterns("C", (jobs,))
    few = slice(0, max(1, jobs // SHARE))
    sums.arrays.codes(a[few], b[few], c[few])  # programs are made once
    by_numpy = rates(lambda: sums.arrays.codes(a[few], b[few], c[few]), count * len(a[few]))
    compiled = sums.compiled
    if compiled is None or compiled.codes(a[:1], b[:1], c[:1]) is None:
        return "no compiler", by_numpy, True
    by_c = rates(lambda: compiled.codes(a, b, c), count * jobs)
    given = compiled.codes(a[few], b[few], c[few])
    same = given is not None and np.array_equal(given, sums.arrays.codes(a[few], b[few], c[few]))
    return by_c, by_numpy, same


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mnemonics", nargs="*", default=CHOSEN, metavar="MNEMONIC")
    parser.add_argument("--products", type=int, default=1 << 26, metavar="N", help="how many C computes")
    args = parser.parse_args()
    right = True
    print("10^6 products a second, by the clock / for a processor")
    for mnemonic in args.mnemonics:
        by_c, by_numpy, same = measure(mnemonic, args.products)
        right = right and same
        bits = "the same bits" if same else "other bits"
        print(f"{mnemonic}: C {by_c}, numpy {by_numpy}, {bits}", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    run_script(main)

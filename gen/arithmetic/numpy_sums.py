"""The stages of a chip's sums as numpy arrays: one operation for all jobs at once, the same bits.

Terms are arrays (products, jobs), and addends and sums (jobs,), so that sums and greatest values run along
the first axis. What is the same for all jobs stays a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...spec.chip_arithmetic import PARTS, ZERO, C, ChipArithmetic, constants_of
from ...spec.specification import Specification
from ...spec.workers import in_threads
from .array_programs import block_programs
from .listed_operations import ArrayProgram, width_of

__all__ = ["NumpySums"]

_CodeArray = Any  # an array of unsigned integers
_PRODUCTS, _JOBS = 1 << 15, 1 << 14  # at once, at most: some arrays of them stay in a processor's cache


@dataclass(frozen=True)
class NumpySums:
    """One variant's elements of D on a chip, for many jobs at once."""

    specification: Specification
    arithmetic: ChipArithmetic
    _programs: dict[tuple[bool, bool], Sequence[ArrayProgram]] = field(default_factory=dict)

    def codes(
        self,
        a: NDArray[np.integer],
        b: NDArray[np.integer],
        c: NDArray[np.integer],
        negated: tuple[bool, bool] = (False, False),
        threads: int | None = None,
    ) -> NDArray[np.uint64]:
        """The bit patterns of D: of a and b (jobs, products) and c (jobs,)."""
        found = np.empty(len(c), np.uint64)
        types = [self._type(part) for part in PARTS]
        programs = self._listed(negated)
        most = max(len(block.products) for block in self.arithmetic.blocks)
        step = min(_JOBS, max(1, _PRODUCTS // max(1, most)))

        def part(start: int) -> None:
            rows = slice(start, start + step)
            x, y = (
                np.ascontiguousarray(codes[rows].T, kind) for codes, kind in ((a, types[0]), (b, types[1]))
            )
            with np.errstate(all="ignore"):
                found[rows] = self._blocks(programs, x, y, c[rows].astype(types[2]))

        in_threads(part, range(0, len(c), step), threads)
        return found

    def _type(self, part: str) -> str:
        known = constants_of(self.specification, self.arithmetic.types[part])
        return f"u{width_of((1 << known['width']) - 1) // 8}"

    def _listed(self, negated: tuple[bool, bool]) -> Sequence[ArrayProgram]:
        """The program of each block. Kept."""
        if negated not in self._programs:
            self._programs[negated] = block_programs(self.specification, self.arithmetic, negated)
        return self._programs[negated]

    def _blocks(
        self, programs: Sequence[ArrayProgram], a: _CodeArray, b: _CodeArray, c: _CodeArray
    ) -> _CodeArray:
        sums: list[_CodeArray] = []
        for block, program in zip(self.arithmetic.blocks, programs, strict=True):
            given = [_chosen(factor, block.products) for factor in (a, b) if block.products]
            given += [c if n == C else sums[n] for n in block.addends if n != ZERO]
            sums.append(program.run(given))
        return sums[-1]


def _chosen(factor: _CodeArray, products: Sequence[int]) -> _CodeArray:
    """The elements of some products; of one, without the axis of products."""
    first, last = products[0], products[-1]
    if first == last:
        return factor[first]
    step = products[1] - first
    regular = tuple(range(first, last + 1, step)) == tuple(products)
    return factor[first : last + 1 : step] if regular else factor[list(products)]

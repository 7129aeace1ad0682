"""The C of one kernel's trial, which is CUDA too: drawn inputs, a chip's arithmetic and the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from ...spec.chip_arithmetic import PARTS, ChipArithmetic, constants_of
from ...spec.specification import Specification
from ..arithmetic.sum_text import SumText

__all__ = ["DISTRIBUTIONS", "INTEGER_DISTRIBUTIONS", "TrialText"]

# How inputs are drawn: tile number n has distribution n modulo their number. Those of integers repeat.
DISTRIBUTIONS = (
    "any",
    "finite",
    "narrow",
    "gaps",
    "cancelling",
    "subnormal",
    "overflowing",
    "far",
    "ties",
    "special",
)
INTEGER_DISTRIBUTIONS = ("any", "extremes", "any near the bounds", "one edge", "mostly one edge")
_FARTHEST = 64  # a distance beyond this one is not drawn


@dataclass(frozen=True)
class TrialText:
    """The text of a trial; `sizes` are the numbers of the kernel that trial.h names."""

    specification: Specification
    arithmetic: ChipArithmetic
    sizes: Mapping[str, int]

    @cached_property
    def text(self) -> str:
        """The whole text."""
        sums = SumText(self.specification, self.arithmetic)
        lines = [f"#define {name} {value}" for name, value in self.sizes.items()]
        lines += [f"#define {name.upper()} {number}" for number, name in enumerate(DISTRIBUTIONS)]
        lines.append(f"#define DISTRIBUTIONS {len(DISTRIBUTIONS)}")
        lines += [f"#define TYPE_{part} {sums.type_of(part)}" for part in PARTS[:2]]
        return "\n".join([sums.text(), *lines, _read("draw.h"), _read("trial.h")])

    @property
    def record(self) -> tuple[int, ...]:
        """The integers of the struct Sums: the four types, the number of products, the distances."""
        values: list[int] = []
        for part in PARTS:
            known = constants_of(self.specification, self.arithmetic.types[part])
            names = (
                "width",
                "exponent_bits",
                "fraction_bits",
                "bias",
                "ignored",
                "infinities",
                "nans",
                "signed",
            )
            values += [known[name] for name in names]
        foci = self._foci
        return *values, self.arithmetic.products, len(foci), *foci, *([0] * (8 - len(foci)))

    @property
    def _foci(self) -> tuple[int, ...]:
        """The distances at which this chip may begin to cut: the row's integers, and D's digits."""
        digits = constants_of(self.specification, self.arithmetic.types["D"])["fraction_bits"] + 1
        values = (value for block in self.arithmetic.blocks for value in block.integers.values())
        given = (value for value in values if 3 < value < _FARTHEST)
        return tuple(dict.fromkeys((*given, digits)))[:8]


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")

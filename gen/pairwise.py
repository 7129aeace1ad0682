"""Pairwise coverage: few combinations of many factors, in which every possible pair of values occurs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["FactorValue", "Factors", "Pairs", "covering", "products"]

FactorValue = int | str
Choice = tuple[str, FactorValue]
Factors = Mapping[str, Sequence[FactorValue]]


@dataclass
class Pairs:
    """Which pairs of values are still to meet; `worlds` are the products that combinations are taken from.

    What a value has still to meet is kept in the order of the worlds, so that choices among equals are the
    same in every process (a set's order is not).
    """

    worlds: Sequence[Factors]
    missing: dict[Choice, dict[Choice, None]] = field(default_factory=dict)
    total: int = 0

    def __post_init__(self) -> None:
        found: dict[tuple[Choice, Choice], None] = {}
        for world in self.worlds:
            for (one, values), (other, others) in itertools.combinations(world.items(), 2):
                for x, y in itertools.product(values, others):
                    found[_pair((one, x), (other, y))] = None
        self.total = len(found)
        for first, second in found:
            self.missing.setdefault(first, {})[second] = None
            self.missing.setdefault(second, {})[first] = None

    @property
    def left(self) -> int:
        """How many pairs are to come."""
        return sum(map(len, self.missing.values())) // 2

    def any_missing(self) -> dict[str, FactorValue] | None:
        """A pair that is still to come; None when there is none."""
        return next((dict((one, next(iter(others)))) for one, others in self.missing.items() if others), None)

    def gain(self, chosen: Mapping[str, FactorValue], choice: Choice) -> int:
        """How many missing pairs a choice makes with what is chosen."""
        missing = self.missing.get(choice)
        return sum(item in missing for item in chosen.items()) if missing else 0

    def complete(
        self, world: Factors, fixed: Mapping[str, FactorValue], turn: int = 0
    ) -> dict[str, FactorValue]:
        """The rest of a combination, each factor so that it makes the most missing pairs.

        Of equals the first from `turn` on is taken, so that values that make no difference take turns too.
        """
        chosen = dict(fixed)
        for name, values in world.items():
            if name not in chosen:
                turned = (values[(place + turn) % len(values)] for place in range(len(values)))
                chosen[name] = max(turned, key=lambda value: self._promise(chosen, (name, value)))
        return {name: chosen[name] for name in world}

    def _promise(self, chosen: Mapping[str, FactorValue], choice: Choice) -> tuple[int, int]:
        """How many missing pairs a choice makes now, and may make later."""
        return self.gain(chosen, choice), len(self.missing.get(choice, ()))

    def cover(self, combination: Mapping[str, FactorValue]) -> int:
        """Note what a combination covers; how many pairs were new."""
        new = 0
        for x, y in itertools.combinations(combination.items(), 2):
            if y in self.missing.get(x, ()):
                del self.missing[x][y], self.missing[y][x]
                new += 1
        return new


def _pair(x: Choice, y: Choice) -> tuple[Choice, Choice]:
    return (x, y) if x[0] < y[0] else (y, x)


def covering(world: Factors) -> Iterator[dict[str, FactorValue]]:
    """Few combinations of a world, at least one, in which every two values meet."""
    pairs = Pairs([world])
    fixed: dict[str, FactorValue] | None = {}
    while fixed is not None:
        combination = pairs.complete(world, fixed)
        pairs.cover(combination)
        yield combination
        fixed = pairs.any_missing()


def products(world: Factors) -> Iterator[dict[str, FactorValue]]:
    """Every combination of a world."""
    for values in itertools.product(*world.values()):
        yield dict(zip(world, values, strict=True))

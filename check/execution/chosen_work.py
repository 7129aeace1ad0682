"""With which numbers of parameters does a kernel do other work?

A parameter that is compared for equality with a literal, and does not say how long a loop is, chooses one of
several kinds of work.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from itertools import islice, product
from math import prod
from typing import TypeVar

from ..walks.parameters import AssumedSizes
from ..walks.walk_plan import WalkPlan
from .deciding_numbers import deciding_sizes, end_guards

__all__ = ["ChosenWork"]

_EQUALITIES = frozenset(("eq", "ne"))
_MOST = 4  # choices that are tried
_MOST_TOGETHER = 16  # ways to choose, with all parameters; where there are more, none is tried
_RaceName = TypeVar("_RaceName", bound=Hashable)  # names a race
_FoundRace = TypeVar("_FoundRace")


class ChosenWork:
    """The choices of one function: by parameter, the literals that it is compared with."""

    def __init__(self, plan: WalkPlan) -> None:
        self.plan = plan
        self._choices: dict[str, dict[int, None]] = {}  # the literals in order
        found = list(self._compared())
        counting = self._ending(plan.loops.blocks) if found else set()
        for name, number in found:
            if name not in counting:
                self._choices.setdefault(name, {})[number] = None
        if prod(len(numbers) + 1 for numbers in self._choices.values()) > _MOST_TOGETHER:
            self._choices.clear()

    def races(
        self,
        size: AssumedSizes,
        execute: Callable[[AssumedSizes], Mapping[_RaceName, _FoundRace]],
        known: Container[_RaceName],
    ) -> dict[_RaceName, _FoundRace]:
        """The races that executions with other numbers than `size` find, and that are not known: those of one
        kind of work, whatever other parameters choose. Nobody says which choices go together.
        """
        new: dict[_RaceName, _FoundRace] = {}
        for one in self._sizes(size):
            found = {key: race for key, race in execute(one).items() if key not in known and key not in new}
            for other in self._beside(one) if found else ():
                found = {key: found[key] for key in execute(other).keys() & found.keys()}
                if not found:
                    break
            new |= found
        return new

    def _sizes(self, size: AssumedSizes) -> Iterator[AssumedSizes]:
        """Other numbers of parameters than `size`: one chooses some work."""
        pairs = ((name, number) for name, numbers in self._choices.items() for number in numbers)
        for pair in islice(pairs, _MOST):
            yield size._replace(others=(*size.others, pair))

    def _beside(self, size: AssumedSizes) -> Iterator[AssumedSizes]:
        """The same, where other parameters choose their work, too."""
        chosen = {name for name, _ in size.others}
        others = [(name, numbers) for name, numbers in self._choices.items() if name not in chosen]
        ways = [[None, *((name, number) for number in numbers)] for name, numbers in others]
        for pairs in islice(product(*ways), 1, None):
            yield size._replace(others=(*size.others, *(pair for pair in pairs if pair is not None)))

    def _compared(self) -> Iterator[tuple[str, int]]:
        """The parameters that are compared for equality with literals, by predicates that count."""
        plan = self.plan
        for index, statement in enumerate(plan.code):
            words = statement.operation.words
            if (
                words[0] != "setp"
                or _EQUALITIES.isdisjoint(words)
                or plan.wanted.isdisjoint(statement.writes)
            ):
                continue
            step = plan.steps.step(index)
            literals = [one for one in step.sources if isinstance(one, int)]
            names = [self._parameter(one) for one in step.sources if isinstance(one, str)]
            if len(literals) == len(names) == 1 and names[0] is not None:
                yield names[0], literals[0]

    def _parameter(self, register: str) -> str | None:
        """The size that a register holds, if it is the number of a parameter as it was loaded."""
        definitions = self.plan.code.definitions.get(register, ())
        step = self.plan.steps.step(definitions[0]) if len(definitions) == 1 else None
        if step is None or step.result != "parameter" or len(step.sources) != 2:
            return None
        return str(step.sources[1])

    def _ending(self, heads: Iterable[int]) -> set[str]:
        """The parameters that say how long loops are, by their heads; a wait for a phase says nothing."""
        plan = self.plan
        awaited = {name for index in plan.code.doing("await") for name in plan.code[index].writes}
        ends = {name for head in heads for name in end_guards(plan, head)}
        return deciding_sizes(plan, plan.steps.closed(ends - awaited))

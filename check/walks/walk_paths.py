"""Whether a path can happen that a walk assumed, from the first of two accesses to the second.

A walk takes some value of a predicate that it does not know. Two such values may exclude each other: a loop
whose last round starts no copy, and behind it a copy that waits for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..paths.path_question import PathQuestion, PathVerdict
from ..paths.path_search import PathSearch
from ..paths.path_slice import PathSlice
from ..paths.path_values import PathValues
from ..paths.uniform_registers import uniform_registers
from .walk_plan import WalkPlan

__all__ = ["WalkPaths"]

_VISITS = 20_000  # of blocks, in all questions about a function; then all stay open


class WalkPaths:
    """Answers about one function, each pair of statements asked once."""

    def __init__(self, plan: WalkPlan) -> None:
        self._plan = plan
        self._values = PathValues(plan.code)
        self._known: dict[tuple[int, int, frozenset[int], frozenset[str], bool], PathVerdict] = {}
        self._visits = 0

    def possible(
        self, first: int, second: int, between: Iterable[int], orders: frozenset[str], alone: bool
    ) -> bool:
        """Whether a path may lead from one statement to another past no other waits than those `between`.

        `orders` are the actions that are waits, `alone`: one thread executes both statements.
        """
        return first == second or self._verdict(first, second, between, orders, alone) != "infeasible"

    def found(self, first: int, second: int, between: Iterable[int], orders: frozenset[str]) -> bool:
        """Whether such a path of one thread is found; also of a statement to itself."""
        return self._verdict(first, second, between, orders, True) == "feasible"

    def _verdict(
        self, first: int, second: int, between: Iterable[int], orders: frozenset[str], alone: bool
    ) -> PathVerdict:
        key = first, second, frozenset(between), orders, alone
        if key not in self._known:
            self._known[key] = self._searched(*key)
        return self._known[key]

    def _searched(
        self, first: int, second: int, between: frozenset[int], orders: frozenset[str], alone: bool
    ) -> PathVerdict:
        if self._visits > _VISITS:
            return "unknown"
        code, flow = self._plan.code, self._plan.flow
        waits = {i for i in self._plan.roles if code.operation(i).does in orders}
        meets = {i for i in self._plan.roles if code.operation(i).does == "meet"}

        def step(begun: bool, index: int) -> bool | None:
            if index == second and begun:
                return None
            return index == first or (begun and (index in between or index not in waits))

        sliced = PathSlice(code, flow, {first, second, *waits, *meets})
        search: PathSearch[bool] = PathSearch(code, flow, sliced, self._values)
        question: PathQuestion[bool] = PathQuestion(
            start=False,
            step=step,
            key=lambda begun: begun,
            active=lambda begun: begun,
            doubtful=lambda begun: False,
            near=flow.block_of(first),
            goal=flow.block_of(second),
            parts=frozenset() if alone else frozenset({first, *meets}),
        )
        uniform = frozenset[str]() if alone else uniform_registers(code, sliced)
        for head in self._last_rounds(question.near):
            # The end of a path is searched faster, and shows most that cannot happen.
            ending = replace(question, begin=head, uniform=uniform)
            if search.find(ending).verdict == "infeasible":
                self._visits += search.visits
                return "infeasible"
        answer = search.find(question)
        self._visits += search.visits
        return answer.verdict

    def _last_rounds(self, block: int) -> list[int]:
        """The heads of the loops around a block by which every path to it comes, the innermost first."""
        flow = self._plan.flow
        heads = self._plan.loops.around.get(block, ())[::-1]
        return [head for head in heads if head and block not in flow.reached([0], head)]

"""Whether a path can happen that a walk assumed, from the first of two accesses to the second.

A walk takes some value of a predicate that it does not know. Two such values may exclude each other: a loop
whose last round starts no copy, and behind it a copy that waits for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..paths.path_question import PathQuestion
from ..paths.path_search import PathSearch
from ..paths.path_slice import PathSlice
from ..paths.path_values import PathValues
from ..paths.uniform_registers import uniform_registers
from .walk_plan import WalkPlan

__all__ = ["WalkPaths"]

_VISITS = 20_000  # of blocks, in all questions about a function; then every path counts as possible


class WalkPaths:
    """Answers about one function, each pair of statements asked once."""

    def __init__(self, plan: WalkPlan) -> None:
        self._plan = plan
        self._values = PathValues(plan.code)
        self._known: dict[tuple[int, int, frozenset[int], frozenset[str], bool], bool] = {}
        self._visits = 0

    def possible(
        self, first: int, second: int, between: Iterable[int], orders: frozenset[str], alone: bool
    ) -> bool:
        """Whether a path leads from one statement to another past no other waits than those `between`.

        `orders` are the actions that are waits, `alone`: one thread executes both statements.
        """
        key = first, second, frozenset(between), orders, alone
        if key not in self._known:
            self._known[key] = self._searched(*key)
        return self._known[key]

    def _searched(
        self, first: int, second: int, between: frozenset[int], orders: frozenset[str], alone: bool
    ) -> bool:
        if self._visits > _VISITS or first == second:
            return True
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
        head = self._last_round(question.near)
        if head:  # the end of a path is searched faster, and shows most that cannot happen
            uniform = frozenset[str]() if alone else uniform_registers(code, sliced)
            ending = replace(question, begin=head, uniform=uniform)
            if search.find(ending).verdict == "infeasible":
                self._visits += search.visits
                return False
        answer = search.find(question)
        self._visits += search.visits
        return answer.verdict != "infeasible"

    def _last_round(self, block: int) -> int:
        """The head of the innermost loop around a block, if every path to the block comes by it; or 0."""
        flow = self._plan.flow
        heads = self._plan.loops.around.get(block, ())
        return heads[-1] if heads and block not in flow.reached([0], heads[-1]) else 0

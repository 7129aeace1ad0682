"""Whether a path can happen that a walk guessed, from the first access of a race to the second.

A walk takes some value of a predicate that it does not know. Two such values may exclude each other: a loop
whose last round starts no copy, and behind it a copy that waits for one.
"""

from __future__ import annotations

from ..paths.path_search import PathQuestion, PathSearch
from ..paths.path_slice import PathSlice
from ..paths.path_values import PathValues
from .block_races import BlockRace
from .walk_plan import WalkPlan

__all__ = ["BlockPaths"]

_ORDERS = frozenset(("await", "copy-wait", "bulk-wait"))  # a meet completes no copy
_VISITS = 20_000  # of blocks, in all questions about a function; then every path counts as possible


class BlockPaths:
    """Answers about one function, each pair of statements asked once."""

    def __init__(self, plan: WalkPlan) -> None:
        self._plan = plan
        self._values = PathValues(plan.code)
        self._known: dict[tuple[int, int, frozenset[int], bool], bool] = {}
        self._visits = 0

    def possible(self, race: BlockRace) -> bool:
        """Whether a path leads from the first access to the second past no other waits than the walk."""
        first, second = race.first.act.statement, race.second.act.statement
        alone = race.first.lane == race.second.lane
        key = first, second, frozenset(race.between), alone
        if key not in self._known:
            self._known[key] = self._searched(*key)
        return self._known[key]

    def _searched(self, first: int, second: int, between: frozenset[int], alone: bool) -> bool:
        if self._visits > _VISITS or first == second:
            return True
        code, flow = self._plan.code, self._plan.flow
        waits = {i for i in self._plan.roles if code.operation(i).does in _ORDERS}
        meets = {i for i in self._plan.roles if code.operation(i).does == "meet"}

        def step(begun: bool, index: int) -> bool | None:
            if index == second and begun:
                return None
            return index == first or (begun and (index in between or index not in waits))

        search: PathSearch[bool] = PathSearch(
            code, flow, PathSlice(code, flow, {first, second, *waits, *meets}), self._values
        )
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
        answer = search.find(question)
        self._visits += search.visits
        return answer.verdict != "infeasible"

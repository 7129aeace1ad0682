"""Which acts may do what a wait lacks: those that threads passed by, and those behind other waits?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from math import gcd

from ..memory.shared_memory import fills_shared
from ..ptx.operands import number_of
from ..walks.walk_plan import WalkPlan
from ..walks.walk_steps import RANK
from .assumed_paths import BRINGING
from .warp_acts import WarpActs
from .warps import GroupWait

__all__ = ["HelpingActs", "bringing"]

_NAMED = frozenset(("named", "cluster"))
_MOVED = 16  # statements that compute one address


class HelpingActs:
    """What may end the waits that are left in an execution. `executed` are the blocks that threads have
    come to, `gone_round` the loops, by their heads, that went on. `partners`: by the place of a wait for
    lanes of a warp, the places of the waits in which these are.
    """

    def __init__(
        self,
        plan: WalkPlan,
        acts: WarpActs,
        waits: Sequence[GroupWait],
        executed: Set[int],
        gone_round: Set[int],
        partners: Mapping[int, Sequence[int]],
    ) -> None:
        self.plan = plan
        self._executed = executed
        self._gone_round = gone_round
        self.waits = waits
        self._partners = partners
        self._acts = acts
        self._bringing = {arrivals: frozenset(bringing(plan, arrivals)) for arrivals in (False, True)}
        self._changed: dict[int, set[int]] = {}  # by statement: the barriers that it has changed
        for barriers in (acts.mbarriers, acts.meetings.named):
            for address, barrier in barriers.items():
                for index in barrier.changed_at:
                    self._changed.setdefault(index, set()).add(address)

    def passed(self, passed_by: Mapping[str, Set[int]], wait: GroupWait) -> set[str]:
        """The predicates by which threads passed by what may end a wait."""
        return {name for name, passed in passed_by.items() if self._any_helps(passed, wait)}

    def brings(self, wait: GroupWait) -> Iterator[int]:
        """The statements that can end a wait for a phase, if a loop around them goes on: of a loop that went
        round, those that threads came to.
        """
        lacking = self._acts.mbarriers[wait.barrier].pending > 0
        return (
            index
            for index in self._bringing[lacking]
            if self.helps(index, wait, self._came_once(index)) and self._is_live(index)
        )

    def _is_live(self, index: int) -> bool:
        """Whether threads came to a statement, or else the innermost loop around it did not go round."""
        block = self.plan.flow.block_of(index)
        innermost = self.plan.loops.around.get(block, ())[-1:]
        return block in self._executed or self._gone_round.isdisjoint(innermost)

    def _came_once(self, index: int) -> bool:
        """Whether threads left the loop around a statement before they came to it again."""
        around = self.plan.loops.around.get(self.plan.flow.block_of(index), ())
        return bool(around) and self._gone_round.isdisjoint(around)

    def freed(self, is_free: Callable[[GroupWait], bool], goes_on: bool = False) -> list[bool]:
        """For each wait: whether it is free, or may be ended by what stands behind one that is. `goes_on`: a
        statement that has changed one mbarrier may change others, too, that are initialised with its count.
        """
        free = [is_free(wait) for wait in self.waits]
        behind = [self._behind(wait) if any(free) else frozenset[int]() for wait in self.waits]
        while True:
            more = [
                place
                for place, wait in enumerate(self.waits)
                if not free[place]
                and (
                    any(free[other] for other in self._partners.get(place, ()))
                    or any(
                        free[other] and self._any_helps(acts, wait, goes_on)
                        for other, acts in enumerate(behind)
                    )
                )
            ]
            if not more:
                return free
            for place in more:
                free[place] = True

    def _behind(self, wait: GroupWait) -> frozenset[int]:
        """The acts that threads may come to when a wait is over."""
        acts = self.plan.doing(BRINGING, self.plan.flow.block_of(wait.statement), None)
        return frozenset(filter(self._is_live, acts))

    def _any_helps(self, acts: Iterable[int], wait: GroupWait, goes_on: bool = False) -> bool:
        """Whether any of some statements may do what a wait lacks."""
        if wait.kind == "lanes":
            return False
        if wait.kind == "phase":
            acts = self._bringing[self._acts.mbarriers[wait.barrier].pending > 0].intersection(acts)
        return any(self.helps(index, wait, goes_on) for index in acts)

    def helps(self, index: int, wait: GroupWait, goes_on: bool = False) -> bool:
        """Whether a statement may do what a wait lacks. One that changes several mbarriers, as the stages of
        a pipeline, changes no other ones than lie in a row with them, and are initialised with their count.
        `goes_on`: one that has changed a single one may be at its first stage.
        """
        statement = self.plan.code[index]
        if statement.does == "bulk-copy" and not fills_shared(statement):
            return False
        named = statement.operation.action.barrier in _NAMED
        if wait.kind in ("init", "invalid") and statement.does != "init":
            return False
        if named != (wait.kind in ("meet", "arrival")):
            return False
        place = _barrier_number(self.plan, index) if named else _address(self.plan, index)
        known = self._changed.get(index, set()) if place is None else {place}
        if len(known) < 2 or named:
            at_first = goes_on and place is None and self._are_alike(known, wait.barrier)
            return not known or wait.barrier in known or (named and place is None) or at_first
        if wait.barrier not in self._acts.mbarriers:
            return True
        return wait.barrier in self._row(known) and not self._is_ended_by_others(index, wait)

    def _is_ended_by_others(self, index: int, wait: GroupWait) -> bool:
        """Whether the same phase of the same mbarrier of another block has ended, and a statement had no part
        in that: so what it does in a row that ends before the mbarrier does not end the wait here, either.
        """
        steps, mbarriers = self.plan.steps, self._acts.mbarriers
        places = {steps.in_window(wait.barrier, rank) for rank in range(steps.blocks)} - {wait.barrier}
        twins = [mbarriers[place] for place in places if place in mbarriers]
        return any(twin.phase > wait.phase and index not in twin.changed_at for twin in twins)

    def is_for_some(self, wait: GroupWait, placed: Set[int]) -> bool:
        """Whether other blocks of a cluster may arrive where a wait lacks arrivals, and nothing shows that
        each block gets as many as it sends: not every block sends them (what is `placed` is done by some
        blocks only), or they go to one block, as far as is known. If all blocks wait, and the PTX names the
        one, the others get none.
        """
        if wait.kind != "phase" or not self._acts.mbarriers[wait.barrier].pending:
            return False
        ranks: list[int | str | None] = []
        named: list[int | str | None] = []
        for index in self._bringing[True]:
            if self.plan.code[index].operation.names_cluster and self.helps(index, wait):
                if index in placed:
                    return True
                in_text = [*_named_ranks(self.plan, index)]
                named += in_text
                ranks += self._acts.ranks.get(index, in_text)
        known = {*ranks} - {None}
        if not ranks or len(known) > 1 or not known.isdisjoint(self.plan.steps.differing):
            return False
        return wait.statement in placed or {*named} != known

    def _are_alike(self, known: Set[int], other: int) -> bool:
        """Whether some mbarriers and another one are initialised with the same count."""
        mbarriers = self._acts.mbarriers
        return other in mbarriers and all(mbarriers[one].count == mbarriers[other].count for one in known)

    def _row(self, stages: Set[int]) -> Set[int]:
        """Some mbarriers, and those of the same block that lie in a row with them and have the same count."""
        steps = self.plan.steps
        places = {steps.in_window(stage, 0) for stage in stages}
        step = gcd(*(place - min(places) for place in places))
        if not step:
            return stages
        blocks = {steps.window_of(stage) for stage in stages}
        rows = [{stage for stage in stages if steps.window_of(stage) == block} for block in blocks]
        return {stage for row in rows for stage in self._row_of(row, step)}

    def _row_of(self, stages: Set[int], step: int) -> range:
        """The same in one block. `step`: from one to the next."""
        mbarriers = self._acts.mbarriers
        first, last = min(stages), max(stages)
        count = mbarriers[first].count
        while first - step in mbarriers and mbarriers[first - step].count == count:
            first -= step
        while last + step in mbarriers and mbarriers[last + step].count == count:
            last += step
        return range(first, last + step, step)


def _barrier_number(plan: WalkPlan, index: int) -> int | None:
    """The number of the barrier of a block at which a statement arrives, if it stands there."""
    name = plan.code[index].barrier_name
    return None if name is None else number_of(name)


def _address(plan: WalkPlan, index: int) -> int | None:
    """The address of the mbarrier that a statement changes, if it is computed from numbers alone."""
    statement = plan.code[index]
    address = statement.barrier or statement.address
    if address is None:
        return None
    name = 0 if address.base is None else plan.steps.source(address.base, statement.scope)
    base = _number(plan, name, index, _MOVED)
    return None if base is None else base + address.offset


def _number(plan: WalkPlan, name: int | str, before: int, depth: int) -> int | None:
    """The number that a register always holds before a statement."""
    if isinstance(name, int):
        return name
    made = plan.written_by(name, before) if depth else None
    if made is None:
        return None
    step = plan.steps.step(made)
    if step.guard:
        return None
    numbers = [_number(plan, one, made, depth - 1) for one in step.sources]
    return numbers[0] if step.maps else step.computed(numbers)


def _named_ranks(plan: WalkPlan, index: int) -> Iterator[int | str | None]:
    """What the PTX says of the ranks of other blocks at whose mbarriers a statement arrives: numbers,
    registers in which threads hold different ones, and None for another register.
    """
    address = plan.code[index].barrier
    base = None if address is None else address.base
    source = None if base is None else plan.steps.source(base, plan.code[index].scope)
    for at in _computing(plan, source, index) if isinstance(source, str) else ():
        if plan.code[at].does == "map-address":
            text, scope = plan.code[at].operands[-1], plan.code[at].scope
            if plan.steps.origin(text, scope) == RANK:
                continue  # the own block
            names = plan.code.unique((text,), scope)
            yield from plan.steps.differing.intersection(names) or (number_of(text),)


def _computing(plan: WalkPlan, register: str, before: int) -> Iterator[int]:
    """The statements that compute what a register holds before another one."""
    waiting = [(register, before)]
    seen: set[tuple[str, int]] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        made = plan.written_by(*one)
        if made is None:
            yield from plan.steps.statements_behind(one[:1])
            continue
        yield made
        waiting += ((name, made) for name in plan.steps.step(made).read)


def bringing(plan: WalkPlan, arrivals: bool) -> Iterator[int]:
    """The statements that can end a phase that lacks arrivals, or else bytes. A copy that goes with an
    arrival at its mbarrier cannot end one that has all of its arrivals.
    """
    for index in plan.roles:
        match plan.code[index].does:
            case "init" | "copy-arrive":
                yield index
            case "arrive" if arrivals:
                yield index
            case "bulk-copy" | "expect" | "give" if not arrivals and not _arrives(plan, index):
                yield index


def _arrives(plan: WalkPlan, copy: int) -> bool:
    """Whether the threads that execute a copy arrive in the same block at the mbarrier that it names."""
    block, guard = plan.flow.blocks[plan.flow.block_of(copy)], plan.steps.step(copy).guard
    return any(
        plan.code[index].does == "arrive"
        and _named(plan, index) == _named(plan, copy) is not None
        and plan.steps.step(index).guard in (None, guard)
        for index in range(block.start, block.end)
    )


def _named(plan: WalkPlan, index: int) -> tuple[int | str, int] | None:
    """The mbarrier that a statement names: a register that is written once, or a number, and an offset."""
    statement = plan.code[index]
    address = statement.barrier
    if address is None or address.base is None:
        return None if address is None else (0, address.offset)
    base = plan.steps.source(address.base, statement.scope)
    is_one = isinstance(base, int) or len(plan.code.definitions.get(base, ())) < 2
    return (base, address.offset) if is_one else None

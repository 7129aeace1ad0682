"""Where an execution went by assumed numbers: the loops that they ended, and the work that they passed by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import log2

from ..ptx.flow import Block
from ..ptx.operation import BROUGHT
from ..values.lane_numbers import LaneNumbers, Numbers
from ..walks.parameters import AssumedSizes
from ..walks.walk_plan import WalkPlan
from ..walks.walk_steps import FIRST, PLACES, WalkStep
from .deciding_numbers import deciding_numbers, rounds_by, rounds_of
from .thread_groups import ThreadGroup
from .tile_loops import few_tiles, larger_tiles, more_tiles

__all__ = ["BRINGING", "LAST_ROUNDS", "AssumedPaths", "true_threads"]

LAST_ROUNDS = 7  # of a loop that shall end: its last rounds meet what many stages hold
_EVEN_ROUNDS = (8, 12)  # in steps of 2 and 4, too: sizes that kernels ask for are multiples of such
BRINGING = frozenset(("init", "invalidate", "arrive", "copy-arrive", "expect", "give", "bulk-copy", "meet"))
_WAITED = BRINGING | {"await"}
_STEPPED_ROUNDS = 5  # at least, of one whose rounds count more than one


class AssumedPaths:
    """What one execution assumed. `left` are the loops that ended by an assumed number, by their heads.
    `passed_by`: predicates by whose assumed numbers some threads did not do what others or other numbers do,
    and the statements that these do, of those for which others may wait.
    `decided_by`: all predicates by whose assumed numbers threads went a way, but for the ends of loops.
    `placed`: waits, and statements of those for which others may wait, that threads did or passed by because
    of the place of their block; those of another block may not do alike.
    """

    def __init__(self, plan: WalkPlan, sizes: AssumedSizes) -> None:
        self.plan = plan
        self._is_first = FIRST.isdisjoint(name for name, _ in sizes.others)
        self._by_first_place: dict[str, bool] = {}
        self._closes: dict[int, bool] = {}  # by block
        self.left: set[int] = set()
        self.passed_by: dict[str, set[int]] = {}
        self.decided_by: set[str] = set()
        self.placed: set[int] = set()
        self.gone_round: set[int] = set()  # loops, by their heads
        self._gaps: dict[int, list[int]] = {}  # by loop: how far from its end its first two rounds are
        self._measured_at: dict[int, int] = {}  # by loop: the block with the branch that tells
        self._paused_at: int | None = None  # the first loop after whose rounds a group stopped

    def pause(self, head: int) -> None:
        """Remember that a group stopped after many rounds of a loop."""
        if self._paused_at is None:
            self._paused_at = head

    def endings(self, size: int) -> Iterator[AssumedSizes]:
        """Other numbers of parameters than `size`: those with which the loop that paused ends, and those with
        which a loop over tiles goes on.
        """
        ends = [] if self._paused_at is None else self._ends(self._paused_at, size)
        yield from map(AssumedSizes, ends)
        yield from few_tiles(self.plan, self.gone_round, self.left | self.gone_round, size)
        tiles = more_tiles(self.plan, self.gone_round, self._paused_at, size, min(ends[:1], default=size))
        if tiles is not None:
            yield tiles
        yield from larger_tiles(self.plan, self.gone_round, self.left, size)

    def _ends(self, paused_at: int, size: int) -> list[int]:
        """Numbers of every parameter with which a loop ends: after some rounds, whatever each of its rounds
        counts, so that the last one is in the first stage, where waits leave all but two stages in flight;
        and after LAST_ROUNDS that count one, which are few where they count more. `size` is the number with
        which it paused.
        """
        gaps = self._gaps.get(paused_at, [])
        if len(gaps) < 2 or gaps[0] <= gaps[1]:
            return [LAST_ROUNDS]
        stages = self.plan.depth + 2
        first = (rounds for rounds in range(_STEPPED_ROUNDS, LAST_ROUNDS) if rounds % stages == 1)
        rounds = next(first, LAST_ROUNDS)
        many = size * rounds * (gaps[0] - gaps[1]) // gaps[0]
        return [many, LAST_ROUNDS] if many > LAST_ROUNDS else [LAST_ROUNDS]

    def even_endings(self, size: int) -> tuple[int, ...]:
        """Several numbers of every parameter with which the loop that paused ends after whole rounds.
        `size` is the number with which it paused.
        """
        gaps = () if self._paused_at is None else self._gaps.get(self._paused_at, ())
        if len(gaps) < 2 or gaps[0] <= gaps[1]:
            return ()
        step: float = gaps[0] - gaps[1]
        if size - gaps[0] not in range(
            2 * (gaps[0] - gaps[1]) + 1
        ):  # a multiple of the parameter is compared
            step = 2.0 ** round(log2(size * step / gaps[0]))
        return tuple(int(rounds * step) for rounds in _EVEN_ROUNDS)

    def guard(self, group: ThreadGroup, step: WalkStep, holds: Numbers) -> None:
        """Threads execute a statement, or pass it by, by an assumed guard."""
        name = step.guard
        self.decided_by.update(() if name is None else (name,))
        if step.statement.does in _WAITED and name is not None and self._is_by_place(name):
            self.placed.add(step.position)
        if step.statement.does in BRINGING and not self._is_most(group, name, holds, step.negated):
            self._pass(name, {step.position})

    def _pass(self, name: str | None, statements: Collection[int]) -> None:
        """Remember what was passed by, and by which predicate."""
        if name is not None and statements:
            self.passed_by.setdefault(name, set()).update(statements)

    def place(self, number: int, name: str) -> None:
        """Remember the statements on the sides of a branch by an assumed predicate, if the place of the block
        decides it. A loop may go on longer in other blocks, and they do alike.
        """
        if self._left_from(number) is None and self._is_by_place(name):
            for side in self.plan.flow.blocks[number].successors:
                self.placed |= self.plan.doing(_WAITED, side, number)

    def _is_by_place(self, predicate: str) -> bool:
        """Whether the place of the block decides a predicate for all its threads, as far as it does. Where it
        is compared with a thread's number, other threads do the same in other blocks.
        """
        steps = self.plan.steps
        if predicate not in steps.by_place:
            parts = {predicate} | steps.conjuncts(predicate) | steps.conjuncts(predicate, "or")
            steps.by_place[predicate] = any(
                not deciding_numbers(self.plan, (part,)).isdisjoint(PLACES)
                for part in parts - steps.differing
            )
        return steps.by_place[predicate]

    def split(
        self,
        group: ThreadGroup,
        number: int,
        name: str | None,
        holds: Numbers,
        negated: bool,
        taken: int | None,
    ) -> None:
        """Threads take both sides of a branch, by an assumed predicate; those for which it holds go to
        `taken`.
        """
        self.decided_by.update(() if name is None else (name,))
        fall = self.plan.flow.blocks[number].fall
        there, here = self._bringing(taken, number), self._bringing(fall, number)
        if not (there or here):
            return
        most = not here and self._is_most(group, name, holds, negated)
        least = not there and self._is_most(group, name, holds, negated, False)
        if not (most or least):
            self._pass(name, there | here)

    def _bringing(self, side: int | None, number: int) -> frozenset[int]:
        """The statements on one side of a branch that may do what others wait for."""
        return frozenset() if side is None else self.plan.doing(BRINGING, side, number)

    def acts(self, side: int | None, number: int) -> bool:
        """Whether any statement on one side of a branch acts."""
        return side is not None and self.plan.acts(side, number)

    def _is_most(
        self, group: ThreadGroup, guard: str | None, holds: Numbers, negated: bool, value: bool = True
    ) -> bool:
        """Whether no other thread's guard may have a value, with other assumed numbers: a known part of it
        decides (of `and` one that is false, of `or` one that is true).
        """
        threads = group.threads
        true = true_threads(holds, threads)
        if guard is None or true is None:
            return False
        register = value is not negated  # what the register must hold
        for part in self.plan.steps.conjuncts(guard, "and" if register else "or"):
            if part not in group.registers.assumed or self._is_by_first_place(part):
                holding = true_threads(group.registers.guard(part, not register), threads)
                threads = threads if holding is None else holding
        if value:
            return threads == true
        without = frozenset(true)
        return threads == tuple([thread for thread in group.threads if thread not in without])

    def _is_by_first_place(self, predicate: str) -> bool:
        """Whether a predicate depends on the place of the grid's first block, which every launch has, and on
        no other assumed number.
        """
        if predicate not in self._by_first_place:
            made = self.plan.steps.statements_behind((predicate,))
            loads = any(self.plan.code.operation(index).does in BROUGHT for index in made)
            self._by_first_place[predicate] = (
                self._is_first and not loads and deciding_numbers(self.plan, (predicate,)) <= FIRST
            )
        return self._by_first_place[predicate]

    def decided(self, group: ThreadGroup, predicate: str | None, value: bool) -> bool:
        """Whether a predicate has its value with other assumed numbers, too: a known part of it decides."""
        if predicate is None:
            return True
        registers = group.registers
        parts = self.plan.steps.conjuncts(predicate, "or" if value else "and")
        return any(part not in registers.assumed and registers.numbers.get(part) == value for part in parts)

    def take(self, number: int, name: str, following: int | None) -> None:
        """Remember that the assumed number of a predicate ends a loop, or passes work by."""
        ended = {
            head
            for head in self.plan.loops.around.get(number, ())
            if following not in self.plan.loops.blocks[head]
        }
        self.left |= ended
        if not ended:
            self.decided_by.add(name)
            self._pass_others(number, name, following)

    def go(self, number: int, name: str, following: int | None) -> None:
        """Remember that all threads go one way by the assumed number of a predicate. With other numbers some
        of them may go another way, where the predicate also depends on which thread it is.
        """
        self.decided_by.add(name)
        if name in self.plan.steps.differing:
            self._pass_others(number, name, following)

    def _pass_others(self, number: int, name: str, following: int | None) -> None:
        """Remember what is done on the sides of a branch that is not taken by a predicate."""
        sides = (self._bringing(side, number) for side in self.plan.flow.blocks[number].successors)
        self._pass(name, frozenset[int]().union(*sides) - self._bringing(following, number))

    def measure(self, group: ThreadGroup, number: int, name: str | None) -> None:
        """Remember how far two numbers are apart whose comparison decides how long a loop is."""
        head = self._left_from(number)
        if head is None or name is None:
            return
        gaps = self._gaps.setdefault(head, [])
        if len(gaps) > 1:
            return
        steps, numbers = self.plan.steps, group.registers.numbers
        branch = self.plan.flow.blocks[number].end - 1
        name = steps.positive(name)
        for part in sorted({name} | steps.conjuncts(name) | steps.conjuncts(name, "or")):
            made = self.plan.written_by(part, branch)
            if made is None:
                continue
            step = steps.step(made)
            if step.words[-1] == "pred":
                continue  # it combines others
            compared = [one if isinstance(one, int) else numbers.get(one) for one in step.sources]
            first, second = compared if len(compared) == 2 else (None, None)
            if isinstance(first, int) and isinstance(second, int) and part in group.registers.assumed:
                if self._measured_at.setdefault(head, number) == number:
                    gaps.append(abs(first - second))
                return

    def _left_from(self, number: int) -> int | None:
        """The innermost loop, by its head, that a side of a branch leaves."""
        loops, sides = self.plan.loops, self.plan.flow.blocks[number].successors
        left = [head for head in loops.around.get(number, ()) if not loops.blocks[head].issuperset(sides)]
        return min(left, key=lambda head: len(loops.blocks[head]), default=None)

    def closes(self, number: int, block: Block) -> bool:
        """Whether a branch decides whether a loop goes on, or whether there is any work."""
        if number not in self._closes:
            self._closes[number] = self._is_closing(number, block)
        return self._closes[number]

    def _is_closing(self, number: int, block: Block) -> bool:
        for head in self.plan.loops.around.get(number, ()):
            body = self.plan.loops.blocks[head]
            if any(side not in body for side in block.successors):
                return True
        busy = [side for side in block.successors if self.plan.acts(side, number)]
        return not busy or (len(busy) < 2 and self.plan.accesses(busy[0], number))

    def is_shown(
        self, wait: int, changed_at: set[int], passed_by: Iterable[str], gone: Collection[int]
    ) -> bool:
        """Whether the numbers with which the wait at a statement lacks what others bring may show a fault:
        the same ones decide how often threads come to the wait (or to the loops that they have `gone` round
        before, by their heads) and to these, and the predicates by which threads passed acts by.
        """
        rounds = rounds_by(self.plan, (wait,)) or rounds_of(self.plan, gone)
        if not rounds or not changed_at or rounds != rounds_by(self.plan, changed_at):
            return False
        return all(
            not by.isdisjoint(rounds) and by <= rounds
            for by in (deciding_numbers(self.plan, (name,)) for name in passed_by)
        )

    def may_bring(self, changed_at: set[int], bringing: Iterable[int] | None = None) -> bool:
        """Whether other numbers of parameters may bring what a wait lacks, which statements change: a loop
        that brings it ended by an assumed one. `bringing`: the only statements that can.
        """
        if bringing is not None and not any(self._has_left(index) for index in bringing):
            return False
        if not changed_at:
            return bool(self.left)  # a loop may have ended before it came to this one
        return any(map(self._has_left, changed_at))

    def _has_left(self, index: int) -> bool:
        """Whether a loop around a statement ended by an assumed number."""
        return not self.left.isdisjoint(self.plan.loops.around.get(self.plan.flow.block_of(index), ()))


def true_threads(guard: Numbers, threads: tuple[int, ...]) -> tuple[int, ...] | None:
    """The threads whose guard is true; None where some guard is unknown."""
    if isinstance(guard, LaneNumbers):
        sides = guard.by_value(threads)
        if None in sides:
            return None
        return sides.get(1, ())
    if guard is None:
        return None
    return threads if guard else ()

"""Execute the threads of one block together, with numbers.

Every thread is executed; threads on one path are one group. mbarriers are automata, and clocks say what
happens before what. A wait for the parity of an mbarrier ends with the earliest phase that can be the current
one, so a fast thread does not hide a race. A group stops where the PTX does not show how it goes on, or after
many rounds of a loop. What was executed until then can happen, if the parameters have the numbers that were
assumed. What cannot be followed is not judged.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..ptx.decode import DecodedStatement
from ..ptx.flow import Block
from ..values.block_threads import WARP, Threads, by_warp
from ..values.lane_numbers import LaneNumbers, Numbers, by_number, number_at
from ..values.real_arithmetic import real_number
from ..walks.parameters import AssumedSizes
from ..walks.registers import Registers
from ..walks.walk_plan import WalkPlan
from ..walks.walk_steps import FIRST, PLACES, WalkStep
from .allocated_words import AllocatedWords
from .assumed_paths import AssumedPaths, true_threads
from .barrier_acts import PARTING
from .deciding_numbers import deciding_numbers
from .meetings import NAMES
from .shared_words import SharedWords
from .stuck_waits import Stuck, stuck_waits
from .thread_groups import Join, ThreadGroup, merged
from .unshown import Unshown, why_barrier_not_known, why_not_known
from .warp_acts import WarpActs
from .warps import GroupWait, HaltedError, LostError

__all__ = ["ROUNDS", "Execution"]

ROUNDS = 14  # rounds of a loop with accesses: more than twice what kernels have stages
_COUNTED_ROUNDS = 16  # rounds of one whose end the PTX shows, so that what stands behind it is executed
_MANY_ROUNDS = 64  # as many of such a loop, as long as few statements were executed
_FEW_STEPS = 10_000  # of all groups
_OUTER_ROUNDS = 8  # rounds of a loop around such a loop: more than LAST_ROUNDS
_TILES = 3  # rounds of one over tiles, where its block comes to a second tile by other numbers
_IDLE_ROUNDS = 1 << 8  # rounds of another loop
_MOST_STEPS = 40_000  # statements of all groups
_MOST_COUNTED = 1 << 16  # added at once to a counter; a greater number subtracts, or packs several
_MOST_GROUPS = 48
_LEAVES = frozenset(("leave", "abort"))
_ORDERS = frozenset(("await", "meet", "wait", "copy-wait", "proxy-fence", "memory-fence"))


@dataclass
class _Task:
    """A group, its progress, and what it waits for."""

    group: ThreadGroup
    progress: Iterator[GroupWait]
    wait: GroupWait | None = None


class Execution:
    """One execution of a block's threads. `sizes` are the numbers of its parameters, `rounds` the
    most rounds of a loop with accesses. `only_right`: it ends, halted, at the first thing that is wrong.
    `until_asked`: so it does once it asks for numbers in memory.
    `shape`: how the threads lie, where the PTX does not say it. `tries`: a wait that is tried once fails
    where its phase is incomplete; otherwise it is taken that it ends.

    `acts` holds what was done: the races among accesses, and the mbarriers that were used too early. `stuck`
    are the waits that never end. `followed`: no group stopped because the PTX does not show how it goes on;
    `lost_at`: where the first did; `met_at`: a branch where threads may wait for others of the block.
    `skipped`: what some threads may do was left out, since it is not known whether they do; `skipped_at`: the
    first branch behind which it was.
    `paused`: one stopped after many rounds of a loop. `halted`: all stopped, because the PTX does not show
    which barrier one changes (at `halted_at`), or after too many steps. `doubtful`: some
    group took a path by an assumed number. `asks_memory`: one stopped where a floating-point number in global
    memory decides. `counted`: what counters in global memory have come to, from an assumed 0.
    """

    def __init__(
        self,
        plan: WalkPlan,
        threads: int,
        sizes: AssumedSizes,
        acts: WarpActs | None = None,
        rounds: int = ROUNDS,
        only_right: bool = False,
        shape: tuple[int, int, int] | None = None,
        tries: bool = False,
        until_asked: bool = False,
    ) -> None:
        self.plan = plan
        self.sizes = sizes
        self.acts = acts or WarpActs(threads)
        self.acts.blocks = plan.steps.blocks
        self.acts.tries = plan.tries if tries else frozenset()
        self.rounds = rounds
        self.only_right = only_right
        self.until_asked = until_asked
        self.words = _words(plan, self.acts)
        self.stuck: list[Stuck] = []
        self.excused: list[Stuck] = []
        self.left_at: int | None = None  # a wait that does not end with the numbers that are assumed
        self.followed = True
        self.skipped = False
        self.paused = False
        self.halted = False
        self.halted_at: Unshown | None = None
        self.lost_at: Unshown | None = None
        self.skipped_at: Unshown | None = None
        self.met_at: int | None = None
        self.doubtful = sizes.guessed
        self.steps = 0
        self.together: dict[int, bool] = {}  # by executed block: whether whole warpgroups executed it
        self.ranks: set[int | None] = set()  # of blocks of the cluster to whose memory threads reach
        self._assumed = AssumedPaths(plan, sizes)
        self._shown: dict[int, bool] = {}  # by block with a branch: whether the PTX shows which way it goes
        self.asks_memory = False
        self._recalled = frozenset[int]() if sizes.memory is None else plan.real_loads
        self._guessed = False  # whether threads end was not known
        self.counted = 0
        self._tasks: deque[_Task] = deque()
        self._joins: list[Join] = []
        self._ended = Counter[int]()  # threads, by the rank of their block
        self._lost: set[int] = set()  # warps with threads that the PTX does not show the way of
        if shape is None and plan.function.is_line:
            shape = threads, 1, 1
        registers = Registers(plan.steps, range(threads), sizes.most, sizes.others, shape)
        first = 0 if plan.flow.blocks else None
        self._start(ThreadGroup(Threads(range(threads)), first, registers, doubtful=sizes.guessed))
        self._run()
        self._is_left = bool(self._tasks)  # some group did not come to its end
        self._let_go()

    @property
    def certain(self) -> bool:
        """Whether everything was executed, to the end, and no path was assumed but how long loops are, nor
        what memory holds.
        """
        return self._is_certain and not self._is_left and self.sizes.memory is None

    @property
    def _is_certain(self) -> bool:
        """Whether nothing was left out so far, and no path assumed but how long loops are."""
        return self.followed and not (self.paused or self.halted or self.doubtful)

    @property
    def is_alike(self) -> bool:
        """Whether threads went their ways by numbers that all blocks of a cluster have; but for how long
        loops are.
        """
        by = deciding_numbers(self.plan, self._assumed.decided_by)
        return self.followed and not self._guessed and by.isdisjoint(PLACES)

    @property
    def placed_by(self) -> set[str]:
        """The special registers of the grid whose assumed numbers decided which way threads went."""
        return deciding_numbers(self.plan, self._assumed.decided_by) & FIRST

    @property
    def gone_round(self) -> frozenset[int]:
        """The loops, by their heads, that threads went round again."""
        return frozenset(self._assumed.gone_round)

    @property
    def rests_on_numbers(self) -> bool:
        """Whether some thread went its way by an assumed number, or a loop ended by one."""
        return self.doubtful or bool(self._assumed.decided_by or self._assumed.left)

    @property
    def is_complete(self) -> bool:
        """Whether everything was executed, to the end, whatever was assumed."""
        return self.followed and not (self.paused or self.halted or self.skipped or self._is_left)

    @property
    def endings(self) -> list[AssumedSizes]:
        """Numbers of parameters with which the loop that paused ends, or one over tiles goes on."""
        endings = (one._replace(guessed=self.sizes.guessed) for one in self._assumed.endings(self.sizes.most))
        return [one if self.sizes.memory is None else one.remembered for one in endings]

    @property
    def even_endings(self) -> tuple[int, ...]:
        """Numbers of parameters with which the loop that paused ends after whole rounds."""
        return self._assumed.even_endings(self.sizes.most)

    # The scheduler

    def _start(self, group: ThreadGroup) -> None:
        self._tasks.append(_Task(group, self._follow(group)))

    def _run(self) -> None:
        while not self.halted:
            if not (self._advance() or self._settle() or self._part()):
                break
        if not self.halted and self.followed and not self.paused:
            waits = [(task.group, task.wait) for task in self._tasks if task.wait is not None]
            self.left_at = min((wait.statement for _, wait in waits), default=None)
            if not waits and self.acts.blocks == 1:  # copies tell other blocks more than clocks show
                late = (one for one in self.acts.late() if self.plan.tries_again(one[1].statement))
                waits += islice(late, 1)
            for one in stuck_waits(self.plan, self.acts, self._assumed, waits, self.together.keys()):
                (self.excused if one.excused else self.stuck).append(one)

    def _advance(self) -> bool:
        """Let every group go on that can; whether any did."""
        moved = False
        for task in list(self._tasks):
            if task.wait is not None and not task.wait.over():
                continue
            moved = True
            task.wait = None
            try:
                task.wait = next(task.progress)
            except StopIteration:
                self._tasks.remove(task)
            except LostError as lost:
                self._lose_at(task.group, lost)
                self.acts.meetings.lanes.leave(task.group.threads)
                self.followed = self.acts.whole = False
                self._lost.update(by_warp(task.group.threads))
                self._tasks.remove(task)
            except HaltedError as halted:
                self.halted = True
                at = halted.statement
                why = why_barrier_not_known(task.group.registers, self.plan.code[at])
                self.halted_at = Unshown(at, why, False)
            wrong = self.only_right and (self.acts.is_wrong or not self._is_certain)
            asked = self.until_asked and self.asks_memory
            if self.halted or wrong or asked or len(self._tasks) > _MOST_GROUPS or self.steps > _MOST_STEPS:
                self.halted = True
                return False
        return moved

    def _settle(self) -> bool:
        """No thread can go on: let the bytes arrive that a group waits for."""
        waits = (task.wait for task in self._tasks if task.wait is not None)
        return any(wait.kind == "phase" and self.acts.mbarriers[wait.barrier].settle() for wait in waits)

    def _part(self) -> bool:
        """No thread can go on: let the parts of a split group go on without each other."""
        self.acts.waits.astray |= not self.acts.whole
        for join in reversed(self._joins):
            if join.parts and not join.abandoned:
                join.abandon()
                for part in join.parts:
                    self._go_on(part)
                join.parts = []
                return True
        for name, barrier in self.acts.meetings.named.items():  # threads that have exited are not waited for
            everybody = self.acts.threads // (self.acts.blocks if name >= 0 else 1)
            ended = self._ended[name // NAMES] if name >= 0 else self._ended.total()
            if barrier.count >= everybody and 0 < barrier.missing <= ended:
                barrier.complete()
                return True
        return False

    def _go_on(self, part: ThreadGroup) -> None:
        """Let a part go on without the others, but for threads whose warp waits for what was lost: they may
        know, from others of their warp, what those have seen.
        """
        kept = tuple(thread for thread in part.threads if thread // WARP not in self._lost)
        if len(kept) < len(part.threads):
            self.acts.meetings.lanes.leave(part.threads)
        if kept:
            self._start(part if len(kept) == len(part.threads) else replace(part, threads=kept))

    def _let_go(self) -> None:
        """Groups that go on no more hold nothing that holds them."""
        self._tasks.clear()
        for join in self._joins:
            join.parts = []

    # One group

    def _follow(self, group: ThreadGroup) -> Iterator[GroupWait]:
        """Execute a group until it ends, splits or meets another; it yields what it waits for."""
        blocks = self.plan.flow.blocks
        while group.block is not None and not self.halted:
            while group.joins and group.joins[-1].abandoned:
                group.joins = group.joins[:-1]
            if group.joins and group.joins[-1].block == group.block:
                self._meet(group)
                return
            number = group.block
            block = blocks[number]
            if not group.done:
                self.together[number] = self.together.get(number, True) and group.is_whole
            self.steps += 1
            if number in self.plan.steps.calling:
                raise LostError
            registers = group.registers
            for place, computing, step, acts, makes in self.plan.runs(number):
                if place < group.done:
                    continue
                if computing and place > group.done:
                    self.steps += len(computing)
                    registers.compute(computing)
                if step is None:
                    break
                self.steps += 1
                guard: Numbers = 1
                threads: tuple[int, ...] | None = group.threads
                if step.guard is not None:
                    guard = registers.guard(step.guard, step.negated)
                    threads = true_threads(guard, group.threads)
                if acts and threads is None:
                    if step.statement.does not in self.acts.skips:
                        self.asks_memory |= step.guard is not None and self.plan.is_scaled(step.guard)
                        raise LostError(step.position, True)
                    self.skipped = True
                if acts and step.guard in registers.assumed:
                    group.doubtful |= step.statement.does in _ORDERS
                    self._assumed.guard(group, step, guard)
                if acts and threads and step.statement.does in PARTING:
                    sides = self.acts.sides(group, step, threads)
                    if len(sides) > 1:
                        self._divide(group, number, place, sides)
                        return
                if acts and threads is None and self.words is not None:
                    self.words.store(registers, step, group.threads, surely=False)
                if acts and threads:
                    yield from self.acts.act(group, step, threads)
                    if self.acts.failed:
                        self.acts.failed, makes = False, False
                        registers.receive(step, [0] * len(step.written), guard, False)
                    if self.words is not None:
                        self.words.store(registers, step, threads)
                    for address in (
                        (step.statement.barrier, step.statement.address) if registers.remote else ()
                    ):
                        self.ranks.update(registers.ranks(address, step.statement.scope, threads))
                if makes and self.words is not None and step.rereads and threads is not None:
                    values, assumed = self.words.load(registers, step, threads)
                    registers.receive(step, values, guard, assumed)
                elif makes and step.counts and threads:
                    self._count_up(group, step, guard, threads)
                elif makes and step.position in self._recalled:
                    self._recall(registers, step, guard)
                elif makes:
                    registers.execute(step, guard)
                    if step.result == "elected":
                        self._forget_elected(group, step)
            group.done = 0
            going = self._next(group, block)
            self.doubtful |= group.doubtful
            if not going:
                return
        self._end(group)

    def _recall(self, registers: Registers, step: WalkStep, guard: Numbers) -> None:
        """Load floating-point numbers from global memory, which are all one assumed number."""
        word = real_number(self.sizes.memory or 0, step.bits)
        registers.receive(step, [word] * len(step.written), guard, True)

    def _count_up(self, group: ThreadGroup, step: WalkStep, guard: Numbers, threads: tuple[int, ...]) -> None:
        """Add to a counter in global memory. It is assumed that it begins with 0, and that no other block
        takes a number.
        """
        registers = group.registers
        group.doubtful = True
        stride = registers.number(step.statement.operands[-1], step.statement.scope) or 0
        row: list[int | None] = [None] * len(registers.threads)
        for thread in threads if 0 < stride < _MOST_COUNTED else ():
            row[thread] = self.counted
            self.counted += stride
        registers.receive(step, [registers.math.joined(row)], guard, True)

    def _forget_elected(self, group: ThreadGroup, step: WalkStep) -> None:
        """Where the lane that is elected has left, another one is: it is not known which."""
        registers = group.registers
        elected, forgotten = registers.numbers.get(step.written[-1]), set[int]()
        for warp, lanes in group.warps.items():
            others = range(warp * WARP, min((warp + 1) * WARP, self.acts.threads))
            leaders = [one for one in others if number_at(elected, one)]
            if leaders and leaders[0] not in lanes and self.acts.meetings.lanes.has_left(leaders[0]):
                forgotten.update(lanes)
        if forgotten:
            flags = registers.math.joined([int(one in forgotten) for one in registers.threads])
            registers.forget({*step.written}, flags)

    def _end(self, group: ThreadGroup) -> None:
        self.acts.meetings.lanes.leave(group.threads)
        if self.acts.blocks == 1:
            self._ended[0] += len(group.threads)
        else:
            rank_of = self.plan.steps.rank_of
            self._ended.update(rank_of(thread, self.acts.threads) for thread in group.threads)
        for join in reversed(group.joins):
            if not join.abandoned:
                join.outstanding -= 1
                self._gathered(join)
                if join.outstanding or join.met:
                    return

    def _meet(self, group: ThreadGroup) -> None:
        join = group.joins[-1]
        join.parts.append(group)
        join.met = True
        join.outstanding -= 1
        self._gathered(join)

    def _gathered(self, join: Join) -> None:
        """Let the parts of a group go on as one, when all have arrived or ended."""
        if join.outstanding or not join.parts:
            return
        parts, join.parts = join.parts, []
        self._start(merged(parts, join))

    def _next(self, group: ThreadGroup, block: Block) -> bool:
        """Take the group to its next block; returns whether it goes on unsplit."""
        number = group.block
        assert number is not None
        statement = self.plan.code[block.end - 1] if block.end > block.start else None
        if statement is None or statement.does not in ("jump", "switch", *_LEAVES):
            return self._enter(group, number, block.fall)
        name = self.plan.steps.guard(statement)
        guard = group.registers.guard(name, statement.negated)
        if statement.does in _LEAVES:
            if guard is None:
                group.doubtful |= statement.does == "leave"
                self._guessed |= statement.does == "leave"
                return self._enter(group, number, block.fall)
            taken: int | None = None
        else:
            taken = block.branch
            if len(block.successors) < 2:
                return self._enter(group, number, block.successors[0] if block.successors else None)
        if statement.does == "switch" and statement.guard is None:
            return self._switch(group, number, block, statement)
        if guard is None or statement.does == "switch":
            return self._skip(group, number, name)
        if name is not None and name in group.registers.assumed:
            self._assumed.place(number, name)
        if isinstance(guard, LaneNumbers):
            self._shown[number] = name not in group.registers.assumed
            if name in group.registers.assumed:
                self._assumed.split(group, number, name, guard, statement.negated, taken)
            return self._split(group, number, name, guard, taken, block.fall)
        following = taken if guard else block.fall
        shown = name not in group.registers.assumed or self._assumed.decided(
            group, name, guard != statement.negated
        )
        self._shown[number] = shown
        if not shown:
            if name is not None and self._assumed.closes(number, block):
                self._assumed.measure(group, number, name)
                self._assumed.take(number, name, following)
                group.repeats += 1
            else:
                group.doubtful = True
                if name is not None:
                    self._assumed.go(number, name, following)
        return self._enter(group, number, following)

    def _switch(self, group: ThreadGroup, number: int, block: Block, statement: DecodedStatement) -> bool:
        """Send threads where a table says, by the number that each has."""
        text, scope = statement.operands[0], statement.scope
        sides: dict[int, list[int]] = {}
        for value, threads in by_number(group.registers.value(text, scope), group.threads).items():
            if value is None or not 0 <= value < len(block.cases):
                return self._skip(group, number, None)
            sides.setdefault(block.cases[value], []).extend(threads)
        group.doubtful |= not group.registers.assumed.isdisjoint(self.plan.code.unique((text,), scope))
        return self._send(group, number, [(Threads(sorted(some)), side) for side, some in sides.items()])

    def _skip(self, group: ThreadGroup, number: int, name: str | None) -> bool:
        """Go on where the sides of a branch meet whose guard is unknown; raises LostError if a side acts,
        or if the branch waits for what another thread writes.
        """
        working = self._working(number, name)
        if working is not None:
            self._guess(group)
            return self._enter(group, number, working)
        acting = self.plan.acting(self.acts.skips)
        successors = self.plan.flow.blocks[number].successors
        behind = [self.plan.loops.blocks_of(side, number) for side in successors]
        meetings = self.plan.meetings
        polls = meetings.polls(number, name) and not meetings.waits_for_others(number)
        if polls or not all(map(acting.isdisjoint, behind)):
            if polls and self.met_at is None:
                self.met_at = self.plan.flow.blocks[number].end - 1
            self.asks_memory |= name is not None and self.plan.is_scaled(name)
            self._lose(group, number, name)
            raise LostError
        if any(self._assumed.acts(side, number) for side in successors):
            self.skipped = True
            self.skipped_at = self.skipped_at or self._unknown_way(group, number, name)
        end = self.plan.flow.post_dominator.get(number)
        for register in self.plan.written_between(number):
            group.registers.numbers[register] = None
            group.registers.assumed.discard(register)
        if self.words is not None:
            for passed in frozenset[int]().union(*behind):
                for step, _, _ in self.plan.relevant(passed):
                    self.words.store(group.registers, step, group.threads, surely=False)
        return self._enter(group, number, end)

    def _lose(self, group: ThreadGroup, number: int, name: str | None) -> None:
        """Remember the first branch where the PTX does not show which way threads go."""
        self.lost_at = self.lost_at or self._unknown_way(group, number, name)

    def _unknown_way(self, group: ThreadGroup, number: int, name: str | None) -> Unshown:
        """A branch, and why it is not known which way threads go."""
        at = self.plan.flow.blocks[number].end - 1
        statement = self.plan.code[at]
        why = why_not_known(group.registers, () if name is None else (name,))
        if statement.does == "switch":
            why = f"is {statement.operation.opcode}, which is not followed"
        return Unshown(at, why, True)

    def _lose_at(self, group: ThreadGroup, lost: LostError) -> None:
        """Remember the first statement that does not show what a group does next."""
        if self.lost_at is not None or lost.statement is None:
            return
        statement, registers = self.plan.code[lost.statement], group.registers
        guard = self.plan.steps.guard(statement)
        if lost.parts and guard is not None:
            why = why_not_known(registers, (guard,))
        else:
            why = why_barrier_not_known(registers, statement)
        self.lost_at = Unshown(lost.statement, why, lost.parts)

    def _working(self, number: int, name: str | None) -> int | None:
        """The only side of a branch behind which anything is done until the function ends, where numbers in
        memory decide: threads go there, or do nothing any more. None if there is no such side.
        """
        sides = self.plan.flow.blocks[number].successors
        working = [side for side in sides if self.plan.works(side)]
        is_only = len(working) == 1 < len(sides) and name is not None and self.plan.is_given(name)
        return working[0] if is_only else None

    def _guess(self, group: ThreadGroup) -> None:
        """Remember that a group goes to the only side with work, and that its guard is unknown."""
        group.doubtful = True
        self._guessed = True

    def _split(
        self,
        group: ThreadGroup,
        number: int,
        name: str | None,
        guard: LaneNumbers,
        taken: int | None,
        fall: int | None,
    ) -> bool:
        """Send threads to both sides of a branch."""
        sides = dict(guard.by_value(group.threads))
        unknown = sides.pop(None, None)
        if unknown is not None:
            working = self._working(number, name)
            if working is None:
                return self._skip(group, number, name)
            self._guess(group)
            self._shown[number] = False
            holds = int(working == taken)
            sides[holds] = Threads(sorted((*sides.get(holds, ()), *unknown)))
        ways = [(threads, taken if value else fall) for value, threads in sides.items()]
        return self._send(group, number, ways)

    def _send(
        self, group: ThreadGroup, number: int, ways: Sequence[tuple[tuple[int, ...], int | None]]
    ) -> bool:
        """Send threads to blocks behind another one; returns whether the group goes on unsplit."""
        if len(ways) == 1:
            return self._enter(group, number, ways[0][1])
        join = self._join(group, number, len(ways))
        for threads, side in ways:
            part = group.part(threads, number, join)
            if self._enter(part, number, side):
                self._start(part)
        return False

    def _join(self, group: ThreadGroup, number: int, parts: int) -> Join:
        """Where the parts of a group that splits in a block meet again."""
        around = next((join for join in reversed(group.joins) if not join.abandoned), None)
        written = self.plan.written_before_join(number)
        join = Join(self.plan.flow.post_dominator.get(number), parts, written, around)
        self._joins.append(join)
        return join

    def _divide(self, group: ThreadGroup, number: int, place: int, sides: list[tuple[int, ...]]) -> None:
        """Let threads that wait for different barriers wait apart: what one waits for, another may do."""
        waiting = {thread for some in sides for thread in some}
        others = Threads(thread for thread in group.threads if thread not in waiting)
        parts = [*sides, others] if others else sides
        join = self._join(group, number, len(parts))
        for threads in parts:
            part = group.part(threads, number, join)
            part.done = place
            self._start(part)

    def _is_counted(self, head: int, number: int) -> bool:
        """Whether the PTX shows how many rounds a loop has, which begins again behind a block: by its branch,
        or else by all branches that leave the loop.
        """
        if number in self._shown:
            return self._shown[number]
        blocks, body = self.plan.flow.blocks, self.plan.loops.blocks[head]
        left = [one for one in body if not body.issuperset(blocks[one].successors)]
        return bool(left) and all(self._shown.get(one, False) for one in left)

    def _enter(self, group: ThreadGroup, number: int, following: int | None) -> bool:
        """Go to a block, and count the rounds of its loop; False if the group stops there."""
        group.block = following
        if following is not None and following in self.plan.loops.blocks:
            again = number in self.plan.loops.blocks[following]
            group.rounds[following] = group.rounds.get(following, 0) + 1 if again else 0
            if again:
                self._assumed.gone_round.add(following)
            busy = self.plan.busy(following)
            rounds = self.rounds
            if not self.plan.innermost(following):
                rounds = min(rounds, _TILES if self.sizes.others else _OUTER_ROUNDS)
            most = rounds if busy else _IDLE_ROUNDS
            if busy and group.rounds[following] > most and self._is_counted(following, number):
                most = _MANY_ROUNDS if self.steps < _FEW_STEPS else _COUNTED_ROUNDS
            if group.rounds[following] > most:
                self.paused = True
                self._assumed.pause(following)
                self.acts.whole = False
                self.acts.meetings.lanes.leave(group.threads)
                return False
        return True


def _words(plan: WalkPlan, acts: WarpActs) -> SharedWords | None:
    """What threads read back from shared memory, if any number that counts is."""
    clocks = [warp.clock for warp in acts.warps]
    if acts.columns is not None:
        return AllocatedWords(clocks, plan.reread, acts.columns)
    return SharedWords(clocks) if plan.reread else None

"""Walk through a function with the numbers of some threads: the acts of each on shared memory, in order.

A walk executes the integer instructions that addresses, descriptors and branches depend on. Parameters and
the block's place in the grid get assumed numbers. At a branch that depends on an assumed number, the walk
takes the side with more acts. A loop whose end depends on one is walked until its rounds do the same again
and again, or for a few rounds. So a walk is one path of many, and its findings are about that path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...spec.lazy_dataclass import dataclass
from ..ptx.decode import DecodedStatement
from ..ptx.operation import GENERIC_WRITES
from ..values.block_threads import WARP, WARPGROUP, size_of
from .acts import Act, act_of
from .registers import Registers
from .walk_plan import WalkPlan

__all__ = ["Walked", "followed", "short_walks", "walk_of", "walks"]

_LONGEST = 60_000  # statements of one walk
_SIZES = (512, 1024, 8)  # numbers for parameters, elements or steps: the first with which a walk multiplies
_LARGER = (1024, 2048)  # the first with which some stage is filled twice
_FEW = 3  # one with which loops are walked to their end
_ROUND = 1 << 7  # rounds of a loop that no branch leaves
_LEAVES = frozenset(("leave", "abort"))
_ENDS = _LEAVES | {"jump", "switch"}


@dataclass(frozen=True)
class Walked:
    """The acts of one thread on its path.

    `trace` are the blocks of the path; from block number `assumed` of the trace on, the path is
    assumed: past a branch whose condition the walk does not know, or a loop that it left before the end.
    `size` is the assumed number of sizes.
    """

    thread: int
    acts: tuple[Act, ...]
    trace: tuple[int, ...] = ()
    assumed: int = 0
    size: int = 0


def walks(plan: WalkPlan) -> list[Walked]:
    """The walks of the first thread of each warp if barriers divide the warps' work, or else of each
    warpgroup.

    The warps of a warpgroup that multiplies do alike.
    """
    function = plan.function
    limit = max(function.threads[0], 1) if function.threads else 1
    actions = (plan.code.operation(index).action for index in plan.roles)
    parted = any(action.does == "arrive" and action.barrier == "object" for action in actions)
    threads = range(0, limit, WARP) if parted else range(0, min(limit, 3 * WARPGROUP), WARPGROUP)
    for size in _SIZES:
        found = _walked(plan, threads, size)
        if any(act.kind == "mma" for walk in found for act in walk.acts):
            for larger in _LARGER if parted or any(map(_copies_in_loops, found)) else ():
                if any(map(_refills, found)):
                    break
                found = _walked(plan, threads, larger) or found
            return found
    found = _walked(plan, threads, _SIZES[-1], cut=True)
    if any(act.kind == "mma" for walk in found for act in walk.acts):
        return found
    return _walked(plan, threads, _SIZES[-1], cut=True, eager=True)


def short_walks(plan: WalkPlan, long: Sequence[Walked]) -> list[Walked]:
    """If `long` walks leave a product's loop before its end: walks with smaller numbers that reach the end,
    if any do.
    """
    if not any(act.kind == "cut" for walk in long for act in walk.acts):
        return []
    found = _walked(plan, range(0, max(walk.thread for walk in long) + 1, WARPGROUP), _FEW)
    ended = not any(act.kind == "cut" for walk in found for act in walk.acts)
    return found if ended and any(act.kind == "mma" for walk in found for act in walk.acts) else []


def _refills(walk: Walked) -> bool:
    """Whether a thread copies into some stage twice."""
    counts = Counter(region for act in walk.acts if act.kind in ("bulk", "copy") for region in act.regions)
    return any(count > 1 for count in counts.values())


def _copies_in_loops(walk: Walked) -> bool:
    """Whether a thread copies in a loop."""
    return any(act.loops for act in walk.acts if act.kind in ("bulk", "copy"))


def _walked(
    plan: WalkPlan, threads: range, size: int, cut: bool = False, eager: bool = False
) -> list[Walked]:
    """One walk for each thread, but one for a warpgroup that multiplies, unless its warps wait for different
    mbarriers. Unless `cut`, no walks if one leaves a product's loop early.
    """
    found = _walked_once(plan, threads, size, cut, eager, False)
    filled = {act.barrier for walk in found for act in walk.acts if act.kind == "bulk"}
    awaited = {act.barrier for walk in found for act in walk.acts if act.kind == "await"}
    if threads.step == WARP and awaited and None not in awaited and filled - awaited - {None}:
        return _walked_once(plan, threads, size, cut, eager, True) or found
    return found


def _walked_once(
    plan: WalkPlan, threads: range, size: int, cut: bool, eager: bool, each: bool
) -> list[Walked]:
    """`each`: one walk for each thread, also of a warpgroup that multiplies."""
    found: dict[tuple[Act, ...], Walked] = {}
    multiplied = -1  # the last warpgroup that did
    for thread in threads:
        if not each and thread // WARPGROUP == multiplied:
            continue
        walk = _Walk(plan, thread, size, eager)
        for act in walk.run():
            if act.kind == "cut" and act.n and not cut and any(one.kind == "mma" for one in walk.acts):
                return []
        whole = walk.walked()
        found.setdefault(whole.acts, whole)
        if any(act.kind == "mma" for act in walk.acts):
            multiplied = thread // WARPGROUP
    return list(found.values())


def walk_of(plan: WalkPlan, thread: int, size: int) -> Walked:
    """The walk of one thread, whatever it does."""
    walk = _Walk(plan, thread, size, eager=False)
    for _ in walk.run():
        pass
    return walk.walked()


class _Rounds:
    """The rounds of one loop on a walk: does it do the same again and again?

    `count` is −1 where the loop was entered behind its head, to which the first round comes late.
    """

    def __init__(self, count: int, acts: int) -> None:
        self.count = count
        self._begin = acts  # the number of the act with which the round began
        self._last: dict[tuple[object, ...], int] = {}  # by what a round did: the last round that did it
        self._period = 0
        self._same = 0  # so many rounds, the last ones, did what was done `_period` rounds before

    def again(self, acts: Sequence[Act]) -> None:
        """The next round begins. Parities do not count: they say which lap of a ring of stages it is."""
        did = tuple([(act.statement, act.regions, act.barrier, act.certain) for act in acts[self._begin :]])
        self._begin = len(acts)
        period = self.count - self._last.get(did, self.count)
        self._same = self._same + 1 if period and period == self._period else int(period > 0)
        self._period = period
        self._last[did] = self.count
        self.count += 1

    def repeat(self, depth: int) -> bool:
        """Whether they do, for longer than waits that leave `depth` groups in flight can tell apart."""
        return self._same >= max(self._period, depth + 2)


class _Walk:
    """The state of one thread's walk: its place, and how often it was there.

    `eager`: it takes the side with more acts, even if assumed numbers say otherwise.
    """

    def __init__(self, plan: WalkPlan, thread: int, size: int, eager: bool) -> None:
        self.plan = plan
        self.size = size
        self.eager = eager
        self.registers = Registers(plan.steps, (thread,), size)
        self.acts: list[Act] = []
        self.rounds: dict[int, _Rounds] = {}
        self.forced = 0  # a loop was just left although its numbers lead on: 1, an innermost one: 2
        self.taken: Counter[int] = Counter()  # how often each side of an undecided branch was taken
        self.trace: list[int] = []
        self.assumed: int | None = None  # how many blocks had been walked at the first assumed branch

    def walked(self) -> Walked:
        """The walk as far as it has come. An eager one assumes from its beginning on."""
        known = len(self.trace) if self.assumed is None else self.assumed
        (thread,) = self.registers.threads
        return Walked(thread, tuple(self.acts), tuple(self.trace), 0 if self.eager else known, self.size)

    def run(self) -> Iterator[Act]:
        """Walk until the function ends, or for long enough."""
        blocks, registers = self.plan.flow.blocks, self.registers
        number: int | None = 0 if blocks else None
        steps = 0
        while number is not None and steps < _LONGEST and self.plan.budget > 0:
            block = blocks[number]
            self.trace.append(number)
            steps += block.end - block.start + 1
            self.plan.budget -= block.end - block.start + 1
            loops = self.plan.loops.around.get(number, ())
            for _, computing, step, acts, makes in self.plan.runs(number):
                if computing:
                    registers.compute(computing)
                if step is None:
                    break
                guard = 1 if step.guard is None else registers.guard(step.guard, step.negated)
                if acts and (guard != 0 or (self.eager and step.guard in registers.assumed)):
                    act = act_of(step.position, step.statement, registers.number, loops)
                    if act is not None and not self._is_elsewhere(step.statement):
                        known = guard is not None and self.assumed is None
                        certain = known and self.plan.steps.located(step.position).isdisjoint(
                            registers.assumed
                        )
                        self.acts.append(act if certain else act._replace(certain=False))
                        yield self.acts[-1]
                if makes:
                    registers.execute(step, guard)
            number = self._next(number)
            if self.forced:
                self.acts.append(Act("cut", block.end - 1, n=self.forced - 1))
                self.forced = 0
                yield self.acts[-1]

    def _is_elsewhere(self, statement: DecodedStatement) -> bool:
        """Whether a statement writes shared memory of another block."""
        return statement.does in GENERIC_WRITES and self.registers.is_remote(
            statement.address, statement.scope
        )

    def _next(self, number: int) -> int | None:
        """The block to walk next; None at the end of the walk."""
        block = self.plan.flow.blocks[number]
        if block.start == block.end:
            return self._enter(number, block.fall)
        statement = self.plan.code[block.end - 1]
        if statement.does not in _ENDS:
            return self._enter(number, block.fall)
        name = self.plan.steps.guard(statement)
        guard = self.registers.guard(name, statement.negated)
        if statement.does in _LEAVES:
            if guard is None:
                self._assume()
            return None if guard == 1 else self._enter(number, block.fall)
        sides = list(block.successors)
        if len(sides) < 2:
            return self._enter(number, sides[0] if sides else None)
        if guard is None or guard == (sides[0] != block.branch):
            sides.reverse()
        known = guard is not None and statement.does != "switch"
        taken = self._side(number, sides, known, name in self.registers.assumed)
        if not known or taken != sides[0]:
            self._assume()
        return self._enter(number, taken)

    def _assume(self) -> None:
        """Remember that the path is assumed from here on."""
        if self.assumed is None:
            self.assumed = len(self.trace)

    def _side(self, number: int, sides: list[int], known: bool, is_open: bool) -> int:
        """The side of a branch that is taken; where it is known, the first is what its numbers say."""
        late = False  # leave the loop by whichever side leads out
        for head in self.plan.loops.around.get(number, ()):
            body = self.plan.loops.blocks[head]
            leaving = [side for side in sides if side not in body]
            rounds = self.rounds.get(head)
            over = rounds is not None and (
                rounds.count >= self.plan.most(head, known and not is_open)
                or (not known and rounds.repeat(self.plan.depth))
            )
            if leaving and over:
                if known and sides[0] not in leaving:
                    self.forced = 1 + self.plan.innermost(head)
                return leaving[0]
            if is_open and leaving and sides[0] in leaving and not (rounds and rounds.count):
                again = [side for side in sides if side in body]
                if again and not self.plan.innermost(head):
                    return again[0]  # what comes round is another block's, or another size's
            late |= over
            if not known and len(leaving) < len(sides):
                sides = [side for side in sides if side in body]
        if len(sides) == 1 or (known and not (is_open and self.eager)):
            return sides[0]
        busy = sides if late else [side for side in sides if self.plan.work(side, number)] or sides[:1]
        taken = min(busy, key=lambda side: (self.taken[side], -self.plan.work(side, number)))
        self.taken[taken] += 1
        return taken

    def _enter(self, number: int, following: int | None) -> int | None:
        """Count a round when a loop begins again; start counting when a loop is entered."""
        if following is None:
            return None
        for head in self.plan.loops.around.get(following, ()):
            if head != following and number not in self.plan.loops.blocks[head]:
                self.rounds[head] = _Rounds(-1, len(self.acts))
        if following in self.plan.loops.blocks:
            rounds = self.rounds.get(following)
            if rounds is None or number not in self.plan.loops.blocks[following]:
                self.rounds[following] = _Rounds(0, len(self.acts))
            else:
                rounds.again(self.acts)
                if rounds.count > _ROUND:
                    return None
        return following


def followed(plan: WalkPlan, walk: Walked, walked: Sequence[Walked]) -> range:
    """The threads that go a walk's way: those of its warpgroup, up to the next one that was walked alone."""
    shape = plan.function.threads
    limit = size_of(shape) if shape else WARPGROUP
    end = walk.thread - walk.thread % WARPGROUP + WARPGROUP
    if not any(act.kind == "mma" for act in walk.acts):
        end = min((one.thread for one in walked if walk.thread < one.thread < end), default=end)
    return range(walk.thread, max(min(end, limit), walk.thread + 1))

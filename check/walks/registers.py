"""What a statement does to the registers of some threads: the one interpreter, of one thread or of a block.

A register holds a number for all the threads, or one for each, or nothing that is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from ..ptx.operands import Address, vector_places
from ..values.arithmetic import MASK
from ..values.block_threads import WARP
from ..values.lane_numbers import LaneNumbers, Numbers, by_number, lane_math, number_at
from ..values.launch_answers import asked
from ..values.real_arithmetic import is_real, real_number
from ..values.word_algebra import NUMBER, WORD, NoResultError
from .inverted_waits import is_inverted
from .parameters import parameter_number
from .walk_steps import RANK, SIZE, WalkStep, WalkSteps

__all__ = ["Registers"]

_LAST_LANE = WARP - 1
_MOST_COMPUTED = 1 << 13  # results that are remembered, by statement
_MOST_RESULTS = 1 << 11  # that are remembered: of a block of 1024 threads, each takes 16 KiB


class _HeldNumbers(dict[int | str, Numbers]):
    """What registers hold, by unique name; and a number holds itself, so that one look-up takes all sources
    of a statement.
    """

    __slots__ = ()

    def __missing__(self, source: int | str) -> Numbers:
        found = self[source] = source if isinstance(source, int) else None
        return found


class Registers:
    """The registers of some threads of a block, by unique name.

    `assumed` follow from assumed numbers, of parameters or of the grid; `chosen` are unknown predicates of
    which a walk has taken one value, and what follows from them; `remote` follow from addresses in blocks of
    the cluster, with the rank of that of each thread.
    """

    __slots__ = ("assumed", "chosen", "math", "numbers", "remote", "steps", "threads")

    def __init__(
        self,
        steps: WalkSteps,
        threads: Sequence[int],
        size: int,
        others: Iterable[tuple[str, int]] = (),
        shape: tuple[int, int, int] | None = None,
    ) -> None:
        self.steps = steps
        self.threads = threads
        self.math = lane_math(len(threads))
        self.numbers = _HeldNumbers({**dict(self._own(shape)), SIZE: size, **dict(others), **steps.given})
        self.assumed: set[str] = set()
        self.chosen: set[str] = set()
        self.remote: dict[str, Numbers] = {}

    def _own(self, shape: tuple[int, int, int] | None) -> Iterator[tuple[str, Numbers]]:
        """The special registers whose numbers are known. `shape`: that of the block, if it is assumed."""
        function = self.steps.function
        yield from self.steps.own(shape or function.threads, self.threads)
        known = function.threads if function.exact else shape
        if known is not None:
            yield from zip(("%ntid.x", "%ntid.y", "%ntid.z"), known, strict=True)
        yield from self.steps.grid.items()

    def copy(self) -> Registers:
        """Registers of their own with the same contents."""
        made = Registers.__new__(Registers)
        made.steps, made.threads, made.math = self.steps, self.threads, self.math
        made.numbers = _HeldNumbers(self.numbers)
        made.assumed, made.chosen, made.remote = set(self.assumed), set(self.chosen), dict(self.remote)
        return made

    # What they hold

    def value(self, text: str, scope: int) -> Numbers:
        """What an operand holds; None if unknown."""
        found = self.steps.sources.get((text, scope))
        if found is None:
            found = self.steps.source(text, scope)
        return self.numbers[found]

    def number(self, text: str, scope: int) -> int | None:
        """The one number that all threads hold in an operand; None if there is none, or it is unknown."""
        found = self.value(text, scope)
        return None if isinstance(found, LaneNumbers) else found

    def base(self, address: Address, scope: int) -> Numbers:
        """What an address counts from: what its register holds, or 0."""
        return 0 if address.base is None else self.value(address.base, scope)

    def at(self, address: Address | None, scope: int, thread: int) -> int | None:
        """The address that one thread names; None if it is not known."""
        base = None if address is None else number_at(self.base(address, scope), thread)
        return None if address is None or base is None else base + address.offset

    def is_placed(self, address: Address, scope: int) -> bool:
        """Whether an assumed number decides where an address lies."""
        return address.base is not None and self.steps.source(address.base, scope) in self.assumed

    def is_remote(self, address: Address | None, scope: int) -> bool:
        """Whether an address may lie in the shared memory of another block of the cluster."""
        if not self.remote or address is None or address.base is None:
            return False
        return self.steps.source(address.base, scope) in self.remote

    def ranks(self, address: Address | None, scope: int, threads: tuple[int, ...]) -> Collection[int | None]:
        """The ranks of the blocks in whose shared memory the address of some threads may lie (None: one is
        unknown); none: in that of their own.
        """
        if not self.is_remote(address, scope):
            return ()
        assert address is not None and address.base is not None
        return by_number(self.remote[str(self.steps.source(address.base, scope))], threads).keys()

    def is_elsewhere(self, address: Address | None, scope: int, threads: tuple[int, ...]) -> bool:
        """Whether the address of one of these threads surely lies in another block of the cluster."""
        own = self.numbers.get(RANK)
        return any(rank not in (None, own) for rank in self.ranks(address, scope, threads))

    def guard(self, name: str | None, negated: bool) -> Numbers:
        """Whether a guard is true, as 0 or 1; None if unknown."""
        if name is None:
            return 1
        found = self.numbers.get(name)
        if negated:
            return self.math.negated(found)
        return found & 1 if isinstance(found, int) else found

    # What a statement does to them

    def execute(self, step: WalkStep, guard: Numbers = 1, within: Numbers = 1) -> None:
        """Write a statement's results. `guard` is whether its guard is true, `within` whether threads come to
        it.
        """
        if step.target is not None and guard.__class__ is int and guard:
            self.compute((step,), within)
            return
        written, assumed, surely = step.written, self.assumed, guard.__class__ is int
        on = within
        if not surely:
            on = self.math.both(guard, within)
        elif not guard:
            if step.guard in assumed:
                assumed.update(written)
            return
        if assumed or step.assumes:  # which results follow from assumed numbers
            if (step.assumes or not assumed.isdisjoint(step.read)) and step.result != "awaited":
                assumed.update(written)
            elif surely:
                assumed.difference_update(written)
        if self.chosen or self.remote or step.maps:
            self._follow(step, surely, on)
        if on is None:
            for register in written:
                self.numbers[register] = None
            return
        if on.__class__ is int and not on:
            return
        results = self._results(step)
        if on.__class__ is int:
            self.numbers.update(zip(written, results, strict=True))
            return
        for register, new in zip(written, results, strict=True):
            self.numbers[register] = self.math.chosen(on, new, self.numbers.get(register))

    def compute(self, steps: Iterable[WalkStep], within: Numbers = 1) -> None:
        """Write the results of statements with a `target`, as most have, in all threads that come to them."""
        everywhere, chosen_in = within.__class__ is int and within, self.math.chosen
        assumed, chosen, remote, numbers = self.assumed, self.chosen, self.remote, self.numbers
        computed = self.steps.computed
        for step in steps:
            register, read = step.target, step.read
            assert register is not None
            if step.assumes or not assumed.isdisjoint(read):
                assumed.add(register)
            else:
                assumed.discard(register)
            if chosen or (remote and not remote.keys().isdisjoint(read)):
                self._follow(step, True, within)
            found = None
            if step.rule is not None:
                key = step, step.held(numbers)
                found = computed[key] if key in computed else self._found(key)
            if not everywhere:
                found = chosen_in(within, found, numbers.get(register))
            numbers[register] = found

    def _follow(self, step: WalkStep, surely: bool, on: Numbers) -> None:
        """Remember which results follow from a choice, or from an address in another block. `on`: which
        threads write them.
        """
        written = step.written
        if not self.chosen.isdisjoint(step.read):
            self.chosen.update(written)
        elif surely:
            self.chosen.difference_update(written)
        if (
            surely
            and step.maps
            and self.steps.origin(step.statement.operands[-1], step.statement.scope) == RANK
        ):
            for name in written:
                self.remote.pop(name, None)  # it is in the own block
        elif step.maps:
            self._place_in(self.value(step.statement.operands[-1], step.statement.scope), written, on)
        elif self.remote and (mapped := self.remote.keys() & {*step.read}):
            first, *others = (self.remote[register] for register in mapped)
            self._place_in(first if all(one == first for one in others) else None, written, on)

    def _place_in(self, ranks: Numbers, registers: Iterable[str], on: Numbers) -> None:
        """Let what registers hold in some threads follow from addresses in blocks with such ranks."""
        for name in registers:
            self.remote[name] = self.math.chosen(on, ranks, self.remote.get(name))

    def receive(self, step: WalkStep, values: Sequence[Numbers], guard: Numbers, assumed: bool) -> None:
        """Write what a load brings, by destination; `assumed`: it follows from an assumed number."""
        for register, new in zip(step.written, values, strict=True):
            self.numbers[register] = self.math.chosen(guard, new, self.numbers.get(register))
        if assumed:
            self.assumed.update(step.written)
        elif guard == 1:
            self.assumed.difference_update(step.written)

    def forget(self, registers: set[str], threads: Numbers) -> None:
        """Make registers unknown in the threads whose flag is 1."""
        for register in registers:
            self.numbers[register] = self.math.chosen(threads, None, self.numbers.get(register))

    def _results(self, step: WalkStep) -> Sequence[Numbers]:
        """What a statement writes, by its destinations."""
        if step.target is not None:
            return (self._computed(step),)
        count = len(step.written)
        if step.result == "elected":
            return self._elected(step)[-count:]  # `_` is no register
        if step.result == "places":
            return [self._place(one) for one in step.sources]
        value = self._result(step)
        places, elements = vector_places(step.statement.operands[0])
        if step.result == "answer":
            fields = asked(step.words)
            found = [self._bits(value, *fields[at]) if at < len(fields) else None for at in places]
            return found if len(found) == count else (None,) * count
        if elements == 1 == count or value is None or step.result == "parameter":
            return (value,) * count
        if not step.statement.operation.is_move or count != len(places):
            return (value, *(None,) * (count - 1))
        width = step.bits // elements  # a vector, the lowest bits first
        return [self._bits(value, width * place, width) for place in places]

    def _elected(self, step: WalkStep) -> tuple[Numbers, Numbers]:
        """The lane that the mask names first, and whether each thread is that; not known in warps of which
        that lane does not come here.
        """
        mask = self.value(step.statement.operands[-1], step.statement.scope)
        if isinstance(mask, LaneNumbers):  # unknown in threads that do not come here
            known = {value for value in mask.values if value is not None}
            mask = known.pop() if len(known) == 1 else None
        members = mask & (1 << WARP) - 1 if isinstance(mask, int) else 0
        if not members:
            return None, None
        first = (members & -members).bit_length() - 1
        return first, _leaders(self.threads, first)

    def _result(self, step: WalkStep) -> Numbers:
        """The value of a statement that has one."""
        if step.result == "unknown":
            return None
        if step.result == "awaited":
            return int(not is_inverted(self.steps, step.position))
        if step.result == "computed":
            return self._computed(step)
        if step.result == "parameter" and len(step.sources) > 1:
            number = self._parameter(*step.sources)
            return real_number(number, step.bits) if is_real(step.words) else number
        values = self._sources(step)
        for place in step.negates:
            values[place] = self.math.negated(values[place])
        if step.result == "packed":
            return self._packed(values, step.bits)
        if step.result == "mapped":
            return self._mapped(values)
        if step.result == "lane":
            return self._shuffled(step, values)
        if step.result == "agreed" and not self._is_agreed(values[0]):
            return None
        return values[0]

    def _parameter(self, unit: int | str, *names: int | str) -> int:
        """The number of a parameter that spells some sizes."""
        held = self.numbers
        sizes = [held.get(name, held[SIZE]) if isinstance(name, str) else None for name in names]
        return parameter_number([size for size in sizes if isinstance(size, int)], int(unit))

    def _place(self, one: int | str) -> int | None:
        """A number that says where something lies in shared memory, or a size by its name."""
        if isinstance(one, int):
            return one
        size = self.numbers.get(one, self.numbers[SIZE]) if one else None
        return size if isinstance(size, int) else None

    def _sources(self, step: WalkStep) -> list[Numbers]:
        """What the sources of a statement hold, before any is negated."""
        held = self.numbers.get
        return [held(s) if s.__class__ is str else s for s in step.sources]  # type: ignore[misc]

    def _computed(self, step: WalkStep) -> Numbers:
        """The result of a rule."""
        key = step, step.held(self.numbers)
        return self.steps.computed[key] if key in self.steps.computed else self._found(key)

    def _found(self, key: tuple[WalkStep, Any]) -> Numbers:
        """The result of a rule, by what its sources hold. It is remembered: loops and other executions of a
        function come to most statements with the same numbers.
        """
        computed, (step, held) = self.steps.computed, key
        if len(computed) >= _MOST_COMPUTED:
            computed.clear()
        values = list(held) if len(step.sources) != 1 else [held]
        found = computed[key] = self._evaluated(step, values)
        return found

    def _evaluated(self, step: WalkStep, values: list[Numbers]) -> Numbers:
        """The result of a rule for some sources; of a comparison, also where the others decide it."""
        found = self._ruled(step, values)
        if step.sure is None or isinstance(found, int):
            return found
        place, number, sure = step.sure
        values[place] = number & MASK
        nearest = self._ruled(step, values)
        return self.math.chosen(nearest if sure else self.math.negated(nearest), sure, found)

    def _ruled(self, step: WalkStep, values: list[Numbers]) -> Numbers:
        """The result of a rule where all that it needs is known."""
        if step.strict and any(value is None for value in values):
            return None
        for place in step.negates:
            values[place] = self.math.negated(values[place])
        if not all(value.__class__ is int for value in values):
            return self._of_lanes(step, values)
        try:
            return None if step.rule is None else step.rule(NUMBER, *values)
        except NoResultError:
            return None

    def _of_lanes(self, step: WalkStep, values: list[Numbers]) -> Numbers:
        """The result of a rule where threads hold different numbers. It is remembered: all executions of a
        function begin with the same ones.
        """
        known = self.steps.results
        key = step.words, *values
        if key in known:
            return known[key]
        if len(known) >= _MOST_RESULTS:
            known.clear()
        found = known[key] = self.math.computed(step.words, values, step.rule)
        return found

    def _bits(self, value: Numbers, low: int, width: int) -> Numbers:
        """Some bits of a number; of a register of 128 bits, the lower 64 are known."""
        if low >= WORD:
            return None
        mask = (1 << width) - 1
        if isinstance(value, LaneNumbers):
            words = self.math.words
            return self.math.made(value.packed >> low & words.masks[width], value.unknown)
        return None if value is None else value >> low & mask

    def _packed(self, values: Sequence[Numbers], bits: int) -> Numbers:
        """A vector as one number, the lowest bits first; of 128 bits, the lower 64."""
        width = bits // len(values)
        whole: Numbers = 0
        for place, value in enumerate(values[: WORD // width]):
            part = self._bits(value, 0, width)
            if part is None or whole is None:
                return None
            if isinstance(part, int) and isinstance(whole, int):
                whole |= part << place * width
                continue
            unknown = 0
            for one in (part, whole):
                unknown |= one.unknown if isinstance(one, LaneNumbers) else 0
            packed = self.math.packed(whole) | self.math.packed(part) << place * width
            whole = self.math.made(packed, unknown)
        return whole

    def _mapped(self, values: Sequence[Numbers]) -> Numbers:
        """An address, in the block of another rank."""
        known = [one.values if isinstance(one, LaneNumbers) else (one,) * len(self.threads) for one in values]
        in_window = self.steps.in_window
        return self.math.joined(
            None if address is None or rank is None or not self._is_there(rank) else in_window(address, rank)
            for address, rank in zip(*known[:2], strict=True)
        )

    def _is_there(self, rank: int) -> bool:
        """Whether a cluster has a block of some rank; it is taken to, where the head says how many it has."""
        return rank < self.steps.blocks or self.steps.function.cluster is not None

    def _is_agreed(self, value: Numbers) -> bool:
        """Whether all threads of each warp are known to hold the same number."""
        if not isinstance(value, LaneNumbers):
            return len(self.threads) > 1
        held: dict[int, int | None] = {}
        pairs = zip(self.threads, value.values, strict=True)
        return all(held.setdefault(thread // WARP, number) == number for thread, number in pairs)

    def _shuffled(self, step: WalkStep, values: Sequence[Numbers]) -> Numbers:
        """shfl.idx from one lane: its number, in all threads of the warp. Of other shuffles, what is the same
        in all threads.
        """
        value, lane = values[0], values[1] if len(values) > 1 else None
        if not isinstance(value, LaneNumbers) and len(self.threads) > 1:
            return value
        clamp = values[2] if len(values) > 2 else None
        if "idx" not in step.words or not isinstance(lane, int) or not isinstance(clamp, int):
            return None
        known = value.values if isinstance(value, LaneNumbers) else (value,)
        places = _places(self.threads, lane % WARP, clamp)
        return self.math.joined([None if at is None else known[at] for at in places])


@lru_cache(maxsize=1 << 6)
def _places(threads: Sequence[int], lane: int, clamp: int) -> tuple[int | None, ...]:
    """By thread: the place among the threads of the one from which shfl.idx brings a number: of a lane of its
    part of the warp, or itself where that has no such lane (9.7.9.6).
    """
    place = {thread: at for at, thread in enumerate(threads)}
    segment, last = clamp >> 8 & _LAST_LANE, clamp & _LAST_LANE
    found = []
    for thread in threads:
        own = thread & segment & _LAST_LANE
        source, most = own | lane & ~segment, own | last & ~segment
        found.append(place.get(thread if source > most else thread - thread % WARP + source))
    return tuple(found)


@lru_cache(maxsize=1 << 6)
def _leaders(threads: Sequence[int], first: int) -> Numbers:
    """Which threads are the one of their warp with a number, as 0 or 1; unknown in warps without it."""
    led = {thread // WARP for thread in threads if thread % WARP == first}
    flags = (int(one % WARP == first) if one // WARP in led else None for one in threads)
    return lane_math(len(threads)).joined(flags)

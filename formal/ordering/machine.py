"""A machine that runs a program on symbolic values through every schedule that its parts leave open.

It has three streams of execution: a warp of the warpgroup, the other warps of it (the same operations; they
may lag behind), and the other thread. An ordinary access of a register takes effect for the asynchronous
unit some time after it is issued; an mma and a copy take effect some time after they are issued; a value
stored through the generic proxy arrives in the async proxy's view of memory some time after it is stored.
What must have taken effect before an operation can be issued is all that orders anything.

Every register, half of a buffer (the warp's own and the others' part) and term is a small integer. Terms
are free: two are equal only when they were computed alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...spec.ordering import ordering
from ...spec.switches import Conduct
from .programs import (
    OTHER,
    Buffer,
    BulkCopy,
    Commit,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CtaBarrier,
    MbarrierArrive,
    MbarrierWait,
    Mma,
    Operation,
    Program,
    ProxyFence,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Wait,
    WgmmaFence,
)

__all__ = ["MachineResult", "Schedule", "Standstill", "differ", "outcomes", "standstills"]

_WARP, _OTHERS, _THREAD = 0, 1, 2
_FEW = 1000
_ANY = -9
_NAMES = ("the warp", "the other warps", "the other thread")


MachineResult = tuple[object, ...]
Schedule = tuple[str, ...]


class _State(NamedTuple):
    """A moment: how far each stream is, what has not taken effect yet, and every value."""

    position: tuple[int, ...]
    queues: tuple[tuple[tuple[int, int], ...], ...]  # by register: (step, -1 to read or the term to write)
    flights: frozenset[tuple[int, int]]  # (stream, step) of mmas and copies
    landing: tuple[tuple[tuple[int, int], ...], ...]  # by half: (stream, term) on the way to the async view
    registers: tuple[int, ...]
    generic: tuple[int, ...]
    asynchronous: tuple[int, ...]
    seen: frozenset[tuple[int, int, int]]  # (stream, step, term): what reads and mmas saw


_Key = tuple[str, int, int]
_Move = tuple[_Key, _State]
_Came = dict[_State, tuple[_State, _Key] | None]


def outcomes(program: Program, conduct: Conduct | None = None) -> frozenset[MachineResult]:
    """Every result that some schedule of the program has: final registers and memory, what each read saw
    and each mma computed."""
    return frozenset(_Machine(program, conduct or ordering().conduct()).explore())


def differ(
    program: Program, conduct: Conduct | None = None, suspect: int | None = None
) -> tuple[Schedule, Schedule] | None:
    """Two schedules of the program with different results, each as lines to read; None if all agree.

    What holding back the step `suspect` shows is tried first: the answer is the same, but sooner.
    """
    return _Machine(program, conduct or ordering().conduct()).disagreement(suspect)


@dataclass(frozen=True, slots=True)
class Standstill:
    """What is left undone when one effect is held back as long as it can be.

    `effect` is ("queue", register, …), ("landing", buffer, half), ("flight", stream, step) or, for what
    happens at issue, ("stream", stream, step); `stuck` has by stream the steps that cannot be issued,
    `flights` the mmas and copies (stream, step) that cannot take effect, `landing` by half of a buffer the
    streams whose stored values are under way, in order.
    """

    effect: tuple[str, int, int]
    stuck: tuple[tuple[int, ...], ...]
    flights: frozenset[tuple[int, int]]
    landing: tuple[tuple[tuple[int, int], tuple[int, ...]], ...]


def standstills(program: Program, conduct: Conduct | None = None) -> tuple[Standstill, ...]:
    """For everything that an operation of the program does, how far all else gets without it."""
    return tuple(_Machine(program, conduct or ordering().conduct()).standstills())


class _Machine:
    """A program, made ready to run."""

    def __init__(self, program: Program, conduct: Conduct) -> None:
        self.conduct = conduct
        self.operations: list[Operation] = [step.operation for step in program.steps]
        self.threads = [step.thread for step in program.steps]
        writers = (SharedWrite, CpAsync, BulkCopy)
        shared = any(isinstance(operation, writers) for operation in self.operations)
        self.streams = [_WARP, *([_OTHERS] if shared else []), *([_THREAD] if OTHER in self.threads else [])]
        self.code = {stream: self._code(stream) for stream in self.streams}
        self.registers = self._register_numbers()
        self.halves = [(buffer, half) for buffer in self._buffer_numbers() for half in (0, 1)]
        self.terms: dict[tuple[object, ...], int] = {}
        self.needed = self._awaited(Commit, Wait, Mma) | self._awaited(CpAsyncCommit, CpAsyncWait, CpAsync)

    def _register_numbers(self) -> list[int]:
        found: set[int] = set()
        for operation in self.operations:
            if isinstance(operation, RegisterRead | RegisterWrite):
                found.add(operation.register)
            elif isinstance(operation, Mma):
                found.add(operation.d)
                if not isinstance(operation.a, Buffer):
                    found.add(operation.a.number)
        return sorted(found)

    def _buffer_numbers(self) -> list[int]:
        found: set[int] = set()
        for operation in self.operations:
            if isinstance(operation, SharedRead | SharedWrite | CpAsync | BulkCopy):
                found.add(operation.buffer)
            elif isinstance(operation, Mma):
                found |= operation.buffers
        return sorted(found)

    def _code(self, stream: int) -> list[int]:
        """The steps of a stream: the barrier is everybody's, a bulk copy one elected thread's."""
        mine = OTHER if stream == _THREAD else 0
        skipped = (BulkCopy, RegisterRead, RegisterWrite, WgmmaFence) if stream == _OTHERS else ()
        return [
            step
            for step, operation in enumerate(self.operations)
            if (self.threads[step] == mine or isinstance(operation, CtaBarrier))
            and not isinstance(operation, skipped)
        ]

    def _awaited(self, commit: type, wait: type, kind: type) -> dict[tuple[int, int], set[tuple[int, int]]]:
        """By (stream, step) of every wait: the asynchronous operations that must have taken effect."""
        needed = {}
        for stream in self.streams:
            groups: list[list[int]] = []
            loose: list[int] = []
            for step in self.code[stream]:
                operation = self.operations[step]
                if isinstance(operation, kind):
                    loose.append(step)
                elif isinstance(operation, commit):
                    if loose or self.conduct.empty_groups_count or commit is CpAsyncCommit:
                        groups.append(loose)
                        loose = []
                elif isinstance(operation, Wait | CpAsyncWait) and isinstance(operation, wait):
                    done = groups[: max(0, len(groups) - operation.n)]
                    for_all = self.conduct.wait_covers_all and kind is Mma
                    whose = [who for who in self.streams if who != _THREAD] if for_all else [stream]
                    needed[stream, step] = {(who, n) for group in done for n in group for who in whose}
        return needed

    def _term(self, *parts: object) -> int:
        return self.terms.setdefault(parts, len(self.terms))

    def _start(self) -> _State:
        """Registers have been given their first values, which the asynchronous unit need not see yet."""
        memory = tuple(self._term("memory", half) for half in self.halves)
        return _State(
            tuple(0 for _ in self.streams),
            tuple(((-1, self._term("first", register)),) for register in self.registers),
            frozenset(),
            tuple(() for _ in self.halves),
            tuple(self._term("stale", register) for register in self.registers),
            memory,
            memory,
            frozenset(),
        )

    def explore(self) -> Iterator[MachineResult]:
        """Every result, some more than once."""
        known = {self._start()}
        rest = list(known)
        while rest:
            state = rest.pop()
            moves = self._branches(state)
            if not moves:
                yield self._result(state)
            for _, after in moves:
                if after not in known:
                    known.add(after)
                    rest.append(after)

    def disagreement(self, suspect: int | None) -> tuple[Schedule, Schedule] | None:
        """Two schedules with different results.

        Every schedule is looked at, in small programs at once; in large ones everything as early as it can
        be is first tried against one thing at a time held back as long as it can be.
        """
        early, came = self._hold(frozenset())
        suspected = [] if suspect is None else [held for held in self._holdable() if self._of(held, suspect)]
        for held in suspected:
            late, went = self._hold(held)
            if self._result(late) != self._result(early):
                return self._story(early, came), self._story(late, went)
        found = self._search(early, came, _FEW)
        if not isinstance(found, int):
            return found
        for held in self._holdable():
            late, went = self._hold(held)
            if self._result(late) != self._result(early):
                return self._story(early, came), self._story(late, went)
        found = self._search(early, came, None)
        assert not isinstance(found, int)
        return found

    def _holdable(self) -> Iterator[frozenset[_Key]]:
        """What can be held back: streams, what a step does later, and both at once."""
        lags: list[frozenset[_Key]] = [frozenset()]
        lags += [frozenset({("stream", stream, _ANY)}) for stream in self.streams]
        steps: list[frozenset[_Key]] = [frozenset({("queue", register, _ANY)}) for register in self.registers]
        steps += [frozenset({("landing", buffer, half)}) for buffer, half in self.halves]
        later = (Mma, CpAsync, BulkCopy)
        for step, operation in enumerate(self.operations):
            if isinstance(operation, later):
                steps += [frozenset({("flight", stream, step)}) for stream in self.streams]
        yield from lags[1:]
        yield from (lag | step for lag in lags for step in steps)

    def _of(self, held: frozenset[_Key], step: int) -> bool:
        """Whether what is held back is of a step."""
        operation = self.operations[step]
        for kind, first, second in held:
            if kind == "flight" and second == step:
                return True
            if isinstance(operation, RegisterRead | RegisterWrite) and kind == "queue":
                return first == operation.register
            if isinstance(operation, SharedRead | SharedWrite | CpAsync):
                return kind == "stream" or (kind == "landing" and first == operation.buffer)
        return False

    def _hold(self, held: frozenset[_Key]) -> tuple[_State, _Came]:
        """Run to the end, always the first move that is not held back; the end, and how it was come to."""
        state = self._start()
        came: _Came = {state: None}
        while moves := list(self._moves(state)):
            free = (move for move in moves if not _holds(held, move[0]))
            key, after = next(free, moves[0])
            came[after] = state, key
            state = after
        return state, came

    def standstills(self) -> Iterator[Standstill]:
        """One for each effect."""
        effects: list[_Key] = [("queue", register, _ANY) for register in self.registers]
        effects += [("landing", buffer, half) for buffer, half in self.halves]
        for stream in self.streams:
            for step in self.code[stream]:
                if isinstance(self.operations[step], Mma | CpAsync | BulkCopy):
                    effects.append(("flight", stream, step))
                elif isinstance(self.operations[step], SharedRead | SharedWrite):
                    effects.append(("stream", stream, step))
        for effect in effects:
            state = self._without(effect)
            if state is not None:
                yield Standstill(
                    effect,
                    tuple(
                        tuple(self.code[s][at:]) for s, at in zip(self.streams, state.position, strict=True)
                    ),
                    state.flights,
                    tuple(
                        (half, tuple(stream for stream, _ in queue))
                        for half, queue in zip(self.halves, state.landing, strict=True)
                        if queue
                    ),
                )

    def _without(self, effect: _Key) -> _State | None:
        """Run until nothing but one effect can happen; None when it never could."""
        state = self._start()
        held = frozenset({effect})
        while True:
            moves = self._branches(state)
            if len(moves) == 1 and _holds(held, moves[0][0]):
                moves = list(self._moves(state))
            after = next((after for key, after in moves if not _holds(held, key)), None)
            if after is None:
                return state if moves else None
            state = after

    def _search(
        self, ended: _State, first: _Came, limit: int | None
    ) -> tuple[Schedule, Schedule] | int | None:
        """A schedule with another result; the number of states when there are more than the limit."""
        start = self._start()
        came: _Came = {start: None}
        rest = [start]
        while rest:
            state = rest.pop()
            moves = self._branches(state)
            if not moves and self._result(ended) != self._result(state):
                return self._story(ended, first), self._story(state, came)
            for key, after in moves:
                if after not in came:
                    came[after] = state, key
                    rest.append(after)
            if limit is not None and len(came) > limit:
                return len(came)
        return None

    def _branches(self, state: _State) -> list[_Move]:
        """The moves that must be tried: one alone, where it only lets a stream go on.

        Such a move commutes with every other and prevents none, so whatever can follow later can follow it.
        """
        for place, stream in enumerate(self.streams):
            code, at = self.code[stream], state.position[place]
            if at < len(code) and not isinstance(self.operations[code[at]], SharedRead | SharedWrite):
                move = self._advance(state, place, stream)
                if move is not None:
                    return [move]
        return list(self._moves(state))

    def _story(self, state: _State, came: _Came) -> Schedule:
        lines: list[str] = []
        while (origin := came[state]) is not None:
            state, key = origin
            lines.append(self._words(key))
        return tuple(reversed(lines))

    def _result(self, state: _State) -> MachineResult:
        """What can be observed of a state in which nothing is left to do."""
        named = {number: parts for parts, number in self.terms.items()}

        def spell(term: int) -> object:
            parts = named[term]
            if parts[0] in ("mma", "pair"):
                return tuple(spell(part) if isinstance(part, int) else part for part in parts)
            return parts

        return (
            tuple(map(spell, state.registers)),
            tuple(map(spell, state.generic)),
            tuple(map(spell, state.asynchronous)),
            frozenset((stream, step, spell(term)) for stream, step, term in state.seen),
        )

    def _moves(self, state: _State) -> Iterator[_Move]:
        """Whatever can happen next, and the state after it."""
        yield from self._effects(state)
        for place, stream in enumerate(self.streams):
            move = self._advance(state, place, stream)
            if move is not None:
                yield move

    def _effects(self, state: _State) -> Iterator[_Move]:
        """What was issued and can take effect."""
        for place, register in enumerate(self.registers):
            if state.queues[place]:
                yield ("queue", register, state.queues[place][0][0]), self._settle(state, place)
        for place, (buffer, half) in enumerate(self.halves):
            if state.landing[place]:
                (_, term), *left = state.landing[place]
                landing = _put(state.landing, place, tuple(left))
                asynchronous = _put(state.asynchronous, place, term)
                yield ("landing", buffer, half), state._replace(landing=landing, asynchronous=asynchronous)
        for stream, step in sorted(state.flights):
            operation = self.operations[step]
            if not isinstance(operation, Mma):
                yield ("flight", stream, step), self._copy(state, stream, step)
            elif not self._behind(state, stream, step, operation):
                yield ("flight", stream, step), self._multiply(state, stream, step)

    def _advance(self, state: _State, place: int, stream: int) -> _Move | None:
        """The stream issues its next operation, if it can; a barrier, all that are there for."""
        code = self.code[stream]
        if state.position[place] == len(code):
            return None
        step = code[state.position[place]]
        if isinstance(self.operations[step], CtaBarrier):
            if stream != _WARP or not self._met(state, step):
                return None
            return ("stream", stream, step), state._replace(position=tuple(at + 1 for at in state.position))
        if not self._free(state, stream, step):
            return None
        ahead = state._replace(position=_put(state.position, place, state.position[place] + 1))
        return ("stream", stream, step), self._issue(ahead, stream, step)

    def _words(self, key: _Key) -> str:
        """What happens in a move, to be read."""
        kind, first, second = key
        if kind == "landing":
            return f"a stored value of s{first} reaches the async proxy"
        if kind == "queue":
            if second < 0:
                return f"the first value of r{first} takes effect"
            first = _WARP
        what = f"step {second} ({self.operations[second]})"
        if isinstance(self.operations[second], CtaBarrier):
            return f"all threads meet at {what}"
        return f"{what} of {_NAMES[first]} {'is issued' if kind == 'stream' else 'takes effect'}"

    def _settle(self, state: _State, place: int) -> _State:
        """The oldest access of a register takes effect."""
        (step, term), *left = state.queues[place]
        queues = _put(state.queues, place, tuple(left))
        if term < 0:
            seen = state.seen | {(_WARP, step, state.registers[place])}
            return state._replace(queues=queues, seen=seen)
        return state._replace(queues=queues, registers=_put(state.registers, place, term))

    def _behind(self, state: _State, stream: int, step: int, mma: Mma) -> bool:
        """Whether an earlier mma on the same accumulator must take effect first."""
        for other, earlier in state.flights:
            before = self.operations[earlier]
            if other != stream or earlier >= step or not isinstance(before, Mma) or before.d != mma.d:
                continue
            alike = all(getattr(before.shape, f) == getattr(mma.shape, f) for f in self.conduct.same_shape)
            parted = any(isinstance(operation, WgmmaFence) for operation in self.operations[earlier:step])
            if alike or (self.conduct.fence_orders_shapes and parted):
                return True
        return False

    def _multiply(self, state: _State, stream: int, step: int) -> _State:
        """An mma reads its operands and writes D; of the other warps' registers nothing is kept."""
        mma = self.operations[step]
        assert isinstance(mma, Mma)
        left = state.flights - {(stream, step)}
        operands: list[int | str] = [str(mma.shape)]
        own = stream == _WARP
        if own and mma.scale_d:
            operands.append(state.registers[self.registers.index(mma.d)])
        if isinstance(mma.a, Buffer):
            operands += self._view(state.asynchronous, mma.a.number)
        elif own:
            operands.append(state.registers[self.registers.index(mma.a.number)])
        operands += self._view(state.asynchronous, mma.b)
        term = self._term("mma", *operands)
        seen = state.seen | {(stream, step, term)}
        if not own:
            return state._replace(flights=left, seen=seen)
        registers = _put(state.registers, self.registers.index(mma.d), term)
        return state._replace(flights=left, seen=seen, registers=registers)

    def _view(self, memory: tuple[int, ...], buffer: int) -> list[int]:
        first = self.halves.index((buffer, 0))
        return [memory[first], memory[first + 1]]

    def _copy(self, state: _State, stream: int, step: int) -> _State:
        """A bulk copy fills the buffer in both views; cp.async stores through the generic proxy."""
        operation = self.operations[step]
        state = state._replace(flights=state.flights - {(stream, step)})
        if isinstance(operation, CpAsync):
            return self._store(state, stream, step, operation.buffer)
        assert isinstance(operation, BulkCopy)
        term = self._term("copied", step)
        generic, asynchronous = state.generic, state.asynchronous
        for half in (0, 1):
            place = self.halves.index((operation.buffer, half))
            generic = _put(generic, place, term)
            asynchronous = _put(asynchronous, place, term)
        return state._replace(generic=generic, asynchronous=asynchronous)

    def _store(self, state: _State, stream: int, step: int, buffer: int) -> _State:
        """The stream's part of the buffer changes in the generic view, and is on its way to the async one."""
        generic, landing = state.generic, state.landing
        for half in (0, 1):
            if stream == _THREAD or half == stream:
                place = self.halves.index((buffer, half))
                term = self._term("stored", step, half)
                generic = _put(generic, place, term)
                landing = _put(landing, place, (*landing[place], (stream, term)))
        return state._replace(generic=generic, landing=landing)

    def _met(self, state: _State, step: int) -> bool:
        """Whether every stream has come to a barrier."""
        return all(
            state.position[place] < len(self.code[stream])
            and self.code[stream][state.position[place]] == step
            for place, stream in enumerate(self.streams)
        )

    def _free(self, state: _State, stream: int, step: int) -> bool:
        """Whether a stream can issue its next operation."""
        operation = self.operations[step]
        if isinstance(operation, WgmmaFence):
            return not any(state.queues)
        if isinstance(operation, Wait | CpAsyncWait):
            return all(self._done(state, *needed) for needed in self.needed[stream, step])
        if isinstance(operation, ProxyFence):
            everybody = self.conduct.proxy_fence_covers_all
            return not any(everybody or who == stream for queue in state.landing for who, _ in queue)
        if isinstance(operation, MbarrierWait):
            return all(
                self._signalled(state, signal) for signal in range(step) if self._signals(signal, operation)
            )
        return True

    def _signals(self, step: int, wait: MbarrierWait) -> bool:
        operation = self.operations[step]
        return isinstance(operation, MbarrierArrive | BulkCopy) and operation.barrier == wait.barrier

    def _signalled(self, state: _State, step: int) -> bool:
        """Whether all who execute an arrival have, or a copy has taken effect."""
        return all(self._done(state, stream, step) for stream in self.streams if step in self.code[stream])

    def _done(self, state: _State, stream: int, step: int) -> bool:
        """Whether a stream has issued a step, which has taken effect."""
        place = self.streams.index(stream)
        code, at = self.code[stream], state.position[place]
        return (at == len(code) or code[at] > step) and (stream, step) not in state.flights

    def _issue(self, state: _State, stream: int, step: int) -> _State:
        """What happens at once when an operation is issued."""
        operation = self.operations[step]
        if isinstance(operation, RegisterRead | RegisterWrite):
            place = self.registers.index(operation.register)
            term = -1 if isinstance(operation, RegisterRead) else self._term("written", step)
            return state._replace(queues=_put(state.queues, place, (*state.queues[place], (step, term))))
        if isinstance(operation, Mma | CpAsync | BulkCopy):
            return state._replace(flights=state.flights | {(stream, step)})
        if isinstance(operation, SharedWrite):
            return self._store(state, stream, step, operation.buffer)
        if isinstance(operation, SharedRead):
            term = self._term("pair", *self._view(state.generic, operation.buffer))
            return state._replace(seen=state.seen | {(stream, step, term)})
        return state


def _holds(held: frozenset[_Key], key: _Key) -> bool:
    """Whether a move is among those held back."""
    return key in held or (key[0], key[1], _ANY) in held


def _put(values: tuple, place: int, value: object) -> tuple:  # type: ignore[type-arg]
    """The tuple with one value changed."""
    return (*values[:place], value, *values[place + 1 :])

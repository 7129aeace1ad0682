"""The operational model: a machine that runs a program on symbolic values and leaves open what hardware may.

The machine has three *streams* of execution: one warp of the warpgroup, the other warps of the warpgroup
(they execute the same operations, and may lag behind), and the other thread. A stream issues its operations
in order.

An operation has *effects*: reads and writes of cells. A *cell* is a register of the warp, or one half of a
buffer in one of two views of memory, that of the generic proxy and that of the async proxy. (The warp writes
the first half of a buffer, the other warps write the second, the other thread writes both.) Effects may come
later than the issue:
- an ordinary access of a register waits in the register's queue before it takes effect;
- an mma, a copy or a bulk store is in flight until it takes effect;
- a value that was stored through the generic proxy lands in the async proxy's view later.

A *move* is one issue or one such later effect. Fences, waits and barriers order moves, and nothing else does:
each cannot be issued before the effects that it waits for. The block ends when its threads have, and then its
memory is lost. A *schedule* is a sequence of moves to the end of
the program; `schedules.py` compares schedules. The machine knows no rule of the text and no hazard.

Values are terms, numbered by integers. Terms are free: two are equal only if they were computed alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...spec.switches import Conduct
from .machine_program import THREAD, WARP, Footprint, MachineCode
from .programs import (
    BlockEnd,
    Buffer,
    BulkCopy,
    BulkStore,
    BulkWait,
    CpAsync,
    CpAsyncWait,
    CtaBarrier,
    MbarrierWait,
    Mma,
    Program,
    ProxyFence,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Wait,
    WgmmaFence,
)

__all__ = ["Machine", "MachineResult", "MachineState", "MoveName"]

_STREAM_NAMES = ("the warp", "the other warps", "the other thread")
_READ = -1  # in a register's queue: no term to write

MachineResult = tuple[object, ...]


class MachineState(NamedTuple):
    """A moment of a run: how far each stream has come, which effects are still to come, and every value.

    `positions`: by stream. `queues`: by register, the accesses that have not taken effect, as (step, term to
    write; -1 for a read). `flights`: (stream, step) of each mma, copy and bulk store in flight. `landings`:
    by half of a buffer, (stream, term) of each stored value on its way to the async view. `registers`,
    `generic` and `asynchronous`: the term in each cell. `observed`: (stream, step, term) of what reads and
    bulk stores saw and mmas computed.
    """

    positions: tuple[int, ...]
    queues: tuple[tuple[tuple[int, int], ...], ...]
    flights: frozenset[tuple[int, int]]
    landings: tuple[tuple[tuple[int, int], ...], ...]
    registers: tuple[int, ...]
    generic: tuple[int, ...]
    asynchronous: tuple[int, ...]
    observed: frozenset[tuple[int, int, int]]


# ("issue", stream, step), ("queue", register, step), ("landing", buffer, half) or ("flight", stream, step)
MoveName = tuple[str, int, int]


class Machine(MachineCode):
    """One program, ready to run under a conduct."""

    def __init__(self, program: Program, conduct: Conduct) -> None:
        super().__init__(program, conduct)
        self._terms: dict[tuple[object, ...], int] = {}

    def start(self) -> MachineState:
        """The state before the first step.

        Registers have been given their first values, which have not taken effect for the asynchronous unit.
        """
        memory = tuple(self._term("memory", half) for half in self.halves)
        return MachineState(
            tuple(0 for _ in self.streams),
            tuple(((-1, self._term("first", register)),) for register in self.registers),
            frozenset(),
            tuple(() for _ in self.halves),
            tuple(self._term("stale", register) for register in self.registers),
            memory,
            memory,
            frozenset(),
        )

    def moves(self, state: MachineState) -> Iterator[MoveName]:
        """Every move that can come next."""
        yield from self._effects(state)
        yield from self._issues(state)

    def branches(self, state: MachineState) -> list[MoveName]:
        """The moves that a search must try: one alone, if every other move can as well come after it.

        Such a move commutes with every other move that is still to come, and prevents none: what accesses the
        cells of one accesses none that the other writes. So all that can follow can follow it.
        """
        issues = []
        for move in self._issues(state):
            if self._comes_first(state, move[1], move[2]):
                return [move]
            issues.append(move)
        effects = []
        for move in self._effects(state):
            if self._commutes(state, move):
                return [move]
            effects.append(move)
        return [*effects, *issues]

    def after(self, state: MachineState, move: MoveName) -> MachineState:
        """The state after a move."""
        kind, first, second = move
        match kind:
            case "issue":
                return self._issue(state, first, second)
            case "queue":
                return self._settle(state, self.registers.index(first))
            case "landing":
                return self._land(state, self.halves.index((first, second)))
        operation = self.operations[second]
        if isinstance(operation, Mma):
            return self._multiply(state, first, second, operation)
        if isinstance(operation, BulkStore):
            return self._drain(state, first, second, operation)
        return self._copy(state, first, second)

    def _comes_first(self, state: MachineState, stream: int, step: int) -> bool:
        """Whether an issue commutes with all that other streams do, and with what is in flight."""
        if isinstance(self.operations[step], BlockEnd):
            return not state.flights  # those of bulk stores, which may read before or after
        if not self.accesses_now[step]:
            return True
        if isinstance(self.operations[step], SharedWrite) and self.holds_up_fences:
            return False
        return not self._meets(
            self.footprints[stream, step],
            *(self.footprints[flight] for flight in state.flights),
            *(self.ahead[s][at] for s, at in zip(self.streams, state.positions, strict=True) if s != stream),
        )

    def _commutes(self, state: MachineState, name: MoveName) -> bool:
        """Whether a later effect commutes with all other moves, but for those that must come after it."""
        kind, first, second = name
        if kind == "flight":
            flight = first, second
            if isinstance(self.operations[second], BulkStore) and self.ends_early:
                return False
            coming = [self.ahead[s][at] for s, at in zip(self.streams, state.positions, strict=True)]
            pending = 0
            for cells, queues in ((self.register_cells, state.queues), (self.async_cells, state.landings)):
                for cell, queue in zip(cells.values(), queues, strict=True):
                    pending |= cell if queue else 0
            own = self.footprints[flight]
            others = (self.footprints[other] for other in state.flights if other != flight)
            return not self._meets(own, Footprint(0, pending), *coming, *others)
        # Accesses of a register, and values that land in half a buffer, come in the order of their issues.
        cell = self.register_cells[first] if kind == "queue" else self.async_cells[first, second]
        flights = (self.footprints[flight] for flight in state.flights if self.unordered[flight[1]])
        coming = [self.ahead_unordered[s][at] for s, at in zip(self.streams, state.positions, strict=True)]
        return not self._meets(Footprint(0, cell), *flights, *coming)

    @staticmethod
    def _meets(one: Footprint, *others: Footprint) -> bool:
        """Whether one of the others accesses a cell that this writes, or writes one that this reads."""
        return any(one.writes & (o.reads | o.writes) or one.reads & o.writes for o in others)

    def result(self, state: MachineState) -> MachineResult:
        """What a final state shows: registers, memory, what reads saw and what mmas computed."""
        parts_of = {number: parts for parts, number in self._terms.items()}

        def spell(term: int) -> object:
            parts = parts_of[term]
            if parts[0] in ("mma", "pair"):
                return tuple(spell(part) if isinstance(part, int) else part for part in parts)
            return parts

        return (
            tuple(map(spell, state.registers)),
            tuple(map(spell, state.generic)),
            tuple(map(spell, state.asynchronous)),
            frozenset((stream, step, spell(term)) for stream, step, term in state.observed),
        )

    def describe(self, name: MoveName) -> str:
        """A move in words."""
        kind, first, second = name
        if kind == "landing":
            return f"a stored value of s{first} reaches the async proxy"
        if kind == "queue":
            if second < 0:
                return f"the first value of r{first} takes effect"
            first = WARP
        what = f"step {second} ({self.operations[second]})"
        if isinstance(self.operations[second], CtaBarrier):
            return f"all threads meet at {what}"
        if isinstance(self.operations[second], BlockEnd):
            return f"the block ends at {what}"
        return f"{what} of {_STREAM_NAMES[first]} {'is issued' if kind == 'issue' else 'takes effect'}"

    def _term(self, *parts: object) -> int:
        return self._terms.setdefault(parts, len(self._terms))

    # Issues

    def _issues(self, state: MachineState) -> Iterator[MoveName]:
        """The next operation of each stream that can issue it; all do together at a barrier or the end."""
        for stream, at in zip(self.streams, state.positions, strict=True):
            code = self.code[stream]
            if at < len(code):
                step = code[at]
                if not self.waits[step] or self._can_issue(state, stream, step):
                    yield "issue", stream, step

    def _all_at(self, state: MachineState, step: int) -> bool:
        """Whether every stream has come to a barrier, or to the end."""
        return all(
            state.positions[place] < len(self.code[stream])
            and self.code[stream][state.positions[place]] == step
            for place, stream in enumerate(self.streams)
        )

    def _can_issue(self, state: MachineState, stream: int, step: int) -> bool:
        """Whether all that a step waits for has happened."""
        operation = self.operations[step]
        if isinstance(operation, WgmmaFence):
            return not any(state.queues)
        if isinstance(operation, (Wait, CpAsyncWait, BulkWait)):
            return all(self._is_done(state, *effect) for effect in self.awaited[stream, step])
        if isinstance(operation, ProxyFence):
            landing = {storer for queue in state.landings for storer, _ in queue}
            return not landing or (stream not in landing and not self.conduct.proxy_fence_covers_all)
        if isinstance(operation, MbarrierWait):
            return all(self._is_signalled(state, signal) for signal in self.signals[step])
        if isinstance(operation, CtaBarrier):
            return stream == WARP and self._all_at(state, step)
        if isinstance(operation, BlockEnd):
            return stream == WARP and self._all_at(state, step) and self._may_end(state)
        return True

    def _may_end(self, state: MachineState) -> bool:
        """Whether the block's memory need last no longer: what was stored has landed, and nothing is in
        flight (but bulk stores, under a conduct in which it does not last for them).
        """
        if any(state.landings) or not state.flights:
            return not any(state.landings)
        bulk_stores = all(isinstance(self.operations[step], BulkStore) for _, step in state.flights)
        return bulk_stores and not self.conduct.block_lasts

    def _is_signalled(self, state: MachineState, step: int) -> bool:
        """Whether all streams that execute an arrival have arrived, or a bulk copy has taken effect."""
        return all(self._is_done(state, stream, step) for stream in self.streams if step in self.code[stream])

    def _is_done(self, state: MachineState, stream: int, step: int) -> bool:
        """Whether a stream has issued a step that is not in flight any more."""
        code, at = self.code[stream], state.positions[self.places[stream]]
        return (at == len(code) or code[at] > step) and (stream, step) not in state.flights

    def _issue(self, state: MachineState, stream: int, step: int) -> MachineState:
        """What happens at once when an operation is issued."""
        operation = self.operations[step]
        if isinstance(operation, CtaBarrier):
            return state._replace(positions=tuple(at + 1 for at in state.positions))
        if isinstance(operation, BlockEnd):
            lost = tuple(self._term("lost", half) for half in self.halves)
            positions = tuple(at + 1 for at in state.positions)
            return state._replace(positions=positions, generic=lost, asynchronous=lost)
        place = self.places[stream]
        positions = _put(state.positions, place, state.positions[place] + 1)
        # Made whole, which is quicker than _replace: this runs a million times.
        if isinstance(operation, (RegisterRead, RegisterWrite)):
            place = self.registers.index(operation.register)
            term = _READ if isinstance(operation, RegisterRead) else self._term("written", step)
            queues = _put(state.queues, place, (*state.queues[place], (step, term)))
            return MachineState(positions, queues, *state[2:])
        if isinstance(operation, (Mma, CpAsync, BulkCopy, BulkStore)):
            return MachineState(positions, state.queues, state.flights | {(stream, step)}, *state[3:])
        state = MachineState(positions, *state[1:])
        if isinstance(operation, SharedWrite):
            return self._store(state, stream, step, operation.buffer)
        if isinstance(operation, SharedRead):
            term = self._term("pair", *self._halves_of(state.generic, operation.buffer))
            return MachineState(*state[:-1], state.observed | {(stream, step, term)})
        return state

    # Later effects

    def _effects(self, state: MachineState) -> Iterator[MoveName]:
        """The effects of issued operations that can come next."""
        if any(state.queues):
            for register, queue in zip(self.registers, state.queues, strict=True):
                if queue:
                    yield "queue", register, queue[0][0]
        if any(state.landings):
            for (buffer, half), landing in zip(self.halves, state.landings, strict=True):
                if landing:
                    yield "landing", buffer, half
        for stream, step in sorted(state.flights) if state.flights else ():
            operation = self.operations[step]
            if not isinstance(operation, Mma) or not self._must_follow(state, stream, step, operation):
                yield "flight", stream, step

    def _land(self, state: MachineState, place: int) -> MachineState:
        """The oldest value on its way to the async view of half a buffer arrives there."""
        (_, term), *left = state.landings[place]
        landings = _put(state.landings, place, tuple(left))
        asynchronous = _put(state.asynchronous, place, term)
        return MachineState(*state[:3], landings, *state[4:6], asynchronous, state.observed)

    def _settle(self, state: MachineState, place: int) -> MachineState:
        """The oldest access of a register takes effect."""
        (step, term), *left = state.queues[place]
        queues = _put(state.queues, place, tuple(left))
        if term == _READ:
            observed = state.observed | {(WARP, step, state.registers[place])}
            return state._replace(queues=queues, observed=observed)
        return state._replace(queues=queues, registers=_put(state.registers, place, term))

    def _must_follow(self, state: MachineState, stream: int, step: int, mma: Mma) -> bool:
        """Whether an earlier mma in flight on the same accumulator must take effect first."""
        for other, earlier in state.flights:
            before = self.operations[earlier]
            if other != stream or earlier >= step or not isinstance(before, Mma) or before.d != mma.d:
                continue
            alike = before.shape == mma.shape or all(
                getattr(before.shape, f) == getattr(mma.shape, f) for f in self.conduct.same_shape
            )
            fenced = any(isinstance(operation, WgmmaFence) for operation in self.operations[earlier:step])
            if alike or (self.conduct.fence_orders_shapes and fenced):
                return True
        return False

    def _multiply(self, state: MachineState, stream: int, step: int, mma: Mma) -> MachineState:
        """An mma reads its operands and writes D. The registers of the other warps are not kept."""
        flights = state.flights - {(stream, step)}
        operands: list[int | str] = [str(mma.shape)]
        of_warp = stream == WARP
        if of_warp and mma.scale_d:
            operands.append(state.registers[self.registers.index(mma.d)])
        if isinstance(mma.a, Buffer):
            operands += self._halves_of(state.asynchronous, mma.a.number)
        elif of_warp:
            operands.append(state.registers[self.registers.index(mma.a.number)])
        operands += self._halves_of(state.asynchronous, mma.b)
        term = self._term("mma", *operands)
        observed = state.observed | {(stream, step, term)}
        if not of_warp:
            return state._replace(flights=flights, observed=observed)
        registers = _put(state.registers, self.registers.index(mma.d), term)
        return state._replace(flights=flights, observed=observed, registers=registers)

    def _drain(self, state: MachineState, stream: int, step: int, store: BulkStore) -> MachineState:
        """A bulk store reads its buffer; where it writes to is not kept."""
        term = self._term("pair", *self._halves_of(state.asynchronous, store.buffer))
        flights, observed = state.flights - {(stream, step)}, state.observed | {(stream, step, term)}
        return state._replace(flights=flights, observed=observed)

    def _halves_of(self, memory: tuple[int, ...], buffer: int) -> list[int]:
        first = self.halves.index((buffer, 0))
        return [memory[first], memory[first + 1]]

    def _copy(self, state: MachineState, stream: int, step: int) -> MachineState:
        """A bulk copy fills the buffer in both views; a cp.async stores through the generic proxy."""
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

    def _store(self, state: MachineState, stream: int, step: int, buffer: int) -> MachineState:
        """The stream's part of the buffer changes in the generic view; its way to the async view begins."""
        generic, landings = state.generic, state.landings
        for half in (0, 1):
            if stream == THREAD or half == stream:
                place = self.halves.index((buffer, half))
                term = self._term("stored", step, half)
                generic = _put(generic, place, term)
                landings = _put(landings, place, (*landings[place], (stream, term)))
        return MachineState(*state[:3], landings, state.registers, generic, *state[6:])


def _put(values: tuple, place: int, value: object) -> tuple:  # type: ignore[type-arg]
    """The tuple with one value changed."""
    return (*values[:place], value, *values[place + 1 :])

"""Does a program have one result? Schedules of the machine, searched and compared.

`outcomes` tries every schedule. `differ` looks for two schedules with different results. In a small program
it tries every schedule, too. In a large one it first compares the schedule in which every move comes as early
as it can with those in which one effect, or one stream, is delayed for as long as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...spec.ordering import ordering
from ...spec.switches import Conduct
from .machine import Machine, MachineResult, MachineState, MoveName
from .programs import (
    BulkCopy,
    BulkStore,
    CpAsync,
    Mma,
    Program,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
)

__all__ = ["Schedule", "differ", "differs", "outcomes"]

Schedule = tuple[str, ...]  # moves, in words

_SMALL = 1000  # states
_ANY = -9  # in a delayed move: every step, or either half
_Delayed = frozenset[MoveName]
_Origins = Mapping[MachineState, tuple[MachineState, MoveName] | None]  # by state: the one before it
_Ending = tuple[MachineState, tuple[MoveName, ...]]  # the final state, and the moves that led to it


class _TooManyStates(Exception):
    """The program has more states than a search may visit."""


def outcomes(program: Program, conduct: Conduct | None = None) -> frozenset[MachineResult]:
    """Every result that some schedule of the program has (conduct None: under the default readings).

    A result is the final registers and memory, what each read saw and what each mma computed.
    """
    return frozenset(_results(Machine(program, conduct or ordering().conduct())))


def differ(
    program: Program, conduct: Conduct | None = None, suspect: int | None = None
) -> tuple[Schedule, Schedule] | None:
    """Two schedules of the program with different results; None if all schedules have one result.

    Schedules that delay an effect of the step `suspect` are tried first. That changes how soon an answer
    comes, not whether one exists.
    """
    machine = Machine(program, conduct or ordering().conduct())
    found = _differing(machine, suspect, _run(machine, frozenset()))
    return None if found is None else (_schedule(machine, found[0][1]), _schedule(machine, found[1][1]))


def differs(program: Program, conduct: Conduct, suspect: int | None = None) -> bool:
    """Whether two schedules of the program have different results; `suspect` as in `differ`."""
    return _differing(Machine(program, conduct), suspect, None) is not None


def _differing(
    machine: Machine, suspect: int | None, first: _Ending | None
) -> tuple[_Ending, _Ending] | None:
    """Two runs with different results, if there are any; `first` is one of them, where it is given."""
    if suspect is not None:
        early = first or _run(machine, frozenset())
        for delayed in _delays(machine):
            if _is_of(machine, delayed, suspect):
                late = _run(machine, delayed)
                if _shown(late[0]) != _shown(early[0]):
                    return early, late
    try:
        return _search(machine, first, _SMALL)
    except _TooManyStates:
        pass
    early = first or _run(machine, frozenset())
    for delayed in _delays(machine):
        late = _run(machine, delayed)
        if _shown(late[0]) != _shown(early[0]):
            return early, late
    return _search(machine, first, None)


def _shown(state: MachineState) -> tuple[object, ...]:
    """What a result is made of; terms have one number each, so one machine's results need not be spelled."""
    return state.registers, state.generic, state.asynchronous, state.observed


def _results(machine: Machine) -> Iterator[MachineResult]:
    """Every result, some more than once."""
    visited = {machine.start()}
    rest = list(visited)
    while rest:
        state = rest.pop()
        moves = machine.branches(state)
        if not moves:
            yield machine.result(state)
        for move in moves:
            after = machine.after(state, move)
            if after not in visited:
                visited.add(after)
                rest.append(after)


def _delays(machine: Machine) -> Iterator[_Delayed]:
    """What can be delayed: a stream, a later effect of a step, and both together."""
    streams: list[_Delayed] = [frozenset({("issue", stream, _ANY)}) for stream in machine.streams]
    effects: list[_Delayed] = [frozenset({("queue", register, _ANY)}) for register in machine.registers]
    effects += [frozenset({("landing", buffer, half)}) for buffer, half in machine.halves]
    for step, operation in enumerate(machine.operations):
        if isinstance(operation, (Mma, CpAsync, BulkCopy, BulkStore)):
            effects += [frozenset({("flight", stream, step)}) for stream in machine.streams]
    yield from streams
    yield from (stream | effect for stream in [frozenset(), *streams] for effect in effects)


def _is_of(machine: Machine, delayed: _Delayed, step: int) -> bool:
    """Whether the delayed moves are those of a step."""
    operation = machine.operations[step]
    for kind, first, second in delayed:
        if kind == "flight" and second == step:
            return True
        if isinstance(operation, (RegisterRead, RegisterWrite)) and kind == "queue":
            return first == operation.register
        if isinstance(operation, (SharedRead, SharedWrite, CpAsync)):
            return kind == "issue" or (kind == "landing" and first == operation.buffer)
    return False


def _run(machine: Machine, delayed: _Delayed) -> _Ending:
    """The final state, where the first move that is not delayed always comes next; and the moves."""
    state = machine.start()
    moves: list[MoveName] = []
    while (move := _first_free(machine, state, delayed)) is not None:
        moves.append(move)
        state = machine.after(state, move)
    return state, tuple(moves)


def _first_free(machine: Machine, state: MachineState, delayed: _Delayed) -> MoveName | None:
    """The first move that is not delayed, or else the first move; None at the end of the program."""
    if not delayed:
        return next(machine.moves(state), None)
    first = None
    for move in machine.moves(state):
        if not _is_delayed(delayed, move):
            return move
        first = first or move
    return first


def _is_delayed(delayed: _Delayed, name: MoveName) -> bool:
    return name in delayed or (name[0], name[1], _ANY) in delayed


def _search(machine: Machine, first: _Ending | None, limit: int | None) -> tuple[_Ending, _Ending] | None:
    """Two runs with different results, if there are any; raises _TooManyStates beyond the limit."""
    start = machine.start()
    origins: dict[MachineState, tuple[MachineState, MoveName] | None] = {start: None}
    rest = [start]
    while rest:
        state = rest.pop()
        moves = machine.branches(state)
        if not moves:
            first = first or (state, _moves_to(state, origins))
            if _shown(state) != _shown(first[0]):
                return first, (state, _moves_to(state, origins))
        for move in moves:
            after = machine.after(state, move)
            if after not in origins:
                origins[after] = state, move
                rest.append(after)
        if limit is not None and len(origins) > limit:
            raise _TooManyStates
    return None


def _moves_to(state: MachineState, origins: _Origins) -> tuple[MoveName, ...]:
    moves: list[MoveName] = []
    while (origin := origins[state]) is not None:
        state, move = origin
        moves.append(move)
    return tuple(reversed(moves))


def _schedule(machine: Machine, moves: tuple[MoveName, ...]) -> Schedule:
    return tuple(map(machine.describe, moves))

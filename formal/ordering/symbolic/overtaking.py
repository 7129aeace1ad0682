"""Formulas that say whether a later step's effect can happen before the first step's delayed effect.

It does if it can happen while the first step's effect is delayed, is on the same cell, and one of the two
writes. Cells are registers, and halves of buffers in the view of the generic or of the async proxy.
"""

from __future__ import annotations

from ...smt.terms import And, BoolVal, If, Not, Or, Term
from ..programs import (
    BlockEnd,
    BulkCopy,
    BulkStore,
    CpAsync,
    Mma,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
)
from .machine import BUFFER_PARTS, STREAMS, THREAD, WARP, DelayedEffect, EffectName
from .program import SymbolicProgram, any_of

__all__ = ["overtakes_in_memory", "overtakes_in_register"]


def overtakes_in_register(delayed: DelayedEffect, j: int) -> Term:
    """Step j's access of a register overtakes the delayed effect of the first step."""
    s = delayed.s
    conflict = _on_one_register(s, j)
    if delayed.kind == "settle":
        return And(s.is_a(0, RegisterRead, RegisterWrite), conflict, Not(delayed.no_flight[WARP][j]))
    if delayed.kind == "flight" and delayed.stream == WARP:
        blocked = If(s.is_a(j, Mma), delayed.no_flight[WARP][j], delayed.no_settle[j])
        return And(s.is_a(0, Mma), conflict, Not(blocked))
    return BoolVal(False)


def _on_one_register(s: SymbolicProgram, j: int) -> Term:
    """The steps 0 and j access one register, one of them writes it, and one of them is an mma."""
    as_a_first = And(s.is_a(0, Mma), s.a_in_register[0], s.a_register[0] == s.register[j])
    as_a_last = And(s.is_a(j, Mma), s.a_in_register[j], s.a_register[j] == s.register[0])
    accesses = (RegisterRead, RegisterWrite, Mma)
    both = And(s.is_a(0, *accesses), s.is_a(j, *accesses), Or(s.is_a(0, Mma), s.is_a(j, Mma)))
    writes_first, writes_last = s.is_a(0, RegisterWrite, Mma), s.is_a(j, RegisterWrite, Mma)
    return And(
        both,
        Or(
            s.register[0] == s.register[j],
            And(as_a_first, writes_last),
            And(as_a_last, writes_first),
        ),
    )


def overtakes_in_memory(delayed: DelayedEffect, j: int) -> Term:
    """An effect of step j on shared memory overtakes the delayed effect of the first step."""
    found = [And(_on_one_cell(delayed, j, name), Not(blocked)) for name, blocked in _effects(delayed, j)]
    return any_of([*found, _end_overtakes(delayed, j)])


def _end_overtakes(delayed: DelayedEffect, j: int) -> Term:
    """The block ends at step j, and its memory does not last until the first step, a bulk store, reads it."""
    s = delayed.s
    if delayed.kind != "flight" or delayed.stream not in (WARP, THREAD):
        return BoolVal(False)
    ends = And(s.is_a(0, BulkStore), s.is_a(j, BlockEnd), Not(delayed.steps.block_lasts))
    return And(ends, Not(delayed.no_issue[WARP][j]))


def _effects(delayed: DelayedEffect, j: int) -> list[tuple[EffectName, Term]]:
    """The effects of step j on shared memory, each with the formula that it cannot happen."""
    found: list[tuple[EffectName, Term]] = []
    for stream in STREAMS:
        for half in (0, 1):
            found.append((("issue", stream, half), delayed.no_issue[stream][j]))
            found.append((("flight", stream, half), delayed.no_flight[stream][j]))
    for stream, half in BUFFER_PARTS:
        found.append((("landing", stream, half), delayed.no_landing[stream, half][j]))
    return found


def _on_one_cell(delayed: DelayedEffect, j: int, name: EffectName) -> Term:
    """The delayed effect and one of step j are on one cell, in a half and a view; one of them writes it."""
    s = delayed.s
    one_buffer = Or(
        And(s.accesses(0, s.buffer[j]), s.accesses(j, s.buffer[j])),
        And(s.accesses(0, s.a_buffer[j]), s.is_a(j, Mma), Not(s.a_in_register[j])),
    )
    kind, stream, half = name
    if delayed.kind == "landing" and half != delayed.half:
        return BoolVal(False)
    parts = []
    for view in ("generic", "async"):
        first = _access(delayed, 0, (delayed.kind, delayed.stream, half), view)
        last = _access(delayed, j, (kind, stream, half), view)
        parts.append(And(first[0], last[0], Or(first[1], last[1])))
    return And(one_buffer, any_of(parts))


def _access(delayed: DelayedEffect, k: int, name: EffectName, view: str) -> tuple[Term, Term]:
    """An effect of step k accesses a half of its buffer in a view; and it writes it."""
    s = delayed.s
    kind, stream, half = name
    runs = delayed.steps.runs(k, stream)
    stores_half = stream in (THREAD, half)
    no = BoolVal(False)
    if view == "generic" and kind == "issue":
        write = And(runs, s.is_a(k, SharedWrite)) if stores_half else no
        return Or(write, And(runs, s.is_a(k, SharedRead))), write
    if view == "generic" and kind == "flight":
        write = And(runs, Or(s.is_a(k, BulkCopy), s.is_a(k, CpAsync) if stores_half else no))
        return write, write
    if view == "async" and kind == "flight":
        write = And(runs, s.is_a(k, BulkCopy))
        return Or(write, And(runs, s.is_a(k, Mma, BulkStore))), write
    if view == "async" and kind == "landing" and stores_half:
        write = delayed.stores_in(k, stream)
        return write, write
    return no, no

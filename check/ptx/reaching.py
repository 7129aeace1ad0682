"""Which statement has written what a register holds before another one?"""

from __future__ import annotations

from .decode import DecodedFunction
from .flow import Flow

__all__ = ["written_by"]


def written_by(code: DecodedFunction, flow: Flow, register: str, before: int) -> int | None:
    """The statement that has written what a register holds before another one: the last in its block, or else
    the only one; None if that is not known.
    """
    made = code.definitions.get(register, ())
    last = code.last_definition(register, before)
    if last >= flow.blocks[flow.block_of(before)].start:
        return last
    return made[0] if len(made) == 1 else None

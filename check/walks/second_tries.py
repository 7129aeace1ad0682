"""Does a thread that finds a phase incomplete go straight to a loop that waits for the same phase?

CuTe DSL tries once, and waits in a loop where that was too early. Both are one wait, if both name the
same mbarrier and the same parity: registers that hold them may have been computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from .inverted_waits import branches
from .walk_steps import WalkSteps

__all__ = ["second_try"]

_MOST_BLOCKS = 8  # between the two
_DEEPEST = 12  # definitions, one in another
_PLAIN = ("move", "nothing")
_Formula = tuple[object, ...]


def second_try(steps: WalkSteps, index: int, roles_of: Callable[[int], Sequence[int]]) -> int | None:
    """The wait that a failed try at a statement leads to, past nothing that counts, if both wait for the
    same phase. `roles_of`: the statements of a block that count.
    """
    code, flow = steps.code, steps.flow
    number = flow.block_of(index)
    sides = branches(steps, index) if index == roles_of(number)[-1] else None
    side = None if sides is None else sides[1]
    between = [number]
    while side is not None and side not in between and len(between) < _MOST_BLOCKS:
        between.append(side)
        for again in roles_of(side):
            terms = _WaitTerms(code, flow, between)
            awaited = terms.waited(index)
            return again if awaited is not None and awaited == terms.waited(again) else None
        followers = flow.blocks[side].successors
        side = followers[0] if len(followers) == 1 else None
    return None


class _WaitTerms:
    """What operands are made of, told by what is computed `between` some blocks, and by names otherwise."""

    def __init__(self, code: DecodedFunction, flow: Flow, between: Sequence[int]) -> None:
        self.code = code
        self.flow = flow
        self.order = {block: position for position, block in enumerate(between)}

    def waited(self, index: int) -> _Formula | None:
        """The mbarrier and the parity that a statement waits for; None if that cannot be compared."""
        statement = self.code[index]
        address, parity = statement.barrier, statement.phase
        if address is None or address.base is None or parity is None:
            return None
        terms = (self._operand(text, index, _DEEPEST) for text in (address.base, parity))
        return self._whole((address.offset,), terms)

    def _operand(self, text: str, index: int, deep: int) -> _Formula | None:
        """What an operand of a statement is made of."""
        registers = self.code.registers_in(text, self.code[index].scope)
        if len(registers) > 1:
            return None
        return self._register(registers[0], index, deep) if registers else (text,)

    def _register(self, register: str, index: int, deep: int) -> _Formula | None:
        """What a register holds at a statement."""
        defined = self.code.definitions.get(register, ())
        made = [one for one in defined if self.flow.block_of(one) in self.order]
        if not made:
            return (register,)
        statement = self.code[made[0]]
        plain = statement.does in _PLAIN and statement.guard is None and len(statement.writes) == 1
        if len(defined) > 1 or self._place(made[0]) >= self._place(index) or not (deep and plain):
            return None
        parts = [self._operand(text, made[0], deep - 1) for text in statement.operands[1:]]
        if statement.does == "move":
            return parts[0]
        return self._whole((statement.operation.opcode,), parts)

    def _place(self, index: int) -> tuple[int, int]:
        """Where a statement stands on the way."""
        return self.order[self.flow.block_of(index)], index

    @staticmethod
    def _whole(head: _Formula, parts: Iterable[_Formula | None]) -> _Formula | None:
        """A term of some parts; None if one of them is not known."""
        known = list(parts)
        return None if None in known else (*head, *known)

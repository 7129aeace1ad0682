"""The values that the threads of a block hold in each register of a function, computed on demand.

Numbers come only from %tid, %laneid and constants. A register that several instructions write is uniform or
unknown.
"""

from __future__ import annotations

from functools import lru_cache

from ...spec.constants import SyntaxFault
from ...spec.effects import RESULT
from ...spec.statements import argument_of
from ..ptx.dataflow import Equations
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.operation import Operation
from .arithmetic import MASK
from .block_threads import LARGEST_BLOCK, WARP, WARPGROUP, own_numbers, size_of
from .lane_numbers import LaneNumbers, lane_math
from .thread_value import UNIFORM, UNKNOWN, ThreadValue

__all__ = ["RegisterThreads"]

_AXES = "xyz"
_MANY = 64  # a register with more definitions is unknown
_CHANGES = 8  # a register that changes more often is unknown
_LAST_LANE = WARP - 1
_ALL_LANES = (1 << WARP) - 1  # as a mask
_JOINS = frozenset(("and", "or"))
_DEEP = 8  # predicates that are joined to one
_OPAQUE = frozenset(("load", "update", "vote", "call", "arrive", "await"))


class RegisterThreads(Equations[str, ThreadValue]):
    """What the threads hold in the registers and operands of a function."""

    def __init__(self, code: DecodedFunction) -> None:
        super().__init__(UNIFORM)
        self.code = code
        self.function = code.function
        self.effects = code.effects
        shape = self.function.threads
        self.line = shape is not None and shape[1] == shape[2] == 1
        self.shape = shape or (LARGEST_BLOCK, 1, 1)
        threads = size_of(shape) if shape else 0
        self.count = min(LARGEST_BLOCK, threads or WARPGROUP)
        self._named: dict[tuple[str, int], str] = {}  # registers by operand and scope

    def _sources(self, name: str) -> list[str]:
        """The registers that a register's definitions read, where these decide."""
        definitions = self.code.definitions.get(name, [])
        if len(definitions) > _MANY:
            return []
        decided = (index for index in definitions if not _is_opaque(self.code.operation(index)))
        return [source for index in decided for source in self.code[index].reads]

    def _widen(self, old: ThreadValue, new: ThreadValue, turn: int) -> ThreadValue:
        """A register that keeps changing becomes unknown."""
        return new if new == old or turn <= _CHANGES else UNKNOWN

    def _evaluate(self, name: str) -> ThreadValue:
        definitions = self.code.definitions.get(name, [])
        if not definitions or len(definitions) > _MANY:
            return UNKNOWN
        if len(definitions) == 1 and self.code[definitions[0]].guard is None:
            return self._computed(self.code[definitions[0]], name)
        found = UNIFORM
        for index in definitions:
            statement = self.code[index]
            found = found.join(self._computed(statement, name))
            if statement.guard is not None:
                found = found.join(self.operand(statement.guard, statement.scope))
            if found.is_unknown:
                break
        return found

    def register(self, name: str) -> ThreadValue:
        """What the threads hold in a register, by its name in the function."""
        return self[name]

    def operand(self, text: str, scope: int) -> ThreadValue:
        """What the threads hold in an operand."""
        if text[:1] == "!":
            return self._negated(self.operand(text[1:].strip(), scope))
        name = self._named.get((text, scope))
        return self._resolved(text, scope) if name is None else self[name]

    def sides(self, text: str, scope: int, depth: int = _DEEP) -> tuple[int, int]:
        """The threads in which a predicate may hold, and those in which it may not, as bits: what is known of
        one of two that it joins says something, too.
        """
        if text[:1] == "!":
            holds, fails = self.sides(text[1:].strip(), scope, depth)
            return fails, holds
        values, every = self.operand(text, scope).values, (1 << self.count) - 1
        if values is not None:
            return _sides_of(values, every)
        joined = self._joined(text, scope, depth) if depth else None
        if joined is None:
            return every, every
        word, (holds, fails), (also_holds, also_fails) = joined
        if word == "and":
            return holds & also_holds, fails | also_fails
        return holds | also_holds, fails & also_fails

    def _joined(
        self, text: str, scope: int, depth: int
    ) -> tuple[str, tuple[int, int], tuple[int, int]] | None:
        """How a predicate that is written once joins two others (or a comparison and another), and where each
        of these may hold and may not; None if it does not.
        """
        register = self.function.register(text, scope)
        definitions = self.code.definitions.get(register[0], []) if register else []
        if len(definitions) != 1:
            return None
        statement = self.code[definitions[0]]
        words, texts = statement.operation.words, statement.operands
        if statement.guard is not None or "|" in texts[0]:
            return None
        if words[0] in _JOINS and words[1:] == ("pred",):
            left, right = (self.sides(one, statement.scope, depth - 1) for one in texts[1:])
            return words[0], left, right
        if words[0] != "setp" or len(texts) != 4 or words[2] not in _JOINS:
            return None
        sources, every = [self.operand(one, statement.scope) for one in texts[1:3]], (1 << self.count) - 1
        known = all(one.values is not None for one in sources)
        values = self._by_thread((*words[:2], *words[3:]), sources).values if known else None
        compared = (every, every) if values is None else _sides_of(values, every)
        return words[2], compared, self.sides(texts[3], statement.scope, depth - 1)

    def _resolved(self, text: str, scope: int) -> ThreadValue:
        """The same of an operand that was not found to be a register yet."""
        try:
            found = argument_of(text)
        except SyntaxFault:
            return UNKNOWN
        if found.shape == "immediate":
            return _of_all(found.value & MASK, self.count)
        if found.shape in ("float", "sink"):
            return UNIFORM
        register = self.function.register(text, scope)
        if register:
            self._named[text, scope] = register[0]
            return self[register[0]]
        if not text.startswith("%"):
            return UNIFORM  # a variable's address
        name = text.lstrip("%").split(".")[0]
        if name == "ntid" and self.function.exact and text[-1] in _AXES:
            return _of_all(self.shape[_AXES.index(text[-1])], self.count)
        if name in self.effects.uniform_names:
            return UNIFORM if name != "warpid" else UNKNOWN
        return self._special(name, text)

    @staticmethod
    def _negated(known: ThreadValue) -> ThreadValue:
        if known.values is None:
            return known
        return ThreadValue(tuple(1 - (value & 1) for value in known.values), assumed=known.assumed)

    def _special(self, name: str, text: str) -> ThreadValue:
        """A special register that tells threads apart (PTX ISA 10.1 to 10.3)."""
        own = dict(own_numbers(self.shape, range(self.count)))
        if name not in ("laneid", "tid"):
            return UNKNOWN
        if name == "tid" and not (self.line or self.function.exact or text.endswith(".x")):
            return UNKNOWN
        known = own.get(text)
        assumed = text == "%tid.x" and not self.line
        return UNKNOWN if known is None else ThreadValue(tuple(known), assumed=assumed)

    def _computed(self, statement: DecodedStatement, name: str) -> ThreadValue:
        """What an instruction computes in every thread, in a register that it writes."""
        operation, texts = statement.operation, statement.operands
        if operation.does == "load":
            is_alike = operation.space == "const" or (
                operation.space == "param" and not self._is_returned(statement)
            )
            return UNIFORM if is_alike else UNKNOWN
        if operation.does == "elect":
            masks = self.operand(texts[-1], statement.scope).values
            if masks is None or any(mask & _ALL_LANES != _ALL_LANES for mask in masks):
                return UNKNOWN  # which lane it is depends on the mask
            if name != statement.writes[-1]:
                return _of_all(0, self.count)  # the lane that is elected
            lowest = tuple(int(t % WARP == 0) for t in range(self.count))
            return ThreadValue(lowest) if "|" in texts[0] else UNKNOWN
        if operation.does == "shuffle" and len(texts) >= 3:
            return self._shuffle(statement)
        if _is_opaque(operation) or "|" in texts[0]:
            return UNKNOWN
        sources = [self.operand(text, statement.scope) for text in texts[1:]]
        for source in sources:
            if source.values is None:  # without numbers, only what is the same in all threads is known
                alike = all(one.is_uniform for one in sources)
                return UNIFORM if alike and operation.registers == RESULT else UNKNOWN
        return self._by_thread(operation.words, sources)

    def _is_returned(self, statement: DecodedStatement) -> bool:
        """Whether a load of a parameter brings what a call has returned: to each thread its own."""
        base = None if statement.address is None else statement.address.base
        if base is None or base in self.function.parameters:
            return False
        return self.function.register(base, statement.scope) is None

    def _by_thread(self, words: tuple[str, ...], sources: list[ThreadValue]) -> ThreadValue:
        """The result in every thread, from numbers in every thread."""
        if not sources:
            return UNKNOWN
        math = lane_math(self.count)
        found = math.computed(words, [math.joined(source.values or ()) for source in sources])
        values = found.values if isinstance(found, LaneNumbers) else (found,) * self.count
        known = tuple(value for value in values if value is not None)
        if len(known) < len(values):
            return UNKNOWN
        return ThreadValue(known, assumed=any(source.assumed for source in sources))

    def _shuffle(self, statement: DecodedStatement) -> ThreadValue:
        """shfl.idx from one lane of a whole warp gives all threads of the warp that lane's value."""
        value, lane, clamp = (self._source(statement, position) for position in (1, 2, 3))
        if value.values is None or value.is_uniform:
            return value
        if lane.values is None or clamp.values is None or statement.operation.words[2] != "idx":
            return UNKNOWN
        if not lane.is_uniform or set(clamp.values) != {_LAST_LANE}:
            return UNKNOWN
        source = lane.values[0] % WARP
        if source > (self.count - 1) % WARP:  # the last warp has no such thread
            return UNKNOWN
        found = tuple(value.values[t - t % WARP + source] for t in range(self.count))
        return ThreadValue(found, assumed=value.assumed)

    def _source(self, statement: DecodedStatement, position: int) -> ThreadValue:
        texts = statement.operands
        return self.operand(texts[position], statement.scope) if position < len(texts) else UNKNOWN


def _sides_of(values: tuple[int, ...], every: int) -> tuple[int, int]:
    """Of the threads of a block, those that hold a number that is not 0, and the others, as bits."""
    holds = sum(1 << thread for thread, value in enumerate(values) if value)
    return holds, every & ~holds


@lru_cache(maxsize=1 << 8)
def _of_all(number: int, threads: int) -> ThreadValue:
    """A number that all of so many threads hold."""
    return ThreadValue((number,) * threads)


def _is_opaque(operation: Operation) -> bool:
    """Whether an instruction's result depends on more than the registers that it reads."""
    return operation.does in _OPAQUE or operation.instruction is not None

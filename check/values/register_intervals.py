"""The interval of every register of a function over all paths, computed on demand."""

from __future__ import annotations

import re

from ..ptx.dataflow import Equations
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.operands import Address, number_of
from ..ptx.source import PtxModule
from .block_threads import LARGEST_BLOCK, WARP
from .interval import NOTHING, TOP, Interval
from .interval_rules import RULES

__all__ = ["RegisterIntervals"]

_ROUNDS = 12  # how often a value may grow before it is widened
_MANY = 64  # a register with more definitions may hold anything
_NAMED = re.compile(r"[%$A-Za-z_][\w$]*(?:\.[xyzw])?")
_SPECIAL = re.compile(r"%(\w+?)(?:\.[xyz])?$")
_GRID = 1 << 31
_OPPOSITES = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_BoundOf = tuple[tuple[str, str] | None, str, int]  # register, operator, number


class RegisterIntervals(Equations[str, Interval]):
    """What the registers, operands and addresses of a function may hold."""

    def __init__(self, module: PtxModule, code: DecodedFunction) -> None:
        super().__init__(NOTHING)
        self.module = module
        self.code = code
        self.function = code.function
        self._named: dict[tuple[str, int], str] = {}  # registers by operand and scope

    def address(self, address: Address | None, scope: int) -> Interval:
        """Where an address may point; anywhere if it could not be decoded."""
        if address is None:
            return TOP
        base = Interval(0, 0) if address.base is None else self.operand(address.base, scope)
        return base.plus(address.offset, address.offset)

    def is_shared(self, base: str, scope: int) -> bool:
        """Whether the base of an address is shared memory; that of .local or .global memory is not."""
        variable = self.function.variable(base, scope) or self.module.variables.get(base)
        return variable is None or variable.space == "shared"

    def alignment(self, base: str, scope: int) -> int:
        """The alignment of the base of an address; 0 if it is not known."""
        if base == "extern":  # variables without a size begin at one place
            return min((v.align for v in self.module.variables.values() if v.size is None), default=0)
        variable = self.function.variable(base, scope) or self.module.variables.get(base)
        return 0 if variable is None else variable.align

    def operand(self, text: str, scope: int) -> Interval:
        """What an operand may hold."""
        register = self._named.get((text, scope))
        return self._resolved(text, scope) if register is None else self[register]

    def _resolved(self, text: str, scope: int) -> Interval:
        """The same of an operand that was not found to be a register yet."""
        register = self.function.register(text, scope)
        if register is not None:
            self._named[text, scope] = register[0]
            return self[register[0]]
        number = number_of(text)
        if number is not None:
            return Interval(number, number, fields=number >> 32)
        if not _NAMED.fullmatch(text):
            return TOP
        variable = self.function.variable(text, scope) or self.module.variables.get(text)
        if variable is not None:
            return Interval(0, 0, variable.name if variable.size is not None else "extern")
        special = _SPECIAL.match(text)
        return self._special(special[1], text[-1]) if special else TOP

    def _special(self, name: str, axis: str) -> Interval:
        """The numbers that a special register may hold (PTX ISA 10)."""
        threads = self.function.threads
        if name == "tid" and threads and axis in "xyz":
            return Interval(0, threads["xyz".index(axis)] - 1)
        counts = {"laneid": WARP, "tid": LARGEST_BLOCK, "warpid": LARGEST_BLOCK // WARP}
        counts |= dict.fromkeys(("ctaid", "nctaid", "ntid"), _GRID)
        return Interval(0, counts[name] - 1) if name in counts else TOP

    def _sources(self, name: str) -> list[str]:
        """The registers that a register's definitions read, if rules say what they compute."""
        definitions = self.code.definitions.get(name, ())
        if len(definitions) > _MANY:
            return []
        modelled = (i for i in definitions if self.code.operation(i).words[0] in RULES)
        return [source for index in modelled for source in self.code[index].reads]

    def _widen(self, old: Interval, new: Interval, turn: int) -> Interval:
        """A bound that keeps growing is dropped."""
        new = old.join(new)
        if new == old or turn <= _ROUNDS:
            return new
        return TOP if turn > 2 * _ROUNDS else old.widen(new)

    def _close(self, value: Interval) -> Interval:
        return TOP if value.is_nothing else value

    def _evaluate(self, name: str) -> Interval:
        """The join of all of a register's definitions."""
        definitions = self.code.definitions.get(name, ())
        if not definitions or len(definitions) > _MANY:
            return TOP
        found = NOTHING
        for index in definitions:
            one = self._computed(self.code[index])
            if one == TOP:
                return TOP
            found = found.join(one)
        return found

    def _computed(self, statement: DecodedStatement) -> Interval:
        """What one instruction computes; without a rule it may be anything."""
        words, texts = statement.operation.words, statement.operands
        rule = RULES.get(words[0])
        if rule is None or len(texts) <= rule.sources or texts[0][:1] == "{":
            return TOP
        if "|" in texts[0] and words[0] != "shfl":
            return TOP
        sources = [self.operand(text, statement.scope) for text in texts[1 : rule.sources + 1]]
        if words[0] == "selp":
            sources = self._selected(texts, statement.scope, sources)
        elif any(source.is_nothing for source in sources):
            return NOTHING
        return rule.apply(words, sources)

    def _selected(self, texts: tuple[str, ...], scope: int, sources: list[Interval]) -> list[Interval]:
        """Both sources of a selp, each as its predicate leaves it."""
        left, right = sources[:2]
        comparison = self._comparison(texts[3], scope)
        if comparison is not None:
            register, operator, limit = comparison
            if register == self.function.register(texts[1], scope):
                left = left.where(operator, limit)
            if register == self.function.register(texts[2], scope):
                right = right.where(_OPPOSITES[operator], limit)
        return [left, right]

    def _comparison(self, predicate: str, scope: int) -> _BoundOf | None:
        """The one comparison with a number that sets a predicate."""
        register = self.function.register(predicate, scope)
        found = self.code.definitions.get(register[0], []) if register else []
        if len(found) != 1:
            return None
        statement = self.code[found[0]]
        words, texts = statement.operation.words, statement.operands
        if words[0] != "setp" or len(texts) != 3 or words[1] not in _OPPOSITES:
            return None
        limit = number_of(texts[2])
        return None if limit is None else (self.function.register(texts[1], statement.scope), words[1], limit)

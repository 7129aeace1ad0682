"""Which accesses of generic addresses surely lie in shared memory: cvta made those of addresses in it.

Compilers write such accesses where a pointer is passed on, or where they do not see where it came from.
"""

from __future__ import annotations

from collections.abc import Iterator

from .dataflow import closure
from .decode import DecodedFunction, DecodedStatement
from .operands import number_of
from .operation import DATA, Operation

__all__ = ["with_known_spaces"]

_SUMS = frozenset(("add", "or", "xor"))
_PRODUCTS = frozenset(("mad", "mad24"))  # and a sum: the pointer is the third source
_LOW = 1 << 31  # a mask from here on, or below 0, aligns a pointer; others leave its last bits only


def with_known_spaces(code: DecodedFunction) -> DecodedFunction:
    """A function whose accesses by generic addresses of shared memory are accesses of shared memory."""
    generic = [i for i in code.doing(*DATA) if code.operation(i).space == "generic"]
    if not generic or not any(map(_makes, code.used)):
        return code
    pointers = _Pointers(code)
    shared = frozenset(index for index in generic if pointers.hold(code[index]))
    return DecodedFunction(code.function, code.operations, shared) if shared else code


def _makes(operation: Operation) -> bool:
    """Whether an instruction makes a generic address of one in shared memory."""
    words = operation.words
    return words[0] == "cvta" and "shared" in words and "to" not in words


class _Pointers:
    """The registers of a function that hold generic addresses of shared memory, whichever statement has
    written them last.
    """

    def __init__(self, code: DecodedFunction) -> None:
        self.code = code
        made_from: dict[str, list[str]] = {}
        for statement in code:
            for register in statement.reads if statement.writes else ():
                made_from.setdefault(register, []).extend(statement.writes)
        starts = (
            register for statement in code if _makes(statement.operation) for register in statement.writes
        )
        self._near = closure(starts, lambda register: made_from.get(register, ()))  # computed from such
        self._sure = set(self._near)
        while unsure := [register for register in self._sure if not self._is_sure(register)]:
            self._sure.difference_update(unsure)

    def hold(self, statement: DecodedStatement) -> bool:
        """Whether the address of an access is surely one of these."""
        address = statement.address
        base = None if address is None or address.base is None else address.base
        found = () if base is None else self.code.unique((base,), statement.scope)
        return bool(found) and self._sure.issuperset(found)

    def _is_sure(self, register: str) -> bool:
        return all(self._points(self.code[index]) for index in self.code.definitions[register])

    def _points(self, statement: DecodedStatement) -> bool:
        """Whether a statement writes such an address, if those that are taken for sure are such."""
        if _makes(statement.operation):
            return True
        word, sources = statement.operation.words[0], statement.operands[1:]
        if statement.operation.is_move:
            return len(sources) == 1 and self._are_sure(statement, sources)
        if word == "selp":
            return self._are_sure(statement, sources[:2])
        if word in ("and", "sub"):
            number = number_of(sources[-1])
            moves = number is not None and (word == "sub" or not 0 <= number < _LOW)
            return moves and self._are_sure(statement, sources[:1])
        if word in _PRODUCTS:
            return self._are_sure(statement, sources[2:]) and not self._are_near(statement, sources[:2])
        return word in _SUMS and any(
            self._are_sure(statement, (one,)) and not self._are_near(statement, (other,))
            for one, other in self._pairs(sources)
        )

    @staticmethod
    def _pairs(sources: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        if len(sources) == 2:
            yield sources
            yield sources[::-1]

    def _are_sure(self, statement: DecodedStatement, texts: tuple[str, ...]) -> bool:
        return bool(texts) and all(self._sure.issuperset(self._register(statement, one)) for one in texts)

    def _are_near(self, statement: DecodedStatement, texts: tuple[str, ...]) -> bool:
        return any(not self._near.isdisjoint(self.code.unique((one,), statement.scope)) for one in texts)

    def _register(self, statement: DecodedStatement, text: str) -> tuple[str, ...]:
        """The register that an operand is; what is none is a name that no register has."""
        return self.code.unique((text,), statement.scope) or ("",)

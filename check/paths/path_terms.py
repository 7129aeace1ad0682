"""What a register holds on a path: a number, or a term over what the path cannot know.

Equal terms are one object. So a predicate computed again from unchanged operands is the same term, and the
complement of a comparison is its negation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Final

from ..values.arithmetic import as_signed, computed
from ..values.opcode_kind import bits_of

__all__ = ["PathTerm", "PathTerms", "PathValue", "stripped", "terms_within"]

_NOT: Final = ("not", "pred")
_AND: Final = ("and", "pred")
_OR: Final = ("or", "pred")
_XOR: Final = ("xor", "pred")
_INTEGERS = "usb"
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_UNORDERED = {"neu": "eq", "geu": "lt", "gtu": "le", "leu": "gt", "ltu": "ge", "equ": "ne"}  # of floats


class PathTerm:
    """An operation on values, or a leaf: something that the path cannot know.

    `leaves` are the names of the leaves below it. `uniform`: all threads of the block have the same.
    """

    __slots__ = ("_below", "args", "leaves", "uniform", "words")

    def __init__(
        self, words: tuple[str, ...], args: tuple[PathValue, ...], leaves: frozenset[Hashable], uniform: bool
    ) -> None:
        self.words = words
        self.args = args
        below = [arg.conditions for arg in args if isinstance(arg, PathTerm) and arg.words]
        self._below: frozenset[PathTerm] = frozenset[PathTerm]().union(*below)
        self.leaves = leaves
        self.uniform = uniform

    @property
    def conditions(self) -> frozenset[PathTerm]:
        """The predicates that it depends on: itself, if it is one."""
        words = self.words
        is_predicate = not words or words[0] == "setp" or words[-1] == "pred"
        return self._below | {self} if is_predicate else self._below

    def __repr__(self) -> str:
        if not self.words:
            return str(next(iter(self.leaves)))
        return f"{'.'.join(self.words)}({', '.join(map(repr, self.args))})"


PathValue = int | PathTerm


def terms_within(roots: Iterable[PathTerm]) -> Iterator[PathTerm]:
    """Terms and all terms below them, each once, behind those below it."""
    waiting, seen = list(roots), set[PathTerm]()
    while waiting:
        term = waiting[-1]
        below = [arg for arg in term.args if isinstance(arg, PathTerm) and arg not in seen]
        if below:
            waiting += below
            continue
        waiting.pop()
        if term not in seen:
            seen.add(term)
            yield term


def stripped(value: PathValue) -> tuple[PathValue, bool]:
    """A predicate without its negations, and whether it holds where the predicate does."""
    holds = True
    while isinstance(value, PathTerm) and value.words == _NOT:
        value, holds = value.args[0], not holds
    return value, holds


class PathTerms:
    """Makes the terms of one function."""

    def __init__(self) -> None:
        self._known: dict[Hashable, PathTerm] = {}

    def leaf(self, name: Hashable, uniform: bool = False) -> PathTerm:
        """The leaf with a name."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = PathTerm((), (), frozenset((name,)), uniform)
        return found

    def _node(self, words: tuple[str, ...], args: tuple[PathValue, ...]) -> PathTerm:
        key = words, args
        found = self._known.get(key)
        if found is None:
            below = [arg for arg in args if isinstance(arg, PathTerm)]
            leaves = frozenset[Hashable]().union(*(arg.leaves for arg in below))
            found = self._known[key] = PathTerm(words, args, leaves, all(arg.uniform for arg in below))
        return found

    def negated(self, value: PathValue) -> PathValue:
        """The negation of a predicate."""
        if isinstance(value, int):
            return 1 - (value & 1)
        return value.args[0] if value.words == _NOT else self._node(_NOT, (value,))

    def apply(self, words: tuple[str, ...], args: tuple[PathValue, ...]) -> PathValue:
        """What an instruction computes that depends on its sources only."""
        if words[0] == "mov" and len(args) == 1 and isinstance(args[0], PathTerm):
            return args[0]
        number = computed(words, [arg if isinstance(arg, int) else None for arg in args])
        if number is not None:
            return number
        if words[0] == "selp" and len(args) == 3:
            return self._selected(words, args)
        if words[-1] == "pred":
            return self._of_predicates(words, args)
        spread = self._spread(words, args)
        if spread is not None:
            return spread
        if words[0] == "setp" and len(args) >= 2:
            return self._compared(words, args)
        return self._node(words, args)

    def _selected(self, words: tuple[str, ...], args: tuple[PathValue, ...]) -> PathValue:
        left, right, predicate = args
        if isinstance(predicate, int):
            return left if predicate & 1 else right
        if left is right or left == right:
            return left
        positive, holds = stripped(predicate)
        return self._node(words, (left, right, positive) if holds else (right, left, positive))

    def _spread(self, words: tuple[str, ...], args: tuple[PathValue, ...]) -> PathValue | None:
        """An operation on a choice between two numbers, as the choice between two results."""
        choices = [arg for arg in args if isinstance(arg, PathTerm)]
        if len(choices) != 1 or choices[0].words[:1] != ("selp",):
            return None
        left, right, predicate = choices[0].args
        if not (isinstance(left, int) and isinstance(right, int)):
            return None
        sides = [
            computed(words, [arg if isinstance(arg, int) else side for arg in args]) for side in (left, right)
        ]
        if sides[0] is None or sides[1] is None:
            return None
        if words[0] == "setp":
            if sides[0] == sides[1]:
                return sides[0]
            return predicate if sides[0] else self.negated(predicate)
        return self._selected(("selp", words[-1]), (sides[0], sides[1], predicate))

    def _of_predicates(self, words: tuple[str, ...], args: tuple[PathValue, ...]) -> PathValue:
        head = words[0]
        if head == "not" and len(args) == 1:
            return self.negated(args[0])
        if head not in ("and", "or", "xor") or len(args) != 2:
            return self._node(words, args)
        numbers = [arg for arg in args if isinstance(arg, int)]
        others = [arg for arg in args if isinstance(arg, PathTerm)]
        if numbers and len(others) == 1:
            one = numbers[0] & 1
            if head == "xor":
                return self.negated(others[0]) if one else others[0]
            return others[0] if one == (head == "and") else one
        if args[0] is args[1]:
            return 0 if head == "xor" else args[0]
        if self.negated(args[0]) is args[1]:
            return 0 if head == "and" else 1
        return self._node((head, "pred"), tuple(sorted(args, key=id)))

    def _compared(self, words: tuple[str, ...], args: tuple[PathValue, ...]) -> PathValue:
        """A comparison by `eq` or `lt` alone, joined to a third source where there is one."""
        kind, operator = words[-1], words[1]
        left, right = args[:2]
        if kind[:1] in _INTEGERS and kind[1:].isdigit():
            found = self._integers(
                _UNSIGNED.get(operator, operator),
                "u" if operator in _UNSIGNED else kind[0],
                bits_of(words),
                left,
                right,
            )
        elif operator in _UNORDERED:
            found = self.negated(self._node(("setp", _UNORDERED[operator], kind), (left, right)))
        else:
            found = self._node(("setp", operator, kind), (left, right))
        if len(args) == 3 and words[2] in ("and", "or", "xor"):
            return self.apply((words[2], "pred"), (found, args[2]))
        return found

    def _integers(self, operator: str, sign: str, bits: int, left: PathValue, right: PathValue) -> PathValue:
        swapped = operator in ("gt", "le")
        negative = operator in ("ne", "ge", "le")
        if swapped:
            left, right = right, left
        if operator in ("eq", "ne"):
            if left is right:
                found: PathValue = 1
            else:
                left, right = sorted((left, right), key=lambda arg: (isinstance(arg, int), id(arg)))
                if isinstance(right, int):
                    right &= (1 << bits) - 1
                found = self._node(("setp", "eq", f"b{bits}"), (left, right))
        else:
            kind = f"{'s' if sign == 's' else 'u'}{bits}"
            lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)
            if left is right or _number(right, sign, bits) == lowest or _number(left, sign, bits) == highest:
                found = 0
            else:
                found = self._node(("setp", "lt", kind), (left, right))
        return self.negated(found) if negative else found

    def truth(self, value: PathValue, assumed: Mapping[PathTerm, bool]) -> bool | None:
        """Whether a predicate holds, by what the path has assumed; None if that does not decide it."""
        if isinstance(value, int):
            return bool(value & 1)
        value, holds = stripped(value)
        if isinstance(value, int):
            return bool(value & 1) == holds
        found = assumed.get(value)
        if found is None and value.words in (_AND, _OR, _XOR):
            sides = [self.truth(arg, assumed) for arg in value.args]
            if value.words == _XOR:
                found = None if None in sides else sides[0] != sides[1]
            else:
                decisive = value.words == _OR
                if decisive in sides:
                    found = decisive
                elif None not in sides:
                    found = not decisive
        return None if found is None else found == holds

    def implied(self, value: PathValue, holds: bool) -> dict[PathTerm, bool]:
        """What assuming a predicate assumes: itself, and the sides of a conjunction that holds."""
        value, positive = stripped(value)
        holds = holds == positive
        if isinstance(value, int):
            return {}
        found = {value: holds}
        if value.words in (_AND, _OR) and holds == (value.words == _AND):
            for arg in value.args:
                found.update(self.implied(arg, holds))
        return found


def _number(value: PathValue, sign: str, bits: int) -> int | None:
    if not isinstance(value, int):
        return None
    return as_signed(value, bits) if sign == "s" else value & (1 << bits) - 1

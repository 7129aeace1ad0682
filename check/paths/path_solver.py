"""z3, asked whether the conditions of a path can hold together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import z3

from ..values.arithmetic import bits_of
from .path_terms import PathTerm, PathValue

__all__ = ["refuted", "translated"]

_MILLISECONDS = 300
_WORD = 64
_INTEGERS = "usb"  # the first letters of their types
_BITWISE: Mapping[str, Callable[[z3.BitVecRef, z3.BitVecRef], z3.BitVecRef]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_LANES, _THREADS = 32, 1024


def refuted(
    literals: Mapping[PathTerm, bool], threads: tuple[int, int, int] | None = None
) -> frozenset[tuple[PathTerm, bool]] | None:
    """Conditions that cannot hold together; None if all of them can, nothing if z3 does not know."""
    translation = _Translation(threads)
    solver = z3.Solver()
    solver.set("timeout", _MILLISECONDS)
    marks = {}
    for number, (term, holds) in enumerate(literals.items()):
        mark = z3.Bool(f"condition{number}")
        marks[mark.get_id()] = term, holds
        condition = translation.predicate(term)
        solver.add(z3.Implies(mark, condition if holds else z3.Not(condition)))
        solver.add(*translation.bounds)
        translation.bounds.clear()
    answer = solver.check(*(z3.Bool(f"condition{n}") for n in range(len(marks))))
    if answer == z3.sat:
        return None
    if answer == z3.unsat:
        core = _least(solver, list(solver.unsat_core()))
        return frozenset([marks[mark.get_id()] for mark in core] or marks.values())
    return frozenset()


def _least(solver: z3.Solver, core: list[z3.ExprRef]) -> list[z3.ExprRef]:
    """The core without conditions that the others do not need: each spares the search other paths."""
    for mark in list(core):
        others = [one for one in core if one.get_id() != mark.get_id()]
        if others and solver.check(*others) == z3.unsat:
            core = others
    return core


def translated(words: tuple[str, ...], args: tuple[z3.BitVecRef, ...]) -> z3.BitVecRef | None:
    """What an integer instruction computes, as a word of 64 bits; None if it has no translation."""
    head, kind = words[0], words[-1]
    if head == "selp" and len(args) == 3:
        return z3.If(_holds(args[2]), args[0], args[1])
    if kind == "pred":
        two = _BITWISE.get(head)
        return two(args[0], args[1]) & 1 if two and len(args) == 2 else None
    if head == "cvt" and len(args) == 1:
        return _converted(words, args[0])
    if kind[:1] not in _INTEGERS or not kind[1:].isdigit() or "sat" in words:
        return None
    bits, signed = bits_of(words), kind[0] == "s"
    if bits > _WORD:
        return None
    parts = [z3.Extract(bits - 1, 0, arg) for arg in args]
    match head, len(args):
        case "setp", 2:
            return _flag(_compared(words[1], signed, *parts))
        case "mov" | "cvta", 1:
            return _wide(parts[0])
        case "add", 2:
            return _wide(parts[0] + parts[1])
        case "sub", 2:
            return _wide(parts[0] - parts[1])
        case "mul", 2 if "lo" in words:
            return _wide(parts[0] * parts[1])
        case "mul", 2 if "wide" in words and bits == 32:
            extended = [z3.SignExt(bits, part) if signed else z3.ZeroExt(bits, part) for part in parts]
            return extended[0] * extended[1]
        case "mad", 3 if "lo" in words:
            return _wide(parts[0] * parts[1] + parts[2])
        case "and" | "or" | "xor", 2:
            return _wide(_BITWISE[head](*parts))
        case "not", 1:
            return _wide(~parts[0])
        case "neg", 1:
            return _wide(-parts[0])
        case "min" | "max", 2:
            less = parts[0] < parts[1] if signed else z3.ULT(*parts)
            first, second = parts if head == "min" else parts[::-1]
            return _wide(z3.If(less, first, second))
        case "shl" | "shr", 2:
            return _shifted(head, signed, bits, parts[0], z3.Extract(31, 0, args[1]))
    return None


def _shifted(head: str, signed: bool, bits: int, value: z3.BitVecRef, by: z3.BitVecRef) -> z3.BitVecRef:
    """A shift; by as many bits as there are, or more, nothing but the filling is left."""
    far = z3.UGE(by, bits)
    amount = z3.Extract(bits - 1, 0, z3.ZeroExt(_WORD - 32, by))
    if head == "shl":
        return _wide(z3.If(far, z3.BitVecVal(0, bits), value << amount))
    if signed:
        return _wide(value >> z3.If(far, z3.BitVecVal(bits - 1, bits), amount))
    return _wide(z3.If(far, z3.BitVecVal(0, bits), z3.LShR(value, amount)))


def _converted(words: tuple[str, ...], value: z3.BitVecRef) -> z3.BitVecRef | None:
    if len(words) < 3 or "sat" in words or "pack" in words:
        return None
    to, source = words[-2:]
    if (
        not (to[1:].isdigit() and source[1:].isdigit())
        or to[0] not in _INTEGERS
        or source[0] not in _INTEGERS
    ):
        return None
    width, bits = int(to[1:]), int(source[1:])
    if max(width, bits) > _WORD:
        return None
    part = z3.Extract(bits - 1, 0, value)
    whole = part if bits == _WORD else (z3.SignExt if source[0] == "s" else z3.ZeroExt)(_WORD - bits, part)
    return _wide(z3.Extract(width - 1, 0, whole))


def _compared(operator: str, signed: bool, left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BoolRef | None:
    if operator == "eq":
        return left == right
    if operator == "lt":
        return left < right if signed else z3.ULT(left, right)
    return None


def _flag(condition: z3.BoolRef | None) -> z3.BitVecRef | None:
    return None if condition is None else z3.If(condition, z3.BitVecVal(1, _WORD), z3.BitVecVal(0, _WORD))


def _wide(value: z3.BitVecRef) -> z3.BitVecRef:
    return value if value.size() == _WORD else z3.ZeroExt(_WORD - value.size(), value)


def _holds(value: z3.BitVecRef) -> z3.BoolRef:
    return z3.Extract(0, 0, value) == 1


class _Translation:
    """Terms as formulas; a term that has no translation may be anything."""

    def __init__(self, threads: tuple[int, int, int] | None) -> None:
        self.threads = threads
        self.known: dict[PathTerm, z3.BitVecRef] = {}
        self.bounds: list[z3.BoolRef] = []

    def predicate(self, value: PathValue) -> z3.BoolRef:
        """A predicate as a formula."""
        return _holds(self.word(value))

    def word(self, value: PathValue) -> z3.BitVecRef:
        """A value as a word of 64 bits."""
        if isinstance(value, int):
            return z3.BitVecVal(value, _WORD)
        found = self.known.get(value)
        if found is None:
            found = self.known[value] = self._term(value)
        return found

    def _term(self, term: PathTerm) -> z3.BitVecRef:
        found = None
        if term.words == ("not", "pred"):
            return self.word(term.args[0]) ^ 1
        if term.words:
            found = translated(term.words, tuple(map(self.word, term.args)))
        if found is None:
            found = z3.BitVec(f"value{len(self.known)}_{id(term)}", _WORD)
            bound = self._bound(term)
            if bound is not None:
                self.bounds.append(z3.ULT(found, bound))
        return found

    def _bound(self, term: PathTerm) -> int | None:
        """What a special register is less than."""
        text = reduce(lambda _, leaf: str(leaf[-1]) if isinstance(leaf, tuple) else "", term.leaves, "")
        if term.words or not text.startswith("%"):
            return None
        if text == "%laneid":
            return _LANES
        if text.startswith("%tid."):
            return self.threads["xyz".index(text[-1])] if self.threads else _THREADS
        return None

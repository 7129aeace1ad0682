"""z3, asked whether the conditions of a path can hold together."""

from __future__ import annotations

from collections.abc import Mapping

import z3

from ..values.arithmetic import rule_of
from ..values.word_algebra import WORD, NoResultError
from .path_numbers import bound_of
from .path_terms import PathTerm, PathValue

__all__ = ["refuted", "translated"]

_MOST_WORK = 3_000_000  # z3's own count, about 0.3 s; unlike a time-out, the same on every machine


def refuted(
    literals: Mapping[PathTerm, bool], threads: tuple[int, int, int] | None = None
) -> frozenset[tuple[PathTerm, bool]] | None:
    """Conditions that cannot hold together; None if all of them can, nothing if z3 does not know."""
    translation = _Translation(threads)
    solver = z3.Solver()
    solver.set("rlimit", _MOST_WORK)
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
    rule = rule_of(words, len(args))
    try:
        return None if rule is None else rule(_TERMS, *args)
    except NoResultError:
        return None


class _Terms:
    """Words as terms of z3 (an WordAlgebra)."""

    def word(self, number: int) -> z3.BitVecRef:
        return z3.BitVecVal(number, WORD)

    def number(self, word: z3.BitVecRef) -> int:
        known = z3.simplify(word)
        if not z3.is_bv_value(known):
            raise NoResultError
        return int(known.as_long())

    def low(self, word: z3.BitVecRef, bits: int) -> z3.BitVecRef:
        return word if bits >= WORD else z3.ZeroExt(WORD - bits, z3.Extract(bits - 1, 0, word))

    def signed(self, word: z3.BitVecRef, bits: int) -> z3.BitVecRef:
        return word if bits >= WORD else z3.SignExt(WORD - bits, z3.Extract(bits - 1, 0, word))

    def minus(self, left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BitVecRef:
        return left - right

    def times(self, left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BitVecRef:
        return left * right

    def high(self, left: z3.BitVecRef, right: z3.BitVecRef, signed: bool) -> z3.BitVecRef:
        raise NoResultError  # z3 would take too long over it, as over quotients

    def quotient(self, left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BitVecRef:
        raise NoResultError

    def left(self, word: z3.BitVecRef, by: z3.BitVecRef) -> z3.BitVecRef:
        return word << by

    def right(self, word: z3.BitVecRef, by: z3.BitVecRef, signed: bool) -> z3.BitVecRef:
        return word >> by if signed else z3.LShR(word, by)

    def less(self, left: z3.BitVecRef, right: z3.BitVecRef, signed: bool) -> z3.BitVecRef:
        return self._flag(left < right if signed else z3.ULT(left, right))

    def equal(self, left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BitVecRef:
        return self._flag(left == right)

    def chosen(self, flag: z3.BitVecRef, one: z3.BitVecRef, other: z3.BitVecRef) -> z3.BitVecRef:
        return z3.If(_holds(flag), one, other)

    @staticmethod
    def _flag(condition: z3.BoolRef) -> z3.BitVecRef:
        return z3.If(condition, z3.BitVecVal(1, WORD), z3.BitVecVal(0, WORD))


_TERMS = _Terms()


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
            return z3.BitVecVal(value, WORD)
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
            found = z3.BitVec(f"value{len(self.known)}_{id(term)}", WORD)
            bound = bound_of(term, self.threads)
            if bound is not None:
                self.bounds.append(z3.ULT(found, bound))
        return found

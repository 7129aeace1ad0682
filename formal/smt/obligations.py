"""A proof obligation: a claim about one subject, as SMT-LIB text whose unsatisfiability proves it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from .terms import And, BitVecVal, Or, Term, script, substitute

__all__ = ["Obligation", "by_cases", "refuting"]

Model = Mapping[str, int]


@dataclass(frozen=True)
class Obligation:
    """A claim about one subject, whose `smt` asks for a counterexample; `explain` puts one into words.

    A claim that something exists `expects` sat instead: `smt` asks for an example, and `witness` says which
    one was found.
    """

    theorem: str
    subject: str
    text: str | Callable[[], str]
    explain: Callable[[Model], str]
    expects: Literal["unsat", "sat"] = "unsat"
    witness: Callable[[Model], str] | None = None

    @cached_property
    def smt(self) -> str:
        """The SMT-LIB text, made when it is first asked for."""
        return self.text if isinstance(self.text, str) else self.text()

    @property
    def digest(self) -> str:
        """The hash that names this very text."""
        return hashlib.sha256(self.smt.encode()).hexdigest()[:16]


def refuting(*assertions: Term | bool, logic: str = "QF_BV") -> str:
    """SMT-LIB text that asserts a counterexample, quantifier-free: bit-vectors, or integers (QF_LIA)."""
    return script([And(*assertions)], logic)


def by_cases(symbol: Term, count: int, formula: Term) -> Term:
    """The formula, where a bit-vector constant is below `count`: one case for each value.

    Solvers need long for shifts by what they do not know, and next to nothing for shifts by a number.
    """
    values = (BitVecVal(value, symbol.size()) for value in range(count))
    return Or(*(And(symbol == value, substitute(formula, {symbol: value})) for value in values))

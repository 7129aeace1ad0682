"""A proof obligation: a claim about one subject, as SMT-LIB text whose unsatisfiability proves it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import z3

__all__ = ["Obligation", "refuting"]

Model = Mapping[str, int]


@dataclass(frozen=True)
class Obligation:
    """`smt` is satisfiable exactly where the claim fails; `explain` reads such a model to a person.

    A claim that something exists `expects` sat instead, and `witness` says what was found.
    """

    theorem: str
    subject: str
    smt: str
    explain: Callable[[Model], str]
    expects: Literal["unsat", "sat"] = "unsat"
    witness: Callable[[Model], str] | None = None

    @property
    def digest(self) -> str:
        """The hash that names this very text."""
        return hashlib.sha256(self.smt.encode()).hexdigest()[:16]


def refuting(*assertions: z3.BoolRef, logic: str = "QF_BV") -> str:
    """SMT-LIB text that asserts a counterexample, quantifier-free: bit-vectors, or integers (QF_LIA)."""
    solver = z3.SolverFor(logic)
    solver.add(*assertions)
    return f"(set-logic {logic})\n{solver.to_smt2().split(chr(10), 1)[1]}"

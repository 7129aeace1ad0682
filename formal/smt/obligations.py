"""A proof obligation: a claim about one subject, as SMT-LIB text whose unsatisfiability proves it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import z3

__all__ = ["Obligation", "refuting"]

Model = Mapping[str, int]
_BINDING = re.compile(r"([$?])x\d+\b")


@dataclass(frozen=True)
class Obligation:
    """`smt` is satisfiable exactly where the claim fails; `explain` reads such a model to a person.

    A claim that something exists `expects` sat instead, and `witness` says what was found.
    """

    theorem: str
    subject: str
    text: str | Callable[[], str]
    explain: Callable[[Model], str]
    expects: Literal["unsat", "sat"] = "unsat"
    witness: Callable[[Model], str] | None = None

    @cached_property
    def smt(self) -> str:
        """The SMT-LIB text, made when it is first asked for where that takes long."""
        return self.text if isinstance(self.text, str) else self.text()

    @property
    def digest(self) -> str:
        """The hash that names this very text."""
        return hashlib.sha256(self.smt.encode()).hexdigest()[:16]


def refuting(*assertions: z3.BoolRef, logic: str = "QF_BV") -> str:
    """SMT-LIB text that asserts a counterexample, quantifier-free: bit-vectors, or integers (QF_LIA)."""
    # z3 makes a let-binding of what is in use elsewhere: in a context of its own a claim has one text.
    alone = z3.Context()
    solver = z3.SolverFor(logic, ctx=alone)
    solver.add(*(assertion.translate(alone) for assertion in assertions))
    numbers: dict[str, str] = {}

    def renumbered(name: re.Match[str]) -> str:
        return numbers.setdefault(name[0], f"{name[1]}x{len(numbers)}")

    # It numbers its let-bindings by what it made before.
    text = _BINDING.sub(renumbered, solver.to_smt2().split("\n", 1)[1])
    return f"(set-logic {logic})\n{text}"

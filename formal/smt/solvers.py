"""Ask z3 and cvc5 the same SMT-LIB text; three answers, and `unknown` is never a proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import z3

__all__ = ["SOLVERS", "SolverAnswer", "ask", "solver_version"]

Status = Literal["unsat", "sat", "unknown"]


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """What a solver answered; where it is sat, `model` has the values of the declared constants."""

    status: Status
    model: Mapping[str, int]
    detail: str = ""


def _ask_z3(smt: str, milliseconds: int) -> SolverAnswer:
    import z3

    # What z3 does to integers before it solves takes ten times as long as solving these questions.
    solver = _z3_of_bits().solver() if "(set-logic QF_BV)" in smt else z3.SimpleSolver()
    solver.set("timeout", milliseconds)
    solver.from_string(smt)
    result = str(solver.check())
    if result == "sat":
        found = solver.model()
        constants = (one for one in found.decls() if not one.arity())  # not what z3 takes x mod 0 to be
        return SolverAnswer("sat", {one.name(): _integer(found[one]) for one in constants})
    if result == "unsat":
        return SolverAnswer("unsat", {})
    return SolverAnswer("unknown", {}, solver.reason_unknown())


@cache
def _z3_of_bits() -> z3.Tactic:
    """How z3 solves bit-vectors: what leaves little to solve, then bits, of which equal ones are one."""
    import z3

    return z3.Then(
        z3.With("simplify", blast_distinct=True),
        "propagate-values",
        "solve-eqs",
        "elim-uncnstr",
        "bit-blast",
        "aig",
        "sat",
    )


def _integer(value: object) -> int:
    text = str(value)
    return int(text == "True") if text in ("True", "False") else int(text)


def _ask_cvc5(smt: str, milliseconds: int) -> SolverAnswer:
    import cvc5

    manager = cvc5.TermManager()
    solver = cvc5.Solver(manager)
    solver.setOption("produce-models", "true")
    solver.setOption("tlimit-per", str(milliseconds))
    if "(set-logic QF_BV)" in smt:
        solver.setOption("bitblast", "eager")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, smt, "obligation")
    symbols = parser.getSymbolManager()
    said = "unknown"
    while not (command := parser.nextCommand()).isNull():
        output = str(command.invoke(solver, symbols)).strip()
        said = output or said
    if said == "sat":
        values = {str(t).strip("|"): solver.getValue(t) for t in symbols.getDeclaredTerms()}
        return SolverAnswer("sat", {name: _cvc5_integer(value) for name, value in values.items()})
    if said == "unsat":
        return SolverAnswer("unsat", {})
    return SolverAnswer("unknown", {}, said)


def _cvc5_integer(value: object) -> int:
    text = str(value)
    if text.startswith("#b"):
        return int(text[2:], 2)
    if text in ("true", "false"):
        return int(text == "true")
    return -int(text.strip("()- ")) if text.startswith("(-") else int(text)


SOLVERS: Mapping[str, Callable[[str, int], SolverAnswer]] = {"z3": _ask_z3, "cvc5": _ask_cvc5}
_PACKAGES = {"z3": "z3-solver", "cvc5": "cvc5"}


@cache
def solver_version(solver: str) -> str:
    """The installed version of a solver."""
    return version(_PACKAGES[solver])


def ask(solver: str, smt: str, milliseconds: int = 20_000) -> SolverAnswer:
    """One solver's answer; an error inside the solver is `unknown`, with its words."""
    try:
        return SOLVERS[solver](smt, milliseconds)
    except Exception as error:
        return SolverAnswer("unknown", {}, f"{type(error).__name__}: {error}")

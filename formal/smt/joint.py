"""Several questions as one: to begin takes a solver longer than to answer a small question.

Of claims without a counterexample it is asked whether any has one; of claims that something exists, whether
each has an example, of constants of its own. The answer that all of them expect is the answer to each. Any
other answer says nothing: each question must be asked by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .solvers import SolverAnswer, ask

__all__ = ["ask_together", "logic_of"]

_DECLARATION = re.compile(r"\(declare-const (\|[^|]*\||\S+) (.+)\)")
_ASSERTION, _END = "\n(assert ", "(check-sat)\n"
_LIMIT = 2_000  # milliseconds: who needs longer for all is asked about each
_UNSAT = "unsat"


@dataclass(frozen=True)
class _Script:
    """A text that `terms.script` wrote: its constants with their sorts, and what it asserts."""

    constants: tuple[tuple[str, str], ...]
    assertions: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _Script:
        head, *asserted = text.removesuffix(_END).split(_ASSERTION)
        constants = tuple((one[1], one[2]) for one in _DECLARATION.finditer(head))
        return cls(constants, tuple(one.rstrip().removesuffix(")") for one in asserted))

    def formula(self, names: dict[str, str]) -> str:
        """All that it asserts, its constants under other names."""
        whole = f"(and {' '.join(self.assertions)} true)"
        bound = " ".join(f"({own} {name})" for own, name in names.items())
        return f"(let ({bound}) {whole})" if bound else whole


def logic_of(text: str) -> str:
    """The line of a text that sets its logic: texts of one logic can be asked together."""
    return text.partition("\n")[0]


def _joined(texts: Sequence[str], expects: Literal["unsat", "sat"]) -> tuple[str, list[dict[str, str]]]:
    """The text that asks all of some texts, and for each of them the names of its constants there.

    Questions that expect unsat share their constants: some disjunct has a model where one of them has.
    """
    declared: dict[tuple[int, str, str], str] = {}
    formulas, names = [], []
    for number, script in enumerate(map(_Script.of, texts)):
        part = 0 if expects == _UNSAT else number
        own = {
            name: declared.setdefault((part, name, sort), f"c{len(declared)}")
            for name, sort in script.constants
        }
        formulas.append(script.formula(own))
        names.append(own)
    lines = [logic_of(texts[0]), *(f"(declare-const {name} {key[2]})" for key, name in declared.items())]
    head, neutral = ("or", "false") if expects == _UNSAT else ("and", "true")
    lines.append(f"(assert ({head} " + "\n".join(formulas) + f" {neutral}))")
    return "\n".join([*lines, _END]), names


def ask_together(
    solver: str, texts: Sequence[str], expects: Literal["unsat", "sat"], milliseconds: int
) -> list[SolverAnswer] | None:
    """A solver's answers to texts of one logic that all expect one answer, by one question; None where the
    answer to it says nothing of each.
    """
    text, names = _joined(texts, expects)
    answer = ask(solver, text, min(milliseconds, _LIMIT))
    if answer.status != expects:
        return None
    return [
        SolverAnswer(
            expects, {o.strip("|"): answer.model[name] for o, name in own.items() if name in answer.model}
        )
        for own in names
    ]

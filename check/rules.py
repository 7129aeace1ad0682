"""The rules that `ptxmma check` reports. Suppressions, selections and clauses refer to them by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from ..spec.api import load
from ..spec.errors import Question
from ..spec.model import Instruction
from ..spec.ordering import ordering

if TYPE_CHECKING:
    from .rule_texts import CheckRule

__all__ = ["chosen", "named_rules", "rules", "rules_of"]


@cache
def rules() -> Mapping[str, CheckRule]:
    """Every rule by name, sorted: those of ordering, the checker's own, and the reasons of legality."""
    from .rule_texts import check_rules  # slow to import, and few commands name the rules

    return check_rules(ordering())


def named_rules(words: Iterable[str]) -> tuple[str, ...]:
    """The names of rules, each checked; a name may be the part before a dot, as `legality`.

    Raises Question for a name that no rule has, with the nearest.
    """
    found = tuple(words)
    if found:
        known = rules()
        for word in found:
            if not any(chosen(rule, (word,)) for rule in known):
                raise Question(f"there is no rule {word!r}{_nearest(word, known)}")
    return found


def _nearest(word: str, known: Iterable[str]) -> str:
    from ..spec.nodes import nearest

    names = list(known)
    if word in ordering().rules:  # `ptxmma litmus` names it
        return "; it is one of `ptxmma litmus`, which check does not report"
    guess = nearest(word, [*names, *{name.partition(".")[0] for name in names}])
    return f"; did you mean {guess}?" if guess else "; `ptxmma check --list-rules` names them"


def chosen(rule: str, names: Iterable[str]) -> bool:
    """Whether one of the names is the rule's, or the part of it before a dot."""
    return any(rule == name or rule.startswith(f"{name}.") for name in names)


def rules_of(instruction: Instruction | None) -> frozenset[str]:
    """The rules that the clauses of an instruction's execution contract name."""
    return _rules_of(instruction.execution) if instruction else frozenset()


@cache
def _rules_of(execution: tuple[str, ...]) -> frozenset[str]:
    clauses = load().clauses
    return frozenset(
        consumer.check for clause in execution for consumer in clauses[clause].consumers if consumer.check
    )

"""What changed in layouts between two specifications, compared as functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ..formal.layout_equality import PROVEN, LayoutComparison, compare
from ..formal.mutation.subjects import (
    BridgeSubject,
    MutationSubject,
    SparsitySubject,
    SwizzleSubject,
    subjects,
)
from ..formal.smt.solvers import SolverAnswer, ask
from ..spec.maps import LayoutMap
from ..spec.specification import Specification
from ..spec.variants import Variant
from .leaves import leaves

__all__ = ["LayoutChange", "layout_changes"]


@dataclass(frozen=True)
class LayoutChange:
    """A layout that was added, removed or rewritten; if rewritten, whether it is the same function."""

    name: str
    what: Literal["added", "removed", "rewritten"]
    rows: tuple[str, ...]
    comparison: LayoutComparison | None = None


class _Layouts:
    """The layouts of variants, and whether two of different names are the same function."""

    def __init__(self, old: Specification, new: Specification) -> None:
        self.old = old
        self.new = new
        self.known: dict[tuple[str, str], str] = {}

    def words(self, old: Variant, new: Variant) -> Iterator[str]:
        """The operands of a variant that have another layout now."""
        before, after = old.layouts, new.layouts
        for letter in dict.fromkeys([*before, *after]):
            pair = before.get(letter, "none"), after.get(letter, "none")
            if pair[0] != pair[1]:
                yield f"{letter}: {pair[0]} → {pair[1]}{self._compared(pair)}"

    def _compared(self, pair: tuple[str, str]) -> str:
        if pair not in self.known:
            left, right = self.old.layouts.get(pair[0]), self.new.layouts.get(pair[1])
            self.known[pair] = f" ({_comparison_words(compare(left, right))})" if left and right else ""
        return self.known[pair]


def _comparison_words(comparison: LayoutComparison) -> str:
    if comparison.verdict == "same":
        return f"the same function: {comparison.words}"
    return f"not the same function: {comparison.words}"


def layout_changes(old: Specification, new: Specification) -> Iterator[LayoutChange]:
    """Layouts that were added, removed or rewritten, with the rows that use them."""
    for name in dict.fromkeys([*old.layouts, *new.layouts]):
        left, right = old.layouts.get(name), new.layouts.get(name)
        if left is None or right is None:
            users = tuple(_users(new if left is None else old, name))
            yield LayoutChange(name, "added" if left is None else "removed", users)
        elif _formulas(left) != _formulas(right):
            yield LayoutChange(name, "rewritten", tuple(_users(new, name)), compare(left, right))


def _functions(old: Specification, new: Specification) -> Iterator[tuple[str, LayoutChange]]:
    """Sparsities, bridges and the swizzle whose expressions alone changed, with their paths."""
    known = {subject.name for subject in subjects(new)}
    for subject in subjects(old):
        path = _path(subject)
        if path is None or subject.name not in known:
            continue
        records = subject.record(old), subject.record(new)
        frames = [dict(leaves(record, formulas=False)) for record in records]
        if frames[0] == frames[1] and dict(leaves(records[0])) != dict(leaves(records[1])):
            answers = [ask("z3", text) for text in subject.differences(old, new)]
            yield path, LayoutChange(subject.name, "rewritten", (), _answered(answers))


def _path(subject: MutationSubject) -> str | None:
    if isinstance(subject, SparsitySubject):
        return f"sparsities/{subject.identifier}/"
    if isinstance(subject, BridgeSubject):
        return f"bridges/{subject.identifier}/"
    return "addresses/swizzle/" if isinstance(subject, SwizzleSubject) else None


def _answered(answers: Sequence[SolverAnswer]) -> LayoutComparison:
    """The comparison that follows from z3's answers to the question for a difference."""
    for answer in answers:
        if answer.status == "sat":
            where = ", ".join(f"{name} = {value}" for name, value in sorted(answer.model.items()))
            return LayoutComparison("different", f"they differ at {where}")
        if answer.status == "unknown":
            return LayoutComparison("unknown", f"z3 does not know: {answer.detail}")
    return LayoutComparison("same", PROVEN)


def _formulas(layout: LayoutMap) -> dict[str, str]:
    """A layout's function as the YAML writes it."""
    return {
        path: text
        for path, text in leaves(layout.layout)
        if path.split("/")[0] not in ("title", "source", "kind")
    }


def _users(specification: Specification, layout: str) -> Iterator[str]:
    for family in specification.families.values():
        yield from (view.id for view in family.rows if layout in view.layouts)

"""What a change of the YAML means: variants, gates, operands and layouts, not lines of text."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ..formal.layout_equality import PROVEN, LayoutComparison, compare
from ..formal.mutation.subjects import (
    BridgeSubject,
    MutationSubject,
    SparsitySubject,
    SwizzleSubject,
    subjects,
)
from ..formal.smt.solvers import SolverAnswer, ask
from ..spec.errors import Place
from ..spec.expressions import source
from ..spec.maps import LayoutMap
from ..spec.model import Gate, Operand
from ..spec.nodes import Formula, Scalars, Version
from ..spec.specification import Specification
from ..spec.variants import Variant
from .folding import Pattern, fold

__all__ = ["LayoutChange", "Meaning", "VariantChange", "Wording", "meaning"]

# What is told by its effect on the variants, not by its text.
_EFFECTIVE = {
    "instructions": ("gate", "gates", "operands", "forms", "bind", "registers"),
    "rows": ("bind", "count", "where", "gate", "gates", "forms", "layouts", "registers"),
}
_WORDS_ONLY = ("what", "why")


@dataclass(frozen=True)
class VariantChange:
    """Variants that were added, removed, gated otherwise or given other operands, all alike."""

    what: Literal["added", "removed", "gate", "operands", "layout"]
    instruction: str
    rows: tuple[str, ...]
    details: tuple[str, ...]
    variants: tuple[Variant, ...]

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The variants, folded."""
        return fold(self.variants)


@dataclass(frozen=True)
class LayoutChange:
    """A layout that was added, removed or written otherwise; then whether it is the same function."""

    name: str
    what: Literal["added", "removed", "rewritten"]
    rows: tuple[str, ...]
    comparison: LayoutComparison | None = None


@dataclass(frozen=True)
class Wording:
    """An entry of the YAML whose text changed: None where it is not there."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Meaning:
    """Everything that differs between two specifications.

    `rewritten` lists the entries whose text changed and nothing that they say about variants did.
    """

    variants: tuple[VariantChange, ...]
    layouts: tuple[LayoutChange, ...]
    contracts: tuple[Wording, ...]
    others: tuple[Wording, ...]
    rewritten: tuple[Wording, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing differs but the spelling of expressions."""
        moved = any(c.comparison is None or c.comparison.verdict != "same" for c in self.layouts)
        return not (self.variants or self.contracts or self.others or moved)


def meaning(old: Specification, new: Specification) -> Meaning:
    """Compare two specifications by what they say."""
    found = tuple(_variants(old, new))
    functions = dict(_functions(old, new))
    before, after = dict(_leaves(_plain(old))), dict(_leaves(_plain(new)))
    paths = dict.fromkeys([*before, *after])
    texts = [Wording(p, before.get(p), after.get(p)) for p in paths if before.get(p) != after.get(p)]
    changed = {change.instruction for change in found}
    effective = [wording for wording in texts if _is_effective(wording.path)]
    others = [w for w in texts if not _is_effective(w.path) and not w.path.startswith(tuple(functions))]
    return Meaning(
        found,
        (*_layouts(old, new), *functions.values()),
        tuple(wording for wording in others if _is_contract(wording.path)),
        tuple(wording for wording in others if not _is_contract(wording.path)),
        tuple(wording for wording in effective if wording.path.split("/")[1] not in changed),
    )


def _variants(old: Specification, new: Specification) -> Iterator[VariantChange]:
    """Variants only one has, then what became of those that both have, instruction by instruction."""
    for name in dict.fromkeys([*old.instructions, *new.instructions]):
        sides = [
            {v.mnemonic: v for v in s.families[name].variants()} if name in s.families else {}
            for s in (old, new)
        ]
        before, after = sides
        yield from _grouped("removed", name, [(v, ()) for m, v in before.items() if m not in after])
        yield from _grouped("added", name, [(v, ()) for m, v in after.items() if m not in before])
        common = [(before[mnemonic], variant) for mnemonic, variant in after.items() if mnemonic in before]
        yield from _grouped("gate", name, [(v, tuple(_gate_words(u, v))) for u, v in common])
        yield from _grouped("operands", name, [(v, tuple(_operand_words(u, v))) for u, v in common])
        layouts = _Layouts(old, new)
        yield from _grouped("layout", name, [(v, tuple(layouts.words(u, v))) for u, v in common])


def _grouped(
    what: Literal["added", "removed", "gate", "operands", "layout"],
    instruction: str,
    found: list[tuple[Variant, tuple[str, ...]]],
) -> Iterator[VariantChange]:
    """Variants of which the same words are true, together; those without words did not change."""
    groups: dict[tuple[str, ...], list[Variant]] = defaultdict(list)
    for variant, words in found:
        if words or what in ("added", "removed"):
            groups[words].append(variant)
    for words, variants in groups.items():
        rows = tuple(dict.fromkeys(variant.row.row.id for variant in variants))
        yield VariantChange(what, instruction, rows, words, tuple(variants))


def _gate_words(old: Variant, new: Variant) -> Iterator[str]:
    """How the effective gate moved, and which of the gates it is made of did."""
    before, after = old.gate, new.gate
    for name in ("since", "deprecated", "removed"):
        pair = getattr(before, name), getattr(after, name)
        if pair[0] != pair[1]:
            yield f"{name} {pair[0] or 'never'} → {pair[1] or 'never'}"
    sides = dict(before.targets), dict(after.targets)
    lost = [name for name in sides[0] if name not in sides[1]]
    gained = [name for name in sides[1] if name not in sides[0]]
    if gained:
        yield f"gains {', '.join(gained)}"
    if lost:
        yield f"loses {', '.join(lost)}"
    shifted = [name for name, begin in sides[0].items() if sides[1].get(name, begin) != begin]
    if shifted and before.since == after.since:
        yield f"another since on {', '.join(shifted)}"
    if before != after:
        gates = dict(_labelled(old)), dict(_labelled(new))
        for label in dict.fromkeys([*gates[0], *gates[1]]):
            texts = [_gate_text(side.get(label)) for side in gates]
            if texts[0] != texts[1]:
                yield f"{label}: {texts[0]} → {texts[1]}"


def _labelled(variant: Variant) -> Iterator[tuple[str, Gate]]:
    """Every gate that applies to a variant, with what it hangs on."""
    row = variant.row
    yield "the instruction's gate", row.family.instruction.gate
    if row.row.gate:
        yield f"gate of row {row.row.id}", row.row.gate
    for condition in row.conditions():
        if row.evaluate(condition.when, variant.fields):
            yield f"gate {condition.id} (when {condition.when.text})", condition.gate


def _gate_text(gate: Gate | None) -> str:
    if gate is None:
        return "none"
    words = f"since {gate.since}"
    words += f", deprecated {gate.deprecated}" if gate.deprecated else ""
    words += f", removed {gate.removed}" if gate.removed else ""
    return f"{words}, {' '.join(gate.targets)}"


def _operand_words(old: Variant, new: Variant) -> Iterator[str]:
    """Operand lists that came and went, and what changed about the operands of those that stayed."""
    sides = [{(form.a, form.operands): form for form in variant.forms} for variant in (old, new)]
    for verb, mine, other in (("loses", sides[0], sides[1]), ("gains", sides[1], sides[0])):
        for _, operands in (key for key in mine if key not in other):
            yield f"{verb} the operands {', '.join(operands)}"
    common = [key for key in sides[0] if key in sides[1]]
    for key in common:
        gates = [_gate_text(side[key].gate) for side in sides]
        if gates[0] != gates[1]:
            yield f"the operands {', '.join(key[1])}: {gates[0]} → {gates[1]}"
    for name in dict.fromkeys(operand for key in common for operand in key[1]):
        traits = [dict(_traits(variant, name)) for variant in (old, new)]
        for trait, (before, said) in traits[0].items():
            after, says = traits[1][trait]
            if before != after:
                yield f"{name}: {trait} {said} → {says}"


def _traits(variant: Variant, name: str) -> Iterator[tuple[str, tuple[object, str]]]:
    """What bounds an operand: a value to compare, and how it is written."""
    operand: Operand = variant.row.family.instruction.operands[name]
    yield "takes", (operand.accepts, " or ".join(operand.accepts))
    count = variant.evaluate(operand.registers) if operand.registers else None
    yield "registers", (count, operand.registers.text if operand.registers else "any")
    types = variant.register_types(name)
    yield "types", (types, " ".join(types or ["any"]))
    values = variant.values(operand)
    yield "values", (values, ", ".join(map(str, values)) or "any")
    rule = operand.valid if operand.values is None else None
    yield "rule", (rule and rule.tree, rule.text if rule else "none")
    yield "elements", (operand.elements, ", ".join(operand.elements or ["none"]))
    yield "role", (operand.role, operand.role)
    covered = {key: variant.evaluate(formula) for key, formula in (operand.matrix or {}).items()}
    yield "covers", (covered, ", ".join(f"{key} {size}" for key, size in covered.items()) or "nothing said")


class _Layouts:
    """Which layouts variants have, and whether two of different names are the same function."""

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


def _layouts(old: Specification, new: Specification) -> Iterator[LayoutChange]:
    """Layouts that came, went or are written otherwise, with the rows that use them."""
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
        frames = [dict(_leaves(record, formulas=False)) for record in records]
        if frames[0] == frames[1] and dict(_leaves(records[0])) != dict(_leaves(records[1])):
            answers = [ask("z3", text) for text in subject.differences(old, new)]
            yield path, LayoutChange(subject.name, "rewritten", (), _answered(answers))


def _path(subject: MutationSubject) -> str | None:
    if isinstance(subject, SparsitySubject):
        return f"sparsities/{subject.identifier}/"
    if isinstance(subject, BridgeSubject):
        return f"bridges/{subject.identifier}/"
    return "addresses/swizzle/" if isinstance(subject, SwizzleSubject) else None


def _answered(answers: Sequence[SolverAnswer]) -> LayoutComparison:
    """What z3's answers to the question for a difference amount to."""
    for answer in answers:
        if answer.status == "sat":
            where = ", ".join(f"{name} = {value}" for name, value in sorted(answer.model.items()))
            return LayoutComparison("different", f"they differ at {where}")
        if answer.status == "unknown":
            return LayoutComparison("unknown", f"z3 does not know: {answer.detail}")
    return LayoutComparison("same", PROVEN)


def _formulas(layout: LayoutMap) -> dict[str, str]:
    """A layout's function as the YAML writes it."""
    leaves = _leaves(layout.layout)
    return {path: text for path, text in leaves if path.split("/")[0] not in ("title", "source", "kind")}


def _users(specification: Specification, layout: str) -> Iterator[str]:
    for family in specification.families.values():
        yield from (view.id for view in family.rows if layout in view.layouts)


def _plain(specification: Specification) -> dict[str, Any]:
    """The files' entries by the names that paths begin with."""
    layouts = {
        name: {"title": m.layout.title, "source": m.layout.source, "kind": m.layout.kind}
        for name, m in specification.layouts.items()
    }
    return {
        "specs": specification.index,
        "instructions": specification.instructions,
        "layouts": layouts,
        "contracts": specification.clauses,
        "switches": specification.switches,
        "sparsities": specification.sparsities,
        "descriptors": specification.descriptors,
        "bridges": specification.bridges,
        "addresses": specification.addresses,
    }


def _leaves(value: Any, path: str = "", formulas: bool = True) -> Iterator[tuple[str, str]]:
    """Every scalar below a record with its path; places are no part of what it says.

    Without `formulas` it is only told where they stand.
    """
    if isinstance(value, Place) or value is None:
        return
    if isinstance(value, Formula):
        yield path, source(value.tree) if formulas else ""
    elif isinstance(value, Scalars):
        yield path, ", ".join(map(str, value.values))
    elif isinstance(value, Version) or not (
        isinstance(value, Mapping | tuple) or dataclasses.is_dataclass(value)
    ):
        yield path, str(value)
    elif isinstance(value, tuple) and not any(dataclasses.is_dataclass(item) for item in value):
        yield path, ", ".join(map(str, value))
    else:
        for name, item in _entries(value):
            yield from _leaves(item, f"{path}/{name}" if path else name, formulas)


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a mapping, of a list of records (by id) or of a record."""
    if isinstance(value, Mapping):
        yield from ((str(name), item) for name, item in value.items())
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield str(getattr(item, "id", None) or getattr(item, "ptx", None) or number), item
    else:
        for field in dataclasses.fields(value):
            yield field.name, getattr(value, field.name)


def _is_contract(path: str) -> bool:
    """Whether an entry is a clause, or says which clauses hold."""
    return path.startswith("contracts/") or path.rpartition("/")[2] in ("numerical", "execution")


def _is_effective(path: str) -> bool:
    """Whether an entry is told by its effect on variants."""
    parts = path.split("/")
    if parts[0] != "instructions" or parts[-1] in _WORDS_ONLY or len(parts) < 3:
        return False
    if parts[2] == "rows":
        return len(parts) > 4 and parts[4] in _EFFECTIVE["rows"]
    return parts[2] in _EFFECTIVE["instructions"]

"""What a change to the YAML means: variants, gates, operands and layouts, not lines of text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ..spec.model import Gate, Operand
from ..spec.specification import Specification
from ..spec.variants import Variant
from .folding import Pattern, fold
from .layout_changes import LayoutChange, _functions, _Layouts, layout_changes
from .leaves import leaves

__all__ = ["Meaning", "VariantChange", "Wording", "meaning"]

# Entries whose change is reported by its effect on the variants, not as text.
_EFFECTIVE = {
    "instructions": ("gate", "gates", "operands", "forms", "bind", "registers"),
    "rows": ("bind", "count", "where", "gate", "gates", "forms", "layouts", "registers"),
}
_WORDS_ONLY = ("what", "why")


@dataclass(frozen=True)
class VariantChange:
    """Variants with the same change: added, removed, or with other gates or operands."""

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
class Wording:
    """An entry of the YAML whose text changed; None where one specification lacks it."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Meaning:
    """Everything that differs between two specifications.

    `rewritten` lists the entries whose text changed, although what they say about variants did not.
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
    before, after = dict(leaves(_plain(old))), dict(leaves(_plain(new)))
    paths = dict.fromkeys([*before, *after])
    texts = [Wording(p, before.get(p), after.get(p)) for p in paths if before.get(p) != after.get(p)]
    changed = {change.instruction for change in found}
    effective = [wording for wording in texts if _is_effective(wording.path)]
    others = [w for w in texts if not _is_effective(w.path) and not w.path.startswith(tuple(functions))]
    return Meaning(
        found,
        (*layout_changes(old, new), *functions.values()),
        tuple(wording for wording in others if _is_contract(wording.path)),
        tuple(wording for wording in others if not _is_contract(wording.path)),
        tuple(wording for wording in effective if wording.path.split("/")[1] not in changed),
    )


def _variants(old: Specification, new: Specification) -> Iterator[VariantChange]:
    """Variants that only one has, then changes of those that both have, instruction by instruction."""
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
    """Variants with the same change, together; those without a change are left out."""
    groups: dict[tuple[str, ...], list[Variant]] = defaultdict(list)
    for variant, words in found:
        if words or what in ("added", "removed"):
            groups[words].append(variant)
    for words, variants in groups.items():
        rows = tuple(dict.fromkeys(variant.row.row.id for variant in variants))
        yield VariantChange(what, instruction, rows, words, tuple(variants))


def _gate_words(old: Variant, new: Variant) -> Iterator[str]:
    """How the effective gate changed, and which of the gates behind it did."""
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
    """Operand lists that were added or removed, and changed operands of those in both."""
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
    """The limits of an operand: for each a value to compare, and its text."""
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
        "arrangements": specification.arrangements,
        "addresses": specification.addresses,
    }


def _is_contract(path: str) -> bool:
    """Whether an entry is a clause, or says which clauses hold."""
    return path.startswith("contracts/") or path.rpartition("/")[2] in ("numerical", "execution")


def _is_effective(path: str) -> bool:
    """Whether a change of an entry is reported by its effect on variants."""
    parts = path.split("/")
    if parts[0] != "instructions" or parts[-1] in _WORDS_ONLY or len(parts) < 3:
        return False
    if parts[2] == "rows":
        return len(parts) > 4 and parts[4] in _EFFECTIVE["rows"]
    return parts[2] in _EFFECTIVE["instructions"]

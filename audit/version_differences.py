"""What changed between two PTX ISA versions, from the gates of the specification."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from ..spec.gates import EffectiveGate
from ..spec.model import Gate
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.variants import ABSENT, Variant
from .folding import Pattern, fold

__all__ = [
    "KINDS",
    "Change",
    "ChangeKind",
    "GateState",
    "RenamedTarget",
    "changes",
    "renamed_targets",
    "state",
]

ChangeKind = Literal["added", "removed", "required", "deprecated", "reinstated", "widened", "narrowed"]
KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)


@dataclass(frozen=True)
class GateState:
    """Where a gate is open under a version, and whether the form is deprecated there."""

    targets: frozenset[str]
    deprecated: bool


@dataclass(frozen=True)
class Change:
    """Forms that changed in one way, for one reason.

    `targets` are those that it concerns: gained or lost. `variants` are the forms; where a qualifier
    came to be `required`, `before` holds their spellings without it. `form` names the operand list,
    where only that one changed. A change is `fresh` where the targets themselves are in one version only, and
    others have the forms in both.
    """

    kind: ChangeKind
    instruction: str
    rows: tuple[str, ...]
    section: str
    targets: tuple[str, ...]
    why: tuple[str, ...]
    variants: tuple[Variant, ...]
    before: tuple[Variant, ...] = ()
    form: str | None = None
    fresh: bool = False

    def __repr__(self) -> str:
        count = len(self.variants)
        rows = ", ".join(self.rows)
        return f"Change({self.kind}: {count} form{'s' * (count != 1)} of {self.instruction} {rows})"

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The forms, folded."""
        return fold(self.variants)


@dataclass(frozen=True)
class _Item:
    """A form that changed: what a change groups."""

    kind: ChangeKind
    variant: Variant
    targets: tuple[str, ...]
    why: tuple[str, ...]
    form: str | None = None
    before: Variant | None = None
    fresh: bool = False

    @property
    def group(self) -> tuple[object, ...]:
        """The key by which forms of one instruction with the same change and reasons are grouped."""
        family = self.variant.row.family.instruction.instruction
        return KINDS.index(self.kind), family, self.form, self.targets, self.why, self.fresh


def state(gate: EffectiveGate, ptx: Version) -> GateState:
    """Where a gate is open under a PTX ISA version."""
    removed = gate.removed is not None and gate.removed <= ptx
    open_targets = frozenset(name for name, begin in gate.targets if begin <= ptx and not removed)
    return GateState(open_targets, gate.deprecated is not None and gate.deprecated <= ptx)


def changes(
    specification: Specification,
    variants: Iterable[Variant],
    old: Version,
    new: Version,
    target: str | None = None,
) -> tuple[Change, ...]:
    """Every change of the variants from one version to another, on one target or on any."""
    isa = specification.isa
    only = frozenset([target] if target else isa.index.targets)
    comparison = _Comparison(specification, old, new, only)
    groups: dict[tuple[object, ...], list[_Item]] = defaultdict(list)
    for item in _required(item for variant in variants for item in comparison.items(variant)):
        groups[item.group].append(item)
    order = {name: i for i, name in enumerate(specification.instructions)}
    ordered = sorted(groups.values(), key=lambda items: (items[0].group[0], order[str(items[0].group[1])]))
    return tuple(_change(items) for items in ordered)


@dataclass(frozen=True)
class RenamedTarget:
    """A target that a version between the two renamed."""

    old: str
    new: str
    since: Version


def renamed_targets(
    specification: Specification, old: Version, new: Version, target: str | None = None
) -> tuple[RenamedTarget, ...]:
    """The targets that a version between two renamed, in either direction; with `target`, only its own."""
    early, late = sorted((old, new))
    found = (
        RenamedTarget(name, record.renamed.to, record.renamed.since)
        for name, record in specification.index.targets.items()
        if record.renamed and early < record.renamed.since <= late
    )
    return tuple(r for r in found if target in (None, r.old, r.new))


def _change(items: list[_Item]) -> Change:
    first = items[0]
    rows = {item.variant.row.row.id: item.variant.row.row for item in items}
    instruction = first.variant.row.family.instruction
    sources = [row.source or instruction.source for row in rows.values()]
    sections = (section for source in sources for section in source.section.split("; "))
    return Change(
        first.kind,
        instruction.instruction,
        tuple(rows),
        "; ".join(dict.fromkeys(sections)),
        first.targets,
        first.why,
        tuple(item.variant for item in items),
        tuple(item.before for item in items if item.before),
        first.form,
        first.fresh,
    )


@dataclass(frozen=True)
class _Shift:
    """How some gates moved: what an item says without its form."""

    kind: ChangeKind
    targets: tuple[str, ...]
    why: tuple[str, ...]
    fresh: bool = False


@dataclass(frozen=True)
class _Comparison:
    """Two versions and the targets of interest."""

    specification: Specification
    old: Version
    new: Version
    only: frozenset[str]

    @cached_property
    def _shifts(self) -> dict[tuple[int, ...], tuple[_Shift, ...]]:
        """How gates moved, by their identities: thousands of forms have few gates."""
        return {}

    def items(self, variant: Variant) -> Iterator[_Item]:
        """What changed about a variant; operand lists with gates of their own apart."""
        gates = dict(_labelled(variant))
        yield from self._compare(variant, gates, None)
        for form in variant.forms:
            if form.gate:
                name = ", ".join(form.operands)
                yield from self._compare(variant, {**gates, f"the operands {name}": form.gate}, name)

    def _compare(self, variant: Variant, gates: dict[str, Gate], form: str | None) -> Iterator[_Item]:
        key = tuple(map(id, gates.values()))
        if key not in self._shifts:
            self._shifts[key] = tuple(self._moves(gates))
        for shift in self._shifts[key]:
            yield _Item(shift.kind, variant, shift.targets, shift.why, form, None, shift.fresh)

    def _moves(self, gates: dict[str, Gate]) -> Iterator[_Shift]:
        """How a form with these gates changed."""
        gate = self.specification.isa.effective(gates.values())
        before, after = state(gate, self.old), state(gate, self.new)
        gained = self._without_renamed(after.targets - before.targets, before.targets) & self.only
        lost = self._without_renamed(before.targets - after.targets, after.targets) & self.only
        kept = before.targets & after.targets & self.only
        why = self._reasons(gates)
        if gained and not before.targets & self.only:
            yield _Shift("added", self._ordered(gained), why or self._new(gained), self._old(why, before))
        elif gained:
            yield from self._moved("widened", gained, why)
        if lost and not after.targets & self.only:
            yield _Shift("removed", self._ordered(lost), why or self._new(lost), self._old(why, after))
        elif lost:
            yield from self._moved("narrowed", lost, why)
        if kept and before.deprecated != after.deprecated:
            yield _Shift("deprecated" if after.deprecated else "reinstated", self._ordered(kept), why)

    def _without_renamed(self, targets: frozenset[str], others: frozenset[str]) -> frozenset[str]:
        """The targets without those that only have a newer name: the form has the older one on the other
        side.
        """
        older = self.specification.isa.older_names
        return frozenset(name for name in targets if older.get(name) not in others)

    @staticmethod
    def _old(why: tuple[str, ...], other: GateState) -> bool:
        """Whether both versions have the form, and only the target is new."""
        return not why and bool(other.targets)

    def _moved(self, kind: ChangeKind, targets: frozenset[str], why: tuple[str, ...]) -> Iterator[_Shift]:
        """Targets gained or lost by a form that both versions have; targets that are new themselves are
        grouped separately.
        """
        fresh = frozenset(name for name in targets if self._is_new(name))
        if fresh:
            yield _Shift(kind, self._ordered(fresh), self._new(fresh), True)
        if targets - fresh:
            yield _Shift(kind, self._ordered(targets - fresh), why)

    def _ordered(self, names: frozenset[str]) -> tuple[str, ...]:
        return tuple(name for name in self.specification.index.targets if name in names)

    def _is_new(self, target: str) -> bool:
        """Whether only one of the versions has the target at all."""
        since = self.specification.index.targets[target].since
        return (since <= self.old) != (since <= self.new)

    def _new(self, targets: frozenset[str]) -> tuple[str, ...]:
        known = self.specification.index.targets
        begun: dict[Version, list[str]] = {}
        for name in self._ordered(targets):
            begun.setdefault(known[name].since, []).append(name)
        return tuple(
            f"the target{'s' * (len(names) > 1)} {', '.join(names)} "
            f"{'themselves' if len(names) > 1 else 'itself'}: since {version}"
            for version, names in sorted(begun.items())
        )

    def _reasons(self, gates: dict[str, Gate]) -> tuple[str, ...]:
        """The gates whose answer differs between the two versions."""
        return tuple(
            f"{label}: {', '.join(moved)}"
            for label, gate in gates.items()
            if (moved := [words for words, at in _moments(gate) if (at <= self.old) != (at <= self.new)])
        )


def _moments(gate: Gate) -> Iterator[tuple[str, Version]]:
    yield f"since {gate.since}", gate.since
    if gate.deprecated:
        yield f"deprecated from {gate.deprecated}", gate.deprecated
    if gate.removed:
        yield f"removed from {gate.removed}", gate.removed


def _labelled(variant: Variant) -> Iterator[tuple[str, Gate]]:
    """Every gate that applies to a variant, with what it hangs on."""
    row = variant.row
    yield "the instruction's gate", row.family.instruction.gate
    if row.row.gate:
        yield "the row's gate", row.row.gate
    for condition in row.conditions():
        if row.evaluate(condition.when, variant.fields):
            yield f"gate {condition.id} ({condition.why})", condition.gate


def _required(items: Iterable[_Item]) -> Iterator[_Item]:
    """The items, a removed form and an added one that has a qualifier more as one requirement."""
    listed = list(items)
    added = {_key(item.variant, None): item for item in listed if item.kind == "added" and not item.form}
    paired: set[int] = set()
    joined: dict[int, _Item] = {}
    for item in listed:
        if item.kind != "removed" or item.form:
            continue
        absent = [name for name, value in item.variant.fields.items() if value == ABSENT]
        for name in absent:
            row = item.variant.row
            for value in row.domains[name]:
                found = added.get(_key(item.variant, (name, value))) if value != ABSENT else None
                if found is not None and id(found) not in paired:
                    why = (f".{value} became mandatory", *dict.fromkeys((*item.why, *found.why)))
                    joined[id(found)] = _Item(
                        "required", found.variant, found.targets, why, None, item.variant
                    )
                    paired |= {id(found), id(item)}
    for item in listed:
        if id(item) in joined:
            yield joined[id(item)]
        elif id(item) not in paired:
            yield item


def _key(variant: Variant, changed: tuple[str, str | int] | None) -> tuple[object, ...]:
    fields = {**variant.fields, **dict([changed] if changed else [])}
    return variant.row.id, *sorted(fields.items())

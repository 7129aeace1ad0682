"""Is one PTX statement legal, for a PTX ISA version and a target? With every reason when it is not.

Qualifiers are compared as the assemblers compare them: the name comes first, element types and
layouts keep their order, every other qualifier may stand anywhere. Answers are memoised by what
they depend on, so that whole files are judged at an assembler's speed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from .diagnosis import Profile, Reason, Spelling
from .gates import EffectiveGate, Isa
from .model import Form, Operand
from .nodes import Version, nearest
from .statements import Argument, Statement, SyntaxFault, argument_of, arguments, element_kind, read_statement
from .variants import Family, Variant

__all__ = ["ANY_SHAPE", "Judge", "Reason", "Verdict"]

LEGAL = "legal"
ILLEGAL = "illegal"
UNKNOWN = "unknown"
ANY_SHAPE = "<shape>"
_SHAPE = re.compile(r"\.(m\d+(?:n\d+)?(?:k\d+)?)(?=\.|$)")
_SHOWN = {
    "vector": "a vector",
    "register": "a register",
    "negated": "a negated predicate",
    "immediate": "an integer literal",
    "address": "an address",
    "float": "a floating-point literal",
    "sink": "'_'",
}
_ELEMENTS = {"integer": _SHOWN["immediate"], "float": _SHOWN["float"], "sink": _SHOWN["sink"]}


@dataclass(frozen=True)
class Verdict:
    """`verdict` is legal, illegal or unknown; `variant` and `form` are what it was read as."""

    verdict: str
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    variant: Variant | None = None
    form: Form | None = None


@dataclass(frozen=True)
class _Named:
    """What is known from the mnemonic alone."""

    verdict: str
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    variant: Variant | None = None


def fill_shape(reason: Reason, shape: str) -> Reason:
    """A reason with the shape that it left open."""
    return Reason(reason.code, reason.message.replace(ANY_SHAPE, shape))


class _Group:
    """All instructions that share one name (wgmma.mma_async with and without .sp)."""

    def __init__(self, name: str, families: tuple[Family, ...], isa: Isa) -> None:
        self.name = name
        self.families = families
        self.isa = isa
        self._free_costs: dict[frozenset[str], list[int]] = {}
        self._ordered_costs: dict[tuple[int, int, str | None], list[int]] = {}
        self._diagnosed: dict[tuple[str, str | None, int | None], _Named] = {}

    def spelling(self, mnemonic: str) -> Spelling:
        behind = mnemonic[len(self.name) + 1 :]
        return Spelling.of(behind.split(".") if behind else (), self.isa.index)

    @cached_property
    def index(self) -> dict[Spelling, tuple[Variant, str | None]]:
        """Every legal combination; with a note where a tolerance was used."""
        found: dict[Spelling, tuple[Variant, str | None]] = {}
        for family in self.families:
            for variant in family.variants():
                spelling = self.spelling(variant.mnemonic)
                found[spelling] = variant, variant.row.row.tolerated
                for other, why in self._tolerated(variant, spelling):
                    found.setdefault(other, (variant, why))
        return found

    def _tolerated(self, variant: Variant, spelling: Spelling) -> Iterator[tuple[Spelling, str]]:
        for tolerance in variant.row.family.instruction.tolerances:
            yield replace(spelling, free=spelling.free - {tolerance.absent}), tolerance.why

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        return tuple(
            Profile(view, self.isa.index)
            for family in self.families
            for view in family.rows
            if not view.row.tolerated
        )

    @cached_property
    def known(self) -> frozenset[str]:
        """Every qualifier that stands anywhere in the group."""
        return frozenset(token for spelling in self.index for token in spelling.words)

    @cached_property
    def shape_classes(self) -> dict[str, int]:
        """Shapes of one class go with exactly the same other qualifiers, so they are judged alike."""
        companions: dict[str, set[tuple[object, ...]]] = defaultdict(set)
        for spelling in self.index:
            shape = spelling.shape
            if shape:
                companions[shape].add((spelling.free - {shape}, spelling.ordered))
        numbers: dict[frozenset[tuple[object, ...]], int] = {}
        return {
            shape: numbers.setdefault(frozenset(others), len(numbers)) for shape, others in companions.items()
        }

    @cached_property
    def open(self) -> frozenset[str]:
        """What the specification does not hold yet: `shape`, or qualifiers."""
        return frozenset(word for family in self.families for word in family.instruction.open)

    def look_up(self, mnemonic: str) -> tuple[Variant, str | None] | tuple[_Named, str]:
        """What a mnemonic spells, or the verdict on one that is in no row with the shape it left open.

        Shapes of one class are judged alike, so that verdict is memoised with the shape left open:
        its reasons name it as <shape>.
        """
        if not self._diagnosed:  # nothing illegal yet: classes of shapes, which take long, are not needed
            legal = self.index.get(self.spelling(mnemonic))
            if legal is not None:
                return legal
        shape, before, behind = "", mnemonic, None
        found = _SHAPE.search(mnemonic, len(self.name))
        if found is not None:
            shape, before, behind = found[1], mnemonic[: found.start()], mnemonic[found.end() :]
        signature = before, behind, self.shape_classes.get(shape)
        named = self._diagnosed.get(signature)
        if named is None:
            spelling = self.spelling(mnemonic)
            legal = self.index.get(spelling)
            if legal is not None:
                return legal
            verdict, reasons = self._diagnose(spelling)
            named = self._diagnosed[signature] = _Named(verdict, reasons)
        return named, shape

    def variant_of(self, mnemonic: str) -> Variant | None:
        """The variant that a mnemonic spells, without a diagnosis where it spells none."""
        found = self.index.get(self.spelling(mnemonic))
        return found[0] if found else None

    def _diagnose(self, spelling: Spelling) -> tuple[str, tuple[Reason, ...]]:
        shape = spelling.shape
        if shape and shape not in self.shape_classes and "shape" in self.open:
            message = f"the specification does not hold the shape .{ANY_SHAPE} of {self.name} yet"
            return UNKNOWN, (Reason("shape.unknown", message),)
        missing = sorted(spelling.free & self.open)
        if missing:
            message = f"the specification does not hold {self.name} with .{missing[0]} yet"
            return UNKNOWN, (Reason("opcode.unknown", message),)
        profile = self.nearest_profile(spelling)
        reasons = tuple(profile.reasons(spelling, self.known))
        if not reasons:
            reasons = (profile.combination(spelling),)
        if shape:
            reasons = tuple(
                Reason(r.code, r.message.replace(f".{shape} does", f".{ANY_SHAPE} does")) for r in reasons
            )
        return ILLEGAL, reasons

    def nearest_profile(self, spelling: Spelling) -> Profile:
        """The row that a spelling comes nearest to (the first of equals)."""
        free = self._free_costs.get(spelling.free)
        if free is None:
            free = [profile.distance_free(spelling.free) for profile in self.profiles]
            self._free_costs[spelling.free] = free
        columns = [free]
        for number, tokens in enumerate(spelling.ordered):
            columns.append(self._ordered_cost(number, len(tokens), None))
            columns += [self._ordered_cost(number, i, token) for i, token in enumerate(tokens)]
        costs = list(map(sum, zip(*columns, strict=True)))
        return self.profiles[costs.index(min(costs))]

    def _ordered_cost(self, number: int, place: int, token: str | None) -> list[int]:
        """What one qualifier at its place (or, without a token, their number) costs each row."""
        key = number, place, token
        costs = self._ordered_costs.get(key)
        if costs is None:
            if token is None:
                costs = [profile.distance_length(number, place) for profile in self.profiles]
            else:
                costs = [profile.distance_token(number, place, token) for profile in self.profiles]
            self._ordered_costs[key] = costs
        return costs


class Judge:
    """Judges statements for one PTX ISA version and one target (None: any target)."""

    def __init__(self, families: Iterable[Family], isa: Isa, ptx: Version, target: str | None) -> None:
        self.isa = isa
        self.ptx = ptx
        self.target = target
        grouped: dict[str, list[Family]] = defaultdict(list)
        for family in families:
            grouped[family.name].append(family)
        self._groups = {name: _Group(name, tuple(f), isa) for name, f in grouped.items()}
        self._longest = max(name.count(".") for name in self._groups) + 1
        self._begins: dict[tuple[str, ...], _Group | None] = {}
        self._gates: dict[EffectiveGate, tuple[Reason, ...]] = {}
        self._named: dict[str, tuple[_Named, str]] = {}
        self._operands: dict[tuple[int, str], tuple[Form | None, tuple[Reason, ...]]] = {}
        self._plain: dict[tuple[int, str], Verdict] = {}
        self._ever: dict[tuple[int, str], EffectiveGate | None] = {}

    @property
    def names(self) -> Iterable[str]:
        """The names of all instructions."""
        return self._groups.keys()

    def judge(self, text: str) -> Verdict:
        """The verdict on one statement, with register declarations before it if there are any."""
        try:
            statement = read_statement(text)
        except SyntaxFault as fault:
            return self._unreadable(text, fault)
        return self.judge_statement(statement)

    def judge_statement(self, statement: Statement) -> Verdict:
        """The verdict on a statement that has been read."""
        named = self.judge_mnemonic(statement.mnemonic)
        if named.variant is None:
            return Verdict(named.verdict, named.reasons)
        form, faults = self.judge_operands(named.variant, statement)
        reasons = (*named.reasons, *faults, *_guarded(statement))
        return Verdict(ILLEGAL if reasons else LEGAL, reasons, named.notes, named.variant, form)

    def judge_plain(self, mnemonic: str, operands: str) -> tuple[Verdict, str]:
        """The verdict on a statement already split, without guard or declarations.

        Memoised; a shape that stands open in the verdict's reasons is returned beside it.
        """
        named, shape = self.name_of(mnemonic)
        key = id(named), operands if named.variant else ""
        verdict = self._plain.get(key)
        if verdict is None:
            if named.variant is None:
                verdict = Verdict(named.verdict, named.reasons)
            else:
                verdict = self.judge_statement(Statement(None, mnemonic, operands, {}))
            self._plain[key] = verdict
        return verdict, shape

    def variant_of(self, mnemonic: str) -> Variant | None:
        """The variant that a mnemonic spells, whatever its gates say; None when it spells none."""
        group = self._group_of(mnemonic)
        return group.variant_of(mnemonic) if group else None

    def closest(self, mnemonic: str) -> Variant | None:
        """The variant that a mnemonic spells, or comes nearest to; None when the name is not known."""
        group = self._group_of(mnemonic)
        if group is None:
            return None
        spelling = group.spelling(mnemonic)
        found = group.index.get(spelling)
        return found[0] if found else group.nearest_profile(spelling).closest(spelling)

    def gate_of(self, statement: Statement) -> EffectiveGate | None:
        """When a statement is legal, whatever this judge's version and target; None when it never is."""
        group = self._group_of(statement.mnemonic)
        variant = group.variant_of(statement.mnemonic) if group else None
        if variant is None:
            return None
        key = id(variant), statement.operands
        if key not in self._ever:
            self._ever[key] = self._gate_of(variant, statement)
        return self._ever[key]

    def _gate_of(self, variant: Variant, statement: Statement) -> EffectiveGate | None:
        """The gate of the first form that the operands take."""
        try:
            given = arguments(statement.operands)
        except SyntaxFault:
            return None
        for form in variant.forms:
            faults = self._compare(variant, form, given, statement)
            if all(reason.code.startswith("gate.") for reason in faults):
                gates = [*variant.row.gates_on(variant.fields), *([form.gate] if form.gate else [])]
                return self.isa.effective(gates)
        return None

    def _unreadable(self, text: str, fault: SyntaxFault) -> Verdict:
        reason = Reason("syntax", f"column {fault.column}: {fault}")
        head = text.strip().split(None, 1)
        name = head[0].rstrip(";") if head else ""
        known = self._group_of(name) if name.isascii() else None
        return Verdict(ILLEGAL if known else UNKNOWN, (reason,))

    def _group_of(self, mnemonic: str) -> _Group | None:
        tokens = (*mnemonic.split(".", self._longest)[: self._longest],)
        if tokens not in self._begins:
            names = (".".join(tokens[:length]) for length in range(len(tokens), 0, -1))
            self._begins[tokens] = next((self._groups[n] for n in names if n in self._groups), None)
        return self._begins[tokens]

    def judge_mnemonic(self, mnemonic: str) -> _Named:
        """The verdict on name and qualifiers, gates included."""
        named, shape = self.name_of(mnemonic)
        if not shape or named.variant is not None:
            return named
        return replace(named, reasons=tuple(fill_shape(reason, shape) for reason in named.reasons))

    def name_of(self, mnemonic: str) -> tuple[_Named, str]:
        """The same, memoised by the spelling, with the shape left open where it makes no difference."""
        known = self._named.get(mnemonic)
        if known is None:
            known = self._named[mnemonic] = self._name_of(mnemonic)
        return known

    def _name_of(self, mnemonic: str) -> tuple[_Named, str]:
        group = self._group_of(mnemonic)
        if group is None:
            return _Named(UNKNOWN, (self._unknown_name(mnemonic),)), ""
        found = group.look_up(mnemonic)
        if isinstance(found[0], _Named):
            return found[0], found[1] or ""
        variant, note = found
        reasons = self.gate_reasons(variant.gate)
        notes = [note] if note else []
        deprecated = variant.gate.deprecated
        if deprecated and deprecated <= self.ptx and not reasons:
            notes.append(f"deprecated since PTX ISA {deprecated}")
        return _Named(ILLEGAL if reasons else LEGAL, reasons, tuple(notes), variant), ""

    def _unknown_name(self, mnemonic: str) -> Reason:
        close = nearest(mnemonic, self._groups) or nearest(".".join(mnemonic.split(".")[:2]), self._groups)
        hint = f"; the nearest that it has is {close}" if close else ""
        return Reason("opcode.unknown", f"the specification does not hold the instruction {mnemonic}{hint}")

    def gate_reasons(self, gate: EffectiveGate) -> tuple[Reason, ...]:
        """Why a gate is shut for this version and target; empty when it is open."""
        if gate not in self._gates:
            self._gates[gate] = tuple(self._gate_reasons(gate))
        return self._gates[gate]

    def _gate_reasons(self, gate: EffectiveGate) -> Iterator[Reason]:
        since = gate.since
        if self.target is not None:
            begins = dict(gate.targets)
            exists = self.isa.index.targets[self.target].since
            if self.target not in begins:
                admitted = ", ".join(name for name, _ in gate.targets) or "none"
                yield Reason("gate.target", f"not on {self.target}; it needs one of {admitted}")
            else:
                since = begins[self.target]
            if exists > self.ptx:
                yield Reason(
                    "gate.target_version",
                    f"the target {self.target} itself needs PTX ISA {exists} or later",
                )
                since = gate.since
        if self.ptx < since:
            yield Reason("gate.since", f"it needs PTX ISA {since} or later, not {self.ptx}")
        if gate.removed is not None and self.ptx >= gate.removed:
            yield Reason("gate.removed", f"it was removed in PTX ISA {gate.removed}")

    def judge_operands(
        self, variant: Variant, statement: Statement
    ) -> tuple[Form | None, tuple[Reason, ...]]:
        """The form that the operands take, and what is wrong with them."""
        if statement.declared:
            return self._judge_operands(variant, statement)
        key = id(variant), statement.operands
        found = self._operands.get(key)
        if found is None:
            found = self._operands[key] = self._judge_operands(variant, statement)
        return found

    def _judge_operands(
        self, variant: Variant, statement: Statement
    ) -> tuple[Form | None, tuple[Reason, ...]]:
        try:
            given = arguments(statement.operands)
        except SyntaxFault as fault:
            column = len(statement.mnemonic) + fault.column
            return None, (Reason("syntax", f"column {column}: {fault}"),)
        tried = [(form, tuple(self._compare(variant, form, given, statement))) for form in variant.forms]
        return min(tried, key=lambda pair: _weight(pair[1]))

    def _compare(
        self, variant: Variant, form: Form, given: tuple[Argument, ...], statement: Statement
    ) -> Iterator[Reason]:
        operands = variant.row.family.instruction.operands
        if form.gate:
            yield from self.gate_reasons(self.isa.effective([form.gate]))
        wanted = form.operands
        if len(given) != len(wanted):
            yield Reason(
                "operand.count",
                f"{len(given)} operands are given; {len(wanted)} belong here: {', '.join(wanted)}",
            )
        for name, argument in zip(wanted, given, strict=False):
            yield from self._fits(variant, name, operands[name], argument, statement)

    def _fits(
        self,
        variant: Variant,
        name: str,
        operand: Operand,
        argument: Argument,
        statement: Statement,
    ) -> Iterator[Reason]:
        if argument.shape not in operand.accepts:
            wanted = " or ".join(_SHOWN[shape] for shape in operand.accepts)
            yield Reason("operand.kind", f"{name} is {_SHOWN[argument.shape]}; it must be {wanted}")
            return
        if operand.elements:
            yield from self._elements(variant, name, operand.elements, argument, statement)
            return
        if operand.registers and argument.shape == "vector":
            length = variant.evaluate(operand.registers)
            if argument.value != length:
                yield Reason(
                    "operand.length",
                    f"{name} has {argument.value} registers; it must have {length}",
                )
        if argument.shape == "immediate":
            yield from self._in_range(variant, name, operand, argument.value)
        elif argument.shape == "vector":
            yield from self._elements_fit(variant, name, operand, argument)
        elif argument.shape == "address" and not argument.registers:
            yield Reason(
                "operand.address", f"{name} is an immediate address; it must be a register or a variable"
            )
        if argument.registers and statement.declared:
            yield from self._typed(variant, name, argument, statement)

    def _in_range(self, variant: Variant, name: str, operand: Operand, value: int) -> Iterator[Reason]:
        if operand.values is not None:
            allowed = variant.values(operand)
            if value not in allowed:
                shown = " or ".join(map(str, allowed))
                yield Reason("operand.range", f"{name} is {value}; it must be {shown}")
        elif operand.valid is not None and not variant.allows(operand.valid, value):
            yield Reason("operand.range", f"{name} is {value}; the rule is {operand.valid.text}")

    def _elements_fit(
        self, variant: Variant, name: str, operand: Operand, argument: Argument
    ) -> Iterator[Reason]:
        sinks = argument.registers.count("_")
        if sinks and operand.role != "destination":
            yield Reason("operand.sink", f"{name}: '_' may not stand where a value is read")
        elif argument.literals and operand.role != "source":
            yield Reason("operand.literal", f"{name}: a literal may not stand where a result is written")
        elif sinks + argument.literals == argument.value:
            yield Reason("operand.vector", f"{name} names no register; at least one must be")
        elif (sinks or argument.literals) and name in variant.row.row.elements:
            allowed = variant.row.row.elements[name]
            for kind, what in _ELEMENTS.items():
                if kind not in allowed and kind in map(element_kind, argument.registers):
                    code = "operand.sink" if kind == "sink" else "operand.literal"
                    yield Reason(code, f"{name}: {what} may not stand in this vector")

    def _elements(
        self,
        variant: Variant,
        name: str,
        wanted: tuple[str, ...],
        argument: Argument,
        statement: Statement,
    ) -> Iterator[Reason]:
        if argument.value != len(wanted):
            yield Reason(
                "operand.length",
                f"{name} has {argument.value} elements; it must have {len(wanted)}",
            )
            return
        operands = variant.row.family.instruction.operands
        for inner, text in zip(wanted, argument.registers, strict=True):
            yield from self._fits(variant, inner, operands[inner], argument_of(text), statement)
        types = {statement.declared[text] for text in argument.registers if text in statement.declared}
        if len({re.sub(r"\D", "", kind) for kind in types}) > 1:
            shown = ", ".join(f".{kind}" for kind in sorted(types))
            yield Reason("operand.type", f"{name} has registers of unlike widths: {shown}")

    def _typed(
        self,
        variant: Variant,
        name: str,
        argument: Argument,
        statement: Statement,
    ) -> Iterator[Reason]:
        allowed = variant.register_types(name)
        if allowed is None:
            return
        for register in argument.registers:
            declared = statement.declared.get(register)
            if declared is not None and declared not in allowed:
                wanted = ", ".join(f".{word}" for word in allowed)
                yield Reason("operand.type", f"{name}: {register} is .{declared}; it must be {wanted}")
                return

    def suggest(self, statement: Statement) -> str | None:
        """The nearest legal form, mnemonic and operand names; None for an unknown instruction."""
        variant = self.closest(statement.mnemonic)
        if variant is None:
            return None
        form, _ = self._judge_operands(variant, statement)
        form = form or next(variant.forms)
        return f"{variant.mnemonic} {', '.join(form.operands)};"


def _guarded(statement: Statement) -> Iterator[Reason]:
    """What is wrong with the predicate that guards a statement."""
    register = statement.guard.lstrip("!") if statement.guard else ""
    declared = statement.declared.get(register, "pred")
    if declared != "pred":
        yield Reason("guard.type", f"the guard {register} is .{declared}; it must be .pred")


def _weight(reasons: tuple[Reason, ...]) -> int:
    """A wrong kind weighs more than a wrong count, so that the intended form is explained."""
    weights = {"operand.kind": 4, "operand.count": 2}
    return sum(weights.get(reason.code, 1) for reason in reasons)

"""The universe of an instruction: the statements on which the specification and assemblers are compared.

Everything is built from the specification. A *legal* statement takes an operand form of a variant; a
*field* point gives every field a value that some row of the instruction gives it, or one just outside;
a *neighbour* differs from a legal statement in one qualifier or one operand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping

from ..spec.expressions import names
from ..spec.gates import EffectiveGate
from ..spec.model import Form
from ..spec.specification import Specification
from ..spec.statements import Statement
from ..spec.variants import ABSENT, Family, RowView, Variant
from .asking import register_types
from .neighbours import Neighbours
from .universe_points import GateRegion, UniversePoint, WrittenStatement, domain, registers

__all__ = ["Universe"]

# Beyond this many points the product of all fields is replaced by what is within two fields of legality.
_PRODUCT = 150_000
Fields = Mapping[str, str | int]


class Universe:
    """Makes the statements of every instruction of a specification, and says when each is legal."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self.judge = specification.judge()
        self.declared = register_types()
        self._depends: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._written: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._words: dict[bool, dict[str, tuple[str, ...]]] = {}
        self._types: dict[bool, tuple[str, ...]] = {}
        self._bases: dict[int, tuple[dict[str, str | int], Form, tuple[str, ...]]] = {}

    def legal(self, family: Family) -> Iterator[tuple[Variant, Form]]:
        """Every variant in every operand form, what assemblers merely tolerate included."""
        for variant in family.variants():
            for form in variant.forms:
                yield variant, form

    def forms(self, family: Family) -> tuple[UniversePoint, ...]:
        """Every legal form, as a statement."""
        return self.points(family, (self.write(variant, form) for variant, form in self.legal(family)))

    def near(self, family: Family) -> tuple[GateRegion, ...]:
        """Every legal form, and every statement that differs from one in the value of one field."""
        forms = self.forms(family)
        legal = {point.statement for point in forms}
        around: dict[str, tuple[WrittenStatement, set[EffectiveGate]]] = {}
        for written, gate in self._beside(family):
            if written.text not in legal:
                around.setdefault(written.text, (written, set()))[1].add(gate)
        groups: dict[frozenset[EffectiveGate], list[WrittenStatement]] = {}
        for written, gates in around.values():
            groups.setdefault(frozenset(gates), []).append(written)
        beside = (GateRegion(gates, self.points(family, found)) for gates, found in groups.items())
        return (GateRegion(frozenset(), forms), *beside)

    def _beside(self, family: Family) -> Iterator[tuple[WrittenStatement, EffectiveGate]]:
        """Every combination that differs from a variant in one field and is not a variant, with the variant's
        gate.
        """
        domains = {field: domain(family, field) for field in sorted(family.bound)}
        variants = {tuple(variant.fields[field] for field in domains) for variant in family.variants()}
        spelled: dict[tuple[str | int, ...], WrittenStatement] = {}
        for variant in family.variants():
            mine = tuple(variant.fields[field] for field in domains)
            for place, values in enumerate(domains.values()):
                for value in values:
                    key = (*mine[:place], value, *mine[place + 1 :])
                    if key in variants:
                        continue
                    if key not in spelled:
                        spelled[key] = self._spelled(variant.row, dict(zip(domains, key, strict=True)))
                    yield spelled[key], variant.gate

    def whole(self, family: Family) -> tuple[UniversePoint, ...]:
        """The whole universe of an instruction."""
        return self.points(
            family,
            itertools.chain(
                self._legal(family),
                self._fields(family),
                self._outside(family),
                self._neighbours(family).of(family, self.legal(family)),
            ),
        )

    def points(self, family: Family, written: Iterable[WrittenStatement]) -> tuple[UniversePoint, ...]:
        """Statements without repetitions, each with the gate of what it spells."""
        instruction = family.instruction.instruction
        found: dict[str, UniversePoint] = {}
        gate_of = self.judge.gate_of
        for parts in written:
            text = parts.text
            if text not in found:
                operands = ", ".join(parts.operands)
                statement = Statement(None, parts.mnemonic, operands, self.declared)
                found[text] = UniversePoint(instruction, text, gate_of(statement))
        return tuple(found.values())

    # Legal statements.

    def write(self, variant: Variant, form: Form) -> WrittenStatement:
        """A variant in one form, every operand in the first of the shapes it accepts."""
        return WrittenStatement(variant.mnemonic, self._operands(variant, form))

    def _legal(self, family: Family) -> Iterator[WrittenStatement]:
        return (self.write(variant, form) for variant, form in self.legal(family))

    def _operands(self, variant: Variant, form: Form) -> tuple[str, ...]:
        """The text of every operand, each with registers of its own as far as they go.

        Cached by the fields that the operands depend on.
        """
        which = id(variant.row), form.operands
        if which not in self._depends:
            self._depends[which] = _dependencies(variant, form)
        key = (*which, *(variant.fields[field] for field in self._depends[which]))
        if key not in self._written:
            used: dict[str, int] = {}
            self._written[key] = tuple(self._operand(variant, name, used) for name in form.operands)
        return self._written[key]

    def _operand(self, variant: Variant, name: str, used: dict[str, int]) -> str:
        operand = variant.row.family.instruction.operands[name]
        shape = operand.accepts[0]
        if operand.elements:
            known = [variant.register_types(element) or () for element in operand.elements]
            kind = next(kind for kind in known[0] if all(kind in types for types in known))
            return "{" + ", ".join(registers(kind, len(known), used)) + "}"
        if shape == "immediate":
            return str((variant.values(operand) or (0,))[0])
        types = variant.register_types(name)
        kind = types[0] if types else "b32"
        if shape == "address" and "b64" in (types or ("b64",)):
            kind = "b64"
        count = max(variant.evaluate(operand.registers), 1) if operand.registers else 1
        if shape != "vector":
            return _shaped(shape, registers(kind, 1, used)[0])
        return "{" + ", ".join(registers(kind, count, used)) + "}"

    # Field values.

    def _beside_one(self, family: Family) -> Iterator[Family]:
        """The instructions whose qualifiers stand in place of an instruction's: of those that are apart, only
        beside others that are.
        """
        for other in self.specification.families.values():
            if family.instruction.apart or not other.instruction.apart:
                yield other

    def words(self, family: Family) -> dict[str, tuple[str, ...]]:
        """By a field's name, every word that an instruction beside this one has for it."""
        if family.instruction.apart not in self._words:
            found: dict[str, dict[str, None]] = {}
            for other in self._beside_one(family):
                for field in sorted(other.bound):
                    for value in domain(other, field):
                        found.setdefault(field, {})[str(value)] = None
            words = {field: tuple(words) for field, words in found.items()}
            self._words[family.instruction.apart] = words
        return self._words[family.instruction.apart]

    def types(self, family: Family) -> tuple[str, ...]:
        """The element types that stand in place of an instruction's: without those that only instructions
        that are apart have, where it is not.
        """
        apart = family.instruction.apart
        if apart not in self._types:
            named: tuple[set[str], set[str]] = set(), set()
            for other in self.specification.families.values():
                for field in other.bound:
                    named[other.instruction.apart].update(map(str, domain(other, field)))
            hidden = set() if apart else named[True] - named[False]
            self._types[apart] = tuple(word for word in self.specification.index.types if word not in hidden)
        return self._types[apart]

    def foreign(self, family: Family) -> tuple[str, ...]:
        """Every qualifier of the instructions beside this one, without qualifiers that spell a number."""
        found: dict[str, None] = {}
        for other in self._beside_one(family):
            found.update(dict.fromkeys(other.fixed))
        for words in self.words(family).values():
            found.update(dict.fromkeys(w for w in words if w != ABSENT and not w.isdigit()))
        return tuple(found)

    def _neighbours(self, family: Family) -> Neighbours:
        elsewhere = self.specification.index.elsewhere
        return Neighbours(self.write, self.outside, self.foreign(family), elsewhere)

    def _fields(self, family: Family) -> Iterator[WrittenStatement]:
        """Every combination of the family's field values; if too many, those near legal ones."""
        domains = {field: domain(family, field) for field in sorted(family.bound)}
        if math.prod(map(len, domains.values())) > _PRODUCT:
            yield from self._apart(family, 1)
            yield from self._apart(family, 2)
            return
        nearest = _Nearest(family, domains)
        for values in itertools.product(*domains.values()):
            yield self._spelled(nearest(values), dict(zip(domains, values, strict=True)))

    def _apart(self, family: Family, distance: int) -> Iterator[WrittenStatement]:
        """Every combination that differs from a legal one in so many fields."""
        domains = {field: domain(family, field) for field in sorted(family.bound)}
        seen = {tuple(v.fields[f] for f in domains) for v in family.variants()}
        for variant in family.variants():
            mine = tuple(variant.fields[f] for f in domains)
            for changed in itertools.combinations(range(len(mine)), distance):
                choices: list[tuple[str | int, ...]] = [(value,) for value in mine]
                for place in changed:
                    choices[place] = tuple(v for v in domains[tuple(domains)[place]] if v != mine[place])
                for values in itertools.product(*choices):
                    if values not in seen:
                        seen.add(values)
                        yield self._spelled(variant.row, dict(zip(domains, values, strict=True)))

    def _outside(self, family: Family) -> Iterator[WrittenStatement]:
        """Every legal combination with one field just outside what the family gives it."""
        outside = {field: self.outside(family, field) for field in sorted(family.bound)}
        for variant in family.variants():
            for field, values in outside.items():
                for value in values:
                    yield self._spelled(variant.row, {**variant.fields, field: value})

    def outside(self, family: Family, field: str) -> tuple[str | int, ...]:
        """Values just outside a field's: numbers beside them, other types, other instructions' words."""
        own = domain(family, field)
        numbers = [value for value in own if isinstance(value, int)]
        if len(numbers) == len(own):
            step = math.gcd(*numbers)
            beside = (min(numbers) - step, min(numbers) // 2, max(numbers) + step, max(numbers) * 2)
            between = (max(numbers) - step // 2,) if step > 1 else ()
            return tuple(dict.fromkeys(n for n in beside + between if n > 0 and n not in own))
        others = [ABSENT, *self.words(family)[field]]
        if all(value in self.specification.index.types or value == ABSENT for value in own):
            others += self.types(family)
        return tuple(dict.fromkeys(word for word in others if word not in own))

    def _spelled(self, row: RowView, fields: Fields) -> WrittenStatement:
        """A combination that need not be legal, with the operands of the row's first form."""
        if id(row) not in self._bases:
            self._bases[id(row)] = _base(row)
        first, form, holds = self._bases[id(row)]
        variant = typed = Variant(row, {**first, **fields})
        lost = [field for field in holds if variant.fields[field] not in self.specification.index.types]
        if lost:  # no type says what the registers are: those of the row's first combination do
            typed = Variant(row, {**variant.fields, **{field: first[field] for field in lost}})
        return WrittenStatement(_mended(variant.mnemonic), self._operands(typed, form))


def _base(row: RowView) -> tuple[dict[str, str | int], Form, tuple[str, ...]]:
    """A row's first form, the first value of every field, and the fields that say what registers hold."""
    family = row.family
    first = {name: values[0] for name, values in row.domains.items()}
    form = next(Variant(row, first).forms)
    operands = (family.instruction.operands[name] for name in form.operands)
    return first, form, tuple({operand.holds: None for operand in operands if operand.holds})


def _dependencies(variant: Variant, form: Form) -> tuple[str, ...]:
    """The fields on which the text of a form's operands depends."""
    operands = variant.row.family.instruction.operands
    inner = [element for name in form.operands for element in operands[name].elements or ()]
    found: dict[str, None] = {}
    for operand in (operands[name] for name in (*form.operands, *inner)):
        words = {operand.holds} if operand.holds else set()
        for formula in (operand.registers, operand.valid):
            words |= names(formula.tree) if formula else set()
        found.update(dict.fromkeys(word.removesuffix("_bits") for word in sorted(words)))
    return tuple(field for field in found if field in variant.fields)


def _mended(mnemonic: str) -> str:
    """A mnemonic without the empty places of qualifiers that it should have and has not."""
    return ".".join(token for token in mnemonic.split(".") if token)


def _shaped(shape: str, register: str) -> str:
    return {"address": f"[{register}]", "negated": f"!{register}"}.get(shape, register)


class _Nearest:
    """Which row gives the most fields of a combination the values they have (the first of equals)."""

    def __init__(self, family: Family, domains: Mapping[str, tuple[str | int, ...]]) -> None:
        self._rows = family.rows
        self._scores = [
            {
                value: sum(1 << (8 * r) for r, row in enumerate(family.rows) if value in row.domains[field])
                for value in values
            }
            for field, values in domains.items()
        ]

    def __call__(self, values: tuple[str | int, ...]) -> RowView:
        total = sum(scores[value] for scores, value in zip(self._scores, values, strict=True))
        counts = total.to_bytes(len(self._rows), "little")
        return self._rows[counts.index(max(counts))]

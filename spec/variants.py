"""Rows to variants: every legal combination of field values, its spelling and its effective gate."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from .errors import SpecError
from .expressions import compiled, names
from .gate_checks import check_gates
from .gates import EffectiveGate, Isa
from .index import ElementType
from .lazy_dataclass import dataclass
from .model import ConditionalGate, Form, Gate, Instruction, Operand, Row
from .nodes import Formula, bounded, nearest

__all__ = ["ABSENT", "OPAQUE", "Family", "RowView", "Variant"]

ABSENT = "none"
OPAQUE = "opaque"
_FIELD = re.compile(r"\{(\.?)(\w+)\}")


def as_name(word: str) -> str:
    """How a qualifier is named inside a formula: `shared::cta` is shared_cta."""
    return word.replace("::", "_").replace(".", "_")


_REGISTERS = 255  # of 32 bits, that a thread can have on any chip


@dataclass(frozen=True)
class Variant:
    """One legal combination: field values, and the mnemonic that spells them canonically."""

    row: RowView
    fields: Mapping[str, str | int]

    def __repr__(self) -> str:
        return f"Variant({self.mnemonic})"

    @property
    def instruction(self) -> Instruction:
        """The instruction that this is a variant of."""
        return self.row.family.instruction

    @cached_property
    def mnemonic(self) -> str:
        """The mnemonic with its qualifiers in the order of the syntax."""
        return self.row.spell(self.fields)

    @cached_property
    def gate(self) -> EffectiveGate:
        """Since which PTX ISA version it is legal, and on which targets."""
        return self.row.family.isa.effective(self.row.gates_on(self.fields))

    def evaluate(self, formula: Formula) -> int:
        """A formula over the fields (with `X_bits` the width of the type in field X)."""
        return self.row.evaluate(formula, self.fields)

    @cached_property
    def layouts(self) -> Mapping[str, str]:
        """The layout of every operand that has one, by its id."""
        ids = {letter: self.row.layout_id(letter, self.fields) for letter in self.row.row.layouts}
        return {letter: identifier for letter, identifier in ids.items() if identifier}

    def fragment_registers(self, part: str) -> int:
        """How many registers of a thread fragment A, B, C or D takes; 0 where none is in registers."""
        operands = self.row.family.instruction.operands.values()
        counts = (operand.registers for operand in operands if operand.part == part and operand.registers)
        count = next(counts, None)
        return self.evaluate(count) if count else 0

    def values(self, operand: Operand) -> tuple[int, ...]:
        """The values that an immediate operand may have."""
        if operand.values is None:
            return ()
        values = tuple(int(value) for value in operand.values.values)
        if operand.valid is None:
            return values
        return tuple(value for value in values if self.allows(operand.valid, value))

    def allows(self, valid: Formula, value: int) -> bool:
        """Whether an operand's rule holds for a value."""
        return bool(self.row.evaluate(valid, {**self.fields, "value": value}))

    def register_types(self, name: str) -> tuple[str, ...] | None:
        """The declared types that an operand's registers may have; None when nothing says."""
        if name in self.row.row.registers:
            return self.row.row.registers[name]
        instruction = self.row.family.instruction
        operand = instruction.operands[name]
        if operand.holds is None:
            return operand.types
        element = str(self.fields[operand.holds])
        return instruction.registers.get(element) or self.row.element(operand.holds, element).registers

    @property
    def forms(self) -> Iterator[Form]:
        """The operand lists that this combination may take."""
        forms = self.row.family.instruction.forms
        return (forms[name] for name in self.row.row.forms)


@dataclass(frozen=True)
class RowView:
    """A row with the instruction it belongs to: enumeration, spelling, gates."""

    family: Family
    row: Row

    def __repr__(self) -> str:
        return f"RowView({self.id})"

    @property
    def id(self) -> str:
        """The stable id: instruction/row."""
        return f"{self.family.instruction.instruction}/{self.row.id}"

    def value(self, name: str, fields: Mapping[str, str | int]) -> str | int:
        """The value of a name inside a formula: a field, the width of a field's type, or a word that stands
        for itself.
        """
        if name in fields:
            value = fields[name]
            return value if isinstance(value, int) else as_name(value)
        if name.endswith("_bits") and name[:-5] in fields:
            return self.element(name[:-5], fields[name[:-5]]).bits
        return name

    def element(self, field: str, value: str | int) -> ElementType:
        """The element type that a field's value names; raises SpecError when it names none."""
        types = self.family.isa.index.types
        if value not in types:
            bound = self.row.bind.get(field) or self.family.instruction.bind.get(field)
            raise SpecError(
                f"the value {value} of {field} is not an element type",
                bound.place if bound else self.row.place,
                nearest(str(value), types) or "a type of specs.yaml",
            )
        return types[str(value)]

    def bounds(self, name: str) -> tuple[int, int]:
        """Least and greatest value of a name inside a formula; a word counts as 0."""
        field = name if name in self.domains else name.removesuffix("_bits")
        values = [self.value(name, {field: value}) for value in self.domains.get(field, ())]
        numbers = [value for value in values if isinstance(value, int)]
        return min(numbers, default=0), max(numbers, default=0)

    def check_count(self, operand: Operand) -> None:
        """An operand's register count divides by no zero, is never negative, and no thread has as many
        registers as it could be; raises SpecError.
        """
        if operand.registers:
            _, most = bounded(operand.registers, {n: self.bounds(n) for n in names(operand.registers.tree)})
            if most > _REGISTERS:
                what = f"{operand.registers.text!r} may be {most} in the row {self.row.id}"
                raise SpecError(what, operand.registers.place, f"at most the {_REGISTERS} that a thread has")

    def evaluate(self, formula: Formula, fields: Mapping[str, str | int]) -> int:
        known = self.family.functions.get(id(formula))
        if known is None:
            known = self.family.functions[id(formula)] = _Function.of(formula)
        given = tuple([fields.get(name) for name in known.reads])
        result = known.results.get(given)
        if result is not None:
            return result
        try:
            values = [_unordered(self.value(name, fields)) for name in known.symbols]
            result = known.results[given] = int(known.function(*values))
            return result
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise SpecError(
                f"{formula.text!r} cannot be evaluated with {dict(fields)}: {error}", formula.place
            ) from None

    @cached_property
    def domains(self) -> dict[str, tuple[str | int, ...]]:
        """The values of every field: the row's own, and the instruction's where the row is silent."""
        bound = {**self.family.instruction.bind, **self.row.bind}
        return {name: scalars.values for name, scalars in bound.items()}

    def combinations(self) -> Iterator[dict[str, str | int]]:
        """Every legal assignment of the fields, in the order of the YAML."""
        fields = tuple(self.domains)
        where = self.row.where
        for values in itertools.product(*self.domains.values()):
            combination = dict(zip(fields, values, strict=True))
            if where is None or self.evaluate(where, combination):
                yield combination

    def variants(self) -> Iterator[Variant]:
        return iter(self._variants)

    @cached_property
    def _variants(self) -> tuple[Variant, ...]:
        """The variants, made once: what is derived from each (mnemonic, gate) is then derived once too."""
        return tuple(Variant(self, fields) for fields in self.combinations())

    def __getstate__(self) -> dict[str, object]:
        """The state that is pickled: without what was derived."""
        return {"family": self.family, "row": self.row}

    def conditions(self) -> tuple[ConditionalGate, ...]:
        return (*self.family.instruction.gates, *self.row.gates)

    def gates_on(self, fields: Mapping[str, str | int]) -> tuple[Gate, ...]:
        """The gates that apply to a combination: the instruction's, the row's, the values'."""
        gates = [self.family.instruction.gate]
        if self.row.gate:
            gates.append(self.row.gate)
        gates += [c.gate for c in self.conditions() if self.evaluate(c.when, fields)]
        return tuple(gates)

    def layout_id(self, letter: str, fields: Mapping[str, str | int]) -> str:
        """The id of an operand's layout, the fields that it names put in; empty where it has none."""
        written = self.row.layouts[letter]
        try:
            return written.format_map({**fields, **self._layout_names(fields)})
        except (KeyError, ValueError):
            raise SpecError(
                f"the layout {written!r} names what is not a field of the row {self.row.id}",
                self.row.place,
                "{name} of a field that the row binds",
            ) from None

    def _layout_names(self, fields: Mapping[str, str | int]) -> dict[str, str]:
        """What stands for the values of fields in the ids of layouts, where it is not the value."""
        listed = self.family.instruction.layout_names
        return {
            name: words[str(fields[name])]
            for name, words in listed.items()
            if name in fields and str(fields[name]) in words
        }

    @cached_property
    def layouts(self) -> frozenset[str]:
        """The ids of all layouts that the row's variants have, without the opaque ones."""
        used = {(*variant.layouts.values(),) for variant in self.variants()} if self.row.layouts else set()
        return frozenset(identifier for ids in used for identifier in ids if identifier != OPAQUE)

    def spell(self, fields: Mapping[str, str | int]) -> str:
        """The canonical mnemonic."""

        pieces: list[str] = []
        for literal, dot, field in self.family.pieces:
            pieces.append(literal)
            if field:
                text = self.family.token(field, fields)
                if text is not None:
                    pieces.append(dot + text)
        return "".join(pieces)


class _Word(str):
    """A word in a formula: equal to another, or not, but in no order with it."""

    def __lt__(self, other: object) -> bool:
        raise TypeError(f"{self} is a word; words are compared by == and != only")

    __le__ = __gt__ = __ge__ = __lt__
    __hash__ = str.__hash__


def _unordered(value: str | int) -> str | int:
    return value if isinstance(value, int) else _Word(value)


class _Function(NamedTuple):
    """A formula, compiled: its names, the fields that it reads, and its results by their values.

    The formula is kept: functions are found by its id, which another could have once it is gone.
    """

    formula: Formula
    symbols: tuple[str, ...]
    reads: tuple[str, ...]
    function: Callable[..., int]
    results: dict[tuple[str | int | None, ...], int]

    @classmethod
    def of(cls, formula: Formula) -> _Function:
        symbols = tuple(sorted(names(formula.tree)))
        reads = dict.fromkeys(name for word in symbols for name in (word, word.removesuffix("_bits")))
        return cls(formula, symbols, tuple(reads), compiled(formula.tree, symbols), {})


class Family:
    """One instruction, ready to enumerate: its syntax taken apart, its rows as views."""

    def __init__(self, instruction: Instruction, isa: Isa) -> None:
        self.instruction = instruction
        self.functions: dict[int, _Function] = {}
        self.isa = isa
        self.rows = tuple(RowView(self, row) for row in instruction.rows)
        self.fields = tuple(found[2] for found in _FIELD.finditer(instruction.syntax))
        self.formats = {**({"shape": instruction.shape} if instruction.shape else {}), **instruction.spelled}
        for text in (instruction.syntax, *self.formats.values()):
            if set("{}") & set(_FIELD.sub("", text)):
                what = f"{text!r} has a brace that is not a field's"
                raise SpecError(what, instruction.place, "each field in braces: {shape}")
        self.bound = frozenset(self.fields) - set(self.formats) | {
            found[2] for text in self.formats.values() for found in _FIELD.finditer(text)
        }
        tokens = tuple(token for token in _FIELD.sub("", instruction.syntax).split(".") if token)
        if instruction.syntax[: len(instruction.name)] != instruction.name:
            raise SpecError(
                f"the syntax of {instruction.instruction} does not begin with its name",
                instruction.place,
                f"{instruction.name}…",
            )
        parts = [*_FIELD.split(instruction.syntax), "", ""]
        self.pieces = tuple(zip(parts[::3], parts[1::3], parts[2::3], strict=True))
        self.name = instruction.name
        self.fixed = tokens[instruction.name.count(".") + 1 :]

    def __getstate__(self) -> dict[str, object]:
        """The state that is pickled: without the compiled functions, whose keys mean nothing in another
        process.
        """
        return {**self.__dict__, "functions": {}}

    def token(self, field: str, fields: Mapping[str, str | int]) -> str | None:
        """How a field is spelled in a mnemonic; None when the qualifier is absent."""
        if field in self.formats:
            return self.formats[field].format_map(fields)
        value = str(fields[field])
        return None if value == ABSENT else value

    def variants(self) -> Iterator[Variant]:
        return itertools.chain.from_iterable(row.variants() for row in self.rows)

    def listed(self) -> Iterator[Variant]:
        """The variants that the text has; rows that assemblers merely tolerate are left out."""
        for row in self.rows:
            if not row.row.tolerated:
                yield from row.variants()

    def check(self) -> None:
        """Everything that can be wrong with an instruction on its own; raises SpecError."""
        check_gates(self.instruction, self.isa)
        for view in self.rows:
            self._check_row(view)
        self._check_disjoint()
        self._check_fields()
        self._check_uniform()
        self._check_layout_names()

    def _check_row(self, view: RowView) -> None:
        row = view.row
        missing = sorted(self.bound - set(view.domains))
        if missing:
            raise SpecError(
                f"the row {row.id} binds no {', '.join(missing)}",
                row.place,
                "every field of the syntax, with none for an absent qualifier",
            )
        self._check_names(view)
        for name in (*row.registers, *row.elements):
            if name not in self.instruction.operands:
                raise SpecError(
                    f"the row {row.id} gives registers or elements to the unknown operand {name!r}",
                    row.place,
                    nearest(name, self.instruction.operands),
                )
        for name in row.forms:
            if name not in self.instruction.forms:
                raise SpecError(
                    f"the row {row.id} names the unknown form {name!r}",
                    row.place,
                    nearest(name, self.instruction.forms),
                )
        for name in self.instruction.forms:
            for operand in self.instruction.forms[name].operands:
                if operand not in self.instruction.operands:
                    raise SpecError(
                        f"the form {name} names the unknown operand {operand!r}",
                        self.instruction.forms[name].place,
                        nearest(operand, self.instruction.operands),
                    )
        for name, operand_record in self.instruction.operands.items():
            for inner in operand_record.elements or ():
                if inner not in self.instruction.operands:
                    raise SpecError(
                        f"the operand {name} holds the unknown operand {inner!r}",
                        operand_record.place,
                        nearest(inner, self.instruction.operands),
                    )
        self._check_registers(view)
        count = 0
        dead = {(name, value) for name, values in view.domains.items() for value in values}
        for variant in view.variants():
            count += 1
            dead.difference_update(variant.fields.items())
            if not variant.gate.satisfiable:
                raise SpecError(
                    f"nothing satisfies the gates of {variant.mnemonic}",
                    row.place,
                    "a since below removed, and at least one common target",
                )
        if count != row.count:
            raise SpecError(
                f"the row {row.id} has {count} mnemonics, not {row.count}",
                row.place,
                f"count: {count}",
            )
        for name, value in sorted(dead, key=str):
            raise SpecError(
                f"the value {value} of {name} is in no mnemonic of the row {row.id}",
                (row.bind.get(name) or self.instruction.bind[name]).place,
                "values that the row's rule admits",
            )

    def _check_names(self, view: RowView) -> None:
        words = {as_name(str(v)) for other in self.rows for values in other.domains.values() for v in values}
        formulas = [condition.when for condition in view.conditions()]
        if view.row.where:
            formulas.append(view.row.where)
        formulas += [o.registers for o in self.instruction.operands.values() if o.registers]
        formulas += [o.valid for o in self.instruction.operands.values() if o.valid]
        formulas += [f for o in self.instruction.operands.values() for f in (o.matrix or {}).values()]
        formulas += [when for settings in self.instruction.readings.values() for when in settings.values()]
        words.add("value")
        for formula in formulas:
            for name in names(formula.tree):
                known = name in view.domains or name in words
                if not known and not (name.endswith("_bits") and name[:-5] in view.domains):
                    raise SpecError(
                        f"the name {name!r} is not bound in {formula.text!r}",
                        formula.place,
                        nearest(name, [*view.domains, *words]) or "a field of the row or one of its values",
                    )

    def _check_registers(self, view: RowView) -> None:
        used = {name for form in view.row.forms for name in self.instruction.forms[form].operands}
        for name in sorted(used):
            operand = self.instruction.operands[name]
            view.check_count(operand)
            if operand.registers is not None:
                for variant in itertools.islice(view.variants(), 1):
                    variant.evaluate(operand.registers)
            words = [v for v in operand.values.values if isinstance(v, str)] if operand.values else []
            if words:
                raise SpecError(
                    f"the value {words[0]!r} of the operand {name} is not an integer", operand.place, "0"
                )
            field = operand.contains
            if field is not None and field not in view.domains:
                raise SpecError(
                    f"the operand {name} contains elements of {field!r}, which is not a field",
                    operand.place,
                    nearest(field, view.domains) or "a field that every row binds",
                )
            vector = operand.registers is not None
            if field is not None and vector and set(view.domains[field]) == {ABSENT}:
                what = f"the row {view.row.id} has the operand {name}, and no {field} that it contains"
                raise SpecError(what, view.row.place, "forms without it, or a value of that field")
            field = operand.holds
            if field is None:
                continue
            if field not in view.domains:
                raise SpecError(
                    f"the operand {name} holds the type of {field!r}, which is not a field",
                    operand.place,
                    nearest(field, view.domains) or "a field that every row binds",
                )
            for value in view.domains[field]:
                view.element(field, value)

    def _check_uniform(self) -> None:
        """What has one value in a whole kernel is a field of every row; raises SpecError where it is not."""
        for field in self.instruction.uniform:
            for view in self.rows:
                if field not in view.domains:
                    raise SpecError(
                        f"the row {view.row.id} has no {field}, which is uniform in a kernel",
                        view.row.place,
                        nearest(field, view.domains) or "a field that every row binds",
                    )

    def _check_layout_names(self) -> None:
        """What stands for values in the ids of layouts is about fields, and values that they have."""
        for field, words in self.instruction.layout_names.items():
            values = {str(value) for view in self.rows for value in view.domains.get(field, ())}
            wrong = next((value for value in words if value not in values), None)
            if not values or wrong is not None:
                what = (
                    f"{field} of layout_names is not a field" if not values else f"{field} is never {wrong}"
                )
                raise SpecError(what, self.instruction.place, nearest(wrong or field, values or self.bound))

    def _check_fields(self) -> None:
        """A qualifier that may stand anywhere tells its field: no other field has it, in any row."""
        index = self.isa.index
        kept_in_order = frozenset(index.types).union(*index.ordered.values())
        field_of: dict[str, str] = {}
        for view in self.rows:
            for field in self.fields:
                for value in map(str, view.domains.get(field, ())):
                    if value == ABSENT or value in kept_in_order:
                        continue
                    other = field_of.setdefault(value, field)
                    if other != field:
                        bound = view.row.bind.get(field) or self.instruction.bind[field]
                        raise SpecError(
                            f".{value} is bound as {field} in the row {view.id}, and as {other} in another",
                            bound.place,
                            "one field for each qualifier",
                        )

    def _check_disjoint(self) -> None:
        seen: dict[str, Row] = {}
        for view in self.rows:
            mine: set[str] = set()
            for variant in view.variants():
                other = seen.setdefault(variant.mnemonic, view.row)
                if other is not view.row or variant.mnemonic in mine:
                    raise SpecError(
                        f"the rows {other.id} and {view.row.id} both spell {variant.mnemonic}",
                        view.row.place,
                        "rows that share no mnemonic",
                    )
                mine.add(variant.mnemonic)

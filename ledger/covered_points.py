"""Does an entry of contradictions.yaml explain a statement? It does if the rest is legal without its change.

Legality is asked once for each statement, as the gate of the variant that it spells; the gate answers for
every version and target.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache

from ..assemblers.asking import register_types
from ..assemblers.universe import Universe
from ..spec.api import load
from ..spec.constants import SyntaxFault
from ..spec.gates import EffectiveGate
from ..spec.legality import Judge
from ..spec.model import Form
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.statements import Argument, Statement, arguments, read_statement
from ..spec.statements import element_kind as literal_kind
from ..spec.variants import ABSENT, Variant
from .contradiction_file import Points, alternatives, operand_texts, written_out, written_qualifiers
from .literal_classes import THE_LEGAL, in_class, is_class, without_class
from .mixed_vectors import mixed_places

__all__ = [
    "CoveredPoints",
    "Covers",
    "Undoing",
    "among",
    "element_kind",
    "operand_form",
    "read",
    "spelled",
    "writes_twice",
]

_LITERALS = frozenset("0123456789.+-")  # what they begin with
_SPECIAL = "special "  # before the type of a special register
_INTEGER = ("immediate", None, "", ())  # the key of any integer literal


@dataclass(frozen=True)
class Undoing:
    """How a statement is made legal again: the variant and the gate that it then has (None: it is listed),
    and the `parts` of the points that are needed for it: what is written, which elements, which qualifiers.
    """

    variant: Variant | None
    gate: EffectiveGate | None
    parts: tuple[str, ...] = ()

    def opens(self, points: Points, ptx: Version, target: str) -> bool:
        """Whether the legal statement is legal under a version and on a target, as these points have it."""
        return self.gate is None or self.gate.opens(points.since or ptx, points.like or target)


@dataclass(frozen=True)
class Covers:
    """Some points cover a statement, wherever the gate of one of the legal statements is open."""

    points: Points
    undoings: tuple[Undoing, ...]

    def at(self, ptx: Version, target: str) -> bool:
        """Whether they cover it under a version and on a target."""
        return any(undoing.opens(self.points, ptx, target) for undoing in self.undoings)


@dataclass(frozen=True)
class _Legal:
    """A legal statement's variant, the form of its operands, and its gate."""

    variant: Variant
    form: Form
    gate: EffectiveGate


@dataclass(frozen=True)
class CoveredPoints:
    """Which points cover a statement, by the specification."""

    specification: Specification

    def of(self, points: Points, text: str) -> Covers | None:
        """When points cover a statement; None when they never do, or when the statement cannot be read."""
        statement = read(text)
        return self.of_statement(points, statement) if statement is not None else None

    def of_statement(self, points: Points, statement: Statement) -> Covers | None:
        """The same of a statement that is read already."""
        if points.statements:
            key = spelled(statement)
            listed = _listed(points.statements).get(key) if key is not None else None
            return Covers(points, (Undoing(None, None, (listed,)),)) if listed else None
        undoings = tuple(self.undoings(points, statement))
        return Covers(points, undoings) if undoings else None

    def undoings(self, points: Points, statement: Statement) -> Iterator[Undoing]:
        """The legal statements that result from undoing the one change; none for listed statements."""
        for undone in self._every_undone(points, statement):
            legal = self._legal(points, undone.statement)
            if legal is None:
                continue
            if undone.place is None or legal.form.operands[undone.place] == points.operand:
                yield Undoing(legal.variant, legal.gate, undone.parts)

    def undone(self, points: Points, statement: Statement) -> Iterator[Statement]:
        """The statement with the one change undone, legal or not."""
        for undone in self._every_undone(points, statement):
            yield undone.statement

    def _every_undone(self, points: Points, statement: Statement) -> Iterator[_Undone]:
        if points.operand is not None:
            yield from self._operand_undone(points, statement)
        elif points.twice:
            if self._writes_twice(statement):
                yield _Undone(statement, ())
        elif not points.statements:
            yield from _qualifiers_undone(points, statement)

    def _writes_twice(self, statement: Statement) -> bool:
        """Whether a register stands twice where results are written."""
        variant = self._anywhere.variant_of(statement.mnemonic)
        operands = _Operands.of(statement) if variant is not None else None
        if variant is None or operands is None:
            return False
        return any(
            writes_twice(variant, form, operands.texts)
            for form in variant.forms
            if len(form.operands) == len(operands.texts)
        )

    def _operand_undone(self, points: Points, statement: Statement) -> Iterator[_Undone]:
        """The same if an operand is written otherwise, at every place where one is."""
        usual = statement.declared is _types()
        operands = _usual_operands(statement.operands) if usual else _Operands.of(statement)
        if operands is None:
            return
        if usual and operands.every.isdisjoint(_wanted(points.written, points.elements)):
            return
        texts = operands.texts
        for place, text in enumerate(texts):
            written = _written(points, operands, place, statement.declared)
            if written is None:
                continue
            for instead in self._instead(points, statement, text, place, written):
                changed = [*texts[:place], instead, *texts[place + written.count :]]
                yield _Undone(replace(statement, operands=", ".join(changed)), written.parts, place)

    def _instead(
        self, points: Points, statement: Statement, text: str, place: int, written: _Written
    ) -> Iterator[str]:
        """The operand as it is legal: as the universe writes it, or as it stands where it is refused so."""
        if written.legal is not None:
            yield written.legal
            return
        if points.direction != "accepted":
            yield text
            return
        variant = self._anywhere.variant_of(statement.mnemonic)
        if variant is None:
            return
        usual = dict.fromkeys(
            self._universe.write(variant, form).operands[place]
            for form in variant.forms
            if form.operands[place : place + 1] == (points.operand,)
        )
        for legal in usual:
            if points.written:
                yield without_class(written.parts[0], arguments(text)[0].value, legal)
            elif written.vector is None:
                yield legal.strip("{}").split(", ")[0]
            else:
                element = legal.strip("{}").split(", ")[0]
                parts = [element if n in written.places else p for n, p in enumerate(written.vector)]
                yield "{" + ", ".join(parts) + "}"

    def _legal(self, points: Points, statement: Statement) -> _Legal | None:
        """The legal statement, if it is one of the rows and fields of the points; otherwise None."""
        if statement.declared is not _types():
            legal = self._judged(statement)
        else:
            key = statement.guard, statement.mnemonic, statement.operands
            if key not in self._known:
                self._known[key] = self._judged(statement)
            legal = self._known[key]
        return legal if legal is not None and among(points, legal.variant) else None

    def _judged(self, statement: Statement) -> _Legal | None:
        """The legal statement, whatever its version and target; None where it is not legal at all."""
        verdict = self._anywhere.judge_statement(statement)
        variant, form = verdict.variant, verdict.form
        if variant is None or form is None:
            return None
        if not all(reason.code.startswith("gate.") for reason in verdict.reasons):
            return None
        gates = [*variant.row.gates_on(variant.fields), *([form.gate] if form.gate else [])]
        return _Legal(variant, form, self.specification.isa.effective(gates))

    @cached_property
    def _known(self) -> dict[tuple[object, ...], _Legal | None]:
        """What was judged, by guard, mnemonic and operands."""
        return {}

    @cached_property
    def _anywhere(self) -> Judge:
        """A judge of the newest version and any target, so that only gates depend on version and target."""
        return self.specification.judge()

    @cached_property
    def _universe(self) -> Universe:
        return Universe(self.specification)


@dataclass(frozen=True)
class _Undone:
    """A statement without one change, the parts of the points that are needed for it, and the number of the
    operand that was changed; None where it was a qualifier, or nothing that is written.
    """

    statement: Statement
    parts: tuple[str, ...]
    place: int | None = None


@dataclass(frozen=True)
class _Written:
    """An operand that is written as points say: which of their parts it has, and at which of its elements;
    or `count` operands in its place, of which one is `legal`.
    """

    parts: tuple[str, ...]
    vector: tuple[str, ...] | None = None
    places: frozenset[int] = frozenset()
    count: int = 1
    legal: str | None = None


@cache
def _types() -> Mapping[str, str]:
    """The types of the registers that every kernel declares."""
    return register_types()


@cache
def _special_kinds() -> Mapping[str, str]:
    """By its text, the kind of every special register: one stands for all of its type."""
    special = load().isa.special_types
    return {text: kind if kind == "pred" else f"{_SPECIAL}{kind}" for text, kind in special.items()}


def _kind(text: str, types: Mapping[str, str]) -> str:
    """An element's key: the type of a register, declared or special, the kind of a literal, else the text."""
    found = types.get(text) or _special_kinds().get(text)
    if found is None and text[:1] in _LITERALS:
        with suppress(SyntaxFault):
            return f"literal {literal_kind(text)}"
    return found or text


def among(points: Points, variant: Variant) -> bool:
    """Whether a variant has one of the listed rows and the listed fields."""
    name = variant.row.family.instruction.instruction
    if name != points.instruction or variant.row.row.id not in points.rows:
        return False
    return all(variant.fields.get(field) in listed.values for field, listed in points.fields.items())


def read(text: str) -> Statement | None:
    """A statement with the types of its registers; None when it cannot be read."""
    try:
        statement = read_statement(text)
    except SyntaxFault:
        return None
    own = statement.declared
    return replace(statement, declared={**_types(), **own} if own else _types())


@cache
def _listed(statements: tuple[str, ...]) -> Mapping[tuple[object, ...], str]:
    """By key, the listed statements, each with one of its choices."""
    every = [text for statement in statements for text in alternatives(statement)]
    found = {spelled(read_statement(written_out(text))): text for text in every}
    return {key: text for key, text in found.items() if key is not None}


@cache
def _forms(written: tuple[str, ...]) -> Mapping[tuple[object, ...], str]:
    """By key, the listed operands; without those where several stand."""
    return {operand_form(written_out(text)): text for text in written if THE_LEGAL not in text}


@cache
def _several_forms(written: tuple[str, ...]) -> tuple[tuple[str, tuple[tuple[object, ...], ...]], ...]:
    """The listed texts where several operands stand, each with their keys: the longest first."""
    several = ((text, tuple(map(operand_form, operand_texts(text)))) for text in written if THE_LEGAL in text)
    return tuple(sorted(several, key=lambda pair: -len(pair[1])))


def operand_form(text: str) -> tuple[object, ...]:
    """An operand's key, in which the numbers of registers do not count; a class of literals is its own, and
    so are several operands.
    """
    if is_class(text) or THE_LEGAL in text:
        return (text,)
    return _form(arguments(text)[0], text, _types())


def element_kind(text: str) -> str:
    """An element's key: the type of a register, declared or special, the kind of a literal, else the text."""
    return _kind(text, _types())


def spelled(statement: Statement) -> tuple[object, ...] | None:
    """A statement's key, in which the numbers of registers do not count; None when it cannot be read."""
    types = _types()
    try:
        given = arguments(statement.operands)
    except SyntaxFault:
        return None
    texts = operand_texts(statement.operands)
    forms = tuple(_form(a, text, types) for a, text in zip(given, texts, strict=True))
    return statement.guard, statement.mnemonic, forms


def _qualifiers_undone(points: Points, statement: Statement) -> Iterator[_Undone]:
    """The statement with legal qualifiers; unchanged if the points change a version or a target."""
    tokens = statement.mnemonic.split(".")
    if points.surplus:
        for fewer, gone in _fewer(tokens, frozenset(points.surplus)):
            yield _Undone(replace(statement, mnemonic=".".join(fewer)), gone)
        return
    for qualifiers in written_qualifiers(points.qualifiers):
        legal = _replaced(tokens, qualifiers)
        if legal is not None:
            yield _Undone(replace(statement, mnemonic=".".join(legal)), tuple(qualifiers))


def _replaced(tokens: Sequence[str], qualifiers: Mapping[str, str]) -> list[str] | None:
    """The qualifiers with the legal ones in place of those written; None where one does not stand there, or
    stands there twice.
    """
    legal = list(tokens)
    for written, instead in qualifiers.items():
        if written == ABSENT:
            legal.append(instead)
            continue
        words = written.split(".")
        places = [at for at in range(1, len(legal)) if legal[at : at + len(words)] == words]
        if len(places) != 1:
            return None
        legal[places[0] : places[0] + len(words)] = instead.split(".")
    return legal


def _fewer(tokens: list[str], surplus: frozenset[str]) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """Every list of the qualifiers without one or more of the surplus ones, and those that it lacks."""
    places = [place for place in range(1, len(tokens)) if tokens[place] in surplus]
    for count in range(1, len(places) + 1):
        for gone in itertools.combinations(places, count):
            rest = [token for place, token in enumerate(tokens) if place not in gone]
            yield rest, tuple(tokens[place] for place in gone)


def _written(points: Points, operands: _Operands, place: int, types: Mapping[str, str]) -> _Written | None:
    """Which parts of the points an operand has; None when it has none."""
    if points.written:
        own, value = operands.forms[place], operands.values[place]
        found = _forms(points.written).get(own)
        if found is None and own[0] == _INTEGER[0]:
            found = next((text for text in points.written if in_class(text, value)), None)
        return _Written((found,)) if found is not None else _several(points.written, operands, place)
    kinds, vector = operands.kinds[place], operands.vectors[place]
    if types is _types():
        parts, places = _usual_places(kinds, points.elements, points.runs)
    else:
        parts, places = _places(kinds, _kinds_of(points.elements, types), points.runs)
    return _Written(parts, vector, places) if places else None


def _several(written: tuple[str, ...], operands: _Operands, place: int) -> _Written | None:
    """Which several operands of those that are listed stand at a place; None where none do."""
    for text, parts in _several_forms(written):
        forms = operands.forms[place : place + len(parts)]
        values = operands.values[place : place + len(parts)]
        if len(forms) == len(parts) and all(
            part in ((THE_LEGAL,), own) or (own[0] == _INTEGER[0] and in_class(str(part[0]), value))
            for part, own, value in zip(parts, forms, values, strict=True)
        ):
            legal = place + parts.index((THE_LEGAL,))
            return _Written((text,), count=len(parts), legal=operands.texts[legal])
    return None


def _kinds_of(elements: Iterable[str], types: Mapping[str, str]) -> Mapping[str, str]:
    """Listed elements by their keys."""
    return {_kind(element, types): element for element in elements}


@cache
def _usual_places(
    kinds: tuple[str, ...], elements: tuple[str, ...], runs: tuple[int, ...]
) -> tuple[tuple[str, ...], frozenset[int]]:
    """The same as `_places`, of the registers that every kernel declares."""
    return _places(kinds, _kinds_of(elements, _types()), runs)


def _places(
    kinds: Sequence[str], listed: Mapping[str, str], runs: Sequence[int]
) -> tuple[tuple[str, ...], frozenset[int]]:
    """Which of the listed elements stand among some kinds, and at which places."""
    places = frozenset(at for at, kind in enumerate(kinds) if kind in listed)
    if runs and places:
        plain = [kind.removeprefix(_SPECIAL) for kind in kinds]
        places &= mixed_places(plain, runs, listed, load().index.similar_types)
    return tuple(dict.fromkeys(listed[kinds[at]] for at in sorted(places))), places


@dataclass(frozen=True)
class _Operands:
    """The operands of a statement: their texts, their keys, the values of literals, the elements of vectors,
    and the kinds of all elements; `every` has all keys and kinds.
    """

    texts: tuple[str, ...]
    forms: tuple[tuple[object, ...], ...]
    values: tuple[int, ...]
    vectors: tuple[tuple[str, ...] | None, ...]
    kinds: tuple[tuple[str, ...], ...]
    every: frozenset[object]

    @classmethod
    def of(cls, statement: Statement) -> _Operands | None:
        """Those of a statement; None where they cannot be read."""
        types = statement.declared
        try:
            given = arguments(statement.operands)
        except SyntaxFault:
            return None
        texts = operand_texts(statement.operands)
        forms = tuple(_form(argument, text, types) for argument, text in zip(given, texts, strict=True))
        vectors = tuple(tuple(one.registers) if one.shape == "vector" else None for one in given)
        kinds = tuple(
            tuple(_kind(part, types) for part in vector or (text,))
            for vector, text in zip(vectors, texts, strict=True)
        )
        every = {*itertools.chain(forms, *kinds), *(_INTEGER for form in forms if form[0] == _INTEGER[0])}
        return cls(texts, forms, tuple(a.value for a in given), vectors, kinds, frozenset(every))


@lru_cache(maxsize=1 << 14)
def _usual_operands(operands: str) -> _Operands | None:
    """Those whose registers have the types that every kernel declares."""
    return _Operands.of(Statement(None, "", operands, _types()))


@cache
def _wanted(written: tuple[str, ...], elements: tuple[str, ...]) -> frozenset[object]:
    """The keys of listed operands, or the kinds of listed elements: points need one of them."""
    if not written:
        return frozenset(map(element_kind, elements))
    parts = [part for _, forms in _several_forms(written) for part in forms if part != (THE_LEGAL,)]
    forms = {*_forms(written), *parts}
    return frozenset((*forms, _INTEGER) if any(is_class(str(form[0])) for form in forms) else forms)


def writes_twice(variant: Variant, form: Form, texts: Sequence[str]) -> bool:
    """Whether one register stands twice in the operands of a form that take results."""
    operands = variant.row.family.instruction.operands
    written = [
        register
        for name, text in zip(form.operands, texts, strict=True)
        if operands[name].role == "destination"
        for register in arguments(text)[0].registers
        if register != "_"
    ]
    return len(set(written)) < len(written)


def _form(argument: Argument, text: str, types: Mapping[str, str]) -> tuple[object, ...]:
    """An operand's key: kind, value, and the types of its registers, not their numbers. Of a literal of
    floating point only its width counts.
    """
    literal = literal_kind(text) if argument.shape == "float" else ""
    return (
        argument.shape,
        argument.value,
        literal,
        tuple(_kind(name, types) for name in argument.registers),
    )

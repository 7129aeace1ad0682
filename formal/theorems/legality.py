"""Theorems about legality: what is judged legal is what the rows, their rules and their gates say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial

from ...spec.diagnosis import ordered_classes
from ...spec.gates import EffectiveGate, Isa
from ...spec.legality import Judge
from ...spec.specification import Specification
from ...spec.variants import ABSENT, Family, RowView, Variant
from ..row_symbols import RowSymbols, one_of
from ..smt.bitvectors import conjunction
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import UGE, ULE, And, BitVec, BitVecVal, BoolVal, If, Not, Or, Term, substitute
from ..theorem import Enumeration, ProofPart, Theorem, TheoremGroup
from .suggestions import operands_of

__all__ = ["GROUP", "JudgedGates", "legality_obligations"]

_Slot = list[tuple[Term, tuple[str, ...]]]  # the ways to spell a field, each with its condition
_TARGETS = "targets"
_OTHER = "other: "  # before the name of a second combination's field


class JudgedGates:
    """Under which versions and on which targets each gate is open, as `EffectiveGate.opens` says."""

    def __init__(self, symbols: RowSymbols) -> None:
        self.symbols = symbols
        self.isa = symbols.isa
        self._terms: dict[EffectiveGate, Term] = {}

    def open(self, gate: EffectiveGate) -> Term:
        """The gate is open for the version and the target; every pair of them was asked about."""
        if gate not in self._terms:
            versions = self.symbols.versions
            targets: dict[tuple[int, ...], list[int]] = {}
            for number, name in enumerate(self.isa.index.targets):
                opened = tuple(n for n, version in enumerate(versions) if gate.opens(version, name))
                targets.setdefault(opened, []).append(number)
            self._terms[gate] = Or(
                *(
                    And(one_of(self.symbols.version, opened), one_of(self.symbols.target, numbers))
                    for opened, numbers in targets.items()
                )
            )
        return self._terms[gate]

    def said(self, model: Model) -> str:
        """The version and the target of a counterexample."""
        version = self.symbols.versions[model.get(str(self.symbols.version), 0)]
        names = tuple(self.isa.index.targets)
        return f"PTX ISA {version}, {names[model.get(str(self.symbols.target), 0)]}"


class _Spelled:
    """How combinations of one instruction's fields are spelled, as formulas: qualifiers that may be permuted
    are a set, those of each ordered class a list.
    """

    def __init__(self, symbols: RowSymbols) -> None:
        family = symbols.family
        self.symbols = symbols
        self.classes = ordered_classes(symbols.isa.index)
        numbers = {word: 1 + number for number, word in enumerate(sorted(self.classes))}
        self._bits = len(numbers).bit_length()
        self._numbers = numbers
        fixed: list[_Slot] = [[(BoolVal(True), (token,))] for token in family.fixed]
        self.slots = [*fixed, *(self._slot(name) for name in family.fields)]
        self.words = {
            token
            for slot in self.slots
            for _, tokens in slot
            for token in tokens
            if token not in self.classes
        }

    def _slot(self, name: str) -> _Slot:
        """Each way to spell a field, with the condition under which it is spelled so."""
        family, symbols = self.symbols.family, self.symbols
        values: dict[tuple[str, ...], list[Term]] = {}
        if name in family.formats:
            read = [field for field in symbols.fields if f"{{{field}}}" in family.formats[name]]
            for given in {tuple(v.fields[field] for field in read) for v in family.variants()}:
                fields = dict(zip(read, given, strict=True))
                condition = conjunction(symbols.fields[f] == symbols.code(v) for f, v in fields.items())
                text = family.formats[name].format_map(fields)
                values.setdefault(tuple(text.split(".")), []).append(condition)
        else:
            for value in {value for view in family.rows for value in view.domains[name]}:
                if value != ABSENT:
                    same = symbols.fields[name] == symbols.code(value)
                    values.setdefault(tuple(str(value).split(".")), []).append(same)
        return [
            (Or(*conditions), tokens) for tokens, conditions in sorted(values.items(), key=lambda p: p[0])
        ]

    def has(self, word: str) -> Term:
        """The qualifier stands, wherever it may."""
        return Or(*(condition for slot in self.slots for condition, tokens in slot if word in tokens))

    def sequence(self, number: int, places: int) -> Term:
        """The qualifiers of an ordered class, one after another in a word; the first is the highest."""
        found: Term = BitVecVal(0, self._bits * places)
        for slot in self.slots:
            longer = found
            for condition, tokens in slot:
                own = [self._numbers[token] for token in tokens if self.classes.get(token) == number]
                if own:
                    added = found
                    for code in own:
                        added = (added << self._bits) | BitVecVal(code, self._bits * places)
                    longer = If(condition, added, longer)
            found = longer
        return found

    def places(self, number: int) -> int:
        """How many qualifiers of an ordered class there can be."""
        counts = (
            max((sum(self.classes.get(t) == number for t in tokens) for _, tokens in slot), default=0)
            for slot in self.slots
        )
        return sum(counts)


def _spelled_alike(one: _Spelled, other: _Spelled, copies: Mapping[Term, Term]) -> Term:
    """Two combinations, the fields of the second replaced by their copies, are spelled alike."""
    pairs = [(one.has(word), other.has(word)) for word in sorted(one.words | other.words)]
    for number in sorted(set(one.classes.values())):
        places = max(one.places(number), other.places(number))
        if places:
            pairs.append((one.sequence(number, places), other.sequence(number, places)))
    return And(*(mine == substitute(theirs, copies) for mine, theirs in pairs))


class _LegalityFormulas:
    """The formulas about one instruction, made when they are first asked for."""

    def __init__(self, family: Family, judge: Callable[[], Judge]) -> None:
        self.family = family
        self.judge = judge
        self._numbers: dict[EffectiveGate, int] = {}
        self._number_of: dict[int, int] = {}

    @cached_property
    def symbols(self) -> RowSymbols:
        return RowSymbols(self.family)

    @cached_property
    def gates(self) -> JudgedGates:
        return JudgedGates(self.symbols)

    @cached_property
    def spelled(self) -> _Spelled:
        return _Spelled(self.symbols)

    def table(self, view: RowView) -> Term:
        """What is judged legal of a row, by the variant that its own mnemonic is read as."""
        names = tuple(view.domains)
        found = self.judge().variant_of
        entries = {
            tuple(self.symbols.code(variant.fields[name]) for name in names): self._numbered(variant.gate)
            for variant in view.variants()
            if found(variant.mnemonic) is variant
        }
        return self._decided([self.symbols.fields[name] for name in names], entries)

    def _numbered(self, gate: EffectiveGate) -> int:
        """The number of a gate; equal gates have one. (The hash of a gate takes long.)"""
        if id(gate) not in self._number_of:
            if gate not in self._numbers:
                self._numbers[gate] = len(self._numbers)
            self._number_of[id(gate)] = self._numbers[gate]
        return self._number_of[id(gate)]

    @cached_property
    def distinct_gates(self) -> tuple[EffectiveGate, ...]:
        """The gates of all variants, by number."""
        for variant in self.family.variants():
            self._numbered(variant.gate)
        return tuple(self._numbers)

    def _decided(self, fields: Sequence[Term], entries: Mapping[tuple[int, ...], int]) -> Term:
        """Some entry has the values of the fields, and its gate is open: a decision diagram, whose equal
        parts are one term.
        """
        known: dict[tuple[int, frozenset[tuple[tuple[int, ...], int]]], Term] = {}
        gates = self.distinct_gates

        def below(depth: int, some: Mapping[tuple[int, ...], int]) -> Term:
            key = depth, frozenset(some.items())
            if key not in known:
                known[key] = made(depth, some)
            return known[key]

        def made(depth: int, some: Mapping[tuple[int, ...], int]) -> Term:
            if depth == len(fields):
                return self.gates.open(gates[some[()]]) if some else BoolVal(False)
            by_value: dict[int, dict[tuple[int, ...], int]] = {}
            for values, gate in some.items():
                by_value.setdefault(values[0], {})[values[1:]] = gate
            alike: dict[int, tuple[Term, list[int]]] = {}
            for value, rest in by_value.items():
                term = below(depth + 1, rest)
                alike.setdefault(id(term), (term, []))[1].append(value)
            return Or(*(And(one_of(fields[depth], values), term) for term, values in alike.values()))

        return below(0, entries)

    def row(self, view: RowView) -> str:
        """A combination, a version and a target that the row's formulas and the judge tell apart."""
        stated = And(self.symbols.row(view), self.symbols.gates(view), self.symbols.exists)
        return refuting(self.symbols.known, stated != self.table(view))

    def explain(self, view: RowView, model: Model) -> str:
        words = {code: word for word, code in self.symbols.codes.items()}
        values = {name: model.get(str(self.symbols.fields[name]), 0) for name in view.domains}
        fields = ", ".join(f"{name} = {words.get(value, value)}" for name, value in values.items())
        return f"{view.row.place}: {fields} ({self.gates.said(model)}) is judged otherwise than the row says"

    def read(self, other: _LegalityFormulas) -> str:
        """Two combinations of rows, of one instruction or two, that are spelled alike."""
        mine, theirs = self.symbols.fields, other.symbols.fields
        copies = {symbol: BitVec(f"{_OTHER}{name}", other.symbols.width) for name, symbol in theirs.items()}
        rows = Or(*(other.symbols.row(view) for view in other.family.rows))
        unlike: Term = BoolVal(True)
        if other is self:
            unlike = Or(*(mine[name] != copies[mine[name]] for name in sorted(self.family.bound)))
        return refuting(
            Or(*(self.symbols.row(view) for view in self.family.rows)),
            substitute(rows, copies),
            _spelled_alike(self.spelled, other.spelled, copies),
            unlike,
        )

    def confused(self, other: _LegalityFormulas, model: Model) -> str:
        """The mnemonic that two combinations share."""
        words = {code: word for word, code in self.symbols.codes.items()}
        shown = ", ".join(
            f"{name} = {words.get(model[str(s)], model[str(s)])}"
            for name, s in self.symbols.fields.items()
            if name in self.family.bound and str(s) in model
        )
        return (
            f"{self.family.instruction.place}: a combination ({shown}) is spelled, but for the order of its "
            f"qualifiers, as another of {other.family.instruction.instruction}"
        )

    def monotone(self, along: str) -> str:
        """A gate that shuts again in a later version, or is shut on a target that includes an open one."""
        gates = self.distinct_gates
        number = BitVec("gate", len(gates).bit_length())
        version, target, known = self.symbols.version, self.symbols.target, self.symbols.known
        now = Or(*(And(number == n, self.gates.open(gate)) for n, gate in enumerate(gates)))
        if along == _TARGETS:
            including = BitVec("including target", target.size())
            there, exists = (
                substitute(term, {target: including}) for term in (now, And(known, self.symbols.exists))
            )
            included = _includes(self.family.isa, including, target)
            return refuting(known, exists, now, included, Not(there))
        later = BitVec("later version", version.size())
        after, later_known = (substitute(term, {version: later}) for term in (now, known))
        ends = [(n, self.symbols.number(gate.removed)) for n, gate in enumerate(gates) if gate.removed]
        gone = Or(*(And(number == n, UGE(later, end)) for n, end in ends))
        return refuting(known, later_known, now, ULE(version, later), Not(gone), Not(after))

    def shut(self, model: Model) -> str:
        gates = tuple(dict.fromkeys(variant.gate for variant in self.family.variants()))
        gate = gates[model.get("gate", 0)]
        variant = next(variant for variant in self.family.variants() if variant.gate == gate)
        return (
            f"{variant.row.row.place}: {variant.mnemonic} ({self.gates.said(model)}) is not legal thereafter"
        )


def _includes(isa: Isa, including: Term, included: Term) -> Term:
    """A target includes another, directly or through others, by the lists of specs.yaml alone."""
    targets = isa.index.targets
    number = {name: n for n, name in enumerate(targets)}
    parts = []
    for name in targets:
        reached, rest = {name}, [name]
        while rest:
            more = [one for one in targets[rest.pop()].includes if one not in reached]
            reached.update(more)
            rest += more
        parts.append(And(including == number[name], one_of(included, [number[one] for one in reached])))
    return Or(*parts)


def legality_obligations(one: _LegalityFormulas, every: Sequence[_LegalityFormulas]) -> Iterator[Obligation]:
    """All obligations of one instruction about legality."""
    name = one.family.instruction.instruction
    for view in one.family.rows:
        yield Obligation("legal.row", view.id, partial(one.row, view), partial(one.explain, view))
    for other in every:
        pair = name if other is one else f"{name}, {other.family.instruction.instruction}"
        yield Obligation("legal.read", pair, partial(one.read, other), partial(one.confused, other))
    for what in ("versions", _TARGETS):
        yield Obligation("gates.monotone", f"{name} {what}", partial(one.monotone, what), one.shut)


def _parts(specification: Specification) -> Iterator[ProofPart]:
    judge = cache(specification.judge)
    every = {name: _LegalityFormulas(family, judge) for name, family in specification.families.items()}
    before: dict[str, list[_LegalityFormulas]] = {}
    for name, one in every.items():
        group = before.setdefault(one.family.name, [])
        group.append(one)
        yield ProofPart(f"instruction {name}", partial(legality_obligations, one, tuple(group)))


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    yield f"instruction {row.family.instruction.instruction}"


def _round_trip(judge: Callable[[], Judge], family: Family) -> Iterator[str]:
    """The variants whose statements are read otherwise than they are written."""
    for variant in family.variants():
        fault = _read_otherwise(judge(), variant)
        if fault:
            yield f"{variant.row.row.place}: {fault}"


def _read_otherwise(judge: Judge, variant: Variant) -> str | None:
    read = judge.variant_of(variant.mnemonic)
    if read is None:
        return f"{variant.mnemonic} is not read as any variant"
    if read is not variant or read.mnemonic != variant.mnemonic:
        return f"{variant.mnemonic} is read as {read.mnemonic} of the row {read.row.id}"
    for form in variant.forms:
        operands = operands_of(variant, form)
        verdict, _ = judge.judge_plain(variant.mnemonic, operands)
        if verdict.variant is not variant or verdict.form is not form:
            return f"{variant.mnemonic} {operands}; is not read in the form ({', '.join(form.operands)})"
    return None


def _enumerations(specification: Specification) -> Iterator[Enumeration]:
    judge = cache(specification.judge)
    for name, family in specification.families.items():
        yield Enumeration(
            "legal.round_trip", name, f"instruction {name}", partial(_round_trip, judge, family)
        )


GROUP = TheoremGroup(
    35,
    (
        Theorem(
            "legal.row",
            "what is judged legal is the row's product, under its rule and its gates",
            small=True,
            formula="for all fields, a version and a target: judged legal == row and rule and gates",
            fails="a combination, a version and a target that the judge and the row's formulas tell apart",
        ),
        Theorem(
            "legal.read",
            "no two variants are spelled alike, qualifiers in any order",
            formula="for fields x != y: their qualifiers differ, in whatever order",
            fails="a mnemonic that two combinations share",
        ),
        Theorem(
            "gates.monotone",
            "legal stays legal: in later versions until removed, on including targets",
            small=True,
            formula="open at (v, t): so at each later v until removed, and on targets that include t",
            fails="a gate that shuts again in a later version, or on a target that includes an open one",
        ),
        Theorem(
            "legal.round_trip",
            "every variant, written in each form, is read so",
            enumerated=True,
            formula="for each variant and form: read(written(variant, form)) == (variant, form)",
            fails="a statement that is read otherwise than it is written",
        ),
    ),
    _parts,
    _behind,
    _enumerations,
)

"""Theorems about legal words: a word is made of legal values, or there is a first reason to refuse it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from ...spec.described_operands import descriptor_of
from ...spec.descriptor import legal_values, limit, mask
from ...spec.descriptor_rules import field_names, rule_tree
from ...spec.expressions import names
from ...spec.memory_records import Descriptor, DescriptorField, DescriptorRule
from ...spec.model import Gate
from ...spec.specification import Specification
from ...spec.variants import RowView
from ..smt.bitvectors import BitVectors, conjunction, width_for
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import And, BitVec, BitVecVal, Bool, Extract, Not, Or, Term, ZeroExt
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "different_words", "rule_obligations"]


def different_words(name: str, old: Descriptor, new: Descriptor) -> str:
    """Asks for a word that one of two descriptors with the same fields and settings refuses alone."""
    before, after = _DescriptorWords(name, old), _DescriptorWords(name, new)
    legal = before.is_legal(before.parts), after.is_legal(after.parts)
    return refuting(before.domain, Or(And(legal[0], Not(legal[1])), And(legal[1], Not(legal[0]))))


def rule_obligations(name: str, descriptor: Descriptor) -> Iterator[Obligation]:
    """Every obligation about the legal words of one descriptor, over all words, all values of fields and of
    settings, and all versions and targets: a rule that is lifted somewhere, or holds only somewhere, may hold
    or not.
    """
    words = _DescriptorWords(name, descriptor)
    refused = [(what, part) for what, part in words.refusals.items()]
    is_refused = Or(*(part for _, part in refused))
    made = words.made(words.codes)

    def shown(model: Model) -> str:
        return f"the word {model.get('word', 0):#x}"

    yield Obligation(
        "word.apart",
        name,
        partial(refuting, words.domain, words.is_legal(words.codes), words.word == made, is_refused),
        lambda model: f"{shown(model)} is made of legal values, and refused",
    )
    yield Obligation(
        "word.covered",
        name,
        partial(
            refuting,
            words.domain,
            Not(is_refused),
            Or(words.word != words.made(words.parts), Not(words.is_legal(words.parts))),
        ),
        lambda model: f"{shown(model)} is not refused, and no legal values make it",
    )
    for number, (what, part) in enumerate(refused):
        before = Or(*(other for _, other in refused[:number]))
        yield Obligation(
            "word.reason",
            f"{name}, {what}",
            partial(refuting, words.domain, part, Not(before)),
            lambda _, what=what: f"no word is refused for {what} first",  # type: ignore[misc]
            expects="sat",
        )


@dataclass(frozen=True)
class _DescriptorWords:
    """The words of a descriptor as formulas: what each is made of, and what refuses it."""

    name: str
    descriptor: Descriptor

    @property
    def fields(self) -> Mapping[str, DescriptorField]:
        return self.descriptor.fields

    @cached_property
    def word(self) -> Term:
        return BitVec("word", self.descriptor.bits)

    @cached_property
    def codes(self) -> dict[str, Term]:
        """The coded value of every field, any."""
        return {key: BitVec(key, field.high - field.low + 1) for key, field in self.fields.items()}

    @cached_property
    def parts(self) -> dict[str, Term]:
        """The coded value of every field in the word."""
        return {key: Extract(field.high, field.low, self.word) for key, field in self.fields.items()}

    @cached_property
    def settings(self) -> dict[str, Term]:
        """The settings, each wide enough for its values."""
        most = {key: max(map(int, one.values)) for key, one in self.descriptor.settings.items()}
        return {key: BitVec(key, max(value.bit_length(), 1)) for key, value in most.items()}

    @property
    def domain(self) -> Term:
        """Every setting has one of its values."""
        return conjunction(
            Or(*(self.settings[key] == int(value) for value in one.values))
            for key, one in self.descriptor.settings.items()
        )

    def made(self, codes: Mapping[str, Term]) -> Term:
        """The word that coded values make."""
        bits = self.descriptor.bits
        word = BitVecVal(0, bits)
        for key, field in self.fields.items():
            word = word | ZeroExt(bits - (field.high - field.low + 1), codes[key]) << field.low
        return word

    def is_legal(self, codes: Mapping[str, Term]) -> Term:
        """Whether every coded value is one that its field may have, and every rule holds."""
        values = [
            Or(*(codes[key] == value // field.unit for value in allowed))
            for key, field in self.fields.items()
            if (allowed := legal_values(field)) is not None
        ]
        return And(*values, *(self._holds(rule, codes) for rule in self.descriptor.rules))

    @cached_property
    def refusals(self) -> dict[str, Term]:
        """Every reason to refuse the word, in the order of judgement."""
        used = sum(mask(field) for field in self.fields.values())
        free = ((1 << self.descriptor.bits) - 1) & ~used
        found = {"reserved bits": self.word & free != 0} if free else {}
        for key, field in self.fields.items():
            allowed = legal_values(field)
            if allowed is not None and len(allowed) < limit(field) // field.unit + 1:
                taken = (self.word & mask(field) == value // field.unit << field.low for value in allowed)
                found[f"the value of {key}"] = Not(Or(*taken))
        return found | {rule.id: Not(self._holds(rule, self.parts)) for rule in self.descriptor.rules}

    def _holds(self, rule: DescriptorRule, codes: Mapping[str, Term]) -> Term:
        """Whether a rule holds, or need not: each gate is open or not, whatever the others are."""
        known = field_names(self.descriptor)
        tree = rule_tree(self.descriptor, rule)
        reads = names(tree)
        fields = {known[key]: field for key, field in self.fields.items() if known[key] in reads}
        bounds = {key: (0, limit(field)) for key, field in fields.items()}
        for key in self.settings.keys() & reads:
            values = [int(value) for value in self.descriptor.settings[key].values]
            bounds[key] = min(values), max(values)
        width = width_for([tree], bounds)
        by_name = {known[key]: codes[key] for key in self.fields}
        variables = {key: _wide(by_name[key], width) * field.unit for key, field in fields.items()}
        variables |= {key: _wide(one, width) for key, one in self.settings.items() if key in reads}
        holds = BitVectors(width, variables).read(tree)
        lifted = () if rule.lifted is None else (_opened(rule.lifted),)
        elsewhere = () if rule.only is None else (Not(_opened(rule.only)),)
        return Or(holds, *lifted, *elsewhere) if lifted or elsewhere else holds


def _opened(gate: Gate) -> Term:
    """Whether a gate is open, for some version and target."""
    return Bool(f"open since {gate.since} on {' '.join(gate.targets)}")


def _wide(vector: Term, width: int) -> Term:
    """A vector with zeros in front."""
    return ZeroExt(width - vector.size(), vector) if width > vector.size() else vector


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for name, descriptor in specification.descriptors.items():
        if descriptor.rules:
            made = partial(rule_obligations, name, descriptor)
            yield ProofPart(f"word {name}", made, f"legal words: {descriptor.title}")


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    """The words that a row's statements take, and their fields."""
    operands = [operand for operand in row.family.instruction.operands.values() if operand.word]
    pairs = ((operand, variant) for variant in (row.variants() if operands else ()) for operand in operands)
    for name in dict.fromkeys(descriptor_of(operand, variant) for operand, variant in pairs):
        if name is not None:
            yield f"descriptor {name}"
            if specification.descriptors[name].rules:
                yield f"word {name}"


GROUP = TheoremGroup(
    52,
    (
        Theorem(
            "word.apart",
            "no word that legal values of a descriptor's fields make is refused",
            small=True,
            formula="for legal values v: no reason refuses encode(v)",
            fails="legal values whose word is refused",
        ),
        Theorem(
            "word.covered",
            "every other word is refused for a reason: no third kind of word is left",
            small=True,
            formula="for each word: legal, or refused for some reason",
            fails="a word that is neither",
        ),
        Theorem(
            "word.reason",
            "every reason is the first one to refuse some word",
            small=True,
            formula="for each reason, some word: it refuses the word, and none before it does",
            fails="a reason that is never the first",
        ),
    ),
    _parts,
    _behind,
)

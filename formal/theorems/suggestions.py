"""Theorem about suggestions: the nearest form that is suggested is legal where it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...spec.legality import LEGAL, Judge
from ...spec.model import Form
from ...spec.operand_rules import written
from ...spec.specification import Specification
from ...spec.statements import Statement, read_statement
from ...spec.variants import Family, Variant
from ..theorem import Enumeration, ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "asked_at", "operands_of"]


def asked_at(specification: Specification, family: Family) -> Iterator[tuple[str, str]]:
    """A version and a target for each set of gates that some version and target open, of an instruction and
    of those that share its name.
    """
    named = [one for one in specification.families.values() if one.name == family.name]
    gates = tuple(dict.fromkeys(variant.gate for one in named for variant in one.variants()))
    seen: set[tuple[bool, ...]] = set()
    for version in specification.isa.versions:
        for target in specification.index.targets:
            opened = tuple(gate.opens(version, target) for gate in gates)
            if any(opened) and opened not in seen:
                seen.add(opened)
                yield str(version), target


def operands_of(variant: Variant, form: Form) -> str:
    """The operands of a form, with the first of the shapes, values and lengths that each may have."""
    return ", ".join(_argument(variant, name) for name in form.operands)


def _argument(variant: Variant, name: str) -> str:
    operand = variant.instruction.operands[name]
    if operand.elements:
        return "{" + ", ".join(_argument(variant, inner) for inner in operand.elements) + "}"
    match operand.accepts[0]:
        case "address":
            return "[%r0]"
        case "immediate":
            return str((variant.values(operand) or (0,))[0])
        case "vector" if operand.registers is not None:
            return "{" + ", ".join(f"%r{n}" for n in range(variant.evaluate(operand.registers))) + "}"
    return "%r0"


def _faults(specification: Specification, family: Family) -> Iterator[str]:
    """Suggestions that are not legal where they are made: for every mnemonic of an instruction, legal there
    or not, at one version and target of each set of open gates.
    """
    forms = _WrittenForms()
    for ptx, target in asked_at(specification, family):
        judge = specification.judge(ptx, target)
        legal = _LegalSuggestions(judge, forms)
        for variant in family.variants():
            text = judge.suggest(Statement(None, variant.mnemonic, "", {}))
            if text is not None and not legal(text):
                yield (
                    f"{variant.row.row.place}: for {variant.mnemonic}, {text} is suggested, and is not legal "
                    f"under PTX ISA {ptx} on {target}"
                )


class _LegalSuggestions:
    """Whether suggestions are legal: each is looked at once."""

    def __init__(self, judge: Judge, forms: _WrittenForms) -> None:
        self.judge = judge
        self._forms = forms
        self._known: dict[str, bool] = {}

    def __call__(self, text: str) -> bool:
        if text not in self._known:
            self._known[text] = self._is_legal(*text.removesuffix(";").partition(" ")[::2])
        return self._known[text]

    def _is_legal(self, mnemonic: str, operands: str) -> bool:
        """Whether some form of a mnemonic, whose operands a suggestion writes so, is judged legal."""
        variant = self.judge.variant_of(mnemonic)
        return any(
            self.judge.judge_statement(statement).verdict == LEGAL
            for statement, written_so in (self._forms.of(variant) if variant is not None else ())
            if written_so == operands
        )


class _WrittenForms:
    """The forms of variants, as statements and by the names of their operands: made once for all judges."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[tuple[Statement, str], ...]] = {}

    def of(self, variant: Variant) -> tuple[tuple[Statement, str], ...]:
        """A statement of each form of a variant, and its operands as a suggestion writes them."""
        if variant.mnemonic not in self._made:
            self._made[variant.mnemonic] = tuple(
                (
                    read_statement(f"{variant.mnemonic} {operands_of(variant, form)};"),
                    ", ".join(written(variant, name) for name in form.operands),
                )
                for form in variant.forms
            )
        return self._made[variant.mnemonic]


def _parts(specification: Specification) -> Iterator[ProofPart]:
    return iter(())


def _enumerations(specification: Specification) -> Iterator[Enumeration]:
    for name, family in specification.families.items():
        yield Enumeration(
            "legal.nearest", name, f"instruction {name}", partial(_faults, specification, family)
        )


GROUP = TheoremGroup(
    37,
    (
        Theorem(
            "legal.nearest",
            "the nearest form that is suggested is legal where it was asked",
            enumerated=True,
            formula="for each mnemonic, each set of gates open at some (v, t): "
            "suggested(mnemonic) is legal at (v, t)",
            fails="a suggestion that is not legal at the version and target where it is made",
        ),
    ),
    _parts,
    enumerations=_enumerations,
)

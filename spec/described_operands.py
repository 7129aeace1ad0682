"""Operands whose bits are a descriptor: which one, what the statement says beside it, is a word legal?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from .descriptor_rules import RuleHolds, WordVerdict, assignments, count_legal, judge_word
from .errors import Question, SpecError
from .legality import ILLEGAL, Judge, Verdict
from .memory_records import Descriptor, DescriptorRule
from .model import Gate, Operand
from .nodes import must_exist
from .parts import operand_name
from .variants import Family, Variant

if TYPE_CHECKING:
    from .specification import Specification

__all__ = [
    "INSTRUCTION",
    "check_words",
    "descriptor_of",
    "holding",
    "judge_with_word",
    "legal_words",
    "settings_of",
]

INSTRUCTION: Final = "instruction"  # the part of the operand whose word says what is multiplied


def descriptor_of(operand: Operand, variant: Variant) -> str | None:
    """The descriptor that an operand's bits are; None where they are none, or none that is known."""
    word = operand.word
    if word is None or (word.where is not None and not variant.evaluate(word.where)):
        return None
    fields = {name: str(value).rpartition("::")[2] for name, value in variant.fields.items()}
    return word.descriptor.format(**fields)


def settings_of(operand: Operand, variant: Variant, descriptor: Descriptor) -> dict[str, int]:
    """What a statement says for the settings that an operand's descriptor has."""
    stated = operand.word.settings if operand.word is not None else {}
    known = descriptor.settings
    return {name: variant.evaluate(formula) for name, formula in stated.items() if name in known}


# By instruction: the descriptors with which its words were last found right.
_right: WeakKeyDictionary[Family, Mapping[str, Descriptor]] = WeakKeyDictionary()


def check_words(specification: Specification, family: Family) -> None:
    """Every descriptor of an operand exists, and has the settings and values that the statement says."""
    if _right.get(family) == specification.descriptors:
        return
    words = [(operand, operand.word) for operand in family.instruction.operands.values() if operand.word]
    asked: set[str] = set()
    for variant in family.variants() if words else ():
        for operand, word in words:
            try:
                name = descriptor_of(operand, variant)
            except (KeyError, IndexError, ValueError) as error:
                what = f"{word.descriptor!r} names {error}, which is not a field of {variant.row.id}"
                raise SpecError(what, word.place, ", ".join(variant.fields)) from None
            if name is None:
                continue
            must_exist("descriptor", name, specification.descriptors, word.place)
            descriptor = specification.descriptors[name]
            asked.update(descriptor.settings)
            try:
                next(iter(assignments(descriptor, settings_of(operand, variant, descriptor))))
            except Question as error:
                what = f"{name}, which {variant.mnemonic} takes: {error}"
                raise SpecError(what, word.place, ", ".join(descriptor.settings)) from None
    for _, word in words:
        for name in word.settings:
            if name not in asked:
                what = f"no descriptor of {family.instruction.instruction} has the setting {name!r}"
                raise SpecError(what, word.place, ", ".join(sorted(asked)))
    _right[family] = specification.descriptors


def holding(judge: Judge) -> RuleHolds:
    """Whether a rule of a descriptor holds for a judge's version and target.

    Where no target is named, a rule of some targets only does not hold: others may be meant.
    """

    def is_open(gate: Gate) -> bool:
        return judge.is_open(judge.isa.effective([gate]))

    def holds(rule: DescriptorRule) -> bool:
        if rule.only is not None and (judge.target is None or not is_open(rule.only)):
            return False
        return rule.lifted is None or not is_open(rule.lifted)

    return holds


def legal_words(descriptor: Descriptor, settings: Mapping[str, int], holds: RuleHolds) -> Iterator[int]:
    """For every value of the settings that are not given: how many words are legal."""
    return (count_legal(descriptor, chosen, holds) for chosen in assignments(descriptor, settings))


def judge_with_word(
    specification: Specification, judge: Judge, statement: str, word: int
) -> tuple[Verdict, WordVerdict | None, Descriptor | None]:
    """The verdict on a statement whose instruction descriptor is a word, and that on the word alone.

    Raises Question where the statement takes no such descriptor, or one that is not known.
    """
    verdict = judge.judge(statement)
    variant = verdict.variant
    if variant is None:
        return verdict, None, None
    instruction = variant.row.family.instruction
    form = verdict.form or next(variant.forms)
    name = operand_name(instruction, form, INSTRUCTION)
    operand = instruction.operands[name] if name is not None else None
    if operand is None or operand.word is None:
        raise Question(f"{variant.mnemonic} takes no instruction descriptor")
    kind = descriptor_of(operand, variant)
    if kind is None:
        raise Question(f"the instruction descriptor of {variant.mnemonic} is not known")
    descriptor = specification.descriptors[kind]
    found = judge_word(descriptor, word, settings_of(operand, variant, descriptor), holding(judge))
    if not found:
        verdict = replace(verdict, verdict=ILLEGAL, reasons=(*verdict.reasons, *found.reasons))
    return verdict, found, descriptor

"""Which variants a pattern, a version and a target select, and which one a name means: what commands ask."""

from __future__ import annotations

from collections.abc import Iterator

from .errors import Question
from .gates import EffectiveGate
from .naming import clean, matching, nearby
from .nodes import Version
from .parts import computes, described_by_word, without_sums
from .specification import Specification
from .variants import Variant

__all__ = ["find_variant", "select", "summing", "unmatched"]


def select(
    specification: Specification, pattern: str | None, ptx: str | None, target: str | None
) -> Iterator[Variant]:
    """The variants that match a pattern, a version and a target; raises Question for unknown ones."""
    version = specification.isa.version(ptx) if ptx is not None else None
    if target is not None:
        specification.isa.target(target)
    for variant in matching(specification.families.values(), pattern):
        if _open(variant.gate, version, target):
            yield variant


def summing(specification: Specification, pattern: str | None, target: str) -> list[Variant]:
    """The variants of a pattern that compute sums on a target; raises Question where none does."""
    found = list(select(specification, pattern, None, target))
    if not any(computes(variant.instruction) for variant in found):
        for variant in found or select(specification, pattern, None, None):
            if described_by_word(variant.instruction):
                raise Question(without_sums(variant))
    if not found:
        raise Question(unmatched(specification, pattern, None, target))
    having = [variant for variant in found if computes(variant.instruction)]
    if not having:
        raise Question(f"nothing that matches {pattern!r} computes products")
    return having


def _open(gate: EffectiveGate, version: Version | None, target: str | None) -> bool:
    begins = dict(gate.targets)
    if target is not None and target not in begins:
        return False
    if version is None:
        return True
    since = begins[target] if target is not None else gate.since
    return since <= version and (gate.removed is None or version < gate.removed)


def unmatched(
    specification: Specification, pattern: str | None, ptx: str | None = None, target: str | None = None
) -> str:
    """A sentence on a choice that is empty: what the pattern may have meant, or what leaves nothing."""
    families = specification.families.values()
    count = len(matching(families, pattern))
    if count:
        where = " ".join(words for words in (ptx and f"in PTX ISA {ptx}", target and f"on {target}") if words)
        named = f" that match {pattern!r}" if pattern is not None else ""
        return f"none of the {count} mnemonics{named} is {where or 'chosen'}"
    near = nearby(families, pattern or "")
    if near:
        return f"nothing matches {pattern!r}; did you mean {near}?"
    return f"nothing matches {pattern!r}; the instructions are {', '.join(specification.instructions)}"


def find_variant(specification: Specification, mnemonic: str) -> Variant:
    """The variant that a person means: a mnemonic in any case, or a pattern that matches only one.

    Raises Question with the reasons and the nearest when there is none, and says how many there are
    when it matches several.
    """
    judge = specification.judge()
    variant = judge.variant_of(mnemonic.strip().rstrip(";").rstrip())
    if variant is not None:
        return variant
    wanted = clean(mnemonic)
    if not wanted:
        raise Question("the mnemonic is empty; `ptxmma list` names all")
    found = matching(specification.families.values(), wanted)
    whole = [variant for variant in found if variant.mnemonic.lower() == wanted]
    if len(whole or found) == 1:
        return (whole or found)[0]
    if found:
        listing = f"`ptxmma list {_quoted(wanted)}`"
        raise Question(f"{mnemonic} is not a whole mnemonic: {len(found)} match; {listing} names them")
    if any(reason.code == "opcode.unknown" for reason in judge.judge_mnemonic(wanted).reasons):
        raise Question(unmatched(specification, mnemonic))
    return specification.find(mnemonic)


def _quoted(pattern: str) -> str:
    """A pattern as a shell takes it."""
    return f"'{pattern}'" if any(sign in pattern for sign in "*?[ ") else pattern

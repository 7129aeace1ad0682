"""Statements with holes: is one legal for some filling? Such a statement is never called illegal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from ...spec.api import load
from ...spec.constants import SyntaxFault
from ...spec.gates import EffectiveGate
from ...spec.legality import Judge, Verdict
from ...spec.statements import Statement, arguments
from ...spec.variants import Variant
from .templates import HOLE, NUMBER

__all__ = ["fillable", "filled"]

_HOLES = re.compile(f"{HOLE}|{NUMBER}")
_PLAIN = ("1", "0", "-1")  # what most immediates may be
_LARGEST = 256


@cache
def _variants() -> tuple[tuple[str, Variant], ...]:
    return tuple(
        (variant.mnemonic, variant) for family in load().families.values() for variant in family.listed()
    )


@lru_cache(maxsize=1 << 10)
def _spelled(opcode: str) -> tuple[Variant, ...]:
    """The variants that an opcode with holes may spell, qualifiers in the order of the text."""
    first, *rest = (re.escape(part).replace(NUMBER, r"\d+") for part in re.split(f"(?:{HOLE})+", opcode))
    # The leftmost place of each part is as good as any, so none is tried again.
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1])
    wanted = re.compile(first + middle + "".join(f".*{part}" for part in rest[-1:]))
    return tuple(variant for name, variant in _variants() if wanted.fullmatch(name))


def fillable(judge: Judge, statement: Statement, opens: Callable[[EffectiveGate], bool]) -> bool:
    """Whether some filling makes a statement legal where its gate `opens`."""
    if _HOLES.search(statement.mnemonic) is None:
        variant = judge.judge_mnemonic(statement.mnemonic).variant
        variants: tuple[Variant, ...] = () if variant is None else (variant,)
    else:
        variants = _spelled(statement.mnemonic)
    return any(opens(variant.gate) and _operands_fit(judge, variant, statement) for variant in variants)


def _operands_fit(judge: Judge, variant: Variant, statement: Statement) -> bool:
    if HOLE in statement.operands:
        return True
    if NUMBER in statement.operands:
        return any(_good(verdict) for verdict in _numbers(judge, variant, statement))
    plain = Statement(None, variant.mnemonic, statement.operands, statement.declared)
    _, reasons = judge.judge_operands(variant, plain)
    return all(reason.code.startswith("gate.") for reason in reasons)


def _good(verdict: Verdict) -> bool:
    return all(reason.code.startswith("gate.") for reason in verdict.reasons)


def filled(judge: Judge, statement: Statement) -> Verdict:
    """The verdict on a statement whose immediates are known to the compiler only: the best that some values
    give it.
    """
    verdict = None
    for verdict in _numbers(judge, None, statement):
        if all(reason.code != "operand.range" for reason in verdict.reasons):
            return verdict
    return judge.judge_statement(statement) if verdict is None else verdict


def _numbers(judge: Judge, variant: Variant | None, statement: Statement) -> Iterator[Verdict]:
    """The verdicts with some values for the numbers: plain ones, then what the operands' rules allow."""
    mnemonic = statement.mnemonic if variant is None else variant.mnemonic
    verdict = None
    for value in _PLAIN:
        operands = statement.operands.replace(NUMBER, value)
        verdict = judge.judge_statement(Statement(statement.guard, mnemonic, operands, statement.declared))
        yield verdict
    if verdict is None or verdict.variant is None or verdict.form is None:
        return
    operands = _allowed(verdict.variant, verdict.form.operands, statement.operands)
    yield judge.judge_statement(Statement(statement.guard, mnemonic, operands, statement.declared))


def _allowed(variant: Variant, names: tuple[str, ...], operands: str) -> str:
    """The operands with an allowed value for each number."""
    try:
        count = len(arguments(operands.replace(NUMBER, "1")))
    except SyntaxFault:
        return operands
    parts = _parts(operands)
    if count != len(parts):
        return operands
    known = variant.row.family.instruction.operands
    for at, (name, part) in enumerate(zip(names, parts, strict=False)):
        if NUMBER in part:
            operand = known[name]
            values: Iterator[int] | tuple[int, ...] = variant.values(operand)
            if operand.values is None and operand.valid is not None:
                rule = operand.valid
                values = (value for value in range(-1, _LARGEST) if variant.allows(rule, value))
            parts[at] = part.replace(NUMBER, str(next(iter(values), 1)))
    return ",".join(parts)


def _parts(operands: str) -> list[str]:
    """The operands, parted at commas outside brackets."""
    parts, depth = [""], 0
    for character in operands:
        depth += (character in "{[(") - (character in "}])")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts

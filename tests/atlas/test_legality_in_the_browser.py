"""The judge in the browser says what `ptxmma legal` says: verdict, reasons, notes and nearest form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ptxmma.atlas.legality_data import legality_data
from ptxmma.atlas.sections.home import JUDGE
from ptxmma.cli.legal_command import _suggest, as_json
from ptxmma.spec.api import judge
from ptxmma.spec.naming import matching
from ptxmma.spec.specification import Specification

from .in_node import in_node
from .sampled_statements import drawn

# Versions and targets ("" is the newest, or any): old, new, renamed, and families of targets.
SETTINGS = (
    ("", ""), ("", ""), ("", ""), ("", ""), ("8.3", "sm_90a"), ("9.5", "sm_100a"), ("9.5", "sm_100a"), ("6.0", "sm_70"),
    ("6.3", "sm_75"), ("6.3", ""), ("6.5", ""), ("7.8", ""), ("8.0", "sm_90"), ("8.6", "sm_100a"),
    ("9.0", "sm_101a"), ("8.8", "sm_110a"), ("9.5", "sm_103f"), ("9.2", "sm_120a"), ("5.0", ""), ("", "sm_121a"),
)  # fmt: skip
# The answers to statements, and the mnemonics that patterns mean.
_BODY = """
const specification = new ptxmma.legality.Specification(ptxmma.data.legality);
const answers = given.asked.map(([text, ptx, target]) => specification.judge(ptx, target).answer(text));
const listed = given.patterns.map((one) => specification.matching(one).map((variant) => variant.mnemonic));
return { answers, listed };
"""


def in_javascript(
    specification: Specification, asked: Sequence[tuple[str, str, str]], patterns: Sequence[str]
) -> dict[str, Any]:
    """What the scripts answer, asked at once."""
    data = {"legality": legality_data(specification)}
    answers: dict[str, Any] = in_node(JUDGE, data, {"asked": asked, "patterns": patterns}, _BODY)
    return answers


def in_python(text: str, ptx: str, target: str) -> dict[str, Any]:
    """What `ptxmma legal --format json` answers."""
    asked = judge(ptx or None, target or None)
    verdict = asked.judge(text)
    return as_json(verdict, _suggest(asked, text) if verdict.verdict != "legal" else None)


@pytest.mark.parametrize("count", [1_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_the_browser_judges_as_the_command_does(specification: Specification, count: int) -> None:
    texts = drawn(specification, count, seed=count)
    asked = [(text, *SETTINGS[number % len(SETTINGS)]) for number, text in enumerate(texts)]
    answers = in_javascript(specification, asked, ())["answers"]
    expected = [json.loads(json.dumps(in_python(*one))) for one in asked]
    unlike = [
        (one, mine, other) for one, mine, other in zip(asked, expected, answers, strict=True) if mine != other
    ]
    assert unlike[:3] == []
    verdicts = [one["verdict"] for one in expected]
    assert verdicts.count("legal") >= count // 20 and set(verdicts) == {"legal", "illegal", "unknown"}
    codes = {reason["code"] for one in expected for reason in one["reasons"]}
    assert codes >= CODES


# Reasons of every kind that a thousand texts have; rarer ones come with more.
CODES = {
    "gate.since", "gate.target", "gate.target_version", "opcode.unknown", "operand.count", "operand.kind", "operand.length",
    "operand.range", "operand.type", "qualifier.missing", "qualifier.repeated", "qualifier.types", "qualifier.unexpected",
    "qualifier.unknown", "qualifier.value", "syntax",
}  # fmt: skip


PATTERNS = (
    "mma", "mma.sp", "wgmma", "f16.f16", "tcgen05.mma", "*ti16*", "mma.*.row.col.[sf]32", "m16n8k32", "WGMMA.fence;", "sp.e4m3",
    "mma.e2m1", "[!m]*", "nothing", "", "a.b", "ld.*x1?8.b32", "?gmma.*", "[", "mma.[a-z]ync",
)  # fmt: skip


def test_a_part_of_a_mnemonic_finds_what_list_finds(specification: Specification) -> None:
    listed = in_javascript(specification, (), PATTERNS)["listed"]
    families = specification.families.values()
    assert listed == [[one.mnemonic for one in matching(families, text)] for text in PATTERNS]

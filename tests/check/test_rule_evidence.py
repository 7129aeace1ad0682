"""docs/rule-evidence.md: each rule was seen to fire rightly, to be silent rightly, and to be needed."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.rules import rules
from ptxmma.spec.loading import ROOT

CASES = Path(__file__).parent / "cases"
ROWS = {
    found[1]: found[2]
    for found in re.finditer(
        r"^\| \[([^]]+)\]\S+ \|(.*)\|$", (ROOT / "docs/rule-evidence.md").read_text(), re.M
    )
}


def test_every_rule_has_a_row() -> None:
    assert set(ROWS) == set(rules())


@pytest.mark.parametrize("rule", sorted(rules()))
def test_a_rule_was_seen_to_fire_to_be_silent_and_to_be_needed(rule: str) -> None:
    for what in ("fired", "silent", "needed"):
        assert re.search(rf"\b{what} [1-9]", ROWS[rule]), what


def test_the_cases_that_are_named_need_their_rules() -> None:
    """The third cell names a case in which no other rule finds anything as sure."""
    named = {rule: re.search(r"needed \d+ \((\w+)\)", row.split("|")[2]) for rule, row in ROWS.items()}
    remarks = {rule.name for rule in rules().values() if rule.tiers == ("info",)}
    asked = {rule: found[1] for rule, found in named.items() if found is not None and rule not in remarks}
    assert len(asked) > 8
    for rule, name in asked.items():
        findings = check_text((CASES / f"{name}.ptx").read_text(), name).findings
        assert {f.rule for f in findings if f.tier in ("error", "likely")} == {rule}


def test_mutants_are_named_by_the_line_of_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    mutants = importlib.import_module("rule_evidence").mutants
    lines = {one.kind: one.line for one in mutants(CASES / "m01_ampere.ptx")}
    assert lines["spelling: guard of a number"] == 34 and lines["spelling: type dropped"] == 36
    groups = {one.kind: one.line for one in mutants(CASES / "a05_w2_three.ptx")}
    assert groups["group: fence deleted"] == 23

"""The rules of `ptxmma check`: each is explained with examples that show it, and none is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from ptxmma.check.check_file import FileReport, check_text
from ptxmma.check.cuda.check_source import check_source
from ptxmma.check.findings import ERROR, LIKELY, READING, TIERS
from ptxmma.check.rule_pages import as_page
from ptxmma.check.rule_texts import CheckRule
from ptxmma.check.rules import rules
from ptxmma.gen.litmus.litmus_ptx import module
from ptxmma.gen.litmus.litmus_tests import suite
from ptxmma.spec.errors import Place, SpecError
from ptxmma.spec.loading import ROOT
from ptxmma.spec.ordering import ordering

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
RULES = tuple(rules().values())
QUOTED = re.compile(
    r'"((?:aligned|allocation|barrier|cluster|descriptor|matrix|wmma|metadata|operand|idle|qualifier|redundant|warp)-[a-z]+|'
    r'tensor-load-[a-z]+|tensor-(?:overwritten|freed|outside|lanes|unfenced|unwritten)|tensor-(?:product|store)-pending|inline\.[a-z-]+|repaired|serialised)"'
)
REASON = re.compile(r'"((?:gate|guard|operand|qualifier)\.[a-z_]+|syntax)"')


def test_rules_that_are_wrong_are_refused_where_they_would_find_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = next(rule.right for rule in RULES if rule.name == "accumulator-in-flight")
    assert not check_text(right, "right.ptx").findings
    place = Place("spec/ordering/rules.yaml", 1, 1)

    def missing() -> None:
        raise SpecError("the rule 'first-fence' is missing", place)

    monkeypatch.setattr("ptxmma.spec.ordering.ordering", missing)
    with pytest.raises(SpecError, match="is missing"):
        check_text(right, "right.ptx")


def test_there_are_many() -> None:
    assert len(RULES) > 50


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.name))
def test_the_wrong_example_is_found_and_the_right_one_passes(rule: CheckRule) -> None:
    check: Callable[[str, str], FileReport] = check_source if rule.cuda else check_text
    wrong, right = check(rule.wrong, "wrong"), check(rule.right, "right")
    assert not wrong.faults and not right.faults
    unjudged = {one.instruction for one in (*wrong.not_judged, *right.not_judged)}
    assert unjudged <= {"tcgen05"}  # of which the order between threads is left open, in every file
    assert next(f.tier for f in wrong.findings if f.rule == rule.name) == rule.tiers[0]
    failing = [f for f in right.findings if f.tier in (ERROR, LIKELY, READING) or f.rule == rule.name]
    assert failing == []
    others = {f.rule for f in wrong.findings if f.tier in (ERROR, LIKELY)} - {rule.name}
    assert others <= {"accumulator-in-flight"}  # which ptxas answers by serialising


def test_every_rule_that_the_code_names_is_one() -> None:
    files = sorted((ROOT / "check").rglob("*.py"))
    assert len(files) > 30
    switches = {"allocation-proxy", "metadata-order", "warp-sync"}
    named = {rule for path in files for rule in QUOTED.findall(path.read_text())} - switches
    own = {name for name in rules() if not name.startswith("legality.")} - set(ordering().rules)
    assert {f"redundant-{what}" for what in ("fence", "wait")} <= own  # which the code puts together
    assert own - {"redundant-fence", "redundant-wait"} == named


def test_every_reason_of_legality_is_a_rule() -> None:
    named = {
        reason for path in sorted((ROOT / "spec").glob("*.py")) for reason in REASON.findall(path.read_text())
    }
    classes = {
        "types",
        "layouts",
        "operations",
    }  # qualifiers whose order matters: the code puts the name together
    reasons = {name.removeprefix("legality.") for name in rules() if name.startswith("legality.")}
    assert len(named) > 15
    assert reasons - {"unknown", "deprecated"} == named | {f"qualifier.{what}" for what in classes}


def test_findings_have_a_rule_and_one_of_its_tiers() -> None:
    seen = set()
    for test in suite()[::11]:
        for finding in check_text(module([test.kernel]), test.name).findings:
            assert finding.tier in rules()[finding.rule].tiers, (test.name, finding)
            seen.add(finding.rule)
    assert len(seen) > 10


def test_the_page_of_rules_is_what_the_rules_say() -> None:
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert page == as_page()
    headings = re.findall(r"^## (.+)$", page, re.M)
    assert headings == list(rules())
    for rule in RULES:
        assert f"(#{rule.name.replace('.', '')})" in page
        assert rule.address.startswith("https://") and rule.address.endswith(f"/rules/{rule.name}.html")


def test_list_rules(run: Run) -> None:
    code, out, _ = run("check", "--list-rules")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[:-1]] == list(rules())
    assert out.splitlines()[-1].startswith(f"{len(rules())} rules")


def test_list_rules_as_json(run: Run) -> None:
    code, out, _ = run("check", "--list-rules", "--format", "json")
    found = json.loads(out)
    assert code == 0 and [one["rule"] for one in found] == list(rules())
    valid("check-rules", found)


@pytest.mark.parametrize("name", list(rules()))
def test_explain(run: Run, name: str) -> None:
    code, out, _ = run("check", "--explain", name)
    rule = rules()[name]
    assert code == 0 and out.startswith(f"{name}: {rule.title}\n")
    for line in (*rule.wrong_lines.splitlines(), *rule.right_lines.splitlines()):
        assert f"  {line}" in out
    assert f"// ptxmma: ignore {name}" in out
    assert all(f"  {tier}: {TIERS[tier]}" in out for tier in rule.tiers)
    assert (rule.section in out) and (" of PTX ISA " in out) == bool(rule.section)


def test_explain_names_the_section_of_the_newest_manual_too(run: Run) -> None:
    out = run("check", "--explain", "redundant-fence")[1]
    assert "\ntext: 9.7.15.7.1 of PTX ISA 9.2; 9.7.17.7.1 in 9.4\n" in out


def test_explain_a_family(run: Run) -> None:
    code, out, _ = run("check", "--explain", "legality.gate")
    assert code == 0 and out.count("what to do:") == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--explain", "frst-fence"), "there is no rule 'frst-fence'; did you mean first-fence?"),
        (("--explain", ""), "there is no rule ''"),
        (("--list-rules", "x.ptx"), "take no files"),
        (("--list-rules", "--format", "sarif"), "not as sarif"),
        (("--select", "legalty", "x.ptx"), "there is no rule 'legalty'; did you mean legality?"),
        (("--ignore", "first-fence,nosuch", "x.ptx"), "there is no rule 'nosuch'"),
        (("--ignore", "first-fence,", "x.ptx"), "--ignore has an empty word"),
    ],
)
def test_a_wrong_name_is_answered(run: Run, words: tuple[str, ...], message: str) -> None:
    code, out, err = run("check", *words)
    assert (code, out) == (2, "") and message in err


def test_ordering_rules_that_check_never_reports_are_answered(run: Run) -> None:
    """The models tell them apart; `check` may not claim to find them."""
    never = set(ordering().rules) - set(rules())
    assert never == {
        "uncommitted-at-wait",
        "wait-too-shallow",
        "a-read-twice",
        "chain-unwaited",
        "fence-after-completion",
    }
    for rule in never:
        for words in (("--explain", rule), ("--ignore", rule, "x.ptx")):
            code, out, err = run("check", *words)
            assert (code, out) == (2, "") and f"no rule {rule!r}; it is one of `ptxmma litmus`" in err

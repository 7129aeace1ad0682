"""Mutants of one layout have the right outcomes, and a survivor that is not a bijection is reported."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from itertools import islice

import pytest

import ptxmma.formal.mutation.mutants as mutation
from ptxmma.formal.mutation.mutants import MutantOutcome, Mutation, mutants, subjects
from ptxmma.ledger.silicon_record import Silicon, load_silicon
from ptxmma.spec.expressions import parse, source
from ptxmma.spec.loading import ROOT
from ptxmma.spec.specification import Specification

pytestmark = pytest.mark.slow


def outcomes(specification: Specification, name: str, *formulas: str) -> dict[str, MutantOutcome]:
    """What becomes of every mutant of some formulas of a subject, by its text."""
    (subject,) = (s for s in subjects(specification) if s.name == name)
    run = Mutation(specification)
    wanted = [m for m in run.mutants(subject) if m.name.removeprefix(f"{name} ") in formulas]
    return {f"{m.name.removeprefix(f'{name} ')}: {source(m.new)}": run.judge(m) for m in wanted}


@pytest.fixture
def no_theorems(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> Iterator[object]:
        return iter(())

    monkeypatch.setattr(mutation, "obligations", none)


def test_every_integer_and_operator_is_changed() -> None:
    texts = {source(tree) for tree in mutants(parse("8*(i // 2) < n and not (t == 0)"))}
    assert {
        "9 * (i // 2) < n and not (t == 0)",
        "7 * (i // 2) < n and not (t == 0)",
        "16 * (i // 2) < n and not (t == 0)",
        "4 * (i // 2) < n and not (t == 0)",
        "8 * (i % 2) < n and not (t == 0)",
        "8 * (i // 1) < n and not (t == 0)",
        "8 << i // 2 < n and not (t == 0)",
        "8 * (i // 2) <= n and not (t == 0)",
        "8 * (i // 2) < n or not (t == 0)",
        "8 * (i // 2) < n and t == 0",
        "8 * (i // 2) < n and not (t == 1)",
        "8 * (i // 2) < n and not (t != 0)",
    } <= texts
    assert "8 * (i // 2) < n and not (t == 0)" not in texts
    assert [source(tree) for tree in mutants(parse("where(a, 1, 0)"))].count("where(a, 0, 1)") == 1


KNOWN = [
    ("map.row: groupID | 8 * (i // 2)", "equal", "z3"),
    ("map.row: groupID ^ 8 * (i // 2)", "equal", "z3"),
    ("map.row: groupID - 8 * (i // 2)", "refused", "the result of - can be -8; every value must be at least 0 (in 'groupID - 8 * (i // 2)')"),
    ("map.row: groupID + 9 * (i // 2)", "refuted", "layout.in_bounds"),
    ("map.row: groupID + 4 * (i // 2)", "refuted", "layout.injective"),
    ("map.row: groupID + 8 * (i // 2)", None, ""),
    ("codomain.row: 17", "refuted", "layout.surjective"),
    ("codomain.row: 15", "refuted", "layout.in_bounds"),
    ("codomain.row: 32", "refuted", "layout.surjective"),
]  # fmt: skip


def test_known_mutants_land_in_their_class(specification: Specification) -> None:
    found = outcomes(specification, "mma.m16n8.c", "map.row", "codomain.row")
    for text, verdict, by in KNOWN:
        assert (text in found) == (verdict is not None), text
        if verdict:
            assert (found[text].verdict, found[text].by) == (verdict, by), text


def test_a_survivor_is_enumerated(specification: Specification) -> None:
    found = outcomes(specification, "mma.scale-a.1X", "where")
    survivors = {text: o for text, o in found.items() if o.verdict == "survivor"}
    assert set(survivors) == {"where: threadID_in_group // 2 != thread_id and i == byte_id"}
    (swapped,) = survivors.values()
    assert swapped.sound
    assert swapped.by == "another bijection: 128 points enumerated"


@pytest.mark.usefixtures("no_theorems")
@pytest.mark.parametrize(
    ("subject", "formula", "mutant", "why"),
    [
        ("mma.m16n8.c", "map.row", "groupID + 4 * (i // 2)", "32 points share an image"),
        ("mma.m16n8.c", "map.row", "groupID + 9 * (i // 2)", "leaves the codomain"),
        ("mma.m16n8.c", "codomain.row", "17", "8 elements are not reached"),
        ("bridge wgmma.d-mma.c", "where", "9 * j < n", "true, but it says nothing of 23040 elements of wgmma.d"),
        ("bridge wgmma.d-mma.c", "equals.col", "7 * j + col", "the layouts differ at {'n': 16, 'w': 0, 'j': 1, 't': 0, 'i': 0}"),
        ("sparsity 2:4", "position", "code >> 2 * slot & 2", "the distinct code 1 names no 2 distinct positions"),
        ("mma A", "registers", "products * m * k * width // (33 * word)", "1 registers, not 2, for mma."),
    ],
)  # fmt: skip
def test_a_hole_in_the_theorems_would_be_found(
    specification: Specification, subject: str, formula: str, mutant: str, why: str
) -> None:
    outcome = outcomes(specification, subject, formula)[f"{formula}: {mutant}"]
    assert (outcome.verdict, outcome.sound) == ("survivor", False)
    assert outcome.by.startswith(why)


def _bench(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["mutation.py", *arguments])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(ROOT / "bench" / "mutation.py"), run_name="__main__")
    return int(stopped.value.code or 0)


def test_the_bench_counts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _bench(monkeypatch, "mma.m16n8k16.b.16b", "--format", "json") == 0
    total = json.loads(capsys.readouterr().out)["total"]
    parts = [*total["equal"].values(), *total["refuted"].values(), total["refused"], total["survivors"]]
    assert sum(parts) == total["mutants"] == 63
    assert not total["unknown"]


@pytest.mark.usefixtures("no_theorems")
def test_the_bench_fails_on_a_hole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without theorems each mutant is a hole, and is enumerated to show it; a few are enough to fail."""
    every = Mutation.mutants
    monkeypatch.setattr(Mutation, "mutants", lambda *given: islice(every(*given), 8))
    assert _bench(monkeypatch, "mma.m16n8k16.b.16b") == 1
    assert "A HOLE: " in capsys.readouterr().out


def test_the_bench_holds_survivors_against_silicon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Selectors of scale factors are of sm_120a: the mutant survives both; of the others none does."""
    assert _bench(monkeypatch, "--silicon", "mma.scale-a.1X", "mma.m8n8k16.b") == 0
    out = capsys.readouterr().out
    assert "survives both: mma.scale-a.1X where: " in out
    assert "not measured: mma.scale-a.1X: mma/m16n8k32.mxf8f6f4: it is for sm_120f" in out
    assert "OPEN" not in out and "theorem" not in out


def test_the_bench_fails_where_silicon_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = load_silicon()[-1]
    silent = Silicon(recorded.device)
    monkeypatch.setattr("ptxmma.ledger.silicon_record.load_silicon", lambda: (silent,))
    assert _bench(monkeypatch, "--silicon", "mma.m16n8k16.b.16b") == 1
    assert "OPEN: mma.m16n8k16.b.16b" in capsys.readouterr().out

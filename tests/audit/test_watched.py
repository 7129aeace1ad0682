"""The mutation run can be red: without its witness a slip survives, and what a witness does wrong is left to mend."""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from ptxmma.audit.mutation import witnesses
from ptxmma.audit.mutation.baseline import Baseline
from ptxmma.audit.mutation.corpus import Corpus, sample
from ptxmma.audit.mutation.forks import outcomes
from ptxmma.audit.mutation.recorded import (
    RecordedFile,
    as_outcomes,
    by_slip_kind,
    equal_slips,
    load_recorded,
    record,
    slips_digest,
)
from ptxmma.audit.mutation.table import as_json, by_field, by_file, by_kind, counted
from ptxmma.audit.mutation.trial import SlipOutcome, SlipVerdict
from ptxmma.audit.mutation.universe_table import words
from ptxmma.audit.mutation.witnesses import WITNESSES, Changed
from ptxmma.formal.mutation.slips import Slip
from ptxmma.spec.cache import ROOT
from ptxmma.spec.errors import PtxmmaError, Question, SpecError

LITMUS = "spec/ordering/litmus.yaml"
# How names begin: of what a model notices, what the loader refuses, what a test notices, and documentation.
NOTICED = f"{LITMUS} tests.triton-8964.hazards[0]: word: accumulator-in-flight → "
REFUSED = f"{LITMUS} tests.triton-8964: key dropped: hazards: "
DROPPED = f"{LITMUS} tests: entry dropped: triton-8964 → "
DOCUMENTATION = f"{LITMUS} tests.triton-8964.title: text: "


@pytest.fixture(scope="module")
def base() -> Baseline:
    made = Baseline(Corpus())
    made.prepare({LITMUS})
    return made


def first(base: Baseline, name: str) -> Slip:
    return next(slip for slip in base.corpus.slips([LITMUS]) if slip.name.startswith(name))


def judged(base: Baseline, *names: str, seconds: float = 60.0) -> dict[str, tuple[SlipVerdict, str]]:
    """By name, the verdict and who notices."""
    found = outcomes(base, [first(base, name) for name in names], 2, seconds)
    return {outcome.slip.name: (outcome.verdict, outcome.by) for outcome in found}


def test_a_slip_judged_again_by_its_name_has_the_same_verdict(base: Baseline) -> None:
    once = judged(base, NOTICED, REFUSED, DROPPED, DOCUMENTATION)
    assert [said for _, said in sorted(once.values())] == ["loader", "models", "tests", "readers"]
    for name, said in once.items():
        assert judged(base, name) == {name: said}


@pytest.mark.parametrize(("name", "witness"), [(NOTICED, "models"), (DROPPED, "tests")])
def test_without_its_witness_a_slip_survives(
    base: Baseline, monkeypatch: pytest.MonkeyPatch, name: str, witness: str
) -> None:
    monkeypatch.setitem(WITNESSES, witness, lambda changed: None)
    assert list(judged(base, name).values()) == [("survives", "")]


def dies(changed: Changed) -> str | None:
    raise ZeroDivisionError


def has_no_place(changed: Changed) -> str | None:
    raise PtxmmaError("somewhere")


def has_a_place(changed: Changed) -> str | None:
    raise SpecError("there", next(iter(changed.specification.instructions.values())).place)


def takes_long(changed: Changed) -> str | None:
    time.sleep(60)
    return "at last"


@pytest.mark.parametrize(
    ("witness", "seconds", "verdict"),
    [
        (dies, 60.0, "crash"),
        (has_no_place, 60.0, "placeless"),
        (has_a_place, 60.0, "noticed"),
        (takes_long, 1.0, "timeout"),
    ],
)
def test_a_witness_that_fails_is_no_witness(
    base: Baseline,
    monkeypatch: pytest.MonkeyPatch,
    witness: Callable[[Changed], str | None],
    seconds: float,
    verdict: SlipVerdict,
) -> None:
    monkeypatch.setitem(WITNESSES, "models", witness)
    (said,) = judged(base, NOTICED, seconds=seconds).values()
    assert said[0] == verdict


def watched(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["watched.py", *arguments])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(ROOT / "bench" / "watched.py"), run_name="__main__")
    return int(stopped.value.code or 0)


def test_the_command_fails_where_a_slip_survives(
    base: Baseline, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = first(base, NOTICED).name
    assert watched(monkeypatch, LITMUS, "--name", name, "--format", "json") == 0
    (one,) = json.loads(capsys.readouterr().out)["slips"]
    assert (one["name"], one["verdict"], one["by"]) == (name, "noticed", "models")
    monkeypatch.setitem(WITNESSES, "models", lambda changed: None)
    assert watched(monkeypatch, LITMUS, "--name", name) == 1
    out = capsys.readouterr().out
    assert f"NOBODY LitmusTest.hazards, {LITMUS}:" in out
    assert f"\n    {name}\n" in out
    assert "1 left to mend" in out


def test_every_verdict_stands_in_one_column(base: Baseline) -> None:
    verdicts = [
        *(("noticed", name) for name in ("loader", *WITNESSES)),
        *((verdict, "loader") for verdict in get_args(SlipVerdict) if verdict != "noticed"),
    ]
    every = list(base.corpus.slips([LITMUS]))
    found = [SlipOutcome(s, *verdicts[i % len(verdicts)], "", 0.0) for i, s in enumerate(every)]
    in_files = counted(found, lambda outcome: outcome.slip.file)
    for table in (by_kind(by_slip_kind(found)), by_file(in_files), by_field(found)):
        rows = [list(cells) for cells in zip(*(column.cells for column in table.columns), strict=True)]
        counts = [[int(str(cell) or 0) for cell in row[1:]] for row in rows]
        assert len(table.columns) == 2 + len(verdicts)
        assert all(row[0] == sum(row[1:]) for row in counts)
        assert counts[-1] == [sum(column) for column in zip(*counts[:-1], strict=True)]
        assert counts[-1][0] == len(every)
    assert {o.verdict for o in found if o.open} == {"survives", "crash", "placeless", "timeout"}


def test_a_record_tells_what_is_stale(base: Baseline, tmp_path: Path) -> None:
    every = list(base.corpus.slips([LITMUS]))
    found = [SlipOutcome(slip, "noticed", "models", "", 0.0) for slip in every[2:]]
    found.append(SlipOutcome(every[0], "survives", "", "", 0.0))
    found.append(SlipOutcome(every[1], "equal", "loader", "the same meaning", 0.0))
    kept = RecordedFile("2026-11-22", slips_digest(every), by_slip_kind(found), equal_slips(found))
    assert kept.equal == {"the same meaning": (every[1].name.removeprefix(f"{LITMUS} "),)}
    record(tmp_path / "record.json", {LITMUS: kept})
    assert load_recorded(tmp_path / "record.json") == {LITMUS: kept}
    assert sum(kept.counts.values()) == len(every)
    assert [row for row, column in kept.counts if column == "nobody"] == [every[0].kind]
    assert slips_digest(every[1:]) != kept.digest == slips_digest(base.corpus.slips([LITMUS]))
    assert not load_recorded(tmp_path / "none.json")


def test_outcomes_are_read_from_lines(base: Baseline, tmp_path: Path) -> None:
    every = list(base.corpus.slips([LITMUS]))[:3]
    found = [SlipOutcome(slip, "noticed", "models", "so → it is", 0.5) for slip in every]
    lines = tmp_path / "lines"
    lines.write_text("".join(json.dumps(as_json(outcome)) + "\n" for outcome in found), encoding="utf-8")
    assert as_outcomes(every, lines) == found
    assert as_outcomes(every[:1], lines) == found[:1]
    lines.write_text('{"name": 1}\n', encoding="utf-8")
    with pytest.raises(Question, match="lines:1: not a line of --format lines"):
        as_outcomes(every, lines)


@pytest.mark.parametrize("narrow", [("--sample", "3"), ("--field", "Row"), ("--name", "x")])
def test_only_whole_files_are_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], narrow: tuple[str, str]
) -> None:
    assert watched(monkeypatch, LITMUS, "--record", *narrow) == 2
    assert "--record is of whole files" in capsys.readouterr().err


def test_a_file_without_claims_is_a_question(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watched(monkeypatch, "spec/nosuch.yaml") == 2
    assert "spec/nosuch.yaml states no claims" in capsys.readouterr().err


def test_every_file_has_slips(base: Baseline) -> None:
    """All YAML of the specification, but for what is generated."""
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (*(ROOT / "spec").rglob("*.yaml"), *ROOT.glob("[!.]*.yaml"))
    }
    files |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "check").glob("*.yaml")}
    assert files - {"spec/ordering/synthesised.yaml"} == set(base.corpus.nodes)


def test_a_sample_is_chosen_by_its_seed(base: Baseline) -> None:
    every = list(base.corpus.slips([LITMUS]))
    chosen = sample(every, 40, 7)
    assert chosen == sample(every, 40, 7) != sample(every, 40, 8)
    assert len(set(chosen)) == 40
    assert {slip.field for slip in chosen} == {slip.field for slip in every}
    assert sample(every, len(every) + 1, 7) == every


def test_a_change_of_the_index_concerns_every_statement(base: Baseline) -> None:
    """Also where each row is as it was: `repeatable` is about the spelling of all of them."""
    specification = base.specification
    less = replace(specification, index=replace(specification.index, repeatable=()))
    changed = Changed(base, less, "specs.yaml")
    assert words("wgmma.fence.sync.sync.aligned") in witnesses.concerned_words(changed, "wgmma.fence")

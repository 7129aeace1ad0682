"""Claims with all their witnesses: what each says, and a silent witness does not count as agreement."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.formal.catalogue import obligations
from ptxmma.ledger.assembler_record import claims, load_records, verdicts
from ptxmma.ledger.contradictions import register
from ptxmma.ledger.silicon_record import Silicon, load_silicon
from ptxmma.ledger.solver_record import SolverRecord, load_answers, write_answers
from ptxmma.ledger.witnesses import Witnessed, recorded, witnessed
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification

from ..answers import valid

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]
ROW = "mma.sp/m16n8k16.tf32"
METADATA = "mma.sp.metadata.tf32.pair"


RECORDS = load_records()


def of(
    specification: Specification,
    row: str = ROW,
    answers: Sequence[SolverRecord] | None = None,
    silicon: Sequence[Silicon] | None = None,
) -> dict[str, Witnessed]:
    """The claims of one row, with some witnesses in the place of the recorded ones."""
    asked = [claim for claim in claims(specification) if claim.id == row]
    solvers = recorded(load_answers() if answers is None else answers)
    shown = load_silicon() if silicon is None else silicon
    found = verdicts(RECORDS, asked)
    return {w.subject.id: w for w in witnessed(specification, asked, solvers, found, register(), shown)}


def test_every_witness_of_a_row(specification: Specification) -> None:
    found = of(specification)
    row, metadata = found[ROW], found[METADATA]
    assert all(claim.holds for claim in found.values())
    assert row.theorems["row.covers"] == {"cvc5": {"proven": 5}, "z3": {"proven": 5}}
    assert row.assemblers is not None and row.assemblers.agree == row.assemblers.of == 17
    assert [shown.device for shown in row.silicon] == ["NVIDIA H100 80GB HBM3", "NVIDIA H200"]
    for shown in row.silicon:
        assert shown.cases == {"ptx": (72, 72), "cubin": (72, 72)} and not shown.not_run
    assert [(len(one.alike), one.different, one.alone) for one in row.common] == [(6, (), ()), (2, (), ())]
    assert {"sparse.complete", "layout.selective", "layout.surjective"} <= metadata.theorems.keys()
    for shown in metadata.silicon:
        assert shown.measured["metadata"].kernels == 4 and shown.measured["metadata"].points > 2000
    assert metadata.subject.kind == "metadata" and metadata.assemblers is None


def spoilt(answer: str | None) -> list[SolverRecord]:
    """The recorded answers with that to one theorem changed, or taken away."""

    def changed(one: SolverRecord) -> SolverRecord:
        given = {hashed: answer for hashed in one.answers["sparse.round_trip"] if answer}
        return replace(one, answers={**one.answers, "sparse.round_trip": given})

    return [changed(one) for one in load_answers()]


@pytest.mark.parametrize(
    ("answer", "state"), [(None, "unrecorded"), ("unknown", "unknown"), ("sat", "refuted")]
)
def test_what_is_not_proven_does_not_pass(
    specification: Specification, answer: str | None, state: str
) -> None:
    found = of(specification, answers=spoilt(answer))
    assert not found[METADATA].holds and found[ROW].holds
    assert found[METADATA].theorems["sparse.round_trip"] == {"cvc5": {state: 1}, "z3": {state: 1}}


def test_without_solvers_nothing_is_proven(specification: Specification) -> None:
    assert not any(claim.holds for claim in of(specification, answers=[]).values())


def test_stale_measurements_do_not_pass(specification: Specification) -> None:
    silicon = load_silicon()[-1]
    subjects = {name: replace(one, case="another") for name, one in silicon.subjects.items()}
    found = of(specification, silicon=[replace(silicon, subjects=subjects)])
    assert not found[METADATA].holds and found[ROW].holds
    assert found[METADATA].silicon[0].measured["metadata"].outdated == 4


def test_cases_that_did_not_pass_are_seen(specification: Specification) -> None:
    silicon = load_silicon()[-1]
    none = {"count": 0, "passed": "", "others": {}}
    found = of(specification, silicon=[replace(silicon, cases={"ptx": none})])
    assert found[ROW].silicon[0].cases == {"ptx": (0, 72)} and not found[ROW].holds


def test_what_the_device_does_not_have_is_not_run(specification: Specification) -> None:
    found = of(specification, "mma/m16n8k64.mxf4nvf4.2X")
    assert all(claim.silent for claim in found.values())
    shown = found["mma/m16n8k64.mxf4nvf4.2X"].silicon[-1]
    assert shown.not_run == "it is for sm_120f, sm_120a, sm_121f, sm_121a"


def test_cases_that_load_are_counted_for_the_load(specification: Specification) -> None:
    found = of(specification, "wmma.load.a/m16n16k16.float")
    passed, count = found["wmma.load.a/m16n16k16.float"].silicon[0].cases["ptx"]
    assert passed == count > 500


@pytest.mark.parametrize(
    "pattern",
    [
        ROW,
        "mma.sp.m16n8k16.tf32",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
        "mma.sp.metadata.tf32.pair",
    ],
)
def test_a_row_is_named_in_four_ways(run: Run, pattern: str) -> None:
    code, out, _ = run("evidence", pattern, "--format", "json")
    found = json.loads(out)
    valid("evidence", found)
    assert code == 0
    assert found[0]["claim"] == ROW and all(claim["holds"] for claim in found)


def test_solvers_are_asked_now(run: Run) -> None:
    code, out, _ = run("evidence", "movmatrix", "--prove")
    assert code == 0
    assert "layout.surjective" in out and "hold by every witness that was asked" in out
    assert run("evidence", "--prove")[0] == 2
    assert run("prove", "movmatrix", "--record")[0] == 2


def test_the_same_claim_is_the_same_text(specification: Specification) -> None:
    """Whatever else z3 has made in this process, and still holds."""
    kept = []
    for _ in range(2):
        made = obligations(specification, lambda part: part.split()[0] in ("address", "swizzle"))
        kept.append([(obligation, obligation.digest) for _, obligation in made])
    first, second = ([digest for _, digest in one] for one in kept)
    assert first == second and len(first) > 50


def test_answers_survive_writing(tmp_path: Path) -> None:
    for answers in load_answers():
        write_answers(answers, tmp_path)
    assert load_answers(tmp_path) == load_answers()
    (tmp_path / "solver-z3.json").write_text("{}")
    with pytest.raises(Question, match="not a record of observations"):
        load_answers(tmp_path)


def test_another_version_of_a_solver_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record stays that of the version that answered."""
    monkeypatch.setattr("ptxmma.cli.claims_report.solver_version", lambda solver: "0.1")
    code, out, _ = run("evidence", "movmatrix")
    assert code == 0
    assert re.search(r"asked: z3 \d[\d.]+ \([\d-]+; 0\.1 is installed, and --prove asks it\); cvc5 ", out)

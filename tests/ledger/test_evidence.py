"""The record of observations: recomputed verdicts, stale claims, a wrong observation, garbage."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.cli.silicon_report import SiliconTables
from ptxmma.cli.universe_report import shown_by_assemblers
from ptxmma.ledger.assembler_record import (
    Claim,
    Record,
    claims,
    load_records,
    unclaimed,
    verdicts,
    write,
)
from ptxmma.ledger.claims import layout_digest, legality_digest
from ptxmma.ledger.register_faults import RegisterFaults
from ptxmma.ledger.solver_record import load_answers
from ptxmma.spec.errors import Question
from ptxmma.spec.loading import load_files
from ptxmma.spec.specification import Specification

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
ROW = "wgmma.mma_async.sp/integer"


@pytest.fixture(scope="module")
def recorded() -> tuple[Record, ...]:
    return load_records()


@pytest.fixture(scope="module")
def asked(specification: Specification) -> tuple[Claim, ...]:
    return claims(specification)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`evidence` without what has tests of its own: the register, and what peers compute. `.ci/run` asks all."""
    monkeypatch.setattr(RegisterFaults, "every", lambda _: iter(()))
    monkeypatch.setattr("ptxmma.cli.evidence_answers.peers_now", lambda _: ())
    monkeypatch.setattr("ptxmma.cli.evidence_answers.needless_peers", lambda *_: ())


def claim_of(specification: Specification, row: str) -> Claim:
    (claim,) = (claim for claim in claims(specification) if claim.id == row)
    return claim


def test_the_oldest_and_the_newest_assembler_are_recorded(recorded: tuple[Record, ...]) -> None:
    releases = [record.release for record in recorded]
    assert releases[0] == "11.7.99" and releases[-1] == "13.5.37"
    assert all(len(record.sha256) == 64 and record.settings for record in recorded)


@pytest.mark.slow
def test_nothing_is_stale_and_every_difference_is_registered(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RegisterFaults, "every", lambda _: iter(()))  # the register has tests of its own
    code, out, _ = run("evidence", "--format", "json")
    assert code == 0
    found = json.loads(out)
    valid("evidence", found)
    assert {entry["state"] for entry in found} <= {"agrees", "differs"}
    assert all(entry["unregistered"] == 0 and entry["points"] for entry in found)


def spoilt(record: Record, row: str) -> Record:
    """The record with the first observation of a row's first form turned round."""
    entry = dict(record.rows[row])
    which = bytearray(zlib.decompress(base64.b64decode(entry["observed"])))
    bitmap = int(entry["bitmaps"][which[0]], 16) ^ 1
    entry["bitmaps"] = [*entry["bitmaps"], f"{bitmap:x}"]
    which[0] = len(entry["bitmaps"]) - 1
    entry["observed"] = base64.b64encode(zlib.compress(bytes(which))).decode()
    return replace(record, rows={**record.rows, row: entry})


def test_one_wrong_observation_is_found(recorded: tuple[Record, ...], asked: tuple[Claim, ...]) -> None:
    right, wrong = recorded[-1], spoilt(recorded[-1], ROW)
    claim = next(claim for claim in asked if claim.id == ROW)
    (before,), (after,) = (list(verdicts([record], [claim])) for record in (right, wrong))
    assert (before.state, after.state) == ("agrees", "differs")
    ((ptx, target, statement, accepted),) = after.differing
    assert (ptx, target) == right.settings[0]
    assert statement == claim.statements[0]
    assert accepted != bool(claim.legal(claim.view.family.isa.version(ptx), target) & 1)


SPOILT = [
    # (file, old, new, row, whether its claim goes stale)
    ("spec/instructions/wgmma.mma_async.sp.yaml", 'since: "8.4"', 'since: "8.3"', ROW, True),
    ("spec/instructions/wgmma.mma_async.sp.yaml", 'since: "8.4"', 'since: "8.3"', "mma/m16n8k16.f16", False),
    ("spec/instructions/wgmma.mma_async.sp.yaml", "values: [0, 1], valid", "values: [0, 1, 2], valid", ROW, True),
    ("spec/instructions/wgmma.mma_async.sp.yaml", "sparsity metadata, accepts", "metadata of sparsity, accepts", ROW, False),
    ("spec/instructions/mma.sp.yaml", "value < selectors", "not selectors <= value", "mma.sp/m16n8k16.tf32", False),
    ("spec/instructions/mma.sp.yaml", "value < selectors", "value <= selectors", "mma.sp/m16n8k16.tf32", True),
    ("spec/instructions/wgmma.mma_async.sp.yaml", 'section: "', 'section: "1.', ROW, False),
    ("spec/layouts/wgmma.yaml", "8*(i // 4) + 2", "8 * (i // 4) + 2", ROW, False),
    ("specs.yaml", 'sm_90a: {since: "8.0"', 'sm_90a: {since: "7.8"', ROW, False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "row", "stale"), SPOILT)
def test_a_claim_goes_stale_when_what_it_rests_on_changes(
    files: Path, recorded: tuple[Record, ...], name: str, old: str, new: str, row: str, stale: bool
) -> None:
    text = (files / name).read_text()
    assert old in text
    (files / name).write_text(text.replace(old, new, 1))
    claim = claim_of(load_files(files), row)
    (verdict,) = verdicts(recorded[-1:], [claim])
    assert (verdict.state == "stale") == stale


def test_a_row_that_is_no_longer_claimed_is_told(
    recorded: tuple[Record, ...], asked: tuple[Claim, ...]
) -> None:
    assert unclaimed(recorded, asked) == {}
    fewer = [claim for claim in asked if claim.id != ROW]
    assert unclaimed(recorded[-2:], fewer) == {ROW: (recorded[-2].release, recorded[-1].release)}


@pytest.mark.slow
def test_a_recorded_row_that_vanished_fails(
    run: Run, recorded: tuple[Record, ...], monkeypatch: pytest.MonkeyPatch, alone: None
) -> None:
    rows = {**recorded[-1].rows, "mma/gone": recorded[-1].rows[ROW]}
    shown = (*recorded[:-1], replace(recorded[-1], rows=rows))
    answers = "ptxmma.cli.evidence_answers"
    monkeypatch.setattr(f"{answers}.shown_by_devices", lambda *_: SiliconTables((), [], []))
    monkeypatch.setattr(f"{answers}.load_records", lambda: recorded)
    assert run("evidence")[0] == 0
    monkeypatch.setattr(f"{answers}.load_records", lambda: shown)
    code, out, _ = run("evidence")
    assert code == 1 and "UNCLAIMED (recorded, no longer claimed): mma/gone, ptxas 13.5.37" in out
    assert "(spec/instructions/mma.yaml has no such row)" in out


def test_a_changed_gate_does_not_void_a_layout(files: Path, specification: Specification) -> None:
    path = files / "spec/instructions/wgmma.mma_async.sp.yaml"
    path.write_text(path.read_text().replace('since: "8.4"', 'since: "8.3"', 1))
    changed = load_files(files)
    views = [s.families["wgmma.mma_async.sp"].rows[-1] for s in (specification, changed)]
    assert legality_digest(views[0]) != legality_digest(views[1])
    assert layout_digest(specification.layouts["wgmma.d"]) == layout_digest(changed.layouts["wgmma.d"])


def test_a_record_survives_writing(tmp_path: Path, recorded: tuple[Record, ...]) -> None:
    write(recorded[0], tmp_path)
    assert load_records(tmp_path) == (recorded[0],)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 2, "settings": 3}', "\x00"])
def test_garbage_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "ptxas-1.2.3.json").write_text(text)
    with pytest.raises(Question, match="not a record of observations"):
        load_records(tmp_path)


def test_without_a_record_the_question_cannot_be_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptxmma.cli.evidence_answers.load_records", lambda: ())
    assert run("evidence")[0] == 2
    assert run("evidence", "no.such.row")[0] == 2


def test_what_is_unrecorded_does_not_look_like_a_pass(
    run: Run, recorded: tuple[Record, ...], monkeypatch: pytest.MonkeyPatch, alone: None
) -> None:
    """One assembler, one solver and no device are recorded: each of the others is named, and nothing holds."""
    answers = "ptxmma.cli.evidence_answers"
    z3 = [one for one in load_answers() if one.solver == "z3"]
    monkeypatch.setattr(f"{answers}.load_records", lambda: recorded[-1:])
    monkeypatch.setattr(f"{answers}.load_answers", lambda: tuple(z3))
    monkeypatch.setattr(f"{answers}.load_silicon", tuple)
    monkeypatch.setattr("ptxmma.cli.silicon_report.load_silicon", tuple)
    code, out, _ = run("evidence", "movmatrix/m8n8.b16")
    assert code == 1 and "1 of 17 agree" in out and "unrecorded: 11.7.99" in out
    assert "(cvc5: 1 unrecorded)" in out and "cvc5 is unrecorded" in out
    assert "DOES NOT HOLD: row movmatrix/m8n8.b16" in out and "silicon was not asked about 3" in out
    code, out, _ = run("evidence", "movmatrix/m8n8.b16", "--format", "json")
    row, *layouts = json.loads(out)
    assert code == 1 and len(row["assemblers"]["unrecorded"]) == 16 and not row["assemblers"]["stale"]
    assert not any(claim["holds"] for claim in (row, *layouts))
    code, out, _ = run("evidence")
    assert code == 1 and "UNRECORDED: ptxas 11.7.99, 11.8.89, " in out and "UNRECORDED: no device" in out


def test_universes_that_are_unrecorded_are_named(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ptxmma.cli.universe_report.load_universes", lambda _: ())
    shown = shown_by_assemblers(specification)
    assert shown.failed and "ptxas 13.5.37" in shown.unrecorded and "the universe of mma" in shown.unrecorded

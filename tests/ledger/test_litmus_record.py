"""What each ptxas did with each litmus test: recorded for all, and noticed when a test changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.assemblers.litmus_reactions import Reaction, react
from ptxmma.assemblers.toolchains import available
from ptxmma.gen.litmus.litmus_tests import suite, written
from ptxmma.ledger.litmus_record import (
    LitmusRecord,
    load_litmus_record,
    recorded_anew,
    write_litmus_record,
)
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification

TESTS = written()[:2]


def test_every_release_is_recorded_for_every_test(specification: Specification) -> None:
    record = load_litmus_record()
    releases = [one.version for release in specification.index.releases for one in release.assemblers]
    assert sorted(record.releases) == sorted(releases)
    assert [test.name for test in suite() if list(record.of(test)) != list(record.releases)] == []
    assert record.tests == {test.name for test in suite()}


def test_the_newest_release_at_hand_still_does_so() -> None:
    releases = available()
    if not releases:
        pytest.skip("no ptxas is at hand; `ptxmma toolchain fetch` gets one")
    record, tests = load_litmus_record(), suite()[::40]
    newest = releases[-1]
    now = {reaction.test: reaction.kind for reaction in react(newest, tests)}
    assert {test.name: record.of(test)[newest.version] for test in tests} == now


def test_a_test_that_changed_has_no_answer(tmp_path: Path) -> None:
    found = {"13.0.88": [Reaction(test.name, "accepts", ()) for test in TESTS]}
    record = recorded_anew(LitmusRecord({}), TESTS, found)
    assert record.of(TESTS[0]) == {"13.0.88": "accepts"}
    assert record.of(replace(TESTS[0], title="another")) == {}


def test_what_was_recorded_before_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptxmma.ledger.records.require_writable", lambda folder: None)
    first = {"13.0.88": [Reaction(test.name, "accepts", ()) for test in TESTS]}
    second = {"12.8.93": [Reaction(test.name, "repairs", ()) for test in TESTS]}
    record = recorded_anew(recorded_anew(LitmusRecord({}), TESTS, first), TESTS, second)
    write_litmus_record(record, tmp_path)
    again = load_litmus_record(tmp_path)
    assert again == record
    assert dict(again.of(TESTS[1])) == {"12.8.93": "repairs", "13.0.88": "accepts"}


def test_another_file_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "litmus.json").write_text('{"format": 1, "releases": []}')
    with pytest.raises(Question, match="is not a record"):
        load_litmus_record(tmp_path)
    assert load_litmus_record(tmp_path / "none") == LitmusRecord({})

"""The record of whole universes: recomputed verdicts, one wrong bit, other statements, garbage."""

from __future__ import annotations

import base64
import multiprocessing
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.assemblers.assembler_settings import AssemblerSetting, Job
from ptxmma.assemblers.outcomes import AskedBefore, StatementOutcome
from ptxmma.assemblers.toolchains import Ptxas
from ptxmma.assemblers.universe import Universe
from ptxmma.assemblers.universe_cache import PackedUniverse, packed
from ptxmma.assemblers.universe_points import UniversePoint
from ptxmma.ledger import universe_record
from ptxmma.ledger.assembler_record import assembled, claims, load_records
from ptxmma.ledger.claims import cases_digest
from ptxmma.ledger.contradictions import register
from ptxmma.ledger.records import FOLDER
from ptxmma.ledger.universe_record import (
    ExpectedAnswers,
    UniverseRecord,
    UniverseVerdict,
    judged,
    load_universes,
    verdicts,
    write,
)
from ptxmma.spec.errors import Question
from ptxmma.spec.nodes import Version
from ptxmma.spec.specification import Specification
from ptxmma.spec.statements import read_statement
from ptxmma.spec.workers import using

NAME = "movmatrix"


@pytest.fixture(scope="module")
def points(specification: Specification) -> tuple[UniversePoint, ...]:
    return Universe(specification).whole(specification.families[NAME])


@pytest.fixture(scope="module")
def newest() -> UniverseRecord:
    record = load_universes(FOLDER)[-1]
    return replace(record, instructions={NAME: record.instructions[NAME]})


def verdict_on(
    specification: Specification, points: tuple[UniversePoint, ...], record: UniverseRecord
) -> UniverseVerdict:
    (verdict,) = judged(specification, PackedUniverse.of(NAME, points), [record], register()).values()
    return verdict


def spoilt(record: UniverseRecord, place: int) -> UniverseRecord:
    """A record with the opposite verdict on one statement."""
    entry = dict(record.instructions[NAME])
    bits = bytearray(zlib.decompress(base64.b64decode(entry["accepted"])))
    bits[place >> 3] ^= 1 << (place & 7)
    entry["accepted"] = base64.b64encode(zlib.compress(bytes(bits))).decode()
    return replace(record, instructions={NAME: entry})


def test_every_release_is_recorded(specification: Specification) -> None:
    releases = {a.version for release in specification.index.releases for a in release.assemblers}
    assert {record.release for record in load_universes(FOLDER)} == releases


def test_what_is_recorded_agrees_or_is_registered(
    specification: Specification, points: tuple[UniversePoint, ...], newest: UniverseRecord
) -> None:
    verdict = verdict_on(specification, points, newest)
    assert (verdict.stale, verdict.points, verdict.unregistered) == (False, len(points), ())


@pytest.mark.parametrize("legal", [True, False])
def test_one_wrong_bit_is_found(
    specification: Specification, points: tuple[UniversePoint, ...], newest: UniverseRecord, legal: bool
) -> None:
    place = next(n for n, point in enumerate(points) if (point.gate is not None) == legal)
    verdict = verdict_on(specification, points, spoilt(newest, place))
    assert verdict.differing == verdict_on(specification, points, newest).differing + 1
    assert verdict.unregistered == (
        f"sm_75: {'refused' if legal else 'accepted'}: {points[place].statement}",
    )


def test_other_statements_make_it_stale(
    specification: Specification, points: tuple[UniversePoint, ...], newest: UniverseRecord
) -> None:
    assert verdict_on(specification, points[:-1], newest).stale


def test_a_record_survives_writing_and_garbage_is_none(tmp_path: Path, newest: UniverseRecord) -> None:
    path = write(newest, tmp_path)
    assert load_universes(tmp_path) == (newest,)
    for text in ("", "[]", "{}", '{"format": 2}', "\x00"):
        path.write_text(text)
        with pytest.raises(Question, match="not a record of observations"):
            load_universes(tmp_path)


def test_another_executor_comes_to_the_same_verdicts(
    specification: Specification, newest: UniverseRecord
) -> None:
    """What --scheduler needs: the work can be sent to a process that shares nothing with this one."""
    here = verdicts(specification, [newest], register())
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor, using(executor):
        assert verdicts(specification, [newest], register()) == here
    assert [verdict.unregistered for verdict in here] == [()]


def taken(specification: Specification, name: str) -> Iterator[tuple[str, bool]]:
    """Every statement of a universe, and whether the newest assembler took it."""
    statements = packed(Universe(specification), specification.families[name]).statements
    bits = load_universes(FOLDER)[-1].accepted(name, cases_digest(statements)) or b""
    for place, text in enumerate(statements):
        yield text, bool(bits[place >> 3] >> (place & 7) & 1)


@pytest.mark.parametrize(("name", "word"), [("mma", "satfinite"), ("mma", "sync"), ("wmma.mma", "satfinite")])
def test_a_qualifier_that_may_not_be_repeated_is_contradicted(
    specification: Specification, name: str, word: str
) -> None:
    """Optional qualifiers are doubled too: each row's first statement has none of them."""
    index = specification.index
    less = replace(index, repeatable=tuple(other for other in index.repeatable if other != word))
    as_it_is, spoilt = specification.judge(), replace(specification, index=less).judge()
    twice = [text for text, took in taken(specification, name) if took and text.count(f".{word}") == 2]
    legal = [s for s in map(read_statement, twice) if as_it_is.gate_of(s) is not None]
    assert legal
    assert all(spoilt.gate_of(statement) is None for statement in legal)


def test_no_other_qualifier_may_be_repeated(specification: Specification) -> None:
    twice = [took for text, took in taken(specification, "mma") if ".aligned.aligned" in text]
    assert twice
    assert not any(twice)


def test_an_assembler_is_told_what_is_expected_and_answers_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five statements in parts of two: b and d are recorded as refused, and c was assembled just now."""
    told: list[tuple[list[str], set[str], set[str]]] = []

    class Answers:
        def __init__(self, ptxas: Ptxas, ptx: Version, target: str, memory: AskedBefore) -> None:
            self.memory = memory
            assert target == "sm_90a"

        def classify(self, statements: list[str]) -> list[StatementOutcome]:
            known = {text for target, text in self.memory.assembled if target == "sm_90a"}
            told.append((statements, self.memory.apart, known))
            return [StatementOutcome("accepted" if text in "a;d;" else "refused") for text in statements]

    def in_twos(jobs: list[Job]) -> list[Job]:
        return [
            Job(job.setting, job.points[at : at + 2]) for job in jobs for at in range(0, len(job.points), 2)
        ]

    points = [UniversePoint("x", f"{letter};", None) for letter in "abcde"]
    cases = cases_digest(point.statement for point in points)
    entry = {"cases": cases, "accepted": base64.b64encode(zlib.compress(bytes([0b10101]))).decode()}
    recorded = UniverseRecord("12.0.140", "", "8.0", {"x": entry})
    monkeypatch.setattr(universe_record, "Session", Answers)
    monkeypatch.setattr(universe_record, "split", in_twos)
    ptxas = Ptxas(Path("ptxas"), "12.0.140", Version.of("8.0"))
    job = Job(AssemblerSetting(ptxas, ptxas.ptx, "sm_90a"), points)
    just_now = {"sm_90a": frozenset({"c;", "other;"}), "sm_80": frozenset({"a;"})}

    parts = universe_record._parts(job, cases, ExpectedAnswers(recorded, just_now))
    assert [universe_record._accepted(part) for part in parts] == [[True, False], [False, True], [False]]
    wanted = [(["a;", "b;"], {"b;"}, set()), (["c;", "d;"], {"d;"}, {"c;"}), (["e;"], set(), set())]
    assert told == wanted
    told.clear()
    for other in (None, ExpectedAnswers(replace(recorded, instructions={}), {})):
        for part in universe_record._parts(job, cases, other):
            universe_record._accepted(part)
    assert all(not apart and not known for _, apart, known in told) and len(told) == 6


def test_what_was_assembled_is_what_was_accepted_under_that_version(specification: Specification) -> None:
    record = next(one for one in load_records() if one.release == "12.0.140")
    every = [claim for claim in claims(specification) if claim.id.startswith("wgmma.mma_async/f16")]
    found = assembled(record, Version.of("8.0"), every)
    assert {target for version, target in record.settings if version == "8.0"} == set(found)
    assert found["sm_90a"] == {text for claim in every for text in claim.statements}
    assert found["sm_90"] == found["sm_80"] == frozenset()
    assert all(not texts for texts in assembled(record, Version.of("7.8"), every).values())

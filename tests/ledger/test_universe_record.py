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

from ptxmma.assemblers.universe import Universe
from ptxmma.assemblers.universe_cache import PackedUniverse, packed
from ptxmma.assemblers.universe_points import UniversePoint
from ptxmma.ledger.claims import cases_digest
from ptxmma.ledger.contradictions import register
from ptxmma.ledger.records import FOLDER
from ptxmma.ledger.universe_record import (
    UniverseRecord,
    UniverseVerdict,
    judged,
    load_universes,
    verdicts,
    write,
)
from ptxmma.spec.errors import Question
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

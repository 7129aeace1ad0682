"""The record of whole universes: recomputed verdicts, one wrong bit, other statements, garbage."""

from __future__ import annotations

import base64
import multiprocessing
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.assemblers.universe import Universe
from ptxmma.assemblers.universe_cache import PackedUniverse
from ptxmma.assemblers.universe_points import UniversePoint
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

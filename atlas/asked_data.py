"""What assemblers said about each form of an instruction, as data: recorded bitmaps, by row and release."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..ledger.assembler_record import Claim, Record

__all__ = ["asked_data", "releases_data"]


def releases_data(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The releases, oldest first, each with the versions and targets under which it was asked."""
    return [
        {"release": record.release, "dates": record.dates, "settings": _by_target(record.settings)}
        for record in records
    ]


def _by_target(settings: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Settings in their order: runs of one target, each with its versions."""
    return [
        (target, [ptx for ptx, _ in run]) for target, run in itertools.groupby(settings, lambda pair: pair[1])
    ]


def asked_data(claims: Iterable[Claim], records: Sequence[Record]) -> Mapping[str, Any]:
    """By row, for each release: the bitmaps of accepted forms that occur, and how many settings in a row have
    which. Null where the release was not asked about the row as it is today.
    """
    return {claim.view.row.id: [_seen(record.seen(claim)) for record in records] for claim in claims}


def _seen(bitmaps: Sequence[int] | None) -> dict[str, Any] | None:
    if bitmaps is None:
        return None
    known = list(dict.fromkeys(bitmaps))
    runs = [(known.index(bitmap), len(list(run))) for bitmap, run in itertools.groupby(bitmaps)]
    return {"bitmaps": [f"{bitmap:x}" for bitmap in known], "runs": runs}

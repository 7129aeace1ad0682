"""Ask an assembler about every form of every row, under every .version and .target that it takes."""

from __future__ import annotations

import base64
import datetime
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..assemblers.assembler_settings import AssemblerSetting, Column, columns
from ..assemblers.classification import Session
from ..assemblers.outcomes import AskedBefore
from ..assemblers.toolchains import Ptxas, digest
from ..spec.errors import Question
from ..spec.specification import Specification
from ..spec.workers import over_jobs
from .assembler_record import Claim, Record, claims

__all__ = ["observe"]

_BITMAPS = 256


def observe(specification: Specification, ptxas: Ptxas, before: Record | None = None) -> Record:
    """Ask an assembler about every form of every row under every .version and .target that it takes.

    Observations made `before` of an unchanged claim are kept, not repeated.
    """
    every = claims(specification)
    if before is not None and before.sha256 == digest(ptxas.path):
        kept = {claim.id: before.rows[claim.id] for claim in every if before.seen(claim) is not None}
    else:
        kept = {}
    asked = [claim for claim in every if claim.id not in kept]
    known = columns(specification.isa, [ptxas])
    if not known:
        raise Question(f"ptxas {ptxas.version} takes no target of the specification")
    unreadable = _syntax_errors(asked, Session(ptxas, ptxas.ptx, known[0].target))
    found = over_jobs(known, partial(_accepted, asked, unreadable))
    seen = {setting: bitmaps for column in found for setting, bitmaps in column.items()}
    order = {target: place for place, target in enumerate(specification.index.targets)}
    taken = sorted(seen, key=lambda setting: (order[setting.target], setting.ptx))
    named = tuple((str(setting.ptx), setting.target) for setting in taken)
    if before is not None and kept and named != before.settings:
        return observe(specification, ptxas)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows: dict[str, Mapping[str, Any]] = dict(kept)
    for number, claim in enumerate(asked):
        column = [seen[setting][number] for setting in taken]
        distinct = sorted(set(column))
        if len(distinct) > _BITMAPS:
            raise Question(f"ptxas {ptxas.version} has more than {_BITMAPS} opinions about {claim.id}")
        which = bytes(distinct.index(bitmap) for bitmap in column)
        rows[claim.id] = {
            "claim": claim.digest,
            "cases": claim.cases,
            "date": today,
            "bitmaps": [f"{bitmap:x}" for bitmap in distinct],
            "observed": base64.b64encode(zlib.compress(which, 9)).decode(),
        }
    in_order = {claim.id: rows[claim.id] for claim in every}
    return Record(ptxas.version, digest(ptxas.path), named, in_order)


def _syntax_errors(asked: Sequence[Claim], session: Session) -> frozenset[str]:
    """The statements that an assembler cannot parse; its grammar is the same in every setting."""
    statements = [statement for claim in asked for statement in claim.statements]
    pairs = zip(statements, session.classify(statements), strict=True)
    return frozenset(text for text, outcome in pairs if "syntax error" in outcome.words)


def _accepted(
    asked: Sequence[Claim], unreadable: frozenset[str], column: Column
) -> dict[AssemblerSetting, list[int]]:
    """By setting and claim, the bitmap of the accepted forms; a form that kills ptxas is not accepted."""
    statements = [text for claim in asked for text in claim.statements if text not in unreadable]
    memory, found = AskedBefore(), {}
    for version in column.versions:
        setting = AssemblerSetting(column.ptxas, version, column.target)
        outcomes = Session(setting.ptxas, setting.ptx, setting.target, memory=memory).answers(statements)
        if outcomes is not None:
            pairs = zip(statements, outcomes, strict=True)
            accepted = {text for text, outcome in pairs if outcome.verdict == "accepted"}
            found[setting] = [
                sum(1 << bit for bit, text in enumerate(claim.statements) if text in accepted)
                for claim in asked
            ]
        elif version < column.since:
            break  # an older version does not take the target either: no record has one that does
    return found

"""The register: where text, assemblers, silicon and other sources disagree, filtered by who."""

from __future__ import annotations

from collections.abc import Iterator

from ...ledger.contradiction_file import Contradiction, MinimalCase
from ...ledger.contradictions import ContradictionRegister, register
from ...spec.editions import cited, note
from ..files import Atlas, AtlasFile, AtlasPage
from ..frame import rendered

__all__ = ["made"]

_VERDICTS = ("accepted", "refused", "died")


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page; each entry has its id as anchor."""
    known = register()
    index = known.specification.index
    entries = [
        {
            "id": name,
            "entry": entry,
            "section": cited(index, entry.section),
            "who": _who(entry),
            "cases": [(case, _said(known, case)) for case in entry.cases],
        }
        for name, entry in known.entries.items()
    ]
    kinds = {who: sum(who in str(one["who"]).split() for one in entries) for who in _kinds(known)}
    yield AtlasPage(
        "register.html",
        "Where text, assemblers, silicon and others disagree",
        "Register",
        rendered("register.html", entries=entries, kinds=kinds, note=note(index)),
        f"{len(entries)} entries, each with a minimal case and the reading that the specification takes.",
        scripts=("register",),
    )


def _who(entry: Contradiction) -> str:
    """Everybody who says something in an entry."""
    return " ".join(dict.fromkeys(party.who for party in (*entry.parties, entry.witness)))


def _kinds(known: ContradictionRegister) -> list[str]:
    return sorted({who for entry in known.entries.values() for who in _who(entry).split()})


def _said(known: ContradictionRegister, case: MinimalCase) -> list[tuple[str, list[str]]]:
    """Each verdict on a case, with the releases of ptxas that give it."""
    said: dict[str, list[str]] = {}
    for release, verdict in sorted(known.verdicts(case).items(), key=lambda pair: _VERDICTS.index(pair[1])):
        words = known.words(case, release) if verdict == "refused" else None
        said.setdefault(f"{verdict} ({words})" if words else verdict, []).append(release)
    return list(said.items())

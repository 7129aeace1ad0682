"""What changed: a part for each PTX ISA version, and any two versions by the parts between them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ...audit.assembler_verdicts import observe, recorded, side
from ...audit.pages import Page
from ...audit.version_differences import changes, renamed_targets
from ...audit.version_pages import say_changes, say_renamed, say_silent
from ...ledger.assembler_record import claims, load_records
from ...spec.editions import note
from ...spec.nodes import Version
from ...spec.selection import select
from ..files import Atlas, AtlasFile, AtlasPage
from ..frame import rendered
from ..markdown import html

__all__ = ["made"]


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page."""
    specification = atlas.specification
    versions = [release.ptx for release in specification.index.releases]
    chosen = list(select(specification, None, None, None))
    known, records = claims(specification), load_records()

    def part(old: Version, new: Version) -> str:
        found = changes(specification, chosen, old, new)
        sides = side(specification, old), side(specification, new)
        evidence = observe(known, found, sides, recorded(known, records, found))
        page = Page(markdown=True)
        say_renamed(page, renamed_targets(specification, old, new))
        say_silent(page, evidence)
        say_changes(page, specification, found, evidence)
        return html(page.text)

    parts = {str(new): part(old, new) for old, new in pairwise(versions)}
    # To begin with, the newest versions between which something changed.
    before = next((str(old) for old, new in reversed([*pairwise(versions)]) if parts[str(new)]), None)
    body = rendered(
        "changes.html", parts=parts, first=str(versions[0]), before=before, note=note(specification.index)
    )
    yield AtlasPage(
        "changes.html",
        "What changed between two PTX versions",
        "Changes",
        body,
        "What each version brought, took, or moved, with what the assemblers of both versions accept.",
        scripts=("changes",),
    )

"""The pages of `ptxmma diff --spec`: what a change to the YAML means."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..audit.checkouts import read
from ..audit.layout_changes import LayoutChange
from ..audit.pages import Page, some
from ..audit.specification_changes import Meaning, VariantChange, Wording, meaning

__all__ = ["compare"]

_VERDICTS = {
    "same": "written otherwise, the same function",
    "different": "NOT the same function",
    "unlike": "no longer comparable",
    "unknown": "unknown whether it is the same function",
}


def compare(old: str, new: str, form: str) -> bool:
    """Print what differs between two specifications; returns whether anything differs."""
    found = meaning(read(old), read(new))
    if form == "json":
        print(json.dumps({"old": old, "new": new, **_json(found)}, indent=1))
        return not found.empty
    page = Page(form == "markdown")
    page.heading(f"specification {old} → {new}")
    for title, what in (
        ("variants added", "added"),
        ("variants removed", "removed"),
        ("gates moved", "gate"),
        ("operands changed", "operands"),
        ("layouts exchanged", "layout"),
    ):
        _variants(page, title, [change for change in found.variants if change.what == what])
    _layouts(page, found.layouts)
    _wordings(page, "contracts changed", found.contracts)
    _wordings(page, "other entries changed", found.others)
    _wordings(page, "written otherwise, of no effect on any variant", found.rewritten)
    if len(page.lines) <= 2:
        page.item("no difference")
    print(page.text)
    return not found.empty


def _variants(page: Page, title: str, found: Sequence[VariantChange]) -> None:
    if not found:
        return
    total = sum(len(change.variants) for change in found)
    page.heading(f"{title}: {total:,} mnemonic{'' if total == 1 else 's'}", 2)
    for change in found:
        rows = "row" if len(change.rows) == 1 else "rows"
        page.item(f"{change.instruction}, {rows} {', '.join(change.rows)}")
        for detail in change.details:
            page.item(detail, 1)
        for pattern in change.patterns:
            page.item(f"{page.code(pattern.text)}: {pattern.count:,}", 1)


def _layouts(page: Page, found: Sequence[LayoutChange]) -> None:
    if not found:
        return
    page.heading(f"layouts changed: {len(found)}", 2)
    for change in found:
        if change.comparison is None:
            page.item(f"{change.name}: {change.what}")
        else:
            page.item(f"{change.name}: {_VERDICTS[change.comparison.verdict]}")
            page.item(change.comparison.words, 1)
        if change.rows:
            page.item(f"used by {some(change.rows)}", 1)


def _wordings(page: Page, title: str, found: Sequence[Wording]) -> None:
    if not found:
        return
    page.heading(f"{title}: {len(found)}", 2)
    for wording in found:
        page.item(wording.path)
        if wording.before is not None:
            page.item(f"was: {wording.before}", 1)
        if wording.after is not None:
            page.item(f"{'is' if wording.before is not None else 'new'}: {wording.after}", 1)


def _json(found: Meaning) -> dict[str, Any]:
    return {
        "differs": not found.empty,
        "variants": [
            {
                "what": change.what,
                "instruction": change.instruction,
                "rows": list(change.rows),
                "details": list(change.details),
                "patterns": [{"pattern": p.text, "mnemonics": p.count} for p in change.patterns],
                "mnemonics": [variant.mnemonic for variant in change.variants],
            }
            for change in found.variants
        ],
        "layouts": [_layout_json(change) for change in found.layouts],
        "contracts": [_wording_json(wording) for wording in found.contracts],
        "others": [_wording_json(wording) for wording in found.others],
        "rewritten": [_wording_json(wording) for wording in found.rewritten],
    }


def _layout_json(change: LayoutChange) -> dict[str, Any]:
    comparison = change.comparison
    difference = comparison.difference if comparison else None
    return {
        "layout": change.name,
        "what": change.what,
        "rows": list(change.rows),
        "verdict": comparison.verdict if comparison else None,
        "words": comparison.words if comparison else None,
        "first_difference": {
            "parameters": dict(difference.parameters),
            "point": dict(difference.point),
            "before": dict(difference.before) if difference.before else None,
            "after": dict(difference.after) if difference.after else None,
        }
        if difference
        else None,
    }


def _wording_json(wording: Wording) -> dict[str, str | None]:
    return {"path": wording.path, "before": wording.before, "after": wording.after}

"""Who witnessed an answer: the assemblers that agree with a row, the devices that ran it, peers by layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..assemblers.universe import Universe
from ..ledger.assembler_record import Claim, load_records, verdicts
from ..ledger.peer_record import load_peers
from ..spec.maps import LayoutMap
from ..spec.quantities import counted
from ..spec.specification import Specification
from ..spec.variants import RowView

__all__ = ["layout_line", "peers_of", "row_lines", "row_witnesses"]


def peers_of(layouts: Iterable[str]) -> dict[str, list[str]]:
    """By layout, the codebases whose own map of it is recorded."""
    records = load_peers()
    return {
        name: [str(record.peer) for record in records if any(one.layout == name for one in record.maps)]
        for name in dict.fromkeys(layouts)
    }


def row_witnesses(specification: Specification, view: RowView, layouts: Iterable[str]) -> dict[str, Any]:
    """What is recorded about a row: releases of ptxas by what they say of it, devices, peers by layout."""
    from ..ledger.silicon_record import load_silicon

    said = Counter(one.state for one in verdicts(load_records(), [Claim(view, Universe(specification))]))
    devices = [
        silicon.device.name
        for silicon in load_silicon()
        if any(one.row == view.id for one in silicon.subjects.values())
    ]
    return {"assemblers": dict(said), "devices": devices, "peers": peers_of(layouts)}


def row_lines(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The same for a person: who, and what they say."""
    said = found["assemblers"]
    every = sum(said.values())
    others = ", ".join(f"{count} {state}" for state, count in said.items() if state != "agrees")
    agree = f"{said.get('agrees', 0)} of {counted(every, 'release')} agree with the row"
    yield "ptxas", (f"{agree}{f', {others}' if others else ''}" if every else "nothing is recorded")
    yield "silicon", ", ".join(found["devices"]) or "none: no device was asked"
    for layout, peers in found["peers"].items():
        yield "peers", f"{layout}: {', '.join(peers) or 'none'}"


def layout_line(layout: LayoutMap) -> str:
    """Who says what a layout says: the text and codebases, in a line."""
    name, source = layout.layout.id, layout.layout.source
    peers = ", ".join(peers_of([name])[name]) or "no peer"
    return f"witnesses: {source.section} ({source.origin}); {peers}; `ptxmma evidence {name}` judges them"

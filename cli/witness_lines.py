"""Who witnessed an answer: the assemblers that agree with a row, the devices that ran it, peers by layout or
by descriptor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from ..assemblers.universe import Universe
from ..ledger.asked_names import devices_of, releases_of, universes_of
from ..ledger.assembler_record import Claim, load_records, verdicts
from ..ledger.peer_record import load_peers
from ..spec.descriptor_rules import WordVerdict
from ..spec.maps import LayoutMap
from ..spec.memory_records import Descriptor
from ..spec.model import Source
from ..spec.quantities import counted, counted_state
from ..spec.specification import Specification
from ..spec.variants import OPAQUE, RowView, Variant
from .variant_layouts import variant_layouts

__all__ = [
    "layout_line",
    "peers_of",
    "row_line",
    "row_lines",
    "row_witnesses",
    "rows_line",
    "universe_line",
    "universe_witnesses",
    "variant_witnesses",
    "word_lines",
    "word_witnesses",
]

_NO_DEVICE = "none: no device was asked"


def peers_of(layouts: Iterable[str]) -> dict[str, list[str]]:
    """By layout, the codebases whose own map of it is recorded."""
    records = load_peers()
    return {
        name: [str(record.peer) for record in records if any(one.layout == name for one in record.maps)]
        for name in dict.fromkeys(layouts)
    }


def row_witnesses(specification: Specification, view: RowView, layouts: Iterable[str]) -> dict[str, Any]:
    """What is recorded about a row: releases of ptxas by what they say of it, devices, peers by layout."""
    said = Counter(one.state for one in verdicts(load_records(), [Claim(view, Universe(specification))]))
    return {
        "assemblers": dict(said),
        "devices": [name for name, _ in devices_of({view.id})],
        "peers": peers_of(layouts),
    }


def variant_witnesses(specification: Specification, variant: Variant) -> dict[str, Any]:
    """The same, about the row of a variant and all layouts that the variant's operands have."""
    layouts = (name for _, name in variant_layouts(specification, variant) if name != OPAQUE)
    return row_witnesses(specification, variant.row, layouts)


def row_lines(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The same for a person: who, and what they say."""
    yield "ptxas", _assemblers(found["assemblers"])
    yield "silicon", ", ".join(found["devices"]) or _NO_DEVICE
    for layout, peers in found["peers"].items():
        yield "peers", f"{layout}: {', '.join(peers) or 'none'}"


def row_line(found: Mapping[str, Any]) -> str:
    """The same in one line, as counts."""
    devices, peers = found["devices"], {peer for peers in found["peers"].values() for peer in peers}
    said = [
        f"ptxas: {_assemblers(found['assemblers'])}",
        counted(len(devices), "device") if devices else "no device",
        *([f"{counted(len(peers), 'peer')} of its layouts"] if found["peers"] else []),
    ]
    return f"witnesses: {', '.join(said)} (`ptxmma show` names them)"


def _assemblers(said: Mapping[str, int]) -> str:
    every = sum(said.values())
    if not every:
        return "nothing is recorded"
    others = "".join(f", {counted_state(count, state)}" for state, count in said.items() if state != "agrees")
    return f"{said.get('agrees', 0)} of {counted(every, 'release')} agree with the row{others}"


def universe_witnesses(variant: Variant) -> dict[str, Any]:
    """Of a statement that is in no row: the releases whose answers beside the nearest rows are recorded."""
    name = variant.row.family.instruction.instruction
    return {"instruction": name, "releases": universes_of(name)}


def universe_line(found: Mapping[str, Any]) -> str:
    """The same for a person."""
    releases, name = found["releases"], found["instruction"]
    return (
        f"witnesses: no row has it; what {counted(len(releases), 'release')} of ptxas did beside the rows of "
        f"{name} is recorded: `ptxmma evidence --universes {name}`"
    )


def word_witnesses(
    specification: Specification, descriptor: Descriptor, found: WordVerdict
) -> dict[str, Any]:
    """The sections of a descriptor's table and of the rules that refuse a word; how many fields peers set."""
    name = next(name for name, one in specification.descriptors.items() if one is descriptor)
    stated = {
        str(record.peer): {
            field
            for word in record.words
            if word.descriptor == name
            for field, value in word.fields.items()
            if value
        }
        for record in load_peers()
    }
    known = {field for fields in stated.values() for field in fields}
    rules = [refusal.rule for refusal in found.refusals if refusal.rule is not None]
    return {
        "descriptor": name,
        "source": _cited(descriptor.source),
        "rules": {rule.id: _cited(rule.source) for rule in rules},
        "peers": {peer: len(fields) for peer, fields in stated.items() if fields},
        "unstated": [field for field in descriptor.fields if field not in known],
    }


def word_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The same for a person."""
    said = [found["source"], *(f"rule {name}: {source}" for name, source in found["rules"].items())]
    peers = ", ".join(f"{peer} ({counted(count, 'field')})" for peer, count in found["peers"].items())
    yield f"  witnesses of the descriptor {found['descriptor']}: {'; '.join(said)}; peers: {peers or 'none'}"
    if found["unstated"] and found["peers"]:
        yield f"    no peer sets {', '.join(found['unstated'])}"
    judged = f"`ptxmma evidence --peers {found['descriptor']}`"
    yield f"    {judged} says which peers and devices agree on which field"


def rows_line(rows: Iterable[str]) -> str:
    """By name only, how many assemblers and devices were asked about rows; `evidence` says who agrees."""
    named = frozenset(rows)
    releases = _asked("release", releases_of(named), named)
    devices = _asked("device", devices_of(named), named)
    return f"witnesses: ptxas ({releases}), silicon ({devices}); `ptxmma evidence` says who agrees"


def _asked(what: str, known: Iterable[tuple[str, Set[str]]], rows: Set[str]) -> str:
    """`17 releases`, `2 devices, 11 of 14 rows`, `no device`."""
    found = list(known)
    covered = frozenset(row for _, own in found for row in own)
    some = "" if covered == rows else f", {len(covered)} of {counted(len(rows), 'row')}"
    return f"{counted(len(found), what)}{some}" if found else f"no {what}"


def layout_line(layout: LayoutMap) -> str:
    """Who says what a layout says: the text and codebases, in a line."""
    name, source = layout.layout.id, layout.layout.source
    peers = ", ".join(peers_of([name])[name]) or "no peer"
    return f"witnesses: {_cited(source)}; {peers}; `ptxmma evidence {name}` judges them"


def _cited(source: Source) -> str:
    return f"{source.section} ({source.origin})"

"""What other codebases say, as a table: who beside the text agrees with each layout and field, and what rests
on one witness.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..ledger.contradictions import register
from ..ledger.independent import SILICON, Corroboration, corroborations, measured
from ..ledger.peer_record import load_peers
from ..ledger.peer_verdicts import PeerVerdict, peer_verdicts
from ..ledger.register_questions import explained_verdicts
from ..ledger.silicon_record import load_silicon
from ..spec.errors import Question
from ..spec.naming import like
from ..spec.quantities import counted_state
from ..spec.specification import Specification

__all__ = ["answer_peers", "peer_lines", "peers_now", "print_peers", "verdict_as_json"]

_RESTS = ("the text alone", "one witness beside the text", "two independent witnesses or more")


def peers_now(specification: Specification) -> tuple[PeerVerdict, ...]:
    """What every recorded peer says of today's specification; contradictions explain some differences."""
    return explained_verdicts(register().entries, peer_verdicts(specification, load_peers()))


def answer_peers(specification: Specification, pattern: str | None, form: str) -> int:
    """Print who agrees with each layout and field; exit code 1 where a peer differs or is stale.

    Raises Question when the pattern names none.
    """
    verdicts = peers_now(specification)
    known = corroborations(specification, verdicts, measured(specification, load_silicon()))
    chosen = [one for one in known if not pattern or like(pattern, one.part, one.part.split()[1].strip(","))]
    if not chosen:
        raise Question(f"no layout or descriptor is named {pattern!r}; `ptxmma evidence --peers` lists them")
    parts = {one.part.partition(",")[0] for one in chosen}
    said = [verdict for verdict in verdicts if not pattern or verdict.part in parts]
    if form == "json":
        print(json.dumps([_as_json(one, said) for one in chosen], indent=1))
    else:
        _print_table(chosen)
        _print_rests(chosen)
        print_peers(said)
    return 0 if all(verdict.holds for verdict in said) else 1


def _of(one: Corroboration, said: Sequence[PeerVerdict]) -> list[PeerVerdict]:
    part, _, field = one.part.partition(", ")
    return [v for v in said if v.part == part and (not field or field in v.fields)]


def _as_json(one: Corroboration, said: Sequence[PeerVerdict]) -> dict[str, Any]:
    return {
        "part": one.part,
        "where": str(one.place),
        "independent": one.count,
        "witnesses": {origin: list(names) for origin, names in one.witnesses.items()},
        "said": [verdict_as_json(verdict) for verdict in _of(one, said)],
    }


def verdict_as_json(verdict: PeerVerdict) -> dict[str, Any]:
    """One observation of a peer and its verdict."""
    return {
        "peer": verdict.peer.name,
        "package": verdict.peer.package,
        "version": verdict.peer.version,
        "date": verdict.peer.date,
        "kind": verdict.peer.kind,
        "origin": verdict.origin,
        "part": verdict.part,
        "function": verdict.function,
        "state": verdict.state,
        "points": verdict.points,
        "differing": verdict.differing,
        "why": verdict.why,
        "registered": verdict.entry,
        "where": str(verdict.place) if verdict.place else "",
    }


def _print_table(chosen: Sequence[Corroboration]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 130, highlight=False)
    table = Table("layout or field", "independent", "peers", "silicon")
    table.columns[0].overflow = "fold"
    for one in chosen:
        peers = [name for origin, names in one.witnesses.items() if origin != SILICON for name in names]
        devices = one.witnesses.get(SILICON, ())
        table.add_row(one.part, str(one.count), ", ".join(dict.fromkeys(peers)), ", ".join(devices))
    console.print(table)


def _print_rests(chosen: Sequence[Corroboration]) -> None:
    for count in (1, 0):
        names = [one.part for one in chosen if one.count == count]
        if names:
            print(f"{len(names)} rest on {_RESTS[count]}: {'; '.join(names)}")
    both = sum(one.count >= 2 for one in chosen)
    print(f"{both} of {len(chosen)} layouts and fields have {_RESTS[2]} beside the text")


def print_peers(said: Sequence[PeerVerdict]) -> None:
    """Print a line for each peer, and then each observation that does not agree."""
    for line in peer_lines(said):
        print(line)
    for verdict in said:
        if not verdict.holds:
            print(verdict)


def peer_lines(said: Sequence[PeerVerdict]) -> list[str]:
    """By peer, how many observations agree, at how many points, and what does not."""
    lines = []
    for peer in dict.fromkeys(verdict.peer for verdict in said):
        own = [verdict for verdict in said if verdict.peer == peer]
        states = Counter(verdict.state for verdict in own)
        points = sum(verdict.points for verdict in own)
        entries = sorted({verdict.entry for verdict in own if verdict.entry})
        others = "".join(
            f", {counted_state(count, state)}" for state, count in states.items() if state != "agrees"
        )
        others += f" ({', '.join(entries)})" if entries else ""
        agree = f"{states['agrees']} of {len(own)} observations agree ({points} points)"
        lines.append(f"peer {peer} ({peer.date}): {agree}{others}")
    return lines

"""The table of a mutation run, kind of slip × witness, and what is left to mend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from rich.table import Table

from ...formal.mutation.slips import SLIP_KINDS
from .corpus import READERS, noticed_by
from .trial import SlipOutcome

__all__ = ["as_json", "by_field", "by_file", "by_kind", "undeclared"]

_COLUMNS = (
    ("loader", lambda o: o.verdict == "noticed" and o.by == "loader"),
    ("equal", lambda o: o.verdict == "equal"),
    ("readers", lambda o: o.verdict == "readers"),
    *(
        (name, lambda o, name=name: o.verdict == "noticed" and o.by == name)
        for name in ("models", "proofs", "observations", "silicon", "universes", "register", "tests")
    ),
    ("crash", lambda o: o.verdict == "crash"),
    ("no place", lambda o: o.verdict == "placeless"),
    ("late", lambda o: o.verdict == "timeout"),
    ("nobody", lambda o: o.verdict == "survives"),
)


def by_kind(found: Sequence[SlipOutcome]) -> Table:
    """A line a kind of slip."""
    return _table("kind", found, lambda outcome: outcome.slip.kind, SLIP_KINDS)


def by_file(found: Sequence[SlipOutcome]) -> Table:
    """A line a file."""
    return _table("file", found, lambda outcome: outcome.slip.file)


def by_field(found: Sequence[SlipOutcome]) -> Table:
    """A line for each field with something to mend."""
    wanted = {outcome.slip.field for outcome in found if outcome.open}
    some = [outcome for outcome in found if outcome.slip.field in wanted]
    return _table("field", some, lambda outcome: outcome.slip.field)


def _table(
    head: str, found: Sequence[SlipOutcome], key: Callable[[SlipOutcome], str], order: Sequence[str] = ()
) -> Table:
    columns = [name for name, holds in _COLUMNS if any(map(holds, found))]
    table = Table(head, "slips", *columns)
    for column in table.columns[1:]:
        column.justify = "right"
    keys = dict.fromkeys((*order, *(key(outcome) for outcome in found)))
    for name in keys:
        own = [outcome for outcome in found if key(outcome) == name]
        if own:
            table.add_row(name, *_cells(own, columns))
    table.add_section()
    table.add_row("all", *_cells(found, columns))
    return table


def _cells(found: Sequence[SlipOutcome], columns: Sequence[str]) -> list[str]:
    holds: dict[str, Callable[[SlipOutcome], bool]] = dict(_COLUMNS)
    return [str(len(found)), *(str(sum(map(holds[name], found)) or "") for name in columns)]


def undeclared(found: Sequence[SlipOutcome]) -> list[str]:
    """What witnesses said that a field's `Noticed by` does not have, a line a field and witness."""
    counted = Counter(
        (outcome.slip.field, outcome.by)
        for outcome in found
        if outcome.verdict == "noticed" and outcome.by != "loader"
    )
    lines = []
    for (field, witness), count in sorted(counted.items()):
        declared = noticed_by(field)
        if witness not in declared and READERS not in declared:
            lines.append(
                f"{field}: noticed by {witness} ({count}), declared: {', '.join(declared) or 'nobody'}"
            )
    return lines


def as_json(outcome: SlipOutcome) -> dict[str, Any]:
    """An outcome as JSON."""
    return {
        "name": outcome.slip.name,
        "field": outcome.slip.field,
        "kind": outcome.slip.kind,
        "place": str(outcome.slip.place),
        "verdict": outcome.verdict,
        "by": outcome.by,
        "why": outcome.why,
        "seconds": round(outcome.seconds, 3),
    }

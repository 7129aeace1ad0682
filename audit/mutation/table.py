"""The table of a mutation run, kind of slip × witness, and what is left to mend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from rich.table import Table

from ...formal.mutation.slips import SLIP_KINDS
from .concerned import WITNESS_NAMES
from .corpus import READERS, noticed_by
from .trial import SlipOutcome

__all__ = [
    "OPEN_COLUMNS",
    "SlipCounts",
    "as_json",
    "by_field",
    "by_file",
    "by_kind",
    "counted",
    "undeclared",
]

# The columns, in their order; a witness has its own, and what is left to mend comes last.
_COLUMNS = ("loader", "equal", "readers", *WITNESS_NAMES, "crash", "no place", "late", "nobody")
_NAMED = {"placeless": "no place", "timeout": "late", "survives": "nobody"}
OPEN_COLUMNS = ("crash", "no place", "late", "nobody")
SlipCounts = Counter[tuple[str, str]]  # by row and column


def _column(outcome: SlipOutcome) -> str:
    return outcome.by if outcome.verdict == "noticed" else _NAMED.get(outcome.verdict, outcome.verdict)


def counted(found: Sequence[SlipOutcome], key: Callable[[SlipOutcome], str]) -> SlipCounts:
    """How many outcomes stand in each row, which `key` names, and column."""
    return Counter((key(outcome), _column(outcome)) for outcome in found)


def by_kind(counts: SlipCounts) -> Table:
    """A line a kind of slip."""
    return _table("kind", counts, SLIP_KINDS)


def by_file(counts: SlipCounts) -> Table:
    """A line a file."""
    return _table("file", counts)


def by_field(found: Sequence[SlipOutcome]) -> Table:
    """A line for each field with something to mend."""
    wanted = {outcome.slip.field for outcome in found if outcome.open}
    some = [outcome for outcome in found if outcome.slip.field in wanted]
    return _table("field", counted(some, lambda outcome: outcome.slip.field))


def _table(head: str, counts: SlipCounts, order: Sequence[str] = ()) -> Table:
    columns = [name for name in _COLUMNS if any(column == name for _, column in counts)]
    table = Table(head, "slips", *columns)
    for column in table.columns[1:]:
        column.justify = "right"
    rows = dict.fromkeys(row for row, _ in counts)
    for row in dict.fromkeys((*order, *rows)):
        if row in rows:
            table.add_row(row, *_cells([counts[row, column] for column in columns]))
    table.add_section()
    table.add_row("all", *_cells([sum(counts[row, column] for row in rows) for column in columns]))
    return table


def _cells(numbers: Sequence[int]) -> list[str]:
    return [str(sum(numbers)), *(str(number or "") for number in numbers)]


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

"""Print how often each kind of mutant met each fate, with a line for all kinds."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

__all__ = ["print_counts"]


def print_counts(counts: Mapping[str, Counter[str]], columns: Sequence[str]) -> Counter[str]:
    """Print the table; the sums over all kinds."""
    total: Counter[str] = sum(counts.values(), Counter())
    table = Table("mutants", *columns)
    for kind, count in [*sorted(counts.items()), ("together", total)]:
        table.add_row(kind, *(str(count[column]) for column in columns))
    Console(width=None if sys.stdout.isatty() else 130, highlight=False).print(table)
    return total

"""Do two executions show the same fault? A loop that is unrolled makes several statements of one."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["FaultName", "is_found_in_each"]

FaultName = tuple[str, int, int]  # what a race is, and its two statements


def is_found_in_each(name: FaultName, executions: Iterable[Iterable[FaultName]]) -> bool:
    """Whether each execution has a race of the same kind with the one statement or the other."""
    what, first, second = name
    return all(
        any(what == kind and (first == one or second == other) for kind, one, other in names)
        for names in executions
    )

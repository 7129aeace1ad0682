"""How far long work has come: whoever works tells, whoever shows it listens."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["listen", "tell"]

_LISTENERS: list[Callable[[int, int], None]] = []


def listen(listener: Callable[[int, int], None]) -> None:
    """Hear from now on how many pieces of how many are done."""
    _LISTENERS[:] = [listener]


def tell(done: int, total: int) -> None:
    """Say how many pieces of how many are done."""
    for listener in _LISTENERS:
        listener(done, total)

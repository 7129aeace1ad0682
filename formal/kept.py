"""Keep what was made of the last values that a function was asked about, known by identity.

A specification has no hash, and comparing two of them takes longer than most of what is made of one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["kept"]

_MOST = 4  # results; what a test loads beside the specification is soon forgotten
P = ParamSpec("P")
T = TypeVar("T")


def kept(make: Callable[P, T]) -> Callable[P, T]:
    """The function, which makes its result once for the very same arguments, as long as it keeps them."""
    found: dict[tuple[int, ...], tuple[object, T]] = {}

    @wraps(make)
    def once(*args: P.args, **options: P.kwargs) -> T:
        key = (*map(id, args), *map(id, options.values()))
        if key not in found:
            result = make(*args, **options)
            while len(found) >= _MOST:
                del found[next(iter(found))]
            found[key] = (args, options), result
        return found[key][1]

    return once

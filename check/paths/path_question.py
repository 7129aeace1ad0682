"""What is asked about a path, and what the search answers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, Literal, TypeAlias, TypeVar

from ...spec.lazy_dataclass import dataclass

__all__ = ["PathAnswer", "PathQuestion", "PathVerdict"]

S = TypeVar("S")
PathVerdict: TypeAlias = Literal["feasible", "infeasible", "unknown"]


@dataclass(frozen=True)
class PathAnswer:
    """Whether a path can happen. `statements`: the events that it executes, in order."""

    verdict: PathVerdict
    statements: tuple[int, ...] = ()


@dataclass(frozen=True)
class PathQuestion(Generic[S]):
    """What is searched: `step` changes a state at an event, from `start` on; it returns None at the end.

    `key` says which states are one; paths through `doubtful` ones are tried last. `near` is the block of
    the first access, `goal` that of the collision; `active`: the path has come to the first access.
    `rounds` of a loop are walked with numbers. Behind one of the statements `parts` another thread may go on:
    what differs between threads is forgotten there. The path begins at block `begin`, where registers may
    hold anything; those of `uniform` hold the same in all threads.
    """

    start: S
    step: Callable[[S, int], S | None]
    key: Callable[[S], Hashable]
    active: Callable[[S], bool]
    doubtful: Callable[[S], bool]
    near: int
    goal: int
    rounds: int = 0
    parts: frozenset[int] = frozenset()
    begin: int = 0
    uniform: frozenset[str] = frozenset()

"""Warps of a block that is executed: what each has in flight, and how a group of threads waits or stops."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ..values.block_threads import WARP
from .clocks import Clock
from .timed_accesses import TimedRead, TimedWrite

__all__ = ["ExecutedWarp", "GroupWait", "HaltedError", "LostError", "lanes_of"]

_FULL = (1 << WARP) - 1


@dataclass(frozen=True)
class GroupWait:
    """What a group waits for: that a phase of an mbarrier ends (`phase`), that an mbarrier is initialised
    (`init`), or again (`invalid`), that threads meet at a named barrier (`meet`), that other lanes
    come to a barrier of their warp, `barrier` (`lanes`), or for an arrival of its own that is missing
    (`arrival`). `late`: for the phase behind the one that it may mean,
    since it comes only after that.
    """

    over: Callable[[], bool]
    kind: str
    statement: int
    barrier: int
    phase: int = -1
    late: bool = False


class LostError(Exception):
    """The PTX does not show what a group does next. `statement`: what is unknown stands there, if it stands
    in a statement: its guard (`parts`), or else its barrier's phase, or how many arrive at it.
    """

    def __init__(self, statement: int | None = None, parts: bool = False) -> None:
        self.statement = statement
        self.parts = parts
        super().__init__(statement)


class HaltedError(Exception):
    """The PTX does not show which barrier a group changes, or how; so no group can be followed further."""

    def __init__(self, statement: int) -> None:
        self.statement = statement
        super().__init__(statement)


@dataclass
class ExecutedWarp:
    """What a warp has in flight.

    `multiplied`: by warp of its warpgroup, the act up to which the products that it has waited for tell of
    it: where the wait of one warp covers the others (wait-scope), they have begun each of these.
    """

    clock: Clock
    products: list[TimedRead] = field(default_factory=list)
    product_groups: deque[list[TimedRead]] = field(default_factory=deque)
    copies: list[TimedWrite] = field(default_factory=list)
    copy_groups: deque[list[TimedWrite]] = field(default_factory=deque)
    fenced: Clock | None = None  # what the last memory fence makes known by relaxed arrivals
    owed: Clock | None = None  # what a relaxed wait makes known behind the next memory fence
    arrivals: dict[int, int] = field(default_factory=dict)  # by mbarrier: the phase of its last arrival
    multiplied: dict[int, int] = field(default_factory=dict)


def lanes_of(threads: tuple[int, ...]) -> int:
    """Threads of one warp as a mask."""
    if len(threads) == WARP:
        return _FULL
    mask = 0
    for thread in threads:
        mask |= 1 << thread % WARP
    return mask

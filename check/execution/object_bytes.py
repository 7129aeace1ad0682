"""The bytes of valid mbarriers, and what accesses them that is not an mbarrier operation."""

from __future__ import annotations

from typing import NamedTuple

from ..ptx.operation import OBJECT
from .access_records import AccessedBytes, GenericAccess, accessed

__all__ = ["ObjectAccess", "ObjectBytes"]


class ObjectAccess(NamedTuple):
    """A statement accesses bytes of a valid mbarrier: what initialises that, and where it lies."""

    statement: int
    init: int
    address: int
    doubtful: bool


class ObjectBytes:
    """Where valid mbarriers lie; `accesses` are those of their bytes, by statement."""

    def __init__(self) -> None:
        self.accesses: dict[int, ObjectAccess] = {}
        self._objects: dict[int, tuple[AccessedBytes, int]] = {}  # with what initialises them
        self._lines = 0  # a bit for each line of shared memory where one was initialised

    def begin(self, address: int, init: int) -> None:
        """A statement initialises an mbarrier."""
        bytes_ = accessed(address, (1 << OBJECT) - 1)
        self._objects[address] = bytes_, init
        self._lines |= bytes_.lines

    def end(self, address: int) -> None:
        """An mbarrier is invalidated."""
        self._objects.pop(address, None)

    def hold(self, access: GenericAccess) -> None:
        """Hold an access against the mbarriers, unless its place depends on a parameter."""
        if access.placed or not self._lines & access.bytes.lines:
            return
        for address, (bytes_, init) in self._objects.items():
            if bytes_.meets(access.bytes):
                found = ObjectAccess(access.statement, init, address, access.doubtful)
                if self.accesses.setdefault(access.statement, found).doubtful:
                    self.accesses[access.statement] = found

"""What other blocks of a cluster may do to a block, and what no execution follows, by what the code says."""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property

from ..memory.byte_regions import ByteRegion
from ..ptx.decode import DecodedStatement
from ..ptx.operands import number_of
from ..walks.kernel_walks import KernelWalks
from ..walks.walk_steps import RANK, WalkSteps

__all__ = ["OutsideSignals"]

_LOADS = frozenset(("nothing", "move", "map-address", "load"))


class OutsideSignals:
    """Who else may initialise the mbarriers of a function's block, arrive there, or complete bytes."""

    def __init__(self, walked: KernelWalks) -> None:
        self._walked = walked
        self._code = walked.code

    @property
    def _steps(self) -> WalkSteps:
        """Most functions need none."""
        return self._walked.steps

    @cached_property
    def initialises(self) -> bool:
        """Whether nobody but the function initialises mbarriers that it can name: it does so itself, or it is
        a kernel whose every statement is shown. Another function may be a part of one that does.
        """
        does = {operation.does for operation in self._code.used}
        return "init" in does or (self._code.function.kind == "entry" and "call" not in does)

    @cached_property
    def has_phases(self) -> bool:
        """Whether threads wait for phases of mbarriers, or meet at barriers that others may pass by."""
        waits = (self._code[index] for index in self._code.doing("await", "arrive", "meet"))
        return any(statement.operation.has_phases(len(statement.operands)) for statement in waits)

    @property
    def is_reached(self) -> bool:
        """Whether other blocks of a cluster may arrive at this one's mbarriers, or copy to it."""
        if any(operation.is_multicast for operation in self._code.used):
            return True
        if not (self.maps_own or self._loads_only()) or self._code.is_for_pairs:
            return True
        arrivals = (self._code[index] for index in self._code.doing("arrive"))
        return not all(
            self._arrives_here(statement)
            for statement in arrivals
            if statement.operation.action.barrier == "object" and statement.operation.names_cluster
        )

    def _loads_only(self) -> bool:
        """Whether the block does nothing in other ones but to load from there."""
        users = (one for one in self._code if not self._steps.mapped.isdisjoint(one.reads))
        return all(one.writes and one.does in _LOADS for one in users)

    @cached_property
    def maps_own(self) -> bool:
        """Whether every address that is mapped lies in the block that does so."""
        return all(self._is_mapped_here(self._code[index]) for index in self._code.doing("map-address"))

    def _is_mapped_here(self, statement: DecodedStatement) -> bool:
        """Whether an address is mapped into the block that executes the statement."""
        return self._steps.origin(statement.operands[-1], statement.scope) == RANK

    def _arrives_here(self, statement: DecodedStatement) -> bool:
        """Whether an arrival names an address that was mapped into the block that executes it; or one that
        was not mapped, where it has no form without the qualifier for mapped ones.
        """
        base = statement.barrier.base if statement.barrier is not None else None
        name = None if base is None else self._steps.source(base, statement.scope)
        if statement.operation.tells_later and name not in self._steps.mapped:
            return True
        made = self._code.definitions.get(name, ()) if isinstance(name, str) else ()
        maps = [self._code[index] for index in made]
        return bool(maps) and all(one.does == "map-address" and self._is_mapped_here(one) for one in maps)

    def is_own(self, address: int) -> bool:
        """Whether a variable lies at an address that only this function can name: no other initialises an
        mbarrier there.
        """
        region = self._steps.in_variable(ByteRegion("shared", address, address + 1))
        return any(region.base in scope.variables for scope in self._code.function.scopes)

    @cached_property
    def is_signalled(self) -> bool:
        """Whether instructions that no execution of one block follows arrive at mbarriers, or complete bytes
        there.
        """
        return self.is_signalled_together or any(one.tells_several for one in self._code.used)

    @cached_property
    def is_signalled_together(self) -> bool:
        """The same of instructions that no execution of a cluster follows."""
        followed = ("bulk-copy", "arrive", "await", "copy-arrive", "give")
        return any(
            operation.is_told or "complete_tx" in operation.words
            for operation in self._code.used
            if operation.does not in followed
        )

    def reaches_all(self, reached: Set[int | None]) -> bool:
        """Whether the block sends to several blocks of the cluster, and not to a leader only. `reached`: the
        ranks of those that it did send to. Where these are known, registers that differ between threads say
        no more: a single thread may be the one that sends.
        """
        maps = [self._code[index] for index in self._code.doing("map-address")]
        ranks = {number_of(statement.operands[-1]) for statement in maps} - {None}
        named = {name for one in maps for name in self._code.unique(one.operands[-1:], one.scope)}
        differ = not named.isdisjoint(self._steps.differing) and (not reached or None in reached)
        return max(len(ranks), len(reached - {None})) > 1 or differ

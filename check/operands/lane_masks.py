"""Find threads that execute an instruction with a mask of lanes, and whose own lane the mask does not name.

A thread surely executes it where every branch on the way goes one way in a whole warp, or is known in each
thread. Which threads call a device function is not known, nor which come back from one. A block whose size
the PTX does not show may have fewer threads than a warp, unless it executes tensor-core instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from ..findings import ERROR, LIKELY, Finding, Moment
from ..ptx.dataflow import closure
from ..ptx.decode import DecodedFunction
from ..ptx.operands import number_of
from ..ptx.site import Site
from ..ptx.source import PtxModule
from ..rules import rules
from ..values.block_threads import WARP
from ..values.divergence import Divergence
from ..values.reaching_threads import ReachingThreads

__all__ = ["mask_findings", "masked"]

_SIZE = "%ntid"
_FULL = (1 << WARP) - 1


def masked(code: DecodedFunction) -> list[int]:
    """The statements with a mask of lanes, but for those that name all lanes by a literal."""
    function = code.function
    if function.kind != "entry" or not any(operation.action.mask for operation in code.used):
        return []
    if not (function.exact or any(operation.instruction is not None for operation in code.used)):
        return []
    return [index for index in range(len(code)) if _has_mask(code, index)]


def _has_mask(code: DecodedFunction, index: int) -> bool:
    operation = code.operation(index)
    if not operation.action.mask or "sync" not in operation.words:
        return False
    number = number_of(code[index].operands[-1]) if code[index].operands else None
    return number is None or number & _FULL != _FULL


def mask_findings(module: PtxModule, reaching: ReachingThreads, statements: list[int]) -> Iterator[Finding]:
    """Findings about some statements with masks."""
    found = _LaneMasks(reaching)
    function = reaching.code.function
    for index in statements:
        outside = found.outside(index)
        if outside is None:
            continue
        thread, mask = outside
        lane = thread % WARP
        said = f"thread {thread} executes this, and the mask {mask:#010x} does not name its lane {lane}"
        site, rule = Site(module, function, index), rules()["warp-mask"]
        yield Finding(
            rule.name,
            ERROR if function.exact and reaching.threads.line else LIKELY,
            site.place,
            function.name,
            f"{rule.title}: {said}",
            rule.section,
            rule.mend,
            (Moment.of(module, site.statement, said),),
        )


class _LaneMasks:
    """The masks of a function, and who surely executes a statement."""

    def __init__(self, reaching: ReachingThreads) -> None:
        self.reaching = reaching
        self.code = reaching.code
        self._divergence = Divergence(reaching)

    def outside(self, index: int) -> tuple[int, int] | None:
        """The first thread that surely executes a statement and is not in its mask, and the mask; None if
        none is known to.
        """
        statement, threads = self.code[index], self.reaching.threads
        masks = threads.operand(statement.operands[-1], statement.scope).values
        if masks is None:
            return None
        there = (one for one in sorted(self.reaching.at(index)) if not masks[one] >> one % WARP & 1)
        guard = statement.guard
        if guard is not None:
            holds = threads.operand(guard, statement.scope).values
            if holds is None:
                return None
            there = (one for one in there if bool(holds[one]) != statement.negated)
        first = next((one for one in there if not self._may_lack(one, masks[one] & _FULL)), None)
        if first is None or self.reaching.flow.block_of(index) in self._open:
            return None
        return first, masks[first] & _FULL

    def _may_lack(self, thread: int, mask: int) -> bool:
        """Whether a block may have no such thread: its last warp may end with the last lane of a mask."""
        return not self.code.function.exact and thread >= WARP and not mask & (mask + 1)

    @cached_property
    def _open(self) -> frozenset[int]:
        """The blocks behind branches and exits that may divide threads in a way that is not known."""
        parting = {guard: self._divergence.parting(guard) for guard in self._divergence.guards}
        open_ = [guard for guard, parted in parting.items() if parted is True or self._asks_size(guard)]
        parted = self._regions(guard for guard, parted in parting.items() if parted)
        while True:
            found = parted | self._regions(open_)
            more = [one for one in parting if one not in open_ and self._is_changed(one, found)]
            if not more:
                break
            open_ += more
        calls = {self.reaching.flow.block_of(index) for index in self.code.doing("call")}
        return self._regions(open_) | self.reaching.flow.reached(calls, None)

    def _regions(self, guards: Iterable[int]) -> frozenset[int]:
        return frozenset[int]().union(*map(self._divergence.region, guards))

    def _asks_size(self, guard: int) -> bool:
        """Whether a branch depends on how many threads the block has, and the PTX does not show that."""
        if self.code.function.exact:
            return False
        return any(
            text.startswith(_SIZE)
            for name in self._deciding(guard)
            for index in self.code.definitions.get(name, ())
            for text in self.code[index].operands
        )

    def _is_changed(self, guard: int, parted: frozenset[int]) -> bool:
        """Whether what decides a branch has been written in blocks that only some threads execute: then it
        may differ, though each number that is written is the same in all threads.
        """
        block_of = self.reaching.flow.block_of
        written = (self.code.definitions.get(name, ()) for name in self._deciding(guard))
        return any(len(some) > 1 and any(block_of(index) in parted for index in some) for some in written)

    def _deciding(self, guard: int) -> set[str]:
        """The registers that decide a branch, but for those of which the number is known in each thread."""
        threads = self.reaching.threads

        def open_(names: Iterable[str]) -> list[str]:
            return [name for name in names if threads.register(name).values is None]

        def sources(name: str) -> list[str]:
            return open_(
                one for index in self.code.definitions.get(name, ()) for one in self.code[index].reads
            )

        return closure(open_(self.code[guard].reads), sources)

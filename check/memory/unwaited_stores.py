"""Whether a kernel waits for its bulk stores before it ends, on every path (9.7.9.25.2).

Paths are those of one thread. A wait for the reads of a bulk store (`.read`) is a wait: from there on nothing
needs the block's shared memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from ...spec.lazy_dataclass import dataclass
from ..findings import ERROR, Finding, Moment, Undefined
from ..paths.path_question import PathAnswer, PathQuestion
from ..paths.path_search import PathSearch
from ..paths.path_slice import PathSlice
from ..paths.path_values import PathValues
from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..ptx.site import Site
from ..ptx.source import PtxModule
from ..rules import rules

__all__ = ["unwaited_stores"]

_RULE = "bulk-store-unwaited"
_SHOWN = 12  # steps of a witness
_MOST = 64  # groups that are counted behind a bulk store
_SAYS = {
    "bulk-copy": "starts a bulk store",
    "bulk-commit": "commits a group",
    "bulk-wait": "does not cover the bulk store",
    "leave": "ends the thread",
}
_LITERALLY: Undefined = ((("unwaited-store", "must"),),)


@dataclass(frozen=True, slots=True)
class _BulkPending:
    """What a path knows: whether a bulk store is in no group yet, and how many groups were committed behind
    the last group with one that no wait has covered; None if there is none.
    """

    is_open: bool = False
    behind: int | None = None

    @property
    def is_pending(self) -> bool:
        return self.is_open or self.behind is not None


def unwaited_stores(module: PtxModule, code: DecodedFunction, flow: Flow) -> Iterator[Finding]:
    """The finding about a kernel that may end before a thread has waited for a bulk store; a function that is
    not a kernel may leave the wait to its caller.
    """
    if code.function.kind == "entry":
        found = _UnwaitedStores(code, flow).found()
        if found is not None:
            yield _finding(module, code, found)


class _UnwaitedStores:
    """The statements of a kernel that are about bulk stores, and the paths through them."""

    def __init__(self, code: DecodedFunction, flow: Flow) -> None:
        self.code = code
        self.flow = flow
        blocks = (flow.blocks[number] for number in flow.order)
        doing: dict[str, set[int]] = defaultdict(set)
        for block in blocks:
            for at in range(block.start, block.end):
                doing[code.operation(at).does].add(at)
        self.stores = {at for at in doing["bulk-copy"] if code.operation(at).way == ("global", "shared")}
        self.commits, self.waits = doing["bulk-commit"], doing["bulk-wait"]
        self.ends, self.calls = doing["leave"], doing["call"]
        left = (code[at].left for at in self.waits)
        self.most = min(max(left, default=0), _MOST)  # no wait tells more apart

    def found(self) -> PathAnswer | None:
        """A path that can happen from a bulk store to the end of the kernel, past no wait that covers it."""
        if not self.stores or self.calls:  # what is called may wait
            return None
        ends = self._pending_ends()
        if not ends:
            return None
        sliced, values = PathSlice(self.code, self.flow, self._events), PathValues(self.code)
        near = self.flow.block_of(min(self.stores))
        for end in ends:
            question: PathQuestion[_BulkPending] = PathQuestion(
                start=_BulkPending(),
                step=partial(self._step, end),
                key=lambda state: state,
                active=lambda state: state.is_pending,
                doubtful=lambda _: False,
                near=near,
                goal=self.flow.block_of(end),
            )
            answer = PathSearch[_BulkPending](self.code, self.flow, sliced, values).find(question)
            if answer.verdict == "feasible":
                return answer
        return None

    @property
    def _events(self) -> list[int]:
        return sorted((*self.stores, *self.commits, *self.waits, *self.ends))

    def _pending_ends(self) -> list[int]:
        """The ends to which some path leads past no wait that covers a bulk store, whether it can happen or
        not. Most kernels have none, and need no search.
        """
        by_block: dict[int, list[int]] = defaultdict(list)
        for index in self._events:
            by_block[self.flow.block_of(index)].append(index)
        found: set[int] = set()
        seen: set[tuple[int, _BulkPending]] = set()
        waiting = [(0, _BulkPending())]
        while waiting:
            place = number, state = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            states = {state}
            for index in by_block[number]:
                if index in self.ends and any(one.is_pending for one in states):
                    found.add(index)
                passed_by = states if self.code[index].guard is not None else set()
                states = {self._changed(one, index) for one in states} | passed_by
            waiting += (
                (following, one) for following in self.flow.blocks[number].successors for one in states
            )
        return sorted(found)

    def _step(self, end: int, state: _BulkPending, index: int) -> _BulkPending | None:
        if index == end and state.is_pending:
            return None
        return self._changed(state, index)

    def _changed(self, state: _BulkPending, index: int) -> _BulkPending:
        """What a path knows behind a statement."""
        if index in self.stores:
            return _BulkPending(True, state.behind)
        if index in self.commits:
            return _BulkPending(False, 0 if state.is_open else self._next(state.behind))
        if index in self.waits and state.behind is not None and state.behind >= self.code[index].left:
            return _BulkPending(state.is_open)
        return state

    def _next(self, behind: int | None) -> int | None:
        return None if behind is None else min(behind + 1, self.most)


def _finding(module: PtxModule, code: DecodedFunction, path: PathAnswer) -> Finding:
    rule = rules()[_RULE]
    sites = [(Site(module, code.function, index), code[index].does) for index in path.statements]
    store = next(site for site, does in reversed(sites) if does == "bulk-copy")
    end = sites[-1][0]
    return Finding(
        _RULE,
        ERROR,
        store.place,
        code.function.name,
        f"{rule.title}: it ends (line {end.place.line}), and no wait on the path covers the bulk store",
        rule.section,
        rule.mend,
        tuple(Moment(site.place, site.statement.opcode, _SAYS[does]) for site, does in sites[-_SHOWN:]),
        readings=_LITERALLY,
    )

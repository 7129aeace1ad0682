"""Whether a kernel deallocates what it allocates of tensor memory, on every path (9.7.16.7.1).

Paths are those of one thread of the warp that allocates. Where another warp deallocates, only the sums are
compared. Where it is not known whether another one does, nothing is said of the amounts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...spec.lazy_dataclass import dataclass
from ..findings import ERROR, LIKELY, Finding, Moment, Undefined
from ..paths.path_question import PathAnswer, PathQuestion
from ..paths.path_search import PathSearch
from ..paths.path_slice import PathSlice
from ..paths.path_values import PathValues
from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..ptx.operands import address_of
from ..ptx.reaching import written_by
from ..ptx.site import Site
from ..ptx.source import PtxModule
from ..values.interval import Interval
from ..values.register_intervals import RegisterIntervals

__all__ = ["allocation_findings"]

_ALLOCATE, _FREE, _END = "allocate", "deallocate", "end-allocation"
_SECTION = "9.7.16.7.1"
_SHOWN = 12  # steps of a witness
_STEPS = 8  # definitions of an address that are followed
_SAYS = {
    _ALLOCATE: "allocates",
    _FREE: "deallocates",
    _END: "gives up the right to allocate",
    "leave": "ends the kernel",
}
_MENDS = {
    "allocation-kept": "deallocate all columns on every way to the end of the kernel",
    "allocation-freed": "deallocate what was allocated, once",
    "allocation-late": "allocate before the right is given up, and no more than before, or than there are",
}
_ONE_WARP: Undefined = ((("allocating-warp", "same"),),)  # only if the same warp must deallocate


@dataclass(frozen=True, slots=True)
class _Held:
    """What a path knows: columns that it has allocated and not deallocated, the fewest of any allocation,
    whether it has allocated at all, and whether it has ended allocation.
    """

    columns: int = 0
    least: int | None = None
    allocated: bool = False
    ended: bool = False


_Wrong = Callable[[_Held, _Held], bool]


def allocation_findings(
    module: PtxModule, code: DecodedFunction, flow: Flow, values: RegisterIntervals
) -> Iterator[Finding]:
    """Findings about the allocations of a kernel; a function that is not one may leave the rest to its
    caller.
    """
    if code.function.kind == "entry":
        yield from _Allocations(module, code, flow, values).findings()


def _grows(held: _Held, before: _Held) -> bool:
    """Whether an allocation is larger than the smallest one before it."""
    return before.least is not None and held.columns - before.columns > before.least


class _Allocations:
    """The statements of a kernel that are about allocation, and the paths through them."""

    def __init__(
        self, module: PtxModule, code: DecodedFunction, flow: Flow, values: RegisterIntervals
    ) -> None:
        self.module = module
        self.code = code
        self.flow = flow
        self.values = values
        self.paths = PathValues(code)
        reached = set(flow.order)

        def doing(*words: str) -> list[int]:
            return [i for i, one in enumerate(code) if one.does in words and flow.block_of(i) in reached]

        self.made, self.freed, self.ended = doing(_ALLOCATE), doing(_FREE), doing(_END)
        self.left, self.called = doing("leave"), set(doing("call"))
        amounts = {index: self._constant(index) for index in (*self.made, *self.freed)}
        self.counted = None not in amounts.values()
        self.columns = {index: amount if self.counted and amount else 1 for index, amount in amounts.items()}
        self.reloaded = self._reloads(PathSlice(code, flow, (*self.made, *self.freed)))
        self.sliced = PathSlice(code, flow, (*self.made, *self.freed, *self.ended, *self.left, *self.called))

    def _reloads(self, deciding: PathSlice) -> bool:
        """Whether more than one load from memory decides what is executed: two may be of one value."""
        definitions = {at for name in deciding.wanted for at in self.code.definitions.get(name, ())}
        loads = [self.code[at] for at in definitions if self.code[at].does == "load"]
        return sum(one.operation.space != "param" for one in loads) > 1

    def _constant(self, index: int) -> int | None:
        """How many columns a statement names; None where the PTX does not show it."""
        statement = self.code[index]
        at = statement.operation.action.count
        if at is None or at >= len(statement.operands):
            return None
        return self.values.operand(statement.operands[at], statement.scope).constant

    def findings(self) -> Iterator[Finding]:
        late = list(self._late())
        yield from late
        if not self.made:
            return
        yield from self._moved()
        verdicts = {self._path(index, lambda _, at: at.allocated).verdict for index in self.freed}
        if verdicts == {"infeasible"}:
            yield from self._other_warp() if self._is_reached() else self._kept()
        elif verdicts <= {"feasible"}:
            yield from self._kept()
            yield from self._freed_twice()
            if not late and self.counted:
                yield from self._too_many()

    def _is_reached(self) -> bool:
        """Whether any thread may come to a deallocation."""
        return any(self._path(index, lambda *_: True).verdict != "infeasible" for index in self.freed)

    def _late(self) -> Iterator[Finding]:
        """Allocations behind the end of allocation, or larger than an earlier one."""
        for index in self.made:
            answer = self._ask(index, lambda held, at: at.ended) if self.ended else None
            message = "it allocates after the block has given up the right to"
            if answer is None and self.counted and len(self.made) > 1:
                answer = self._ask(index, _grows)
                message = f"it allocates {self.columns[index]} columns after an allocation of fewer"
            if answer is not None:
                yield self._finding("allocation-late", index, answer, message)

    def _too_many(self) -> Iterator[Finding]:
        """Allocations that never come, since the block itself holds the columns."""
        most = max(self._most(index) for index in self.made)
        for index in self.made:
            if not most:
                continue
            answer = self._ask(index, lambda held, before: held.columns > most and before.columns > 0)
            if answer is not None:
                held = self._balance(answer) - self.columns[index]
                message = f"it allocates {self.columns[index]} columns while the block holds {held} of {most}"
                yield self._finding("allocation-late", index, answer, f"{message}, and waits for ever")

    def _most(self, index: int) -> int:
        """How many columns an allocation may be of; 0 if that is not known."""
        statement = self.code[index]
        expected, at = statement.form.operands, statement.operation.action.count
        values = None if at is None or at >= len(expected) else expected[at][1].values
        numbers = () if values is None else values.values
        return max((number for number in numbers if isinstance(number, int)), default=0)

    def _other_warp(self) -> Iterator[Finding]:
        index, first = self.freed[0], Site(self.module, self.code.function, self.made[0])
        yield from self._other_amount()
        yield Finding(
            "allocation-warp",
            ERROR,
            self._site(index).place,
            self.code.function.name,
            f"no thread that allocates (line {first.place.line}) comes here: another warp deallocates",
            _SECTION,
            "let the warp that allocates deallocate",
            (
                Moment(first.place, first.statement.opcode, "allocates"),
                Moment(self._site(index).place, self._site(index).statement.opcode, "deallocates"),
            ),
            readings=_ONE_WARP,
        )

    def _other_amount(self) -> Iterator[Finding]:
        """Deallocations of another amount than all allocations make, if each of these is executed once."""
        looped = set[int]().union(*self.flow.loops.values())
        if any(self.flow.block_of(index) in looped for index in self.made):
            return
        made = sum(self.columns[index] for index in self.made)
        for index in self.freed:
            answer = self._ask(index, lambda held, _: held.columns < -made)
            amount = -self._balance(answer) if answer is not None else self.columns[index]
            if answer is not None or (amount < made and self.counted and len(self.freed) == 1):
                yield self._finding(
                    "allocation-freed" if answer is not None else "allocation-kept",
                    index,
                    None,
                    f"another warp deallocates {amount} columns, and {made} are allocated"
                    if self.counted
                    else "another warp deallocates more often than is allocated",
                )

    def _moved(self) -> Iterator[Finding]:
        """Deallocations of an address that is so many columns away from the only one that is allocated."""
        if len(self.made) > 1:
            return
        made = self.code[self.made[0]]
        written = self.values.address(made.address, made.scope)
        for index in self.freed:
            statement = self.code[index]
            address, away = self._loaded(statement.operands[0], index)
            if away and address is not None and address == written and written.low == written.high:
                yield self._finding(
                    "allocation-freed",
                    index,
                    None,
                    f"the address is {away} more than the one that is allocated",
                )

    def _loaded(self, text: str, index: int) -> tuple[Interval | None, int]:
        """Where the value of an operand of a statement was loaded from, and the number that was added to it
        since.
        """
        away = 0
        for _ in range(_STEPS):
            register = self.code.unique((text,), self.code[index].scope)
            made = written_by(self.code, self.flow, register[0], index) if register else None
            if made is None or self.code[made].guard is not None:
                break
            index, statement = made, self.code[made]
            sources, scope = statement.operands[1:], statement.scope
            if not sources:
                break
            text = sources[0]
            if statement.does == "load":
                return self.values.address(address_of(text), scope), away
            if statement.operation.words[0] == "add":
                added = self.values.operand(sources[-1], scope).constant if len(sources) > 1 else None
                if added is None:
                    break
                away += added
            elif not statement.operation.is_move:
                break
        return None, 0

    def _kept(self) -> Iterator[Finding]:
        """Allocations that a path to the end of the kernel keeps."""
        told: set[int] = set()
        for index in self.left:
            answer = self._ask(index, lambda held, at: at.columns > 0, not self.freed)
            if answer is None:
                continue
            first = next(at for at in answer.statements if at in self.columns)
            if first in told:
                continue
            told.add(first)
            kept, line = self._balance(answer), self._site(index).place.line
            yield self._finding(
                "allocation-kept",
                first,
                answer,
                f"{self._amount(kept)} not deallocated where the kernel ends (line {line})",
            )

    def _freed_twice(self) -> Iterator[Finding]:
        """Statements that deallocate more than is allocated."""
        for index in self.freed:
            answer = self._ask(index, lambda held, at: held.columns < 0 and at.allocated and at.columns >= 0)
            if answer is not None:
                amount = self._amount(-self._balance(answer))
                yield self._finding(
                    "allocation-freed", index, answer, f"{amount} deallocated beyond what is allocated"
                )

    def _amount(self, count: int) -> str:
        what = "column" if self.counted else "allocation"
        return f"1 {what} is" if count == 1 else f"{count} {what}s are"

    def _balance(self, answer: PathAnswer) -> int:
        """The columns that are allocated and not deallocated at the end of a path."""
        held = _Held()
        for index in answer.statements:
            held = self._after(held, index)
        return held.columns

    def _after(self, held: _Held, index: int) -> _Held:
        """What is held behind a statement."""
        does, amount = self.code[index].does, self.columns.get(index, 0)
        if does == _ALLOCATE:
            least = amount if held.least is None else min(held.least, amount)
            return _Held(held.columns + amount, least, True, held.ended)
        if does == _FREE:
            return _Held(held.columns - amount, held.least, held.allocated, held.ended)
        if does == _END:
            return _Held(held.columns, held.least, held.allocated, True)
        return held

    def _ask(self, goal: int, wrong: _Wrong, unsure: bool = False) -> PathAnswer | None:
        """A path that can happen to a statement, at which something is wrong with what is held behind and
        before it; `unsure`: also one of which that is not known. None: there is none, or what it leads
        through may deallocate.
        """
        answer = self._path(goal, wrong)
        if answer.verdict == "infeasible" or (answer.verdict == "unknown" and not unsure):
            return None
        return None if self.called & set(answer.statements) else answer

    def _path(self, goal: int, wrong: _Wrong) -> PathAnswer:

        def step(state: _Held, index: int) -> _Held | None:
            behind = self._after(state, index)
            return None if index == goal and wrong(behind, state) else behind

        question: PathQuestion[_Held] = PathQuestion(
            start=_Held(),
            step=step,
            key=lambda state: state,
            active=lambda state: state.allocated,
            doubtful=lambda _: False,
            near=self.flow.block_of(self.made[0]) if self.made else 0,
            goal=self.flow.block_of(goal),
        )
        return PathSearch[_Held](self.code, self.flow, self.sliced, self.paths).find(question)

    def _site(self, index: int) -> Site:
        return Site(self.module, self.code.function, index)

    def _finding(self, rule: str, index: int, answer: PathAnswer | None, message: str) -> Finding:
        """A finding with the path to it; without one, it is likely."""
        tier = ERROR
        if answer is None:
            tier = LIKELY
        elif answer.verdict == "unknown":
            tier = LIKELY
            message += "; whether the path to it can happen is not known"
        elif self.freed and not self.counted:
            tier = LIKELY
            message += "; how many columns some statement names is not known"
        elif self.freed and self.reloaded:
            tier = LIKELY
            message += "; unless values that are loaded from memory on the way are one and the same"
        return Finding(
            rule,
            tier,
            self._site(index).place,
            self.code.function.name,
            message,
            _SECTION,
            _MENDS[rule],
            () if answer is None else tuple(self._moments(answer)),
        )

    def _moments(self, answer: PathAnswer) -> Iterator[Moment]:
        for index in answer.statements[-_SHOWN:]:
            site, does = self._site(index), self.code[index].does
            says = _SAYS[does]
            if index in self.columns and self.counted:
                says += f" {self.columns[index]} columns"
            yield Moment(site.place, site.statement.opcode, says)

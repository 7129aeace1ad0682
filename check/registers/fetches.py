"""Registers that an asynchronous load of tensor memory writes, used before the load is waited for.

The text respects true dependencies (9.7.16.6.4.5): a read of such a register waits for its value, which is
worth a remark. By its letter nothing else about the register is ordered: another write may come first or
last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...spec.lazy_dataclass import dataclass
from ..findings import ERROR, INFO, Finding, Moment, Undefined
from ..paths.path_question import PathAnswer, PathQuestion
from ..paths.path_search import PathSearch
from ..paths.path_slice import PathSlice
from ..paths.path_values import PathValues
from ..ptx.dataflow import solve_forward
from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..ptx.site import Site
from ..ptx.source import PtxModule

__all__ = ["LoadsInFlight", "fetch_findings"]

_FETCH, _WAITS = "fetch", ("fetch-wait", "call")  # a function that the file does not hold may wait
_WRITTEN, _READ = "tensor-load-overwritten", "tensor-load-read"
_SECTION = "9.7.16.6.4.5; 9.7.16.8.5"
_LETTER: Undefined = ((("load-registers", "true"),),)  # only if no other dependency is kept
_InFlight = dict[str, set[int]]  # by register: the loads that may not have written it yet


@dataclass(frozen=True, slots=True)
class _Collision:
    """A statement that uses a register of a load in flight."""

    rule: str
    fetch: int
    statement: int
    register: str


def fetch_findings(module: PtxModule, code: DecodedFunction, flow: Flow) -> Iterator[Finding]:
    """Findings about the registers of asynchronous loads: one for all reads, and one for all writes between
    the same two blocks.
    """
    loads = LoadsInFlight(code, flow)
    if not loads.registers:
        return
    question = _Questions(code, flow)
    grouped: dict[tuple[str, int, int], list[_Collision]] = {}
    for found in loads.collisions():
        blocks = (
            (0, 0) if found.rule == _READ else (flow.block_of(found.fetch), flow.block_of(found.statement))
        )
        grouped.setdefault((found.rule, *blocks), []).append(found)
    for collisions in grouped.values():
        first = collisions[0]
        answer = question.answer(first)
        if answer.verdict == "feasible":
            more = len({(one.fetch, one.statement) for one in collisions}) - 1
            yield _finding(module, code, first, more)


def _loaded(code: DecodedFunction) -> set[str]:
    """The registers that are loaded, and that something reads: no value depends on the others."""
    registers = {r for one in code if one.does == _FETCH for r in one.writes}
    return registers & {r for one in code for r in one.reads}


class LoadsInFlight:
    """The dataflow: which loads may be in flight at the entry of every block. A load is not in flight
    once its registers were read, or written again.
    """

    def __init__(self, code: DecodedFunction, flow: Flow) -> None:
        self.code = code
        self.flow = flow
        registers = self.registers = _loaded(code)
        counts = [
            index
            for index, one in enumerate(code)
            if one.does in (_FETCH, *_WAITS)
            or not (registers.isdisjoint(one.reads) and registers.isdisjoint(one.writes))
        ]
        self._events: Mapping[int, list[int]] = {number: [] for number in range(len(flow.blocks))}
        for index in counts:
            self._events[flow.block_of(index)].append(index)
        self.entry: list[_InFlight] = solve_forward(flow, [{} for _ in flow.blocks], self._leave, _join)

    def _leave(self, number: int, entry: _InFlight) -> _InFlight:
        return self._passed(entry, self._events[number])

    def _passed(self, entry: _InFlight, events: Iterable[int]) -> _InFlight:
        """What is in flight behind some statements, by what is before them."""
        facts = {register: set(loads) for register, loads in entry.items()}
        for index in events:
            self._step(facts, index, None)
        return facts

    def before(self, index: int) -> set[int]:
        """The loads with registers that may not have been read when a statement is executed."""
        number = self.flow.block_of(index)
        facts = self._passed(self.entry[number], (event for event in self._events[number] if event < index))
        return set[int]().union(*facts.values())

    def collisions(self) -> Iterator[_Collision]:
        """Every use of a register of a load in flight, in the order of the text."""
        for number in sorted(self.flow.order):
            facts = self._passed(self.entry[number], ())
            found: list[_Collision] = []
            for index in self._events[number]:
                self._step(facts, index, found)
            yield from found

    def _step(self, facts: _InFlight, index: int, found: list[_Collision] | None) -> None:
        """Change facts as a statement does; add to `found` what collides there."""
        statement = self.code[index]
        sure = statement.guard is None
        if statement.does in _WAITS and sure:
            facts.clear()
        for rule, registers in ((_READ, statement.reads), (_WRITTEN, statement.writes)):
            for register in registers:
                loads = facts.get(register, ())
                if found is not None:
                    found += [_Collision(rule, load, index, register) for load in sorted(loads)]
                if sure and loads:
                    del facts[register]
        if statement.does == _FETCH:
            for register in self.registers.intersection(statement.writes):
                facts.setdefault(register, set()).add(index)


def _join(known: _InFlight, arriving: _InFlight, block: int) -> bool:
    """Add what arrives at a block; whether that is anything new."""
    grown = False
    for register, loads in arriving.items():
        if not loads <= known.get(register, set()):
            known.setdefault(register, set()).update(loads)
            grown = True
    return grown


class _Questions:
    """Asks whether a path leads from a load to a use of its register, with no wait between."""

    def __init__(self, code: DecodedFunction, flow: Flow) -> None:
        self.code = code
        self.flow = flow
        self.values = PathValues(code)
        self.waits = {index for index, one in enumerate(code) if one.does in _WAITS}

    def answer(self, collision: _Collision) -> PathAnswer:
        """The path; what a path knows is whether the load is in flight."""
        code, fetch, last = self.code, collision.fetch, collision.statement
        uses = {
            index
            for index, one in enumerate(code)
            if collision.register in one.reads or collision.register in one.writes
        }

        def step(flying: bool, index: int) -> bool | None:
            return None if flying and index == last else index == fetch or (flying and index not in ends)

        ends = self.waits | uses
        question: PathQuestion[bool] = PathQuestion(
            start=False,
            step=step,
            key=lambda flying: flying,
            active=lambda flying: flying,
            doubtful=lambda _: False,
            near=self.flow.block_of(fetch),
            goal=self.flow.block_of(last),
        )
        sliced = PathSlice(code, self.flow, ends)
        return PathSearch[bool](code, self.flow, sliced, self.values).find(question)


def _finding(module: PtxModule, code: DecodedFunction, found: _Collision, more: int) -> Finding:
    load, use = Site(module, code.function, found.fetch), Site(module, code.function, found.statement)
    name = found.register.partition("@")[0]
    begins = Moment(load.place, load.statement.opcode, f"begins to load {name}, asynchronously")
    if found.rule == _READ:
        return Finding(
            _READ,
            INFO,
            use.place,
            code.function.name,
            f"{name} is read before its load is waited for: the read gets what is loaded, but orders no "
            "access of tensor memory",
            _SECTION,
            "",
            (begins, Moment(use.place, use.statement.opcode, f"reads {name}")),
            more=more,
        )
    first = f"line {load.place.line}: {name} is loaded"
    other = f"line {use.place.line}: {name} is written"
    return Finding(
        _WRITTEN,
        ERROR,
        use.place,
        code.function.name,
        f"{name} is written before its load is waited for, and nothing reads it between: by the letter of "
        "the text either of the two may write last",
        _SECTION,
        "a wait for the load before the write",
        (begins, Moment(use.place, use.statement.opcode, f"writes {name}: here they collide")),
        ((first, other), (other, first)),
        more=more,
        readings=_LETTER,
    )

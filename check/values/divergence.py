"""Find instructions with .aligned that not all threads of a warp, or of a warpgroup, execute.

A branch or an exit divides threads only if its guard provably differs between those that may come to it: see
thread_value.py and reaching_threads.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import prod

from ...spec.lazy_dataclass import dataclass
from ..findings import ERROR, EVERYWHERE, INFO, LIKELY, Finding, Moment, Undefined
from ..ptx.decode import DecodedFunction
from ..ptx.operation import Operation
from ..ptx.source import PtxModule
from ..ptx.webs import written_name
from .block_threads import WARP, WARPGROUP
from .reaching_threads import ReachingThreads

__all__ = ["Divergence", "Parting", "acts_together", "divergence_findings"]

_ALIGNED = "aligned"
_PARTS = frozenset(("jump", "switch", "leave"))
_TOGETHER: Undefined = ((("register-warps", "together"),),)  # what warps do with registers of their own


@dataclass(frozen=True, slots=True)
class Parting:
    """A guarded statement that divides threads: those of a warp, or only the warps of a warpgroup."""

    statement: int
    warp: bool
    assumed: bool
    shown: str


class Divergence:
    """The guards of a function, and the blocks that execute under them."""

    def __init__(self, reaching: ReachingThreads) -> None:
        self.code = reaching.code
        self.flow = reaching.flow
        self.reaching = reaching

    def parting(self, index: int) -> Parting | bool:
        """How a statement's guard divides threads, or the number by which it takes its way from a table;
        False if it does not, True if unknown.
        """
        statement, threads = self.code[index], self.reaching.threads
        if statement.does == "switch":
            numbers = (threads.operand(text, statement.scope) for text in statement.operands[:1])
            if not all(one.is_uniform for one in numbers):
                return True
        name = statement.guard
        if name is None:
            return False
        known = threads.operand(name, statement.scope)
        if known.is_unknown:
            return True
        if known.first_split(WARPGROUP) is None:
            return False
        values = known.values or ()
        name = written_name(name)
        among = self.reaching.at(index)
        first = known.first_split(WARP, among)
        if first is not None:
            group = range(first, min(first + WARP, len(values)))
            taken = [thread for thread in group if values[thread] and thread in among]
            shown = f"{name} holds in {_threads(taken)} of threads {first}..{first + WARP - 1}"
            return Parting(index, True, known.assumed, shown)
        first = known.first_split(WARPGROUP, among)
        if first is not None:
            group = range(first, min(first + WARPGROUP, len(values)))
            warps = sorted({thread // WARP for thread in group if values[thread] and thread in among})
            word = "warps" if len(warps) > 1 else "warp"
            shown = f"{name} holds in {word} {', '.join(map(str, warps))} of the warpgroup alone"
            return Parting(index, False, known.assumed, shown)
        return False

    @cached_property
    def guards(self) -> list[int]:
        """Statements that end a block with several ways on: branches and exits under a guard, and tables."""
        ends = [block.end - 1 for block in self.flow.blocks if block.end > block.start]
        statements = self.code.function.statements
        does = {i: self.code.operation(i).does for i in ends}
        return [i for i in ends if does[i] == "switch" or (statements[i].guard and does[i] in _PARTS)]

    def region(self, index: int) -> set[int]:
        """The blocks that only some of the threads which reach a branch may execute."""
        number = self.flow.block_of(index)
        return self.flow.reached(self.flow.blocks[number].successors, self.flow.post_dominator.get(number))


def _threads(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"thread {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"threads {numbers[0]}..{numbers[-1]}"
    return f"{len(numbers)} threads"


def acts_together(operation: Operation) -> bool:
    """Whether threads must execute an instruction together that the specification does not hold."""
    action = operation.action
    is_held = operation.instruction is not None
    return action.aligned or action.warpgroup or (not is_held and _ALIGNED in operation.words)


def divergence_findings(
    module: PtxModule,
    reaching: ReachingThreads,
    held: list[int],
    part: Callable[[int, int, int], bool] = lambda branch, block, size: True,
) -> Iterator[Finding]:
    """Instructions with .aligned that not all threads of the warp (or warpgroup) execute.

    `part`: whether threads that a branch divides, of so many that act together, can go on so that only some
    execute a block.
    """
    code = reaching.code
    aligned = [i for i in held if _is_aligned(code.operation(i))]
    yield from _incomplete(module, code, aligned)
    aligned += [i for i in range(len(code)) if acts_together(code.operation(i))]
    if not aligned:
        return
    found = Divergence(reaching)
    by_block: dict[int, list[int]] = {}
    for index in aligned:
        by_block.setdefault(reaching.flow.block_of(index), []).append(index)
        parting = found.parting(index)
        if parting:
            finding = _finding(module, code, parting, index, index)
            if finding:
                yield finding
    unknown: set[int] = set()
    reported: set[int] = set()
    by_letter: dict[int, Finding] = {}  # under one reading of the text
    for guard in found.guards:
        parting = found.parting(guard)
        if not parting:
            continue
        for block in sorted(found.region(guard)):
            for index in by_block.get(block, ()):
                if index in reported or (parting is True and index in unknown):
                    continue
                finding = _finding(module, code, parting, guard, index)
                size = WARPGROUP if _is_for_warpgroups(code.operation(index)) else WARP
                if finding is not None and (parting is True or part(guard, block, size)):
                    if finding.readings != EVERYWHERE:
                        by_letter.setdefault(index, finding)
                        continue
                    (unknown if parting is True else reported).add(index)
                    yield finding
                    break
    yield from (finding for index, finding in by_letter.items() if index not in reported)


def _incomplete(module: PtxModule, code: DecodedFunction, aligned: list[int]) -> Iterator[Finding]:
    """The first instruction of a warpgroup in a block that can have none."""
    function = code.function
    threads = prod(function.threads) if function.threads else WARPGROUP
    groups = (i for i in aligned if _is_for_warpgroups(code.operation(i)))
    first = next(groups, None)
    if first is not None and threads < WARPGROUP:
        statement = function.statements[first]
        yield Finding(
            "aligned-incomplete",
            ERROR,
            module.place(statement.offset),
            function.name,
            f"a block of at most {threads} threads has no whole warpgroup, which must execute this together",
            "9.7.15.6.3; 9.7.15.7",
            f"launch blocks of {WARPGROUP} threads or more",
        )


def _is_for_warpgroups(operation: Operation) -> bool:
    if operation.action.warpgroup:
        return True
    return operation.instruction is not None and operation.instruction.scope == "warpgroup"


def _is_aligned(operation: Operation) -> bool:
    return "sync" in operation.words


def _section(operation: Operation) -> str:
    """Where the text says which threads must execute an instruction together."""
    if operation.action.warpgroup:
        return "9.7.19.5"
    if acts_together(operation):
        return "9.7.13.3" if operation.action.barrier == "cluster" else "9.7.13.1"
    return "9.7.15.6.3; 9.7.15.7" if _is_for_warpgroups(operation) else "9.7.14.4.5"


def _finding(
    module: PtxModule, code: DecodedFunction, parting: Parting | bool, guard: int, index: int
) -> Finding | None:
    function = code.function
    statement, at = function.statements[index], function.statements[guard]
    place = module.place(statement.offset)
    leaves = code.operation(guard).does == "leave"
    if acts_together(code.operation(index)) and (parting is True or leaves):
        return None  # compilers know conditions that the PTX does not show; threads that left are not awaited
    group = _is_for_warpgroups(code.operation(index))
    if parting is True:
        line = module.place(at.offset).line
        what = "its guard" if guard == index else f"the branch in line {line}"
        return Finding(
            "aligned-unknown",
            INFO,
            place,
            function.name,
            f"whether all threads of the {'warpgroup' if group else 'warp'} execute this is not known: "
            f"{what} depends on what is not known to be the same in all of them",
            "9.7.15.7" if group else "9.7.14.4.5",
        )
    assert isinstance(parting, Parting)
    if not parting.warp and not group:
        return None
    whom = "warp" if parting.warp else "warpgroup"
    how = "after threads of it have exited" if leaves else "under a condition that parts them"
    message = f"an .aligned instruction that not all threads of the {whom} execute: {how}; {parting.shown}"
    if parting.assumed:
        message += " (of a block whose threads lie along x)"
    return Finding(
        "aligned-exited" if leaves else "aligned-divergent",
        LIKELY if parting.assumed else ERROR,
        place,
        function.name,
        message,
        _section(code.operation(index)),
        "execute it under a condition that all threads evaluate alike",
        (
            Moment.of(module, at, parting.shown),
            Moment.of(module, statement, "is executed by some of them"),
        ),
        readings=EVERYWHERE if parting.warp or not code.operation(index).action.warpgroup else _TOGETHER,
    )

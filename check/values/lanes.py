"""Which threads execute what: branches that provably part the threads of a warp, or the warps of a warpgroup.

A register is known thread by thread (computed from %tid and %laneid by constants alone), or it is the same
in every thread, or nothing is known. Only the first can prove a divergence; only the second excludes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ...spec.effects import RESULT
from ...spec.statements import SyntaxFault, argument_of
from ..findings import ERROR, INFO, LIKELY, Finding, Moment
from ..ptx.dataflow import Equations
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.flow import Flow
from ..ptx.operation import Operation
from ..ptx.source import PtxModule

__all__ = ["COMPARE", "TWO", "ThreadValues", "Threads", "divergence_findings"]

Words = tuple[str, ...]  # the parts of an opcode, or the texts of operands
_WARP, _GROUP = 32, 128
_MASK = (1 << 32) - 1
_MANY = 64  # a register with more definitions is not known
_CHANGES = 8  # nor is one that has changed so often
_OPAQUE = frozenset(("load", "update", "vote", "elect", "call", "arrive", "await"))


@dataclass(frozen=True, slots=True)
class Threads:
    """A value by thread, of a block's first threads. `assumed`: the shape of the block was."""

    values: tuple[int, ...]
    assumed: bool = False


class _Same:
    """The value is the same in every thread of the block; which it is is not known."""


SAME = _Same()
ThreadSet = Threads | _Same | None

_PARTS = frozenset(("jump", "switch", "leave"))
_SIGNED = {
    "s16": 16,
    "s32": 32,
    "s64": 64,
}
COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
TWO: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "shl": lambda a, b: a << min(b, 64),
    "shr": lambda a, b: a >> min(b, 64),
    "div": lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0,
    "rem": lambda a, b: a - b * ((abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)) if b else 0,
}


def _changed(old: ThreadSet, new: ThreadSet, turn: int) -> ThreadSet:
    """What to keep of a register that was `old`; one that changes again and again is not known."""
    return new if new == old or turn <= _CHANGES else None


class ThreadValues:
    """What is known of every register, thread by thread."""

    def __init__(self, code: DecodedFunction) -> None:
        self.code = code
        function = self.function = code.function
        self.effects = code.effects
        shape = function.threads
        self.line = shape is not None and shape[1] == shape[2] == 1
        self.shape = shape or (1024, 1, 1)
        self.count = max(_GROUP, min(1024, self.shape[0] * self.shape[1] * self.shape[2] if shape else 0))
        self._registers: Equations[str, ThreadSet] = Equations(
            self._sources, self._definitions, SAME, _changed
        )

    def _sources(self, name: str) -> list[str]:
        found: list[str] = []
        definitions = self.code.definitions.get(name, [])
        if len(definitions) > _MANY:
            return found
        for index in definitions:
            if not _is_opaque(self.code.operation(index)):
                found += self.code[index].reads
        return found

    def _definitions(self, name: str) -> ThreadSet:
        definitions = self.code.definitions.get(name, [])
        if not definitions or len(definitions) > _MANY:
            return None
        if len(definitions) == 1 and self.code[definitions[0]].guard is None:
            return self._evaluate(self.code[definitions[0]])
        for index in definitions:
            statement = self.code[index]
            known = self._evaluate(statement)
            if known is None or (isinstance(known, Threads) and len(set(known.values)) > 1):
                return None
            if statement.guard is not None:
                guard = self.operand(statement.guard, statement.scope)
                if guard is None or (isinstance(guard, Threads) and len(set(guard.values)) > 1):
                    return None
        return SAME

    def operand(self, text: str, scope: int) -> ThreadSet:
        try:
            found = argument_of(text)
        except SyntaxFault:
            return None
        if found.shape == "immediate":
            return Threads((found.value,) * self.count)
        if found.shape in ("float", "sink"):
            return SAME
        register = self.function.register(text, scope)
        if register:
            return self._registers[register[0]]
        name = text.lstrip("%").split(".")[0]
        if text.startswith("%"):
            if name in self.effects.uniform_names:
                return SAME if name != "warpid" else None
            return self._own(name, text)
        return SAME  # a variable's address

    def _own(self, name: str, text: str) -> ThreadSet:
        if name == "laneid":
            return Threads(tuple(t % _WARP for t in range(self.count)))
        if name != "tid":
            return None
        x, y, _ = self.shape
        if text.endswith(".x"):
            return Threads(tuple(t % x for t in range(self.count)), not self.line)
        if not self.line:
            if self.function.exact:
                values = (t // x % y if text.endswith(".y") else t // x // y for t in range(self.count))
                return Threads(tuple(values))
            return None
        return Threads((0,) * self.count)

    def _evaluate(self, statement: DecodedStatement) -> ThreadSet:
        head, parts = statement.operation.words, statement.operands
        operation = statement.operation
        if operation.does == "load":
            return SAME if operation.space in ("param", "const") else None
        if operation.does == "elect":
            lowest = tuple(int(t % _WARP == 0) for t in range(self.count))
            return Threads(lowest) if "|" in parts[0] else None
        if operation.does == "shuffle" and len(parts) >= 3:
            return self._shuffle(statement, head, parts)
        if _is_opaque(operation):
            return None
        if "|" in parts[0]:
            return None
        values = [self.operand(part, statement.scope) for part in parts[1:]]
        if any(value is None for value in values):
            return None
        if all(isinstance(v, _Same) or (isinstance(v, Threads) and len(set(v.values)) == 1) for v in values):
            exact = [v for v in values if isinstance(v, Threads)]
            if len(exact) < len(values):
                return SAME if operation.registers == RESULT else None
        known = [v for v in values if isinstance(v, Threads)]
        if len(known) < len(values):
            return None
        if any(v.values.count(v.values[0]) < len(v.values) for v in known):
            return self._by_thread(head, known)
        found = self._by_thread(head, [Threads(v.values[:1], v.assumed) for v in known])
        return Threads(found.values * self.count, found.assumed) if isinstance(found, Threads) else found

    def _by_thread(self, head: Words, values: list[Threads]) -> ThreadSet:
        assumed = any(v.assumed for v in values)
        kind = head[-1]
        rows = list(zip(*(v.values for v in values), strict=True))
        bits = int(kind[1:]) if kind[1:].isdigit() else 32
        signed = kind in _SIGNED

        def fit(number: int) -> int:
            number &= (1 << bits) - 1
            return number - (1 << bits) if signed and number >> (bits - 1) else number

        def through(compute: Callable[..., int]) -> ThreadSet:
            return Threads(tuple(fit(compute(*map(fit, row))) for row in rows), assumed)

        if kind[0] == "f" and head[0] != "mov":
            return None
        match head[0]:
            case "mov" | "cvta" if len(values) == 1:
                return values[0]
            case "cvt" if len(values) == 1 and head[-1][0] in "usb" and head[-2][0] in "usb":
                return values[0]
            case "setp" if len(values) == 2 and head[1] in COMPARE:
                compare = COMPARE[head[1]]
                return Threads(tuple(int(compare(fit(a), fit(b))) for a, b in rows), assumed)
            case "selp" if len(values) == 3:
                return Threads(tuple(a if p else b for a, b, p in rows), assumed)
            case "not" if kind == "pred":
                return Threads(tuple(int(not a) for (a,) in rows), assumed)
            case "and" | "or" | "xor" if kind == "pred" and len(values) == 2:
                two = TWO[head[0]]
                return Threads(tuple(two(a & 1, b & 1) for a, b in rows), assumed)
            case "mul" if "wide" in head:
                return Threads(tuple(a * b for a, b in rows), assumed)
            case "mul" | "mad" if "hi" in head:
                return None
            case "mad" if len(values) == 3:
                return through(lambda a, b, c: a * b + c)
            case "bfe" if len(values) == 3 and not signed:
                return Threads(tuple((a & _MASK) >> b & (1 << c) - 1 for a, b, c in rows), assumed)
            case name if name in TWO and len(values) == 2:
                return through(TWO[name])
        return None

    def _shuffle(self, statement: DecodedStatement, head: Words, parts: Words) -> ThreadSet:
        value = self.operand(parts[1], statement.scope)
        lane = self.operand(parts[2], statement.scope)
        clamp = self.operand(parts[3], statement.scope) if len(parts) > 3 else None
        if isinstance(value, _Same):
            return SAME
        if not all(isinstance(v, Threads) for v in (value, lane, clamp)) or head[2] != "idx":
            return None
        assert isinstance(value, Threads) and isinstance(lane, Threads) and isinstance(clamp, Threads)
        if len(set(lane.values)) != 1 or set(clamp.values) != {31}:
            return None
        source = lane.values[0] & 31
        found = tuple(value.values[t - t % _WARP + source] for t in range(self.count))
        return Threads(found, value.assumed)


def _is_opaque(operation: Operation) -> bool:
    """Whether what an instruction gives does not follow from the registers that it reads."""
    return operation.does in _OPAQUE or operation.instruction is not None


@dataclass(frozen=True, slots=True)
class _Parting:
    """A guarded statement whose guard parts threads: those of a warp, or only warps of a warpgroup."""

    statement: int
    warp: bool
    assumed: bool
    shown: str


class _Divergence:
    """The guards of a function, and what executes under them."""

    def __init__(self, code: DecodedFunction, flow: Flow, threads: ThreadValues) -> None:
        self.code = code
        self.flow = flow
        self.values = threads

    def parting(self, index: int) -> _Parting | bool:
        """How a statement's guard parts threads; False where it does not, True where it is not known."""
        statement = self.code[index]
        name = statement.guard
        if name is None:
            return False
        known = self.values.operand(name, statement.scope)
        if known is None:
            return True
        if isinstance(known, _Same):
            return False
        values = [bool(value) for value in known.values]
        for first in range(0, len(values), _WARP):
            lanes = values[first : first + _WARP]
            if len(set(lanes)) > 1:
                taken = [first + lane for lane, value in enumerate(lanes) if value]
                shown = f"{name} holds in {_threads(taken)} of threads {first}..{first + 31}"
                return _Parting(index, True, known.assumed, shown)
        for first in range(0, len(values), _GROUP):
            warps = values[first : first + _GROUP : _WARP]
            if len(set(warps)) > 1:
                taken = [first // _WARP + warp for warp, value in enumerate(warps) if value]
                which = ", ".join(map(str, taken))
                shown = f"{name} holds in warps {which} of the warpgroup alone"
                return _Parting(index, False, known.assumed, shown)
        return False

    @cached_property
    def guards(self) -> list[int]:
        """Guarded statements that end a block: branches and exits."""
        ends = [block.end - 1 for block in self.flow.blocks if block.end > block.start]
        statements = self.code.function.statements
        return [i for i in ends if statements[i].guard and self.code.operation(i).does in _PARTS]

    def region(self, index: int) -> set[int]:
        """The blocks that only some of the threads which reach a branch may execute."""
        number = self.flow.block_of(index)
        end = self.flow.post_dominator.get(number)
        found: set[int] = set()
        waiting = list(self.flow.blocks[number].successors)
        while waiting:
            block = waiting.pop()
            if block == end or block in found:
                continue
            found.add(block)
            waiting += self.flow.blocks[block].successors
        return found


def _threads(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"thread {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"threads {numbers[0]}..{numbers[-1]}"
    return f"{len(numbers)} threads"


def divergence_findings(
    module: PtxModule, code: DecodedFunction, flow: Flow, threads: ThreadValues, held: list[int]
) -> Iterator[Finding]:
    """Instructions with .aligned that not all threads of the warp (or warpgroup) execute."""
    aligned = [i for i in held if _is_aligned(code.operation(i))]
    if not aligned:
        return
    found = _Divergence(code, flow, threads)
    by_block: dict[int, list[int]] = {}
    for index in aligned:
        by_block.setdefault(flow.block_of(index), []).append(index)
        parting = found.parting(index)
        if parting:
            finding = _finding(module, code, parting, index, index)
            if finding:
                yield finding
    unknown: set[int] = set()
    reported: set[int] = set()
    for guard in found.guards:
        parting = found.parting(guard)
        if not parting:
            continue
        for block in sorted(found.region(guard)):
            for index in by_block.get(block, ()):
                if index in reported or (parting is True and index in unknown):
                    continue
                finding = _finding(module, code, parting, guard, index)
                if finding is not None:
                    (unknown if parting is True else reported).add(index)
                    yield finding
                    break


def _is_aligned(operation: Operation) -> bool:
    return "sync" in operation.words


def _finding(
    module: PtxModule, code: DecodedFunction, parting: _Parting | bool, guard: int, index: int
) -> Finding | None:
    function = code.function
    statement, at = function.statements[index], function.statements[guard]
    place = module.place(statement.offset)
    instruction = code.operation(index).instruction
    group = instruction is not None and instruction.scope == "warpgroup"
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
    assert isinstance(parting, _Parting)
    if not parting.warp and not group:
        return None
    whom = "warp" if parting.warp else "warpgroup"
    leaves = code.operation(guard).does == "leave"
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
        "9.7.15.6.3; 9.7.15.7" if group else "9.7.14.4.5",
        "execute it under a condition that all threads evaluate alike",
        (
            Moment(module.place(at.offset), at.opcode, f"{parting.shown}"),
            Moment(place, statement.opcode, "is executed by some of them"),
        ),
    )

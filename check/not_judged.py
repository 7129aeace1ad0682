"""What `ptxmma check` says that it did not judge, or only in part, and why: a sentence for each reason."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Literal

from ..spec.errors import Place
from ..spec.lazy_dataclass import dataclass
from .ptx.inlining import FAILED, call_of
from .ptx.operation import COPIES, DATA, Operation, Operations
from .ptx.source import Function, PtxModule
from .undeclared import undeclared_names

__all__ = [
    "NotJudged",
    "Obstacle",
    "RightBlock",
    "UnjudgedAccesses",
    "UnjudgedBarriers",
    "accesses_not_judged",
    "barriers_not_judged",
    "met_in_memory",
    "not_judged",
    "right_block",
]

_NOTHING = "nothing about it was judged"
_ABSENT = f"the specification does not hold this instruction: {_NOTHING}"
_UNKNOWN = f"neither the specification nor spec/effects.yaml knows this instruction: {_NOTHING}"
_UNORDERED = "its qualifiers and operands were judged, what it orders was not judged"
_ORDER = f"spec/effects.yaml has no row for this instruction: {_UNORDERED}"
_UNSIZED = (
    "neither .reqntid nor .maxntid says how many threads a block has and how they lie, so they were not "
    "executed together: whether the phases of these barriers order them was not judged"
)
_UNNAMED = (
    "the address, number or phase of the barrier here, or how many arrive at it, {}, so the threads were not "
    "executed together: whether the phases of these barriers order them was not judged"
)
_LOST = (
    "what decides which way threads go here {}, so they were not followed: what they do behind it, and "
    "whether the phases of these barriers order that, was not judged"
)
_BEHIND = (
    "threads were followed for some rounds of a loop that goes on, and did not come here: what they do from "
    "here on, and whether the phases of these barriers order that, was not judged"
)
_ELSEWHERE = (
    "another block of the cluster may end the wait here, and {}, so the blocks were not executed together: "
    "whether one does, and what stands behind the wait, was not judged"
)
_LEFT = (
    "with the numbers that were assumed for what the PTX does not show, the wait here does not end: whether "
    "it does with those of a launch, and what stands behind it, was not judged"
)
_PASSED = (
    "with the numbers that were assumed for what the PTX does not show, no thread comes here: whether the "
    "phases of these barriers order what threads do, was not judged"
)
Obstacle = Literal["unnamed", "lost", "behind", "elsewhere", "left", "passed"]
_OBSTACLES: dict[Obstacle, str] = {
    "unnamed": _UNNAMED,
    "lost": _LOST,
    "behind": _BEHIND,
    "elsewhere": _ELSEWHERE,
    "left": _LEFT,
    "passed": _PASSED,
}
_MET = (
    "by what threads read here, they may wait for others of their block, or decide what to do: whether that "
    "orders what they load from shared memory and store there was not judged"
)
_STRAYED = (
    "what decides which way threads go here {}, so they were not all followed: what orders these accesses "
    "was judged for some threads at most"
)
_UNPLACED = "where these accesses lie {}: what orders them was not judged"
_SEVERAL = (
    "the phases of mbarriers that it completes for a pair of blocks, or in several, and what waits for them, "
    "were not judged"
)
_CALLED = (
    "the kernel allocates and calls a function that the file does not hold, which may deallocate: "
    "ways through the call were not judged"
)
_APART = (
    "threads load or store in the shared memory of other blocks, in a kernel without copies, tensor-core "
    "instructions and mbarriers: the order of these accesses was not judged"
)
_ALONE = (
    "neither .reqntid nor .maxntid says how many threads a block has, and only a block of at most one warp "
    "does right here: whether blocks have more was not judged"
)
_SMALLER = (
    ".maxntid allows more than {} threads, and only a block of so many does right here: whether blocks have "
    "more was not judged"
)
_ORDERED = COPIES | {"multiply", "init", "await"}  # with one of these, all accesses are looked at
_UNDECLARED = "the file does not declare it, which no ptxas takes: its type was not judged"
_PLANE = (
    "threads read %tid.y or %tid.z, and no .reqntid says how those of a block lie: of what these barriers "
    "order, only what is wrong with every usual shape of a block was judged"
)


@dataclass(frozen=True)
class NotJudged:
    """An instruction, or a kernel's barriers, that are not judged: the first place, the number of statements,
    and the reason.
    """

    instruction: str
    place: Place
    statements: int
    why: str

    @property
    def message(self) -> str:
        """The sentence that reports show."""
        count = "1 statement" if self.statements == 1 else f"{self.statements} statements"
        return f"{self.instruction} ({count}): {self.why}"


@dataclass(frozen=True)
class UnjudgedBarriers:
    """Barriers are not judged from a statement on: where in the text it stands, and where what is unknown
    there comes from. `obstacle`: a barrier that the PTX does not show (unnamed), a branch of which it is
    unknown which way threads go (lost), a wait that other blocks of the cluster may end (elsewhere), what
    stands behind a loop that goes on (behind), a wait that does not end with the numbers that are assumed
    (left), or what threads pass by with these (passed).
    """

    offset: int
    why: str
    obstacle: Obstacle


@dataclass(frozen=True)
class UnjudgedAccesses:
    """How many statements access shared memory and were not judged; where in the text a branch stands behind
    which they are, if it `parts` threads, or else the first of them; and where what is unknown comes from.
    """

    offset: int
    why: str
    statements: int
    parts: bool


@dataclass(frozen=True)
class RightBlock:
    """A number of threads with which a block does right, where it may have more; and where in the text a
    statement stands that blocks with more do wrongly.
    """

    offset: int
    threads: int


def not_judged(
    module: PtxModule,
    operations: Operations,
    together: Container[str] = (),
    judged: Container[int] = frozenset(),
) -> Iterator[NotJudged]:
    """The instructions of a file that are not judged, or only in part, in the order of the text. `together`:
    the functions of which the blocks of a cluster were executed together; `judged`: where statements stand
    about which nothing was left open.
    """
    found: dict[tuple[str, str], NotJudged] = {}
    reasons: dict[str, str | None] = {}  # by opcode
    for function in module.functions:
        opcodes = _opcodes(function)
        for opcode in opcodes - reasons.keys():
            reasons[opcode] = _why(operations.of(opcode), operations)
        if all(reasons[opcode] is None for opcode in opcodes):
            continue
        for statement in function.statements:
            why = reasons[statement.opcode]
            done = function.name in together if why == _SEVERAL else statement.offset in judged
            if why is None or done:
                continue
            name = _name(operations.of(statement.opcode), why, operations)
            known = found.get((name, why))
            found[name, why] = (
                NotJudged(name, module.place(statement.offset), 1, why)
                if known is None
                else replace(known, statements=known.statements + 1)
            )
    yield from found.values()
    yield from _allocated(module, operations)
    yield from _undeclared(module, operations)
    for function in module.functions:
        if function.kind == "entry":
            yield from _elsewhere(module, function, operations)
        if function.kind == "entry" and function.threads is None:
            yield from _unsized(module, function, operations)
            if function.plane:
                yield from _plane(module, function, operations)


def barriers_not_judged(
    module: PtxModule, function: Function, operations: Operations, barriers: UnjudgedBarriers
) -> Iterator[NotJudged]:
    """The barriers of a function, if they are not judged from a statement on."""
    waits = [s for s in function.statements if _waits(operations.of(s.opcode), s.operands)]
    if waits:
        why = _OBSTACLES[barriers.obstacle].format(barriers.why)
        yield NotJudged(f"barriers of {function.name}", module.place(barriers.offset), len(waits), why)


def met_in_memory(
    module: PtxModule, function: Function, operations: Operations, offset: int
) -> Iterator[NotJudged]:
    """The loads and stores of shared memory by threads that may meet in memory, at a statement."""
    accesses = [s for s in function.statements if _is_ordinary(operations.of(s.opcode))]
    yield NotJudged(f"shared memory of {function.name}", module.place(offset), len(accesses), _MET)


def accesses_not_judged(module: PtxModule, function: Function, accesses: UnjudgedAccesses) -> NotJudged:
    """The accesses of shared memory that nobody came to, or of which it is not known where they lie."""
    why = (_STRAYED if accesses.parts else _UNPLACED).format(accesses.why)
    name = f"shared memory of {function.name}"
    return NotJudged(name, module.place(accesses.offset), accesses.statements, why)


def right_block(module: PtxModule, function: Function, block: RightBlock) -> NotJudged:
    """What only blocks of so many threads do rightly, where blocks may have more."""
    why = _ALONE if function.threads is None else _SMALLER.format(block.threads)
    return NotJudged(f"blocks of {function.name}", module.place(block.offset), 1, why)


def _is_ordinary(operation: Operation) -> bool:
    """Whether threads load or store shared memory there by themselves."""
    return operation.does in DATA and operation.space == "shared"


def _opcodes(function: Function) -> set[str]:
    return {statement.opcode for statement in function.statements}


def _does(function: Function, operations: Operations) -> set[str]:
    """What the statements of a function do."""
    return {operations.of(opcode).does for opcode in _opcodes(function)}


def _allocated(module: PtxModule, operations: Operations) -> Iterator[NotJudged]:
    """The calls of functions that the file does not hold, in a kernel that allocates."""
    held = {FAILED, *(function.name for function in module.functions)}
    for function in module.functions:
        if function.kind != "entry" or not {"allocate", "call"} <= _does(function, operations):
            continue
        calls = [
            s
            for s in function.statements
            if operations.of(s.opcode).does == "call" and call_of(s).name not in held
        ]
        if calls:
            place = module.place(calls[0].offset)
            yield NotJudged(f"allocations of {function.name}", place, len(calls), _CALLED)


def _elsewhere(module: PtxModule, function: Function, operations: Operations) -> Iterator[NotJudged]:
    """The accesses of other blocks' shared memory of a kernel of which nothing else is judged; where their
    instructions do not say so, the statements that map their addresses.
    """
    used = [operations.of(opcode) for opcode in _opcodes(function)]
    if any(one.does in _ORDERED or one.instruction is not None for one in used):
        return
    far = [s for s in function.statements if _reaches_far(operations.of(s.opcode))]
    if not far and any(one.does in DATA and one.space == "generic" for one in used):
        far = [s for s in function.statements if operations.of(s.opcode).does == "map-address"]
    if far:
        place = module.place(far[0].offset)
        yield NotJudged(f"distributed shared memory of {function.name}", place, len(far), _APART)


def _reaches_far(operation: Operation) -> bool:
    """Whether an access says that it may be in another block of the cluster."""
    return operation.does in DATA and operation.names_cluster


def _undeclared(module: PtxModule, operations: Operations) -> Iterator[NotJudged]:
    """The names that nothing declares, each where it is first used."""
    found: dict[str, NotJudged] = {}
    for name, statement in undeclared_names(module, operations):
        if name not in found:
            found[name] = NotJudged(name, module.place(statement.offset), 0, _UNDECLARED)
        found[name] = replace(found[name], statements=found[name].statements + 1)
    yield from found.values()


def _unsized(module: PtxModule, function: Function, operations: Operations) -> Iterator[NotJudged]:
    """The barriers with phases of a kernel that multiplies, but gives its blocks no size."""
    if "multiply" not in _does(function, operations):
        return
    waits = [s for s in function.statements if _waits(operations.of(s.opcode), s.operands)]
    if waits:
        place = module.place(waits[0].offset)
        yield NotJudged(f"barriers of {function.name}", place, len(waits), _UNSIZED)


def _plane(module: PtxModule, function: Function, operations: Operations) -> Iterator[NotJudged]:
    """The barriers of a kernel that copies, if it has blocks of unknown shape."""
    if not COPIES.isdisjoint(_does(function, operations)):
        meets = [s for s in function.statements if _meets(operations.of(s.opcode))]
        if meets:
            place = module.place(meets[0].offset)
            yield NotJudged(f"barriers of {function.name}", place, len(meets), _PLANE)


def _waits(operation: Operation, operands: str) -> bool:
    """Whether threads wait for a phase there, or meet where others may pass by."""
    return operation.has_phases(operands.count(",") + 1)


def _meets(operation: Operation) -> bool:
    """Whether threads of several warps meet there."""
    return operation.does == "meet" and operation.action.barrier == "named"


def _why(operation: Operation, operations: Operations) -> str | None:
    family = operations.effects.unjudged_family(operation.opcode)
    if operation.tells_several:
        return _SEVERAL
    if operation.instruction is not None:
        if operation.registers is None:
            return _ORDER
        return None if family is None else _open(family, operations)
    if family is not None:
        return _ABSENT if operation.does == "nothing" else _open(family, operations)
    if operation.is_unknown and not operations.is_held(operation.opcode):
        return _UNKNOWN
    return None  # not a tensor-core instruction; or one that legality reports as unknown


def _open(family: str, operations: Operations) -> str:
    """What nobody judges of a family of instructions."""
    return f"{operations.effects.unjudged[family]} was not judged yet"


def _name(operation: Operation, why: str, operations: Operations) -> str:
    """The name of an instruction: the specification's, or else its first two words; or that of its family,
    where the reason is one for all of that.
    """
    family = operations.effects.unjudged_family(operation.opcode)
    if family is not None and why == _open(family, operations):
        return family
    if operation.instruction is not None:
        return operation.instruction.instruction
    return ".".join(operation.words[:2])

"""The statements of a function as steps of walks: what each computes, from which sources.

All walks and executions of a function share them, and where they lay its variables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from operator import itemgetter
from typing import Any

from ..memory.byte_regions import ByteRegion
from ..memory.matrices import GRANULE, described
from ..ptx.dataflow import closure
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.flow import Flow
from ..ptx.inlining import FAILED
from ..ptx.operands import number_of, vector_elements
from ..ptx.operation import OPAQUE
from ..ptx.source import PtxModule
from ..values.arithmetic import DECIDED, MASK, MOVES, rule_of
from ..values.block_threads import own_numbers
from ..values.lane_numbers import Numbers, lane_math
from ..values.launch_answers import is_asked_for_block
from ..values.opcode_kind import ArithmeticRule, bits_of
from ..values.real_arithmetic import real_literal, real_rule
from ..values.word_algebra import NUMBER, NoResultError
from .loops import Loops
from .parameters import ParameterNumbers
from .sure_comparisons import SureComparison, sure_comparison

__all__ = ["FIRST", "PAIR", "PLACES", "RANK", "RANKS", "SIZE", "WalkStep", "WalkSteps"]

PAIR = 2  # blocks of a cluster that work together
RANK = "%cluster_ctarank"  # of the block in its cluster
RANKS = "%cluster_nctarank"  # how many blocks the cluster has
# What tells the blocks of a cluster apart.
PLACES = frozenset({RANK} | {f"%{name}.{axis}" for name in ("ctaid", "cluster_ctaid") for axis in "xyz"})
SIZE = "size"  # names the number of every parameter that is not a pointer
_RESULTS = {
    "await": "awaited",
    "arrive": "awaited",
    "elect": "elected",
    "call": "unknown",
    "update": "unknown",
}  # how a value is found, by the statement's action
_FOUND = {"shuffle": "lane", "map-address": "same", "vote": "agreed"}  # the same, where it has sources
# What a warp's threads find together that is the number of each, where all hold the same.
_AGREED = frozenset(f"vote.{how}.pred" for how in ("all", "any", "sync.all", "sync.any")) | frozenset(
    f"redux.sync.{how}" for how in ("and.b32", "or.b32", "min.u32", "min.s32", "max.u32", "max.s32")
)
_DIVIDES = frozenset(("div", "rem"))
_CHOOSES = {"selp": 2, "mov": 1}  # what holds one of so many sources
_COMPUTES = frozenset(("nothing", "move"))  # what a statement does that only writes registers
_THREAD = ("%tid", "%laneid")
_MOVED = 8  # moves of one address that are followed
_HARMLESS = frozenset(("vprintf", FAILED))  # the system's functions order nothing
_GRID = {
    f"%{name}{axis}": int(name.startswith(("n", "cluster_n")))
    for name in ("ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
    for axis in (".x", ".y", ".z", "")
} | {RANK: 0, RANKS: 1}
FIRST = frozenset(name for name, number in _GRID.items() if not number)  # the place of a block in every grid


@dataclass(eq=False, slots=True)  # nobody changes one; its fields are read more often than any others
class WalkStep:
    """A statement prepared for walking: registers by their unique names, sources as numbers or names.

    negates: the positions of the sources that are negated predicates.
    result: how its value is found: `parameter` (the number that `sources` holds, or the bytes of a size and
    the names of sizes), `packed` (a vector of sources), `lane` (of the first lane), `agreed` (the first
    source, where all threads of a warp hold the same), `same` (the first source), `computed`, `awaited` (a
    wait is over), `elected`, `answer` (some bits of the answer in the source), or `unknown`. `rule` computes
    it, where it is known how; `target` is the register that gets what is computed, if no other is written.
    `strict`: no result is known where a source is not. `assumes`: the value is an assumed one, whatever the
    sources. `maps`: it is an address in another block of the cluster. `rereads`: it is read from shared
    memory. `counts`: it is what an atomic addition to a whole number in global memory found there. `divides`:
    it has no result where its last source is 0. `sure` is what a comparison says whatever a source is. `held`
    takes the sources out of what registers hold.
    """

    position: int
    statement: DecodedStatement
    guard: str | None
    negated: bool
    written: tuple[str, ...]
    read: tuple[str, ...]
    words: tuple[str, ...]
    bits: int
    result: str
    sources: tuple[int | str, ...]
    negates: tuple[int, ...]
    rule: ArithmeticRule | None
    target: str | None
    strict: bool
    assumes: bool
    maps: bool
    rereads: bool
    counts: bool
    divides: bool
    sure: SureComparison | None
    held: Callable[[Mapping[int | str, Numbers]], Any]

    def computed(self, values: Sequence[int | None]) -> int | None:
        """The result where its sources hold these; None if one is not known, or no rule has a result."""
        numbers = [value for value in values if value is not None]
        if self.result != "computed" or self.rule is None or len(numbers) < len(values):
            return None
        for place in self.negates:
            numbers[place] = 1 - (numbers[place] & 1)
        try:
            result: int = self.rule(NUMBER, *numbers)
        except NoResultError:
            return None
        return result


class _MadeFrom(dict[str, tuple[str, ...]]):
    """By register: those that its values are computed from."""

    def __init__(self, code: DecodedFunction) -> None:
        self.code = code

    def __missing__(self, register: str) -> tuple[str, ...]:
        made: set[str] = set()
        for index in self.code.definitions.get(register, ()):
            operation = self.code.operation(index)
            if operation.does not in OPAQUE and operation.instruction is None:
                made.update(self.code[index].reads)
        found = self[register] = tuple(made)
        return found


class WalkSteps:
    """The steps of one function, and the addresses of its variables. `cluster`: the shape of a cluster, in
    blocks; None if it is not known. `given`: the numbers of some parameters, by name, whatever others have.
    """

    def __init__(
        self, module: PtxModule, code: DecodedFunction, flow: Flow, given: Mapping[str, int] | None = None
    ) -> None:
        self.code = code
        self.given = given or {}
        self.function = code.function
        self.cluster = code.function.cluster
        self.flow = flow
        self.loops = Loops(flow)
        self.bases: dict[str, int] = {}
        self.unsized: set[str] = set()
        self.inverted: dict[int, bool] = {}  # by wait that was asked for
        self.by_place: dict[str, bool] = {}  # by predicate that was asked for: the block's place decides it
        self.met_between: dict[tuple[int, int], bool] = {}  # by statements: lanes execute something together
        self.results: dict[tuple[object, ...], Numbers] = {}  # by operation and sources, of many threads
        self.computed: dict[tuple[WalkStep, object], Numbers] = {}  # by step, and by what its sources held
        self.sources: dict[tuple[str, int], int | str] = {}  # by operand and scope, those that were asked for
        self.made_from = _MadeFrom(code)
        self._steps: list[WalkStep | None] = [None] * len(code)
        self._located: dict[int, frozenset[str]] = {}
        self._heeded: dict[int, bool] = {}
        self._conjuncts: dict[tuple[str, str], frozenset[str]] = {}
        self._unguarded: dict[int, frozenset[int | str]] = {}
        self._bases: dict[int, frozenset[int | str]] = {}
        self._place(module)

    @cached_property
    def grid(self) -> Mapping[str, int]:
        """The block's place in the grid: assumed numbers, but for those that the function's head says. The
        grid is one cluster: it has as many blocks along each axis as this, or a multiple.
        """
        axes = (
            (name.replace("cluster_", ""), number) for name, number in self._cluster.items() if name != RANKS
        )
        return {**_GRID, **dict(axes), **self._cluster}

    @cached_property
    def _cluster(self) -> Mapping[str, int]:
        shape = self.cluster
        if shape is None:
            return {}
        named = zip(("%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z"), shape, strict=True)
        return {**dict(named), RANKS: prod(shape)}

    @cached_property
    def _assumed(self) -> frozenset[str]:
        return frozenset(_GRID.keys() - self._cluster.keys())

    def _place(self, module: PtxModule) -> None:
        """Addresses for the variables of shared memory; those of unknown size lie behind the others."""
        at = 0
        declared = [v for scope in self.function.scopes for v in scope.variables.values()]
        variables = [v for v in (*module.variables.values(), *declared) if v.space == "shared"]
        for variable in sorted(variables, key=lambda v: v.size is None):
            align = max(variable.align, 1024)
            at = -(-at // align) * align
            self.bases[variable.name] = at
            if variable.size is None:
                self.unsized.add(variable.name)
            at += variable.size or 0

    def source(self, text: str, scope: int) -> int | str:
        """An operand as a number, or as the name of a register or special register."""
        key = text, scope
        found = self.sources.get(key)
        if found is None:
            register = self.function.register(text, scope)
            number = number_of(text) if register is None else None
            if register is None and number is None:
                number = real_literal(text)
            if register is not None:
                found = register[0]
            elif number is not None:
                found = number & MASK
            else:
                found = self.named(text)
            self.sources[key] = found
        return found

    @property
    def blocks(self) -> int:
        """How many blocks are executed together."""
        return 1

    def named(self, text: str) -> int | str:
        """The address of a variable of shared memory, or the name of what else is no register."""
        return self.bases.get(text, text)

    def own(
        self, shape: tuple[int, int, int] | None, threads: Sequence[int]
    ) -> Iterable[tuple[str, Numbers]]:
        """The special registers that tell threads apart, and what some threads read there."""
        return _own(shape, threads)

    def in_window(self, address: int, rank: int) -> int:
        """A place in the shared memory of another block of the cluster."""
        return address

    def window_of(self, address: int) -> int:
        """The rank of the block in whose shared memory an address lies, among those executed together."""
        return 0

    @staticmethod
    def pair_of(rank: int) -> tuple[int, int]:
        """The ranks of the two blocks of a block's pair: they differ in their last bit."""
        first = rank - rank % PAIR
        return first, first + 1

    def moved(self, region: ByteRegion, rank: int) -> ByteRegion:
        """The same bytes of another block of the cluster."""
        low = self.in_window(region.low, rank)
        return region._replace(low=low, high=low + region.high - region.low)

    def rank_of(self, thread: int, threads: int) -> int:
        """The rank of a thread's block among those that are executed together."""
        return 0

    def guard(self, statement: DecodedStatement) -> str | None:
        """The predicate of a guard."""
        return None if statement.guard is None else str(self.source(statement.guard, statement.scope))

    def step(self, index: int) -> WalkStep:
        """A statement as a step."""
        found = self._steps[index]
        if found is None:
            found = self._steps[index] = self._made(index)
        return found

    def _made(self, index: int) -> WalkStep:
        statement = self.code[index]
        words = statement.operation.words
        result, sources, negates = self._result(statement, words, statement.operands)
        rule = None
        if result == "computed":
            rule = rule_of(words, len(sources)) or real_rule(words, len(sources))
        is_whole = len(statement.writes) == 1 and statement.operands[0][:1] != "{"
        return WalkStep(
            index,
            statement,
            self.guard(statement),
            statement.negated,
            statement.writes,
            statement.reads,
            words,
            bits_of(words),
            result,
            sources,
            negates,
            rule,
            statement.writes[0] if result == "computed" and is_whole else None,
            words[0] not in DECIDED,
            (statement.does == "load" and not self._is_given(result, sources))
            or not self._assumed.isdisjoint(statement.operands)
            or (result == "answer" and is_asked_for_block(words)),
            statement.does == "map-address" and self.blocks == 1,
            statement.does == "load" and statement.operation.space == "shared" and statement.rows is None,
            _counts(statement, words),
            result == "computed" and words[0] in _DIVIDES,
            sure_comparison(self.code, words, sources) if result == "computed" else None,
            itemgetter(*sources) if sources else _nothing,
        )

    def _is_given(self, result: str, sources: tuple[int | str, ...]) -> bool:
        """Whether what is loaded are parameters with numbers of their own."""
        names = {one for one in sources if isinstance(one, str)}
        return result in ("parameter", "places") and bool(names) and names <= self.given.keys()

    def _result(
        self, statement: DecodedStatement, words: tuple[str, ...], parts: tuple[str, ...]
    ) -> tuple[str, tuple[int | str, ...], tuple[int, ...]]:
        """How an instruction's value is found, from which sources, and which of them are negated."""
        known = _RESULTS.get(statement.does)
        if known is not None:
            return known, (), ()
        if len(parts) < 2 or (statement.does == "vote" and ".".join(words) not in _AGREED):
            return "unknown", (), ()
        scope = statement.scope
        if statement.does == "load":
            is_parameter = statement.operation.space == "param"
            places = self._parameters.places(statement) if is_parameter else ()
            if places:
                return "places", places, ()
            brought = self._parameters.source(parts[1], words) if is_parameter else None
            if isinstance(brought, tuple):
                return "parameter", brought, ()
            return ("unknown", (), ()) if brought is None else ("parameter", (brought,), ())
        if parts[1][:1] == "{":
            names = vector_elements(parts[1]) if statement.operation.is_move else ()
            return "packed" if names else "unknown", tuple(self.source(n, scope) for n in names), ()
        if parts[1][:1] == "[":
            return "unknown", (), ()
        texts = parts[1:]
        sources = tuple([self.source(text[1:] if text[:1] == "!" else text, scope) for text in texts])
        negates = tuple([place for place, text in enumerate(texts) if text[:1] == "!"])
        if statement.operation.action.answer == "asked":
            return "answer", sources, ()
        return _FOUND.get(statement.does, "computed"), sources, negates

    @cached_property
    def differing(self) -> set[str]:
        """The registers that are computed from what tells threads apart."""
        return self.made_of(
            name
            for statement in self.code
            if statement.does not in OPAQUE and _tells_apart(statement)
            for name in statement.writes
        )

    @cached_property
    def placed(self) -> set[str]:
        """The registers that may be computed from where the block is in the grid."""
        grid = self.grid.keys()
        return self.made_of(
            name
            for statement in self.code
            if not grid.isdisjoint(statement.operands)
            for name in statement.writes
        )

    @cached_property
    def mapped(self) -> set[str]:
        """The registers with addresses in other blocks of the cluster than those that are executed."""
        if self.blocks > 1:
            return set()
        return self.made_of(
            name for index in self.code.doing("map-address") for name in self.code[index].writes
        )

    def closed(self, registers: Iterable[str]) -> set[str]:
        """Some registers, and all that their values are computed from."""
        return closure(registers, self.made_from.__getitem__)

    def statements_behind(self, registers: Iterable[str]) -> Iterator[int]:
        """The statements that compute registers, and all that these are computed from."""
        for name in self.closed(registers):
            yield from self.code.definitions.get(name, ())

    def are_behind(self, predicate: str, statements: Collection[int]) -> bool:
        """Whether a predicate is computed from what some statements bring."""
        return any(index in statements for index in self.statements_behind((predicate,)))

    def made_of(self, registers: Iterable[str]) -> set[str]:
        """Some registers, and all that are computed from them."""
        waiting = list(registers)
        return closure(waiting, self.makes.__getitem__) if waiting else set()

    @cached_property
    def makes(self) -> Mapping[str, Sequence[str]]:
        """By register: those that are computed from it."""
        makes: dict[str, list[str]] = defaultdict(list)
        for statement in self.code:
            if statement.writes and statement.does not in OPAQUE:
                for register in statement.reads:
                    makes[register] += statement.writes
        return makes

    def unguarded(self, step: WalkStep) -> frozenset[int | str]:
        """The registers that a statement reads, but for its guard."""
        found = self._unguarded.get(step.position)
        if found is None:
            found = self._unguarded[step.position] = frozenset(step.read) - {step.guard or ""}
        return found

    def addressed(self, step: WalkStep) -> frozenset[int | str]:
        """The registers of a statement's address and of its mbarrier's."""
        found = self._bases.get(step.position)
        if found is None:
            statement = step.statement
            bases = (one.base for one in (statement.address, statement.barrier) if one is not None)
            found = frozenset(self.source(base, statement.scope) for base in bases if base is not None)
            self._bases[step.position] = found
        return found

    def placing(self, step: WalkStep) -> frozenset[int | str]:
        """The registers that say which bytes a statement accesses: those of its address, or of a product's
        descriptors.
        """
        return self.unguarded(step) if step.statement.does == "multiply" else self.addressed(step)

    def conjuncts(self, predicate: str, word: str = "and") -> frozenset[str]:
        """Predicates, written once, that are true if another one is: those of which it is `and`. With `or`:
        those that are false if it is.
        """
        known = self._conjuncts.get((predicate, word))
        if known is not None:
            return known
        found: set[str] = set()
        waiting = [predicate]
        while waiting:
            name = waiting.pop()
            definitions = self.code.definitions.get(name, ())
            if len(definitions) != 1 or name in found:
                continue
            found.add(name)
            step = self.step(definitions[0])
            if (step.words[0], step.words[-1]) == (word, "pred") and not (step.guard or step.negates):
                waiting += (source for source in step.sources if isinstance(source, str))
        made = self._conjuncts[predicate, word] = frozenset(found)
        return made

    def choices(self, source: int | str) -> tuple[int | str, ...]:
        """The sources of which a register holds one, by predicates; nothing if it was made otherwise."""
        made = self.code.definitions.get(source, ()) if isinstance(source, str) else ()
        steps = [self.step(index) for index in made]
        if not all(step.words[0] in _CHOOSES and step.result == "computed" for step in steps):
            return ()
        return tuple(one for step in steps for one in step.sources[: _CHOOSES[step.words[0]]])

    def positive(self, predicate: str) -> str:
        """The predicate of which one is the negation, or one of which it is that: code that is not optimised
        compares, and negates the result.
        """
        for _ in range(_MOVED):
            definitions = self.code.definitions.get(predicate, ())
            step = self.step(definitions[0]) if len(definitions) == 1 else None
            if step is None or step.words != ("not", "pred") or step.guard or not step.statement.reads:
                break
            predicate = step.statement.reads[0]
        return predicate

    def origin(self, text: str, scope: int) -> str | None:
        """The parameter or variable whose address an operand holds, if it was only moved there."""
        name, offset = self.place(text, scope) or (None, 0)
        return name if not offset else None

    def place(self, text: str, scope: int) -> tuple[str, int] | None:
        """The parameter or variable into which an operand points, and how many bytes behind its start; None
        if more was done to it than to move it and to add numbers.
        """
        name, offset = self.source(text, scope), 0
        for _ in range(_MOVED):
            if isinstance(name, int):
                return None
            definitions = self.code.definitions.get(name, ())
            if not definitions:
                return name, offset
            step = self.step(definitions[0])
            moves = step.words[0] in MOVES or _widens(step.words)
            adds = step.words[0] == "add" and len(step.sources) == 2 and isinstance(step.sources[1], int)
            if len(definitions) > 1 or step.guard or not (adds or (moves and len(step.sources) == 1)):
                return None
            offset += int(step.sources[1]) if adds else 0
            name = step.sources[0]
        return None

    def region(self, granules: Collection[int]) -> ByteRegion:
        """The bytes from the first granule to the end of the last, in the variable where they begin."""
        return self.granules_region(min(granules), max(granules))

    def granules_region(self, first: int, last: int) -> ByteRegion:
        """The same, by these two granules."""
        return self.in_variable(ByteRegion("shared", first * GRANULE, (last + 1) * GRANULE))

    def in_variable(self, region: ByteRegion) -> ByteRegion:
        """Bytes at addresses of the walk, as those of the variable where they begin."""
        low, high = region.low, region.high
        known = ((at, name) for name, at in self.bases.items() if at <= low)
        at, name = max(known, default=(0, "shared memory"))
        return ByteRegion("extern" if name in self.unsized else name, low - at, high - at)

    def located(self, index: int) -> frozenset[str]:
        """The registers that decide which bytes of shared memory a statement accesses."""
        found = self._located.get(index)
        if found is None:
            statement = self.code[index]
            texts = [operand.text for operand, _ in described(statement)]
            if statement.address is not None and statement.address.base is not None:
                texts.append(statement.address.base)
            names = self.code.registers_in(" ".join(texts), statement.scope)
            found = self._located[index] = frozenset(names)
        return found

    @cached_property
    def _parameters(self) -> ParameterNumbers:
        return ParameterNumbers(self.code)

    @cached_property
    def calling(self) -> frozenset[int]:
        """The blocks that call a function whose body stands in the file, or one that is not known."""
        found = self.code.doing("call")
        return frozenset(self.flow.block_of(i) for i in found if _HARMLESS.isdisjoint(self.code[i].operands))

    def is_heeded(self, index: int) -> bool:
        """Whether what a statement writes decides anything behind it, itself or by what is computed of it."""
        if index not in self._heeded:
            self._heeded[index] = self._decides((register, index + 1) for register in self.code[index].writes)
        return self._heeded[index]

    def _decides(self, registers: Iterable[tuple[str, int]]) -> bool:
        """Whether one of some registers is read before it is written, each from a statement on; one that only
        computes passes it on.
        """
        waiting = [*registers]
        seen = set(waiting)
        while waiting:
            register, index = waiting.pop()
            following: list[tuple[str, int]] = []
            if index < len(self.code):
                block = self.flow.blocks[self.flow.block_of(index)]
                for at in range(index, block.end):
                    statement = self.code[at]
                    if register in statement.reads:
                        if statement.does not in _COMPUTES or not statement.writes:
                            return True
                        following += ((written, at + 1) for written in statement.writes)
                    if register in statement.writes and statement.guard is None:
                        break
                else:
                    following += ((register, self.flow.blocks[number].start) for number in block.successors)
            waiting += (one for one in following if one not in seen)
            seen.update(following)
        return False


def _nothing(_: object) -> tuple[()]:
    """What a statement without sources takes."""
    return ()


def _counts(statement: DecodedStatement, words: tuple[str, ...]) -> bool:
    """Whether threads add whole numbers to a place in global memory, and get what was there."""
    adds = statement.does == "update" and "add" in words and words[-1][0] in "us"
    return adds and statement.operation.space == "global" and len(statement.writes) == 1


def _widens(words: tuple[str, ...]) -> bool:
    """Whether an instruction passes an unsigned number on, in at least as many bits."""
    return (
        words[0] == "cvt"
        and len(words) == 3
        and words[2][0] in "ub"
        and bits_of(words[:2]) >= bits_of(words[2:])
    )


@lru_cache(maxsize=1 << 6)
def _own(shape: tuple[int, int, int] | None, threads: Sequence[int]) -> tuple[tuple[str, Numbers], ...]:
    math = lane_math(len(threads))
    return tuple((name, math.joined(numbers)) for name, numbers in own_numbers(shape, threads))


def _tells_apart(statement: DecodedStatement) -> bool:
    """Whether a statement reads which thread it is."""
    return statement.does == "elect" or any(text.startswith(_THREAD) for text in statement.operands)

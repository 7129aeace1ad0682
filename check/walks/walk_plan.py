"""What all walks through a function share: its instructions, its loops, addresses of its variables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

from ..memory.byte_regions import ByteRegion
from ..memory.matrices import GRANULE, described
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.flow import Flow
from ..ptx.operands import number_of
from ..ptx.source import NAME, PtxModule
from ..values.arithmetic import MASK, ArithmeticRule, bits_of, rule_of

__all__ = ["GRID", "SIZE", "WalkPlan", "WalkStep"]

_ROUNDS = 17  # rounds of a loop with an unknown end: more than kernels have stages
_OUTER_ROUNDS = 2  # rounds of a loop around such a loop
_KNOWN_ROUNDS = 1 << 6  # rounds of a loop with a known end
_BUDGET = 400_000  # statements in all walks through a function
SIZE = "size"  # names the number of every parameter that is not a pointer
_SIGNALS = frozenset(("arrive", "await", "meet", "proxy-fence"))
_ACCESSES = frozenset(("multiply", "commit", "wait", "store", "update")) | frozenset(
    ("copy", "copy-commit", "copy-wait", "copy-arrive", "bulk-copy", "bulk-commit", "bulk-wait")
)
_DATA = frozenset(("load", "store", "update"))  # they move data, which no address depends on
_SETUP = frozenset(("init", "expect", "memory-fence"))  # what only barriers with phases are about
COUNTED = _SIGNALS | _SETUP | _ACCESSES  # actions on shared memory, and actions that order them
_THREAD = ("%tid", "%laneid")
_GUARDED = frozenset(("jump", "leave"))
_OPAQUE = frozenset(("load", "update"))  # their results do not depend on registers alone
_RESULTS = {
    "await": "awaited",
    "arrive": "awaited",
    "elect": "elected",
    "call": "unknown",
    "update": "unknown",
}  # how a value is found, by the statement's action
_HARMLESS = frozenset(("vprintf", "__assertfail"))  # the system's functions order nothing
GRID = {
    f"%{name}{axis}": int(name.startswith(("n", "cluster_n")))
    for name in ("ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
    for axis in (".x", ".y", ".z", "")
} | {"%cluster_ctarank": 0, "%cluster_nctarank": 1}


@dataclass(frozen=True, slots=True)
class WalkStep:
    """A statement prepared for walking: registers by their unique names, sources as numbers or names.

    negates: the positions of the sources that are negated predicates.
    result: how its value is found: `parameter` (the number `sources` holds), `packed` (a vector of sources),
    `lane` (of the first lane), `same` (the first source), `computed`, `awaited` (a wait is over), `elected`,
    or `unknown`. `rule` computes it. `assumes`: the value is an assumed one, whatever the sources. `maps`: it
    is an address in another block of the cluster.
    """

    index: int
    statement: DecodedStatement
    guard: str | None
    negated: bool
    written: tuple[str, ...]
    read: frozenset[str]
    words: tuple[str, ...]
    bits: int
    result: str
    sources: tuple[int | str, ...]
    negates: tuple[int, ...]
    rule: ArithmeticRule | None
    acts: bool
    wanted: bool
    assumes: bool
    maps: bool


class WalkPlan:
    """What all walks through a function share: addresses of variables, and the statements to execute.

    `reads`: generic reads of shared memory count, too, and stores elsewhere do not.
    """

    def __init__(self, module: PtxModule, code: DecodedFunction, flow: Flow, reads: bool = False) -> None:
        self.reads = reads
        self.code = code
        self.function = code.function
        self.flow = flow
        self.budget = _BUDGET
        self.bases: dict[str, int] = {}
        self.unsized: set[str] = set()
        self.roles: list[int] = []
        self._sources: dict[tuple[str, int], int | str] = {}
        self._place(module)
        self.wanted = self._slice()
        self._located: dict[int, frozenset[str]] = {}
        self._by_block: dict[int, list[WalkStep]] = {}
        self._worked: dict[tuple[int, int], int] = {}
        self._heeded: dict[int, bool] = {}
        self._sides: dict[tuple[int, int], frozenset[int]] = {}
        self.acting = frozenset(self.roles)

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

    def needed(self, statements: Iterable[int]) -> set[str]:
        """The registers that the addresses of some statements depend on, and the order of what threads do:
        guards that may differ by thread.
        """
        waiting: list[str] = []
        for index in statements:
            waiting += self._named(self.code[index])
        for statement in self.code:
            orders = statement.does in _GUARDED or statement.does in _SIGNALS or statement.does == "bulk-copy"
            if statement.guard and orders:
                guard = self.code.unique((statement.guard,), statement.scope)
                waiting += (register for register in guard if register in self._differing)
            if statement.does == "bulk-copy" and statement.address is not None and statement.address.base:
                waiting += self.code.unique((statement.address.base,), statement.scope)
        return self._closed(waiting)

    @cached_property
    def _differing(self) -> set[str]:
        """The registers that are computed from what tells threads apart."""
        found: set[str] = set()
        count = -1
        while count < len(found):
            count = len(found)
            for statement in self.code:
                if not statement.writes or statement.does in _OPAQUE or found.issuperset(statement.writes):
                    continue
                if not found.isdisjoint(statement.reads) or _tells_apart(statement):
                    found.update(statement.writes)
        return found

    def _slice(self) -> set[str]:
        """The registers that addresses, descriptors and branches depend on."""
        waiting: list[str] = []
        for index, statement in enumerate(self.code):
            if statement.does in _GUARDED and statement.guard:
                waiting += self.code.unique((statement.guard,), statement.scope)
            elif statement.does in COUNTED or (statement.does == "load" and self.reads):
                if self.reads and statement.does in _DATA and statement.operation.space != "shared":
                    continue
                waiting += self._named(statement)
                self.roles.append(index)
        return self._closed(waiting)

    def _closed(self, waiting: list[str]) -> set[str]:
        """Some registers, and all that their values are computed from."""
        wanted: set[str] = set()
        while waiting:
            register = waiting.pop()
            if register in wanted:
                continue
            wanted.add(register)
            for index in self.code.definitions.get(register, ()):
                operation = self.code.operation(index)
                if operation.does not in _OPAQUE and operation.instruction is None:
                    waiting += self.code[index].reads
        return wanted

    def _named(self, statement: DecodedStatement) -> tuple[str, ...]:
        """The registers that a statement that counts needs: of a product its descriptors and its guard, of a
        load or store its address.
        """
        if statement.does in _DATA:
            texts = list(statement.addresses)
        elif statement.does == "multiply":
            texts = [operand.text for operand, _ in described(statement)]
        else:
            return statement.reads + statement.writes
        return self.code.registers_in(" ".join([*texts, statement.guard or ""]), statement.scope)

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

    def source(self, text: str, scope: int) -> int | str:
        """An operand as a number, or as the name of a register or special register."""
        key = text, scope
        found = self._sources.get(key)
        if found is None:
            register = self.function.register(text, scope)
            number = number_of(text) if register is None else None
            if register is not None:
                found = register[0]
            elif number is not None:
                found = number & MASK
            else:
                found = self.bases.get(text, text)
            self._sources[key] = found
        return found

    def relevant(self, number: int) -> list[WalkStep]:
        """The instructions of a block that count, or make a number that does."""
        known = self._by_block.get(number)
        if known is None:
            block = self.flow.blocks[number]
            known = [
                self._instruction(i)
                for i in range(block.start, block.end)
                if i in self.acting or not self.wanted.isdisjoint(self.code[i].writes)
            ]
            self._by_block[number] = known
        return known

    def guard(self, statement: DecodedStatement) -> str | None:
        """The predicate of a guard."""
        return None if statement.guard is None else str(self.source(statement.guard, statement.scope))

    def _instruction(self, index: int) -> WalkStep:
        statement = self.code[index]
        words = statement.operation.words
        result, sources, negates = self._result(statement, words, statement.operands)
        return WalkStep(
            index,
            statement,
            self.guard(statement),
            statement.negated,
            statement.writes,
            frozenset(statement.reads),
            words,
            bits_of(words),
            result,
            sources,
            negates,
            rule_of(words, len(sources)) if result == "computed" else None,
            index in self.acting,
            not self.wanted.isdisjoint(statement.writes),
            statement.does == "load" or not GRID.keys().isdisjoint(statement.operands),
            statement.does == "map-address",
        )

    def _result(
        self, statement: DecodedStatement, words: tuple[str, ...], parts: tuple[str, ...]
    ) -> tuple[str, tuple[int | str, ...], tuple[int, ...]]:
        """How an instruction's value is found, from which sources, and which of them are negated."""
        known = _RESULTS.get(statement.does)
        if known is not None:
            return known, (), ()
        if len(parts) < 2:
            return "unknown", (), ()
        scope = statement.scope
        if statement.does == "load":
            is_parameter = statement.operation.space == "param"
            value = _parameter(parts[1], words[-1]) if is_parameter else None
            return ("unknown", (), ()) if value is None else ("parameter", (value,), ())
        if parts[1][:1] == "{":
            names = NAME.findall(parts[1]) if statement.operation.is_move else []
            return "packed" if names else "unknown", tuple(self.source(n, scope) for n in names), ()
        if parts[1][:1] == "[":
            return "unknown", (), ()
        texts = parts[1:]
        sources = tuple([self.source(text[1:] if text[:1] == "!" else text, scope) for text in texts])
        negates = tuple([place for place, text in enumerate(texts) if text[:1] == "!"])
        return {"shuffle": "lane", "map-address": "same"}.get(statement.does, "computed"), sources, negates

    def region(self, granules: Collection[int]) -> ByteRegion:
        """The bytes from the first granule to the end of the last, in the variable where they begin."""
        return self.in_variable(ByteRegion("shared", min(granules) * GRANULE, (max(granules) + 1) * GRANULE))

    def in_variable(self, region: ByteRegion) -> ByteRegion:
        """Bytes at addresses of the walk, as those of the variable where they begin."""
        low, high = region.low, region.high
        known = ((at, name) for name, at in self.bases.items() if at <= low)
        at, name = max(known, default=(0, "shared memory"))
        return ByteRegion("extern" if name in self.unsized else name, low - at, high - at)

    def work(self, side: int, number: int) -> int:
        """How many statements that count stand on one side of a branch, before the sides join again."""
        key = side, number
        if key not in self._worked:
            self._worked[key] = sum(self._counted.get(block, 0) for block in self.blocks_of(side, number))
        return self._worked[key]

    def blocks_of(self, side: int, number: int) -> frozenset[int]:
        """The blocks on one side of a branch, before the sides join again."""
        key = side, number
        if key not in self._sides:
            end = self.flow.post_dominator.get(number)
            seen: set[int] = set()
            waiting = [side]
            while waiting:
                block = waiting.pop()
                if block != end and block not in seen:
                    seen.add(block)
                    waiting += self.flow.blocks[block].successors
            self._sides[key] = frozenset(seen)
        return self._sides[key]

    def acts(self, side: int, number: int) -> bool:
        """Whether any statement on one side of a branch acts."""
        return not self._acting_blocks.isdisjoint(self.blocks_of(side, number))

    def accesses(self, side: int, number: int) -> bool:
        """Whether any statement on one side of a branch accesses shared memory."""
        return not self._accessing_blocks.isdisjoint(self.blocks_of(side, number))

    def written_between(self, number: int) -> frozenset[str]:
        """The registers that are written behind a branch, before its sides join again."""
        blocks = frozenset[int]().union(
            *(self.blocks_of(s, number) for s in self.flow.blocks[number].successors)
        )
        return frozenset(name for block in blocks for step in self.relevant(block) for name in step.written)

    def busy(self, head: int) -> bool:
        """Whether any statement of a loop acts."""
        return not self._acting_blocks.isdisjoint(self.loops[head])

    @cached_property
    def _acting_blocks(self) -> frozenset[int]:
        return frozenset(self.flow.block_of(index) for index in self.roles)

    @cached_property
    def _accessing_blocks(self) -> frozenset[int]:
        roles = (i for i in self.roles if self.code.operation(i).does in _ACCESSES)
        return frozenset(map(self.flow.block_of, roles))

    @cached_property
    def calling(self) -> frozenset[int]:
        """The blocks that call a function whose body stands in the file, or one that is not known."""
        found = (i for i in range(len(self.code)) if self.code.operation(i).does == "call")
        return frozenset(self.flow.block_of(i) for i in found if _HARMLESS.isdisjoint(self.code[i].operands))

    def is_heeded(self, index: int) -> bool:
        """Whether some statement behind another one reads what that one writes."""
        if index not in self._heeded:
            written = set(self.code[index].writes)
            self._heeded[index] = any(self._is_read(register, index + 1) for register in written)
        return self._heeded[index]

    def _is_read(self, register: str, start: int) -> bool:
        """Whether a register is read before it is written, from a statement on."""
        seen: set[int] = set()
        waiting = [start]
        while waiting:
            index = waiting.pop()
            if index in seen or index >= len(self.code):
                continue
            seen.add(index)
            block = self.flow.blocks[self.flow.block_of(index)]
            for at in range(index, block.end):
                statement = self.code[at]
                if register in statement.reads:
                    return True
                if register in statement.writes and statement.guard is None:
                    break
            else:
                waiting += (self.flow.blocks[number].start for number in block.successors)
        return False

    @cached_property
    def _counted(self) -> Counter[int]:
        """How many statements that count stand in each block."""
        counted = (i for i in self.roles if self.code.operation(i).does not in _SETUP)
        return Counter(map(self.flow.block_of, counted))

    @cached_property
    def loops(self) -> dict[int, frozenset[int]]:
        """By the block that a branch leads back to: the blocks of the loop."""
        found: dict[int, set[int]] = {}
        for number in self.flow.order:
            for head in self.flow.blocks[number].successors:
                if head > number:
                    continue
                body, waiting = {number}, [number] if number != head else []
                while waiting:
                    for block in self.flow.blocks[waiting.pop()].predecessors:
                        if block not in body and block >= head:
                            body.add(block)
                            if block > head:
                                waiting.append(block)
                if head in body:
                    found.setdefault(head, set()).update(body)
        return {head: frozenset(body) for head, body in found.items()}

    def most(self, head: int, known: bool) -> int:
        """The most rounds of a loop; `known`: its branch does not depend on assumed numbers."""
        rounds = self._rounds[head]
        return _KNOWN_ROUNDS if known and rounds > _OUTER_ROUNDS else rounds

    def innermost(self, head: int) -> bool:
        """Whether no loop that copies, stores or multiplies stands in a loop."""
        return self._rounds[head] > _OUTER_ROUNDS

    @cached_property
    def _rounds(self) -> dict[int, int]:
        """By loop: the number of rounds when its end is unknown."""
        order = sorted(self.loops)
        accesses = Counter(
            self.flow.block_of(i) for i in self.roles if self.code.operation(i).does in _ACCESSES
        )
        busy = [head for head in order if any(accesses[block] for block in self.loops[head])]
        inner = {outer for head in busy for outer in self.around[head] if outer != head}
        return {head: _OUTER_ROUNDS if head in inner else _ROUNDS for head in order}

    @cached_property
    def around(self) -> dict[int, tuple[int, ...]]:
        """By block: the loops that it stands in, the outermost first, by their heads."""
        found: dict[int, list[int]] = defaultdict(list)
        for head, body in sorted(self.loops.items()):
            for block in body:
                found[block].append(head)
        return {block: tuple(heads) for block, heads in found.items()}


def _tells_apart(statement: DecodedStatement) -> bool:
    """Whether a statement reads which thread it is."""
    return statement.does == "elect" or any(text.startswith(_THREAD) for text in statement.operands)


def _parameter(operand: str, kind: str) -> int | str | None:
    """The assumed value of a parameter: a size, or a pointer far from others."""
    if kind.endswith("64"):
        return (crc32(operand.encode()) % 97 + 1) << 32
    return SIZE if kind[0] in "usb" else None

"""What walks with one purpose execute: the statements that count, and those that make their numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from ..memory.matrices import described
from ..memory.tensor_places import TENSOR_ACTIONS, tensor_texts
from ..ptx.decode import DecodedStatement
from ..ptx.operands import number_of
from ..ptx.operation import BROUGHT, DATA, ORDINARY
from ..ptx.reaching import written_by
from ..values.real_arithmetic import is_real
from .inverted_waits import is_inverted
from .memory_meetings import MemoryMeetings
from .second_tries import second_try
from .stored_data import StoredData
from .walk_steps import WalkStep, WalkSteps

__all__ = ["COUNTED", "PRODUCTS", "WalkPlan"]

_ROUNDS = 17  # rounds of a loop with an unknown end: more than kernels have stages
_OUTER_ROUNDS = 2  # rounds of a loop around such a loop
_KNOWN_ROUNDS = 1 << 6  # rounds of a loop with a known end
_BUDGET = 400_000  # statements in all walks through a function
_SIGNALS = frozenset(("arrive", "await", "meet", "proxy-fence"))
_ACCESSES = frozenset(("multiply", "commit", "wait", "store", "update")) | frozenset(
    ("copy", "copy-commit", "copy-wait", "copy-arrive", "bulk-copy", "bulk-commit", "bulk-wait")
)
_COPIED = frozenset(("store", "copy"))  # data that come from somewhere
_WAITS = frozenset(("wait", "copy-wait", "bulk-wait"))
_ELSEWHERE = frozenset(("global", "param", "local", "const"))  # not in shared memory
# What counts where ordinary reads do; who allocates writes an address to read.
_READING = ("load", "allocate")
PRODUCTS = frozenset(("multiply", "commit", "wait"))
_ALLOCATING = frozenset(("allocate", "deallocate"))
_SETUP = frozenset(
    ("init", "invalidate", "expect", "give", "memory-fence")
)  # what only barriers with phases are about
COUNTED = _SIGNALS | _SETUP | _ACCESSES  # actions on shared memory, and actions that order them
_GUARDED = frozenset(("jump", "leave"))
_CONSTANT = frozenset(("param", "const"))


class Run(NamedTuple):
    """Statements of a block that only compute, in all threads, and always have a result; and the one behind
    them, if the block goes on: number `place` of those that count or make a number that does. `acts`: it
    counts; `makes`: it makes such a number.
    """

    place: int
    computing: Sequence[WalkStep]
    step: WalkStep | None
    acts: bool
    makes: bool


class WalkPlan:
    """What walks through a function execute, of its `steps`. `roles` are the statements that count.

    `reads`: generic reads of shared memory count, too, and stores elsewhere do not; what only
    products need is passed by. `products`: that they are issued, and waited for, counts nevertheless. `data`:
    so does what is stored, and where it comes from. `tensors`: what is done to tensor memory counts, too.
    """

    def __init__(
        self,
        steps: WalkSteps,
        reads: bool = False,
        products: bool = False,
        data: StoredData | None = None,
        tensors: bool = False,
    ) -> None:
        self.steps = steps
        self.reads = reads
        self.products = products
        self.data = data
        self.tensors = tensors
        self.code = steps.code
        self.function = steps.function
        self.flow = steps.flow
        self.loops = steps.loops
        self.budget = _BUDGET
        self.roles: list[int] = []
        self._acting: set[int] = set()  # those whose acts walks look at
        # The registers that decide: addresses, descriptors, counts, guards, and what is read back.
        self.deciding = frozenset[str]()
        self.reread = False  # numbers that count are read from shared memory, where threads wrote them
        self.wanted = self._slice()
        self._by_block: dict[int, Sequence[tuple[WalkStep, bool, bool]]] = {}
        self._runs: dict[int, Sequence[Run]] = {}
        self._acting_without: dict[frozenset[str], frozenset[int]] = {}
        self._working: dict[int, bool] = {}
        self._doing: dict[tuple[frozenset[str], int, int | None], frozenset[int]] = {}
        self._by_actions: dict[frozenset[str], Mapping[int, Sequence[int]]] = {}
        self._worked: dict[tuple[int, int], int] = {}
        self._between: dict[int, frozenset[str]] = {}
        self._before_join: dict[int, frozenset[str]] = {}
        self._written: dict[int, frozenset[str]] = {}

    def needed(self, statements: Iterable[int]) -> set[str]:
        """The registers that the addresses of some statements depend on, and the order of what threads do:
        guards that may differ by thread.
        """
        waiting: list[str] = []
        for index in statements:
            waiting += self._named(self.code[index])
        for index in self.code.doing(*_GUARDED, *_SIGNALS, "bulk-copy"):
            statement = self.code[index]
            if statement.guard:
                guard = self.code.unique((statement.guard,), statement.scope)
                waiting += (register for register in guard if register in self.steps.differing)
            if statement.does == "bulk-copy" and statement.address is not None and statement.address.base:
                waiting += self.code.unique((statement.address.base,), statement.scope)
        return self.steps.closed(waiting)

    @cached_property
    def real_loads(self) -> frozenset[int]:
        """The loads of floating-point numbers from global memory, by which threads do not meet. Such a number
        scales; a whole one may count what others list, and so contradict them.
        """
        return frozenset(one for one in self._word_loads if is_real(self.code.operation(one).words))

    @cached_property
    def _word_loads(self) -> frozenset[int]:
        """The loads of words from global memory by which threads do not meet."""
        return frozenset(
            index
            for index in self.code.doing("load")
            for operation in (self.code.operation(index),)
            if operation.space == "global" and not operation.is_strong
        )

    def is_given(self, predicate: str) -> bool:
        """Whether a predicate is computed from words in global memory, and from nothing that threads of the
        kernel may have written.
        """
        behind = {
            index
            for index in self.steps.statements_behind((predicate,))
            for operation in (self.code.operation(index),)
            if operation.does in BROUGHT and operation.space not in _CONSTANT
        }
        return bool(behind) and behind <= self._word_loads

    def is_scaled(self, predicate: str) -> bool:
        """Whether a predicate is computed from a floating-point number that is loaded from global memory."""
        return self.steps.are_behind(predicate, self.real_loads)

    def _slice(self) -> set[str]:
        """The registers that addresses, descriptors and branches depend on."""
        waiting: list[str] = []
        for index in self.code.doing(*_GUARDED, *COUNTED, *_READING, "switch"):
            statement = self.code[index]
            if statement.does in _GUARDED and statement.guard:
                waiting += self.code.unique((statement.guard,), statement.scope)
            elif statement.does == "switch":
                waiting += self.code.unique(statement.operands[:1], statement.scope)
            elif statement.does in COUNTED or (statement.does in _READING and self.reads):
                if self.reads and statement.does in DATA and not self._is_shared(statement):
                    continue
                if statement.does in DATA and statement.operation.space in _ELSEWHERE:
                    continue
                if is_inverted(self.steps, index):
                    continue
                self.roles.append(index)
                if not (self.reads and statement.does in PRODUCTS):
                    self._acting.add(index)
                    waiting += self._named(statement)
                elif self.products:
                    self._acting.add(index)
        if self.data is not None:
            for index in self.roles:
                statement = self.code[index]
                waiting += self.code.unique(tuple(self.data.texts(index)), statement.scope)
                if statement.does in _COPIED:
                    waiting += (name for name, _ in self.data.origins(index) or ())
        self.deciding = frozenset(waiting)
        wanted = self.steps.closed(waiting)
        if self._rereads(wanted) and not (self.reads and self._stores_anywhere):
            self.reread = True
            words = (self.code[index] for index in self.code.doing(*ORDINARY))
            shared = (statement for statement in words if statement.operation.space == "shared")
            moved = {name for statement in shared for name in statement.reads}
            self.deciding |= moved
            wanted = self.steps.closed([*wanted, *moved])
        return wanted | self._tensor_slice() if self.tensors else wanted

    def _tensor_slice(self) -> set[str]:
        """The registers that say which places of tensor memory are accessed, and where the addresses of what
        is allocated are read back. That statements access tensor memory does not decide how threads are
        followed.
        """
        waiting: list[str] = []
        for index in self.code.doing(*TENSOR_ACTIONS, "allocate"):
            self._acting.add(index)
            statement = self.code[index]
            waiting += statement.reads if statement.does in _ALLOCATING else self._named(statement)
        wanted = self.steps.closed(waiting)
        loads = (self.code[index] for index in self.code.doing("load"))
        read = (one for one in loads if not wanted.isdisjoint(one.writes) and one.operation.space == "shared")
        return self.steps.closed([*wanted, *(name for statement in read for name in statement.reads)])

    def _is_shared(self, statement: DecodedStatement) -> bool:
        """Whether data lie in shared memory, of this block or of another one of the cluster."""
        space = statement.operation.space
        return space == "shared" or (
            space == "generic"
            and bool(self.steps.mapped)
            and not self.steps.mapped.isdisjoint(
                self.code.registers_in(" ".join(statement.addresses), statement.scope)
            )
        )

    def _rereads(self, wanted: set[str]) -> bool:
        """Whether wanted numbers are read from shared memory."""
        return any(
            not wanted.isdisjoint(self.code[index].writes) and self.steps.step(index).rereads
            for index in self.code.doing("load")
        )

    @cached_property
    def _stores_anywhere(self) -> bool:
        """Whether threads write where the PTX does not say whether it is shared memory."""
        stores = map(self.code.operation, self.code.doing("store", "update"))
        return any(operation.space == "generic" for operation in stores)

    def _named(self, statement: DecodedStatement) -> tuple[str, ...]:
        """The registers that a statement that counts needs: of a product its descriptors and its guard, of a
        load or store of shared memory its address; of a copy no coordinates, and nothing of where cp.async
        reads.
        """
        match statement.does:
            case "load" | "store" | "update" | "allocate":
                texts = [] if statement.operation.space in _ELSEWHERE else list(statement.addresses)
            case "copy":
                texts = [next(statement.addresses, "")]
            case "bulk-copy":
                texts = [text for text in statement.operands if "{" not in text]
            case "multiply":
                texts = [operand.text for operand, _ in described(statement)]
            case does if does in TENSOR_ACTIONS:
                texts = tensor_texts(statement)
            case _:
                return statement.reads + statement.writes
        return self.code.registers_in(" ".join([*texts, statement.guard or ""]), statement.scope)

    def relevant(self, number: int) -> Sequence[tuple[WalkStep, bool, bool]]:
        """The statements of a block that count, or make a number that does; whether each does the one, and
        the other.
        """
        known = self._by_block.get(number)
        if known is None:
            block, made = self.flow.blocks[number], self._made
            known = self._by_block[number] = [
                (self.steps.step(i), i in self._acting, i in made)
                for i in range(block.start, block.end)
                if i in made or i in self._acting
            ]
        return known

    def runs(self, number: int) -> Sequence[Run]:
        """The same statements: those that only compute, one behind another, and each of the others."""
        known = self._runs.get(number)
        if known is None:
            known = self._runs[number] = list(_runs(self.relevant(number)))
        return known

    @cached_property
    def _made(self) -> frozenset[int]:
        """The statements that make a number that counts."""
        definitions = self.code.definitions
        return frozenset(index for name in self.wanted for index in definitions.get(name, ()))

    def tries_again(self, index: int) -> bool:
        """Whether a thread does nothing that counts until what it waits for at a statement is there."""
        return self._repeats(index) or (
            (again := second_try(self.steps, index, self._roles_of)) is not None and self._repeats(again)
        )

    @cached_property
    def tries(self) -> frozenset[int]:
        """The waits that are not tried until they succeed, and whose results are read."""
        waits = (index for index in self.roles if self.code.operation(index).does == "await")
        return frozenset(i for i in waits if self.steps.is_heeded(i) and not self._repeats(i))

    def _repeats(self, index: int) -> bool:
        """Whether a statement alone is tried until it succeeds."""
        number = self.flow.block_of(index)
        if any(index != other and self.flow.block_of(other) == number for other in self.roles):
            return False
        return any(self._comes_back(side, number) for side in self.flow.blocks[number].successors)

    def _roles_of(self, number: int) -> list[int]:
        """The statements of a block that count."""
        block = self.flow.blocks[number]
        return self.roles[bisect_left(self.roles, block.start) : bisect_left(self.roles, block.end)]

    def _comes_back(self, side: int, number: int) -> bool:
        """Whether one side of a branch leads back to its block, past nothing that counts."""
        seen = self.flow.reached([side], number)
        heads = (following for block in seen for following in self.flow.blocks[block].successors)
        return (side == number or number in heads) and seen.isdisjoint(self._acting_blocks)

    @cached_property
    def meetings(self) -> MemoryMeetings:
        """Where threads may meet by what they read from memory."""
        return MemoryMeetings(self.steps, self.roles)

    def written_by(self, register: str, before: int) -> int | None:
        """The statement that has written what a register holds before another one; None if not known."""
        return written_by(self.code, self.flow, register, before)

    def work(self, side: int, number: int) -> int:
        """How many statements that count stand on one side of a branch, before the sides join again."""
        key = side, number
        if key not in self._worked:
            self._worked[key] = sum(
                self._counted.get(block, 0) for block in self.loops.blocks_of(side, number)
            )
        return self._worked[key]

    def acts(self, side: int, number: int) -> bool:
        """Whether any statement on one side of a branch acts."""
        return not self._acting_blocks.isdisjoint(self.loops.blocks_of(side, number))

    def works(self, side: int) -> bool:
        """Whether any statement behind the start of a block counts, until the function ends."""
        if side not in self._working:
            self._working[side] = not self._acting_blocks.isdisjoint(self.flow.reached([side], None))
        return self._working[side]

    def acting(self, without: frozenset[str]) -> frozenset[int]:
        """The blocks with statements that count, some actions left out."""
        if without not in self._acting_without:
            roles = (index for index in self.roles if self.code.operation(index).does not in without)
            self._acting_without[without] = frozenset(map(self.flow.block_of, roles))
        return self._acting_without[without]

    def doing(self, actions: frozenset[str], side: int, number: int | None) -> frozenset[int]:
        """The statements with some actions on one side of a branch, before the sides join again; or behind
        the start of a block.
        """
        key = actions, side, number
        if key not in self._doing:
            blocks = self.flow.reached([side], None) if number is None else self.loops.blocks_of(side, number)
            by_block = self._roles_doing(actions)
            found = (by_block[block] for block in by_block.keys() & blocks)
            self._doing[key] = frozenset(index for some in found for index in some)
        return self._doing[key]

    def _roles_doing(self, actions: frozenset[str]) -> Mapping[int, Sequence[int]]:
        """The statements that count with some actions, by their block."""
        if actions not in self._by_actions:
            found: dict[int, list[int]] = defaultdict(list)
            for index in self.roles:
                if self.code.operation(index).does in actions:
                    found[self.flow.block_of(index)].append(index)
            self._by_actions[actions] = found
        return self._by_actions[actions]

    def accesses(self, side: int, number: int) -> bool:
        """Whether any statement on one side of a branch accesses shared memory."""
        return not self._accessing_blocks.isdisjoint(self.loops.blocks_of(side, number))

    def written_between(self, number: int) -> frozenset[str]:
        """The registers that are written behind a branch, before its sides join again."""
        found = self._between.get(number)
        if found is None:
            sides = self.flow.blocks[number].successors
            blocks = frozenset[int]().union(*(self.loops.blocks_of(side, number) for side in sides))
            found = self._between[number] = frozenset[str]().union(*map(self.written_in, blocks))
        return found

    def written_before_join(self, number: int) -> frozenset[str]:
        """The same, and those that are written in the branch's own block."""
        found = self._before_join.get(number)
        if found is None:
            found = self._before_join[number] = self.written_in(number) | self.written_between(number)
        return found

    def written_in(self, number: int) -> frozenset[str]:
        """The registers that are written in a block."""
        found = self._written.get(number)
        if found is None:
            names = (name for step, _, _ in self.relevant(number) for name in step.written)
            found = self._written[number] = frozenset(names)
        return found

    def busy(self, head: int) -> bool:
        """Whether any statement of a loop acts."""
        return not self._acting_blocks.isdisjoint(self.loops.blocks[head])

    @cached_property
    def _acting_blocks(self) -> frozenset[int]:
        return frozenset(self.flow.block_of(index) for index in self.roles)

    @cached_property
    def _accessing_blocks(self) -> frozenset[int]:
        roles = (i for i in self.roles if self.code.operation(i).does in _ACCESSES)
        return frozenset(map(self.flow.block_of, roles))

    @cached_property
    def _counted(self) -> Counter[int]:
        """How many statements that count stand in each block."""
        counted = (i for i in self.roles if self.code.operation(i).does not in _SETUP)
        return Counter(map(self.flow.block_of, counted))

    def most(self, head: int, known: bool) -> int:
        """The most rounds of a loop; `known`: its branch does not depend on assumed numbers."""
        rounds = self._rounds[head]
        return _KNOWN_ROUNDS if known and rounds > _OUTER_ROUNDS else rounds

    @cached_property
    def depth(self) -> int:
        """The most groups that any wait leaves in flight."""
        pending = (self.code[i].pending for i in self.roles if self.code.operation(i).does in _WAITS)
        return max((number_of(text) or 0 for text in pending if text), default=0)

    def innermost(self, head: int) -> bool:
        """Whether no loop that copies, stores or multiplies stands in a loop."""
        return self._rounds[head] > _OUTER_ROUNDS

    @cached_property
    def _rounds(self) -> dict[int, int]:
        """By loop: the number of rounds when its end is unknown."""
        order = sorted(self.loops.blocks)
        accesses = Counter(
            self.flow.block_of(i) for i in self.roles if self.code.operation(i).does in _ACCESSES
        )
        busy = [head for head in order if any(accesses[block] for block in self.loops.blocks[head])]
        inner = {outer for head in busy for outer in self.loops.around[head] if outer != head}
        return {head: _OUTER_ROUNDS if head in inner else _ROUNDS for head in order}


def _runs(relevant: Sequence[tuple[WalkStep, bool, bool]]) -> Iterator[Run]:
    computing: list[WalkStep] = []
    for place, (step, acts, makes) in enumerate(relevant):
        if not (acts or step.divides) and step.guard is None and step.target is not None:
            computing.append(step)
        else:
            yield Run(place, computing, step, acts, makes)
            computing = []
    if computing:
        yield Run(len(relevant), computing, None, False, False)

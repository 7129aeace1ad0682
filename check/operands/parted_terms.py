"""Whether an operand surely differs between threads though its value is unknown: a base plus the thread.

The operand is followed back through definitions that surely reach it. Everything but the thread's number must
be the same in all threads of the block.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from random import Random

from ..paths.path_terms import PathTerm, PathValue, terms_within
from ..paths.path_values import PathValues
from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..values.arithmetic import computed
from ..values.block_threads import WARP

__all__ = ["PartedTerms"]

_DEEP = 64  # definitions that are followed
_TRIES = 3  # bases that are tried before the solver is asked
_BITS = 64


class PartedTerms:
    """The terms of one function's operands, as far as definitions settle them."""

    def __init__(self, code: DecodedFunction, flow: Flow) -> None:
        self.code = code
        self.flow = flow
        self.values = PathValues(code)
        self._known: dict[tuple[str, int], PathValue] = {}

    def parted(self, text: str, index: int, size: int, among: Collection[int]) -> tuple[int, int] | None:
        """Two of `size` consecutive threads in which an operand surely differs; None if it may be the same.

        `among` are the threads, by %tid.x, that execute the statement.
        """
        register = self.code.function.register(text, self.code[index].scope)
        if register is None:
            return None
        term = self._reaching(register[0], index, _DEEP)
        if not isinstance(term, PathTerm) or not self._is_settled(term):
            return None
        least = min(among, default=0)
        first = least - least % size
        threads = [first + thread for thread in (0, 1, size // 4, size - 1) if first + thread in among]
        pairs = {(threads[0], thread) for thread in threads[1:]}
        random = Random(0)
        bases = [{leaf: random.getrandbits(_BITS) for leaf in term.leaves} for _ in range(_TRIES)]
        for first, second in sorted(pairs):
            differ = all(
                self._number(term, base, first) != self._number(term, base, second) for base in bases
            )
            if differ and self._never_equal(term, first, second):
                return first, second
        return None

    def _is_settled(self, term: PathTerm) -> bool:
        """Whether only the thread's number differs between threads."""
        found = False
        for leaf in term.leaves:
            if _thread_of(leaf) is not None:
                found = True
            elif not self.values.terms.leaf(leaf).uniform:
                return False
        return found

    def _reaching(self, register: str, before: int, depth: int) -> PathValue:
        """What a register holds before a statement, by the one definition that surely reaches it."""
        key = register, before
        if key in self._known:
            return self._known[key]
        unknown = self.values.terms.leaf(("reaching", register, before))
        definitions = self.code.definitions.get(register, [])
        last = self.code.last_definition(register, before)
        inside = last >= 0 and self.flow.block_of(last) == self.flow.block_of(before)
        if last < 0 or not depth or not (inside or len(definitions) == 1):
            return unknown
        statement = self.code[last]
        if statement.guard is not None:
            return unknown
        environment = {source: self._reaching(source, last, depth - 1) for source in statement.reads}
        found = self.values.results(last, environment, ()).get(register, unknown)
        self._known[key] = found
        return found

    def _number(self, term: PathTerm, base: dict[Hashable, int], thread: int) -> int | None:
        """The term's number in a thread, with a number for each base."""
        numbers: dict[PathTerm, int | None] = {}
        for one in terms_within([term]):
            if one.words:
                args = [arg if isinstance(arg, int) else numbers[arg] for arg in one.args]
                numbers[one] = computed(one.words, args)
            else:
                (leaf,) = one.leaves
                special = _number_in(leaf, thread)
                numbers[one] = base[leaf] if special is None else special
        return numbers[term]

    def _placed(self, term: PathTerm, thread: int) -> PathValue:
        """The term with the thread's number in it."""
        placed: dict[PathTerm, PathValue] = {}
        for one in terms_within([term]):
            if one.words:
                args = tuple(arg if isinstance(arg, int) else placed[arg] for arg in one.args)
                placed[one] = self.values.terms.apply(one.words, args)
            else:
                special = _number_in(next(iter(one.leaves)), thread)
                placed[one] = one if special is None else special
        return placed[term]

    def _never_equal(self, term: PathTerm, first: int, second: int) -> bool:
        """Whether no base makes the term the same in two threads, as far as z3 can tell."""
        sides = self._placed(term, first), self._placed(term, second)
        equal = self.values.terms.apply(("setp", "eq", f"b{_BITS}"), sides)
        if isinstance(equal, int):
            return not equal
        from ..paths.path_solver import refuted  # z3 is slow to import, and few operands need it

        return bool(refuted({equal: True}))


def _thread_of(leaf: Hashable) -> str | None:
    """The special register that a leaf is, if it tells threads apart."""
    text = str(leaf[-1]) if isinstance(leaf, tuple) else ""
    return text if text in ("%tid.x", "%laneid") else None


def _number_in(leaf: Hashable, thread: int) -> int | None:
    """The number of a leaf in a thread, if it tells threads apart."""
    special = _thread_of(leaf)
    return None if special is None else thread % WARP if special == "%laneid" else thread

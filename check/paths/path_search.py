"""The search for a path that can happen, from the start of a function to a collision.

A node of the search is a block, what an analysis knows there, and what registers hold. The search takes a
branch only to the sides that the values on the path allow. z3 is asked about a path that is found. If its
conditions cannot hold together, the search goes on without them. So "infeasible" means that no path is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Generic, TypeVar

from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from .held_values import held_values
from .path_numbers import hold_together
from .path_question import PathAnswer, PathQuestion
from .path_slice import PathSlice
from .path_terms import PathTerm, PathValue, stripped
from .path_values import PathValues
from .related_terms import Literals, related, unwritten

__all__ = ["PathSearch"]

_BUDGET = 3000  # visits of blocks for one question
_ROUNDS = 3  # rounds of a loop, beside those that wait for a group, before its registers may hold anything
_REFUTED = 40  # paths that are refuted before the question stays open
S = TypeVar("S")


@dataclass(slots=True)
class _Node(Generic[S]):
    """A path up to the start of a block.

    truth: conditions that are assumed. rounds: by head, of the loops around the block. open: heads of the
    loops that an undecided branch may leave. loose: registers of a loop may hold anything.
    """

    block: int
    state: S
    values: dict[str, PathValue]
    truth: dict[PathTerm, bool]
    rounds: dict[int, int]
    open: frozenset[int]
    loose: bool
    depth: int
    before: _Node[S] | None = None
    events: tuple[int, ...] = ()  # those of the block before
    assumed: tuple[tuple[PathTerm, bool], ...] = ()


@dataclass(slots=True)
class _Run(Generic[S]):
    """A path inside a block."""

    state: S
    values: dict[str, PathValue]
    truth: dict[PathTerm, bool]
    events: list[int]
    assumed: list[tuple[PathTerm, bool]]
    at: int = 0
    stopped: bool = False

    def fork(self) -> _Run[S]:
        return _Run(
            self.state, dict(self.values), dict(self.truth), list(self.events), list(self.assumed), self.at
        )


class PathSearch(Generic[S]):
    """Searches paths through one function, by one slice of it."""

    def __init__(self, code: DecodedFunction, flow: Flow, sliced: PathSlice, values: PathValues) -> None:
        self.code = code
        self.flow = flow
        self.slice = sliced
        self.values = values
        self.visits = 0

    def find(self, question: PathQuestion[S]) -> PathAnswer:
        """A path that can happen; or that none can; or that the search ended before either was known."""
        excluded: list[frozenset[tuple[PathTerm, bool]]] = []
        kept: set[PathTerm] = set()
        for _ in range(_REFUTED):
            found = self._search(question, excluded, kept)
            if found is None or isinstance(found, PathAnswer):
                return found or PathAnswer("infeasible")
            node, run = found
            literals, twice = self._joined(self._assumed(node, run))
            if not twice <= kept:
                kept |= twice  # a condition that was forgotten, and then assumed otherwise
                continue
            if question.parts:
                literals = {term: holds for term, holds in literals.items() if term.uniform}
            core = self._refuted(literals)
            events = tuple(self._events(node, run))
            if core is None:
                return PathAnswer("unknown" if node.loose else "feasible", events)
            if not core:
                return PathAnswer("unknown", events)
            excluded.append(core)
            kept.update(term for term, _ in core)
        return PathAnswer("unknown")

    def _joined(self, assumed: Iterable[tuple[PathTerm, bool]]) -> tuple[dict[PathTerm, bool], set[PathTerm]]:
        """What is assumed on a path; and the conditions that are assumed both ways."""
        found: dict[PathTerm, bool] = {}
        twice: set[PathTerm] = set()
        for value, wanted in assumed:
            for term, holds in self.values.terms.implied(value, wanted).items():
                if found.setdefault(term, holds) != holds:
                    twice |= {term, value}
        return found, twice

    def _refuted(self, literals: Literals) -> frozenset[tuple[PathTerm, bool]] | None:
        """Conditions that cannot hold together; None if all can, nothing if the solver does not know."""
        threads = self.code.function.threads
        groups = [group for group in related(literals) if not hold_together(group, threads)]
        if not groups:
            return None
        from .path_solver import refuted  # z3 is slow to import, and most paths need no solver

        for group in groups:
            core = refuted(group, threads)
            if core is not None:
                return core
        return None

    @staticmethod
    def _assumed(node: _Node[S] | None, run: _Run[S]) -> Iterator[tuple[PathTerm, bool]]:
        yield from run.assumed
        while node is not None:
            yield from node.assumed
            node = node.before

    @staticmethod
    def _events(node: _Node[S] | None, run: _Run[S]) -> Iterator[int]:
        parts = [run.events]
        while node is not None:
            parts.append(list(node.events))
            node = node.before
        for part in reversed(parts):
            yield from part

    def _search(
        self,
        question: PathQuestion[S],
        excluded: list[frozenset[tuple[PathTerm, bool]]],
        kept: set[PathTerm],
    ) -> tuple[_Node[S], _Run[S]] | PathAnswer | None:
        to_goal, to_near = self._distances(question.goal), self._distances(question.near)
        first: _Node[S] = _Node(
            question.begin, question.start, self._held(question), {}, {}, frozenset(), False, 0
        )
        if first.block not in to_goal:
            return None
        seen: set[Hashable] = set()
        heap: list[tuple[int, int, int, _Node[S]]] = [(0, 0, 0, first)]
        count = budget = 0
        while heap:
            node = heappop(heap)[3]
            key = self._key(question, node)
            if key in seen:
                continue
            seen.add(key)
            budget += 1
            self.visits += 1
            if budget > _BUDGET:
                return PathAnswer("unknown")
            for run in self._block(question, node, excluded):
                if run.stopped:
                    return node, run
                for following in self._leave(question, node, run, to_goal, excluded):
                    if question.begin and self._begins_later(question, node, following):
                        continue
                    self._forget(following, kept)
                    count += 1
                    far = to_goal[following.block]
                    if not question.active(following.state):
                        far = to_near.get(following.block, far) + to_goal.get(question.near, 0)
                    doubt = 2 * following.loose + question.doubtful(following.state)
                    heappush(heap, (doubt, following.depth + far, count, following))
        return None

    def _held(self, question: PathQuestion[S]) -> dict[str, PathValue]:
        """What registers hold where the path begins: nothing yet, or what they may hold amid the function."""
        names = self.slice.wanted if question.begin else ()
        return held_values(self.values, self.flow, question.begin, names, question.uniform)

    @staticmethod
    def _begins_later(question: PathQuestion[S], node: _Node[S], following: _Node[S]) -> bool:
        """Whether the same accesses end a path that begins later at the same block."""
        before = following.block == question.begin or question.active(node.state)
        return before and not question.active(following.state)

    def _distances(self, goal: int) -> dict[int, int]:
        """By block: how many blocks away the goal is at least, by the ways that the slice takes."""
        backward: dict[int, list[int]] = {}
        for number in self.flow.order:
            for successor, _ in self.slice.ways(number):
                backward.setdefault(successor, []).append(number)
        found = {goal: 0}
        waiting = deque([goal])
        while waiting:
            number = waiting.popleft()
            for before in backward.get(number, ()):
                if before not in found:
                    found[before] = found[number] + 1
                    waiting.append(before)
        return found

    def _key(self, question: PathQuestion[S], node: _Node[S]) -> Hashable:
        return (
            node.block,
            question.key(node.state),
            node.loose,
            frozenset(node.values.items()),
            frozenset(node.truth.items()),
            frozenset(node.rounds.items()),
            node.open,
        )

    def _block(
        self, question: PathQuestion[S], node: _Node[S], excluded: list[frozenset[tuple[PathTerm, bool]]]
    ) -> Iterator[_Run[S]]:
        """The ways through a block, one for each choice of the guards in it."""
        steps = self.slice.steps.get(node.block, ())
        waiting = [_Run(node.state, dict(node.values), dict(node.truth), [], [])]
        while waiting:
            run = waiting.pop()
            while run.at < len(steps) and not run.stopped:
                index = steps[run.at]
                statement = self.code[index]
                run.at += 1
                if statement.guard is not None:
                    guard = self.values.guard(statement, run.values)
                    if statement.negated:
                        guard = self.values.terms.negated(guard)
                    holds = self.values.terms.truth(guard, run.truth)
                    if holds is None:
                        other = run.fork()
                        if self._assume(other, guard, False, excluded):
                            waiting.append(other)
                        if not self._assume(run, guard, True, excluded):
                            break
                    elif not holds:
                        continue
                self._execute(question, run, index)
            else:
                yield run

    def _execute(self, question: PathQuestion[S], run: _Run[S], index: int) -> None:
        if index in self.slice.events:
            run.events.append(index)
            changed = question.step(run.state, index)
            if changed is None:
                run.stopped = True
                return
            run.state = changed
            if index in question.parts:
                self._part(run, index)
        statement = self.code[index]
        if not self.slice.wanted.isdisjoint(statement.writes):
            taken = [value for value in (*run.values.values(), *run.truth) if isinstance(value, PathTerm)]
            run.values.update(self.values.results(index, run.values, taken))

    def _part(self, run: _Run[S], index: int) -> None:
        """Forget what differs between threads."""
        run.truth = {term: holds for term, holds in run.truth.items() if term.uniform}
        for register, value in run.values.items():
            if isinstance(value, PathTerm) and not value.uniform:
                run.values[register] = self.values.terms.leaf(("other", index, register))

    def _assume(
        self,
        run: _Run[S],
        guard: PathValue,
        holds: bool,
        excluded: list[frozenset[tuple[PathTerm, bool]]],
    ) -> bool:
        """Assume a condition; False if the conditions that are assumed then cannot hold together."""
        value, positive = stripped(guard)
        if isinstance(value, int):
            return True
        implied = self.values.terms.implied(guard, holds)
        if any(run.truth.get(term, wanted) != wanted for term, wanted in implied.items()):
            return False
        run.truth.update(implied)
        run.assumed.append((value, holds == positive))
        return not any(all(run.truth.get(t) == wanted for t, wanted in core) for core in excluded)

    def _leave(
        self,
        question: PathQuestion[S],
        node: _Node[S],
        run: _Run[S],
        reachable: Mapping[int, int],
        excluded: list[frozenset[tuple[PathTerm, bool]]],
    ) -> Iterator[_Node[S]]:
        """The nodes behind a block."""
        ways = self.slice.ways(node.block)
        last = self.code[self.flow.blocks[node.block].end - 1]
        guard: PathValue = 1
        holds: bool | None = None
        if any(wanted is not None for _, wanted in ways):
            guard = self.values.guard(last, run.values)
            holds = self.values.terms.truth(guard, run.truth)
        for successor, wanted in ways:
            if successor not in reachable or (wanted is not None and holds is not None and wanted != holds):
                continue
            side = run.fork() if len(ways) > 1 else run
            is_open = wanted is not None and holds is None
            if is_open and not self._assume(side, guard, wanted is True, excluded):
                continue
            if last.does == "switch" and len(ways) > 1:
                is_open = True
            opened = node.open | frozenset(self.slice.exits.get(node.block, ())) if is_open else node.open
            yield self._enter(question, node, side, successor, opened)

    def _enter(
        self, question: PathQuestion[S], node: _Node[S], run: _Run[S], successor: int, opened: frozenset[int]
    ) -> _Node[S]:
        """The node at the start of a block: a loop that went round often enough holds anything."""
        loops = self.slice.flow.loops
        rounds = {head: count for head, count in node.rounds.items() if successor in loops[head]}
        opened = frozenset(head for head in opened if successor in loops[head])
        values, truth, loose = run.values, run.truth, node.loose
        if successor in loops:
            again = node.block in loops[successor]
            count = rounds.get(successor, 0) + (successor in opened) if again else 0
            opened -= {successor}
            if count > _ROUNDS + question.rounds:
                count = _ROUNDS + question.rounds + 1
                loose = True
                anything = {
                    r: self.values.terms.leaf(("loop", successor, r)) for r in self.slice.changed[successor]
                }
                old = {leaf for term in anything.values() for leaf in term.leaves}
                values = {**values, **anything}
                truth = {term: one for term, one in truth.items() if old.isdisjoint(term.leaves)}
            rounds[successor] = count
        return _Node(
            successor,
            run.state,
            values,
            truth,
            rounds,
            opened,
            loose,
            node.depth + 1,
            node,
            tuple(run.events),
            tuple(run.assumed),
        )

    def _forget(self, node: _Node[S], kept: set[PathTerm]) -> None:
        """Drop what no later condition repeats, so that paths which differ in nothing else are one.

        A condition may yet be computed again, or exclude another one. Then a path is found that assumes both,
        and the search begins again and keeps the condition.
        """
        live = self.slice.live.get(node.block, frozenset())
        node.values = {name: value for name, value in node.values.items() if name in live}
        held: set[PathTerm] = set(kept)
        for value in node.values.values():
            if isinstance(value, PathTerm):
                held |= value.conditions
        node.truth = {
            term: holds
            for term, holds in node.truth.items()
            if term in held or any(leaf in live for leaf in unwritten(term))
        }

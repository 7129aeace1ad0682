"""The solver of the checker's dataflow analyses: its order, its answers, and the paths it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxmma.check.ptx.dataflow import Equations, Trail, join_facts, settle, solve_forward, trail_blocks
from ptxmma.check.ptx.flow import Block, Flow
from ptxmma.check.ptx.source import Function

# By fact: the trail to where it was established.
Facts = dict[Any, Trail]


def graph(*successors: Sequence[int]) -> Flow:
    """A control-flow graph of blocks of one statement each."""
    blocks = [Block(number, number + 1, list(after)) for number, after in enumerate(successors)]
    for number, block in enumerate(blocks):
        for after in block.successors:
            blocks[after].predecessors.append(number)
    return Flow(Function("k", "entry", 0), blocks)


#    0
#   / \
#  1   2 <-.
#   \ /    |
#    3 ----'
#    |
#    4        5 (nothing leads to it)
DIAMOND = graph([1, 2], [3], [3], [2, 4], [], [4])


def gathered(flow: Flow, written: Mapping[int, Sequence[int | str]]) -> list[Facts]:
    """By block: the facts that hold at its entry, when blocks only add facts."""

    def leave(number: int, state: Facts) -> Facts:
        state = dict(state)
        for fact in written.get(number, ()):
            state.setdefault(fact, Trail(True, number))
        return state

    return solve_forward(flow, [{} for _ in flow.blocks], leave, join_facts)


def test_settle_visits_the_lowest_rank_first_and_each_node_once_a_wait() -> None:
    visits = []
    asked = {"b": ["a", "c", "c"]}

    def visit(node: str) -> list[str]:
        visits.append(node)
        return asked.pop(node, [])

    settle({"a": 1, "b": 0, "c": 2}, ["c", "b", "a"], visit)
    assert visits == ["b", "a", "c"]


def test_settle_comes_back_to_an_earlier_node() -> None:
    visits = []
    asked = {2: [0]}

    def visit(node: int) -> list[int]:
        visits.append(node)
        return asked.pop(node, [])

    settle({0: 0, 1: 1, 2: 2}, [0, 1, 2], visit)
    assert visits == [0, 1, 2, 0]


def test_facts_reach_what_the_edges_lead_to() -> None:
    states = gathered(DIAMOND, {1: ["one"], 3: ["three"], 5: ["five"]})
    assert [sorted(state) for state in states] == [
        [],
        [],
        ["one", "three"],
        ["one", "three"],
        ["one", "three"],
        [],
    ]


def test_a_fact_that_is_removed_on_one_of_two_paths_still_arrives() -> None:
    def leave(number: int, state: Facts) -> Facts:
        return {"x": Trail(True, 0)} if number == 0 else {} if number == 1 else dict(state)

    empty: list[Facts] = [{} for _ in DIAMOND.blocks]
    states = solve_forward(DIAMOND, empty, leave, join_facts)
    assert trail_blocks(DIAMOND, states[3]["x"]) == [0, 2, 3]
    assert "x" in states[4]


def test_the_first_block_may_begin_with_facts_that_no_statement_starts() -> None:
    states: list[Facts] = [{} for _ in DIAMOND.blocks]
    states[0]["nothing yet"] = Trail(False, 0)
    solve_forward(DIAMOND, states, lambda _, state: state, join_facts)
    trail = states[4]["nothing yet"]
    assert trail.origin is None
    assert trail_blocks(DIAMOND, trail)[0] == 0


def test_a_trail_that_starts_in_another_fact_keeps_that_one_s_origin() -> None:
    first = Trail(False, 1, Trail(True, 0))
    copied = Trail(False, 3, Trail(True, 1, first))
    assert copied.origin == 0
    assert trail_blocks(DIAMOND, copied) == [0, 1, 3]


def test_a_function_without_statements_has_no_states() -> None:
    assert solve_forward(graph(), [], lambda _, state: state, join_facts) == []


def reached(flow: Flow, number: int) -> set[int]:
    """The blocks that a path of at least one edge leads to."""
    seen, waiting = set(), list(flow.blocks[number].successors)
    while waiting:
        block = waiting.pop()
        if block not in seen:
            seen.add(block)
            waiting += flow.blocks[block].successors
    return seen


@st.composite
def graphs(draw: st.DrawFn) -> Flow:
    count = draw(st.integers(1, 9))
    return graph(*(draw(st.lists(st.integers(0, count - 1), max_size=3, unique=True)) for _ in range(count)))


@given(graphs())
def test_each_block_s_fact_holds_exactly_where_a_path_leads(flow: Flow) -> None:
    states = gathered(flow, {number: [number] for number in range(len(flow.blocks))})
    live = {0} | reached(flow, 0)
    for number in range(len(flow.blocks)):
        assert {b for b, state in enumerate(states) if number in state} == (
            reached(flow, number) if number in live else set()
        )


@given(graphs())
def test_every_trail_is_a_path_of_the_graph(flow: Flow) -> None:
    states = gathered(flow, {number: [number] for number in range(len(flow.blocks))})
    for number, state in enumerate(states):
        for fact, trail in state.items():
            blocks = trail_blocks(flow, trail)
            assert trail.origin == blocks[0] == fact and blocks[-1] == number
            assert all(b in flow.blocks[a].successors for a, b in pairwise(blocks))


def equations(
    sources: Any,
    evaluate: Callable[[Any], Any],
    widen: Callable[[Any, Any, int], Any] = lambda old, new, turn: new,
    close: Callable[[Any], Any] = lambda value: value,
) -> Equations[Any, Any]:
    class Solved(Equations[Any, Any]):
        def _sources(self, name: Any) -> Any:
            return sources[name]

        def _evaluate(self, name: Any) -> Any:
            return evaluate(name)

        def _widen(self, old: Any, new: Any, turn: int) -> Any:
            return widen(old, new, turn)

        def _close(self, value: Any) -> Any:
            return close(value)

    return Solved(0)


SOURCES = st.lists(
    st.tuples(st.lists(st.integers(0, 7), max_size=3), st.integers(0, 5)), min_size=8, max_size=8
)


@given(SOURCES, st.permutations(range(8)))
def test_equations_find_the_least_solution_in_whatever_order_they_are_asked(
    rules: list[tuple[list[int], int]], asked: list[int]
) -> None:
    """Against rounds over all names: value = the largest of its own number and its sources' plus one, at most 20."""

    def right(name: int, values: Any) -> int:
        sources, least = rules[name]
        return min(20, max([least, *(int(values[s]) + 1 for s in sources)]))

    expected = dict.fromkeys(range(8), 0)
    while expected != (better := {name: right(name, expected) for name in expected}):
        expected = better
    solved: Any = equations([sources for sources, _ in rules], lambda name: right(name, solved))
    assert {name: solved[name] for name in asked} == expected


def test_what_grows_for_ever_is_widened() -> None:
    turns = []

    def widen(old: int, new: int, turn: int) -> int:
        turns.append(turn)
        return new if turn <= 5 else 1000

    solved: Any = equations({"i": ["i"]}, lambda name: min(solved[name] + 1, 1000), widen)
    assert solved["i"] == 1000
    assert turns == [1, 2, 3, 4, 5, 6, 7]  # the last one finds that nothing changes


def test_a_value_is_closed_once_it_is_final() -> None:
    solved: Any = equations({"a": ["b"], "b": []}, lambda name: 0, close=lambda value: "nothing known")
    assert solved["a"] == solved["b"] == "nothing known"


def test_a_name_is_evaluated_again_only_when_a_source_changes() -> None:
    evaluated = []

    def evaluate(name: str) -> int:
        evaluated.append(name)
        return {"a": 1, "b": 2}.get(name) or solved["a"] + solved["b"]

    solved: Any = equations({"a": [], "b": [], "sum": ["a", "b", "a"]}, evaluate)
    assert solved["sum"] == 3
    assert sorted(evaluated) == ["a", "b", "sum"]
    assert solved["a"] == 1 and len(evaluated) == 3


def test_a_missing_rank_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        settle({}, ["a"], lambda _: [])

"""The control-flow graph: blocks, edges, post-dominators and loops of hand-made kernels."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxmma.check.ptx.flow import Block, Flow
from ptxmma.check.ptx.source import Function
from ptxmma.check.walks.loops import Loops

IF_ELSE = """
setp.ne.u32 %p1, %r1, 0;
@%p1 bra ELSE;
add.u32 %r2, %r2, 1;
bra END;
ELSE:
add.u32 %r2, %r2, 2;
END:
ret;
"""  # blocks: 0 the test, 1 then, 2 else, 3 the end

LOOP = """
mov.u32 %r1, 0;
L:
add.u32 %r1, %r1, 1;
setp.lt.u32 %p1, %r1, 9;
@%p1 bra L;
ret;
"""  # 0 before, 1 the loop, 2 behind

LEFT_EARLY = """
@%p1 ret;
add.u32 %r2, %r2, 1;
ret;
"""  # 0 the guarded exit, 1 the rest

NESTED = """
OUTER:
add.u32 %r1, %r1, 1;
INNER:
add.u32 %r2, %r2, 1;
@%p1 bra INNER;
@%p2 bra OUTER;
ret;
"""  # 0 the outer head, 1 the inner loop, 2 the outer branch, 3 the end

LAID_OUT_BEFORE = """
bra OUTER;
INNER:
add.u32 %r2, %r2, 1;
HEAD:
@%p1 bra INNER;
@%p2 bra OUTER;
ret;
OUTER:
add.u32 %r1, %r1, 1;
bra HEAD;
"""  # 0 the entry, 1 the inner body, 2 the inner head, 3 the outer branch, 4 the end, 5 the outer head

ENDLESS = """
@%p1 bra OUT;
L:
bra L;
OUT:
ret;
"""  # 0 the test, 1 the endless loop, 2 the end

ABORTED = """
@%p1 bra END;
@%p2 bra END;
trap;
END:
ret;
"""  # 0 and 1 the tests, 2 ends the whole kernel, 3 the end

TABLE = """
T: .branchtargets A, B;
brx.idx %r1, T;
A: add.u32 %r2, %r2, 1;
B: ret;
"""  # 0 the switch, 1 A, 2 B

UNREACHED = """
bra END;
add.u32 %r2, %r2, 1;
END:
ret;
"""  # 0 the branch, 1 nothing leads here, 2 the end


@pytest.mark.parametrize(
    ("body", "successors"),
    [
        (IF_ELSE, [[2, 1], [3], [3], []]),
        (LOOP, [[1], [1, 2], []]),
        (LEFT_EARLY, [[1], []]),
        (NESTED, [[1], [1, 2], [0, 3], []]),
        (ENDLESS, [[2, 1], [1], []]),
        (TABLE, [[1, 2], [2], []]),
        (UNREACHED, [[2], [2], []]),
        ("", []),
        ("add.u32 %r1, %r1, 1;", [[]]),
    ],
)
def test_successors(kernel: Any, body: str, successors: list[list[int]]) -> None:
    flow = kernel(body).flow
    assert [block.successors for block in flow.blocks] == successors
    predecessors = [[a for a, after in enumerate(successors) if b in after] for b in range(len(successors))]
    assert [sorted(block.predecessors) for block in flow.blocks] == predecessors


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (IF_ELSE, {0: 3, 1: 3, 2: 3, 3: None}),
        (LOOP, {0: 1, 1: 2, 2: None}),
        (LEFT_EARLY, {0: None, 1: None}),
        (NESTED, {0: 1, 1: 2, 2: 3, 3: None}),
        (ENDLESS, {0: 2, 2: None}),
        (ABORTED, {0: 3, 1: 3, 3: None}),
        (TABLE, {0: 2, 1: 2, 2: None}),
        (UNREACHED, {0: 2, 2: None}),
    ],
)
def test_immediate_post_dominators(kernel: Any, body: str, expected: dict[int, int | None]) -> None:
    assert kernel(body).flow.post_dominator == expected


@pytest.mark.parametrize(
    ("body", "loops"),
    [
        (IF_ELSE, {}),
        (LOOP, {1: {1}}),
        (NESTED, {0: {0, 1, 2}, 1: {1}}),
        (LAID_OUT_BEFORE, {5: {1, 2, 3, 5}, 2: {1, 2}}),
        (ENDLESS, {1: {1}}),
    ],
)
def test_loops_by_their_heads(kernel: Any, body: str, loops: dict[int, set[int]]) -> None:
    made = kernel(body)
    assert Loops(made.flow).blocks == loops


def test_a_branch_says_where_it_goes_and_where_it_falls(kernel: Any) -> None:
    test, then, other, end = kernel(IF_ELSE).flow.blocks
    assert (test.branch, test.fall) == (2, 1)
    assert (then.branch, then.fall) == (3, None)
    assert (other.branch, other.fall) == (None, 3)
    assert (end.branch, end.fall, end.leaves) == (None, None, True)


def test_only_what_may_leave_leaves(kernel: Any) -> None:
    assert [block.leaves for block in kernel(LEFT_EARLY).flow.blocks] == [True, True]
    assert [block.leaves for block in kernel(LOOP).flow.blocks] == [False, False, True]


def test_blocks_hold_the_statements_of_the_text(kernel: Any) -> None:
    flow = kernel(IF_ELSE).flow
    assert [(block.start, block.end) for block in flow.blocks] == [(0, 2), (2, 4), (4, 5), (5, 6)]
    assert [flow.block_of(index) for index in range(6)] == [0, 0, 1, 1, 2, 3]


def test_the_order_visits_a_block_after_one_that_leads_to_it(kernel: Any) -> None:
    assert kernel(NESTED).flow.order == [0, 1, 2, 3]
    assert kernel(UNREACHED).flow.order == [0, 2]
    order = kernel(IF_ELSE).flow.order
    assert order[0] == 0 and order[-1] == 3 and sorted(order) == [0, 1, 2, 3]


def test_a_label_of_an_inner_scope_is_not_seen_outside(kernel: Any) -> None:
    made = kernel("{ L: add.u32 %r1, %r1, 1; }\nbra L;\nret;")
    assert [fault.what for fault in made.module.faults] == ["the label L is not declared here"]


def ends(flow: Flow, number: int, without: int | None) -> bool:
    """Whether the function's end can be reached from a block on a path that leaves out another block."""
    seen, waiting = set(), [number]
    while waiting:
        block = waiting.pop()
        if block == without or block in seen:
            continue
        seen.add(block)
        if not flow.blocks[block].successors or flow.blocks[block].leaves:
            return True
        waiting += flow.blocks[block].successors
    return False


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    count = draw(st.integers(1, 8))
    blocks = []
    for number in range(count):
        after = draw(st.lists(st.integers(0, count - 1), max_size=2, unique=True))
        blocks.append(Block(number, number + 1, after, leaves=bool(after) and draw(st.integers(0, 4)) == 0))
    for number, block in enumerate(blocks):
        for successor in block.successors:
            blocks[successor].predecessors.append(number)
    return Flow(Function("k", "entry", 0), blocks)


@given(flows())
def test_post_dominators_are_what_no_path_to_the_end_leaves_out(flow: Flow) -> None:
    found = flow.post_dominator
    for number in flow.order:
        others = {b for b in range(len(flow.blocks)) if b != number and not ends(flow, number, b)}
        if not ends(flow, number, None):
            assert number not in found
            continue
        chain, above = set(), found[number]
        while above is not None:
            chain.add(above)
            above = found[above]
        assert chain == others


@given(flows())
def test_a_loop_is_all_that_leads_back_to_a_head_that_every_path_passes(flow: Flow) -> None:
    """Where a block dominates one that leads to it; other cycles have a head each, too."""
    for head in flow.order:
        ends = [end for end in flow.blocks[head].predecessors if end in flow.order]
        back = [end for end in ends if end == head or end not in flow.reached([0], head)]
        if back and len(back) == len([end for end in ends if end in flow.reached([head], None)]):
            among = {block for block in flow.order if any(end in flow.reached([block], head) for end in back)}
            assert flow.loops[head] == {head, *(b for b in among if b not in flow.reached([0], head))}
    left = {number: set(flow.blocks[number].successors) - {h for h, b in flow.loops.items() if number in b}
            for number in flow.order}  # fmt: skip
    while free := [number for number, after in left.items() if not after & left.keys()]:
        for number in free:
            del left[number]
    assert not left  # no cycle is left without the edges to heads

"""A branch on a predicate that holds one literal goes one way only, as nvcc -G writes it."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.ptx.decode import DecodedFunction
from ptxmma.check.ptx.flow import build_flow
from ptxmma.check.ptx.literal_branches import without_shut_ways
from ptxmma.check.ptx.operation import Operations
from ptxmma.check.ptx.reader import read_module
from ptxmma.spec.api import load

KERNEL = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[2048];
.visible .entry k()
.reqntid 128, 1, 1
{
.reg .pred %p<4>;
.reg .b32 %r<8>;
.reg .f32 %f<4>;
.reg .b64 %d<2>;
mov.u32 %r1, %tid.x;
mov.u32 %r2, tile;
shl.b32 %r3, %r1, 4;
add.u32 %r4, %r2, %r3;
shr.u32 %r5, %r2, 4;
cvt.u64.u32 %d1, %r5;
or.b64 %d1, %d1, 0x4000004000000000;
mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1};
CONDITION
fence.proxy.async.shared::cta;
OVER:
bar.sync 0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d1, %d1, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ret;
}
"""


def found(condition: str) -> set[tuple[str, str]]:
    findings = check_text(KERNEL.replace("CONDITION", condition), "k.ptx").findings
    return {(one.tier, one.rule) for one in findings if one.tier != "info"}


@pytest.mark.parametrize(
    ("condition", "is_fenced"),
    [
        ("mov.pred %p1, 0; @%p1 bra OVER;", True),
        ("mov.pred %p1, 1; @!%p1 bra OVER;", True),
        ("mov.pred %p1, -1; @!%p1 bra OVER;", True),
        ("mov.pred %p1, 1; @%p1 bra OVER;", False),
        ("mov.pred %p1, 0; @!%p1 bra OVER;", False),
    ],
)
def test_a_fence_that_a_literal_decides(condition: str, is_fenced: bool) -> None:
    assert found(condition) == (set() if is_fenced else {("error", "proxy-fence")})


@pytest.mark.parametrize(
    "condition",
    [
        "mov.pred %p1, 0; setp.eq.u32 %p2, %r1, 0; @%p2 mov.pred %p1, 1; @%p1 bra OVER;",
        "setp.eq.u32 %p1, %r1, 0; @%p1 bra OVER;",
    ],
    ids=["a second value", "no literal"],
)
def test_what_threads_decide_is_no_literal(condition: str) -> None:
    """Thread 0 stores, and executes no fence."""
    assert ("error", "proxy-fence") in found(condition)


@pytest.mark.parametrize(
    ("condition", "fence", "over"),
    [
        ("mov.pred %p1, 0; @%p1 bra OVER;", True, False),
        ("mov.pred %p1, 0; @!%p1 bra OVER;", False, True),
        ("setp.eq.u32 %p1, %r1, 0; @%p1 bra OVER;", True, True),
    ],
)
def test_only_open_ways_are_in_the_flow(condition: str, fence: bool, over: bool) -> None:
    """So what a dataflow knows, and no search for paths, is enough."""
    module = read_module(KERNEL.replace("CONDITION", condition), "k.ptx")
    function, operations = module.functions[0], Operations(load().judge(module.version, module.target))
    code = DecodedFunction(function, operations)
    whole = build_flow(function, module, operations)
    flow = without_shut_ways(code, whole)
    (branch,) = [flow.block_of(index) for index in code.doing("jump")]
    ways = {flow.block_of(code.doing("proxy-fence")[0]): fence, flow.block_of(code.doing("meet")[0]): over}
    assert flow.blocks[branch].successors == [
        number for number in whole.blocks[branch].successors if ways[number]
    ]
    assert all((branch in flow.blocks[number].predecessors) is is_open for number, is_open in ways.items())
    assert (flow is whole) is (fence and over)


def test_nobody_comes_behind_a_shut_way() -> None:
    """A product that nobody executes reads nothing."""
    text = KERNEL.replace("CONDITION", "").replace("bar.sync 0;\n", "mov.pred %p3, 1; @%p3 bra END;\n")
    text = text.replace("ret;", "END: ret;")
    assert [one for one in check_text(text, "k.ptx").findings if one.tier != "info"] == []

"""Registers that are written again: where one definition alone reaches a use, its value is known as if it were the
only one; where several may reach it, it is not.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.ptx.decode import DecodedFunction
from ptxmma.check.ptx.flow import build_flow
from ptxmma.check.ptx.operation import Operations
from ptxmma.check.ptx.reader import read_module
from ptxmma.check.ptx.webs import apart, written_name
from ptxmma.spec.api import load

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 n, .param .u64 g)
.reqntid 256, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
mov.u32 %r1,%tid.x; ld.param.u32 %r2,[n];
BODY
ret;
}
"""
FENCE = "wgmma.fence.sync.aligned;"
UNDER = "@%p1 bra X; " + FENCE + " X:"
LANES, ALL = "setp.lt.u32 %p1,%r1,16;", "setp.eq.u32 %p1,%r2,0;"


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        (LANES + UNDER, {"aligned-divergent"}),
        (ALL + "@%p1 bra Y; Y:" + LANES + UNDER, {"aligned-divergent"}),
        (LANES + "@%p1 bra Y; Y:" + ALL + UNDER, set()),
        # Both definitions may reach the branch: either the threads part or they do not.
        (LANES + "setp.eq.u32 %p2,%r2,1; @%p2 bra Y; " + ALL + "Y:" + UNDER, {"aligned-unknown"}),
        (LANES + "setp.eq.u32 %p2,%r2,1; @%p2 " + ALL + UNDER, {"aligned-unknown"}),
        # The second round comes with what the first one computed last.
        (LANES + "Y:" + UNDER + ALL + "setp.eq.u32 %p2,%r2,1; @%p2 bra Y;", {"aligned-unknown"}),
        (LANES + UNDER + "Y:" + ALL + "setp.eq.u32 %p2,%r2,1; @%p2 bra Y;", {"aligned-divergent"}),
        # A definition that reads the register has the value of the one before it.
        ("shr.u32 %r1,%r1,5; setp.eq.u32 %p1,%r1,0;" + UNDER, {"aligned-divergent"}),
        ("shr.u32 %r1,%r1,7; setp.eq.u32 %p1,%r1,0;" + UNDER, set()),
        ("shr.u32 %r1,%r1,5; shr.u32 %r1,%r1,2; setp.eq.u32 %p1,%r1,0;" + UNDER, set()),
        ("Y: shr.u32 %r1,%r1,1; setp.gt.u32 %p1,%r1,0; @%p1 bra Y;" + UNDER, {"aligned-unknown"}),
        # A warp's number through its first lane, by the register that had the thread's.
        (
            "shr.u32 %r1,%r1,5; shfl.sync.idx.b32 %r1,%r1,0,31,-1; setp.ne.u32 %p1,%r1,0;" + UNDER,
            {"aligned-divergent"},
        ),
        (
            "shr.u32 %r1,%r1,7; shfl.sync.idx.b32 %r1,%r1,0,31,-1; setp.ne.u32 %p1,%r1,0;" + UNDER,
            set(),
        ),
        # Each scope has a register of this name.
        (LANES + "{.reg .pred %p1; " + ALL + "@%p1 bra Y; Y: " + ALL + UNDER + "}", set()),
        (ALL + "{.reg .pred %p1; " + ALL + "@%p1 bra Y; Y: " + LANES + UNDER + "}", {"aligned-divergent"}),
    ],
    ids=[
        "once",
        "lanes last",
        "all last",
        "either, by a branch",
        "either, by a guard",
        "either, by a loop",
        "before the loop",
        "of its own: one warp",
        "of its own: a warpgroup",
        "of its own, twice",
        "of its own, in a loop",
        "one warp by a shuffle",
        "a warpgroup by a shuffle",
        "in scopes, all",
        "in scopes, lanes",
    ],
)
def test_a_condition_whose_register_is_written_again(body: str, rules: set[str]) -> None:
    findings = check_text(KERNEL.replace("BODY", body), "k.ptx").findings
    assert {one.rule for one in findings} == rules
    assert all("again" not in one.message for one in findings)


DESCRIPTOR = """
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
"""
RIGHT, WRONG = "mov.b64 %rd1, 0x4000004000000000;", "mov.b64 %rd1, 0x4010004000000000;"


@pytest.mark.parametrize(
    ("first", "second", "lines"),
    [(RIGHT, RIGHT, []), (WRONG, RIGHT, [12]), (RIGHT, WRONG, [17])],
    ids=["right", "the first", "the second"],
)
def test_a_descriptor_whose_register_is_written_again(first: str, second: str, lines: list[int]) -> None:
    body = "mov.b64 %rd2, 0x4000004000000000;" + first + DESCRIPTOR + second + DESCRIPTOR
    findings = check_text(KERNEL.replace("BODY", body), "k.ptx").findings
    assert [one.place.line for one in findings if one.rule == "descriptor-field"] == lines
    assert {one.rule for one in findings} <= {"descriptor-field"}


def test_names() -> None:
    """Each value has one name, in every statement that makes it or reads it."""
    body = """
    mov.u32 %r3,1; mov.u32 %r4,%r3; mov.u32 %r3,%r4; @%p1 mov.u32 %r3,5; st.global.u32 [%rd1],%r3;
    add.u32 %r5,%r5,1; mov.f32 %f0,0f00000000; mov.f32 %f1,%f0; mov.f32 %f2,%f0; mov.f32 %f3,%f0;
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r6,%r7},{%r8},{%f0,%f1,%f2,%f3};
    """
    text = KERNEL.replace("BODY", body)
    module = read_module(text, "k.ptx")
    operations = Operations(load().judge(module.version, module.target))
    function = module.functions[0]
    flow = build_flow(function, module, operations)
    code = DecodedFunction(function, operations)
    renamed = apart(code, flow)
    assert [one.operands for one in renamed if "%r3" in ",".join(map(written_name, one.operands))] == [
        ("%r3", "1"),
        ("%r4", "%r3"),
        ("%r3$again1", "%r4"),
        ("%r3$again1", "5"),
        ("[%rd1]", "%r3$again1"),
    ]
    for one, other in zip(code, renamed, strict=True):
        assert tuple(map(written_name, other.writes)) == one.writes
        assert tuple(map(written_name, other.reads)) == one.reads
        assert other.writes == tuple(
            renamed.function.register(name, one.scope)[0]  # type: ignore[index]
            for name in other.writes
        )
    product = next(one for one in renamed if one.operation.instruction is not None)
    assert product.operands[0] == "{%f0$again1,%f1$again1,%f2$again1,%f3$again1}"
    assert product.operands[-1] == "{%f0,%f1,%f2,%f3}"
    once = "mov.u32 %r3,1; mov.u32 %r4,%r3;"
    module = read_module(KERNEL.replace("BODY", once), "k.ptx")
    flow = build_flow(module.functions[0], module, operations)
    code = DecodedFunction(module.functions[0], operations)
    assert apart(code, flow) is code

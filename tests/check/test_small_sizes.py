"""A kernel that ends at once where a size is greater than it takes is judged with a smaller one: what is found
then is likely, since nobody says that a host passes it. Where that helps nothing, the barriers are not judged.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import FileReport, check_text
from ptxmma.check.execution.execution import Execution

HEAD = """
.version 8.7
.target {target}
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u32 n, .param .u64 in)
.reqntid 128, 1, 1
{{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.ne.u32 %p1,%r1,0; ld.param.u32 %r3,[n]; ld.param.u64 %rd1,[in];
setp.{guard} %p2,%r3,{most}; @%p2 bra E;
"""
PHASES = """
@!%p1 mbarrier.init.shared::cta.b64 [%r2],COUNT;
bar.sync 0;
mbarrier.arrive.shared::cta.b64 _,[%r2];
W: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2],0; @!%p3 bra W;
E: ret;
}
"""
COPIES = """
mad.lo.u32 %r4,%r1,16,%r2; mad.wide.u32 %rd2,%r1,16,%rd1;
cp.async.cg.shared.global [%r4],[%rd2],16;
cp.async.commit_group;
cp.async.wait_group 0;
BETWEEN
xor.b32 %r5,%r1,64; mad.lo.u32 %r6,%r5,16,%r2;
ld.shared.u32 %r7,[%r6];
st.global.u32 [%rd2],%r7;
E: ret;
}
"""
STORES = """
shr.u32 %r5,%r1,5; setp.ne.u32 %p3,%r5,0; add.u32 %r7,%r2,64;
@%p3 bra A;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2],256;
setp.eq.s32 %p4,%r1,0;
@%p4 mbarrier.init.shared::cta.b64 [%r7],1;
A: bar.sync 0;
ld.shared.b32 %r4,[%r2];
shl.b32 %r6,%r5,21; add.u32 %r6,%r4,%r6;
tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6],{%r1};
BETWEEN
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r8},[%r6];
tcgen05.wait::ld.sync.aligned;
bar.sync 0;
@%p3 bra E;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4,256;
E: ret;
}
"""


def report(body: str, guard: str = "gt.s32", most: int = 8, target: str = "sm_90a") -> FileReport:
    return check_text(HEAD.format(guard=guard, most=most, target=target) + body, "k.ptx")


def loud(found: FileReport) -> list[tuple[str, str]]:
    return [(one.tier, one.rule) for one in found.findings if one.tier in ("error", "likely")]


@pytest.mark.parametrize(
    ("guard", "most"), [("gt.s32", 8), ("ge.u32", 1000), ("ge.s32", 2)], ids=["9", "1000", "2"]
)
@pytest.mark.parametrize(("count", "faults"), [(128, []), (129, [("likely", "barrier-stuck")])])
def test_the_phases_of_a_kernel_for_small_sizes(
    guard: str, most: int, count: int, faults: list[tuple[str, str]]
) -> None:
    found = report(PHASES.replace("COUNT", str(count)), guard, most)
    assert loud(found) == faults
    assert not found.not_judged


@pytest.mark.parametrize("count", [128, 129])
def test_a_kernel_for_one_size_is_not_judged(count: int) -> None:
    """It takes 77, and nothing else: no number that is tried leads there."""
    found = report(PHASES.replace("COUNT", str(count)), "ne.s32", 77)
    assert not loud(found)
    (one,) = found.not_judged
    assert one.instruction == "barriers of k" and "no thread comes here" in one.why


@pytest.mark.parametrize(
    ("between", "faults"), [("bar.sync 0;", []), ("", [("error", "shared-unsynchronised")])]
)
def test_the_copies_of_a_kernel_for_small_sizes(between: str, faults: list[tuple[str, str]]) -> None:
    """A walk of some threads takes both ways at a branch."""
    assert loud(report(COPIES.replace("BETWEEN", between))) == faults


@pytest.mark.parametrize(
    ("between", "faults"),
    [("tcgen05.wait::st.sync.aligned;", []), ("", [("likely", "tensor-store-pending")])],
)
def test_the_tensor_memory_of_a_kernel_for_small_sizes(between: str, faults: list[tuple[str, str]]) -> None:
    assert loud(report(STORES.replace("BETWEEN", between), target="sm_100a")) == faults


@pytest.mark.parametrize("body", [PHASES.replace("COUNT", "128"), COPIES], ids=["phases", "accesses"])
@pytest.mark.parametrize(("way", "tried"), [("@%p2 bra E;", [1024, 8, 4, 3, 5, 2, 1]), ("bra E;", [1024])])
def test_other_numbers_are_tried_only_where_numbers_decide(
    body: str, way: str, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    executed: list[int] = []
    run = Execution._run

    def noted(execution: Execution) -> None:
        executed.append(execution.sizes.most)
        run(execution)

    monkeypatch.setattr(Execution, "_run", noted)
    head = HEAD.format(guard="gt.s32", most=0, target="sm_90a")
    check_text(head.replace("@%p2 bra E;", way) + body, "k.ptx")
    assert executed == tried

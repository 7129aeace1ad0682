"""A cp.async more of what the same thread copies already, from and to the same addresses, changes nothing, as
QServe's kernels do it; one of something else leaves open which of the two the bytes hold (9.7.9.25.3.1). So it is with
bulk copies; but where a parameter says how many of them one phase tells of, the host says one, as in hpc-ops.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("check/execution/copy_accesses.py", "check/execution/shared_accesses.py")
KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<2>; .reg .pred %p<4>;
.shared .align 16 .b8 buf[2048];
ld.param.u64 %d1,[in]; ld.param.u64 %d2,[out]; ld.param.u32 %r6,[n];
mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,4; mov.u32 %r3,buf; add.u32 %r4,%r3,%r2;
mul.wide.u32 %d3,%r1,16; add.s64 %d4,%d1,%d3; setp.lt.u32 %p2,%r1,%r6;
mov.u32 %r5,0;
COPIES
cp.async.commit_group;
cp.async.wait_group 0;
bar.sync 0;
ld.shared.f32 %f1,[buf];
st.global.f32 [%d2],%f1;
ret;
}
"""
ONE = "cp.async.cg.shared.global [%r4],[%d4],16;\n"
LATER = "add.s64 %d5,%d4,16;\ncp.async.cg.shared.global [%r4],[%d5],16;\n"
MOVED = "add.s64 %d4,%d4,16;\ncp.async.cg.shared.global [%r4],[%d4],16;\n"
PADDED = "cp.async.cg.shared.global [%r4],[%d4],16,8;\n"
ROUND = "mul.wide.u32 %d5,%r5,16; add.s64 %d6,%d4,%d5;\n"
OF_ROUND = "cp.async.cg.shared.global [%r4],[%d6],16;\n"
AGAIN = "add.u32 %r5,%r5,1; setp.lt.u32 %p1,%r5,4; @%p1 bra L;\n"
DONE = "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"


@pytest.mark.parametrize(
    ("copies", "wrong"),
    [
        (ONE, False),
        (ONE + ONE, False),
        (f"{ONE}@%p2 {ONE}", False),
        (f"{ONE}add.u32 %r4,%r4,0;\n{ONE}", False),  # to the same address, however it is made
        (ONE + LATER, True),
        (ONE + MOVED, True),
        (ONE + ONE.replace("%d4]", "%d4+16]"), True),
        (ONE + PADDED, True),  # zeros behind the first 8 bytes
        (f"L: {ROUND}{OF_ROUND}{OF_ROUND}{DONE}{AGAIN}", False),
        (f"L: {ROUND}{OF_ROUND}{AGAIN}", True),  # each round another tile
        (f"L: {ROUND}{OF_ROUND}{OF_ROUND}cp.async.commit_group;\n{AGAIN}", True),
    ],
    ids=["once", "twice", "guarded", "place", "other", "moved", "offset", "zeros", "round", "rounds", "both"],
)
def test_a_copy_into_bytes_that_a_copy_writes(copies: str, wrong: bool) -> None:
    report = check_text(KERNEL.replace("COPIES\n", copies), "k.ptx")
    assert not report.faults
    found = {one.rule for one in report.findings if one.tier in ("error", "likely")}
    assert found == ({"copy-incomplete"} if wrong else set())


def test_both_copies_are_waited_for() -> None:
    text = KERNEL.replace("COPIES\n", ONE + ONE).replace("cp.async.wait_group 0;\n", "")
    assert {one.rule for one in check_text(text, "k.ptx").findings} == {"copy-incomplete"}


BULK_KERNEL = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<2>; .reg .pred %p<4>;
.shared .align 128 .b8 buf[2048];
.shared .align 8 .b8 full[8];
ld.param.u64 %d2,[out]; ld.param.u32 %r6,[n]; mov.b64 %d1,map; cvta.param.u64 %d1,%d1;
mov.u32 %r1,%tid.x; setp.ne.u32 %p0,%r1,0; mov.u32 %r5,0;
@!%p0 mbarrier.init.shared::cta.b64 [full],1;
bar.sync 0;
@%p0 bra D;
COPIES
D:
mbarrier.try_wait.parity.shared::cta.b64 %p1,[full],LAST;
@!%p1 bra D;
ld.shared.f32 %f1,[buf];
st.global.f32 [%d2],%f1;
ret;
}
"""
BULK = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [buf], [%d1,{%r5,%r5}], [full];\n"
OTHER = "add.s64 %d3,%d1,64;\n" + BULK.replace("%d1", "%d3")
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _,[full],2048;\n"
WAIT = "and.b32 %r2,%r5,1;\nW:\nmbarrier.try_wait.parity.shared::cta.b64 %p2,[full],%r2;\n@!%p2 bra W;\n"
OF_HOST = "add.u32 %r5,%r5,1; setp.lt.u32 %p1,%r5,%r6; @%p1 bra L;\n"


@pytest.mark.parametrize(
    ("copies", "wrong"),
    [
        (f"L: {BULK}{OF_HOST}{EXPECT}", False),  # the phase gets the bytes of one copy: so many there are
        (f"{EXPECT}L: {BULK}{OF_HOST}", False),
        (f"L: {BULK}{AGAIN}{EXPECT}", True),  # four
        (f"{EXPECT}{BULK}{BULK}", True),
        (f"L: {BULK}{OTHER}{OF_HOST}{EXPECT}", True),  # of two tensors
        (f"L: {EXPECT}{BULK}{OF_HOST}", True),  # each round has a phase of its own, for which nobody waits
        (f"L: {EXPECT}{BULK}{AGAIN}", True),
    ],
    ids=["one-phase", "expected-before", "four-rounds", "two", "tensors", "phases", "four-phases"],
)
def test_a_bulk_copy_into_bytes_that_one_writes(copies: str, wrong: bool) -> None:
    report = check_text(BULK_KERNEL.replace("COPIES\n", copies).replace("LAST", "0"), "k.ptx")
    assert not report.faults
    found = {one.rule for one in report.findings if one.tier in ("error", "likely")}
    assert ("copy-incomplete" in found) == wrong and (wrong or not found)
    told = [one.message for one in report.findings if one.rule == "copy-incomplete"]
    assert wrong or "right only if a parameter asks for one of them" in told[0]

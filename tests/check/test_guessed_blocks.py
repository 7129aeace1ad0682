"""Barriers with phases of kernels that do not say how many threads a block has."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .test_phases import ELECTED, RING, tiers


def unsized(text: str) -> str:
    """The kernel without .reqntid."""
    return "".join(line for line in text.splitlines(True) if not line.startswith(".reqntid"))


@pytest.mark.parametrize("kernel", [RING, ELECTED])
def test_a_usual_number_of_threads_clears_a_right_kernel(kernel: str) -> None:
    assert tiers(unsized(kernel)) == set()


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("b64 [%r30],1;", "b64 [%r30],2;", "barrier-stuck"),
        ("mbarrier.init.shared::cta.b64 [%r31],128;\n", "", "barrier-uninitialised"),
        ("xor.b32 %r14,%r12,1;", "mov.b32 %r14,%r12;", "barrier-stuck"),
    ],
)
def test_what_every_number_of_threads_leaves_is_likely(old: str, new: str, rule: str) -> None:
    text = unsized(RING)
    assert text.count(old) == 1
    found = check_text(text.replace(old, new), "k.ptx").findings
    assert (rule, "likely") in {(one.rule, one.tier) for one in found}
    assert all("no usual number of threads" in one.message for one in found if one.tier == "likely")


# Two warps start copies, or do nothing, and eight release the stage: a block of 320 threads is right.
TEN_WARPS = """.version 8.5
.target sm_90a
.address_size 64
.shared .align 1024 .b8 smem[65536];
.visible .entry k(.param .u64 out, .param .u32 n)
{
.reg .b32 %r<64>; .reg .b64 %rd<4>; .reg .pred %p<16>;
mov.u32 %r1, %tid.x; mov.u32 %r2, smem; ld.param.u32 %r3, [n]; ld.param.u64 %rd1, [out];
cvta.to.global.u64 %rd1, %rd1;
and.b32 %r4, %r1, 31; shr.u32 %r5, %r1, 5; shl.b32 %r6, %r1, 2; add.u32 %r7, %r2, %r6;
setp.ne.u32 %p9,%r1,0; @%p9 bra I;
mbarrier.init.shared::cta.b64 [%r2+40000],1; mbarrier.init.shared::cta.b64 [%r2+41000],8;
fence.mbarrier_init.release.cluster;
I: barrier.cluster.arrive; barrier.cluster.wait;
mov.u32 %r50,%r1; setp.lt.u32 %p1,%r1,64; sub.u32 %r51,%r1,64;
@%p1 bra PROD;
bra CONS;
PROD:
setp.ne.u32 %p2,%r50,0; @%p2 bra END;
mov.u32 %r20,0; mov.u32 %r21,0; mov.u32 %r22,1;
setp.eq.u32 %p6,%r3,0; @%p6 bra END;
PL: shl.b32 %r24,%r21,3; add.u32 %r24,%r2,%r24; shl.b32 %r25,%r21,11; add.u32 %r25,%r2,%r25;
PW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r24+41000],%r22; @!%p3 bra PW;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r24+40000],2048;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r25],[%rd1],2048,[%r24+40000];
add.u32 %r20,%r20,1; add.u32 %r21,%r21,1; setp.eq.u32 %p5,%r21,1; @%p5 mov.u32 %r21,0; @%p5 xor.b32 %r22,%r22,1;
setp.lt.u32 %p7,%r20,%r3; @%p7 bra PL;
bra END;
CONS:
mov.u32 %r20,0; mov.u32 %r21,0; mov.u32 %r22,0;
setp.eq.u32 %p6,%r3,0; @%p6 bra END;
CL: shl.b32 %r24,%r21,3; add.u32 %r24,%r2,%r24; shl.b32 %r25,%r21,11; add.u32 %r25,%r2,%r25;
CW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r24+40000],%r22; @!%p3 bra CW;
and.b32 %r28,%r51,127; shl.b32 %r28,%r28,4; add.u32 %r28,%r25,%r28; ld.shared.v4.b32 {%r30,%r31,%r32,%r33},[%r28];
fence.proxy.async.shared::cta;
bar.warp.sync -1; setp.eq.u32 %p4,%r4,0; @%p4 mbarrier.arrive.shared::cta.b64 _,[%r24+41000];
add.u32 %r20,%r20,1; add.u32 %r21,%r21,1; setp.eq.u32 %p5,%r21,1; @%p5 mov.u32 %r21,0; @%p5 xor.b32 %r22,%r22,1;
setp.lt.u32 %p7,%r20,%r3; @%p7 bra CL;
END:
ret;
}
"""


def test_a_block_of_no_usual_size() -> None:
    assert tiers(TEN_WARPS) == set()
    expects = "[%r24+40000],2048;"
    assert expects in TEN_WARPS
    assert ("likely", "barrier-stuck") in tiers(TEN_WARPS.replace(expects, "[%r24+40000],4096;", 1))


# A warpgroup waits for 32 arrivals of a fifth warp, and multiplies under conditions that a parameter decides.
SKIPPED = """.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u32 n)
{
.reg .f32 %f<8>; .reg .b64 %d<16>; .reg .pred %p<16>; .reg .b32 %r<16>;
ld.param.u64 %d2, [in]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, smem;
shr.u32 %r3, %r2, 4; and.b32 %r3, %r3, 16383; cvt.u64.u32 %d3, %r3; or.b64 %d0, %d3, 0x4000004000010000;
add.s64 %d1, %d0, 1024;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra NI;
mbarrier.init.shared::cta.b64 [smem+65536], 32;
NI:
bar.sync 0;
setp.lt.u32 %p2, %r1, 128;
@%p2 bra C;
mbarrier.arrive.shared::cta.b64 _, [smem+65536];
bra E;
C:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [smem+65536], 0;
@!%p5 bra C;
setp.gt.u32 %p6, %r0, 4;
@%p6 bra E;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d1, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
E:
ret;
}
"""


def test_a_number_of_threads_that_comes_further_and_is_right() -> None:
    """A parameter skips the product with every number; with 160 threads everything else is right."""
    assert tiers(SKIPPED) == set()
    assert tiers(SKIPPED.replace("[smem+65536], 32", "[smem+65536], 700")) == {("likely", "barrier-stuck")}


def test_what_the_readings_decide_is_told_for_a_guessed_block_too() -> None:
    """One thread refills a stage behind its own warp's wait; with a barrier it is right under all readings."""
    released = "bar.sync 1,128;\nsetp.eq.u32 %p8,%r1,0;"
    text = unsized(ELECTED)
    assert text.count(released) == 1
    assert tiers(text.replace(released, "setp.eq.u32 %p8,%r1,0;")) == {("reading", "shared-overwritten")}


ONE_WARP = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<4>;
.shared .align 8 .b8 bar[8];
.shared .align 16 .b8 buf[4096];
ld.param.u64 %d0,[out];
mov.u32 %r1,%tid.x; mov.u32 %r2,bar; mov.u32 %r3,buf; setp.ne.u32 %p1,%r1,0; mov.u32 %r9,%ntid.x;
shl.b32 %r4,%r1,2; add.u32 %r5,%r3,%r4;
ACT
ret;
}
"""
PHASES = """@!%p1 mbarrier.init.shared::cta.b64 [%r2],%r9;
BARRIER
mbarrier.arrive.shared::cta.b64 %d1,[%r2];
L: mbarrier.try_wait.shared::cta.b64 %p2,[%r2],%d1; @!%p2 bra L;"""
STORE = """st.shared.u32 [%r5],%r1;
fence.proxy.async.shared::cta;
BARRIER
@%p1 bra E;
cp.async.bulk.global.shared::cta.bulk_group [%d0],[%r3],512;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
E:"""


@pytest.mark.parametrize("act", [PHASES, STORE], ids=["phases", "stores"])
def test_what_only_one_warp_does_rightly_is_said_not_to_be_judged(act: str) -> None:
    """Where only warps meet, threads of others come too early; nothing says that a block has such."""
    text = ONE_WARP.replace("ACT", act)
    right = check_text(text.replace("BARRIER", "bar.sync 0;"), "k.ptx")
    assert (right.findings, right.not_judged) == ((), ())
    wrong = check_text(text.replace("BARRIER", "bar.warp.sync -1;"), "k.ptx")
    assert not [one for one in wrong.findings if one.tier in ("error", "likely")]
    assert ["only a block of at most one warp does right" in one.why for one in wrong.not_judged] == [True]
    for threads, judged in ((32, False), (128, True)):
        sized = text.replace("BARRIER", "bar.warp.sync -1;")
        sized = sized.replace("\n{\n", f"\n.reqntid {threads}, 1, 1\n{{\n", 1)
        report = check_text(sized, "k.ptx")
        assert any(one.tier == "error" for one in report.findings) == judged
        assert report.not_judged == ()


# Nothing says how many threads a block has: what each of them does says how many are meant.
FEW = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred p, q; .reg .b32 m, s, t, v; .reg .b64 d, o, st;
.shared .align 8 .b64 bar; .shared .align 128 .b8 tile[1024];
ld.param.u64 d,[in]; ld.param.u64 o,[out]; mov.u32 m,bar; mov.u32 s,tile;
BODY
ret;
}
"""
MAKES = "mbarrier.init.shared::cta.b64 [m],1; fence.mbarrier_init.release.cluster;\n"
COPIES = (
    "mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],1024;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s],[d],1024,[m];\n"
)
WAITS = "W: mbarrier.try_wait.parity.shared::cta.b64 q,[m],0; @!q bra W;\n"
LOADS = "ld.shared.u32 v,[s]; st.global.u32 [o],v;\n"
TWO = "mov.u32 t,%tid.x; setp.ne.u32 p,t,0;\n@!p mbarrier.init.shared::cta.b64 [m],COUNT;\nBARRIER\n"
MEET = (
    "mad.lo.u32 s,t,4,s; st.shared.u32 [s],t;\nmbarrier.arrive.shared::cta.b64 st,[m];\n"
    "W: mbarrier.try_wait.shared::cta.b64 q,[m],st; @!q bra W;\n"
    "xor.b32 v,t,1; mov.u32 s,tile; mad.lo.u32 s,v,4,s; ld.shared.u32 v,[s]; st.global.u32 [o],v;\n"
)
PAIR = TWO.replace("BARRIER", "bar.sync 0;") + MEET


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(MAKES + COPIES + WAITS + LOADS, id="one thread copies and waits"),
        pytest.param(PAIR.replace("COUNT", "2"), id="two threads exchange"),
    ],
)
def test_a_block_may_have_a_few_threads(body: str) -> None:
    report = check_text(FEW.replace("BODY", body), "k.ptx")
    assert not [one for one in report.findings if one.tier in ("error", "likely")]
    assert ["only a block of at most one warp does right" in one.why for one in report.not_judged] == [True]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        pytest.param(MAKES + COPIES + LOADS, "copy-incomplete", id="one thread does not wait"),
        pytest.param(MAKES + COPIES + COPIES + WAITS + LOADS, "copy-incomplete", id="it copies twice"),
        pytest.param(
            TWO.replace("BARRIER", "bar.sync 0;").replace("COUNT", "1") + COPIES + WAITS + LOADS,
            "copy-incomplete",
            id="all copy, and there are several",
        ),
        pytest.param(
            MAKES + "bar.sync 0;\n" + COPIES + WAITS + LOADS, "copy-incomplete", id="several meet before"
        ),
        pytest.param(PAIR.replace("COUNT", "0"), "barrier-count", id="no thread is counted"),
    ],
)
def test_what_a_few_threads_do_wrongly(body: str, rule: str) -> None:
    found = check_text(FEW.replace("BODY", body), "k.ptx").findings
    assert rule in {one.rule for one in found if one.tier in ("error", "likely")}


LOST = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<4>;
.shared .align 8 .b8 bar[8];
ld.param.u64 %d0,[in];
mov.u32 %r1,%tid.x; mov.u32 %r2,bar; setp.ne.u32 %p1,%r1,0; mov.u32 %r9,%ntid.x;
@!%p1 mbarrier.init.shared::cta.b64 [%r2],%r9;
bar.sync 0;
ld.global.u32 %r3,[%d0]; setp.ne.u32 %p3,%r3,0;
@%p3 bra E;
mbarrier.arrive.shared::cta.b64 %d1,[%r2];
E:
mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],0; @!%p2 bra E;
ret;
}
"""


def test_threads_that_are_lost_are_told_of_without_a_number_of_threads_too() -> None:
    """Memory decides who arrives: with and without .reqntid nobody knows what the phases order."""
    sized, guessed = (check_text(text, "k.ptx").not_judged for text in (LOST, unsized(LOST)))
    assert ["what decides which way threads go here" in one.why for one in sized] == [True]
    assert [one.why for one in guessed] == [one.why for one in sized]

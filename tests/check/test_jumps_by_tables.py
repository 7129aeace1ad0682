"""Roles of warps that a table of branch targets hands out (brx.idx, 9.7.12.3): each warp is followed to its own, by a
number that it computes, or that the block has stored in shared memory. What must be found was written down before the
checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

# Warp 4 fills two stages in turn, warps 0 to 3 multiply, warp 5 does nothing.
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u32 n)
.reqntid 192, 1, 1
{
.reg .b64 %d<8>; .reg .f32 %f<8>; .reg .pred %p<12>; .reg .b32 %r<48>;
ld.param.u64 %d3,[in]; ld.param.u32 %r0,[n];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; shr.u32 %r4,%r1,5; add.u32 %r30,%r2,65536; add.u32 %r31,%r2,65600;
setp.ne.u32 %p5,%r1,0; @%p5 bra READY;
mbarrier.init.shared::cta.b64 [%r30],1; mbarrier.init.shared::cta.b64 [%r30+8],1;
mbarrier.init.shared::cta.b64 [%r30+16],128; mbarrier.init.shared::cta.b64 [%r30+24],128;
st.shared.v2.b32 [%r31],{0,FOURTH};
READY: bar.sync 0;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
mov.u32 %r12,0;
T: .branchtargets MULTIPLY, FILL, END;
ROLE
brx.idx %r5,T;
FILL:
and.b32 %r6,%r1,31; setp.ne.u32 %p6,%r6,0; @%p6 bra END;
F: and.b32 %r10,%r12,1; shr.u32 %r11,%r12,1; and.b32 %r11,%r11,1; shl.b32 %r13,%r10,3; add.u32 %r14,%r30,%r13;
xor.b32 %r15,%r11,1;
PW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r14+16],%r15; @!%p3 bra PW;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r14],16384;
shl.b32 %r18,%r10,14; add.u32 %r18,%r2,%r18;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r18],[%d3],16384,[%r14];
add.u32 %r12,%r12,1; setp.lt.u32 %p9,%r12,%r0; @%p9 bra F;
bra END;
MULTIPLY:
M: and.b32 %r10,%r12,1; shr.u32 %r11,%r12,1; and.b32 %r11,%r11,1; shl.b32 %r13,%r10,3; add.u32 %r14,%r30,%r13;
CW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r14],%r11; @!%p3 bra CW;
shl.b32 %r18,%r10,14; add.u32 %r18,%r2,%r18; shr.u32 %r21,%r18,4; and.b32 %r21,%r21,16383; cvt.u64.u32 %d0,%r21;
or.b64 %d0,%d0,0x4000004000000000; add.u64 %d1,%d0,512;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
mbarrier.arrive.shared::cta.b64 _,[%r14+16];
add.u32 %r12,%r12,1; setp.lt.u32 %p9,%r12,%r0; @%p9 bra M;
END: ret;
}
"""
ROLES = {
    "by the warp": "shr.u32 %r5,%r1,7; setp.eq.u32 %p7,%r4,5; selp.b32 %r5,2,%r5,%p7;",
    "by a byte that was stored": "add.u32 %r7,%r31,%r4; ld.shared.b8 %r5,[%r7];",
}


def rules(text: str) -> set[str]:
    return {one.rule for one in check_text(text, "k.ptx").findings if one.tier in ("error", "likely")}


@pytest.fixture(params=[*ROLES.values()], ids=[*ROLES])
def kernel(request: pytest.FixtureRequest) -> str:
    return KERNEL.replace("ROLE", request.param).replace("FOURTH", str(1 | 2 << 8))


def test_each_warp_goes_to_its_role(kernel: str) -> None:
    report = check_text(kernel, "k.ptx")
    assert rules(kernel) == set()
    assert not report.not_judged


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("mbarrier.arrive.shared::cta.b64 _,[%r14+16];", "", "barrier-stuck"),
        ("[%r30+16],128", "[%r30+16],129", "barrier-stuck"),
        ("_,[%r14],16384", "_,[%r14],8192", "barrier-stuck"),
        ("PW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r14+16],%r15; @!%p3 bra PW;", "", "copy-incomplete"),
        ("CW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r14],%r11; @!%p3 bra CW;", "", "copy-incomplete"),
    ],
    ids=["no release", "a count", "bytes", "no wait for the release", "no wait for the copy"],
)  # fmt: skip
def test_what_is_wrong_in_a_role_is_found(kernel: str, old: str, new: str, found: str) -> None:
    assert old in kernel
    assert found in rules(kernel.replace(old, new))


def test_a_number_beyond_the_table_is_not_followed(kernel: str) -> None:
    assert rules(kernel.replace("MULTIPLY, FILL, END;", "MULTIPLY, FILL;")) == set()

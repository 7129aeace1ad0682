"""`.maxntid` is the most threads that a block may have (11.4.2): some kernels round it up. Where a barrier names whole
warpgroups, and one warp works for them, what only a further warp does wrong is not found, but said not to be judged.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml", "check/rules.yaml")
# Four warps read a slot that the first lane of another warp writes again, which reads it before.
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 smem[];
.visible .entry k(.param .u64 to, .param .u32 rounds)
.maxntid 192, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
ld.param.u64 %rd1,[to];
ld.param.u32 %r9,[rounds];
mov.u32 %r1,%tid.x;
mov.u32 %r2,smem;
setp.ne.u32 %p1,%r1,0;
@%p1 bra MADE;
mbarrier.init.shared::cta.b64 [%r2],1;
mbarrier.init.shared::cta.b64 [%r2+8],4;
MADE:
bar.sync 0;
mov.u32 %r5,0;
mov.u32 %r6,1;
setp.ge.u32 %p2,%r1,128;
@%p2 bra WRITER;
READ:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2],%r5;
@!%p3 bra READ;
xor.b32 %r5,%r5,1;
ld.shared.u32 %r7,[%r2+16];
st.global.u32 [%rd1],%r7;
WARP
and.b32 %r8,%r1,31;
setp.ne.u32 %p4,%r8,0;
@%p4 bra DONE;
mbarrier.arrive.shared::cta.b64 _,[%r2+8];
DONE:
add.u32 %r6,%r6,1;
setp.le.u32 %p5,%r6,%r9;
@%p5 bra READ;
bra END;
WRITER:
setp.ne.u32 %p6,%r1,128;
@%p6 bra NEXT;
st.shared.u32 [%r2+16],%r6;
mbarrier.arrive.shared::cta.b64 _,[%r2];
NEXT:
setp.ge.u32 %p5,%r6,%r9;
@%p5 bra END;
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+8],%r5;
@!%p3 bra WAIT;
xor.b32 %r5,%r5,1;
ld.shared.u32 %r7,[%r2+16];
setp.gt.u32 %p7,%r1,143;
@!%p7 st.global.u32 [%rd1+4],%r7;
bar.warp.sync -1;
add.u32 %r6,%r6,1;
@%p6 bra NEXT;
st.shared.u32 [%r2+16],%r6;
mbarrier.arrive.shared::cta.b64 _,[%r2];
bra NEXT;
END:
ret;
}
"""
WARP = "bar.warp.sync -1;"
RACE = {"shared-unsynchronised"}


@pytest.mark.parametrize(
    ("block", "warp", "found", "told"),
    [
        (".maxntid 192, 1, 1", WARP, set(), 160),
        (".maxntid 256, 1, 1", WARP, set(), 160),
        (".maxntid 160, 1, 1", WARP, set(), None),
        (".reqntid 160, 1, 1", WARP, set(), None),
        (".reqntid 192, 1, 1", WARP, RACE, None),  # every block has the warp that reads late
        (".maxntid 512, 1, 1", WARP, RACE, None),  # nobody rounds that far
    ],
    ids=["192", "256", "160", "160 for sure", "192 for sure", "512"],
)
def test_a_warp_that_no_block_has(block: str, warp: str, found: set[str], told: int | None) -> None:
    checked = check_text(KERNEL.replace(".maxntid 192, 1, 1", block).replace("WARP\n", f"{warp}\n"), "k.ptx")
    assert {one.rule for one in checked.findings} == found
    why = f".maxntid allows more than {told} threads"
    assert any(one.why.startswith(why) for one in checked.not_judged) is (told is not None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+8],%r5;\n@!%p3 bra WAIT;\n", ""),
        ("mbarrier.init.shared::cta.b64 [%r2+8],4;", "mbarrier.init.shared::cta.b64 [%r2+8],1;"),
    ],
    ids=["the writer does not wait", "it waits for one warp of four"],
)
def test_what_fewer_threads_do_wrong_is_found(old: str, new: str) -> None:
    assert old in KERNEL
    text = KERNEL.replace("WARP\n", f"{WARP}\n").replace(old, new)
    assert {one.rule for one in check_text(text, "k.ptx").findings} >= RACE

"""What a walk of a block does with numbers that it does not know (9.7.15.4).

A comparison with the smaller of a number and something unknown may be decided nevertheless: then no thread takes
the other way. Numbers by which a kernel divides by zero (9.7.1.9) are none that it is launched with.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml", "check/rules.yaml")
# A stage has 16 rows of 64 bytes, and what memory says how many rows there are. Stage 1 comes first.
ROWS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 from, .param .u64 sizes, .param .u64 to)
.maxntid 128, 1, 1
{
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<5>;
.shared .align 16 .b8 tile[4096];
ld.param.u64 %rd1, [from];
ld.param.u64 %rd2, [sizes];
ld.param.u64 %rd3, [to];
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 2;
ld.global.u32 %r3, [%rd2];
BOUND;
shl.b32 %r5, %r1, 4;
mov.u32 %r6, tile;
add.s32 %r7, %r6, %r5;
cvt.u64.u32 %rd4, %r5;
add.s64 %rd5, %rd1, %rd4;
TEST;
@%p1 bra SECOND;
cp.async.cg.shared.global [%r7+1024], [%rd5], 16;
SECOND:
cp.async.commit_group;
@%p1 bra READ;
cp.async.cg.shared.global [%r7], [%rd5+1024], 16;
READ:
cp.async.commit_group;
cp.async.wait_group LEFT;
bar.sync 0;
and.b32 %r8, %r5, 1008;
add.s32 %r9, %r6, %r8;
ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r9+1024];
add.s64 %rd6, %rd3, %rd4;
st.global.v4.u32 [%rd6], {%r10, %r11, %r12, %r13};
ret;
}
"""
AT_MOST_16 = "min.s32 %r4, %r3, 16"
PASSES_BY = "setp.ge.s32 %p1, %r2, %r4"


@pytest.mark.parametrize(
    ("bound", "test", "left", "found"),
    [
        (AT_MOST_16, PASSES_BY, 1, set()),
        ("min.u32 %r4, 16, %r3", "setp.le.u32 %p1, %r4, %r2", 1, set()),
        ("min.u32 %r4, 16, %r3", "setp.hs.u32 %p1, %r2, %r4", 1, set()),
        (
            "sub.s32 %r3, 0, %r3; max.s32 %r4, %r3, -16; neg.s32 %r2, %r2",
            "setp.le.s32 %p1, %r2, %r4",
            1,
            set(),
        ),
        (AT_MOST_16, PASSES_BY, 2, {"copy-incomplete"}),
        ("min.s32 %r4, %r3, 32", PASSES_BY, 1, {"copy-incomplete"}),  # 32 rows reach into the other stage
        ("max.s32 %r4, %r3, 16", PASSES_BY, 1, {"copy-incomplete"}),
        ("min.s32 %r4, %r3, 16; @!%p0 mov.u32 %r4, %r3", PASSES_BY, 1, {"copy-incomplete"}),
        ("min.s32 %r4, %r3, 16", "setp.ge.s32 %p1, %r2, %r3", 1, {"copy-incomplete"}),
    ],
    ids=[
        "at most 16",
        "the other way round",
        "unsigned",
        "at least -16",
        "a wait too weak",
        "at most 32",
        "at least 16",
        "sometimes more",
        "another number",
    ],
)
def test_rows_that_no_thread_copies(bound: str, test: str, left: int, found: set[str]) -> None:
    text = ROWS.replace("BOUND", bound).replace("TEST", test).replace("LEFT", str(left))
    assert {one.rule for one in check_text(text, "k.ptx").findings} == found


# The stages lie behind `per` rows of 64 bytes; with a size of 3, there would be none, and as many tiles over 0.
TILES = """
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 pool[];
.visible .entry k(.param .u64 from, .param .u64 to, .param .u32 size)
.maxntid 128, 1, 1
{
.reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .pred %p<6>;
ld.param.u64 %rd1, [from];
ld.param.u64 %rd2, [to];
ld.param.u32 %r1, [size];
mov.u32 %r2, %tid.x;
mov.u32 %r3, pool;
shr.s32 %r4, %r1, 4;
div.s32 %r5, %r1, 256;
add.s32 %r6, %r4, 7;
and.b32 %r6, %r6, -8;
min.s32 %r7, %r6, 32; // per
add.s32 %r8, %r4, %r7;
add.s32 %r8, %r8, -1;
div.s32 %r9, %r8, %r7;
mul.lo.s32 %r10, %r9, %r5;
mov.u32 %r11, %ctaid.x;
mov.u32 %r12, %nctaid.x;
shl.b32 %r13, %r7, 6;
add.s32 %r14, %r3, %r13;
shl.b32 %r19, %r2, 4;
add.s32 %r20, %r14, %r19;
shl.b32 %r21, %r2, 2;
add.s32 %r22, %r3, %r21;
xor.b32 %r23, %r21, 256;
add.s32 %r24, %r3, %r23;
cvt.u64.u32 %rd3, %r19;
add.s64 %rd4, %rd1, %rd3;
setp.ge.s32 %p1, %r11, %r10;
@%p1 bra END;
UNIT:
bar.sync 0;
st.shared.u32 [%r22], %r11;
bar.sync 0;
div.s32 %r25, %r11, %r5;
mul.lo.s32 %r25, %r25, %r7;
sub.s32 %r25, %r4, %r25;
min.s32 %r26, %r7, %r25;
mov.u32 %r27, 0;
mov.u32 %r28, 0;
setp.lt.s32 %p2, %r26, 1;
@%p2 bra DONE;
ROW:
cp.async.cg.shared.global [%r20], [%rd4], 16;
cp.async.commit_group;
ld.shared.u32 %r29, [%r24];
cp.async.wait_group 0;
bar.warp.sync -1;
ld.shared.u32 %r30, [%r20];
bar.warp.sync -1;
add.s32 %r28, %r28, %r29;
add.s32 %r28, %r28, %r30;
add.s32 %r27, %r27, 1;
setp.lt.s32 %p3, %r27, %r26;
@%p3 bra ROW;
DONE:
st.global.u32 [%rd2], %r28;
ld.global.u32 %r31, [%rd2+64];
setp.ne.s32 %p5, %r31, 0;
@%p5 bra NEXT; // memory decides, so that walks of some threads are all that is left
ld.shared.u32 %r32, [%r22];
st.global.u32 [%rd2+4], %r32;
NEXT:
add.s32 %r11, %r11, %r12;
setp.lt.s32 %p4, %r11, %r10;
@%p4 bra UNIT;
END:
ret;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", set()),
        ("cp.async.wait_group 0", "cp.async.wait_group 1", {"copy-incomplete"}),
        (
            "st.shared.u32 [%r22], %r11;\nbar.sync 0;",
            "st.shared.u32 [%r22], %r11;",
            {"shared-unsynchronised"},
        ),
        # The stages begin where what other threads read lies, whatever the size.
        ("add.s32 %r14, %r3, %r13", "mov.u32 %r14, %r3", {"copy-incomplete", "shared-unsynchronised"}),
    ],
    ids=["right", "a wait too weak", "no barrier", "the same bytes"],
)
def test_a_size_by_which_it_divides_by_zero(old: str, new: str, found: set[str]) -> None:
    assert {one.rule for one in check_text(TILES.replace(old, new), "k.ptx").findings} == found

"""Ordinary loads and stores of shared memory by several warps: right kernels, and wrong by one slip."""

from __future__ import annotations

import pytest

from .test_phases import tiers

# Each thread stores 16 bytes, and loads what a thread of another warp has stored; twice.
SWAP = """
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 smem[];
.visible .entry k(.param .u64 in,.param .u32 n)
.reqntid 128, 1, 1
{
.reg .b32 %r<32>; .reg .pred %p<8>; .reg .b64 %d<8>;
ld.param.u32 %r0,[n];
mov.u32 %r1,%tid.x;
mov.u32 %r2,smem;
shl.b32 %r3,%r1,4; add.u32 %r3,%r2,%r3;
xor.b32 %r4,%r1,64; shl.b32 %r4,%r4,4; add.u32 %r4,%r2,%r4;
mov.u32 %r5,0;
LOOP:
st.shared.v4.b32 [%r3],{%r1,%r1,%r1,%r5};
bar.sync 0;
ld.shared.v4.b32 {%r8,%r9,%r10,%r11},[%r4];
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12},[%r2+16384];
bar.sync 1, 128;
add.u32 %r5,%r5,1; setp.lt.u32 %p1,%r5,%r0;
@%p1 bra LOOP;
ret;
}
"""
LOAD = "ld.shared.v4.b32 {%r8,%r9,%r10,%r11},[%r4];"
RACE = ("error", "shared-unsynchronised")
WRONG = {
    "no barrier before the load": ("bar.sync 0;\n", ""),
    "no barrier before the next store": ("bar.sync 1, 128;\n", ""),
    "too few threads meet": ("bar.sync 0;\n", "shr.u32 %r20,%r1,6; add.u32 %r20,%r20,2; bar.sync %r20,64;\n"),
    "one warp only": ("bar.sync 0;\n", "bar.warp.sync -1;\n"),
}
RIGHT = {
    "as it is": ("bar.sync 0;", "bar.sync 0;"),
    "of the same warp": (
        "%r4,%r1,64", "%r4,%r1,16",
        "bar.sync 0;\n", "bar.warp.sync -1;\n", "bar.sync 1, 128;\n", "bar.warp.sync -1;\n",
    ),
    "what every warp stores": ("bar.sync 0;\n", "st.shared.v4.b32 [%r4],{%r1,%r1,%r1,%r5};\n",
                               LOAD, "ld.shared.v4.b32 {%r8,%r9,%r10,%r11},[%r3];"),
    "two warps of each side meet": (
        "bar.sync 0;\n", "and.b32 %r20,%r1,32; shr.u32 %r20,%r20,5; add.u32 %r20,%r20,2; bar.sync %r20,64;\n"
    ),
    "it is not known where": ("bar.sync 0;\n", "ld.global.u32 %r4,[%d1];\n"),
    "it is not known whether": ("bar.sync 0;\n", "ld.global.u32 %r20,[%d1];\nsetp.eq.u32 %p2,%r20,0;\n@%p2 "),
}  # fmt: skip


def changed(changes: tuple[str, ...]) -> str:
    text = SWAP
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("slip", WRONG)
def test_a_slip_is_a_race(slip: str) -> None:
    assert tiers(changed(WRONG[slip])) == {RACE}


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_ordered_or_not_known_is_no_race(case: str) -> None:
    assert tiers(changed(RIGHT[case])) == set()


def test_what_a_parameter_decides_is_likely() -> None:
    where = ("shl.b32 %r4,%r4,4;", "add.u32 %r4,%r4,%r0; and.b32 %r4,%r4,127; shl.b32 %r4,%r4,4;")
    assert tiers(changed((*where, "bar.sync 0;\n", ""))) == {("likely", "shared-unsynchronised")}


ALONE = ("bar.sync 0;\n", "", "bar.sync 1, 128;\n", "", ".reqntid 128, 1, 1\n", "")


def test_blocks_without_a_barrier_whose_size_the_text_does_not_say() -> None:
    """They may have one warp, unless a load would then read bytes that nothing writes."""
    text = changed(ALONE).replace("%r4,%r1,64", "%r4,%r1,32")
    assert tiers(text) == {("likely", "shared-unsynchronised")}
    lanes = text.replace("%r4,%r1,32", "%r4,%r1,16")
    assert {rule for _, rule in tiers(lanes)} == {"warp-unsynchronised"}  # whatever the size is
    assert tiers(text.replace("LOOP:", "st.shared.v4.b32 [%r4],{%r1,%r1,%r1,%r5};\nLOOP:")) == set()
    unknown = text.replace("LOOP:", "ld.global.u32 %r20,[%d1];\nst.shared.b32 [%r20],%r1;\nLOOP:")
    assert tiers(unknown) == set()  # it may write them


PRODUCT = """
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d1,%d1,0,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ret;
"""


def test_blocks_whose_size_the_text_does_not_say() -> None:
    """With a warpgroup, there are at least four warps; what is right with one number of threads may be meant."""
    text = SWAP.replace("sm_80", "sm_90a").replace(".reqntid 128, 1, 1\n", "").replace("ret;\n", PRODUCT)
    text = text.replace(".reg .pred", ".reg .f32 %f<4>; .reg .pred").replace("bar.sync 1, 128", "bar.sync 1")
    unordered = text.replace("bar.sync 0;\n", "")
    assert tiers(text) == set()
    assert tiers(unordered) == {("likely", "shared-unsynchronised")}
    assert tiers(unordered.replace("wgmma.mma_async", "// wgmma.mma_async")) == set()
    named = text.replace("bar.sync 0;", "bar.sync 0,192;").replace("bar.sync 1;", "bar.sync 1,192;")
    assert tiers(named) == set()


FLAG = """
setp.ge.u32 %p3,%r1,32;
and.b32 %r20,%r1,31; shl.b32 %r21,%r20,2; add.u32 %r21,%r2,%r21;
setp.ne.u32 %p4,%r20,0;
@%p3 bra CONSUMER;
st.shared.b32 [%r21],%r1;
bar.warp.sync -1;
membar.cta;
@%p4 bra DONE;
atom.global.add.u32 %r22,[%d1],1;
bra DONE;
CONSUMER:
POLL: atom.global.add.u32 %r22,[%d1],0;
setp.eq.u32 %p5,%r22,0;
@%p5 bra POLL;
membar.cta;
ld.shared.b32 %r23,[%r21];
DONE:
"""
LOCK = """
and.b32 %r20,%r1,31; shl.b32 %r21,%r20,2; add.u32 %r21,%r2,%r21;
setp.ne.u32 %p4,%r20,0;
@%p4 bra LOCKED;
TRY: atom.acquire.cta.global.cas.b32 %r22,[%d1],0,1;
setp.ne.u32 %p5,%r22,0;
@%p5 bra TRY;
LOCKED: bar.warp.sync -1;
ld.shared.b32 %r23,[%r21];
add.u32 %r23,%r23,1;
st.shared.b32 [%r21],%r23;
bar.warp.sync -1;
@!%p4 st.release.cta.global.b32 [%d1],0;
"""
REMOTE = """
mov.u32 %r20,%cluster_ctarank;
mapa.shared::cluster.u32 %r21,%r3,1;
setp.ne.u32 %p3,%r20,0;
@%p3 bra DONE;
setp.ge.u32 %p4,%r1,64;
@%p4 bra READ;
st.shared::cluster.b32 [%r21],%r1;
bra DONE;
READ: ld.shared.b32 %r22,[%r4];
DONE: barrier.cluster.arrive;
barrier.cluster.wait;
"""
PARTS = {
    "an atomic in global memory is polled": (FLAG, "@%p5 bra POLL;\n", ""),
    "one lane holds a lock for its warp": (LOCK, "@%p5 bra TRY;\n", ""),
    "the other block's memory": (REMOTE, "mapa.shared::cluster.u32 %r21,%r3,1;", "mov.u32 %r21,%r3;"),
}


def in_the_place(part: str) -> str:
    """A kernel that does something else than SWAP, with its registers."""
    head, _, body = SWAP.partition("mov.u32 %r5,0;\n")
    head = head.replace("sm_80", "sm_90").replace(
        ".reqntid 128, 1, 1", ".reqntid 128, 1, 1 .reqnctapercluster 2, 1, 1"
    )
    matrix = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12},[%r2+16384];\n"
    return head + matrix + part + body[body.index("ret;") :]


@pytest.mark.parametrize("case", PARTS)
def test_what_meets_elsewhere_is_no_race(case: str) -> None:
    right, old, new = PARTS[case]
    assert right.count(old) == 1
    assert tiers(in_the_place(right)) == set()
    assert tiers(in_the_place(right.replace(old, new))) == {RACE}


def test_buffers_that_a_parameter_parts() -> None:
    """A buffer of as many bytes as the host passes is followed by the other: with 7 they would overlap."""
    behind = ("xor.b32 %r4,%r1,64;", "add.u32 %r4,%r1,%r0;", "bar.sync 0;\n", "", "bar.sync 1, 128;\n", "")
    assert tiers(changed(behind)) == set()
    beside = (
        "xor.b32 %r4,%r1,64;",
        "xor.b32 %r4,%r0,%r0; xor.b32 %r20,%r1,64; add.u32 %r4,%r4,%r20;",
        *behind[2:],
    )
    assert tiers(changed(beside)) == {("likely", "shared-unsynchronised")}


# A producer warp fills two stages of 2 KiB in turn; each of four warps waits, loads what all have, and releases.
FILLED = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in,.param .u32 n)
.reqntid 160, 1, 1
{
.reg .b32 %r<64>; .reg .pred %p<16>; .reg .b64 %d<8>;
ld.param.u64 %d3,[in]; ld.param.u32 %r0,[n];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; add.u32 %r3,%r2,4096;
setp.ne.u32 %p1,%r1,0;
@%p1 bra NI;
mbarrier.init.shared::cta.b64 [%r3],1; mbarrier.init.shared::cta.b64 [%r3+8],1;
mbarrier.init.shared::cta.b64 [%r3+16],4; mbarrier.init.shared::cta.b64 [%r3+24],4;
NI:
bar.sync 0;
mov.u32 %r10,0; mov.u32 %r11,0; mov.u32 %r12,0;
setp.ge.u32 %p2,%r1,128;
@%p2 bra PRODUCER;
elect.sync _|%p6,-1;
C:
shl.b32 %r20,%r11,3; add.u32 %r20,%r3,%r20;
CW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r20],%r12;
@!%p3 bra CW;
shl.b32 %r21,%r11,11; shl.b32 %r22,%r1,4; add.u32 %r21,%r21,%r22; add.u32 %r21,%r2,%r21;
ld.shared.v4.b32 {%r30,%r31,%r32,%r33},[%r21];
bar.warp.sync -1;
@%p6 mbarrier.arrive.shared::cta.b64 _,[%r20+16];
xor.b32 %r11,%r11,1; setp.eq.u32 %p4,%r11,0; selp.u32 %r13,1,0,%p4; xor.b32 %r12,%r12,%r13;
add.u32 %r10,%r10,1; setp.lt.u32 %p5,%r10,%r0;
@%p5 bra C;
bra DONE;
PRODUCER:
setp.ne.u32 %p7,%r1,128;
@%p7 bra DONE;
mov.u32 %r12,1;
P:
shl.b32 %r20,%r11,3; add.u32 %r20,%r3,%r20;
PW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r20+16],%r12;
@!%p3 bra PW;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r20],2048;
shl.b32 %r21,%r11,11; add.u32 %r21,%r2,%r21;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r21],[%d3],2048,[%r20];
xor.b32 %r11,%r11,1; setp.eq.u32 %p4,%r11,0; selp.u32 %r13,1,0,%p4; xor.b32 %r12,%r12,%r13;
add.u32 %r10,%r10,1; setp.lt.u32 %p5,%r10,%r0;
@%p5 bra P;
DONE:
ret;
}
"""
# One warp waits for a copy of its own thread and meets the others, which load.
TOLD = FILLED[: FILLED.index("mov.u32 %r10,0;")].replace(".reqntid 160", ".reqntid 128") + (
    "@%p1 bra TOLD;\nmbarrier.arrive.expect_tx.shared::cta.b64 _,[%r3],2048;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2],[%d3],2048,[%r3];\n"
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r3],0;\n@!%p3 bra W;\nTOLD:\nbar.sync 1;\n"
    "shl.b32 %r22,%r1,4; add.u32 %r21,%r2,%r22; ld.shared.v4.b32 {%r30,%r31,%r32,%r33},[%r21];\nret;\n}\n"
)
PART = ("error", "copy-incomplete")
AWAIT = "CW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r20],%r12;\n@!%p3 bra CW;\n"
FREE = "PW: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r20+16],%r12;\n@!%p3 bra PW;\n"
SPOILT = {
    "no wait for the copy": (FILLED, AWAIT, "", PART),
    "one warp alone waits": (
        FILLED, "CW: mbarrier", "setp.ge.u32 %p8,%r1,32;\n@%p8 bra GO;\nCW: mbarrier", PART
    ),
    "no wait for the release": (FILLED, FREE, "", PART),
    "the release before the load": (
        FILLED,
        "ld.shared.v4.b32 {%r30,%r31,%r32,%r33},[%r21];\nbar.warp.sync -1;\n@%p6 mbarrier.arrive.shared::cta.b64 _,[%r20+16];\n",
        "@%p6 mbarrier.arrive.shared::cta.b64 _,[%r20+16];\nld.shared.v4.b32 {%r30,%r31,%r32,%r33},[%r21];\n",
        RACE,
    ),
    "too few release": (FILLED, "[%r3+16],4;", "[%r3+16],1;", RACE),
    "nobody tells": (TOLD, "bar.sync 1;\n", "", PART),
}  # fmt: skip


@pytest.mark.parametrize("right", [FILLED, TOLD])
def test_what_a_bulk_copy_brings_is_loaded_behind_its_phase(right: str) -> None:
    assert tiers(right) == set()


@pytest.mark.parametrize("case", SPOILT)
def test_what_a_bulk_copy_brings_is_loaded_too_early_or_too_late(case: str) -> None:
    right, old, new, expected = SPOILT[case]
    assert right.count(old) == 1
    assert expected in tiers(
        right.replace(old, new).replace("shl.b32 %r21,%r11,11; shl", "GO: shl.b32 %r21,%r11,11; shl")
    )

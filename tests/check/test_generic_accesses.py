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
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12},[%r3];
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
    "of the same warp": ("%r4,%r1,64", "%r4,%r1,16", "bar.sync 0;\n", "", "bar.sync 1, 128;\n", ""),
    "what every warp stores": ("bar.sync 0;\n", "st.shared.v4.b32 [%r4],{%r1,%r1,%r1,%r5};\n",
                               LOAD, "ld.shared.v4.b32 {%r8,%r9,%r10,%r11},[%r3];"),
    "two warps of each side meet": (
        "bar.sync 0;\n", "and.b32 %r20,%r1,32; shr.u32 %r20,%r20,5; add.u32 %r20,%r20,2; bar.sync %r20,64;\n"
    ),
    "threads meet in memory": ("bar.sync 0;\n", "ld.volatile.shared.u32 %r20,[%r2+4096];\n"),
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

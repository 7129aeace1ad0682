"""A host says how many stages a ring has: as many as a kernel has room for, and that the PTX may not show.

What must be found was written down before the checker ran. One thread copies two tiles into each stage, and all
lanes of another warp add up what they find.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
EXTERN
.visible .entry k(.param .u64 src, .param .u64 dst, .param .u32 rounds, .param .u32 length)
.reqntid 64, 1, 1
{
ARRAYS
.reg .pred p<9>, q, w; .reg .b32 f, e, b, n, k, i, s, ph, v, fs, es, bs, t, lane, a, sum; .reg .b64 src, d;
ld.param.u64 src,[src]; ld.param.u64 d,[dst]; ld.param.u32 k,[rounds];
LENGTH
BASES
mov.u32 t,%tid.x; and.b32 lane,t,31; mov.u32 i,0;
INITS
READY: bar.sync 0;
mov.u32 i,0; mov.u32 s,0; mov.u32 ph,0; mov.u32 sum,0;
setp.ge.u32 p2,t,32; @p2 bra USE;
setp.ne.u32 p3,lane,0; @p3 bra END;
FILL: setp.ge.u32 p4,i,k; @p4 bra END;
STAGE
xor.b32 v,ph,1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 q,[es],v; @!q bra FREE;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[fs],2048;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [bs],[src],1024,[fs];
add.u32 bs,bs,ROOM;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [bs],[src],1024,[fs];
NEXT bra FILL;
USE: setp.ge.u32 p5,i,k; @p5 bra STORE;
STAGE
FULL: mbarrier.try_wait.parity.shared::cta.b64 q,[fs],ph; @!q bra FULL;
mad.lo.u32 a,lane,4,bs;
LOADS
NEXT bra USE;
STORE: mad.wide.u32 d,lane,4,d; st.global.u32 [d],sum;
END: ret;
}
"""
FREE = "FREE: mbarrier.try_wait.parity.shared::cta.b64 q,[es],v; @!q bra FREE;\n"
FULL = "FULL: mbarrier.try_wait.parity.shared::cta.b64 q,[fs],ph; @!q bra FULL;\n"
NEXT = "add.u32 i,i,1; add.u32 s,s,1; setp.eq.u32 w,s,n; selp.u32 s,0,s,w; selp.u32 v,1,0,w; xor.b32 ph,ph,v;"
LOADS = "ld.shared.u32 v,[a]; add.u32 sum,sum,v; ld.shared.u32 v,[a+ROOM]; add.u32 sum,sum,v;\n"
RELEASE = "mbarrier.arrive.shared::cta.b64 _,[es];\n"
MAKE = "mbarrier.init.shared::cta.b64 [fs],1; mbarrier.init.shared::cta.b64 [es],32;\n"
DYNAMIC = ".extern .shared .align 1024 .b8 memory[];"
# Where the mbarriers of ROOM stages and their tiles lie: declarations, the bases, and how far stages are apart.
PLACES = {
    "arrays": (
        "",
        ".shared .align 8 .b64 full[COUNT]; .shared .align 8 .b64 empty[COUNT];\n"
        ".shared .align 128 .b8 tiles[BYTES];",
        "mov.u32 f,full; mov.u32 e,empty; mov.u32 b,tiles;",
        8,
    ),
    "one array": (
        "",
        ".shared .align 8 .b64 full[BOTH]; .shared .align 128 .b8 tiles[BYTES];",
        "mov.u32 f,full; add.u32 e,f,EACH; mov.u32 b,tiles;",
        8,
    ),
    "dynamic": (DYNAMIC, "", "mov.u32 f,memory; add.u32 e,f,EACH; add.u32 b,f,1024;", 8),
    "dynamic, in pairs": (DYNAMIC, "", "mov.u32 f,memory; add.u32 e,f,8; add.u32 b,f,1024;", 16),
}
INITS = {
    "a loop": (
        "setp.ne.u32 p0,t,0; @p0 bra READY;\n"
        f"MAKE: mad.lo.u32 fs,i,APART,f; mad.lo.u32 es,i,APART,e; {MAKE}"
        "add.u32 i,i,1; setp.lt.u32 p1,i,n; @p1 bra MAKE;"
    ),
    "threads": (
        "setp.ge.u32 p0,t,n; @p0 bra READY;\nmad.lo.u32 fs,t,APART,f; mad.lo.u32 es,t,APART,e;\n" + MAKE
    ),
}


def found(
    room: int = 2, place: str = "arrays", inits: str = "a loop", length: int = 0, **parts: str
) -> list[tuple[str, str]]:
    """The loud findings: tier and rule. `length`: of the ring, if the kernel says it."""
    extern, arrays, bases, apart = PLACES[place]
    text = KERNEL.replace("NEXT", NEXT)
    text = text.replace("LOADS\n", LOADS + RELEASE)
    for old, new in parts.items():
        text = text.replace({"FREE": FREE, "FULL": FULL, "LOADS": LOADS + RELEASE}[old], new)
    stage = "mad.lo.u32 fs,s,APART,f; mad.lo.u32 es,s,APART,e; mad.lo.u32 bs,s,1024,b;"
    says = f"mov.u32 n,{length};" if length else "ld.param.u32 n,[length];"
    names = {"EXTERN": extern, "ARRAYS": arrays, "BASES": bases, "INITS": INITS[inits], "STAGE": stage}
    numbers = {"ROOM": 1024 * room, "BYTES": 2048 * room, "COUNT": room, "BOTH": 2 * room, "EACH": 8 * room}
    for name, part in {**names, "LENGTH": says, **numbers, "APART": apart}.items():
        text = text.replace(name, str(part))
    report = check_text(text, "k.ptx")
    assert not report.faults and not report.not_judged
    return sorted({(one.tier, one.rule) for one in report.findings if one.tier in (ERROR, LIKELY)})


@pytest.mark.parametrize("inits", INITS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("room", [2, 3, 4, 8])
def test_a_ring_is_as_long_as_there_is_room_for(room: int, place: str, inits: str) -> None:
    assert found(room, place, inits) == []


@pytest.mark.parametrize("inits", INITS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("room", [2, 8])
def test_what_is_wrong_in_a_ring_of_any_length(room: int, place: str, inits: str) -> None:
    late = found(room, place, inits, LOADS=RELEASE + LOADS)
    assert late == [(LIKELY, "shared-unsynchronised")]
    assert (LIKELY, "copy-incomplete") in found(room, place, inits, FREE="")
    assert found(room, place, inits, FULL="") != []


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_length_that_the_kernel_says_is_no_assumption(length: int) -> None:
    assert found(length, length=length) == []
    assert found(length, length=length, LOADS=RELEASE + LOADS) == [(ERROR, "shared-unsynchronised")]


AHEAD = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 src, .param .u32 rounds, .param .u32 length)
.reqntid 32, 1, 1
{
.shared .align 8 .b64 full[8]; .shared .align 128 .b8 tiles[8192];
.reg .pred p<9>, z, q, w; .reg .b32 f, b, n, k, i, j, s, ph, h, v, a, c, t, l, sum; .reg .b64 src;
ld.param.u64 src,[src]; ld.param.u32 k,[rounds]; ld.param.u32 n,[length];
mov.u32 f,full; mov.u32 b,tiles; mov.u32 t,%tid.x; setp.ne.u32 z,t,0; mov.u32 i,0; mov.u32 sum,0;
@z bra READY;
MAKE: mad.lo.u32 a,i,8,f; mbarrier.init.shared::cta.b64 [a],1;
add.u32 i,i,1; setp.lt.u32 p1,i,n; @p1 bra MAKE;
READY: bar.warp.sync -1;
mov.u32 i,0; mov.u32 s,0; mov.u32 h,0; mov.u32 ph,0; mov.u32 j,0;
@z bra USE;
FIRST: mad.lo.u32 a,h,8,f; mad.lo.u32 c,h,1024,b;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[a],1024;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [c],[src],1024,[a];
add.u32 h,h,1; add.u32 j,j,1; setp.lt.u32 p2,j,SOME; @p2 bra FIRST;
USE: mad.lo.u32 a,s,8,f; mad.lo.u32 c,s,1024,b; mad.lo.u32 c,t,4,c;
FULL: mbarrier.try_wait.parity.shared::cta.b64 q,[a],ph; @!q bra FULL;
ld.shared.u32 v,[c]; add.u32 sum,sum,v;
add.u32 s,s,1; setp.eq.u32 w,s,n; selp.u32 s,0,s,w; selp.u32 v,1,0,w; xor.b32 ph,ph,v;
bar.warp.sync -1;
add.u32 j,i,SOME; setp.ge.or.u32 p3,j,k,z; @p3 bra NEXT;
setp.eq.u32 w,h,n; selp.u32 h,0,h,w; mad.lo.u32 a,h,8,f; mad.lo.u32 c,h,1024,b;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[a],1024;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [c],[src],1024,[a];
add.u32 h,h,1;
NEXT: add.u32 i,i,1; setp.lt.u32 p4,i,k; @p4 bra USE;
cvta.to.global.u64 src,src; st.global.u32 [src],sum;
ret;
}
"""


@pytest.mark.parametrize("some", ["2", "3", "4", "6", "8", "n"])
def test_a_kernel_that_fills_some_stages_ahead_has_as_many(some: str) -> None:
    """A ring that is shorter than what the kernel fills ahead is none that a host asks for."""
    report = check_text(AHEAD.replace("SOME", some), "k.ptx")
    assert not [one for one in report.findings if one.tier in (ERROR, LIKELY)]


@pytest.mark.parametrize("some", ["2", "6", "8", "n"])
def test_one_that_reads_what_it_has_filled_without_a_wait(some: str) -> None:
    wait = "FULL: mbarrier.try_wait.parity.shared::cta.b64 q,[a],ph; @!q bra FULL;\n"
    report = check_text(AHEAD.replace("SOME", some).replace(wait, ""), "k.ptx")
    assert {one.rule for one in report.findings if one.tier in (ERROR, LIKELY)} == {"copy-incomplete"}

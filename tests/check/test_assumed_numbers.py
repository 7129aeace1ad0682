"""Executions assume numbers: what is reported as an error is on a path that can happen, in a block that can be
launched.

Warps 4 to 7 store what warps 0 to 3 multiply, if a flag says so; these wait for it, if their flag says so. Where
the two flags are one number, read in two ways, nobody can store without the others' wait. Each wrong kernel is one
slip away from a right one.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

HEAD = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u32 n, .param .u8 flag, .param .align 8 .b8 s[16])
BLOCK
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<16>; .reg .b32 %r<64>; .reg .b16 %h<8>;
ld.param.u32 %r0,[n];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; add.u32 %r30,%r2,131072;
shl.b32 %r5,%r1,4; and.b32 %r5,%r5,2047; add.u32 %r7,%r2,%r5;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
shr.u32 %r61,%r2,4; and.b32 %r61,%r61,16383; cvt.u64.u32 %d4,%r61; or.b64 %d0,%d4,0x4000004000010000;
add.u64 %d1,%d0,512;
"""
PRODUCT = """
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
"""
STORE = "st.shared.b32 [%r7],%r1; fence.proxy.async.shared::cta;\n"


def flagged(stores: str, waits: str) -> str:
    """`stores` and `waits` make %p8: true where the store, or the wait, is left out."""
    return (
        HEAD.replace("BLOCK", ".reqntid 256, 1, 1")
        + """
setp.ne.u32 %p5,%r1,0; @%p5 bra NI; mbarrier.init.shared::cta.b64 [%r30],128; NI: bar.sync 0;
setp.ge.u32 %p7,%r1,128; @%p7 bra PROD;
"""
        + waits
        + """
@%p8 bra SKIPW;
cp.async.wait_all;
W: mbarrier.try_wait.parity.shared::cta.b64 %p9,[%r30],0; @!%p9 bra W;
SKIPW:
"""
        + PRODUCT
        + "bra DONE; PROD:\n"
        + stores
        + "@%p8 bra SKIPS;\n"
        + STORE
        + "SKIPS: mbarrier.arrive.shared::cta.b64 _,[%r30];\nDONE: ret; }\n"
    )


def tiers(text: str) -> set[str]:
    return {finding.tier for finding in check_text(text, "k.ptx").findings}


BYTE = "ld.param.u8 %h1,[flag]; "
LOW = "ld.param.u32 %r40,[s]; setp.eq.u32 %p8,%r40,0;"
# By case: what leaves out the store; what leaves out the wait, rightly and with a slip.
CASES = {
    "one number": (
        "setp.eq.u32 %p8,%r0,0;",
        "shl.b32 %r41,%r0,1; setp.eq.u32 %p8,%r41,0;",
        "setp.ne.u32 %p8,%r0,0;",
    ),
    "a byte": (
        BYTE + "setp.eq.s16 %p8,%h1,0;",
        BYTE + "and.b16 %h2,%h1,255; setp.eq.s16 %p8,%h2,0;",
        BYTE + "setp.ne.s16 %p8,%h1,0;",
    ),
    "no byte is 256": (
        "setp.eq.u32 %p8,%r0,0;",
        BYTE + "setp.gt.u16 %p8,%h1,255;",
        BYTE + "setp.lt.u16 %p8,%h1,255;",
    ),
    "half of a word": (
        LOW,
        "ld.param.u64 %d5,[s]; cvt.u32.u64 %r41,%d5; setp.eq.u32 %p8,%r41,0;",
        "ld.param.u64 %d5,[s]; cvt.u32.u64 %r41,%d5; setp.ne.u32 %p8,%r41,0;",
    ),
    "one word, two names": (
        "setp.eq.u32 %p8,%r0,0;",
        "ld.param.u64 %d5,[s+8]; ld.param.u64 %d6,[s + 8]; setp.ne.u64 %p8,%d5,%d6;",
        "ld.param.u64 %d5,[s+8]; ld.param.u64 %d6,[s + 8]; setp.eq.u64 %p8,%d5,%d6;",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_is_on_a_path_that_can_happen(name: str) -> None:
    stores, right, wrong = CASES[name]
    assert "error" not in tiers(flagged(stores, right))
    assert "error" in tiers(flagged(stores, wrong))


# The second warpgroup stores over what the first one multiplies, if there is a second one.
ALL = STORE + "bar.sync 1,128;" + PRODUCT + "ret; }\n"
ROLES = (
    "setp.lt.u32 %p1,%r1,128; @%p1 bra CONS;\n"
    + STORE
    + "bar.arrive 2,256; bra DONE; CONS: bar.sync NAMED,128;"
    + PRODUCT
    + "DONE: ret; }\n"
)

# Threads exchange 16 bytes with one of another warp, in 2048 bytes.
PLAIN = (
    "xor.b32 %r8,%r1,64; shl.b32 %r8,%r8,4; and.b32 %r8,%r8,2047; add.u32 %r8,%r2,%r8;\n"
    "st.shared.v4.b32 [%r7],{%r2,%r2,%r2,%r2}; bar.sync 1,128; ld.shared.v4.b32 {%r10,%r11,%r12,%r13},[%r8];\n"
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r14},[%r2+16384]; ret; }\n"
)


@pytest.mark.parametrize(
    ("block", "body", "tier"),
    [
        (".reqntid 128", ALL, set()),
        (".maxntid 128", ALL, set()),
        (".maxntid 256", ALL, {"likely"}),  # barriers of 128 threads: so many may be launched
        (
            ".maxntid 256",
            ALL.replace("1,128", "%r8,%r9").replace("st.sh", "mov.u32 %r8,1; mov.u32 %r9,128; st.sh"),
            {"likely"},
        ),
        (".maxntid 256", ALL.replace("bar.sync 1,128;", ""), {"error"}),
        (".reqntid 256", ALL, {"error"}),
        (".maxntid 256", ROLES.replace("NAMED", "3"), {"error"}),  # some code is for the threads above 128
        (".maxntid 256", ROLES.replace("NAMED,128", "2,256"), set()),
        (".maxntid 256", PLAIN, {"likely"}),
        (".reqntid 256", PLAIN, {"error"}),
        (".reqntid 256", PLAIN.replace("bar.sync 1,128;", ""), {"error"}),
        (".maxntid 256", PLAIN.replace("1,128", "1,256"), set()),
    ],
    ids=range(12),
)
def test_maxntid_allows_fewer_threads(block: str, body: str, tier: set[str]) -> None:
    assert tiers(HEAD.replace("BLOCK", block + ", 1, 1") + body) == tier


# One thread fills two stages, or as many as there are rounds; all wait for the first.
PROLOGUE = (
    HEAD.replace("BLOCK", ".reqntid 128, 1, 1")
    + """
setp.ne.u32 %p5,%r1,0; @%p5 bra NI;
mbarrier.init.shared::cta.b64 [%r30],COUNT; mbarrier.init.shared::cta.b64 [%r30+8],1; mov.u64 %d5,0;
NI: bar.sync 0;
setp.lt.s32 %p6,%r0,1; or.pred %p7,%p5,%p6; @%p7 bra FILLED;
mov.u32 %r10,0;
L: shl.b32 %r11,%r10,3; add.u32 %r11,%r30,%r11; shl.b32 %r12,%r10,10; add.u32 %r12,%r2,%r12;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r11],BYTES;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r12],[%d5],1024,[%r11];
add.s32 %r10,%r10,1; setp.lt.u32 %p1,%r10,2; setp.lt.s32 %p2,%r10,%r0; and.pred %p3,%p1,%p2;
@%p3 bra L;
FILLED: @%p6 bra DONE;
W: mbarrier.try_wait.parity.shared::cta.b64 %p9,[%r30],0; @!%p9 bra W;
DONE: ret; }
"""
)


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [("1", "1024", set()), ("2", "1024", {"barrier-stuck"}), ("1", "1040", {"barrier-stuck"})],
)
def test_a_loop_that_a_known_number_ends_brings_no_more(count: str, size: str, expected: set[str]) -> None:
    """The other half of its condition is about a parameter."""
    text = PROLOGUE.replace("COUNT", count).replace("BYTES", size)
    assert {one.rule for one in check_text(text, "k.ptx").findings if one.tier != "info"} == expected

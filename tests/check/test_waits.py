"""Waits that end in a way that an execution with numbers must not take for stuck, and, one slip away, waits that
never end. What must be found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

HEAD = """
.version 8.7
.target TARGET
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in,.param .u32 n,.param .u32 m,.param .u64 wide)
.reqntid 160, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<9>; .reg .pred %p<16>; .reg .b32 %r<64>;
ld.param.u64 %d3,[in]; ld.param.u32 %r0,[n]; ld.param.u32 %r9,[m]; ld.param.u64 %d8,[wide];
mov.u32 %r1,%tid.x;
mov.u32 %r2,smem; mov.u32 %r10,0; mov.u32 %r12,0;
add.u32 %r30,%r2,131072; add.u32 %r31,%r2,131200;
setp.ne.u32 %p5,%r1,0;
@%p5 bra MADE;
mbarrier.init.shared::cta.b64 [%r30],FULL;
mbarrier.init.shared::cta.b64 [%r31],128;
MADE:
bar.sync 0;
setp.lt.u32 %p1,%r1,128;
@%p1 bra USE;
"""
LEAD = """
setp.ne.u32 %p2,%r1,128;
@%p2 bra DONE;
"""
EXPECT = """
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r30],8192;
"""
COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
FILL = EXPECT + COPY + " [%r2],[%d3],8192,[%r30];"
WAIT = """
bra DONE;
USE:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r30],%r12;
@!%p3 bra USE;
"""
# `n` rounds of a producer, `m` (or as many) of the consumers.
ROUNDS = (
    LEAD
    + """
COUNT
FEED:
xor.b32 %r14,%r12,1;
FREE:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r31],%r14;
@!%p3 bra FREE;
"""
    + FILL
    + """
xor.b32 %r12,%r12,1;
add.u32 %r10,%r10,1; setp.lt.u32 %p15,%r10,%r0;
@%p15 bra FEED;
"""
    + WAIT
    + """
mbarrier.arrive.shared::cta.b64 _,[%r31];
xor.b32 %r12,%r12,1;
NEXT
@%p15 bra USE;
"""
)
ALIKE = "add.u32 %r10,%r10,1; setp.lt.u32 %p15,%r10,%r0;"
OTHER = "add.u32 %r10,%r10,1; setp.lt.u32 %p15,%r10,%r9;"
TWICE = """
AGAIN:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r30],%r12;
@!%p3 bra AGAIN;
mbarrier.arrive.shared::cta.b64 _,[%r31];
xor.b32 %r12,%r12,1;
add.u32 %r10,%r10,2; setp.lt.u32 %p15,%r10,%r0;
"""
DROP = """
cp.async.ca.shared.global [%r2],[%d3],16;
mbarrier.arrive_drop.shared::cta.b64 _,[%r30];
bra DONE;
USE:
mbarrier.arrive.shared::cta.b64 _,[%r30];
FIRST:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r30],0;
@!%p3 bra FIRST;
mbarrier.arrive.shared::cta.b64 _,[%r30];
SECOND:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r30],1;
@!%p3 bra SECOND;
"""
POLL = (
    LEAD
    + """
mov.u32 %r50,0; mov.u32 %r51,0;
TRY:
setp.ne.u32 %p6,%r50,0;
@%p6 bra OTHER;
mbarrier.test_wait.parity.shared::cta.b64 %p3,[%r31],0;
@!%p3 bra OTHER;
mov.u32 %r50,1;
OTHER:
setp.ne.u32 %p7,%r51,0;
@%p7 bra TRIED;
mov.u32 %r51,1;
"""
    + FILL
    + """
TRIED:
setp.eq.u32 %p8,%r50,0;
@%p8 bra TRY;
"""
    + WAIT
    + """
mbarrier.arrive.shared::cta.b64 _,[%r31];
"""
)
BLOCKED = (
    LEAD
    + """
FREE:
mbarrier.test_wait.parity.shared::cta.b64 %p3,[%r31],0;
@!%p3 bra FREE;
"""
    + FILL
    + WAIT
    + """
mbarrier.arrive.shared::cta.b64 _,[%r31];
"""
)
ROWS = (
    LEAD
    + EXPECT
    + """
ROW:
"""
    + COPY
    + """ [%r2],[%d3],1024,[%r30];
add.u32 %r2,%r2,1024; add.u32 %r10,%r10,1; setp.lt.u32 %p15,%r10,LIMIT;
@%p15 bra ROW;
"""
    + WAIT
)
SIGNAL = (
    LEAD
    + """
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r30],9216;
"""
    + COPY
    + """ [%r2],[%d3],8192,[%r30];
MORE
"""
    + WAIT
)
COMMITTED = (
    LEAD
    + """
cp.async.ca.shared.global [%r2],[%d3],16;
COMMIT
"""
    + WAIT
)
PARTED = (
    """
and.b32 %r50,%r1,31; setp.ne.u32 %p2,%r50,0;
LANE
barrier.cta.sync 1,64;
setp.ne.u32 %p2,%r1,128;
@%p2 bra DONE;
"""
    + FILL
    + WAIT
)


def kernel(body: str, full: int = 1, target: str = "sm_90a", **parts: str) -> str:
    """A kernel of one role that fills, and one that waits; `parts` stand in the place of their names."""
    text = HEAD.replace("TARGET", target).replace("FULL", str(full)) + body + "DONE:\nret;\n}\n"
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


def stuck(text: str) -> list[str]:
    """The tiers of the waits that never end, and of everything else that is ERROR or LIKELY."""
    found = check_text(text, "k.ptx").findings
    return [f"{one.tier} {one.rule}" for one in found if one.tier in ("error", "likely")]


RIGHT = {
    "rounds": kernel(ROUNDS, COUNT="", NEXT=ALIKE),
    "another parameter says how many rounds": kernel(ROUNDS, COUNT="shr.u32 %r0,%r0,6;", NEXT=OTHER),
    "two tiles a round": kernel(ROUNDS, COUNT="", NEXT=TWICE),
    "a wide parameter": kernel(
        ROUNDS,
        COUNT="cvt.u32.u64 %r0,%d8;",
        NEXT="add.u64 %d7,%d7,1; setp.lt.u64 %p15,%d7,%d8;",
    ).replace("mov.u32 %r10,0;", "mov.u32 %r10,0; mov.u64 %d7,0;"),
    "threads that leave": kernel(DROP, 160),
    "the first of the mask": kernel(
        "and.b32 %r50,%r1,16; setp.eq.u32 %p2,%r50,0;\n@%p2 bra DONE;\n"
        "elect.sync _|%p4,0xffff0000;\n@!%p4 bra DONE;\n" + FILL + WAIT
    ),
    "a poll in turn": kernel(POLL),
    "rows of a parameter": kernel(ROWS, LIMIT="%r0"),
    "as many bytes as a parameter says": kernel(LEAD + EXPECT + COPY + " [%r2],[%d3],%r0,[%r30];" + WAIT),
    "bytes that a thread completes": kernel(
        SIGNAL, MORE="mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r30],1024;"
    ),
    "a commit that arrives": kernel(
        COMMITTED,
        target="sm_100a",
        COMMIT="tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r30];",
    ),
    "one thread of a warp at a barrier": kernel(PARTED, LANE="@%p2 bra DONE;"),
}
WRONG = {
    "one arrival too many is counted": kernel(ROUNDS, 2, COUNT="", NEXT=ALIKE),
    "and two tiles a round": kernel(ROUNDS, 2, COUNT="", NEXT=TWICE),
    "and other threads leave": kernel(DROP, 161),
    "and the first of the mask": kernel(
        "and.b32 %r50,%r1,16; setp.eq.u32 %p2,%r50,0;\n@%p2 bra DONE;\n"
        "elect.sync _|%p4,0xffff0000;\n@!%p4 bra DONE;\n" + FILL + WAIT,
        2,
    ),
    "a wait before what it waits for": kernel(BLOCKED),
    "a row too few": kernel(ROWS, LIMIT="7"),
    "bytes that nobody completes": kernel(SIGNAL, MORE=""),
    "nobody arrives": kernel(COMMITTED, target="sm_100a", COMMIT=""),
    "and whole warps at a barrier": kernel(PARTED, 2, LANE=""),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_wait_that_ends(name: str) -> None:
    assert not stuck(RIGHT[name])


@pytest.mark.parametrize("name", WRONG)
def test_a_wait_that_never_ends(name: str) -> None:
    assert "error barrier-stuck" in stuck(WRONG[name])


FLAG = HEAD.replace("TARGET", "sm_90a").replace("FULL", "1").replace("bar.sync 0;", "PUBLISH") + (
    LEAD + FILL + WAIT + "DONE:\nret;\n}\n"
)


def test_an_init_that_a_flag_publishes() -> None:
    poll = "\nMADE:\nld.acquire.cta.shared.u32 %r50,[%r31+8]; setp.eq.u32 %p6,%r50,0;\n@%p6 bra MADE;\n"
    told = "fence.mbarrier_init.release.cluster; st.release.cta.shared.u32 [%r31+8],1;" + poll
    assert not stuck(FLAG.replace("\nMADE:\n", told).replace("PUBLISH", ""))
    assert "error barrier-unpublished" in stuck(FLAG.replace("PUBLISH", ""))


@pytest.mark.parametrize(
    ("count", "found"), [("-1", ["error legality.operand.range"]), ("64", []), ("4294967295", [])]
)
def test_a_wait_for_groups_that_nobody_has(count: str, found: list[str]) -> None:
    assert stuck(kernel(LEAD + FILL + WAIT + f"wgmma.wait_group.sync.aligned {count};\n")) == found


@pytest.mark.parametrize("size", ["0", "1, 0", "32, 1, 0", "1024, 1024, 64"])
def test_a_block_of_a_size_that_no_block_has(size: str) -> None:
    assert stuck(kernel(ROWS, LIMIT="%r0").replace("160, 1, 1", size)) == []

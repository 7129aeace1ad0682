"""The lanes of a warp store into a buffer that only their warp uses, and some lanes store it in bulk.

What must be found was written down before the checker ran. A bulk store is asynchronous, and the lane that starts it
waits for it alone: other lanes know of that, and it knows of their stores, once the lanes meet.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY, READING

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .pred p, q; .reg .b32 t, l, s, a, b, i, rest, v; .reg .b64 from, to, x;
ld.param.u64 from,[in]; ld.param.u64 to,[out]; ld.param.u32 rest,[n]; mov.u32 t,%tid.x; and.b32 l,t,31; mov.u32 i,0;
shr.u32 a,t,5; shl.b32 a,a,9; mov.u32 s,smem; add.u32 s,s,a; shl.b32 a,l,4; add.u32 a,a,s;
mul.wide.u32 x,t,16; add.s64 from,from,x; add.s64 to,to,x;
AGAIN: ld.global.u32 v,[from];
st.shared.u32 [a],v; st.shared.u32 [a+4],v; st.shared.u32 [a+8],v; st.shared.u32 [a+12],v;
fence.proxy.async.shared::cta;
BEFORE
BULK
BEHIND
add.s64 from,from,2048; add.s64 to,to,2048; add.u32 i,i,1; setp.lt.u32 p,i,rest; @p bra AGAIN;
cp.async.bulk.wait_group 0;
ret;
}
"""
SEND = "cp.async.bulk.global.shared::cta.bulk_group [to],[{}],{}; cp.async.bulk.commit_group;"
WAIT = "cp.async.bulk.wait_group.read 0;"
WHOLE = SEND.format("s", 512)
ONE = f"setp.ne.u32 q,l,0; @q bra SENT; {WHOLE} {WAIT} SENT:"
ALL_WAIT = f"setp.ne.u32 q,l,0; @q bra SENT; {WHOLE} SENT: {WAIT}"
ELECTED = f"elect.sync _|q,-1; @!q bra SENT; {WHOLE} {WAIT} SENT:"
OWN = f"{SEND.format('a', 16)} {WAIT}"
NEIGHBOURS = f"xor.b32 b,a,16; {SEND.format('b', 16)} {WAIT}"
MEET = "bar.warp.sync -1;"


@pytest.mark.parametrize(
    ("before", "bulk", "behind", "rules"),
    [
        pytest.param(MEET, ONE, MEET, set(), id="right"),
        pytest.param(
            "", ONE, MEET, {"warp-unsynchronised"}, id="a lane sends what others may not have stored"
        ),
        pytest.param(MEET, ONE, "", {"warp-unsynchronised"}, id="others store again, one lane has waited"),
        pytest.param(MEET, ALL_WAIT, "", {"warp-unsynchronised"}, id="others wait for groups of their own"),
        pytest.param(MEET, ALL_WAIT, MEET, set(), id="all wait, and meet"),
        pytest.param("", OWN, "", set(), id="each lane sends its own bytes"),
        pytest.param("", NEIGHBOURS, MEET, {"warp-unsynchronised"}, id="each lane sends its neighbour's"),
        pytest.param(MEET, NEIGHBOURS, "", {"warp-unsynchronised"}, id="and the neighbour stores again"),
        pytest.param(MEET, NEIGHBOURS, MEET, set(), id="each lane sends its neighbour's, and all meet"),
        pytest.param("bar.warp.sync 3;", ONE, MEET, None, id="lanes that are not asked to meet"),
        pytest.param("bar.sync 0;", ONE, "bar.sync 0;", set(), id="all of the block meet"),
    ],
)
def test_a_lane_stores_in_bulk(before: str, bulk: str, behind: str, rules: set[str] | None) -> None:
    loud = found(before, bulk, behind, ERROR, LIKELY)
    assert loud == rules if rules is not None else loud


def test_what_the_lanes_execute_together_is_a_barrier_under_one_reading() -> None:
    assert found("", ELECTED, MEET, ERROR, LIKELY) == set()
    assert found("", ELECTED, MEET, READING) == {"warp-unsynchronised"}
    assert found(MEET, ELECTED, MEET, READING) == set()


# The PTX does not show how many bytes a tile of a tensor has; a lane's own are hardly all that it sends.
TILE = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [to,{{i,i}}],[{}]; cp.async.bulk.commit_group;"
ONE_TILE = f"setp.ne.u32 q,l,0; @q bra SENT; {TILE.format('s')} {WAIT} SENT:"
OWN_TILE = f"{TILE.format('a')} {WAIT}"


@pytest.mark.parametrize(
    ("before", "bulk", "behind", "rules"),
    [
        pytest.param(MEET, ONE_TILE, MEET, set(), id="right"),
        pytest.param(
            "", ONE_TILE, MEET, {"warp-unsynchronised"}, id="a lane sends what others may not have stored"
        ),
        pytest.param(
            MEET, ONE_TILE, "", {"warp-unsynchronised"}, id="others store again, one lane has waited"
        ),
        pytest.param("", OWN_TILE, "", set(), id="each lane sends its own"),
        pytest.param("bar.sync 0;", ONE_TILE, "bar.sync 0;", set(), id="all of the block meet"),
    ],
)
def test_a_lane_stores_a_tile_of_a_tensor(before: str, bulk: str, behind: str, rules: set[str]) -> None:
    assert found(before, bulk, behind, ERROR, LIKELY) == rules


def found(before: str, bulk: str, behind: str, *tiers: str) -> set[str]:
    """The rules of the findings of some tiers."""
    parts = {"BEFORE": before, "BULK": bulk, "BEHIND": behind}
    text = KERNEL
    for name, part in parts.items():
        text = text.replace(f"{name}\n", f"{part}\n")
    return {one.rule for one in check_text(text, "k.ptx").findings if one.tier in tiers}

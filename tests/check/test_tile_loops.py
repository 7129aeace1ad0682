"""Persistent kernels: what goes wrong in a block's second tile only, where blocks take turns by a literal stride."""

from __future__ import annotations

import pytest

from .test_phases import COPY, HEAD, NEXT, PRODUCT, STAGE, tiers

TURN = "add.u32 %r50,%r50,132; setp.lt.u32 %p14,%r50,%r51;\n@%p14 bra"
ROUND = NEXT.replace("%r10,%r10,1", "%r52,%r52,1").replace("%p15,%r10,%r0", "%p15,%r52,%r0")
# The producer and the consumers each go through the tiles of the block, with a ring of two stages.
PERSISTENT = (
    HEAD.replace("THREADS", "160").replace(".param .u32 n)", ".param .u32 n,.param .u32 m)")
    + """
.reg .b32 %m; ld.param.u32 %m,[m]; shr.u32 %m,%m,7; mul.lo.u32 %r51,%m,%m;
setp.ne.u32 %p5,%r1,0;
@%p5 bra NI;
mbarrier.init.shared::cta.b64 [%r30],1;
mbarrier.init.shared::cta.b64 [%r31],128;
mbarrier.init.shared::cta.b64 [%r30+8],1;
mbarrier.init.shared::cta.b64 [%r31+8],128;
NI:
bar.sync 0;
mov.u32 %r50,%ctaid.x; mov.u32 %r11,0; mov.u32 %r12,0; mov.u32 %r55,1;
setp.ge.u32 %p14,%r50,%r51;
@%p14 bra DONE;
setp.lt.u32 %p1,%r1,128;
@%p1 bra CT;
setp.ne.u32 %p2,%r1,128;
@%p2 bra DONE;
PT:
mov.u32 %r52,0;
AT_TILE
PL:
"""
    + STAGE
    + f"""
xor.b32 %r14,%r12,1;
PW:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r24],%r14;
@!%p3 bra PW;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r23],9216;
add.u32 %r41,%r21,8192;
{COPY} [%r21],[%d3],8192,[%r23];
{COPY} [%r41],[%d3],1024,[%r23];
{ROUND}
@%p15 bra PL;
{TURN} PT;
bra DONE;
CT:
mov.u32 %r52,0;
AT_TILE
CL:
"""
    + STAGE
    + f"""
CW:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r23],%r12;
@!%p3 bra CW;
{PRODUCT}
wgmma.wait_group.sync.aligned 0;
mbarrier.arrive.shared::cta.b64 _,[%r24];
{ROUND}
@%p15 bra CL;
STORE
{TURN} CT;
DONE:
ret;
}}
"""
)
STORE = "shl.b32 %r56,%r1,4; add.u32 %r56,%r2,%r56; st.shared.v4.b32 [%r56+FROM],{%r1,%r1,%r1,%r1};"
RIGHT = PERSISTENT.replace("AT_TILE", "").replace("STORE", STORE.replace("FROM", "65536"))
SLIPS = {
    "the ring begins anew with each tile, and its parities do not": (
        PERSISTENT.replace("AT_TILE", "mov.u32 %r11,0; mov.u32 %r12,0;").replace("STORE", ""),
        "copy-incomplete",
    ),
    "the results of a tile lie where the next tile is copied to": (
        RIGHT.replace("+65536]", "]"),
        "shared-unsynchronised",
    ),
}


def test_the_right_kernel_passes() -> None:
    assert tiers(RIGHT) == set()


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_of_the_second_tile_is_found(slip: str) -> None:
    text, rule = SLIPS[slip]
    assert ("error", rule) in tiers(text)


@pytest.mark.parametrize("slip", SLIPS)
def test_one_tile_hides_it(slip: str) -> None:
    """So it is the loop over tiles that is looked at."""
    text, rule = SLIPS[slip]
    assert ("error", rule) not in tiers(text.replace(TURN, TURN.replace("setp.lt", "setp.gt")))

"""With which two numbers of a parameter do threads decide alike, so that one execution shows what both would?

What must be answered was written from the PTX text first. The kernel goes round a loop over tiles of 64, with a
copy into shared memory in each round.
"""

from __future__ import annotations

import pytest

from ptxmma.check.execution.alike_sizes import decide_alike
from ptxmma.check.ptx.decode import DecodedFunction
from ptxmma.check.ptx.flow import build_flow
from ptxmma.check.ptx.operation import Operations
from ptxmma.check.ptx.reader import read_module
from ptxmma.check.walks.kernel_walks import KernelWalks
from ptxmma.check.walks.parameters import AssumedSizes
from ptxmma.check.walks.walk_plan import WalkPlan
from ptxmma.spec.api import load

KERNEL = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 src, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .pred p<9>; .reg .b32 n, m, i, t, a, b, tiles; .reg .b64 src;
.shared .align 16 .b8 tile[65536];
ld.param.u64 src,[src]; ld.param.u32 n,[n];
mov.u32 t,%tid.x; shl.b32 a,t,4; mov.u32 i,0; mov.u32 b,tile; add.u32 a,a,b;
TILES
setp.gt.s32 p1,tiles,0; @!p1 bra END;
LOOP: PLACE
GUARDcp.async.cg.shared.global [a],[src],16;
cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
STEP
@p2 bra LOOP;
END: ret;
}
"""
TILES = "add.u32 m,n,63; shr.u32 tiles,m,6;"
STEP = "add.u32 i,i,1; setp.lt.s32 p2,i,tiles;"


def walks_of(text: str) -> KernelWalks:
    """The walks of a kernel."""
    module = read_module(text, "k.ptx")
    (function,) = module.functions
    operations = Operations(load().judge(module.version, module.target))
    flow = build_flow(function, module, operations)
    return KernelWalks(module, DecodedFunction(function, operations), flow)


def plan_of(tiles: str = TILES, place: str = "", guard: str = "", step: str = STEP) -> WalkPlan:
    """The plan of the kernel's executions, with some of its text."""
    text = KERNEL.replace("TILES", tiles).replace("PLACE", place).replace("GUARD", guard)
    return walks_of(text.replace("STEP", step)).reading_plan


@pytest.mark.parametrize(
    ("plan", "one", "other", "alike"),
    [
        pytest.param(plan_of(), 341, 340, True, id="as-many-tiles"),
        pytest.param(plan_of(), 341, 320, False, id="one-tile-less"),
        pytest.param(plan_of(place="setp.lt.u32 p3,t,n;"), 341, 340, True, id="compared-for-nothing"),
        pytest.param(plan_of(place="setp.lt.u32 p3,t,n;", guard="@p3 "), 341, 340, False, id="guards-a-copy"),
        pytest.param(plan_of(place="add.u32 a,a,n;"), 341, 340, False, id="moves-a-copy"),
        pytest.param(
            plan_of(step="add.u32 i,i,64; setp.lt.s32 p2,i,n;"), 341, 340, False, id="loop-counts-elements"
        ),
        pytest.param(
            plan_of(tiles=f"setp.ne.u32 p4,t,0; @p4 bra OVER; {TILES} OVER:"),
            341,
            340,
            True,
            id="computed-on-one-path",
        ),
        pytest.param(
            plan_of(tiles=f"{TILES} setp.eq.u32 p4,t,0; @p4 mov.u32 tiles,n;"),
            341,
            340,
            False,
            id="some-threads-have-another",
        ),
        pytest.param(
            plan_of(
                place="st.shared.u32 [b],n; bar.sync 0; ld.shared.u32 tiles,[b];",
            ),
            341,
            340,
            False,
            id="read-from-shared-memory",
        ),
    ],
)
def test_decide_alike(plan: WalkPlan, one: int, other: int, alike: bool) -> None:
    assert decide_alike(plan, AssumedSizes(one), AssumedSizes(other)) is alike


def test_block_places() -> None:
    places = [AssumedSizes(341, (("%ctaid.x", number),)) for number in (0, 1)]
    assert decide_alike(plan_of(place="mov.u32 i,%ctaid.x;"), *places) is False
    assert decide_alike(plan_of(), *places) is True


@pytest.mark.parametrize(
    ("other", "alike"), [(340, True), (320, False)], ids=["as-many-tiles", "one-tile-less"]
)
@pytest.mark.parametrize("blocks", [2, 4])
def test_blocks_of_a_cluster(blocks: int, other: int, alike: bool) -> None:
    """Those of a cluster that are executed together decide as a single block does."""
    head = f".reqntid 128, 1, 1\n.reqnctapercluster {blocks}, 1, 1"
    text = KERNEL.replace(".reqntid 128, 1, 1", head).replace("PLACE", "").replace("GUARD", "")
    (walks,) = walks_of(text.replace("TILES", TILES).replace("STEP", STEP)).clusters
    assert decide_alike(walks.reading_cluster_plan, AssumedSizes(341), AssumedSizes(other)) is alike

"""The last warp of a block may have fewer than 32 threads: those that are not there part nothing."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("check/values/register_threads.py",)

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[4096];
.visible .entry k()
.reqntid 100, 1, 1
{
.reg .b32 %r<8>; .reg .pred %p<4>;
mov.u32 %r1, %tid.x;
setp.ge.u32 %p1, %r1, 64;
@%p1 bra DONE;
mov.u32 %r2, tile;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];
bar.sync 1, 64;
DONE:
ret;
}
"""


@pytest.mark.parametrize("first", [32, 64, 96])
def test_a_warp_of_four_threads(first: int) -> None:
    text = KERNEL.replace("%r1, 64", f"%r1, {first}").replace("sync 1, 64", f"sync 1, {first}")
    assert not [f for f in check_text(text, "k.ptx").findings if f.tier == "error"]


def test_some_of_its_threads_are_not_all() -> None:
    text = KERNEL.replace("%r1, 64", "%r1, 98")
    found = {f.rule: f.message for f in check_text(text, "k.ptx").findings if f.tier == "error"}
    assert "aligned-divergent" in found and "threads 98..99" in found["aligned-divergent"]


@pytest.mark.parametrize("lane", [3, 9])
def test_a_lane_that_it_lacks_gives_nothing(lane: int) -> None:
    shuffle = f"shfl.sync.idx.b32 %r4, %r1, {lane}, 31, -1;\nsetp.ge.u32 %p1, %r4, 64;"
    text = KERNEL.replace("setp.ge.u32 %p1, %r1, 64;", shuffle)
    assert not [f for f in check_text(text, "k.ptx").findings if f.tier == "error"]

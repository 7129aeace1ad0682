"""Warps that take turns with one buffer: who waits for what says which of them comes first, not the text.

Each warp waits for its turn, fills the buffer, starts a bulk store of it, waits for that, and lets the next warp
go. So the text has a store in front of a bulk store of the same bytes, and no barrier between them; but where one
warp stores, the bulk store of the other one is over, or has not begun. Verdicts are written from the PTX text
(sections on mbarriers, on barriers that some threads arrive at only, and on cp.async.bulk.wait_group).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

RACE = "shared-unsynchronised"
PENDING = "bulk-store-pending"
_HEAD = """.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 smem[];
.shared .align 8 .b8 turns[64];
.visible .entry k(.param .u32 n, .param .align 64 .b8 map[128])
.reqntid {threads}, 1, 1
{{
.reg .b32 %r<32>;
.reg .b64 %d<4>;
.reg .pred %p<8>;
ld.param.u32 %r0, [n];
mov.b64 %d0, map;
cvta.param.u64 %d1, %d0;
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5; // the warp
and.b32 %r3, %r1, 31; // the lane
setp.eq.u32 %p0, %r3, 0;
mov.u32 %r4, smem;
shl.b32 %r5, %r3, 4;
add.u32 %r5, %r4, %r5; // what a lane stores
mov.u32 %r6, turns;
shl.b32 %r7, %r2, 3;
add.u32 %r7, %r6, %r7; // the mbarrier of the warp's turn
xor.b32 %r8, %r7, 8; // of the other one's
setp.eq.u32 %p1, %r1, 0;
"""
# Two warps, one mbarrier for the turn of each. The second one lets the first one begin.
_MADE = """@%p1 mbarrier.init.shared::cta.b64 [turns], 1;
@%p1 mbarrier.init.shared::cta.b64 [turns+8], 1;
bar.sync 0;
setp.eq.u32 %p2, %r1, 32;
@%p2 mbarrier.arrive.shared::cta.b64 _, [turns];
"""
_ROUNDS = """mov.u32 %r10, %r2; // the tile
mov.u32 %r11, 0; // the phase
LOOP:
{wait}st.shared.v4.b32 [%r5], {{%r10, %r10, %r10, %r10}};
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@!%p0 bra NEXT;
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d1, {{%r10, %r10}}], [%r4];
cp.async.bulk.commit_group;
{over}{go}NEXT:
{pass_}xor.b32 %r11, %r11, 1;
add.u32 %r10, %r10, {warps};
setp.lt.u32 %p3, %r10, %r0;
@%p3 bra LOOP;
ret;
}}
"""
_OVER = "cp.async.bulk.wait_group 0;\n"
_WAIT = "{0}:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [{1}], {2};\n@!%p4 bra {0};\n"
_TURN = _WAIT.format("TURN", "%r7", "%r11")
_GO = "mbarrier.arrive.shared::cta.b64 _, [%r8];\n"
# The parity of one mbarrier says whose turn it is.
_MADE_ONE = "@%p1 mbarrier.init.shared::cta.b64 [turns], 1;\nbar.sync 0;\n"
_GO_ON = "mbarrier.arrive.shared::cta.b64 _, [turns];\n"
_PARITY = "xor.b32 %r12, %r2, 1;\n" + _WAIT.format("TURN", "%r6", "%r12")
# Named barriers: a warp meets the arrivals of the other one at the barrier of its number.
_NAMED = "add.u32 %r13, %r2, 1;\nbar.sync %r13, 64;\n"
_PASSED = "bar.warp.sync -1;\nsub.u32 %r14, 2, %r2;\nbar.arrive %r14, 64;\n"
_BEGIN = "setp.eq.u32 %p2, %r2, 1;\n@%p2 bar.arrive 1, 64;\n"
# A chain of four warps: each lets the next one go, and the first one waits for nobody.
_CHAIN = (
    "".join(f"@%p1 mbarrier.init.shared::cta.b64 [turns+{8 * warp}], 1;\n" for warp in range(4))
    + "bar.sync 0;\nsetp.{condition};\nsetp.eq.u32 %p5, %r2, 3;\n"
)
_LINK = "@%p2 bra MINE;\n" + _TURN + "MINE:\n"
_HAND_ON = "@%p5 bra NEXT;\nmbarrier.arrive.shared::cta.b64 _, [%r7+8];\n"


def _kernel(
    made: str, wait: str = "", go: str = "", pass_: str = "", over: str = _OVER, warps: int = 2
) -> str:
    rounds = _ROUNDS.format(wait=wait, over=over, go=go, pass_=pass_, warps=warps)
    return _HEAD.format(threads=32 * warps) + made + rounds


def _chain(condition: str) -> str:
    """Four warps have one turn each. `condition`: which of them wait for nobody."""
    text = _kernel(_CHAIN.format(condition=condition), _LINK, _HAND_ON, warps=4)
    return text.replace("@%p3 bra LOOP;\n", "")


def _loud(text: str) -> set[str]:
    report = check_text(text, "k.ptx")
    loud = {finding.rule for finding in report.findings if finding.tier in ("error", "likely")}
    assert report.error is None and (loud or not report.not_judged)
    return loud


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(_kernel(_MADE, _TURN, _GO), set(), id="two-mbarriers"),
        pytest.param(_kernel(_MADE, "", _GO), {RACE}, id="nobody-waits-for-its-turn"),
        pytest.param(_kernel(_MADE, _TURN, _GO, over=""), {PENDING}, id="bulk-store-is-not-over"),
        pytest.param(_kernel(_MADE, _TURN, _GO + _OVER, over=""), {RACE}, id="let-go-too-early"),
        pytest.param(
            _kernel(_MADE + "@%p1 " + _GO, _TURN, _GO),
            {RACE},
            id="both-begin",
        ),
        pytest.param(_kernel(_MADE_ONE, _PARITY, _GO_ON), set(), id="one-mbarrier"),
        pytest.param(_kernel(_MADE_ONE, _PARITY, _GO_ON + _OVER, over=""), {RACE}, id="one-let-go-too-early"),
        pytest.param(_kernel(_BEGIN, _NAMED, pass_=_PASSED), set(), id="named-barriers"),
        pytest.param(_kernel(_BEGIN, "", pass_=_PASSED), {RACE}, id="named-barriers-nobody-meets"),
        pytest.param(_kernel(_BEGIN, _NAMED, pass_=_PASSED, over=""), {PENDING}, id="named-not-over"),
        pytest.param(_chain("eq.u32 %p2, %r2, 0"), set(), id="chain"),
        pytest.param(_chain("le.u32 %p2, %r2, 1"), {RACE}, id="chain-of-which-two-wait-for-nobody"),
    ],
)  # fmt: skip
def test_turns(text: str, expected: set[str]) -> None:
    assert _loud(text) == expected


# Two warpgroups take turns; one thread of each starts the bulk store of what all of its warps have stored.
_GROUPS = (
    (_HEAD.format(threads=256) + _MADE)
    .replace("shr.u32 %r2, %r1, 5;", "shr.u32 %r2, %r1, 7;")
    .replace("and.b32 %r3, %r1, 31;", "and.b32 %r3, %r1, 127;")
    .replace("setp.eq.u32 %p2, %r1, 32;", "setp.eq.u32 %p2, %r1, 128;")
) + _ROUNDS.format(wait=_TURN, over=_OVER, go=_GO, pass_="", warps=2)
_MEETING = "add.u32 %r13, %r2, 1;\nbar.sync %r13, 128;\n"


@pytest.mark.parametrize(
    ("meeting", "expected"),
    [
        pytest.param(_MEETING, set(), id="the-warpgroup-meets"),
        pytest.param("bar.warp.sync -1;\n", {RACE}, id="its-warps-do-not-meet"),
    ],
)
def test_the_warps_of_one_turn_must_meet(meeting: str, expected: set[str]) -> None:
    """They wait for the same, so that none of them comes before another."""
    text = _GROUPS.replace("bar.warp.sync -1;\n", meeting)
    assert _loud(text) == expected
    for finding in check_text(text, "k.ptx").findings:
        if finding.rule == RACE:
            assert "thread 32 " in finding.message or "thread 160 " in finding.message


def test_a_meeting_of_some_ends_no_turn() -> None:
    """A warpgroup that has waited for its turn meets, and still has it."""
    text = _GROUPS.replace("bar.warp.sync -1;\n", _MEETING).replace(
        "\nst.shared", "\n" + _MEETING + "st.shared"
    )
    assert _loud(text) == set()
    assert _loud(text.replace(_TURN, "")) == {RACE}

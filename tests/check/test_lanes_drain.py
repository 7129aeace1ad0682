"""Lanes of a warp store, and one of them starts a bulk store of the bytes: they must have met in between.

So they must between its wait and the next stores. An instruction that the lanes execute together, as elect.sync, is a
reading of warp-sync (9.7.13.2). Each lane fences its own stores: by itself a fence orders no other lane. What must be
found was written down before the checker ran.
"""

from __future__ import annotations

import pytest

from .changed_kernels import told

WATCHES = ("check/rules.yaml",)
KERNEL = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 rounds, .param .align 64 .b8 map[128])
.reqntid 64, 1, 1
{
.reg .pred p, q, z; .reg .b32 t, s, a, n, i, v, lane, warp, mask, m; .reg .b64 o, d;
.shared .align 8 .b64 met[2]; .shared .align 128 .b8 tile[2048];
ld.param.u64 o,[out]; ld.param.u32 n,[rounds]; mov.b64 d,map; cvta.param.u64 d,d;
mov.u32 t,%tid.x; and.b32 lane,t,31; shr.u32 warp,t,5; setp.ne.u32 z,lane,0; mov.u32 i,0; mad.lo.u32 s,warp,1024,tile;
mad.lo.u32 a,lane,16,s; mad.lo.u32 m,warp,8,met; mul.lo.u32 v,warp,512; cvt.u64.u32 o,v;
and.b32 mask,lane,16; shl.b32 mask,0xffff,mask;
@!z mbarrier.init.shared::cta.b64 [m],32;
bar.sync 0;
AGAIN: setp.ge.u32 p,i,n; @p bra END;
BEFORE
st.shared.v4.b32 [a],{i,i,i,i};
fence.proxy.async.shared::cta;
BETWEEN
@z bra ON;
cp.async.bulk.global.shared::cta.bulk_group [o],[s],512;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
ON: add.u32 i,i,1; bra AGAIN;
END: @z bra LEAVE;
cp.async.bulk.wait_group 0;
LEAVE: ret;
}
"""
MEET = "bar.warp.sync -1;\n"
STORE = "cp.async.bulk.global.shared::cta.bulk_group [o],[s],512;\n"
TENSOR = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [d,{i,i}],[s];\n"
TOGETHER = {
    "a shuffle": "shfl.sync.idx.b32 v,i,0,31,-1;\n",
    "a vote": "vote.sync.any.pred p,z,-1;\n",
    "an election": "elect.sync v|p,-1;\n",
}
LIKELY = [("likely", "warp-unsynchronised")]
READING = [("reading", "warp-unsynchronised")]


def found(before: str, between: str, store: str = STORE) -> list[tuple[str, str]]:
    return told(KERNEL, [("BEFORE\n", before), ("BETWEEN\n", between), (STORE, store)])


RIGHT = {
    "they meet": MEET,
    "the block meets": "bar.sync 0;\n",
    "each of the lanes names its half, and all meet later": "bar.warp.sync mask;\n" + MEET,
    "the lane that stores them fences once more": MEET + "fence.proxy.async.shared::cta;\n",
    "a mask that is not known": "ld.global.u32 v,[o];\nbar.warp.sync v;\n",
    "a phase of an mbarrier": "mbarrier.arrive.shared::cta.b64 _,[m];\nand.b32 v,i,1;\n"
    "TRY: mbarrier.try_wait.parity.shared::cta.b64 q,[m],v; @!q bra TRY;\n",
}
WRONG = {
    "nothing": "",
    "a fence of all memory, and nobody tells": "fence.proxy.async;\n",
    "half of them meet": "bar.warp.sync mask;\n",
}


@pytest.mark.parametrize("store", [STORE, TENSOR], ids=["bytes", "a box"])
class TestStoredByAnotherLane:
    @pytest.mark.parametrize("between", RIGHT.values(), ids=RIGHT)
    def test_they_know(self, between: str, store: str) -> None:
        assert found(MEET, between, store) == []

    @pytest.mark.parametrize("between", WRONG.values(), ids=WRONG)
    def test_they_do_not(self, between: str, store: str) -> None:
        assert found(MEET, between, store) == LIKELY

    @pytest.mark.parametrize("between", TOGETHER.values(), ids=TOGETHER)
    def test_they_execute_something_together(self, between: str, store: str) -> None:
        assert found(MEET, between, store) == READING

    @pytest.mark.parametrize(("before", "expected"), [(MEET, []), ("bar.sync 0;\n", []), ("", LIKELY)])
    def test_the_next_round_stores_behind_the_wait(
        self, before: str, expected: list[tuple[str, str]], store: str
    ) -> None:
        """The wait is one of the lane that has started the bulk store: it tells no other lane."""
        assert found(before, MEET, store) == expected

    @pytest.mark.parametrize("before", TOGETHER.values(), ids=TOGETHER)
    def test_they_execute_something_together_before_the_next_stores(self, before: str, store: str) -> None:
        assert found(before, MEET, store) == READING


def test_what_a_lane_has_stored_itself() -> None:
    """Each lane starts a bulk store of its own 16 bytes; or of those of its neighbour."""
    lines = [("BEFORE\n", ""), ("BETWEEN\n", ""), ("@z bra ON;\n", ""), ("@z bra LEAVE;\n", "")]
    own = STORE.replace("[s],512", "[a],16")
    assert told(KERNEL, [*lines, (STORE, own)]) == []
    assert told(KERNEL, [*lines, (STORE, TENSOR.replace("[s]", "[a]"))]) == []
    others = "xor.b32 v,a,16;\n" + own.replace("[a]", "[v]")
    assert told(KERNEL, [*lines, (STORE, others)]) == LIKELY


def test_one_lane_stores_and_starts() -> None:
    lines = [("BEFORE\n", "@z bra ON;\n"), ("BETWEEN\n", "")]
    assert told(KERNEL, [*lines, (STORE, STORE.replace("512", "16"))]) == []


def test_the_lanes_store_other_bytes() -> None:
    assert found("", "", STORE.replace("[s]", "[s+512]")) == []
    assert found("", "", TENSOR.replace("[s]", "[s+512]")) == []


def test_what_they_have_stored_behind_the_box_since_they_met() -> None:
    """The next stage lies right behind: nobody has begun to store that one."""
    behind = MEET + "st.shared.v4.b32 [a+512],{i,i,i,i};\n"
    assert found(MEET, behind, STORE) == []
    assert found(MEET, behind, TENSOR) == []


UNFENCED = [("likely", "bulk-store-fence")]
OTHERS = [("reading", "bulk-store-fence")]  # the fence is not the writers' own (proxy-fence-side)
FENCE = "fence.proxy.async.shared::cta;\n"
FENCED = {
    "all": (FENCE + MEET, STORE, []),
    "only the one that stores them, and then they meet": ("@!z " + FENCE + MEET, STORE, UNFENCED),
    "the same, and it takes what it has stored itself": (
        "@!z " + FENCE + MEET,
        STORE.replace("512", "16"),
        [],
    ),
    "only the one that stores them, behind the meeting": (MEET + "@!z " + FENCE, STORE, OTHERS),
    "before and behind it": ("@!z " + FENCE + MEET + "@!z " + FENCE, STORE, OTHERS),
    "one half after the other": (
        "setp.lt.u32 q,lane,16;\n@q " + FENCE + "@!q " + FENCE + MEET,
        STORE,
        [],
    ),
    "one that is elected: the lanes have come there together": (
        "elect.sync v|q,-1;\n@q " + FENCE + MEET,
        STORE,
        OTHERS,
    ),
    "one, and all again behind another meeting": ("@!z " + FENCE + MEET + FENCE + MEET, STORE, []),
}


@pytest.mark.parametrize("case", FENCED)
def test_which_lanes_fence(case: str) -> None:
    """A fence of one lane follows no stores of others that it has not met since."""
    between, store, expected = FENCED[case]
    lines = [("BEFORE\n", MEET), (FENCE + "BETWEEN\n", between), (STORE, store)]
    assert told(KERNEL, lines) == expected

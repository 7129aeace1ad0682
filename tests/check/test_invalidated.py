"""An mbarrier that was invalidated (9.7.13.15.11) is used again only behind another init, and none is initialised
again while others use it, or where one is valid (9.7.13.15.9). Whether the wait of one warp for a product tells of
such a use is open.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k()
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.ne.u32 %p1,%r1,0;
@!%p1 mbarrier.init.shared::cta.b64 [%r2],64;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+8],64;
bar.sync 0;
mbarrier.arrive.shared::cta.b64 _,[%r2];
W: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2],0; @!%p2 bra W;
bar.sync 0;
@!%p1 mbarrier.inval.shared::cta.b64 [%r2];
bar.sync 0;
THEN
ret;
}
"""
INIT = "@!%p1 mbarrier.init.shared::cta.b64 [%r2],64; bar.sync 0;"
ARRIVE = "mbarrier.arrive.shared::cta.b64 _,[%r2];"
WAIT = "V: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2],0; @!%p3 bra V;"


@pytest.mark.parametrize(
    ("then", "rules"),
    [
        ("", set()),
        (ARRIVE, {"barrier-uninitialised"}),
        (WAIT, {"barrier-uninitialised"}),
        (INIT + ARRIVE + WAIT, set()),
        (INIT, set()),  # nobody waits for its phases; the wait was for one of the mbarrier before
        (INIT + WAIT, {"barrier-stuck"}),  # it counts anew
        ((ARRIVE + WAIT).replace("[%r2]", "[%r2+8]"), set()),
    ],
    ids=["none", "arrival", "wait", "again", "again, unused", "again, without arrivals", "another one"],
)
def test_an_invalidated_mbarrier(then: str, rules: set[str]) -> None:
    findings = check_text(KERNEL.replace("THEN", then), "k.ptx").findings
    assert {one.rule for one in findings} == rules
    assert all(one.tier == "likely" for one in findings if one.rule == "barrier-uninitialised")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("@!%p2 bra W;\nbar.sync 0;", "@!%p2 bra W;", {"barrier-uninitialised"}),  # others may wait still
        ("@!%p2 bra W;\nbar.sync 0;", "@!%p2 bra W;\nbar.warp.sync -1;", {"barrier-uninitialised"}),
        # Only the invalidating warp waits, and the phase tells it of all arrivals.
        ("W: mbarrier", "setp.ge.u32 %p4,%r1,32; @%p4 bra E; W: mbarrier", set()),
    ],
    ids=["no barrier", "one warp's barrier", "one waits"],
)
def test_an_mbarrier_is_invalidated_too_early(old: str, new: str, found: set[str]) -> None:
    text = KERNEL.replace("THEN", "")
    text = text.replace(old, new)
    if "bra E" in new:
        text = text.replace("@!%p2 bra W;\nbar.sync 0;", "@!%p2 bra W;").replace(
            "bar.sync 0;\n\nret", "E: ret"
        )
    assert {one.rule for one in check_text(text, "k.ptx").findings} == found


@pytest.mark.parametrize(
    "ends",
    [
        "mbarrier.inval.shared::cta.b64 [%r2]",
        "mbarrier.inval.shared::cta.b64 [%r2];\n@!%p1 mbarrier.init.shared::cta.b64 [%r2],64",
    ],
    ids=["invalidated", "initialised again"],
)
@pytest.mark.parametrize(("barrier", "early"), [("bar.sync 0;", False), ("", True)])
def test_an_mbarrier_ends_too_early(ends: str, barrier: str, early: bool) -> None:
    """The other warp may wait still: a barrier must stand between."""
    text = KERNEL.replace("THEN", "").replace("mbarrier.inval.shared::cta.b64 [%r2]", ends)
    text = text.replace("@!%p2 bra W;\nbar.sync 0;", f"@!%p2 bra W;\n{barrier}")
    found = [one for one in check_text(text, "k.ptx").findings if one.rule == "barrier-uninitialised"]
    assert len(found) == early
    assert all("it is invalidated, and no barrier stands between" in one.message for one in found)


@pytest.mark.parametrize("then", ["", ARRIVE + WAIT], ids=["unused", "used again"])
@pytest.mark.parametrize(("barrier", "early"), [("bar.sync 0;", False), ("", True)])
def test_a_valid_mbarrier_is_initialised_again(barrier: str, early: bool, then: str) -> None:
    again = "mbarrier.init.shared::cta.b64 [%r2],64"
    text = KERNEL.replace("THEN", then).replace("mbarrier.inval.shared::cta.b64 [%r2]", again)
    text = text.replace("@!%p2 bra W;\nbar.sync 0;", f"@!%p2 bra W;\n{barrier}")
    (one,) = [one for one in check_text(text, "k.ptx").findings if one.rule == "barrier-uninitialised"]
    why = (
        "no barrier stands between its use" if early else "mbarrier.inval has not ended the one that is there"
    )
    assert one.tier == "likely" and f"it is initialised again, and {why}" in one.message


TILES = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 tiles, .param .u32 where)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .shared .align 8 .b64 m[4];
mov.u32 %r1,%tid.x; mov.u32 %r2,m; setp.ne.u32 %p1,%r1,0; ld.param.u32 %r3,[tiles]; ld.param.u32 %r4,[where];
mov.u32 %r5,0;
BEFORE
L: setp.ge.u32 %p2,%r5,%r3; @%p2 bra E;
INIT
bar.sync 0;
mbarrier.arrive.shared::cta.b64 _,[%r2];
W: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2],PHASE; @!%p3 bra W;
bar.sync 0;
END
add.u32 %r5,%r5,1; bra L;
E: ret;
}
"""
MAKE = "@!%p1 mbarrier.init.shared::cta.b64 [%r2],64;"


@pytest.mark.parametrize(
    ("before", "init", "phase", "end", "wrong"),
    [
        ("", MAKE, "0", "@!%p1 mbarrier.inval.shared::cta.b64 [%r2]; bar.sync 0;", False),
        ("", MAKE, "0", "", True),
        ("and.b32 %r6,%r5,1;" + MAKE, "and.b32 %r6,%r5,1;", "%r6", "", False),
        (MAKE + "bar.sync 0;" + MAKE, "and.b32 %r6,%r5,1;", "%r6", "", True),
        # One that lies where a parameter says may lie elsewhere.
        (
            f"mad.lo.u32 %r7,%r4,8,%r2; {MAKE.replace('%r2', '%r7')} {MAKE.replace('%r2', '%r7+8')}"
            f"mad.lo.u32 %r7,%r3,8,%r2; {MAKE.replace('%r2', '%r7')} {MAKE}",
            "and.b32 %r6,%r5,1;",
            "%r6",
            "",
            False,
        ),
    ],
    ids=["of each tile", "of each tile, and it stays valid", "once", "twice", "at two parameters"],
)
def test_mbarriers_of_tiles(before: str, init: str, phase: str, end: str, wrong: bool) -> None:
    text = TILES.replace("BEFORE", before).replace("INIT", init).replace("PHASE", phase).replace("END", end)
    found = {one.rule for one in check_text(text, "k.ptx").findings if one.tier in ("error", "likely")}
    assert found == ({"barrier-uninitialised"} if wrong else set())


PRODUCT = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 out)
.reqntid THREADS, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; setp.ne.u32 %p1,%r1,0; ld.param.u64 %rd1,[out];
shr.u32 %r3,%r2,4; and.b32 %r3,%r3,16383; cvt.u64.u32 %rd2,%r3; or.b64 %rd2,%rd2,0x4000004000000000;
add.u64 %rd3,%rd2,256;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+16384],1;
bar.sync 0;
@!%p1 mbarrier.arrive.shared::cta.b64 _,[%r2+16384];
mov.f32 %f0,0f00000000; mov.f32 %f1,%f0; mov.f32 %f2,%f0; mov.f32 %f3,%f0;
W: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2+16384],0; @!%p2 bra W;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd2, %rd3, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
BEFORE
@!%p1 mbarrier.inval.shared::cta.b64 [%r2+16384];
BEHIND
st.global.f32 [%rd1],%f0;
ret;
}
"""
PRODUCT_WAIT = "wgmma.wait_group.sync.aligned 0;"
AGAIN = "V: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+16384],0; @!%p3 bra V;"


@pytest.mark.parametrize(
    ("before", "behind", "threads", "tiers"),
    [
        # The product is complete once the other warps have issued it, behind their own wait.
        (PRODUCT_WAIT, "", 128, ["reading"]),
        (PRODUCT_WAIT + "bar.sync 0;", "", 128, []),
        ("", PRODUCT_WAIT, 128, ["likely"]),
        (PRODUCT_WAIT + AGAIN, "", 128, ["likely"]),  # the product says nothing of the second wait
        (PRODUCT_WAIT, "", 256, ["likely"]),  # nor of another warpgroup
    ],
    ids=["behind the product", "behind a barrier", "beside it", "behind another wait", "of two warpgroups"],
)
def test_an_mbarrier_is_invalidated_behind_a_product(
    before: str, behind: str, threads: int, tiers: list[str]
) -> None:
    text = PRODUCT.replace("BEFORE", before).replace("BEHIND", behind).replace("THREADS", str(threads))
    found = [one for one in check_text(text, "k.ptx").findings if one.rule == "barrier-uninitialised"]
    assert [one.tier for one in found] == tiers
    assert all(one.readings == ((("wait-scope", "warp"),),) for one in found if one.tier == "reading")


@pytest.mark.parametrize(
    ("made", "rules"),
    [
        ("setp.ne.u32 %p4,%r1,0; @!%p4 mbarrier.init.shared::cta.b64 [%r2],64;", set()),
        ("elect.sync _|%p4,-1; @%p4 mbarrier.init.shared::cta.b64 [%r2],64;", {"barrier-uninitialised"}),
        ("setp.lt.u32 %p4,%r1,2; @%p4 mbarrier.init.shared::cta.b64 [%r2],64;", {"barrier-uninitialised"}),
        (
            "setp.lt.u32 %p4,%r1,2; mad.lo.u32 %r3,%r1,8,%r2; @%p4 mbarrier.init.shared::cta.b64 [%r3],64;",
            set(),
        ),
    ],
    ids=["a thread", "a lane of each warp", "two lanes", "two lanes, each another one"],
)
def test_one_thread_initialises(made: str, rules: set[str]) -> None:
    head, body = KERNEL.split("@!%p1 mbarrier.init.shared::cta.b64 [%r2],64;\n")
    rest = body.replace("@!%p1 mbarrier.init.shared::cta.b64 [%r2+8],64;\n", "").replace("THEN", "")
    findings = check_text(f"{head}{made}\n{rest}", "k.ptx").findings
    assert {(one.rule, one.tier) for one in findings} == {(rule, "likely") for rule in rules}


def test_several_that_threads_initialise_are_told_once() -> None:
    text = KERNEL.replace("@!%p1 mbarrier.init", "mbarrier.init").replace("THEN", "")
    (one,) = (one for one in check_text(text, "k.ptx").findings if one.rule == "barrier-uninitialised")
    assert one.more == 1


INVAL = "mbarrier.inval.shared::cta.b64 [%r2+8];"
GUARDED = "@!%p1 " + INVAL
OTHER = "setp.ne.u32 %p4,%r1,32; @!%p4 " + INVAL  # a thread of the other warp
MADE = "bar.sync 0;\n@!%p1 mbarrier.init.shared::cta.b64 [%r2+8],64;\n"


@pytest.mark.parametrize(
    ("then", "found"),
    [
        (GUARDED, set()),
        (OTHER, set()),
        (GUARDED + MADE + GUARDED, set()),
        ("@!%p1 mbarrier.init.shared::cta.b64 [%r2],64;\nbar.sync 0;\n" + GUARDED.replace("+8", ""), set()),
        (
            "setp.lt.u32 %p4,%r1,2; mad.lo.u32 %r3,%r1,8,%r2;"
            "@!%p1 mbarrier.init.shared::cta.b64 [%r2],64;\nbar.sync 0;\n"
            "@%p4 mbarrier.inval.shared::cta.b64 [%r3];",
            set(),
        ),
        (GUARDED + GUARDED, {("barrier-uninitialised", "likely")}),
        (GUARDED + OTHER, {("barrier-uninitialised", "likely")}),
        (GUARDED + "bar.sync 0;\n" + OTHER, {("barrier-uninitialised", "likely")}),
        ("setp.lt.u32 %p4,%r1,2; @%p4 " + INVAL, {("barrier-uninitialised", "likely")}),
        (INVAL, {("barrier-uninitialised", "likely")}),
        (GUARDED.replace("+8", "+16"), {("barrier-uninitialised", "error")}),
        (GUARDED.replace("+8", ""), {("barrier-uninitialised", "likely")}),
        (GUARDED + MADE + OTHER, {("barrier-unpublished", "error")}),
    ],
    ids=[
        "once",
        "by another warp",
        "twice, with an init in between",
        "the other one again, behind another init",
        "two, by a thread each",
        "twice",
        "by two warps",
        "by two warps, one later",
        "by two lanes",
        "by all threads",
        "one that nobody has made",
        "one that is invalid already",
        "by a warp that does not know that it was made",
    ],
)
def test_what_is_invalidated_is_valid(then: str, found: set[tuple[str, str]]) -> None:
    """No operation but mbarrier.init is defined on what is no valid mbarrier (9.7.13.15.11)."""
    findings = check_text(KERNEL.replace("THEN", then), "k.ptx").findings
    assert {(one.rule, one.tier) for one in findings} == found

"""Threads that a branch parts may jump past a later branch that asks the same."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 n, .param .u64 p)
.reqntid 128, 1, 1
{
.reg .pred %p<8>;
.reg .b32 %r<8>;
.reg .b64 %d<8>;
ld.param.u32 %r1, [n];
ld.param.u64 %d1, [p];
mov.u32 %r2, %tid.x;
wgmma.fence.sync.aligned;
setp.eq.s32 %p1, %r1, 0;
setp.eq.s32 %p2, %r1, 7;
setp.ne.u32 %p3, %r2, 0;
"""
# Thread 0 does something alone. Its side jumps behind the barrier where LATER says that nobody meets there.
BODY = """@%p3 bra MEET;
@{first} bra BEHIND;
st.global.u32 [%d1], %r1;
MEET:
{defined}@{later} bra BEHIND;
bar.sync 0;
BEHIND:
ret;
}}
"""


def rules(first: str, later: str, defined: str = "") -> list[tuple[str, str]]:
    text = HEAD + BODY.format(first=first, later=later, defined=defined)
    return [(one.tier, one.rule) for one in check_text(text, "k.ptx").findings if "aligned" in one.rule]


@pytest.mark.parametrize(
    ("first", "later", "defined"),
    [
        ("%p1", "%p1", ""),
        ("!%p1", "!%p1", ""),
        ("%p1", "%p4", "or.pred %p4, %p1, %p2;\n"),  # whoever jumps past it, all jump
        ("%p1", "!%p5", "not.pred %p4, %p1;\nand.pred %p5, %p4, %p2;\n"),
    ],
)
def test_both_sides_ask_the_same(first: str, later: str, defined: str) -> None:
    assert rules(first, later, defined) == []


@pytest.mark.parametrize(
    ("first", "later", "defined"),
    [
        ("%p1", "!%p1", ""),  # one slip away: thread 0 leaves where the others stay
        ("%p1", "%p2", ""),
        ("%p1", "%p4", "and.pred %p4, %p1, %p2;\n"),
        ("%p1", "%p4", "setp.eq.u32 %p4, %r2, 5;\n"),  # threads differ in it
    ],
)
def test_they_ask_something_else(first: str, later: str, defined: str) -> None:
    assert ("error", "aligned-divergent") in rules(first, later, defined)


ROLES = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 n)
.reqntid 256, 1, 1
{{
.reg .pred %p<8>;
.reg .b32 %r<8>;
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
setp.lt.u32 %p1, %r2, {producers};
@%p1 bra PRODUCE;
setp.lt.u32 %p2, %r2, {first};
setp.eq.s32 %p3, %r1, 0;
or.pred %p4, %p2, %p3;
@%p4 bra END;
wgmma.fence.sync.aligned;
bra.uni END;
PRODUCE:
nanosleep.u32 8;
END:
ret;
}}
"""


@pytest.mark.parametrize(
    ("producers", "first", "wrong"),
    [
        (32, 128, False),  # warp 0 produces, warps 1 to 3 do nothing, warpgroup 1 multiplies
        (32, 96, True),  # one slip away: warp 3 multiplies without its warpgroup
        (160, 128, True),  # and here warp 4 does not
        (128, 32, False),
    ],
)
def test_roles_of_warps(producers: int, first: int, wrong: bool) -> None:
    text = ROLES.format(producers=producers, first=first)
    found = [one.rule for one in check_text(text, "k.ptx").findings if one.tier == "error"]
    assert found == ["aligned-divergent"] * wrong


WAITED = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 8 .b64 full;
.shared .align 16 .b8 tile[4096];
.visible .entry k()
.reqntid 32, 1, 1
{{
.reg .pred %p<8>;
.reg .b32 %r<16>;
mov.u32 %r2, %tid.x;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra TOGETHER;
mov.u32 %r3, 0;
AGAIN:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;
@%p2 bra TOGETHER;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p3, %r3, 100;
@%p3 bra AGAIN;
{gives_up}
TOGETHER:
mov.u32 %r4, tile;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r5}}, [%r4];
ret;
}}
"""


@pytest.mark.parametrize(
    ("gives_up", "rules"),
    [
        ("trap;", []),  # it ends the whole kernel: no lane goes on without thread 0
        ("trap; bra AGAIN;", []),
        ("trap; exit;", []),
        ("exit;", ["aligned-divergent"]),  # one slip away: thread 0 alone ends
    ],
)
def test_a_lane_that_gives_up_waiting_ends_the_whole_kernel(gives_up: str, rules: list[str]) -> None:
    found = check_text(WAITED.format(gives_up=gives_up), "k.ptx").findings
    assert [one.rule for one in found if one.rule.startswith("aligned") and one.tier != "info"] == rules


# Warps 4 and 5 of 192 threads have roles of their own; the first four multiply.
ALONE = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 n)
.maxntid 192, 1, 1
{{
.reg .pred %p<8>;
.reg .b32 %r<8>;
mov.u32 %r2, %tid.x;
shr.u32 %r3, %r2, 5;
setp.eq.s32 %p1, %r3, {first};
@%p1 bra COPY;
{second}
@%p2 bra STORE;
wgmma.fence.sync.aligned;
bra END;
COPY:
bar.arrive 1, 64;
bra END;
STORE:
bar.sync 1, 64;
END:
ret;
}}
"""
ROLE = "setp.eq.s32 %p2, %r3, {};"


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        pytest.param(4, ROLE.format(5), [], id="the other one has gone"),
        pytest.param(5, ROLE.format(4), [], id="the roles in turn"),
        pytest.param(4, "setp.gt.s32 %p2, %r3, 4;", [], id="compared otherwise"),
        pytest.param(4, "setp.eq.s32 %p3, %r3, 5;\nnot.pred %p2, %p3;\nnot.pred %p2, %p2;", [], id="negated"),
        pytest.param(4, ROLE.format(3), ["aligned-divergent"], id="a warp of the four"),
        pytest.param(6, ROLE.format(5), ["aligned-divergent"], id="warp 4 comes, too"),
        pytest.param(3, ROLE.format(5), ["aligned-divergent"], id="the first role is one of the four"),
    ],
)
def test_a_branch_parts_only_threads_that_come_to_it(first: int, second: str, verdict: list[str]) -> None:
    found = check_text(ALONE.format(first=first, second=second), "k.ptx").findings
    assert [one.rule for one in found if one.tier == "error" and "aligned" in one.rule] == verdict


BITS = "".join(
    f"and.b32 %r5, %r2, {1 << bit};\nsetp.ne.u32 %p7, %r5, 0;\n@%p7 bra BIT{bit};\nst.global.u32 [%d1], %r5;\nBIT{bit}:\n"
    for bit in range(5)
)  # fmt: skip
MANY_ROLES = f"""shr.u32 %r3, %r2, 5;
setp.gt.s32 %p1, %r3, 9;
@%p1 bra HIGH;
setp.ne.s32 %p2, %r3, 8;
@%p2 bra NINE;
{BITS}bra.uni END;
NINE:
setp.ne.s32 %p4, %r3, 9;
@%p4 bra OTHERS;
st.global.u32 [%d1], %r3;
bra.uni END;
HIGH:
setp.lt.s32 %p5, %r3, FIRST;
@%p5 bra END;
OTHERS:
sub.u32 %r4, %r3, FIRST;
setp.gt.u32 %p6, %r4, 19;
@%p6 bra END;
setmaxnreg.dec.sync.aligned.u32 48;
END:
ret;
}}
"""


@pytest.mark.parametrize(
    ("first", "expected"), [("12", []), ("11", [("reading", "aligned-divergent")])], ids=["right", "wrong"]
)
def test_a_branch_parts_a_warpgroup_that_never_comes_there(
    first: str, expected: list[tuple[str, str]]
) -> None:
    """Warps 8 to 11 have roles of their own, and FIRST to 31 give registers back: from 12 on whole warpgroups.
    There are more ways through the roles than are looked at.
    """
    text = HEAD.replace("reqntid 128", "reqntid 1024").replace("wgmma.fence.sync.aligned;\n", "")
    text += MANY_ROLES.replace("FIRST", first)
    assert [(one.tier, one.rule) for one in check_text(text, "k.ptx").findings] == expected


# Thread 0 does something alone; then warps 2 and 3 may load. DEFINED says who loads; %r3 is the warp's number.
JOINED = """shr.u32 %r3, %r2, 5;
setp.eq.u32 %p4, %r2, 0;
DEFINED@%p4 bra ALONE;
@{guard} bra LOADS;
bra BEHIND;
ALONE:
st.global.u32 [%d1], %r1;
bra BEHIND;
LOADS:
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r4}}, [%r2];
BEHIND:
ret;
}}
"""


@pytest.mark.parametrize(
    ("guard", "defined", "wrong"),
    [
        ("%p5", "setp.ge.and.u32 %p5, %r3, 2, %p1;\n", False),
        ("!%p5", "setp.lt.or.u32 %p5, %r3, 2, %p1;\n", False),
        ("%p5", "setp.ge.u32 %p6, %r3, 2;\nsetp.eq.and.u32 %p5, %r1, 5, %p6;\n", False),
        ("%p5", "setp.ge.u32 %p6, %r3, 2;\nand.pred %p5, %p1, %p6;\n", False),
        ("!%p5", "setp.ge.u32 %p6, %r3, 2;\nor.pred %p5, %p1, !%p6;\n", False),
        ("%p5", "setp.ge.u32 %p6, %r3, 2;\nand.pred %p7, %p1, %p6;\nand.pred %p5, %p7, %p2;\n", False),
        # Threads of the first warp load, too.
        ("%p5", "setp.ge.or.u32 %p5, %r3, 2, %p1;\n", True),
        ("!%p5", "setp.ge.and.u32 %p5, %r3, 2, %p1;\n", True),
        ("%p5", "setp.ge.and.u32 %p5, %r3, 0, %p1;\n", True),
        ("%p5", "setp.ge.u32 %p6, %r3, 2;\nor.pred %p5, %p1, %p6;\n", True),
        ("%p5", "setp.ge.u32 %p6, %r3, 2;\nand.pred %p5, %p1, !%p6;\n", True),
    ],
)
def test_who_may_come_past_two_conditions_at_once(guard: str, defined: str, wrong: bool) -> None:
    text = HEAD.replace("wgmma.fence.sync.aligned;\n", "") + JOINED.format(guard=guard)
    text = text.replace("DEFINED", defined)
    found = {(one.tier, one.rule) for one in check_text(text, "k.ptx").findings if one.tier != "info"}
    assert found == ({("error", "aligned-divergent")} if wrong else set())

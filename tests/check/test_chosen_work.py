"""A parameter that is compared with a literal chooses a kind of work, and a host may pass that literal.

What must be found was written down before the checker ran. Here, one thread copies a tile and another kind of work
has two tiles; all threads add up what they find.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

KERNEL = """.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 rounds, .param .u32 mode, .param .u32 other)
.maxntid 128, 1, 1
{
.reg .pred p, q, w, z, two, more; .reg .b32 t, m, e, s, a, b, n, i, ph, how, too, v, sum, size; .reg .b64 d, o;
.shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u32 n,[rounds]; ld.param.u32 how,[mode];
ld.param.u32 too,[other];
mov.u32 t,%tid.x; mov.u32 m,full; mov.u32 e,empty; mov.u32 s,tile; mov.u32 i,0; mov.u32 ph,0; mov.u32 sum,0;
setp.ne.u32 z,t,0; setp.eq.u32 two,how,2; setp.eq.u32 more,too,OTHER;
COUNT
@z bra READY;
mbarrier.init.shared::cta.b64 [m],1; mbarrier.init.shared::cta.b64 [e],size;
READY: bar.sync 0;
AGAIN: setp.ge.u32 p,i,n; @p bra END;
@z bra WAIT;
xor.b32 v,ph,1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 q,[e],v; @!q bra FREE;
selp.b32 v,1024,512,two;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],v;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s],[d],512,[m];
@!two bra WAIT;
add.u32 a,s,512;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a],[d],512,[m];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 q,[m],ph; @!q bra WAIT;
mad.lo.u32 a,t,4,s; ld.shared.u32 v,[a]; add.u32 sum,sum,v;
@!two bra ONE;
SECOND
mbarrier.arrive.shared::cta.b64 _,[e];
bra NEXT;
ONE:
FIRST
NEXT: add.u32 i,i,1; xor.b32 ph,ph,1; bra AGAIN;
END: mad.wide.u32 o,t,4,o; st.global.u32 [o],sum; ret;
}
"""
LOAD = "ld.shared.u32 v,[a+512]; add.u32 sum,sum,v;"
FIRST = "mbarrier.arrive.shared::cta.b64 _,[e];"
LEADER = "bar.sync 1,128; @!z mbarrier.arrive.shared::cta.b64 _,[e];"
ALL = "mov.u32 size,128;"


def found(count: str, second: str, first: str, other: str = "7") -> list[tuple[str, str]]:
    """The loud findings: tier and rule."""
    parts = {"COUNT": count, "SECOND": second, "FIRST": first, "OTHER": other}
    text = KERNEL
    for name, part in parts.items():
        text = text.replace(f"{name}\n", f"{part}\n").replace(f",{name};", f",{part};")
    report = check_text(text, "k.ptx")
    assert not report.not_judged
    return sorted({(one.tier, one.rule) for one in report.findings if one.tier in (ERROR, LIKELY)})


@pytest.mark.parametrize(
    ("count", "second", "first", "rules"),
    [
        pytest.param(ALL, LOAD, FIRST, [], id="right"),
        pytest.param(
            ALL, f"{FIRST}\n{LOAD}\nbra NEXT;", FIRST, ["shared-unsynchronised"], id="it releases, then loads"
        ),
        pytest.param("selp.b32 size,128,1,two;", LOAD, LEADER, [], id="the count depends on it"),
        pytest.param(
            "selp.b32 size,1,128,two;",
            LOAD,
            FIRST,
            ["shared-unsynchronised"],
            id="the count is chosen wrongly",
        ),
        pytest.param("mov.u32 size,1;\n@two mov.u32 size,128;", LOAD, LEADER, [], id="a guarded move"),
    ],
)
def test_work_that_a_literal_chooses(count: str, second: str, first: str, rules: list[str]) -> None:
    assert found(count, second, first) == [(LIKELY, rule) for rule in rules]


# The other parameter says, too, how the tile is released; no host passes 2 and anything but 7.
TOGETHER = "@!more mbarrier.arrive.shared::cta.b64 _,[e];\n@!more bra NEXT;\n" + LOAD


def test_what_two_parameters_choose_together_is_not_taken_apart() -> None:
    """Fault or not, it depends on which pairs of numbers a host passes."""
    wrong = f"@more bra LATE;\n{FIRST}\n{LOAD}\nbra NEXT;\nLATE:\n{LOAD}"
    assert found(ALL, wrong, FIRST) == []
    whatever = f"@more bra LATE;\n{FIRST}\n{LOAD}\nbra NEXT;\nLATE:\n{FIRST}\n{LOAD}\nbra NEXT;"
    assert found(ALL, whatever, FIRST) != []


def test_a_number_that_says_how_long_a_loop_is_chooses_nothing() -> None:
    """With one round, nothing is released; there is no second copy."""
    guarded = "setp.eq.u32 w,n,1; @w bra LAST;\n" + FIRST + "\nLAST:"
    assert found(ALL, LOAD, guarded) == []


GUARDED = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u32 count)
.reqntid 128, 1, 1
{
.reg .pred p, q; .reg .b32 t, m, v, n; .reg .b64 d; .shared .align 8 .b64 full;
ld.param.u64 d,[in]; ld.param.u32 n,[count]; mov.u32 t,%tid.x; mov.u32 m,full; setp.eq.u32 p,t,0;
@p mbarrier.init.shared::cta.b64 [m],COUNT;
bar.sync 0;
ld.global.u32 v,[d]; and.b32 v,v,1; setp.eq.u32 q,v,1;
GUARD mbarrier.arrive.shared::cta.b64 _,[m];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 q,[m],PHASE; @!q bra WAIT;
ret;
}
"""


@pytest.mark.parametrize(
    ("count", "guard", "phase", "line", "why"),
    [
        pytest.param("n", "", "0", 9, "how many arrive at it, comes from a parameter", id="the count"),
        pytest.param("128", "@q", "0", 12, "which way threads go here comes from memory", id="a guard"),
        pytest.param("128", "", "v", 13, "phase of the barrier here, or how many", id="the phase"),
    ],
)
def test_what_stops_a_thread_in_a_statement_is_said(
    count: str, guard: str, phase: str, line: int, why: str
) -> None:
    text = GUARDED.replace("COUNT", count).replace("GUARD", guard).replace("PHASE", phase)
    report = check_text(text, "k.ptx")
    assert not [one for one in report.findings if one.tier in (ERROR, LIKELY)]
    (remark,) = report.not_judged
    assert remark.place.line == line and why in remark.why


def test_nothing_is_unsaid_where_all_is_shown() -> None:
    text = GUARDED.replace("COUNT", "128").replace("GUARD", "").replace("PHASE", "0")
    assert not check_text(text, "k.ptx").not_judged


# A host says how many stages a ring has, in dynamic shared memory behind the mbarriers.
RING = """.version 8.3
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 rounds, .param .u32 stages)
.maxntid 160, 1, 1
{
.reg .pred p, q, w, z; .reg .b32 t, m, s, a, n, k, i, st, ph, v, sum; .reg .b64 d, o;
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u32 n,[stages]; ld.param.u32 k,[rounds];
mov.u32 t,%tid.x; mov.u32 m,memory; add.u32 s,m,1024; mov.u32 i,0; mov.u32 st,0; mov.u32 ph,0; mov.u32 sum,0;
setp.ne.u32 z,t,128; @z bra READY;
mov.u32 a,m;
MAKE: setp.ge.u32 w,i,n; @w bra READY;
mbarrier.init.shared::cta.b64 [a],1; mbarrier.init.shared::cta.b64 [a+8],128;
add.u32 a,a,16; add.u32 i,i,1; bra MAKE;
READY: bar.sync 0; mov.u32 i,0;
setp.lt.u32 p,t,128; @p bra USE;
@z bra END;
FILL: setp.ge.u32 p,i,k; @p bra END;
mad.lo.u32 a,st,16,m; xor.b32 v,ph,1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 q,[a+8],v; @!q bra FREE;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[a],512; mad.lo.u32 v,st,512,s;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [v],[d],512,[a];
add.u32 i,i,1; add.u32 st,st,1; setp.eq.u32 p,st,n; @p mov.u32 st,0; @p xor.b32 ph,ph,1; bra FILL;
USE: setp.ge.u32 p,i,k; @p bra STORE;
mad.lo.u32 a,st,16,m; mad.lo.u32 v,st,512,s; mad.lo.u32 v,t,4,v;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 q,[a],ph; @!q bra WAIT;
ld.shared.u32 v,[v]; add.u32 sum,sum,v; mbarrier.arrive.shared::cta.b64 _,[a+8];
add.u32 i,i,1; add.u32 st,st,1; setp.eq.u32 p,st,n; @p mov.u32 st,0; @p xor.b32 ph,ph,1; bra USE;
STORE: mad.wide.u32 o,t,4,o; st.global.u32 [o],sum;
END: ret;
}
"""
WAIT = "FREE: mbarrier.try_wait.parity.shared::cta.b64 q,[a+8],v; @!q bra FREE;\n"


@pytest.mark.parametrize(
    ("wait", "rules"),
    [
        pytest.param(WAIT, [], id="right"),
        pytest.param("", [(LIKELY, "copy-incomplete")], id="the copy waits for no release"),
    ],
)
def test_a_ring_as_long_as_the_host_says_comes_round(wait: str, rules: list[tuple[str, str]]) -> None:
    report = check_text(RING.replace(WAIT, wait), "k.ptx")
    assert not report.not_judged
    assert list(dict.fromkeys((one.tier, one.rule) for one in report.findings)) == rules

"""A loop whose rounds count more than parameters are usually taken to be: what meets in its second round?

What must be found was written down before the checker ran. One thread copies a tile, and all threads load it.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

KERNEL = """.version 8.6
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .pred p, q, z, some; .reg .b32 t, s, m, at, a, i, ph, v, sum, rest, size, far; .reg .b64 d, o;
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u32 rest,[n]; mov.u32 t,%tid.x; mov.u32 s,smem;
add.u32 m,s,8192; shl.b32 at,t,4; add.u32 a,s,at; mov.u32 sum,0; mov.u32 i,0; mov.u32 ph,0; setp.ne.u32 z,t,0;
@z bra MADE;
mbarrier.init.shared::cta.b64 [m],1;
MADE: bar.sync 0;
setp.eq.u32 p,rest,0; @p bra END;
NEXT: sub.u32 far,rest,i; min.u32 size,far,2048;
@z bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],SIZE;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s],[d],SIZE,[m];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 q,[m],ph; @!q bra WAIT;
LOAD
SYNC
add.s64 d,d,2048; xor.b32 ph,ph,1; add.u32 i,i,STEP; setp.lt.u32 p,i,rest; @p bra NEXT;
END: mad.wide.u32 o,t,4,o; st.global.u32 [o],sum;
ret;
}
"""
ALL = "ld.shared.u32 v,[a]; add.u32 sum,sum,v;"
SOME = f"setp.ge.u32 some,at,size; @some bra KEPT; {ALL} KEPT:"


@pytest.mark.parametrize("load", [ALL, SOME], ids=["all load", "those load whose bytes there are"])
@pytest.mark.parametrize("step", [1, 64, 1024, 2048])
@pytest.mark.parametrize(
    ("sync", "rules"),
    [
        pytest.param("bar.sync 0;", set(), id="right"),
        pytest.param("", {"shared-unsynchronised"}, id="no barrier before the next copy"),
        pytest.param("bar.warp.sync -1;", {"shared-unsynchronised"}, id="only warps meet"),
    ],
)
def test_what_meets_in_the_second_round(load: str, step: int, sync: str, rules: set[str]) -> None:
    text = KERNEL.replace("LOAD\n", f"{load}\n").replace("SYNC\n", f"{sync}\n").replace("STEP", str(step))
    found = check_text(text.replace("SIZE", "2048"), "k.ptx")
    assert {one.rule for one in found.findings if one.tier in (ERROR, LIKELY)} == rules


@pytest.mark.parametrize("load", [ALL, SOME], ids=["all load", "those load whose bytes there are"])
@pytest.mark.parametrize(
    ("sync", "rules"),
    [
        pytest.param("bar.sync 0;", set(), id="right"),
        pytest.param("", {"shared-unsynchronised"}, id="no barrier before the next copy"),
    ],
)
def test_a_copy_of_as_many_bytes_as_are_left(load: str, sync: str, rules: set[str]) -> None:
    text = KERNEL.replace("LOAD\n", f"{load}\n").replace("SYNC\n", f"{sync}\n").replace("STEP", "2048")
    found = check_text(text.replace("SIZE", "size"), "k.ptx")
    loud = {(one.tier, one.rule) for one in found.findings if one.tier in (ERROR, LIKELY)}
    assert loud == {(LIKELY, rule) for rule in rules}


# Rows of as many bytes as a parameter says lie one behind another: two stages, or one for each warp.
ROWS = """.version 8.6
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 rows, .param .u32 bytes)
.reqntid 128, 1, 1
{
.reg .pred p, q, z; .reg .b32 t, s, m, f, at, a, b, i, ph, v, sum, rest, size, two; .reg .b64 d, o, wide;
ld.param.u64 d,[in]; ld.param.u64 o,[out]; ld.param.u32 rest,[rows]; ld.param.u32 size,[bytes]; and.b32 size,size,-16;
mov.u32 t,%tid.x; mov.u32 m,smem; add.u32 s,m,128; shl.b32 at,t,2; mov.u32 sum,0; mov.u32 i,0; setp.ne.u32 z,t,0;
cvt.u64.u32 wide,size; setp.le.u32 p,size,0; @p bra END;
@z bra MADE;
mbarrier.init.shared::cta.b64 [m],1; mbarrier.init.shared::cta.b64 [m+8],1;
MADE: bar.sync 0;
setp.eq.u32 p,rest,0; @p bra END;
@z bra NEXT;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],size;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s],[d],size,[m];
NEXT: and.b32 b,i,1; shr.u32 ph,i,1; and.b32 ph,ph,1; mad.lo.u32 f,b,8,m; mad.lo.u32 a,b,size,s;
add.u32 i,i,1; add.s64 d,d,wide;
setp.ge.or.u32 p,i,rest,z; @p bra WAIT;
xor.b32 two,b,1; mad.lo.u32 v,two,STRIDE,s; mad.lo.u32 two,two,8,m;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[two],size;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [v],[d],size,[two];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 q,[f],ph; @!q bra WAIT;
mov.u32 v,at;
LOAD: setp.ge.u32 p,v,size; @p bra LOADED;
add.u32 two,a,v; ld.shared.u32 two,[two]; add.u32 sum,sum,two; add.u32 v,v,512; bra LOAD;
LOADED: SYNC
setp.lt.u32 p,i,rest; @p bra NEXT;
END: mad.wide.u32 o,t,4,o; st.global.u32 [o],sum;
ret;
}
"""


@pytest.mark.parametrize(
    ("stride", "sync", "rules"),
    [
        pytest.param("size", "bar.sync 0;", set(), id="two stages"),
        pytest.param("size", "", {"shared-unsynchronised"}, id="no barrier before a stage is filled again"),
        pytest.param("size", "bar.warp.sync -1;", {"shared-unsynchronised"}, id="only warps meet"),
        pytest.param("0", "bar.sync 0;", {"copy-incomplete"}, id="both stages lie in one place"),
    ],
)
def test_rows_of_as_many_bytes_as_a_parameter_says(stride: str, sync: str, rules: set[str]) -> None:
    text = ROWS.replace("STRIDE", stride).replace("SYNC\n", f"{sync}\n")
    found = check_text(text, "k.ptx")
    assert {one.rule for one in found.findings if one.tier in (ERROR, LIKELY)} == rules

"""A warp loads what it has stored itself, and what another thread may have changed since.

What must be found was written down before the checker ran. Two warps that store the same bytes at once may store
the same; but what a warp has stored long ago, and all know of, excuses nothing.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 from, .param .u64 to, .param .u64 new)
.reqntid 64, 1, 1
{
.reg .pred p, q; .reg .b32 t, m, a, v; .reg .b64 d, o, n, x; .shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar;
ld.param.u64 d,[from]; ld.param.u64 o,[to]; ld.param.u64 n,[new]; mov.u32 t,%tid.x; mov.u32 m,tile; mov.u32 a,bar;
setp.ne.u32 q,t,0; @q bra MADE;
mbarrier.init.shared::cta.b64 [a],1;
MADE: setp.ge.u32 p,t,32; shl.b32 a,t,2; add.u32 a,a,m; mul.wide.u32 x,t,4; add.s64 d,d,x; add.s64 o,o,x;
@p bra COPIED;
ld.global.u32 v,[d]; st.shared.u32 [a],v;
COPIED:
FIRST
setp.eq.u32 q,t,WHO;
@q st.shared.b64 [m],n;
SECOND
@p bra END;
ld.shared.u32 v,[a]; st.global.u32 [o],v;
END: ret;
}
"""
MEET, WARP = "bar.sync 0;", "bar.warp.sync -1;"
RACE = {"shared-unsynchronised"}


@pytest.mark.parametrize(
    ("who", "first", "second", "rules"),
    [
        pytest.param(0, MEET, MEET, set(), id="right"),
        pytest.param(0, WARP, WARP, set(), id="a lane of the warp that copies"),
        pytest.param(32, MEET, WARP, RACE, id="another warp, and it is loaded too early"),
        pytest.param(32, MEET, MEET, set(), id="another warp"),
    ],
)
def test_who_changes_what_others_have_stored(who: int, first: str, second: str, rules: set[str]) -> None:
    text = KERNEL.replace("WHO", str(who)).replace("FIRST\n", f"{first}\n").replace("SECOND\n", f"{second}\n")
    report = check_text(text, "k.ptx")
    assert {one.rule for one in report.findings if one.tier in (ERROR, LIKELY)} == rules
    assert not report.not_judged

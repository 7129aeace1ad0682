"""Threads load the boxes of tensor copies, and the phase that they wait for expects fewer bytes.

The PTX does not show how many bytes a box has. A phase that expects half of what threads load of its copies, or one of
two boxes less, ends before they are complete, or threads load what nobody brings. What must be found was written down
before the checker ran.
"""

from __future__ import annotations

import pytest

from .changed_kernels import told

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 out, .param .u32 rounds)
.reqntid 160, 1, 1
{
.reg .pred p, q, z; .reg .b32 t, s, e, m, i, n, x, y, v<4>, ph; .reg .b64 d, o, f, g, h; .reg .f32 c<4>;
.shared .align 1024 .b8 tile[16384]; .shared .align 8 .b64 full[2], empty[2];
mov.b64 g,a; cvta.param.u64 d,g; mov.b64 h,b; cvta.param.u64 f,h; ld.param.u64 o,[out]; ld.param.u32 n,[rounds];
mov.u32 t,%tid.x; mov.u32 i,0; mov.u32 ph,0; setp.ne.u32 z,t,128;
@!z mbarrier.init.shared::cta.b64 [full],1;
@!z mbarrier.init.shared::cta.b64 [full+8],1;
@!z mbarrier.init.shared::cta.b64 [empty],128;
@!z mbarrier.init.shared::cta.b64 [empty+8],128;
bar.sync 0;
AGAIN: setp.ge.u32 p,i,n; @p bra END;
and.b32 y,i,1; mad.lo.u32 s,y,8192,tile; mad.lo.u32 m,y,8,full; mad.lo.u32 e,y,8,empty; shr.u32 ph,i,1; and.b32 ph,ph,1;
setp.lt.u32 p,t,128; @p bra USE;
xor.b32 x,ph,1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 q,[e],x; @!q bra FREE;
@z bra NEXT;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],8192;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s],[d,{i,i}],[m];
add.u32 x,s,4096;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [x],[f,{i,i}],[m];
bra NEXT;
USE: mbarrier.try_wait.parity.shared::cta.b64 q,[m],ph; @!q bra USE;
mad.lo.u32 x,t,16,s;
LOADS
mbarrier.arrive.shared::cta.b64 _,[e];
NEXT: add.u32 i,i,1; bra AGAIN;
END: ret;
}
"""
PLACES = range(0, 8192, 2048)
LINES = [f"ld.shared.v4.b32 {{v0,v1,v2,v3}},[x+{at}];\n" for at in PLACES]
ALL, HALF = "".join(LINES), "".join(LINES[:2])
WHOLE = ALL.replace("ld.shared.v4.b32", "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
B = """add.u32 x,s,4096;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [x],[f,{i,i}],[m];
"""
STORED = ALL.replace("ld.shared.v4.b32 {v0,v1,v2,v3},", "st.shared.v4.b32 ").replace("];", "],{v0,v1,v2,v3};")
LIKELY = [("likely", "copy-incomplete")]
NONE: list[tuple[str, str]] = []


@pytest.mark.parametrize("loads", [ALL, WHOLE], ids=["each its own bytes", "the warp together"])
@pytest.mark.parametrize(
    ("bytes_", "expected"),
    [
        pytest.param("8192", NONE, id="all"),
        pytest.param("4096", LIKELY, id="half, so one of two boxes"),
        pytest.param("2048", LIKELY, id="a quarter"),
        pytest.param("6144", NONE, id="more than a box, and maybe boxes that are smaller"),
        pytest.param("16384", NONE, id="more than they load: boxes may be larger"),
    ],
)
def test_two_boxes(loads: str, bytes_: str, expected: list[tuple[str, str]]) -> None:
    assert told(KERNEL, [("LOADS\n", loads), ("],8192;", f"],{bytes_};")]) == expected


@pytest.mark.parametrize(
    ("bytes_", "expected"),
    [("8192", NONE), ("4104", NONE), ("4096", LIKELY)],
    ids=["all", "more than half: rows behind a box may be loaded and not used", "half"],
)
def test_one_box(bytes_: str, expected: list[tuple[str, str]]) -> None:
    assert told(KERNEL, [("LOADS\n", ALL), (B, ""), ("],8192;", f"],{bytes_};")]) == expected


HALVED = ("],8192;", "],4096;")
READ = ("bar.sync 0;", "ld.param.u32 y,[rounds];\nbar.sync 0;\nmov.u32 v0,y;")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([("LOADS\n", HALF), HALVED], id="they load only one of the two"),
        pytest.param([("LOADS\n", ALL), READ, ("],8192;", "],v0;")], id="a parameter says how many"),
        pytest.param(
            [("LOADS\n", "".join(STORED.splitlines(True)[2:]) + ALL), (B, ""), HALVED],
            id="threads have stored the other half",
        ),
        pytest.param(
            [("LOADS\n", "ld.global.u32 x,[o];\n" + ALL), HALVED], id="where they load is not known"
        ),
    ],
)
def test_what_does_not_show_it(lines: list[tuple[str, str]]) -> None:
    assert told(KERNEL, lines) == NONE

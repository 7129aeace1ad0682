"""Warps hand a tile to others through mbarriers: some lane arrives or waits for its warp, and the lanes meet or not.

What must be found was written down before the checker ran. A thread makes known what it has done itself, and what
others have that it has met. Kernels rely on it that an arrival tells of a warp that is together: a reading. That other
lanes know what only one has waited for, no reading says.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY, READING

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .pred p, q, z, first; .reg .b32 t, l, s, m, a, b, i, ph, free, v, sum, rest, w, x; .reg .b64 from, o;
ld.param.u64 from,[in]; ld.param.u64 o,[out]; ld.param.u32 rest,[n]; mov.u32 t,%tid.x; and.b32 l,t,31; mov.u32 s,smem;
add.u32 m,s,4096; mov.u32 sum,0; mov.u32 i,0; mov.u32 ph,0; mov.u32 free,1; setp.ne.u32 z,t,0; setp.eq.u32 first,l,0;
@z bra MADE;
mbarrier.init.shared::cta.b64 [m],FULL; mbarrier.init.shared::cta.b64 [m+8],EMPTY;
MADE: bar.sync 0;
and.b32 a,t,63; shl.b32 a,a,2; add.u32 a,a,s; xor.b32 b,a,16; mad.wide.u32 from,t,4,from;
setp.eq.u32 p,rest,0; @p bra END;
setp.ge.u32 p,t,64; @p bra READ;
WRITE: mbarrier.try_wait.parity.shared::cta.b64 q,[m+8],free; @!q bra WRITE;
xor.b32 free,free,1; ld.global.u32 v,[from];
STORE
TELL
add.s64 from,from,256; add.u32 i,i,1; setp.lt.u32 p,i,rest; @p bra WRITE;
bra END;
READ:
WAIT
xor.b32 ph,ph,1;
LOAD
RELEASE
add.u32 i,i,1; setp.lt.u32 p,i,rest; @p bra READ;
mad.wide.u32 o,t,4,o; st.global.u32 [o],sum;
END: ret;
}
"""
MEET = "bar.warp.sync -1;"
STORE = "st.shared.u32 [a],v;"
TELL = "@first mbarrier.arrive.shared::cta.b64 _,[m];"
TRY = "TRY: mbarrier.try_wait.parity.shared::cta.b64 q,[m],ph; @!q bra TRY;"
LONE = f"@!first bra SEEN; {TRY} SEEN:"
LOAD = "ld.shared.u32 v,[b]; add.u32 sum,sum,v;"
RELEASE = "@first mbarrier.arrive.shared::cta.b64 _,[m+8];"
RACE = {(LIKELY, "shared-unsynchronised")}
UNTOLD = {(READING, "shared-unsynchronised")}
SHUFFLED = "shfl.sync.idx.b32 w,v,0,31,-1;"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param({}, set(), id="right"),
        pytest.param({"TELL": TELL}, UNTOLD, id="a lane tells what others have stored"),
        pytest.param({"RELEASE": RELEASE}, UNTOLD, id="a lane releases what others have loaded"),
        pytest.param({"WAIT": LONE}, RACE, id="a lane waits, others load"),
        pytest.param({"WAIT": f"{LONE} {MEET}"}, set(), id="a lane waits, and they meet"),
        pytest.param(
            {"TELL": TELL.replace("@first ", ""), "FULL": "64"}, set(), id="each lane tells for itself"
        ),
        pytest.param(
            {"RELEASE": RELEASE.replace("@first ", ""), "EMPTY": "64"},
            set(),
            id="each lane releases for itself",
        ),
        pytest.param({"TELL": f"bar.warp.sync 0xffff; {TELL}"}, None, id="half of the lanes meet"),
        pytest.param({"TELL": f"{SHUFFLED} {TELL}"}, set(), id="lanes execute something together before it"),
        pytest.param({"RELEASE": f"{SHUFFLED} {RELEASE}"}, set(), id="or before the release"),
        pytest.param({"WAIT": f"{LONE} {SHUFFLED}"}, set(), id="or behind the wait"),
        pytest.param(
            {"STORE": f"@!first bra KEPT; {STORE} KEPT:", "TELL": TELL, "LOAD": LOAD.replace("[b]", "[a]")},
            set(),
            id="the lane tells what it has stored itself",
        ),
        pytest.param(
            {"RELEASE": RELEASE, "LOAD": f"@!first bra KEPT; {LOAD} KEPT:"},
            set(),
            id="the lane releases what it alone has loaded",
        ),
        pytest.param(
            {"TELL": f"{TELL} {MEET} @first mbarrier.arrive.shared::cta.b64 _,[m];", "FULL": "4"},
            set(),
            id="it tells once more when they have met",
        ),
    ],
)
def test_who_tells_whom(parts: dict[str, str], expected: set[tuple[str, str]] | None) -> None:
    text = KERNEL
    usual = {
        "STORE": STORE,
        "TELL": f"{MEET} {TELL}",
        "WAIT": TRY,
        "LOAD": LOAD,
        "RELEASE": f"{MEET} {RELEASE}",
    }
    for name, part in (usual | parts).items():
        text = text.replace(f"{name}\n", f"{part}\n")
    counts = {"FULL": "2", "EMPTY": "2"} | parts
    text = text.replace(",FULL;", f",{counts['FULL']};").replace(",EMPTY;", f",{counts['EMPTY']};")
    found = check_text(text, "k.ptx").findings
    loud = {(one.tier, one.rule) for one in found if one.tier in (ERROR, LIKELY, READING)}
    assert loud == expected if expected is not None else loud


COPY = """WRITE: mbarrier.try_wait.parity.shared::cta.b64 q,[m+8],free; @!q bra WRITE;
xor.b32 free,free,1; @z bra SENT;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],256;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s],[from],256,[m];
SENT:
"""


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        pytest.param(f"{MEET} {RELEASE}", set(), id="right"),
        pytest.param(RELEASE, UNTOLD, id="a lane releases for others"),
        pytest.param(f"{SHUFFLED} {RELEASE}", set(), id="lanes execute something together before it"),
    ],
)
def test_a_copy_fills_what_lanes_release(release: str, expected: set[tuple[str, str]]) -> None:
    start, end = KERNEL.index("WRITE:"), KERNEL.index("add.s64 from,from,256;")
    text = KERNEL[:start] + COPY + KERNEL[end:]
    for name, part in {"WAIT": TRY, "LOAD": LOAD, "RELEASE": release}.items():
        text = text.replace(f"{name}\n", f"{part}\n")
    found = check_text(text.replace(",FULL;", ",1;").replace(",EMPTY;", ",2;"), "k.ptx").findings
    assert {(one.tier, one.rule) for one in found if one.tier in (ERROR, LIKELY, READING)} == expected

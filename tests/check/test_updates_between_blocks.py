"""The blocks of a cluster add to one another's shared memory, or to global memory beside: is what they load ordered?

What must be found was written down before the checker ran. An atomic update by whose result nobody decides what to do
orders nothing, so blocks are followed together past it. Other blocks are taken to do the same: no error.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import ERROR, LIKELY

KERNEL = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 out, .param .u32 n)
.reqntid 64, 1, 1
.reqnctapercluster 2, 1, 1
{
.reg .pred p, q; .reg .b32 t, a, there, r, i, rest, v, sum; .reg .f32 f<4>; .reg .b64 to, x;
ld.param.u64 to,[out]; ld.param.u32 rest,[n]; mov.u32 t,%tid.x; mov.u32 i,0; mov.u32 sum,0; mov.u32 v,0;
mov.f32 f0,0f00000000; mov.f32 f1,f0; mov.f32 f2,f0; mov.f32 f3,f0;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0,f1,f2,f3},{v,v,v,v},{v,v},{f0,f1,f2,f3};
shl.b32 a,t,2; mov.u32 there,smem; add.u32 a,a,there; mov.u32 r,%cluster_ctarank; xor.b32 r,r,1;
mapa.shared::cluster.u32 there,a,r; mul.wide.u32 x,t,4; add.s64 to,to,x;
st.shared.u32 [a],v;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
AGAIN:
SEND
FIRST
ld.shared.u32 v,[a]; add.u32 sum,sum,v;
SECOND
add.u32 i,i,1; setp.lt.u32 p,i,rest; @p bra AGAIN;
st.global.u32 [to],sum;
END
ret;
}
"""
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
RED = "red.relaxed.cluster.shared::cluster.add.u32 [there],t;"
ATOM = "atom.relaxed.cluster.shared::cluster.add.u32 v,[there],t;"
BESIDE = "red.global.add.u32 [to],1; st.shared::cluster.u32 [there],t;"


@pytest.mark.parametrize("send", [RED, ATOM, BESIDE], ids=["reduction", "atomic", "store beside a reduction"])
@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        pytest.param(MEET, MEET, set(), id="right"),
        pytest.param(MEET, "", {"shared-unsynchronised"}, id="the next one while the other block loads"),
        pytest.param(
            "", MEET, {"shared-unsynchronised"}, id="loaded while the other block may not have sent"
        ),
        pytest.param("bar.sync 0;", MEET, {"shared-unsynchronised"}, id="only the block meets"),
    ],
)
def test_blocks_send_to_each_other(send: str, first: str, second: str, rules: set[str]) -> None:
    assert found(SEND=send, FIRST=first, SECOND=second, END=MEET) == {(LIKELY, rule) for rule in rules}


def test_a_block_may_end_before_the_other_has_sent() -> None:
    assert found(SEND=BESIDE, FIRST=MEET, SECOND="bar.sync 0;", END="") >= {(LIKELY, "shared-unsynchronised")}


WAITS = """st.shared::cluster.u32 [there],t; fence.acq_rel.cluster; atom.global.add.u32 v,[to],1;
POLL: ld.relaxed.gpu.global.u32 v,[to]; setp.lt.u32 q,v,2; @q bra POLL; fence.acq_rel.cluster;"""


def test_blocks_that_may_wait_by_what_they_read_are_not_accused() -> None:
    assert found(SEND=WAITS, FIRST="", SECOND=MEET, END=MEET) == set()


def found(**parts: str) -> set[tuple[str, str]]:
    """The loud findings: tier and rule."""
    text = KERNEL
    for name, part in parts.items():
        text = text.replace(f"{name}\n", f"{part}\n")
    return {(one.tier, one.rule) for one in check_text(text, "k.ptx").findings if one.tier in (ERROR, LIKELY)}

"""The bytes of a valid mbarrier: other than mbarrier operations on it are undefined (9.7.13.15), and it must be
invalidated before its memory serves another purpose (9.7.13.15.3).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .changed_kernels import loud

WATCHES = ("spec/effects.yaml",)
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.shared .align 1024 .b8 sm[8192];
.visible .entry k(.param .u64 in)
.reqntid 64, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;
ld.param.u64 %d1,[in];
mov.u32 %r1,%tid.x; mov.u32 %r2,sm; setp.ne.u32 %p1,%r1,0; shl.b32 %r3,%r1,2; add.u32 %r3,%r3,%r2;
FIRST
@!%p1 mbarrier.init.shared::cta.b64 [%r2+1024],64;
@!%p1 mbarrier.init.shared::cta.b64 [%r2+1032],1;
bar.sync 0;
THEN
mbarrier.arrive.shared::cta.b64 _,[%r2+1024];
W: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r2+1024],0; @!%p2 bra W;
bar.sync 0;
LAST
ret;
}
"""
ACCESSED = {("error", "barrier-accessed")}
ZERO = "st.shared.b32 [%r3+896],0; bar.sync 0;"  # bytes 896 to 1151
INVALID = """
@!%p1 mbarrier.inval.shared::cta.b64 [%r2+1024];
@!%p1 mbarrier.inval.shared::cta.b64 [%r2+1032];
bar.sync 0;
"""
COPY = """
@%p1 bra C;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r2+1032],SIZE;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2],[%d1],SIZE,[%r2+1032];
C: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r2+1032],0; @!%p3 bra C;
"""
TENSOR = COPY.replace("SIZE", "512").replace(
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2],[%d1],512,[%r2+1032]",
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+PLACE],[%d1,{%r1,%r1}],[%r2+1032]",
)
ASYNC = "cp.async.ca.shared.global [%r3+PLACE],[%d1],4; cp.async.wait_all; bar.sync 0;"


def tiers(first: str = "", then: str = "", last: str = "") -> set[tuple[str, str]]:
    text = KERNEL.replace("FIRST", first).replace("THEN", then).replace("LAST", last)
    return loud(text)


@pytest.mark.parametrize(
    ("access", "wrong"),
    [
        ("ld.shared.b32 %r4,[%r2+1024];", True),
        ("ld.shared.b32 %r4,[%r2+1036];", True),
        ("ld.shared.b32 %r4,[%r2+1040];", False),
        ("ld.shared.b32 %r4,[%r2+1020];", False),
        ("ld.shared.v4.b32 {%r4,%r5,%r6,%r7},[%r2+1008];", False),
        ("ld.shared.v4.b32 {%r4,%r5,%r6,%r7},[%r2+1024];", True),
        ("@!%p1 st.shared.b32 [%r2+1028],0;", True),
        ("@!%p1 st.shared.b32 [%r2+1048],0;", False),
        ("atom.shared.add.u32 %r4,[%r2+1024],1;", True),
        (COPY.replace("SIZE", "1024"), False),
        (COPY.replace("SIZE", "1040"), True),
        (TENSOR.replace("PLACE", "512"), False),  # at least 16 bytes: how many more the PTX does not show
        (TENSOR.replace("PLACE", "1024"), True),
        (ASYNC.replace("PLACE", "768"), False),  # to byte 1023
        (ASYNC.replace("PLACE", "896"), True),
        (ASYNC.replace("PLACE", "1040"), False),
    ],
)
def test_accesses_of_a_valid_mbarrier(access: str, wrong: bool) -> None:
    assert tiers(then=access) == (ACCESSED if wrong else set())


def test_what_lies_there_before_it_is_initialised_and_behind_its_end() -> None:
    assert tiers(first=ZERO) == set()
    assert tiers(then=ZERO) == ACCESSED
    assert tiers(last=ZERO) == ACCESSED
    assert tiers(last=INVALID + ZERO) == set()
    again = "@!%p1 mbarrier.init.shared::cta.b64 [%r2+1024],64; bar.sync 0;"
    assert tiers(last=INVALID + again + ZERO) == ACCESSED


@pytest.mark.parametrize("block", [".maxntid 64, 1, 1", ""], ids=["at most", "any"])
def test_in_a_block_of_unknown_size_it_is_likely(block: str) -> None:
    text = KERNEL.replace("FIRST", "").replace("THEN", "ld.shared.b32 %r4,[%r2+1024];").replace("LAST", "")
    text = text.replace(".reqntid 64, 1, 1", block)
    found = {(one.tier, one.rule) for one in check_text(text, "k.ptx").findings}
    assert ("likely", "barrier-accessed") in found


def test_what_lies_on_one_mbarrier_is_told_once() -> None:
    then = "ld.shared.b32 %r4,[%r2+1024]; ld.shared.b32 %r5,[%r2+1028]; ld.shared.b32 %r6,[%r2+1032];"
    text = KERNEL.replace("FIRST", "").replace("THEN", then).replace("LAST", "")
    told = [one for one in check_text(text, "k.ptx").findings if one.rule == "barrier-accessed"]
    assert sorted(one.more for one in told) == [0, 1]  # the second is about the other mbarrier

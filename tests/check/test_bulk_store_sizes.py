"""A bulk store reads as many bytes as its size says, also where a register holds it, as nvcc writes it; and what
threads store in the last round of a loop that others have left is stored, too (9.7.9.25.4).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("check/execution",)
# All threads fill the buffer, each every %ntid-th element; then one stores it.
KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
.reqntid THREADS, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<4>;
.shared .align 16 .b8 buf[4096];
.shared .align 8 .b8 bar[8];
ld.param.u64 %d0,[out];
mov.u32 %r1,%tid.x; mov.u32 %r2,bar; mov.u32 %r3,buf; mov.u32 %r9,%ntid.x; setp.ne.u32 %p1,%r1,0;
@!%p1 mbarrier.init.shared::cta.b64 [%r2],%r9;
bar.sync 0;
mbarrier.arrive.shared::cta.b64 %d1,[%r2];
W: mbarrier.try_wait.shared::cta.b64 %p3,[%r2],%d1;
@!%p3 bra W;
mov.u32 %r7,%r1;
S: shl.b32 %r4,%r7,2; add.u32 %r5,%r3,%r4;
st.shared.u32 [%r5],%r1;
add.u32 %r7,%r7,%r9;
setp.lt.u32 %p2,%r7,1024;
@%p2 bra S;
FENCE
bar.sync 0;
@%p1 bra E;
SIZE
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
E:
ret;
}
"""
FENCE = "fence.proxy.async.shared::cta;"
BARRIER = f"{FENCE}\nbar.sync 0;"
LITERAL = "cp.async.bulk.global.shared::cta.bulk_group [%d0],[%r3],4096;"
REGISTER = "mov.u32 %r8,4096; cp.async.bulk.global.shared::cta.bulk_group [%d0],[%r3],%r8;"
COMPUTED = "mov.u32 %r8,16; shl.b32 %r8,%r8,8; cp.async.bulk.global.shared::cta.bulk_group [%d0],[%r3],%r8;"
OF_WARP = "mov.u32 %r8,128; cp.async.bulk.global.shared::cta.bulk_group [%d0],[%r3],%r8;"


def rules(size: str, threads: int, change: tuple[str, str] = ("", "")) -> set[tuple[str, str]]:
    text = KERNEL.replace("FENCE", FENCE).replace("SIZE", size).replace("THREADS", str(threads))
    assert change == ("", "") or text.count(change[0]) == 1
    report = check_text(text.replace(*change) if change[0] else text, "k.ptx")
    assert not report.faults
    return {(one.tier, one.rule) for one in report.findings}


@pytest.mark.parametrize(
    "threads", [128, 96]
)  # 1024 elements: in whole rounds, or with threads that do one less
@pytest.mark.parametrize("size", [LITERAL, REGISTER, COMPUTED], ids=["literal", "register", "computed"])
def test_all_bytes_of_a_bulk_store_are_read(size: str, threads: int) -> None:
    assert rules(size, threads) == set()
    assert rules(size, threads, (BARRIER, FENCE)) == {("error", "shared-unsynchronised")}
    assert rules(size, threads, (FENCE, "")) == {("error", "bulk-store-fence")}


def test_bytes_behind_a_bulk_store_are_not_read() -> None:
    """The other warps store elsewhere in the first round, and in each later one all of them do."""
    one_round = ("@%p2 bra S;", "")
    assert rules(OF_WARP, 128, one_round) == set()
    text = KERNEL.replace("@%p2 bra S;", "")
    other, lanes = {("error", "shared-unsynchronised")}, {("likely", "warp-unsynchronised")}
    meet = f"{FENCE}\nbar.warp.sync -1;"
    for size, fence, found in (
        (OF_WARP, meet, set[tuple[str, str]]()),
        (OF_WARP, FENCE, lanes),  # only the lanes of its own warp store what it takes, and do not meet
        (REGISTER, meet, other),
        (REGISTER, FENCE, other),
    ):
        made = text.replace("FENCE\nbar.sync 0;", fence).replace("SIZE", size).replace("THREADS", "128")
        assert {(one.tier, one.rule) for one in check_text(made, "k.ptx").findings} == found


def test_every_number_of_threads_shows_it() -> None:
    """Without .reqntid it is so with each usual number of threads, also with those that do not divide 1024."""
    for change, rule in ((FENCE, "bulk-store-fence"), ("bar.sync 0;\n@%p1", "shared-unsynchronised")):
        text = (
            KERNEL.replace("FENCE", FENCE).replace("SIZE", REGISTER).replace(".reqntid THREADS, 1, 1\n", "")
        )
        assert check_text(text, "k.ptx").findings == ()
        text = text.replace(change, "@%p1" if "@" in change else "")
        assert {(one.tier, one.rule) for one in check_text(text, "k.ptx").findings} == {("likely", rule)}

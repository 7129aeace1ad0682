"""Atomic updates of shared memory against loads and stores of other threads.

`atom` and `red` are strong operations, so two of them never race (8.7 and 9.7.13 of PTX ISA 9.2). A weak load or
store of the same bytes by another thread races with them, unless a barrier (9.7.13.1, 9.7.13.2) stands between.
A strong load or store does not.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 sums[64];
.visible .entry k(.param .u64 out)
.reqntid THREADS, 1, 1
{
.reg .f32 %f<12>; .reg .b64 %d<8>; .reg .pred %p<8>; .reg .b32 %r<32>;
ld.param.u64 %d1,[out]; mov.u32 %r1,%tid.x; and.b32 %r2,%r1,7; shl.b32 %r2,%r2,2; mov.u32 %r3,sums; add.u32 %r3,%r3,%r2;
mov.f32 %f0,0f00000000; mov.f32 %f1,%f0; mov.f32 %f2,%f0; mov.f32 %f3,%f0; setp.lt.u32 %p1,%r1,8;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f4,%f5,%f6,%f7},{%r1,%r1},{%r1},{%f0,%f1,%f2,%f3};
BODY
st.global.f32 [%d1],%f8;
ret;
}
"""
CLEAR = "@%p1 st.shared.f32 [%r3],%f0;\n"
ADD = "atom.shared.add.f32 %f9,[%r3],%f4;\n"
ADD_ONLY = "red.shared.add.f32 [%r3],%f4;\n"
READ = "ld.shared.f32 %f8,[%r3];\n"
STRONG_READ = "ld.relaxed.cta.shared.f32 %f8,[%r3];\n"
MEET, WARP = "bar.sync 0;\n", "bar.warp.sync -1;\n"


def loud(body: str, threads: int) -> set[tuple[str, str]]:
    report = check_text(KERNEL.replace("THREADS", str(threads)).replace("BODY", body), "k.ptx")
    assert not report.faults
    return {(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")}


OF_WARPS = {("error", "shared-unsynchronised")}
OF_LANES = {("likely", "warp-unsynchronised")}


@pytest.mark.parametrize("add", [ADD, ADD_ONLY], ids=["atom", "red"])
@pytest.mark.parametrize(
    ("form", "warps", "lanes"),
    [
        ("{clear}{meet}{add}{meet}{read}", set(), set()),
        ("{clear}{meet}{add}{add}{meet}{read}", set(), set()),
        ("{clear}{meet}{add}{strong}", set(), set()),
        ("{clear}{meet}{add}{read}", OF_WARPS, OF_LANES),
        ("{clear}{add}{meet}{read}", OF_WARPS, OF_LANES),
        ("{clear}{meet}{add}{meet}{read}{clear}", OF_WARPS, OF_LANES),
        ("{clear}{meet}{add}{meet}{read}{add}", OF_WARPS, OF_LANES),
        ("{clear}{meet}{add}{clear}{meet}{read}", OF_WARPS, OF_LANES),
    ],
    ids=[
        "right",
        "two-updates",
        "a-strong-load",
        "no-barrier-before-the-load",
        "no-barrier-behind-the-store",
        "stored-while-others-load",
        "updated-while-others-load",
        "stored-while-others-update",
    ],
)
def test_updates_race_with_weak_accesses(
    add: str, form: str, warps: set[tuple[str, str]], lanes: set[tuple[str, str]]
) -> None:
    parts = {"clear": CLEAR, "add": add, "read": READ, "strong": STRONG_READ}
    assert loud(form.format(**parts, meet=MEET), 64) == warps
    assert loud(form.format(**parts, meet=WARP), 32) == lanes


def test_an_update_after_a_copy_is_none_before_its_wait() -> None:
    copy = "cp.async.ca.shared.global [%r3],[%d1],4;\ncp.async.commit_group;\n"
    wait = "cp.async.wait_group 0;\n"
    assert not loud(copy + wait + MEET + ADD + MEET + READ, 64)
    assert {rule for _, rule in loud(copy + MEET + ADD + wait + MEET + READ, 64)} == {"copy-incomplete"}
    late = CLEAR + MEET + ADD + copy + wait + MEET + READ
    assert {rule for _, rule in loud(late, 64)} == {"shared-unsynchronised"}

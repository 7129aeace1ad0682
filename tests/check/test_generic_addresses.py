"""Accesses by generic addresses that cvta made of addresses in shared memory are accesses of shared memory.

"cvta: convert a generic address to const, global, local, param, or shared address, or vice-versa" (9.7.9.20). Each
kernel stores and loads through such an address: without a barrier, threads of two warps race. Where an address may
point elsewhere, nothing is said.
"""

from __future__ import annotations

import pytest

from .test_phases import tiers

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 out,.param .u32 n)
.reqntid 128, 1, 1
{
.reg .b32 %r<32>; .reg .pred %p<8>; .reg .b64 %d<32>; .reg .f32 %f<8>;
ld.param.u64 %d1,[out]; ld.param.u32 %r0,[n]; setp.eq.u32 %p1,%r0,0;
mov.u32 %r1,%tid.x; mul.wide.u32 %d3,%r1,16;
xor.b32 %r4,%r1,64; mul.wide.u32 %d4,%r4,16;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r1,%r1},{%r1},{%f0,%f1,%f2,%f3};
POINTERS
st.v4.b32 [%d10],{%r1,%r1,%r1,%r1};
BARRIER
ld.v4.b32 {%r8,%r9,%r10,%r11},[%d11];
ret;
}
"""
BASE = "mov.u64 %d5,tile; cvta.shared.u64 %d6,%d5;\n"
ADDED = "add.s64 %d10,%d6,%d3; add.s64 %d11,%d6,%d4;\n"
SHARED = {
    "added": BASE + ADDED,
    "of a 32-bit address": "mov.u32 %r5,tile; cvt.u64.u32 %d5,%r5; cvta.shared.u64 %d6,%d5;\n" + ADDED,
    "each made by its own": (
        "mov.u64 %d5,tile; add.s64 %d6,%d5,%d3; cvta.shared.u64 %d10,%d6; add.s64 %d7,%d5,%d4; cvta.shared.u64 %d11,%d7;\n"
    ),
    "multiplied and added": BASE + "mad.wide.u32 %d10,%r1,16,%d6; mad.wide.u32 %d11,%r4,16,%d6;\n",
    "swizzled": BASE
    + "add.s64 %d7,%d6,%d3; xor.b64 %d10,%d7,16; add.s64 %d8,%d4,%d6; xor.b64 %d11,%d8,16;\n",
    "aligned": BASE + "add.s64 %d7,%d6,127; and.b64 %d6,%d7,-128;\n" + ADDED,
    "one of two": BASE + "add.s64 %d8,%d6,2048; selp.b64 %d9,%d6,%d8,%p1; mov.b64 %d6,%d9;\n" + ADDED,
    "moved on in a loop": BASE + ADDED + "sub.s64 %d10,%d10,16; add.s64 %d10,%d10,16;\n",
}
ELSEWHERE = {
    "another pointer": "mov.u64 %d6,%d1;\n" + ADDED,
    "one that may be another one": BASE + "selp.b64 %d6,%d6,%d1,%p1;\n" + ADDED,
    "one that was another one on some path": BASE + "@%p1 mov.u64 %d6,%d1;\n" + ADDED,
    "its last bits": BASE + "and.b64 %d7,%d6,127; add.s64 %d6,%d1,%d7;\n" + ADDED,
    "a difference": BASE + "add.s64 %d7,%d6,16; sub.s64 %d8,%d7,%d6; add.s64 %d6,%d1,%d8;\n" + ADDED,
    "another pointer and a difference": BASE + "sub.s64 %d7,%d6,%d1; add.s64 %d6,%d1,%d7;\n" + ADDED,
    "of global memory": "cvta.global.u64 %d6,%d1;\n" + ADDED,
    "of local memory": "cvta.local.u64 %d6,%d1;\n" + ADDED,
}


def made(pointers: str, barrier: str = "") -> str:
    return KERNEL.replace("POINTERS\n", pointers).replace("BARRIER\n", barrier)


@pytest.mark.parametrize("case", SHARED)
def test_they_race_without_a_barrier(case: str) -> None:
    found = tiers(made(SHARED[case]))
    assert {rule for _, rule in found} == {"shared-unsynchronised"}
    assert "error" in {tier for tier, _ in found} or case == "one of two"
    assert tiers(made(SHARED[case], "bar.sync 0;\n")) == set()


@pytest.mark.parametrize("case", ELSEWHERE)
def test_nothing_is_said_of_other_addresses(case: str) -> None:
    assert tiers(made(ELSEWHERE[case])) == set()


def test_an_atomic_by_such_an_address_is_one_in_shared_memory() -> None:
    """Its result decides who loads, so nothing is said."""
    ticket = "atom.acq_rel.cta.add.u32 %r20,[%d6+2048],1; setp.ne.u32 %p2,%r20,127;\n@%p2 ret;\n"
    assert tiers(made(SHARED["added"], ticket)) == set()
    assert tiers(made(SHARED["added"], ticket.replace("@%p2 ret;\n", ""))) == {
        ("error", "shared-unsynchronised")
    }


def test_a_copy_that_is_loaded_so() -> None:
    copy = "cvta.to.shared.u64 %d12,%d10; cp.async.cg.shared.global [%d12],[%d1],16;\ncp.async.wait_all;\n"
    text = made(SHARED["added"] + copy).replace("st.v4.b32 [%d10],{%r1,%r1,%r1,%r1};\n", "")
    ordered = text.replace("cp.async.wait_all;\n", "cp.async.wait_all;\nbar.sync 0;\n")
    assert tiers(text) == {("error", "shared-unsynchronised")}
    assert tiers(ordered) == set()
    assert tiers(ordered.replace("cp.async.wait_all;\n", "")) == {("error", "copy-incomplete")}

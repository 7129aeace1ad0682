"""Copies against what other threads do with the same bytes: two roles, each kernel one slip from a right one."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.execution.generic_findings import GenericFindings
from ptxmma.check.ptx.decode import DecodedFunction
from ptxmma.check.ptx.flow import build_flow
from ptxmma.check.ptx.operation import Operations
from ptxmma.check.ptx.reader import read_module
from ptxmma.check.walks.kernel_walks import KernelWalks
from ptxmma.formal.ordering.notation import parse
from ptxmma.gen.litmus.litmus_ptx import LitmusKernel, module
from ptxmma.gen.litmus.litmus_tests import suite
from ptxmma.spec.api import load

# Warp 1 copies into the tile and arrives; warp 0 waits for it, and does something with the same bytes.
KERNEL = """\
.version 8.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[1024];
.shared .align 8 .b64 ready;
.shared .align 8 .b64 filled;
.visible .entry k(.param .u64 in)
.reqntid 64, 1, 1
{
.reg .b64 %d<4>; .reg .pred %p<8>; .reg .b32 %r<12>;
ld.param.u64 %d1,[in];
mov.u32 %r1,%tid.x; and.b32 %r2,%r1,31; shl.b32 %r2,%r2,4; mov.u32 %r3,tile; add.u32 %r4,%r3,%r2;
setp.ne.u32 %p1,%r1,0;
@!%p1 mbarrier.init.shared::cta.b64 [ready],32;
@!%p1 mbarrier.init.shared::cta.b64 [filled],1;
bar.sync 0;
setp.lt.u32 %p2,%r1,32;
@%p2 bra USE;
cp.async.cg.shared.global [%r4],[%d1],16;
cp.async.commit_group;
cp.async.wait_group 0;
fence.proxy.async.shared::cta;
mbarrier.arrive.shared::cta.b64 _,[ready];
ret;
USE:
mbarrier.try_wait.parity.shared::cta.b64 %p3,[ready],0;
@!%p3 bra USE;
ACT
ret;
}
"""
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile],[%d1],512,[filled];"
ACTS = {
    "load": "ld.shared.v4.b32 {%r5,%r6,%r7,%r8},[%r4];",
    "store": "st.shared.b32 [%r4],%r1;",
    "copy": "cp.async.cg.shared.global [%r4],[%d1],16;",
    "bulk": f"@!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _,[filled],512;\n@!%p1 {BULK}",
}
# Which of the two is found depends on who is executed first.
UNORDERED = {("error", "copy-incomplete"), ("error", "shared-unsynchronised")}
SLIPS = {
    "commit": ("cp.async.commit_group;\n", ""),
    "wait": ("cp.async.wait_group 0;\n", ""),
    "wait-1": ("cp.async.wait_group 0;", "cp.async.wait_group 1;"),
    "try": ("@!%p3 bra USE;\n", ""),
    "parity": ("[ready],0;", "[ready],1;"),
}


def kernel(act: str) -> str:
    return KERNEL.replace("ACT", ACTS[act])


def loud(text: str) -> set[tuple[str, str]]:
    return {(f.tier, f.rule) for f in check_text(text, "k.ptx").findings if f.tier in ("error", "likely")}


@pytest.mark.parametrize("act", ACTS)
def test_who_waits_for_the_copies_may_do_anything(act: str) -> None:
    assert loud(kernel(act)) == set()


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("slip", SLIPS)
def test_who_does_not_wait_may_not(act: str, slip: str) -> None:
    old, new = SLIPS[slip]
    text = kernel(act)
    assert old in text
    found = loud(text.replace(old, new))
    assert (
        ("error", "copy-incomplete") in found if slip in ("commit", "wait", "wait-1") else found & UNORDERED
    )


def test_a_bulk_copy_over_copied_bytes_needs_a_proxy_fence() -> None:
    text = kernel("bulk").replace("fence.proxy.async.shared::cta;\n", "")
    assert loud(text) == {("error", "proxy-fence-copy")}
    assert loud(kernel("store").replace("fence.proxy.async.shared::cta;\n", "")) == set()


@pytest.mark.parametrize("act", ["store", "copy", "bulk"])
def test_bytes_are_loaded_before_they_are_written_again(act: str) -> None:
    """Here warp 1 loads, and warp 0 writes what it has loaded."""
    copies = "cp.async.cg.shared.global [%r4],[%d1],16;\ncp.async.commit_group;\ncp.async.wait_group 0;\n"
    text = kernel(act).replace(copies, ACTS["load"] + "\n", 1)
    assert loud(text) == set()
    assert loud(text.replace("@!%p3 bra USE;\n", "")) & UNORDERED


def test_roles_that_wait_at_barriers_of_two_numbers() -> None:
    """One role loads, the other copies; they meet in between, at one number."""
    tests = {test.name: test for test in suite()}
    text = module([LitmusKernel("k", (), tests["other-load-copy-1"].program)])
    assert loud(text) == set()
    assert ("error", "barrier-stuck") in loud(text.replace("bar.sync 0;", "bar.sync 15;", 1))


def test_a_wait_that_the_ptx_does_not_decide_is_not_judged() -> None:
    text = kernel("load").replace(
        "cp.async.wait_group 0;",
        "ld.global.u32 %r9,[%d1]; setp.eq.u32 %p4,%r9,0;\n@%p4 cp.async.wait_group 0;",
    )
    assert loud(text) == set()


@pytest.mark.parametrize(
    ("name", "slip"),
    [
        ("copy-bulk-1", "without-proxy-fence"),
        ("copy-other-copy-1", "without-barrier"),
        ("bulk-other-load-2", "without-await-b0"),
        ("other-bulk-copy-2", "without-barrier"),
        ("store-other-bulk-2", "without-proxy-fence"),
        ("load-other-copy-2", "without-other-await-b1"),
        ("other-store-copy-2", "without-await-b1"),
    ],
)
def test_litmus_tests_of_copies(name: str, slip: str) -> None:
    tests = {test.name: test for test in suite()}
    right, wrong = (module([LitmusKernel("k", (), tests[one].program)]) for one in (name, f"{name}-{slip}"))
    assert loud(right) == set()
    assert {tier for tier, _ in loud(wrong)} == {"error"}


# Warps 0 and 1 store in turn and arrive at a named barrier; warp 2 stores what they have stored in bulk, and frees it.
REDUCED = """\
.version 8.0
.target sm_90a
.address_size 64
.shared .align 128 .b8 tile[1024];
.visible .entry k(.param .u64 out, .param .u32 n)
.reqntid 96, 1, 1
{
.reg .b64 %d<4>; .reg .pred %p<8>; .reg .b32 %r<12>;
ld.param.u64 %d1,[out]; ld.param.u32 %r0,[n];
mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,4; mov.u32 %r3,tile; add.u32 %r4,%r3,%r2; mov.u32 %r5,0;
setp.ge.u32 %p1,%r1,64;
@%p1 bra OUT;
IN:
setp.eq.u32 %p2,%r5,0;
@%p2 bra FIRST;
bar.sync 2,96;
FIRST:
st.shared.v4.b32 [%r4],{%r1,%r1,%r1,%r5};
fence.proxy.async.shared::cta;
bar.arrive 1,96;
add.u32 %r5,%r5,1; setp.lt.u32 %p3,%r5,%r0;
@%p3 bra IN;
ret;
OUT:
bar.sync 1,96;
setp.ne.u32 %p4,%r1,64;
@%p4 bra MEET;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d1],[tile],1024;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
MEET:
bar.warp.sync -1;
bar.arrive 2,96;
add.u32 %r5,%r5,1; setp.lt.u32 %p3,%r5,%r0;
@%p3 bra OUT;
ret;
}
"""
FENCE = "fence.proxy.async.shared::cta;\n"


@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        ("other: store s0; barrier; bulk-store s0; other: proxy-fence; barrier", "bulk-store-fence"),
        ("other: store s0; other: proxy-fence; barrier; bulk-store s0; barrier", None),
        ("other: store s0; other: proxy-fence; barrier; other: proxy-fence; bulk-store s0; barrier", None),
        # Nothing but bulk copies and bulk stores, of one thread or of two.
        ("bulk s0 b0; bulk-store s0", "copy-incomplete"),
        ("bulk s0 b0; await b0; bulk-store s0", None),
        ("bulk-store s0; bulk.commit; bulk s0 b0", "bulk-store-pending"),
        ("bulk-store s0; bulk.commit; bulk.wait 0; bulk s0 b0", None),
        ("other: bulk s0 b0; bulk-store s0", "shared-unsynchronised"),
        ("other: bulk s0 b0; await b0; bulk-store s0", None),
    ],
)
def test_bulk_stores_of_the_models(steps: str, rule: str | None) -> None:
    text = module([LitmusKernel("k", (), parse(f"{steps}; bulk.commit; bulk.wait 0"))])
    found = loud(text)
    assert found == (set() if rule is None else {("error", rule)})


def test_what_other_warps_store_in_bulk_is_fenced() -> None:
    assert loud(REDUCED) == set()
    assert loud(REDUCED.replace(FENCE, "")) == {("error", "bulk-store-fence")}
    assert loud(REDUCED.replace(FENCE, "").replace("@%p4 bra MEET;\n", f"{FENCE}@%p4 bra MEET;\n")) == set()
    freed = REDUCED.replace("cp.async.bulk.wait_group.read 0;\n", "")
    assert ("error", "bulk-store-pending") in loud(freed)


STAGES = """\
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 in, .param .u32 n)
.reqntid 64, 1, 1
{
.reg .b64 %d<4>; .reg .pred %p<4>; .reg .b32 %r<12>;
ld.param.u64 %d1,[in]; ld.param.u32 %r0,[n]; SIZE
mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,4; mov.u32 %r3,tile; add.u32 %r2,%r2,%r3;
cp.async.cg.shared.global [%r2],[%d1],16; cp.async.commit_group;
cp.async.cg.shared.global [%r2+1024],[%d1],16; cp.async.commit_group;
cp.async.cg.shared.global [%r2+2048],[%d1],16; cp.async.commit_group;
mov.u32 %r4,0; mov.u32 %r5,3;
LOOP:
cp.async.wait_group 2;
bar.sync 0;
shl.b32 %r7,%r5,10; add.u32 %r8,%r2,%r7;
cp.async.cg.shared.global [%r8],[%d1],16; cp.async.commit_group;
add.u32 %r5,%r5,1; and.b32 %r5,%r5,3;
add.u32 %r4,%r4,STEP;
setp.lt.u32 %p1,%r4,%r0;
@%p1 bra LOOP;
cp.async.wait_group 0;
bar.sync 0;
mov.u32 %r10,1008; sub.u32 %r10,%r10,%r2; add.u32 %r10,%r10,%r3; add.u32 %r10,%r10,%r3;
st.shared.b32 [%r10],%r9;
ret;
}
"""


@pytest.mark.parametrize(
    ("size", "step"),
    [("", "64"), ("", "1"), ("add.u32 %r0,%r0,31; shr.u32 %r0,%r0,5;", "1"), ("", "96")],
)
def test_the_last_rounds_of_a_loop_whatever_a_round_counts(size: str, step: str) -> None:
    """Only after several rounds do copies of another warp lie where the last store writes."""
    text = STAGES.replace("SIZE", size).replace("STEP", step)
    assert {one.rule for one in check_text(text, "k.ptx").findings} == set()
    found = check_text(text.replace("bar.sync 0;\nmov", "mov"), "k.ptx").findings
    assert [(one.tier, one.rule) for one in found] == [("error", "shared-unsynchronised")]


# Warp 0 copies bytes 0 to 511 and waits. Warp 1 meets it and copies bytes 256 to 767. All meet. Warp 2 copies bytes 0
# to 255: the first copy is not looked at again. All meet, and warp 3 reads bytes 256 to 511.
OVER_ANOTHER = """\
.version 8.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[1024];
.visible .entry k(.param .u64 in)
.reqntid 128, 1, 1
{
.reg .b64 %d<4>; .reg .pred %p<8>; .reg .b32 %r<12>;
ld.param.u64 %d1,[in];
mov.u32 %r1,%tid.x; shr.u32 %r2,%r1,5; and.b32 %r3,%r1,31; mov.u32 %r4,tile;
shl.b32 %r5,%r3,4; add.u32 %r5,%r5,%r4; shl.b32 %r6,%r3,3; add.u32 %r6,%r6,%r4;
setp.ne.u32 %p1,%r2,0; setp.ne.u32 %p2,%r2,1; setp.ne.u32 %p3,%r2,2; setp.ne.u32 %p4,%r2,3;
@%p1 bra FIRST;
cp.async.cg.shared.global [%r5],[%d1],16;
cp.async.wait_all;
FIRST:
setp.gt.u32 %p5,%r2,1;
@!%p5 barrier.sync 2,64;
@%p2 bra SECOND;
cp.async.cg.shared.global [%r5+256],[%d1],16;
WAIT
SECOND:
barrier.sync 1;
@%p3 bra THIRD;
cp.async.ca.shared.global [%r6],[%d1],8;
cp.async.wait_all;
THIRD:
barrier.sync 1;
@%p4 bra END;
ld.shared.v2.b32 {%r7,%r8},[%r6+256];
END:
ret;
}
"""


def executed(text: str) -> set[str]:
    """The rules of what executions alone find."""
    module = read_module(text, "k.ptx")
    operations = Operations(load().judge(module.version, module.target))
    (function,) = module.functions
    flow = build_flow(function, module, operations)
    return {f.rule for f in GenericFindings(KernelWalks(module, DecodedFunction(function, operations), flow))}


@pytest.mark.parametrize(("wait", "expected"), [("", {"copy-incomplete"}), ("cp.async.wait_all;", set())])
def test_a_copy_over_the_bytes_of_one_that_all_know(wait: str, expected: set[str]) -> None:
    assert executed(OVER_ANOTHER.replace("WAIT", wait)) == expected

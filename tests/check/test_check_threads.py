"""ptxmma check: shared memory between threads: stages that mbarriers free, bulk copies that they complete."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

# Another function initialises the mbarriers, so that walks judge the stages.
HEAD = """.version 8.0
.target sm_90a
.address_size 64
.extern .func prepare;
.shared .align 1024 .b8 stages[65536];
.shared .align 8 .b8 full[32];
.shared .align 8 .b8 empty[32];
.visible .entry k(.param .u64 source, .param .u32 count)
.reqntid 256, 1, 1
{
.reg .b32 %r<40>;
.reg .f32 %f<8>;
.reg .b64 %rd<20>;
.reg .pred %p<20>;
mov.u32 %r0, %tid.x;
ld.param.u64 %rd0, [source];
ld.param.u32 %r1, [count];
mov.u32 %r2, stages;
mov.u32 %r3, full;
mov.u32 %r4, empty;
call prepare;
bar.sync 0;
shr.u32 %r5, %r0, 7;
setp.ne.u32 %p0, %r5, 0;
mov.u32 %r6, 0;
mov.u32 %r7, 0;
@%p0 bra CONSUMER;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra END;
"""
STAGE = "and.b32 %r8, %r6, 3;\nshl.b32 %r9, %r8, 3;\nadd.u32 %r10, %r3, %r9;\nadd.u32 %r11, %r4, %r9;\n"
NEXT = "add.u32 %r6, %r6, 1;\nshr.u32 %r7, %r6, 2;\nand.b32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r6, %r1;\n"
FREE = "xor.b32 %r12, %r7, 1;\nF: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11], %r12;\n@!%p3 bra F;\n"
COPY = (
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 16384;\nshl.b32 %r13, %r8, 14;\nadd.u32 %r14, %r2, %r13;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd0], 16384, [%r10];\n"
)
FULL = "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r10], %r7;\n@!%p4 bra W;\n"
FENCE = "wgmma.fence.sync.aligned;\n"
MMA = (
    "shl.b32 %r13, %r8, 14;\nadd.u32 %r14, %r2, %r13;\nshr.u32 %r15, %r14, 4;\nand.b32 %r15, %r15, 16383;\n"
    "cvt.u64.u32 %rd1, %r15;\nor.b64 %rd2, %rd1, 0x4000004000000000;\nadd.s64 %rd3, %rd2, 512;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd2, %rd3, 1, 1, 1, 0, 0;\n"
    "wgmma.commit_group.sync.aligned;\n"
)
WAIT = "wgmma.wait_group.sync.aligned 1;\n"
RELEASE = (
    "setp.eq.u32 %p5, %r6, 0;\n@%p5 bra SKIP;\nadd.u32 %r16, %r6, 3;\nand.b32 %r16, %r16, 3;\nshl.b32 %r16, %r16, 3;\n"
    "add.u32 %r17, %r4, %r16;\nmbarrier.arrive.shared::cta.b64 _, [%r17];\nSKIP:\n"
)


def kernel(producer: str = FREE + COPY, consumer: str = FULL + FENCE + MMA + WAIT + RELEASE) -> str:
    return (
        f"{HEAD}PRODUCE:\n{STAGE}{producer}{NEXT}@%p2 bra PRODUCE;\nbra END;\n"
        f"CONSUMER:\n{STAGE}{consumer}{NEXT}@%p2 bra CONSUMER;\nwgmma.wait_group.sync.aligned 0;\nEND:\nret;\n}}\n"
    )


def found(**parts: str) -> list[tuple[str, str]]:
    report = check_text(kernel(**parts), "k.ptx")
    assert not report.faults
    return [(f.tier, f.rule) for f in report.findings if f.tier in ("error", "likely")]


def test_a_ring_of_stages_as_it_should_be() -> None:
    assert found() == []


@pytest.mark.parametrize("wait", ["", "wgmma.wait_group.sync.aligned 2;\n"])
def test_a_stage_released_while_a_group_reads_it(wait: str) -> None:
    assert found(consumer=FULL + FENCE + MMA + wait + RELEASE) == [("likely", "shared-overwritten")]


def test_the_witness_of_a_release_ends_with_the_copy() -> None:
    text = kernel(consumer=FULL + FENCE + MMA + RELEASE)
    (finding,) = (f for f in check_text(text, "k.ptx").findings if f.tier == "likely")
    steps = [moment.statement.split(".")[0] for moment in finding.witness]
    assert (steps[0], steps[-2], steps[-1]) == ("wgmma", "mbarrier", "cp")


def test_a_stage_released_before_the_wait() -> None:
    assert found(consumer=FULL + FENCE + MMA + RELEASE + WAIT) == [("likely", "shared-overwritten")]
    now = RELEASE.replace("add.u32 %r16, %r6, 3", "add.u32 %r16, %r6, 0")
    assert found(consumer=FULL + FENCE + MMA + now + WAIT) == [("likely", "shared-overwritten")]
    assert found(consumer=FULL + FENCE + MMA + WAIT.replace("1", "0") + now) == []


def test_a_bulk_copy_that_nobody_awaits() -> None:
    assert found(consumer=FENCE + MMA + WAIT + RELEASE) == [("likely", "copy-incomplete")]


def test_a_wait_on_another_barrier_is_none() -> None:
    other = FULL.replace("[%r10]", "[%r11]")
    assert ("likely", "copy-incomplete") in found(consumer=other + FENCE + MMA + WAIT + RELEASE)


def test_a_wait_behind_the_product_comes_too_late() -> None:
    late = FENCE + MMA + FULL + WAIT + RELEASE
    assert ("likely", "copy-incomplete") in found(consumer=late)


STORE = (
    "shl.b32 %r13, %r8, 14;\nadd.u32 %r14, %r2, %r13;\nst.shared.v4.b32 [%r14], {%r20,%r21,%r22,%r23};\n"
    "PROXY" + "mbarrier.arrive.shared::cta.b64 _, [%r10];\n"
)
PROXY = "fence.proxy.async.shared::cta;\n"


def test_a_producer_that_stores_executes_a_proxy_fence() -> None:
    assert found(producer=FREE + STORE.replace("PROXY", PROXY)) == []
    assert found(producer=FREE + STORE.replace("PROXY", "")) == [("likely", "proxy-fence")]
    late = FREE + STORE.replace("PROXY", "") + PROXY
    assert found(producer=late) == [("likely", "proxy-fence")]


def test_the_consumer_may_execute_it() -> None:
    consumer = FULL + PROXY + FENCE + MMA + WAIT + RELEASE
    assert found(producer=FREE + STORE.replace("PROXY", ""), consumer=consumer) == []


def test_a_producers_stores_that_nobody_awaits() -> None:
    wrong = found(producer=FREE + STORE.replace("PROXY", PROXY), consumer=FENCE + MMA + WAIT + RELEASE)
    assert wrong and {rule for _, rule in wrong} <= {"shared-unsynchronised", "proxy-fence"}


def test_copies_beside_a_wgmma_without_a_shape() -> None:
    copied = "cp.async.cg.shared.global [%r2], [%rd0], 16;\nst.shared.b32 [%r2], %r0;\n"
    wgmma = "wgmma.mma_async.sync.aligned.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 1, 1, 1, 0, 0;\n"
    head = HEAD.replace("call prepare;\n", "")
    text = f"{head}{copied}CONSUMER:\nEND:\n{wgmma}ret;\n}}\n"
    rules = {(finding.rule, finding.tier) for finding in check_text(text, "k.ptx").findings}
    assert rules == {("legality.qualifier.missing", "error"), ("copy-incomplete", "error")}

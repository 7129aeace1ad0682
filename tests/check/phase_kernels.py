"""Programs of barriers with phases as PTX kernels, for `ptxmma check` to judge.

A thread that multiplies is a warpgroup, and comes first; any other is a warp. The first thread of each is elected
for mbarriers and copies; the warpgroup meets before it arrives. Each store is fenced for the async proxy: proxies are
no matter of these programs. Bytes are in units of which eight fill a stage.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptxmma.formal.ordering.phases.phase_programs import PhaseProgram, PhaseStep

__all__ = ["as_ptx"]

HEAD = """.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in)
.reqntid {threads}, 1, 1
{{
.reg .f32 %f<12>; .reg .b64 %d<8>; .reg .pred %p<12>; .reg .b32 %r<16>;
ld.param.u64 %d3,[in];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem; shl.b32 %r5,%r1,4; and.b32 %r5,%r5,2047;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
setp.eq.u32 %p0,%r1,0;
"""
STAGE, UNIT, BARRIERS = 16384, 1152, 65536  # bytes of a stage and of a unit; where the mbarriers are
SHAPE = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"


def as_ptx(program: PhaseProgram) -> str:
    """The program as a kernel."""
    multiplies = [any(step.word == "multiply" for step in thread) for thread in program.threads]
    assert multiplies == sorted(multiplies, reverse=True)
    sizes = [128 if wide else 32 for wide in multiplies]
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    lines = [HEAD.format(threads=sum(sizes)), "@!%p0 bra NI;"]
    for number, count in enumerate(program.counts):
        if number not in program.initialised:
            lines.append(f"mbarrier.init.shared::cta.b64 [smem+{BARRIERS + 8 * number}],{count};")
    lines += ["NI:", "bar.sync 0;"]
    for number, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        lines.append(f"setp.lt.u32 %p3,%r1,{start + size}; @%p3 bra T{number};")
    for number, thread in enumerate(program.threads):
        lines += [f"T{number}:", f"setp.eq.u32 %p1,%r1,{starts[number]};"]
        joins = {step.barrier: _size(program, sizes, step.barrier) for step in thread if step.word == "join"}
        met = -1
        for at, step in enumerate(thread):
            if step.word == "join" and at + 1 < len(thread) and thread[at + 1].word == "leave":
                met = at + 1
                lines.append(f"bar.sync {1 + step.barrier},{joins[step.barrier]};")
            elif step.word == "join":
                lines.append(f"bar.arrive {1 + step.barrier},{joins[step.barrier]};")
            elif at != met:
                lines += _statements(program, number, at, step, sizes[number] > 32)
        lines.append("bra DONE;")
    return "\n".join([*lines, "DONE:", "ret;", "}"]) + "\n"


def _size(program: PhaseProgram, sizes: list[int], barrier: int) -> int:
    """The threads of a named barrier: those of all that use it, if they are as many, or of as many alike."""
    users = [
        size
        for size, thread in zip(sizes, program.threads, strict=True)
        if any(step.word == "join" and step.barrier == barrier for step in thread)
    ]
    count = program.named[barrier]
    return sum(users) if len(users) == count else users[0] * count


def _statements(program: PhaseProgram, thread: int, at: int, step: PhaseStep, wide: bool) -> Iterator[str]:
    place = f"[smem+{BARRIERS + 8 * step.barrier}]"
    relaxed = ".relaxed.cta" if step.word.endswith(".relaxed") else ""
    match step.word.removesuffix(".relaxed"):
        case "init":
            yield f"@%p1 mbarrier.init.shared::cta.b64 {place},{program.counts[step.barrier]};"
        case "copy":
            copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            yield f"@%p1 {copy} [smem+{STAGE * step.buffer}],[%d3],{UNIT * step.number},{place};"
        case "expect":
            yield f"@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 {place},{UNIT * step.number};"
        case "arrive":
            if wide:
                yield f"bar.sync {8 + thread},128;"
            yield f"@%p1 mbarrier.arrive{relaxed}.shared::cta.b64 _,{place},{step.number};"
        case "wait":
            yield f"W{thread}_{at}:"
            yield f"mbarrier.try_wait.parity{relaxed}.shared::cta.b64 %p5,{place},{step.number};"
            yield f"@!%p5 bra W{thread}_{at};"
        case "fence":
            yield "fence.acq_rel.cta;"
        case "store":
            yield f"add.u32 %r7,%r2,%r5; st.shared.b32 [%r7+{STAGE * step.buffer}],%r1;"
            yield "fence.proxy.async.shared::cta;"
        case "load":
            yield f"add.u32 %r7,%r2,%r5; ld.shared.b32 %r8,[%r7+{STAGE * step.buffer}];"
        case "multiply":
            for register, low in (("%d0", 0), ("%d1", 8192)):
                yield f"add.u32 %r3,%r2,{STAGE * step.buffer + low}; shr.u32 %r4,%r3,4; and.b32 %r4,%r4,16383;"
                yield f"cvt.u64.u32 {register},%r4; or.b64 {register},{register},0x4000004000010000;"
            yield "wgmma.fence.sync.aligned;"
            yield f"{SHAPE} {{%f0,%f1,%f2,%f3}},%d0,%d1,1,1,1,0,0;"
            yield "wgmma.commit_group.sync.aligned;"
        case "finish":
            yield "wgmma.wait_group.sync.aligned 0;"
        case "cluster.arrive":
            yield f"barrier.cluster.arrive{relaxed.removesuffix('.cta')}.aligned;"
        case "cluster.wait":
            yield "barrier.cluster.wait.aligned;"

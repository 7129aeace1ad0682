"""Litmus tests as PTX: one kernel for each test, which ptxas assembles and `check` reads.

Threads 0 to 127 are the warpgroup, thread 128 is the other thread. A buffer is 2048 bytes of shared memory,
which a descriptor names as A or B. A register of the program is as many PTX registers as its largest use
needs. All of them get a value before the program begins. The end of the block is that of the kernel. After
the program, every group is committed and waited for, and each accumulator is stored, so that no assembler
drops it; that adds no hazard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from ...formal.ordering.programs import (
    OTHER,
    BlockEnd,
    Buffer,
    BulkCommit,
    BulkCopy,
    BulkStore,
    BulkWait,
    Commit,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CtaBarrier,
    MbarrierArrive,
    MbarrierWait,
    Mma,
    MmaShape,
    Program,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    StepOperation,
    Wait,
    WgmmaFence,
)
from ...spec.api import load
from ...spec.errors import Question
from ...spec.nodes import Version
from ...spec.variants import Variant

__all__ = ["LitmusKernel", "module", "version", "wgmma"]

_BYTES = 2048
_THREADS = 128
_LITERALS = {
    "scale-d": "1",
    "imm-scale-a": "1",
    "imm-scale-b": "1",
    "imm-trans-a": "0",
    "imm-trans-b": "0",
    "sp-sel": "0",
}
_SIMPLE: dict[type, str] = {
    ProxyFence: "fence.proxy.async.shared::cta;",
    WgmmaFence: "wgmma.fence.sync.aligned;",
    Commit: "wgmma.commit_group.sync.aligned;",
    CpAsyncCommit: "cp.async.commit_group;",
    BulkCommit: "cp.async.bulk.commit_group;",
    CtaBarrier: "bar.sync 0;",
}


@dataclass(frozen=True)
class LitmusKernel:
    """A test to print: the name of its entry, the comments above it, and its program."""

    name: str
    comments: tuple[str, ...]
    program: Program


@cache
def wgmma(shape: MmaShape) -> Variant:
    """The dense wgmma of a shape, or else the sparse one; raises Question if there is neither."""
    for kind in ("wgmma.mma_async", "wgmma.mma_async.sp"):
        try:
            return load().find(f"{kind}.sync.aligned.{shape}")
        except Question as error:
            fault = error
    raise fault


def version(program: Program) -> Version:
    """The PTX ISA version that a program needs: what its wgmmas need, and at least 8.0."""
    needed = Version(8, 0)
    for step in program.steps:
        if isinstance(step.operation, Mma):
            since = wgmma(step.operation.shape).gate.since
            needed = max(needed, since) if since else needed
    return needed


def module(kernels: Iterable[LitmusKernel]) -> str:
    """One PTX file of all kernels, for the earliest .version that has what they need."""
    chosen = list(kernels)
    needed = max((version(kernel.program) for kernel in chosen), default=Version(8, 0))
    head = f".version {needed}\n.target sm_90a\n.address_size 64\n"
    return "\n".join([head, *("\n".join(_Writer(kernel).lines()) for kernel in chosen)])


class _Writer:
    """One kernel."""

    def __init__(self, kernel: LitmusKernel) -> None:
        self.kernel = kernel
        self.program = kernel.program
        self.operations: list[StepOperation] = [step.operation for step in self.program.steps]
        self.registers = self._registers()
        self.buffers = sorted({number for operation in self.operations for number in _buffers(operation)})
        signals = (MbarrierArrive, MbarrierWait, BulkCopy)
        self.barriers = sorted(
            {operation.barrier for operation in self.operations if isinstance(operation, signals)}
        )
        self.accumulators = sorted(
            {operation.d for operation in self.operations if isinstance(operation, Mma)}
        )
        self.other = any(step.thread == OTHER for step in self.program.steps)
        self.labels = 0

    def _registers(self) -> dict[int, int]:
        counts: dict[int, int] = {}
        for operation in self.operations:
            uses: list[tuple[int, int]] = []
            if isinstance(operation, RegisterRead | RegisterWrite):
                uses = [(operation.register, 4)]
            elif isinstance(operation, Mma):
                variant = wgmma(operation.shape)
                uses = [(operation.d, variant.fragment_registers("D"))]
                if isinstance(operation.a, Register):
                    uses.append((operation.a.number, variant.fragment_registers("A")))
            for register, count in uses:
                counts[register] = max(counts.get(register, 0), count)
        return dict(sorted(counts.items()))

    def lines(self) -> list[str]:
        """The kernel, comments first."""
        threads = _THREADS + self.other
        body = [f"// {line}" for line in self.kernel.comments]
        body += [f".visible .entry {self.kernel.name}(.param .u64 in, .param .u64 out)"]
        body += [f".reqntid {threads}, 1, 1", "{"]
        body += [f"    {line}" for line in (*self._declarations(), *self._prologue())]
        for thread in (0, OTHER) if self.other else (0,):
            if thread == OTHER:
                body.append("OTHER:")
            for step, operation in zip(self.program.steps, self.operations, strict=True):
                if step.thread == thread or isinstance(operation, CtaBarrier):
                    body += [
                        line if line.endswith(":") else f"    {line}"
                        for line in self._operation(operation, thread)
                    ]
            if thread == 0:
                body += [f"    {line}" for line in self._epilogue()]
            body.append("    ret;")
        return [*body, "}", ""]

    def _declarations(self) -> list[str]:
        lines = [".reg .b64 %in, %out, %state;", ".reg .b32 %thread, %offset, %across, %word<4>;"]
        lines += [".reg .pred %elected, %other, %done;"]
        lines += [f".reg .b32 %r{register}_<{count}>;" for register, count in self.registers.items()]
        for buffer in self.buffers:
            lines += [f".shared .align 1024 .b8 s{buffer}[{_BYTES}];"]
            lines += [f".reg .b32 %s{buffer}, %own{buffer};", f".reg .b64 %desc{buffer};"]
        lines += [f".shared .align 8 .b64 b{barrier};" for barrier in self.barriers]
        if any(
            isinstance(operation, Mma) and "sp-meta" in _operands(operation) for operation in self.operations
        ):
            lines += [".reg .b32 %meta;", "mov.b32 %meta, 0x44444444;"]
        return lines

    def _prologue(self) -> list[str]:
        lines = ["ld.param.u64 %in, [in];", "ld.param.u64 %out, [out];"]
        lines += [
            "cvta.to.global.u64 %in, %in;",
            "cvta.to.global.u64 %out, %out;",
            "mov.u32 %thread, %tid.x;",
        ]
        lines += ["shl.b32 %offset, %thread, 4;", "xor.b32 %across, %offset, 1024;"]
        lines += ["setp.eq.u32 %elected, %thread, 0;", f"setp.eq.u32 %other, %thread, {_THREADS};"]
        for buffer in self.buffers:
            lines += [f"mov.u32 %s{buffer}, s{buffer};", f"shr.u32 %own{buffer}, %s{buffer}, 4;"]
            lines += [f"cvt.u64.u32 %desc{buffer}, %own{buffer};"]
            lines += [f"add.u32 %own{buffer}, %s{buffer}, %offset;"]
        for barrier in self.barriers:
            lines.append(f"@%elected mbarrier.init.shared.b64 [b{barrier}], {self._arrivals(barrier)};")
        for register, count in self.registers.items():
            lines += [f"ld.global.b32 %r{register}_{i}, [%in+{4 * i}];" for i in range(count)]
        if self.barriers:
            lines.append("bar.sync 0;")
        if self.other:
            lines.append("@%other bra OTHER;")
        return lines

    def _arrivals(self, barrier: int) -> int:
        """How many arrivals complete the first phase of an mbarrier."""
        count = 0
        for step, operation in zip(self.program.steps, self.operations, strict=True):
            if isinstance(operation, MbarrierWait) and operation.barrier == barrier and count:
                break
            if isinstance(operation, BulkCopy) and operation.barrier == barrier:
                count += 1
            elif isinstance(operation, MbarrierArrive) and operation.barrier == barrier:
                count += 1 if step.thread == OTHER else _THREADS
        return max(count, 1)

    def _operation(self, operation: StepOperation, thread: int) -> list[str]:
        """The statements of one operation."""
        if type(operation) in _SIMPLE:
            return [_SIMPLE[type(operation)]]
        if isinstance(operation, BlockEnd):
            return []
        if isinstance(operation, RegisterRead):
            return self._store(operation.register)
        if isinstance(operation, RegisterWrite):
            count = self.registers[operation.register]
            return [f"ld.global.b32 %r{operation.register}_{i}, [%in+{64 + 4 * i}];" for i in range(count)]
        if isinstance(operation, Mma):
            return [self._mma(operation)]
        if isinstance(operation, Wait):
            return [f"wgmma.wait_group.sync.aligned {operation.n};"]
        if isinstance(operation, CpAsyncWait):
            return [f"cp.async.wait_group {operation.n};"]
        if isinstance(operation, BulkWait):
            return [f"cp.async.bulk.wait_group.read {operation.n};"]
        if isinstance(operation, MbarrierArrive):
            return [f"mbarrier.arrive.shared.b64 %state, [b{operation.barrier}];"]
        if isinstance(operation, MbarrierWait):
            return self._await(operation, thread)
        return self._memory(operation, thread)

    def _memory(self, operation: StepOperation, thread: int) -> list[str]:
        words = "{%word0, %word1, %word2, %word3}"
        if isinstance(operation, SharedWrite):
            where = f"%s{operation.buffer}" if thread == OTHER else f"%own{operation.buffer}"
            return [f"ld.global.v4.b32 {words}, [%in];", f"st.shared.v4.b32 [{where}], {words};"]
        if isinstance(operation, SharedRead):
            where = f"%s{operation.buffer}"
            lines = []
            if thread != OTHER:  # what a thread of another warp stores
                lines, where = [f"add.u32 %word0, {where}, %across;"], "%word0"
            return [*lines, f"ld.shared.v4.b32 {words}, [{where}];", f"st.global.v4.b32 [%out], {words};"]
        if isinstance(operation, CpAsync):
            where = f"%s{operation.buffer}" if thread == OTHER else f"%own{operation.buffer}"
            return [f"cp.async.cg.shared.global [{where}], [%in], 16;"]
        guard = "" if thread == OTHER else "@%elected "
        if isinstance(operation, BulkStore):
            store = "cp.async.bulk.global.shared::cta.bulk_group"
            return [f"{guard}{store} [%out], [s{operation.buffer}], {_BYTES};"]
        assert isinstance(operation, BulkCopy)
        barrier = f"[b{operation.barrier}]"
        copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        return [
            f"{guard}mbarrier.arrive.expect_tx.shared.b64 %state, {barrier}, {_BYTES};",
            f"{guard}{copy} [s{operation.buffer}], [%in], {_BYTES}, {barrier};",
        ]

    def _store(self, register: int) -> list[str]:
        count = self.registers[register]
        return [f"st.global.b32 [%out+{64 * register + 4 * i}], %r{register}_{i};" for i in range(count)]

    def _await(self, operation: MbarrierWait, thread: int) -> list[str]:
        """Spin until the phase is over; the parity is that of the waits of this thread before."""
        self.labels += 1
        earlier = 0
        for step, before in zip(self.program.steps, self.operations, strict=True):
            if before is operation:
                break
            same = isinstance(before, MbarrierWait) and before.barrier == operation.barrier
            earlier += same and step.thread == thread
        label = f"WAIT{self.labels}"
        return [
            f"{label}:",
            f"mbarrier.try_wait.parity.shared.b64 %done, [b{operation.barrier}], {earlier % 2};",
            f"@!%done bra {label};",
        ]

    def _mma(self, operation: Mma) -> str:
        variant = wgmma(operation.shape)
        written = {
            "d": self._vector(operation.d, variant.fragment_registers("D")),
            "b-desc": f"%desc{operation.b}",
            "sp-meta": "%meta",
            **_LITERALS,
        }
        if isinstance(operation.a, Register):
            written["a"] = self._vector(operation.a.number, variant.fragment_registers("A"))
        else:
            written["a-desc"] = f"%desc{operation.a.number}"
        written["scale-d"] = "1" if operation.scale_d else "0"
        return f"{variant.mnemonic} {', '.join(written[name] for name in _operands(operation))};"

    def _vector(self, register: int, count: int) -> str:
        return "{" + ", ".join(f"%r{register}_{i}" for i in range(count)) + "}"

    def _epilogue(self) -> list[str]:
        if not self.accumulators:
            return []
        lines = [
            "// behind the program",
            "wgmma.commit_group.sync.aligned;",
            "wgmma.wait_group.sync.aligned 0;",
        ]
        return lines + [line for register in self.accumulators for line in self._store(register)]


def _operands(operation: Mma) -> Sequence[str]:
    """The names of the operands of an mma, in order."""
    wanted = "descriptor" if isinstance(operation.a, Buffer) else "register"
    return next(form.operands for form in wgmma(operation.shape).forms if form.a == wanted)


def _buffers(operation: StepOperation) -> frozenset[int]:
    if isinstance(operation, Mma):
        return operation.buffers
    if isinstance(operation, SharedRead | SharedWrite | CpAsync | BulkCopy | BulkStore):
        return frozenset((operation.buffer,))
    return frozenset()

"""Raw kernels: words go into registers and shared memory unchanged, and come back unchanged.

Such a kernel contains no layout, so it can measure layouts. Each block is a job with its own configuration;
jobs may share inputs and images of shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...spec.expressions import compiled
from ...spec.fragments import element_bits
from ...spec.model import Operand
from .kernel_list import FragmentAccess, Kernel
from .ptx_text import Affine, Writer
from .statement import Vector, written

__all__ = ["CONFIG", "StridedMatrix", "raw_body", "strided_matrices", "words_in", "words_out"]

# Word by word, what the configuration of a job holds; a descriptor's start address counts from the image's
# first byte. `input` and `image` say which of the inputs and images is the job's: all are of one size.
CONFIG = (
    "image-bytes",
    "scale-d",
    "A.low",
    "A.high",
    "B.low",
    "B.high",
    "stride",
    "input",
    "image",
)


_ALIGNED = 256  # bytes; wmma.load wants 32


@dataclass(frozen=True)
class StridedMatrix:
    """A matrix in global memory that an opaque fragment is filled from: its first byte, and its elements.

    Rows (or columns, if not `by_rows`) follow one another.
    """

    first: int
    bits: int
    rows: int
    columns: int
    by_rows: bool

    @property
    def bytes(self) -> int:
        """How many bytes it has."""
        return self.rows * self.columns * self.bits // 8


def strided_matrices(kernel: Kernel) -> Mapping[str, StridedMatrix]:
    """The matrices of a kernel on opaque fragments: A, B and C in an image, and D in the output."""
    m, n, k = (int(kernel.variant.fields[name]) for name in "mnk")
    found, top = {}, 0
    for part, access in kernel.accesses.items():
        rows, columns = {"A": (m, k), "B": (k, n)}.get(part, (m, n))
        formula = access.variant.row.family.instruction.memory[str(access.variant.fields["layout"])]
        by_rows = compiled(formula.tree, ("row", "col", "stride"))(0, 1, 1 << 10) == 1
        first = 0 if part == "D" else top
        found[part] = StridedMatrix(first, element_bits(kernel.variant, part), rows, columns, by_rows)
        top += -(-found[part].bytes // _ALIGNED) * _ALIGNED
    return found


def words_in(kernel: Kernel) -> int:
    """How many 32-bit words of `in` each thread reads in operand order (an address: one)."""
    return sum(_words(kernel, name, operand) for name, operand in kernel.operands() if _read(operand))


def words_out(kernel: Kernel) -> int:
    """How many words of `out` each thread writes."""
    return sum(_words(kernel, name, o) for name, o in kernel.operands() if o.role != "source")


def _read(operand: Operand) -> bool:
    return operand.role != "destination"


def _words(kernel: Kernel, name: str, operand: Operand) -> int:
    """The 32-bit words of an operand: of its registers, or of an address's offset."""
    if operand.part == "address":
        return 1
    vector = Vector.of(kernel.variant, name)
    return vector.words if vector else 0


def raw_body(kernel: Kernel) -> str:
    """The body of a raw kernel, in braces."""
    w = Writer()
    pointers = {
        name: w.emit("ld.param.u64", f"[{name}]", kind="b64") for name in ("in", "image", "out", "config")
    }
    thread = w.emit("mov.u32", "%tid.x")
    job = w.emit("mov.u32", "%ctaid.x")
    mine = w.emit("mad.wide.u32", job, 4 * len(CONFIG), pointers["config"], kind="b64")
    config = {n: w.emit("ld.global.b32", f"[{mine}+{4 * i}]") for i, n in enumerate(CONFIG)}
    size, which = config["image-bytes"], config["image"]
    image = w.emit("mad.wide.u32", which, size, pointers["image"], kind="b64")
    base = None
    if kernel.shared:
        base = w.emit("mov.u32", "shared_memory")
        _copy(w, kernel, image, base, size, thread, store=False)
        for statement in kernel.instruction.around.written:
            w.say(f"{statement};")
        w.say("bar.sync 0;")
    if kernel.accesses:
        _strided(w, kernel, image, job, pointers["out"])
        w.say("ret;")
        return w.body()
    first = w.emit("mad.lo.u32", config["input"], kernel.threads, thread)
    mine = w.emit("mad.wide.u32", first, 4 * words_in(kernel), pointers["in"], kind="b64")
    arguments: dict[str, list[str] | str] = {}
    results: list[str] = []
    at = 0
    for name, operand in kernel.operands():
        vector = Vector.of(kernel.variant, name)
        if vector:
            registers = [w.new(vector.kind) for _ in range(vector.registers)]
            arguments[name] = registers
            if _read(operand):
                for register in registers:
                    w.say(f"ld.global.{vector.kind} {register}, [{mine}+{at}];")
                    at += vector.size
            if operand.role != "source":
                results += registers
        elif operand.part == "address":
            offset = w.emit("ld.global.b32", f"[{mine}+{at}]")
            at += 4
            arguments[name] = _address(w, kernel, image, base, offset)
        elif operand.part == "scale-d":
            arguments[name] = w.emit("setp.ne.u32", config["scale-d"], 0, kind="pred")
        elif operand.part == "stride":
            arguments[name] = config["stride"]
        elif operand.descriptor:
            stem = str(operand.part)
            word = w.emit("mov.b64", f"{{{config[f'{stem}.low']}, {config[f'{stem}.high']}}}", kind="b64")
            start = w.once("cvt.u64.u32", base, kind="b64")
            start = w.once("shr.u64", start, 4, kind="b64")
            arguments[name] = w.emit("add.u64", word, start, kind="b64")
    for statement in (
        *kernel.instruction.around.before,
        written(kernel, arguments),
        *kernel.instruction.around.after,
    ):
        w.say(f"{statement};")
    if results:
        first = w.emit("mad.lo.u32", job, kernel.threads, thread)
        theirs = w.emit("mad.wide.u32", first, 4 * words_out(kernel), pointers["out"], kind="b64")
        at = 0
        for register in results:
            wide = 8 if register.startswith("%d") else 4
            w.say(f"st.global.b{8 * wide} [{theirs}+{at}], {register};")
            at += wide
    if kernel.stores and base is not None:
        w.say("bar.sync 0;")
        _copy(w, kernel, image, base, size, thread, store=True)
    w.say("ret;")
    return w.body()


def _strided(w: Writer, kernel: Kernel, image: str, job: str, out: str) -> None:
    """Fill the fragments from the matrices of the image, execute, and empty D's to the job's output."""
    matrices = strided_matrices(kernel)
    fragments: dict[str, list[str] | str] = {}
    of: dict[str, list[str]] = {}
    for name, operand in kernel.operands():
        vector = Vector.of(kernel.variant, name)
        if vector:
            of[str(operand.part)] = [w.new(vector.kind) for _ in range(vector.registers)]
            fragments[name] = of[str(operand.part)]
    for part, access in kernel.accesses.items():
        if part != "D":
            at = w.emit("add.u64", image, matrices[part].first, kind="b64")
            _accessed(w, access, of[part], at)
    w.say(f"{written(kernel, fragments)};")
    at = w.emit("mad.wide.u32", job, matrices["D"].bytes, out, kind="b64")
    _accessed(w, kernel.accesses["D"], of["D"], at)


def _accessed(w: Writer, access: FragmentAccess, fragment: list[str], address: str) -> None:
    """Fill or empty one fragment."""
    single = Kernel("raw", access.variant, access.form_name, {})
    arguments: dict[str, list[str] | str] = {
        name: address if operand.part == "address" else fragment for name, operand in single.operands()
    }
    w.say(f"{written(single, arguments)};")


def _address(w: Writer, kernel: Kernel, image: str, base: str | None, offset: str) -> str:
    """The address operand: an offset into the image or shared memory; generic if no space is named."""
    if base is None:
        wide = w.emit("cvt.u64.u32", offset, kind="b64")
        return w.emit("add.u64", image, wide, kind="b64")
    address = w.emit("add.u32", base, offset)
    if kernel.generic:
        wide = w.emit("cvt.u64.u32", address, kind="b64")
        return w.emit("cvta.shared.u64", wide, kind="b64")
    return address


def _copy(w: Writer, kernel: Kernel, image: str, base: str, size: str, thread: str, store: bool) -> None:
    """Copy the image to shared memory, or back: word by word, all threads."""
    first = w.once("shl.b32", thread, 2)
    with w.strided(first, size, 4 * kernel.threads) as at:
        there = w.pointer(image, Affine(at), 1)
        here = w.emit("add.u32", base, at)
        if store:
            word = w.emit("ld.shared.b32", f"[{here}]")
            w.say(f"st.global.b32 {there}, {word};")
        else:
            word = w.emit("ld.global.b32", there)
            w.say(f"st.shared.b32 [{here}], {word};")

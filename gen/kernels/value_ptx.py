"""Value kernels: matrices in, the instruction's fragments by the formulas of the specification, matrix D out.

Matrices are row-major, one element a 32-bit word (64-bit elements: one 64-bit word). Each block is a job:
its matrices follow those of the block before. All that is known of an element's place when the kernel is
written is folded into constants; only the thread is a variable.
"""

from __future__ import annotations

from ...spec.fragments import Packing, packing
from ...spec.model import Operand
from ...spec.specification import Specification
from .described_ptx import DescribedMatrices
from .kernel_list import FragmentAccess, Kernel, space_of
from .memory_ptx import Rows, Strided
from .operations import (
    GUARD,
    META,
    START,
    Placed,
    config_of,
    matrices,
    parameter,
    use_of,
)
from .ptx_text import Affine, Writer
from .recorded_ptx import THREAD, index_of, indices_of, renamed, runs_of
from .statement import Vector, written

__all__ = ["value_body"]

_SHARED = "shared_memory"


class _Value:
    """One kernel while it is written."""

    def __init__(self, kernel: Kernel, specification: Specification) -> None:
        self.kernel = kernel
        self.specification = specification
        self.w = Writer()
        self.matrices = matrices(kernel, specification)
        self.before: list[str] = []

    def body(self) -> str:
        w, kernel = self.w, self.kernel
        self.thread = w.emit("mov.u32", "%tid.x")
        self.job = w.emit("mov.u32", "%ctaid.x")
        self.names = config_of(self.specification)
        self.config_pointer = self._pointer("config", 4 * len(self.names))
        self.pointers = {
            matrix.name: self._pointer(
                matrix.name, (matrix.count + (GUARD if matrix.written else 0)) * matrix.size
            )
            for matrix in self.matrices.values()
        }
        if kernel.shared:
            self._fill()
        if kernel.accesses:
            self._opaque()
            w.say("ret;")
            return w.body()
        arguments: dict[str, list[str] | str] = {}
        for name, operand in kernel.operands():
            arguments |= self._argument(name, operand)
        if kernel.shared:
            for statement in kernel.instruction.around.written:
                w.say(f"{statement};")
            w.say("bar.sync 0;")
        around = kernel.instruction.around
        for statement in (*around.before, written(kernel, arguments), *around.after):
            w.say(f"{statement};")
        for name, operand in kernel.operands():
            if operand.role != "source":
                self._store(operand, arguments[name])
        if kernel.stores:
            w.say("bar.sync 0;")
            rows = self._rows("D")
            rows.read(self.thread, self._config("filler"))
            rows.count_others(self.thread, self._config("shared-bytes"), self._config("filler"))
        w.say("ret;")
        return w.body()

    def _pointer(self, name: str, size: int) -> str:
        """A parameter's pointer, moved to this job's part of `size` bytes."""
        start = self.w.emit("ld.param.u64", f"[{name}]", kind="b64")
        return self.w.emit("mad.wide.u32", self.job, size, start, kind="b64")

    def _config(self, name: str) -> str:
        """A word of the configuration."""
        return self.w.once("ld.global.b32", f"[{self.config_pointer}+{4 * self.names.index(name)}]")

    def _base(self) -> str:
        return self.w.once("mov.u32", _SHARED)

    def _fill(self) -> None:
        """Fill shared memory with a word, so that what is not written is not right by chance."""
        w = self.w
        base, size, filler = self._base(), self._config("shared-bytes"), self._config("filler")
        with w.strided(w.once("shl.b32", self.thread, 2), size, 4 * self.kernel.threads) as at:
            w.say(f"st.shared.b32 [{w.emit('add.u32', base, at)}], {filler};")
        w.say("bar.sync 0;")

    def _argument(self, name: str, operand: Operand) -> dict[str, list[str] | str]:
        """What stands for an operand in the statement, loaded; nothing for an immediate."""
        w, kernel = self.w, self.kernel
        if operand.descriptor:
            return {name: self._described().descriptor(operand)}
        if operand.part == "scale-d":
            return {name: w.emit("setp.ne.u32", self._config("scale-d"), 0, kind="pred")}
        if operand.part == "address":
            if not kernel.stores:
                self._rows("A").write(self.thread)
            return {name: self._rows("A").address(self.specification, self.thread)}
        vector = Vector.of(kernel.variant, name)
        if vector is None:
            return {}
        if operand.part == "metadata":
            return {name: [self._metadata()]}
        if operand.part in ("scale-a", "scale-b"):
            return {name: [self._scales(operand.part)]}
        if operand.role == "destination":
            return {name: [w.new(vector.kind) for _ in range(vector.registers)]}
        letter = "C" if operand.role == "both" else str(operand.part)
        return {name: self._fragment(letter, str(operand.part), vector)}

    def _described(self) -> DescribedMatrices:
        """The matrices behind descriptors."""
        return DescribedMatrices(
            self.w,
            self.kernel,
            self.specification,
            self.thread,
            self.matrices,
            self.pointers,
            self._config,
            self._base,
        )

    def _rows(self, part: str) -> Rows:
        """The rows in shared memory that A is read from, or D is written to."""
        matrix = self.matrices[part]
        pointer = self.pointers[matrix.name]
        return Rows(self.w, self.kernel, self._base(), self.pointers[parameter("B")], matrix, pointer)

    def _opaque(self) -> None:
        """Opaque fragments: filled from memory, and D's emptied to memory."""
        w, kernel = self.w, self.kernel
        memory = {}
        for part, access in kernel.accesses.items():
            matrix = self.matrices[part]
            shared = space_of(access.variant) == "shared"
            memory[part] = Strided(
                w,
                kernel.threads,
                access,
                matrix,
                self.pointers[matrix.name],
                self._base() if shared else self.pointers[META],
                self._config(f"{part.lower()}.{START}"),
                self._config(f"{part.lower()}.stride"),
            )
            if part != "D":
                memory[part].write(self.thread)
        w.say("bar.sync 0;")
        fragments: dict[str, list[str] | str] = {}
        for name, _ in kernel.operands():
            vector = Vector.of(kernel.variant, name)
            if vector:
                fragments[name] = [w.new(vector.kind) for _ in range(vector.registers)]
        of = {str(operand.part): fragments[name] for name, operand in kernel.operands()}
        for part in "ABC":
            self._access(kernel.accesses[part], of[part], memory[part])
        w.say(f"{written(kernel, fragments)};")
        self._access(kernel.accesses["D"], of["D"], memory["D"])
        w.say("bar.sync 0;")
        memory["D"].read(self.thread)

    def _access(self, access: FragmentAccess, fragment: list[str] | str, memory: Strided) -> None:
        """Fill or empty a fragment."""
        single = Kernel("value", access.variant, access.form_name, {})
        (name,) = (name for name, operand in single.operands() if operand.part not in ("address", "stride"))
        self.w.say(f"{written(single, {name: fragment, **memory.arguments()})};")

    # Fragments in registers.

    def _places(self, letter: str) -> tuple[Packing, list[Affine]]:
        """The packing of a fragment, and the index of each element in its matrix."""
        kernel, specification = self.kernel, self.specification
        recorded, indices = indices_of(use_of(kernel, specification, letter))
        here = self.w.replay(recorded, {THREAD: self.thread})
        return packing(kernel.variant, letter), [renamed(index, here) for index in indices]

    def _where(self, layout: Placed, name: str, value: int) -> dict[str, Affine]:
        """Where a thread's element, or bit, belongs."""
        return {n: self.w.value(tree, {"t": self.thread, name: value}) for n, tree in layout.trees.items()}

    def _taken(self, layout: Placed, name: str, value: int) -> Affine:
        """Whether a thread's element, or bit, takes part."""
        if layout.condition is None:
            return Affine(None, 1, truth=True)
        return self.w.value(layout.condition, {"t": self.thread, name: value})

    def _fragment(self, letter: str, layout: str, vector: Vector) -> list[str]:
        """The registers of a fragment, packed from the elements of its matrix."""
        w = self.w
        matrix = self.matrices[letter]
        packed, indices = self._places(layout)
        registers: list[str] = []
        for element, index in enumerate(indices):
            register, bit = packed.place(element)
            loaded = w.emit(
                f"ld.global.b{8 * matrix.size}",
                w.pointer(self.pointers[matrix.name], index, matrix.size),
                kind=f"b{8 * matrix.size}",
            )
            if register == len(registers):
                if packed.width < packed.word:
                    w.say(f"and.b32 {loaded}, {loaded}, {(1 << packed.width) - 1};")
                registers.append(loaded)
            else:
                registers[register] = w.emit("bfi.b32", loaded, registers[register], bit, packed.width)
        if len(registers) != vector.registers:
            raise AssertionError(f"{self.kernel.name}: {len(registers)} registers of {letter}")
        return registers

    def _store(self, operand: Operand, registers: list[str] | str) -> None:
        """Store the elements of D."""
        w = self.w
        matrix = self.matrices["D"]
        packed, indices = self._places(str(operand.part))
        for element, index in enumerate(indices):
            place, bit = packed.place(element)
            register = registers[place]
            if packed.width < packed.word:
                register = w.emit("bfe.u32", register, bit, packed.width)
            there = w.pointer(self.pointers[matrix.name], index, matrix.size)
            w.say(f"st.global.b{8 * matrix.size} {there}, {register};")

    def _metadata(self) -> str:
        """The metadata word of each thread; a bit that no code governs is taken from the garbage."""
        w, specification, variant = self.w, self.specification, self.kernel.variant
        index_bits = specification.sparsity_of(variant).index_bits
        recorded, runs = runs_of(use_of(self.kernel, specification, "metadata"), index_bits)
        here = w.replay(recorded, {THREAD: self.thread})
        pointer = self.pointers[META]
        garbage = Affine(self.thread, self.matrices["metadata"].offsets["garbage"])
        word = w.emit("ld.global.b32", w.pointer(pointer, garbage, 4))
        for run in runs:
            index, place, taken = (renamed(value, here) for value in (run.index, run.place, run.taken))
            code = w.once("ld.global.b32", w.pointer(pointer, index, 4))
            value = w.once("bfe.u32", code, w.plain(place), run.width)
            inserted = w.emit("bfi.b32", value, word, run.bit, run.width)
            word = w.plain(w.where(taken, Affine(inserted), Affine(word)))
        return word

    def _scales(self, part: str) -> str:
        """The scale factors of each thread, in the bytes that the selectors name; the others are garbage."""
        w = self.w
        layout = Placed.of(self.kernel, self.specification, part)
        offsets = self.matrices["metadata"].offsets
        pointer = self.pointers[META]
        word = w.emit("ld.global.b32", w.pointer(pointer, Affine(self.thread, offsets["garbage"]), 4))
        for element in range(layout.domain["i"]):
            index = index_of(w, self._where(layout, "i", element), layout.shape)
            index = Affine(index.register, index.constant + offsets[part])
            taken = self._taken(layout, "i", element)
            if taken.register is None and not taken.constant:
                continue
            # A thread that takes no part reads the first factor instead of one past the matrix.
            index = w.where(taken, index, Affine(None, offsets[part]))
            scale = w.emit("ld.global.b32", w.pointer(pointer, index, 4))
            inserted = w.emit("bfi.b32", scale, word, 8 * element, 8)
            word = w.plain(w.where(taken, Affine(inserted), Affine(word)))
        return word


def value_body(kernel: Kernel, specification: Specification) -> str:
    """The body of a value kernel, in braces."""
    return _Value(kernel, specification).body()

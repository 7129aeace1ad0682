"""Matrices in memory that instructions address: rows at addresses of their own, and strided matrices."""

from __future__ import annotations

from ...spec.expressions import compiled
from ...spec.specification import Specification
from .kernel_list import FragmentAccess, Kernel, space_of
from .operations import JobMatrix, Placed
from .ptx_text import Affine, Writer

__all__ = ["Rows", "Strided"]


class Rows:
    """Rows of a matrix in shared memory, each at its offset in `offsets`: moves of matrices read or write
    them.
    """

    def __init__(
        self, w: Writer, kernel: Kernel, base: str, offsets: str, matrix: JobMatrix, pointer: str
    ) -> None:
        self.w = w
        self.kernel = kernel
        self.base = base
        self.offsets = offsets
        self.matrix = matrix
        self.pointer = pointer
        self.words = -(-matrix.cols * matrix.bits // 32)

    def address(self, specification: Specification, thread: str) -> str:
        """The address that a thread supplies: its row's, or that of the first byte if it has no row."""
        w = self.w
        layout = Placed.of(self.kernel, specification, "address")
        where = {name: w.value(tree, {"t": thread}) for name, tree in layout.trees.items()}
        row = w.binary("+", w.binary("*", where["matrix"], Affine(None, layout.shape["row"])), where["row"])
        if layout.domain["t"] < self.kernel.threads:
            taken = w.compare("<", Affine(thread), Affine(None, layout.domain["t"]))
            row = w.where(taken, row, Affine(None, 0))
        offset = w.emit("ld.global.b32", w.pointer(self.offsets, row, 4))
        address = w.emit("add.u32", self.base, offset)
        if not self.kernel.generic:
            return address
        wide = w.emit("cvt.u64.u32", address, kind="b64")
        return w.emit("cvta.shared.u64", wide, kind="b64")

    def write(self, thread: str) -> None:
        """Write every row of the matrix, elements side by side from the lowest bit."""
        w, matrix = self.w, self.matrix
        with w.strided(thread, matrix.rows, self.kernel.threads) as row:
            there = self._there(row)
            for number in range(self.words):
                word = ""
                for col in range(matrix.cols):
                    low = col * matrix.bits - 32 * number
                    if not -matrix.bits < low < 32:
                        continue
                    element = w.emit("ld.global.b32", self._element(row, col))
                    if low < 0:
                        element = w.emit("shr.u32", element, -low)
                    if word:
                        word = w.emit("bfi.b32", element, word, low, min(matrix.bits, 32 - low))
                    else:
                        word = element
                w.say(f"st.shared.b32 [{there}+{4 * number}], {word};")

    def read(self, thread: str, filler: str) -> None:
        """Read every row of the matrix, and fill it again."""
        w, matrix = self.w, self.matrix
        with w.strided(thread, matrix.rows, self.kernel.threads) as row:
            there = self._there(row)
            for number in range(self.words):
                word = w.emit("ld.shared.b32", f"[{there}+{4 * number}]")
                for col in range(32 * number // matrix.bits, 32 * (number + 1) // matrix.bits):
                    element = w.emit("bfe.u32", word, col * matrix.bits - 32 * number, matrix.bits)
                    w.say(f"st.global.b32 {self._element(row, col)}, {element};")
                w.say(f"st.shared.b32 [{there}+{4 * number}], {filler};")

    def count_others(self, thread: str, size: str, filler: str) -> None:
        """Store behind the matrix how many words of shared memory were overwritten, for each thread."""
        w, matrix = self.w, self.matrix
        w.say("bar.sync 0;")
        count = w.emit("mov.u32", 0)
        with w.strided(w.once("shl.b32", thread, 2), size, 4 * self.kernel.threads) as at:
            word = w.emit("ld.shared.b32", f"[{w.emit('add.u32', self.base, at)}]")
            other = w.emit("setp.ne.u32", word, filler, kind="pred")
            w.say(f"@{other} add.u32 {count}, {count}, 1;")
        w.say(
            f"st.global.b32 {w.pointer(self.pointer, Affine(thread, matrix.rows * matrix.cols), 4)}, {count};"
        )

    def _there(self, row: str) -> str:
        offset = self.w.emit("ld.global.b32", self.w.pointer(self.offsets, Affine(row), 4))
        return self.w.emit("add.u32", self.base, offset)

    def _element(self, row: str, col: int) -> str:
        index = self.w.binary("*", Affine(row), Affine(None, self.matrix.cols))
        return self.w.pointer(self.pointer, self.w.binary("+", index, Affine(None, col)), 4)


class Strided:
    """A matrix in memory as wmma.load and wmma.store address it: by rows or columns, with a stride."""

    def __init__(
        self,
        w: Writer,
        threads: int,
        access: FragmentAccess,
        matrix: JobMatrix,
        pointer: str,
        memory: str,
        start: str,
        stride: str,
    ) -> None:
        self.w = w
        self.threads = threads
        self.access = access
        self.matrix = matrix
        self.pointer = pointer
        self.shared = space_of(access.variant) == "shared"
        self.formula = access.variant.row.family.instruction.memory[str(access.variant.fields["layout"])]
        by_rows = compiled(self.formula.tree, ("row", "col", "stride"))(0, 1, 1 << 10) == 1
        self.by_rows = by_rows
        natural = matrix.cols if by_rows else matrix.rows
        self.stride = Affine(stride) if access.strided else Affine(None, natural)
        if self.shared:
            self.first = w.emit("add.u32", memory, start)
        else:
            wide = w.emit("cvt.u64.u32", start, kind="b64")
            self.first = w.emit("add.u64", memory, wide, kind="b64")

    def arguments(self) -> dict[str, list[str] | str]:
        """The text of the address and stride operands."""
        instruction = self.access.variant.row.family.instruction
        found: dict[str, list[str] | str] = {}
        for name in instruction.forms[self.access.form_name].operands:
            part = instruction.operands[name].part
            if part == "address":
                found[name] = self.first
            elif part == "stride":
                found[name] = self.w.plain(self.stride)
        return found

    def write(self, thread: str) -> None:
        """Write the matrix to memory."""
        w, bits = self.w, self.matrix.bits
        together = max(8 // bits, 1)
        kind = f"b{64 if bits > 32 else 32}"
        with w.strided(thread, self.matrix.count // together, self.threads) as at:
            places = self._places(at, together)
            word = ""
            for j, (row, col) in enumerate(places):
                loaded = w.emit(f"ld.global.{kind}", self._element(row, col), kind=kind)
                word = w.emit("bfi.b32", loaded, word, j * bits, bits) if word else loaded
            there = self._there(*places[0], together)
            w.say(f"st.{'shared' if self.shared else 'global'}.b{max(bits, 8)} {there}, {word};")

    def read(self, thread: str) -> None:
        """Read the matrix from memory."""
        w, bits = self.w, self.matrix.bits
        kind = f"b{64 if bits > 32 else 32}"
        with w.strided(thread, self.matrix.count, self.threads) as at:
            ((row, col),) = self._places(at, 1)
            there = self._there(row, col, 1)
            space = "shared" if self.shared else "global"
            loaded = w.emit(f"ld.{space}.b{bits}", there, kind=kind)
            w.say(f"st.global.{kind} {self._element(row, col)}, {loaded};")

    def _places(self, at: str, together: int) -> list[tuple[Affine, Affine]]:
        """The rows and columns of the elements that one thread writes together, since they share a byte."""
        w = self.w
        length = (self.matrix.cols if self.by_rows else self.matrix.rows) // together
        line = w.binary("//", Affine(at), Affine(None, length))
        first = w.binary("*", w.binary("%", Affine(at), Affine(None, length)), Affine(None, together))
        along = [w.binary("+", first, Affine(None, j)) for j in range(together)]
        return [(line, place) if self.by_rows else (place, line) for place in along]

    def _element(self, row: Affine, col: Affine) -> str:
        """The index of the element in the row-major matrix."""
        w = self.w
        index = w.binary("+", w.binary("*", row, Affine(None, self.matrix.cols)), col)
        return w.pointer(self.pointer, index, self.matrix.size)

    def _there(self, row: Affine, col: Affine, together: int) -> str:
        """The index of the element in memory."""
        w = self.w
        index = w.value(self.formula.tree, {"row": row, "col": col, "stride": self.stride})
        if self.shared:
            size = max(self.matrix.bits // 8, 1)
            byte = w.binary("*", w.binary("//", index, Affine(None, together)), Affine(None, size))
            return f"[{w.plain(w.binary('+', Affine(self.first), byte))}]"
        index = w.binary("//", index, Affine(None, together))
        return w.pointer(self.first, index, max(self.matrix.bits // 8, 1))

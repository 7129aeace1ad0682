"""Matrices behind descriptors: how they are written to shared memory, and their descriptors made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...spec.memory_records import AddressRule
from ...spec.model import Operand
from ...spec.specification import Specification
from .kernel_list import Kernel
from .operations import BASE, MODE, START, JobMatrix, LayoutUse, field_word
from .ptx_text import Affine, Writer

__all__ = ["DescribedMatrices"]


@dataclass(frozen=True)
class DescribedMatrices:
    """The matrices of a kernel that lie in shared memory.

    `config` gives the register of a configuration word, `base` that of the address of shared memory;
    `pointers` point to the matrices in global memory, by their parameters.
    """

    w: Writer
    kernel: Kernel
    specification: Specification
    thread: str
    matrices: Mapping[str, JobMatrix]
    pointers: Mapping[str, str]
    config: Callable[[str], str]
    base: Callable[[], str]

    def descriptor(self, operand: Operand) -> str:
        """Write a matrix to shared memory, and give its descriptor."""
        part = str(operand.part)
        self._place_matrix(part)
        w = self.w
        descriptor = self.specification.descriptors[str(operand.descriptor)]
        word = ""
        for name, field in descriptor.fields.items():
            value = Affine(self.config(f"{part.lower()}.{field_word(name, field)}"))
            if field.part == "start":
                value = w.binary("+", Affine(self.base()), value)
            coded = w.binary("//", value, Affine(None, field.unit))
            mask = (1 << (field.high - field.low + 1)) - 1
            coded = w.binary("&", coded, Affine(None, mask))
            wide = w.emit("cvt.u64.u32", w.plain(coded), kind="b64")
            shifted = w.emit("shl.b64", wide, field.low, kind="b64") if field.low else wide
            word = w.emit("or.b64", word, shifted, kind="b64") if word else shifted
        return word

    def _place_matrix(self, part: str) -> None:
        """Every rule that may be the matrix's, behind the question which one it is."""
        w, specification = self.w, self.specification
        major = "MN" if self.kernel.value(f"transpose-{part}") else "K"
        kind = str(self.kernel.descriptor(part))
        fields = specification.descriptors[kind].fields
        rules = [rule for rule in specification.rules_of(kind).values() if rule.major == major]
        mode = Affine(self.config(f"{part.lower()}.{MODE}"))
        for word in ("W", *(field_word(name, field) for name, field in fields.items())):
            self.config(f"{part.lower()}.{word}")  # loaded once, before control divides
        self.base()
        if len(rules) == 1:
            self._write_matrix(part, rules[0])
            return
        modes = fields[str(specification.descriptors[kind].field_of("mode"))].values
        for rule in rules:
            taken = Affine(None, 0, truth=True)
            for swizzle in rule.widths:
                taken = w.connective("or", taken, w.compare("==", mode, Affine(None, modes[swizzle])))
            with w.when(str(taken.register)):
                self._write_matrix(part, rule)

    def _write_matrix(self, part: str, rule: AddressRule) -> None:
        """Write each element where the rule says, threads taking them in turns."""
        w = self.w
        matrix = self.matrices[part]
        stem = part.lower()
        bits = matrix.bits
        size, together = max(bits // 8, 1), max(8 // bits, 1)
        layout = LayoutUse(self.specification, rule.layout, {"bytes": size}).at
        along = matrix.cols if part == "A" else matrix.rows
        units = matrix.count // together
        with w.strided(self.thread, units, self.kernel.threads) as at:
            x = w.binary("//", Affine(at), Affine(None, along // together))
            k = w.binary("%", Affine(at), Affine(None, along // together))
            width = Affine(self.config(f"{stem}.W"))
            bound: dict[str, Affine | int | str] = {"x": x, "k": k, "byte": 0, "W": width}
            where = {name: w.value(tree, bound) for name, tree in layout.trees.items()}
            start = w.binary("+", Affine(self.base()), Affine(self.config(f"{stem}.{START}")))
            linear = w.binary("+", start, where["offset"])
            for name, stride in rule.strides.items():
                moved = w.binary("*", where[name], Affine(self.config(f"{stem}.{stride}")))
                linear = w.binary("+", linear, moved)
            base = Affine(self.config(f"{stem}.{BASE}"))
            swizzle = self.specification.addresses.swizzle.address.tree
            address = w.value(swizzle, {"linear": linear, "base": base, "W": width})
            word = ""
            for j in range(together):
                element = w.binary("+", w.binary("*", k, Affine(None, together)), Affine(None, j))
                row, col = (x, element) if part == "A" else (element, x)
                index = w.binary("+", w.binary("*", row, Affine(None, matrix.cols)), col)
                loaded = w.emit("ld.global.b32", w.pointer(self.pointers[matrix.name], index, 4))
                word = w.emit("bfi.b32", loaded, word, j * bits, bits) if word else loaded
            w.say(f"st.shared.b{8 * size} [{w.plain(address)}], {word};")

"""The stand-in: the instruction in plain C++, which gathers and scatters tiles by the formulas' inverses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...spec.expressions import Expression, compiled
from ...spec.fragments import packing
from ...spec.memory_records import AddressRule, Descriptor
from ...spec.parts import computes, element_type, operand_name
from ...spec.specification import Specification
from ..c_reading import c_text
from .kernel_list import Kernel, space_of
from .operations import JobMatrix, LayoutUse, parameters_of, use_of

__all__ = ["stand_in", "types_header"]

_ROUNDINGS = {"rn": "NEAREST", "none": "NEAREST", "rz": "ZERO", "rm": "DOWN", "rp": "UP"}


def types_header(specification: Specification, names: Sequence[str]) -> str:
    """A header: the element types, as the stand-in decodes them."""
    lines = [
        "// Element types, for the stand-in.",
        "#pragma once",
        "",
        '#include "../host/exact.h"',
        "",
        "namespace types {",
    ]
    for name in names:
        element = specification.index.types[name]
        form = specification.formats.get(name)
        if form is None:
            kind = "SIGNED" if element.kind == "signed" else "UNSIGNED"
            fields = f"exact::Type::{kind}, {element.bits}"
        else:
            special = {"ieee": "IEEE", "nan": "NAN_ONLY", "none": "NONE"}[form.specials]
            numbers = f"{element.bits}, {form.exponent}, {form.fraction}, {form.ignored}, {form.bias}"
            flags = f"{str(form.signed).lower()}, {str(form.subnormals).lower()}"
            fields = f"exact::Type::FLOAT, {numbers}, {flags}, exact::Type::{special}"
        lines.append(f'static const exact::Type {name}{{"{name}", {fields}}};')
    return "\n".join([*lines, "}  // namespace types"]) + "\n"


def stand_in(kernel: Kernel, specification: Specification, held: Mapping[str, JobMatrix]) -> Iterator[str]:
    """The function that stands in for the instruction."""
    text = _StandIn(kernel, specification, held)
    yield from text.product() if computes(kernel.instruction) else text.move()


class _StandIn:
    def __init__(self, kernel: Kernel, specification: Specification, held: Mapping[str, JobMatrix]) -> None:
        self.kernel = kernel
        self.specification = specification
        self.held = held

    def _operand(self, part: str) -> str:
        name = operand_name(self.kernel.instruction, self.kernel.form, part)
        if name is None:
            raise AssertionError(f"{self.kernel.name} has no operand {part}")
        return name.replace("-", "_")

    def _inverse(self, part: str) -> Mapping[str, Expression]:
        return use_of(self.kernel, self.specification, part).at.inverse.inputs

    def _tile(self, name: str, matrix: JobMatrix) -> str:
        return f"ptxmma::Tile {name}({matrix.rows}, {matrix.cols}, {matrix.products});"

    def _each(self, name: str, inverse: Mapping[str, Expression], body: str) -> Iterator[str]:
        """A loop over a tile: for each position the thread and the element that hold it, and the body."""
        yield f"for (unsigned product = 0; product < {name}.products; ++product)"
        yield f"  for (unsigned row = 0; row < {name}.rows; ++row)"
        yield f"    for (unsigned col = 0; col < {name}.cols; ++col) {{"
        yield f"      const unsigned t = {c_text(inverse['t'])}, i = {c_text(inverse['i'])};"
        yield f"      {body}"
        yield "    }"

    def _gather(self, name: str, letter: str, part: str, registers: str) -> Iterator[str]:
        width = packing(self.kernel.variant, part).width
        yield self._tile(name, self.held[letter])
        taken = f"ptxmma::take<{width}>(all[t].{registers}, i)"
        yield from self._each(name, self._inverse(part), f"{name}(row, col, product) = {taken};")

    def _scatter(self, name: str, part: str, registers: str) -> Iterator[str]:
        width = packing(self.kernel.variant, part).width
        yield f"for (auto& r : all.registers) std::memset(r.{registers}, 0, sizeof r.{registers});"
        put = f"ptxmma::put<{width}>(all[t].{registers}, i, {name}(row, col, product));"
        yield from self._each(name, self._inverse(part), put)

    def product(self) -> Iterator[str]:
        kernel, instruction, form = self.kernel, self.kernel.instruction, self.kernel.form
        if kernel.accesses:
            for letter in "ABC":
                yield from self._memory(letter)
        else:
            for letter in "AB":
                name = str(operand_name(instruction, form, letter))
                if instruction.operands[name].descriptor:
                    yield from self._shared(letter, name.replace("-", "_"))
                else:
                    yield from self._gather(letter.lower(), letter, letter, _c(name))
            into = "C" if operand_name(instruction, form, "C") else "D"
            yield from self._gather("c", "C", into, self._operand(into))
        yield self._tile("d", self.held["D"])
        yield from self._meets()
        scaled = "scale-a" in kernel.variant.layouts
        if scaled:
            for part in ("scale-a", "scale-b"):
                yield from self._scale(part)
        keeps = (
            f"all[0].{self._operand('scale-d')} ? &c : nullptr"
            if operand_name(instruction, form, "scale-d")
            else "&c"
        )
        fields = kernel.variant.fields
        operation = {"xor": "XOR", "and": "AND"}.get(str(fields.get("op", "none")).split(".")[0], "MULTIPLY")
        rounds = self.specification.has_effect(kernel.variant, "rounded")
        rounding = _ROUNDINGS[str(fields.get("rnd", "none"))] if rounds else "EXACT"
        types = ", ".join(f"types::{self.held[letter].type}" for letter in "ABCD")
        sign = (kernel.value("negate-A") or 1) * (kernel.value("negate-B") or 1)
        clamps = str(fields.get("satfinite") == "satfinite").lower()
        how = f"{types}, ptxmma::Product::{operation}, {sign}, {clamps}, exact::{rounding}"
        yield f"const ptxmma::Product how{{{how}}};"
        scales = f", &scale_a, &scale_b, &types::{element_type(kernel.variant, 'scale-a')}" if scaled else ""
        yield f"ptxmma::multiply(a, b, {keeps}, d, how, meets{scales});"
        if kernel.accesses:
            yield from self._memory("D")
        else:
            yield from self._scatter("d", "D", self._operand("D"))

    def _meets(self) -> Iterator[str]:
        """Which row of B each stored element of A meets, from the metadata of all threads."""
        yield "ptxmma::Meets meets;"
        if self.kernel.variant.row.row.sparsity is None:
            return
        sparsity = self.specification.sparsity_of(self.kernel.variant)
        inverse = self._inverse("metadata")
        m, packed = self.held["A"].rows, self.held["A"].cols
        yield f"meets.resize({m * packed});"
        yield f"for (unsigned row = 0; row < {m}; ++row)"
        yield f"  for (unsigned chunk = 0; chunk < {packed // sparsity.slots}; ++chunk) {{"
        yield "    unsigned code = 0;"
        yield f"    for (unsigned place = 0; place < {sparsity.code_bits}; ++place) {{"
        each = sparsity.index_bits
        yield f"      const unsigned slot = place / {each}, index_bit = place % {each};"
        yield f"      const unsigned t = {c_text(inverse['t'])}, bit = {c_text(inverse['bit'])};"
        yield f"      (void)slot, code |= (all[t].{self._operand('metadata')}[0] >> bit & 1) << place;"
        yield "    }"
        yield f"    for (unsigned slot = 0; slot < {sparsity.slots}; ++slot)"
        yield (
            f"      meets[row * {packed} + chunk * {sparsity.slots} + slot] = chunk * {sparsity.chunk} + "
            f"({c_text(sparsity.position.tree)}) % {sparsity.chunk};"
        )
        yield "  }"

    def _scale(self, part: str) -> Iterator[str]:
        name = part.replace("-", "_")
        shape = self.specification.layout_of(self.kernel.variant, part).shape(
            parameters_of(self.kernel, self.specification, part)
        )
        yield f"ptxmma::Tile {name}({shape['row']}, {shape['col']});"
        taken = f"ptxmma::take<8>(all[t].{self._operand(part)}, i)"
        yield from self._each(name, self._inverse(part), f"{name}(row, col) = {taken};")

    def _shared(self, letter: str, operand: str) -> Iterator[str]:
        """A matrix behind a descriptor: the inverse says to which element each byte of an atom belongs."""
        matrix, name = self.held[letter], letter.lower()
        kind = str(self.kernel.descriptor(letter))
        descriptor = self.specification.descriptors[kind]
        major = "MN" if self.kernel.value(f"transpose-{letter}") else "K"
        yield self._tile(name, matrix)
        yield "{"
        yield f"  const uint64_t word = all[0].{operand};"
        for field_name, field in descriptor.fields.items():
            mask = (1 << (field.high - field.low + 1)) - 1
            scaled = f" * {field.unit}" if field.unit != 1 else ""
            yield f"  const unsigned {_c(field_name)} = unsigned(word >> {field.low} & {mask}){scaled};"
        idle = [name for name, field in descriptor.fields.items() if field.part not in ("start", "mode")]
        if idle:
            yield f"  {', '.join(f'(void){_c(name)}' for name in idle)};"
        selects = descriptor.field_of("mode")
        for rule in self.specification.rules_of(kind).values():
            if rule.major == major:
                for mode, width in rule.widths.items():
                    taken = (
                        f"{_c(selects)} == {descriptor.fields[selects].values[mode]}" if selects else "true"
                    )
                    yield from self._mode(letter, rule, width, taken, descriptor)
        yield "}"

    def _mode(
        self, letter: str, rule: AddressRule, width: int, taken: str, descriptor: Descriptor
    ) -> Iterator[str]:
        """What is done where the descriptor's mode is `taken`: every byte of every atom is read."""
        matrix, name = self.held[letter], letter.lower()
        size, together = max(matrix.bits // 8, 1), max(8 // matrix.bits, 1)
        along = (matrix.cols if letter == "A" else matrix.rows) // together
        rows = matrix.rows if letter == "A" else matrix.cols
        layout = LayoutUse(self.specification, rule.layout, {"W": width, "bytes": size}).at
        shape = layout.shape({"W": width, "bytes": size})
        inverse = layout.inverse.inputs
        last = {
            index: compiled(layout.trees[index], ("x", "k", "byte"))(rows - 1, along - 1, size - 1) + 1
            for index in rule.strides
        }
        start, base = (descriptor.field_of(part) for part in ("start", "base"))
        yield f"  if ({taken}) {{"
        yield f"    const unsigned W = {width}, base = {_c(base) if base else 0};"
        for index in rule.strides:
            yield f"    for (unsigned {index} = 0; {index} < {last[index]}; ++{index})"
        yield f"    for (unsigned offset = 0; offset < {shape['offset']}; ++offset) {{"
        found = ", ".join(f"{given} = {c_text(tree)}" for given, tree in inverse.items())
        yield f"      const unsigned {found};"
        # An atom may be wider than the matrix; the rest of it holds no element.
        again = " || ".join(f"{c_text(layout.trees[index])} != {index}" for index in layout.outputs)
        yield f"      if (x >= {rows} || k >= {along} || {again}) continue;"
        strides = " + ".join(f"{index} * {_c(stride)}" for index, stride in rule.strides.items())
        yield f"      const unsigned linear = {_c(str(start))} + offset + {strides};"
        yield f"      const unsigned address = {c_text(self.specification.addresses.swizzle.address.tree)};"
        yield "      (void)W, (void)base;"
        yield "      const uint64_t value = ptxmma::shared<uint8_t>(all.job, address);"
        if together == 1:
            place = "x, k" if letter == "A" else "k, x"
            yield f"      {name}({place}) |= value << 8 * byte;"
        else:
            element = f"k * {together} + j"
            place = f"x, {element}" if letter == "A" else f"{element}, x"
            yield f"      (void)byte;\n      for (unsigned j = 0; j < {together}; ++j)"
            yield f"        {name}({place}) |= value >> {matrix.bits} * j & {(1 << matrix.bits) - 1};"
        yield "    }"
        yield "  }"

    def _memory(self, letter: str) -> Iterator[str]:
        """A matrix that an access to an opaque fragment reads or writes."""
        matrix, access, name = self.held[letter], self.kernel.accesses[letter], letter.lower()
        formula = access.variant.row.family.instruction.memory[str(access.variant.fields["layout"])]
        size, together = max(matrix.bits // 8, 1), max(8 // matrix.bits, 1)
        word = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}[size]
        natural = (
            matrix.cols
            if compiled(formula.tree, ("row", "col", "stride"))(0, 1, 1 << 10) == 1
            else matrix.rows
        )
        stride = f"all[0].{name}_stride" if access.strided else str(natural)
        first = (
            f"all.job.shared + (all[0].{name}_at - all.job.base)"
            if space_of(access.variant) == "shared"
            else f"reinterpret_cast<unsigned char*>(all[0].{name}_at)"
        )
        if letter != "D":
            yield self._tile(name, matrix)
        yield f"for (unsigned row = 0; row < {matrix.rows}; ++row)"
        yield f"  for (unsigned col = 0; col < {matrix.cols}; ++col) {{"
        yield f"    const unsigned stride = {stride}, index = {c_text(formula.tree)};"
        there = f"ptxmma::memory<{word}>({first}, index / {together} * sizeof({word}))"
        if letter == "D":
            yield f"    {there} = static_cast<{word}>(d(row, col));"
        elif together == 1:
            yield f"    {name}(row, col) = {there};"
        else:
            mask = (1 << matrix.bits) - 1
            yield f"    {name}(row, col) = {there} >> index % {together} * {matrix.bits} & {mask};"
        yield "    (void)stride;"
        yield "  }"

    def move(self) -> Iterator[str]:
        """Elements from rows in shared memory, or from registers, to registers or to rows."""
        kernel = self.kernel
        a, d = self.held["A"], self.held["D"]
        if kernel.stores:
            yield from self._gather("a", "A", "A", self._operand("A"))
            yield from self._each_row(a, "word |= a(row, col) << low;", store=True)
            return
        if kernel.space is None:
            yield from self._gather("a", "A", "A", self._operand("A"))
        else:
            yield self._tile("a", a)
            yield from self._each_row(a, f"a(row, col) = value >> low & {(1 << a.bits) - 1};", store=False)
        signed = self.specification.index.types[a.type].kind == "signed"
        yield self._tile("d", d)
        yield "for (size_t i = 0; i < d.elements.size(); ++i) {"
        yield "  d.elements[i] = a.elements[i];"
        if signed and d.bits > a.bits:
            yield f"  if (a.elements[i] >> {a.bits - 1}) d.elements[i] |= {(1 << d.bits) - (1 << a.bits)};"
        yield "}"
        yield from self._scatter("d", "D", self._operand("D"))

    def _each_row(self, matrix: JobMatrix, body: str, store: bool) -> Iterator[str]:
        """A loop over the elements of every row that a thread addresses: `value`, from bit `low` on."""
        inverse = self._inverse("address")
        rows = self.specification.layout_of(self.kernel.variant, "address").shape(
            parameters_of(self.kernel, self.specification, "address")
        )["row"]
        operand = self._operand("address")
        yield f"for (unsigned number = 0; number < {matrix.rows}; ++number) {{"
        yield f"  const unsigned matrix = number / {rows}, row_of_matrix = number % {rows};"
        thread = c_text(inverse["t"])
        yield f"  const auto holder = [&](unsigned row) {{ (void)row; return {thread}; }};"
        yield "  const unsigned t = holder(row_of_matrix), row = number;"
        yield "  (void)matrix;"
        if self.kernel.generic:
            yield f"  auto* first = reinterpret_cast<unsigned char*>(all[t].{operand});"
        else:
            yield f"  auto* first = all.job.shared + (all[t].{operand} - all.job.base);"
        count = 32 // matrix.bits if 32 % matrix.bits == 0 else 0
        if not count:
            yield from self._crossing(matrix, store)
            yield "}"
            return
        yield f"  for (unsigned col = 0; col < {matrix.cols}; ++col) {{"
        yield f"    const unsigned low = col % {count} * {matrix.bits};"
        yield f"    uint32_t& there = ptxmma::memory<uint32_t>(first, col / {count} * 4);"
        if store:
            yield "    uint32_t word = low ? there : 0;"
            yield f"    {body}"
            yield "    there = word;"
        else:
            yield "    const uint64_t value = there;"
            yield f"    {body}"
        yield "  }"
        yield "}"

    def _crossing(self, matrix: JobMatrix, store: bool) -> Iterator[str]:
        """Elements that cross words: bit by bit."""
        if store:
            raise AssertionError("no instruction stores such elements")
        bits = matrix.bits
        yield f"  for (unsigned bit = 0; bit < {matrix.cols * bits}; ++bit)"
        yield f"    a(row, bit / {bits}) |= uint64_t(first[bit / 8] >> bit % 8 & 1) << bit % {bits};"


def _c(name: str) -> str:
    return name.replace("-", "_")

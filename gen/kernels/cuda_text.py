"""Value kernels as CUDA C++: the same steps as in PTX, to be read, with the instruction in inline PTX.

Each kernel is a struct of steps: fill, load, execute, store, check. Loops run over a thread's elements; their
index arithmetic is printed from the specification's expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ...spec.expressions import Expression, compiled
from ...spec.fragments import packing
from ...spec.model import Operand
from ...spec.specification import Specification
from ..c_reading import c_text
from .kernel_list import FragmentAccess, Kernel, space_of
from .operations import (
    BASE,
    GUARD,
    MODE,
    PARAMETERS,
    START,
    JobMatrix,
    LayoutUse,
    Placed,
    config_of,
    field_word,
    matrices,
)
from .stand_in_text import stand_in
from .statement import Vector, written

__all__ = ["config_header", "cuda_source"]


def identifier(name: str) -> str:
    """An operand's or a configuration word's name as C has it."""
    return name.replace("-", "_").replace(".", "_")


def config_header(specification: Specification) -> str:
    """A header: where each configuration word is."""
    names = ", ".join(identifier(name) for name in config_of(specification))
    return (
        f"// The configuration words of a job, in their order.\n#pragma once\n\nenum Config {{ {names} }};\n"
    )


def cuda_source(kernels: Sequence[Kernel], specification: Specification) -> str:
    """A CUDA source of some kernels."""
    head = '#include "kernel.h"\n\n#include "config.h"\n#ifdef PTXMMA_STAND_IN\n#include "types.h"\n#endif\n'
    return head + "\n" + "\n".join(_Text(kernel, specification).entry() for kernel in kernels)


class _Text:
    """One kernel while it is printed."""

    def __init__(self, kernel: Kernel, specification: Specification) -> None:
        self.kernel = kernel
        self.specification = specification
        self.matrices = matrices(kernel, specification)

    def entry(self) -> str:
        kernel = self.kernel
        source = kernel.variant.row.row.source or kernel.instruction.source
        sizes = {matrix.name: matrix for matrix in self.matrices.values()}
        constants = [f"threads = {kernel.threads}", f"words = {len(config_of(self.specification))}"]
        for name in PARAMETERS:
            matrix = sizes.get(name)
            count = matrix.count + (GUARD if matrix.written else 0) if matrix else 0
            constants.append(f"{name}_bytes = {count * matrix.size if matrix else 0}")
        lines = [
            f"// {kernel.variant.mnemonic} ({kernel.form_name})",
            f"// row {kernel.variant.row.id}, PTX ISA {source.section}",
            "namespace kernels {",
            f"struct {kernel.name} : ptxmma::Steps {{",
            f"  static constexpr unsigned {', '.join(constants)};",
            "  struct Registers {",
            *(f"    {line}" for line in self._registers()),
            "  };",
        ]
        lines += self._step("fill", "const ptxmma::Job& job, unsigned t", self._fill())
        lines += self._step("load", "const ptxmma::Job& job, unsigned t, Registers& r", self._load())
        lines.append("#ifdef PTXMMA_STAND_IN")
        lines.append(f"  static void stand_in(ptxmma::Block<{kernel.name}>& all) {{")
        lines += (f"    {line}" for line in stand_in(kernel, self.specification, self.matrices))
        lines += ["  }", "#else"]
        lines += self._step("execute", "const ptxmma::Job& job, Registers& r", self._execute())
        lines.append("#endif")
        lines += self._step("store", "const ptxmma::Job& job, unsigned t, const Registers& r", self._store())
        lines += self._step("check", "const ptxmma::Job& job, unsigned t", self._check())
        lines += ["};", "}  // namespace kernels", f"PTXMMA_ENTRY({kernel.name})"]
        return "\n".join(lines) + "\n"

    def _step(self, name: str, arguments: str, body: Iterator[str]) -> list[str]:
        """A step as a function; nothing where it has nothing to do and need not be there."""
        lines = list(body)
        if not lines and name in ("fill", "check"):
            return []
        used = "\n".join(lines)
        unused = [word for word in ("job", "t", "r") if f"{word}" in _names_of(arguments) - _words(used)]
        voids = [f"    {' '.join(f'(void){word};' for word in unused)}"] if unused else []
        return [
            f"  static PTXMMA_DEVICE void {name}({arguments}) {{",
            *voids,
            *(line if line.startswith("#") else f"    {line}" for line in lines),
            "  }",
        ]

    def _registers(self) -> Iterator[str]:
        """The operands of a thread."""
        kernel = self.kernel
        for name, operand in kernel.operands():
            vector = Vector.of(kernel.variant, name)
            if operand.descriptor:
                yield f"uint64_t {identifier(name)};"
            elif operand.part == "address":
                yield f"{'uint64_t' if kernel.generic else 'uint32_t'} {identifier(name)};"
            elif operand.part == "scale-d":
                yield f"uint32_t {identifier(name)};"
            elif vector:
                yield f"{_word(vector)} {identifier(name)}[{vector.registers}];"
        for part, access in kernel.accesses.items():
            shared = space_of(access.variant) == "shared"
            stride = f", {part.lower()}_stride" if access.strided else ""
            if shared:
                yield f"uint32_t {part.lower()}_at{stride};"
            else:
                yield f"uint64_t {part.lower()}_at;"
                if stride:
                    yield f"uint32_t {part.lower()}_stride;"

    def _fill(self) -> Iterator[str]:
        if self.kernel.shared:
            threads = self.kernel.threads
            yield f"ptxmma::fill_shared(job, t, {threads}, job.config[shared_bytes], job.config[filler]);"

    def _load(self) -> Iterator[str]:
        kernel = self.kernel
        for part, access in kernel.accesses.items():
            yield from self._place_strided(part, access)
        if kernel.accesses:
            return
        for name, operand in kernel.operands():
            vector = Vector.of(kernel.variant, name)
            if operand.descriptor:
                yield from self._descriptor(name, operand)
            elif operand.part == "scale-d":
                yield f"r.{identifier(name)} = job.config[scale_d];"
            elif operand.part == "address":
                yield from self._rows(name)
            elif operand.part == "metadata":
                yield from self._metadata(name)
            elif operand.part in ("scale-a", "scale-b"):
                yield from self._scales(name, operand.part)
            elif vector and operand.role != "destination":
                letter = "C" if operand.role == "both" else str(operand.part)
                yield from self._fragment(name, letter, str(operand.part))
        if kernel.shared and kernel.instruction.around.written:
            yield "#ifndef PTXMMA_STAND_IN"
            for statement in kernel.instruction.around.written:
                yield f'asm volatile("{statement};" ::: "memory");'
            yield "#endif"

    # Fragments.

    def _layout(self, part: str) -> Placed:
        return Placed.of(self.kernel, self.specification, part)

    def _loop(self, name: str, count: int) -> str:
        return f"for (unsigned {name} = 0; {name} < {count}; ++{name}) {{"

    def _fragment(self, name: str, letter: str, part: str) -> Iterator[str]:
        matrix, layout = self.matrices[letter], self._layout(part)
        yield "PTXMMA_UNROLL"
        yield self._loop("i", layout.domain["i"])
        yield from _places(layout.trees)
        value = f"ptxmma::get<{_type(matrix)}>(job.{matrix.name}, {_index(matrix, layout.trees)})"
        yield f"  ptxmma::put<{packing(self.kernel.variant, part).width}>(r.{identifier(name)}, i, {value});"
        yield "}"

    def _store(self) -> Iterator[str]:
        kernel = self.kernel
        if kernel.accesses:
            yield from self._read_strided(kernel.accesses["D"])
        elif kernel.stores:
            yield from self._read_rows()
        for name, operand in kernel.operands():
            if operand.role == "source" or kernel.accesses:
                continue
            matrix, layout = self.matrices["D"], self._layout(str(operand.part))
            yield "PTXMMA_UNROLL"
            yield self._loop("i", layout.domain["i"])
            yield from _places(layout.trees)
            width = packing(kernel.variant, str(operand.part)).width
            taken = f"ptxmma::take<{width}>(r.{identifier(name)}, i)"
            yield f"  ptxmma::set<{_type(matrix)}>(job.d, {_index(matrix, layout.trees)}, {taken});"
            yield "}"

    def _metadata(self, name: str) -> Iterator[str]:
        layout = self._layout("metadata")
        sparsity = self.specification.sparsity_of(self.kernel.variant)
        garbage = self.matrices["metadata"].offsets["garbage"]
        word = f"r.{identifier(name)}[0]"
        yield f"{word} = ptxmma::get<uint32_t>(job.meta, {garbage} + t);"
        yield "PTXMMA_UNROLL"
        yield self._loop("bit", layout.domain["bit"])
        if layout.condition is not None:
            yield f"  if (!({c_text(layout.condition)})) continue;"
        yield from _places(layout.trees)
        code = f"ptxmma::get<uint32_t>(job.meta, row * {layout.shape['chunk']} + chunk)"
        yield f"  const uint32_t value = {code} >> (slot * {sparsity.index_bits} + index_bit) & 1;"
        yield f"  {word} = ({word} & ~(1u << bit)) | value << bit;"
        yield "}"

    def _scales(self, name: str, part: str) -> Iterator[str]:
        layout = self._layout(part)
        offsets = self.matrices["metadata"].offsets
        word = f"r.{identifier(name)}[0]"
        yield f"{word} = ptxmma::get<uint32_t>(job.meta, {offsets['garbage']} + t);"
        yield "PTXMMA_UNROLL"
        yield self._loop("i", layout.domain["i"])
        if layout.condition is not None:
            yield f"  if (!({c_text(layout.condition)})) continue;"
        yield from _places(layout.trees)
        index = f"{offsets[part]} + row * {layout.shape['col']} + col"
        yield f"  const uint32_t value = ptxmma::get<uint32_t>(job.meta, {index}) & 255;"
        yield f"  {word} = ({word} & ~(255u << 8 * i)) | value << 8 * i;"
        yield "}"

    # Matrices behind descriptors.

    def _descriptor(self, name: str, operand: Operand) -> Iterator[str]:
        part = str(operand.part)
        matrix, stem = self.matrices[part], part.lower()
        addresses = self.specification.addresses
        major = "MN" if self.kernel.value(f"transpose-{part}") else "K"
        descriptor = self.specification.descriptors[str(operand.descriptor)]
        rules = [r for r in self.specification.rules_of(str(operand.descriptor)).values() if r.major == major]
        size, together = max(matrix.bits // 8, 1), max(8 // matrix.bits, 1)
        along = (matrix.cols if part == "A" else matrix.rows) // together
        word = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t"}[size]
        yield f"for (unsigned at = t; at < {matrix.count // together}; at += {self.kernel.threads}) {{"
        yield f"  const unsigned x = at / {along}, k = at % {along}, byte = 0, W = job.config[{stem}_W];"
        yield "  unsigned linear = job.base + job.config[" + f"{stem}_{identifier(START)}];"
        for number, rule in enumerate(rules):
            layout = LayoutUse(self.specification, rule.layout, {"bytes": size}).at
            strides = " + ".join(
                f"({c_text(layout.trees[index])}) * job.config[{stem}_{identifier(stride)}]"
                for index, stride in rule.strides.items()
            )
            line = f"linear += {c_text(layout.trees['offset'])} + {strides};"
            if len(rules) == 1:
                yield f"  {line}"
            else:
                modes = descriptor.fields[str(descriptor.field_of("mode"))].values
                taken = " || ".join(
                    f"job.config[{stem}_{identifier(MODE)}] == {modes[m]}" for m in rule.widths
                )
                yield f"  {'else ' if number else ''}if ({taken}) {line}"
        yield f"  const unsigned base = job.config[{stem}_{identifier(BASE)}];"
        yield f"  const unsigned address = {c_text(addresses.swizzle.address.tree)};"
        if together == 1:
            index = f"x * {matrix.cols} + k" if part == "A" else f"k * {matrix.cols} + x"
            yield f"  const uint32_t value = ptxmma::get<uint32_t>(job.{matrix.name}, {index});"
        else:
            element = f"k * {together} + j"
            index = f"x * {matrix.cols} + {element}" if part == "A" else f"({element}) * {matrix.cols} + x"
            yield "  uint32_t value = 0;"
            yield f"  for (unsigned j = 0; j < {together}; ++j)"
            yield f"    value |= ptxmma::get<uint32_t>(job.{matrix.name}, {index}) << {matrix.bits} * j;"
        yield f"  ptxmma::shared<{word}>(job, address) = static_cast<{word}>(value);"
        yield "  (void)byte;"
        yield "}"
        fields = []
        for field_name, field in descriptor.fields.items():
            value = f"job.config[{stem}_{identifier(field_word(field_name, field))}]"
            if field.part == "start":
                value = f"(job.base + {value})"
            mask = (1 << (field.high - field.low + 1)) - 1
            coded = value if field.unit == 1 else f"{value} / {field.unit}"
            fields.append(f"uint64_t({coded} & {mask}) << {field.low}")
        yield f"r.{identifier(name)} = " + " |\n        ".join(fields) + ";"

    # Rows that ldmatrix and stmatrix address.

    def _rows(self, name: str) -> Iterator[str]:
        kernel = self.kernel
        layout = self._layout("address")
        if not kernel.stores:
            matrix = self.matrices["A"]
            yield f"for (unsigned row = t; row < {matrix.rows}; row += {kernel.threads}) {{"
            yield "  const unsigned first = job.base + ptxmma::get<uint32_t>(job.b, row);"
            yield f"  for (unsigned number = 0; number < {-(-matrix.cols * matrix.bits // 32)}; ++number) {{"
            yield "    uint64_t word = 0;  // the elements from the lowest bit, side by side"
            yield f"    for (unsigned col = 0; col < {matrix.cols}; ++col) {{"
            yield f"      const int low = int(col * {matrix.bits}) - 32 * int(number);"
            yield f"      const uint64_t value = ptxmma::get<uint32_t>(job.a, row * {matrix.cols} + col);"
            yield "      if (low >= 0 && low < 32) word |= value << low;"
            yield f"      if (low < 0 && low > -{matrix.bits}) word |= value >> -low;"
            yield "    }"
            yield "    ptxmma::shared<uint32_t>(job, first + 4 * number) = uint32_t(word);"
            yield "  }"
            yield "}"
        row = c_text(layout.trees["row"])
        matrix_number = c_text(layout.trees["matrix"])
        yield f"unsigned mine = ({matrix_number}) * {layout.shape['row']} + {row};"
        if layout.domain["t"] < kernel.threads:
            yield f"if (t >= {layout.domain['t']}) mine = 0;"
        offset = "ptxmma::get<uint32_t>(job.b, mine)"
        address = (
            f"reinterpret_cast<uint64_t>(job.shared + {offset})" if kernel.generic else f"job.base + {offset}"
        )
        yield f"r.{identifier(name)} = {address};"

    def _read_rows(self) -> Iterator[str]:
        matrix = self.matrices["D"]
        each = 32 // matrix.bits
        yield f"for (unsigned row = t; row < {matrix.rows}; row += {self.kernel.threads}) {{"
        yield "  const unsigned first = job.base + ptxmma::get<uint32_t>(job.b, row);"
        yield f"  for (unsigned number = 0; number < {matrix.cols // each}; ++number) {{"
        yield "    uint32_t& word = ptxmma::shared<uint32_t>(job, first + 4 * number);"
        yield f"    for (unsigned j = 0; j < {each}; ++j)"
        index = f"row * {matrix.cols} + number * {each} + j"
        yield f"      ptxmma::set<uint32_t>(job.d, {index}, ptxmma::take<{matrix.bits}>(&word, j));"
        yield "    word = job.config[filler];"
        yield "  }"
        yield "}"

    def _check(self) -> Iterator[str]:
        if self.kernel.stores:
            matrix = self.matrices["D"]
            yield "uint32_t count = 0;  // words that were overwritten and should not be"
            yield f"for (unsigned at = 4 * t; at < job.config[shared_bytes]; at += {4 * self.kernel.threads})"
            yield "  count += ptxmma::shared<uint32_t>(job, job.base + at) != job.config[filler];"
            yield f"ptxmma::set<uint32_t>(job.d, {matrix.rows * matrix.cols} + t, count);"

    # Matrices that wmma.load and wmma.store address.

    def _first(self, access: FragmentAccess) -> str:
        if space_of(access.variant) == "shared":
            return "job.shared"
        return "static_cast<unsigned char*>(job.meta)"

    def _strided(self, part: str, access: FragmentAccess) -> tuple[JobMatrix, str, str, int]:
        """The matrix, its element's index in memory, its C type there, elements that share a byte."""
        matrix = self.matrices[part]
        formula = access.variant.row.family.instruction.memory[str(access.variant.fields["layout"])]
        size = max(matrix.bits // 8, 1)
        word = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}[size]
        return matrix, c_text(formula.tree), word, max(8 // matrix.bits, 1)

    def _stride(self, part: str, access: FragmentAccess) -> str:
        matrix = self.matrices[part]
        natural = matrix.cols if by_rows(access) else matrix.rows
        return f"job.config[{part.lower()}_stride]" if access.strided else str(natural)

    def _place_strided(self, part: str, access: FragmentAccess) -> Iterator[str]:
        stem = part.lower()
        start = f"job.config[{stem}_{identifier(START)}]"
        if part != "D":
            matrix, index, word, together = self._strided(part, access)
            length = (matrix.cols if by_rows(access) else matrix.rows) // together
            line, place = ("row", "col") if by_rows(access) else ("col", "row")
            yield f"for (unsigned at = t; at < {matrix.count // together}; at += {self.kernel.threads}) {{"
            yield f"  const unsigned stride = {self._stride(part, access)}, {line} = at / {length};"
            yield f"  unsigned {place} = at % {length} * {together};"
            yield f"  unsigned char* const first = {self._first(access)} + {start};"
            yield f"  {word}& there = ptxmma::memory<{word}>(first, ({index}) / {together} * sizeof({word}));"
            element = f"ptxmma::get<{_type(matrix)}>(job.{matrix.name}, row * {matrix.cols} + col)"
            if together == 1:
                yield f"  there = static_cast<{word}>({element});"
            else:
                yield "  unsigned value = 0;"
                yield f"  for (unsigned j = 0; j < {together}; ++j, ++{place})"
                yield f"    value |= {element} << {matrix.bits} * j;"
                yield f"  there = static_cast<{word}>(value);"
            yield "}"
        if space_of(access.variant) == "shared":
            yield f"r.{stem}_at = job.base + {start};"
        else:
            yield f"r.{stem}_at = reinterpret_cast<uint64_t>({self._first(access)} + {start});"
        if access.strided:
            yield f"r.{stem}_stride = {self._stride(part, access)};"

    def _read_strided(self, access: FragmentAccess) -> Iterator[str]:
        matrix, index, word, _ = self._strided("D", access)
        yield f"for (unsigned at = t; at < {matrix.count}; at += {self.kernel.threads}) {{"
        yield f"  const unsigned row = at / {matrix.cols}, col = at % {matrix.cols};"
        yield f"  const unsigned stride = {self._stride('D', access)};"
        there = f"{self._first(access)} + job.config[d_{identifier(START)}]"
        yield f"  const {word} value = ptxmma::memory<{word}>({there}, ({index}) * sizeof({word}));"
        yield f"  ptxmma::set<{_type(matrix)}>(job.d, at, value);"
        yield "}"

    # The instruction.

    def _execute(self) -> Iterator[str]:
        kernel = self.kernel
        around = kernel.instruction.around
        if not kernel.accesses:
            yield from self._asm(kernel, around.before, around.after, {})
            return
        of = {str(operand.part): identifier(name) for name, operand in kernel.operands()}
        for part in "ABCD":
            if part == "D":
                yield from self._asm(kernel, (), (), {})
            access = kernel.accesses[part]
            single = Kernel("value", access.variant, access.form_name, {})
            names = {}
            for name, operand in single.operands():
                stem = part.lower()
                is_fragment = operand.part not in ("address", "stride")
                names[name] = (
                    of[part] if is_fragment else f"{stem}_{'at' if operand.part == 'address' else 'stride'}"
                )
            yield from self._asm(single, (), (), names)

    def _asm(
        self, kernel: Kernel, before: Sequence[str], after: Sequence[str], names: Mapping[str, str]
    ) -> Iterator[str]:
        """One statement with its operands, what is around it, and nothing between."""
        outputs: list[str] = []
        inputs: list[str] = []
        places: dict[str, list[tuple[bool, int]]] = {}
        for name, operand in kernel.operands():
            vector = Vector.of(kernel.variant, name)
            stem = names.get(name, identifier(name))
            if vector:
                letter = "l" if vector.kind == "b64" else "r"
                marks = {"source": "", "destination": "=", "both": "+"}[operand.role]
                into = inputs if operand.role == "source" else outputs
                places[name] = []
                for number in range(vector.registers):
                    places[name].append((operand.role == "source", len(into)))
                    into.append(f'"{marks}{letter}"(r.{stem}[{number}])')
            elif operand.descriptor or operand.part in ("scale-d", "stride", "address"):
                wide = operand.descriptor or (operand.part == "address" and self._wide(kernel))
                places[name] = [(True, len(inputs))]
                inputs.append(f'"{"l" if wide else "r"}"(r.{stem})')
        arguments: dict[str, list[str] | str] = {}
        for name, found in places.items():
            operand = kernel.instruction.operands[name]
            numbers = [f"%{place + len(outputs) * source}" for source, place in found]
            arguments[name] = numbers if Vector.of(kernel.variant, name) else numbers[0]
        predicates = [n for n, operand in kernel.operands() if operand.part == "scale-d"]
        statements = list(before)
        for name in predicates:
            stem = identifier(name)
            statements = [f".reg .pred {stem}", f"setp.ne.u32 {stem}, {arguments[name]}, 0", *statements]
            arguments[name] = stem
        statements += [written(kernel, arguments), *after]
        if predicates:
            statements = ["{", *statements, "}"]
        yield "asm volatile("
        for number, statement in enumerate(statements):
            end = "" if statement in "{}" else ";"
            yield (
                f'    "{statement}{end}"'
                if number == len(statements) - 1
                else f'    "{statement}{end}\\n\\t"'
            )
        yield f"    : {', '.join(outputs)}"
        yield f"    : {', '.join(inputs)}"
        yield '    : "memory");'

    def _wide(self, kernel: Kernel) -> bool:
        """Whether an address takes 64 bits: a generic or a global one."""
        return kernel.generic or kernel.space == "global"


def by_rows(access: FragmentAccess) -> bool:
    """Whether the elements of a row are side by side in memory."""
    formula = access.variant.row.family.instruction.memory[str(access.variant.fields["layout"])]
    return compiled(formula.tree, ("row", "col", "stride"))(0, 1, 1 << 10) == 1


def _places(trees: Mapping[str, Expression]) -> Iterator[str]:
    """Where an element, or a bit, belongs."""
    written_out = ", ".join(f"{name} = {c_text(tree)}" for name, tree in trees.items())
    yield f"  const unsigned {written_out};"


def _index(matrix: JobMatrix, trees: Mapping[str, Expression]) -> str:
    row = f"(product * {matrix.rows} + row)" if "product" in trees else "row"
    return f"{row} * {matrix.cols} + col"


def _type(matrix: JobMatrix) -> str:
    return "uint64_t" if matrix.size == 8 else "uint32_t"


def _word(vector: Vector) -> str:
    return "uint64_t" if vector.kind == "b64" else "uint32_t"


def _names_of(arguments: str) -> set[str]:
    return {argument.split()[-1].lstrip("&") for argument in arguments.split(",")}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))

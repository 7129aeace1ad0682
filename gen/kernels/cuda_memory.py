"""The memory of a value kernel as CUDA C++: matrices behind descriptors, addressed rows, strided matrices."""

from __future__ import annotations

from collections.abc import Iterator

from ...spec.expressions import compiled
from ...spec.model import Operand
from ...spec.specification import Specification
from ..c_reading import c_text
from .cuda_names import c_type, identifier
from .kernel_list import FragmentAccess, Kernel, space_of
from .operations import BASE, MODE, START, JobMatrix, LayoutUse, Placed, field_word, matrices

__all__ = ["MemoryText"]


class MemoryText:
    """What a kernel writes to memory before its instruction, and reads from it behind."""

    def __init__(self, kernel: Kernel, specification: Specification) -> None:
        self.kernel = kernel
        self.specification = specification
        self.matrices = matrices(kernel, specification)

    def descriptor(self, name: str, operand: Operand) -> Iterator[str]:
        """A matrix is written to shared memory as the job's descriptor says, and the descriptor is made."""
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

    # Rows that moves of matrices address.

    def rows(self, name: str) -> Iterator[str]:
        """The rows of A are written to shared memory; each thread takes the address of one."""
        kernel = self.kernel
        layout = Placed.of(self.kernel, self.specification, "address")
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

    def read_rows(self) -> Iterator[str]:
        """D is read from its rows in shared memory, which are filled again."""
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

    def check(self) -> Iterator[str]:
        """Behind D, each thread counts the words of shared memory that nothing should have written."""
        if self.kernel.stores:
            matrix = self.matrices["D"]
            yield "uint32_t count = 0;  // words that were overwritten and should not be"
            yield f"for (unsigned at = 4 * t; at < job.config[shared_bytes]; at += {4 * self.kernel.threads})"
            yield "  count += ptxmma::shared<uint32_t>(job, job.base + at) != job.config[filler];"
            yield f"ptxmma::set<uint32_t>(job.d, {matrix.rows * matrix.cols} + t, count);"

    # Matrices that accesses to opaque fragments address.

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

    def place_strided(self, part: str, access: FragmentAccess) -> Iterator[str]:
        """A matrix is written where the access to a fragment will read it, or will write it."""
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
            element = f"ptxmma::get<{c_type(matrix)}>(job.{matrix.name}, row * {matrix.cols} + col)"
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

    def read_strided(self, access: FragmentAccess) -> Iterator[str]:
        """D is read from where the access wrote it."""
        matrix, index, word, _ = self._strided("D", access)
        yield f"for (unsigned at = t; at < {matrix.count}; at += {self.kernel.threads}) {{"
        yield f"  const unsigned row = at / {matrix.cols}, col = at % {matrix.cols};"
        yield f"  const unsigned stride = {self._stride('D', access)};"
        there = f"{self._first(access)} + job.config[d_{identifier(START)}]"
        yield f"  const {word} value = ptxmma::memory<{word}>({there}, ({index}) * sizeof({word}));"
        yield f"  ptxmma::set<{c_type(matrix)}>(job.d, at, value);"
        yield "}"


def by_rows(access: FragmentAccess) -> bool:
    """Whether the elements of a row are side by side in memory."""
    formula = access.variant.row.family.instruction.memory[str(access.variant.fields["layout"])]
    return compiled(formula.tree, ("row", "col", "stride"))(0, 1, 1 << 10) == 1

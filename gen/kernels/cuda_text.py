"""Value kernels as readable CUDA C++: the same steps as in PTX, with the instruction as inline PTX.

Each kernel is a struct of steps: fill, load, execute, store, check. Loops run over a thread's elements; their
index arithmetic is printed from the specification's expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...spec.fragments import packing
from ...spec.specification import Specification
from ..c_reading import c_text
from .cuda_memory import MemoryText
from .cuda_names import c_type, element_index, identifier, places, register_type
from .cuda_statement import execute
from .kernel_list import Kernel, space_of
from .operations import GUARD, PARAMETERS, Placed, config_of, matrices
from .stand_in_text import stand_in
from .statement import Vector

__all__ = ["config_header", "cuda_source"]


def config_header(specification: Specification) -> str:
    """A header: the index of each configuration word."""
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
        self.memory = MemoryText(kernel, specification)

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
        lines += self._step("execute", "const ptxmma::Job& job, Registers& r", execute(kernel))
        lines.append("#endif")
        lines += self._step("store", "const ptxmma::Job& job, unsigned t, const Registers& r", self._store())
        lines += self._step("check", "const ptxmma::Job& job, unsigned t", self.memory.check())
        lines += ["};", "}  // namespace kernels", f"PTXMMA_ENTRY({kernel.name})"]
        return "\n".join(lines) + "\n"

    def _step(self, name: str, arguments: str, body: Iterator[str]) -> list[str]:
        """A step as a function; no line for an optional step that does nothing."""
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
                yield f"{register_type(vector)} {identifier(name)}[{vector.registers}];"
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
            yield from self.memory.place_strided(part, access)
        if kernel.accesses:
            return
        for name, operand in kernel.operands():
            vector = Vector.of(kernel.variant, name)
            if operand.descriptor:
                yield from self.memory.descriptor(name, operand)
            elif operand.part == "scale-d":
                yield f"r.{identifier(name)} = job.config[scale_d];"
            elif operand.part == "address":
                yield from self.memory.rows(name)
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
        yield from places(layout.trees)
        value = f"ptxmma::get<{c_type(matrix)}>(job.{matrix.name}, {element_index(matrix, layout.trees)})"
        yield f"  ptxmma::put<{packing(self.kernel.variant, part).width}>(r.{identifier(name)}, i, {value});"
        yield "}"

    def _store(self) -> Iterator[str]:
        kernel = self.kernel
        if kernel.accesses:
            yield from self.memory.read_strided(kernel.accesses["D"])
        elif kernel.stores:
            yield from self.memory.read_rows()
        for name, operand in kernel.operands():
            if operand.role == "source" or kernel.accesses:
                continue
            matrix, layout = self.matrices["D"], self._layout(str(operand.part))
            yield "PTXMMA_UNROLL"
            yield self._loop("i", layout.domain["i"])
            yield from places(layout.trees)
            width = packing(kernel.variant, str(operand.part)).width
            taken = f"ptxmma::take<{width}>(r.{identifier(name)}, i)"
            yield f"  ptxmma::set<{c_type(matrix)}>(job.d, {element_index(matrix, layout.trees)}, {taken});"
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
        yield from places(layout.trees)
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
        yield from places(layout.trees)
        index = f"{offsets[part]} + row * {layout.shape['col']} + col"
        yield f"  const uint32_t value = ptxmma::get<uint32_t>(job.meta, {index}) & 255;"
        yield f"  {word} = ({word} & ~(255u << 8 * i)) | value << 8 * i;"
        yield "}"


def _names_of(arguments: str) -> set[str]:
    return {argument.split()[-1].lstrip("&") for argument in arguments.split(",")}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))

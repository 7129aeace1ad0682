"""A suite as files: PTX, CUDA, the host program with its suite.txt, and manifest.json for other programs."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any

from ...spec.index import ElementType
from ...spec.parts import computes, element_type
from ...spec.sparse import positions
from ...spec.specification import Specification
from ...spec.variants import OPAQUE, Variant
from ..c_reading import c_text
from ..kernels.cuda_text import config_header, cuda_source
from ..kernels.kernel_list import Kernel
from ..kernels.modules import KernelModule, code_of, modules
from ..kernels.operations import ADDRESS, GUARD, config_of, matrices
from ..kernels.stand_in_text import types_header
from .cases import Case, Cases, Coverage, cases_of

__all__ = ["Suite", "emitted", "lacking", "suite_of"]

_WAYS = (
    ("ptx", "make && ./conformance .                          # PTX, compiled by the driver"),
    ("cuda", "make -j$(nproc) conformance cubin && ./conformance . --via cubin"),
    ("cuda", "make -j$(nproc) conformance stand-in && ./conformance . --via stand-in   # no GPU: plain C++"),
)
_CUDA = ("kernel.h", "stand_in.h")
_HOST = ("main.cpp", "driver.h", "exact.h", "reference.h", "suite.h")


@dataclass(frozen=True)
class Suite:
    """A suite for one target. `elsewhere`: modules for other targets, of the forms that this one lacks."""

    specification: Specification
    target: str
    modules: tuple[KernelModule, ...]
    cases: Mapping[str, Sequence[Case]]
    coverage: tuple[Coverage, ...]
    elsewhere: tuple[KernelModule, ...]

    @cached_property
    def identified(self) -> dict[str, list[tuple[str, Case]]]:
        """The cases of each kernel, with their hashes, by the kernel's name."""
        found: dict[str, list[tuple[str, Case]]] = {}
        for module in self.modules:
            for kernel, text in zip(module.kernels, module.entries, strict=True):
                cases, code = self.cases[kernel.name], code_of(text)
                found[kernel.name] = [(case.hash(code), case) for case in cases]
        return found

    def files(self, kind: str | None = None) -> Iterator[tuple[str, str]]:
        """Every file as (path, text), the same for the same specification; of one kind, or of both."""
        for module in self.modules:
            if kind != "cuda":
                yield f"ptx/{module.name}.ptx", module.text
            if kind != "ptx":
                yield f"cuda/{module.name}.cu", cuda_source(module.kernels, self.specification)
        for module in self.elsewhere:
            yield f"elsewhere/{module.target}/{module.name}.ptx", module.text
        if kind != "ptx":
            yield "cuda/config.h", config_header(self.specification)
            yield "cuda/types.h", types_header(self.specification, self._types())
            for name in _CUDA:
                yield f"cuda/{name}", _read("cuda", name)
        yield "suite.txt", "\n".join(self._lines()) + "\n"
        yield "manifest.json", json.dumps(self.manifest(), indent=None, separators=(",", ":")) + "\n"
        yield "host/holders.h", holders(self.specification)
        for name in _HOST:
            yield f"host/{name}", _read("host", name)
        for name in ("Makefile", "CMakeLists.txt"):
            yield name, _read("host", name).replace("@ARCH@", self.target)
        yield "README.md", self.readme(kind)

    def _types(self) -> list[str]:
        """The element types of all matrices."""
        kernels = [kernel for module in self.modules for kernel in module.kernels]
        used = {matrix.type for kernel in kernels for matrix in matrices(kernel, self.specification).values()}
        used |= {element_type(kernel.variant, "scale-a") for kernel in kernels if _scaled(kernel)}
        return [name for name in self.specification.index.types if name in used]

    def _lines(self) -> Iterator[str]:
        """suite.txt: what the host program reads, one record a line."""
        yield "# What host/suite.h reads; manifest.json says it for others."
        yield f"guard {GUARD}"
        yield f"config {' '.join(config_of(self.specification))}"
        used: dict[str, None] = {}
        body: list[str] = []
        for module in self.modules:
            for kernel in module.kernels:
                body += self._kernel_lines(module, kernel, used)
        for name in used:
            yield _type_line(self.specification, name)
        yield from body
        yield f"end {sum(map(len, self.identified.values()))}"  # else a part of the file passes for all

    def _kernel_lines(self, module: KernelModule, kernel: Kernel, used: dict[str, None]) -> Iterator[str]:
        fields = kernel.variant.fields
        operation = str(fields.get("op", "none")).split(".")[0]
        rounds = self.specification.has_effect(kernel.variant, "rounded")
        rounding = str(fields.get("rnd", "none"))
        words = [
            "kernel",
            kernel.name,
            module.name,
            kernel.threads,
            "move" if not computes(kernel.instruction) else "multiply" if operation == "none" else operation,
            kernel.value("negate-A") or 1,
            kernel.value("negate-B") or 1,
            int(fields.get("satfinite") == "satfinite"),
            ("rn" if rounding == "none" else rounding) if rounds else "none",
            kernel.variant.layouts["D"] if _located(kernel) else "none",
        ]
        yield " ".join(map(str, words))
        held = matrices(kernel, self.specification)
        for letter, matrix in held.items():
            if letter == "metadata":
                yield f"meta {matrix.count} {matrix.offsets.get('garbage', -1)}"
                continue
            used[matrix.type] = None
            shape = f"{matrix.rows} {matrix.cols} {matrix.products}"
            yield f"matrix {matrix.name} {shape} {matrix.type} {matrix.bits} {matrix.extra}"
        if _scaled(kernel):
            offsets = held["metadata"].offsets
            scale = element_type(kernel.variant, "scale-a")
            used[scale] = None
            yield f"scales {offsets['scale-a']} {offsets['scale-b']} {fields['scales']} {scale}"
        if kernel.variant.row.row.sparsity:
            sparsity = self.specification.sparsity_of(kernel.variant)
            codes = (
                f"{code} {' '.join(map(str, positions(sparsity, code)))}"
                for code in self.specification.codes_of(kernel.variant)
            )
            yield f"sparse {sparsity.chunk} {sparsity.slots} {' '.join(codes)}"
        for identity, case in self.identified[kernel.name]:
            yield _case_line(identity, case)

    def manifest(self) -> dict[str, Any]:
        """Every kernel and case for other programs: mnemonic, row, hash, seed, what it checks."""
        kernels = []
        for module in self.modules:
            for kernel, text in zip(module.kernels, module.entries, strict=True):
                cases = [
                    {
                        "case": identity,
                        "plan": case.plan.name,
                        "seed": seed_of(identity),
                        "settings": dict(case.settings),
                        "clauses": list(case.clauses),
                    }
                    for identity, case in self.identified[kernel.name]
                ]
                kernels.append({**_told(module, kernel, text), "cases": cases})
        not_run = [
            {
                **_told(module, kernel, text),
                "target": module.target,
                "why": _why(dict.fromkeys(name for name, _ in kernel.variant.gate.targets)),
            }
            for module in self.elsewhere
            for kernel, text in zip(module.kernels, module.entries, strict=True)
        ]
        return {
            "suite": "ptxmma",
            "isa": str(self.specification.index.isa),
            "target": self.target,
            "config": list(config_of(self.specification)),
            "coverage": [vars(covered) for covered in self.coverage],
            "kernels": kernels,
            "not run": not_run,
        }

    def readme(self, kind: str | None = None) -> str:
        """The suite's README: what it is, how to build and run it, and what its cases cover."""
        counted = Counter(kernel.instruction.instruction for m in self.modules for kernel in m.kernels)
        lines = [
            f"| {covered.group} | {covered.mnemonics} | {covered.kernels} | {covered.cases} "
            f"| {covered.pairs} of {covered.possible} |"
            for covered in self.coverage
        ]
        return _read("host", "README.md").format(
            target=self.target,
            isa=self.specification.index.isa,
            kernels=sum(counted.values()),
            modules=len(self.modules),
            cases=sum(len(cases) for cases in self.cases.values()),
            ways="\n".join(f"    {way}" for of, way in _WAYS if kind in (None, of)),
            coverage="\n".join(lines),
            elsewhere=sum(len(module.kernels) for module in self.elsewhere),
        )


def suite_of(
    specification: Specification,
    variants: Sequence[Variant],
    known: Sequence[Variant],
    target: str,
    others: Sequence[Variant] = (),
) -> Suite:
    """The suite of some variants for a target; `known` are all that the target has.

    `others` are variants that it has not: the first and the last kernel of each, for the first target that
    has it.
    """
    found = cases_of(specification, variants, known)
    by_target: dict[str, list[Variant]] = {}
    for variant in others:
        by_target.setdefault(variant.gate.targets[0][0], []).append(variant)
    elsewhere = [
        module
        for other, wanted in by_target.items()
        for module in modules(_ends(cases_of(specification, wanted, wanted)), specification, other)
    ]
    return Suite(
        specification,
        target,
        tuple(modules([kernel for kernel, _ in found.cases], specification, target)),
        {kernel.name: cases for kernel, cases in found.cases},
        tuple(found.coverage),
        tuple(elsewhere),
    )


def _ends(found: Cases) -> list[Kernel]:
    """The first and the last kernel of every mnemonic."""
    kernels: dict[str, list[Kernel]] = {}
    for kernel, _ in found.cases:
        kernels.setdefault(kernel.variant.mnemonic, []).append(kernel)
    ends = ({kernel.name: kernel for kernel in (all[0], all[-1])} for all in kernels.values())
    return [kernel for both in ends for kernel in both.values()]


def _told(module: KernelModule, kernel: Kernel, text: str) -> dict[str, Any]:
    """A kernel's entry in the manifest."""
    source = kernel.variant.row.row.source or kernel.instruction.source
    return {
        "kernel": kernel.name,
        "module": module.name,
        "version": str(module.version),
        "ptx": kernel.variant.mnemonic,
        "instruction": kernel.instruction.instruction,
        "row": kernel.variant.row.row.id,
        "section": source.section,
        "form": kernel.form_name,
        "immediates": dict(kernel.immediates),
        "accesses": {
            part: {"ptx": access.variant.mnemonic, "row": access.variant.row.id}
            for part, access in kernel.accesses.items()
        },
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def emitted(variant: Variant) -> bool:
    """Whether a variant has kernels: it computes or moves something."""
    return bool(variant.row.row.layouts)


def lacking(variants: Iterable[Variant], target: str) -> dict[str, str]:
    """The rows of some variants that a target does not have or has in part only, and which targets do."""
    rows: dict[str, list[Variant]] = {}
    for variant in variants:
        rows.setdefault(variant.row.id, []).append(variant)
    found = {}
    for row, own in rows.items():
        absent = [variant for variant in own if target not in dict(variant.gate.targets)]
        if absent:
            part = f"{len(absent)} of {len(own)} mnemonics: " if len(absent) < len(own) else ""
            found[row] = part + _why(dict.fromkeys(name for v in absent for name, _ in v.gate.targets))
    return found


def _why(targets: Iterable[str]) -> str:
    return f"it is for {', '.join(targets)}"


def _read(folder: str, name: str) -> str:
    return (resources.files(__package__) / folder / name).read_text(encoding="utf-8")


def seed_of(identity: str) -> int:
    """The seed of a case's inputs: its hash, as a number."""
    return int(identity, 16)


def _located(kernel: Kernel) -> bool:
    """Whether the layout of D is known."""
    return kernel.variant.layouts.get("D", OPAQUE) != OPAQUE


def _scaled(kernel: Kernel) -> bool:
    """Whether the instruction multiplies with scale factors."""
    return "scale-a" in kernel.variant.layouts


def _type_line(specification: Specification, name: str) -> str:
    """One element type as the host program reads it."""
    if name == ADDRESS:
        return f"type {name} unsigned 32"
    element: ElementType = specification.index.types[name]
    form = specification.formats.get(name)
    if form is None:
        return f"type {name} {'signed' if element.kind == 'signed' else 'unsigned'} {element.bits}"
    return (
        f"type {name} float {element.bits} {form.exponent} {form.fraction} {form.bias} {form.specials} "
        f"{int(form.signed)} {int(form.subnormals)} {form.ignored}"
    )


def _case_line(identity: str, case: Case) -> str:
    plan = case.plan
    draws = [f"{draw.low} {draw.high} {draw.exponent}" for draw in (plan.a, plan.b, plan.c)]
    nonzero = -1 if plan.nonzero is None else plan.nonzero
    scale = f"1 {plan.scale.low} {plan.scale.high} {plan.scale.exponent}" if plan.scale else "0"
    words = " ".join(map(str, case.config.values()))
    drawn = f"{' '.join(draws)} {nonzero} {plan.garbage} {scale}"
    return f"case {identity} {seed_of(identity)} {plan.name} {drawn} {words}"


def holders(specification: Specification) -> str:
    """A C++ header: which thread's element holds an element of D, by layout; the inverses of the formulas."""
    lines = [
        "// Which thread and which of its elements hold D(row, col), by layout: printed from the formulas.",
        "#pragma once",
        "#include <string>",
        "",
        "struct Holder {",
        "  unsigned thread, element;",
        "};",
        "",
        "inline bool holder_of(const std::string& layout, unsigned row, unsigned col, unsigned product,",
        "                      Holder& holder) {",
        "  (void)row, (void)col, (void)product, (void)holder;",
    ]
    variants = [variant for family in specification.families.values() for variant in family.listed()]
    for name in sorted({variant.layouts.get("D", OPAQUE) for variant in variants} - {OPAQUE}):
        inverse = specification.layouts[name].inverse.inputs
        lines.append(f'  if (layout == "{name}") {{')
        lines.append(f"    holder = {{{c_text(inverse['t'])}, {c_text(inverse['i'])}}};")
        lines.append("    return true;\n  }")
    lines += ["  return false;", "}"]
    return "\n".join(lines) + "\n"

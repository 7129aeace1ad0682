"""PTX modules: some forty kernels in a file, for one target and one .version."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...spec.gates import Isa
from ...spec.nodes import Version
from ...spec.specification import Specification
from .kernel_list import Kernel
from .operations import PARAMETERS
from .raw_ptx import raw_body
from .value_ptx import value_body

__all__ = ["KERNELS", "KernelModule", "code_of", "modules", "version_of"]

_SHARED = ".extern .shared .align 1024 .b8 shared_memory[];\n"
KERNELS = 40  # of a module, at most
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "raw": ("in", "image", "out", "config"),
    "value": (*PARAMETERS, "config"),
}


@dataclass(frozen=True)
class KernelModule:
    """A PTX file: its name without the suffix, its kernels, and the text of each."""

    name: str
    kernels: tuple[Kernel, ...]
    target: str
    version: Version
    head: str
    entries: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.head + "\n".join(self.entries)


def version_of(kernel: Kernel, isa: Isa, target: str) -> Version:
    """The oldest PTX ISA version in which a target has what a kernel needs."""
    return max(dict(kernel.variant.gate.targets)[target], isa.index.targets[target].since)


def entry_text(kernel: Kernel, specification: Specification) -> str:
    """One kernel: a comment that names row and section, and the entry."""
    source = kernel.variant.row.row.source or kernel.instruction.source
    body = raw_body(kernel) if kernel.kind == "raw" else value_body(kernel, specification)
    parameters = ", ".join(f".param .u64 {name}" for name in _PARAMETERS[kernel.kind])
    return (
        f"// {kernel.variant.mnemonic} ({kernel.form_name}): row {kernel.variant.row.id}, "
        f"PTX ISA {source.section}\n"
        f".visible .entry {kernel.name}({parameters})\n"
        f".reqntid {kernel.threads}\n{body}\n"
    )


def code_of(entry: str) -> str:
    """A kernel without its comments: what runs does not depend on the section or the row that they name."""
    return "\n".join(line for line in entry.splitlines() if not line.startswith("//"))


def modules(kernels: Sequence[Kernel], specification: Specification, target: str) -> Iterator[KernelModule]:
    """The kernels grouped into files by kind, instruction and the PTX version they need, in their order.

    An older driver can then read every file but those that need a newer version."""

    def group(kernel: Kernel) -> tuple[str, str]:
        return kernel.kind, kernel.instruction.instruction

    def needed(kernel: Kernel) -> Version:
        return version_of(kernel, specification.isa, target)

    for (kind, instruction), members in itertools.groupby(kernels, key=group):
        number = 0
        for version, same in itertools.groupby(sorted(members, key=needed), key=needed):
            all_same = list(same)
            for start in range(0, len(all_same), KERNELS):
                part = all_same[start : start + KERNELS]
                shared = any(kernel.shared for kernel in part)
                head = (
                    f".version {version}\n.target {target}\n.address_size 64\n{_SHARED if shared else ''}\n"
                )
                entries = tuple(entry_text(kernel, specification) for kernel in part)
                name = f"{kind}_{instruction.replace('.', '_')}_{number:03}"
                yield KernelModule(name, tuple(part), target, version, head, entries)
                number += 1

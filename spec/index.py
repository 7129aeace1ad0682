"""The records of specs.yaml: PTX ISA releases, assemblers, targets, element types, and the other files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from .errors import Place
from .lazy_dataclass import dataclass
from .model import Gate
from .nodes import FileName, Version, compose, structure

__all__ = [
    "INDEX",
    "Assembler",
    "Build",
    "ElementType",
    "Index",
    "LateRegisters",
    "MovedSection",
    "OrderingFiles",
    "Release",
    "Renaming",
    "Target",
    "read_index",
]


@dataclass(frozen=True)
class Build:
    """A release on one platform."""

    wheel: str
    """The SHA-256 of the wheel.
    Noticed by: observations.
    Example: `34f6dfc39a85a5a6f57dfc5ed145a9f903c3f6520a86e7d24b548894769f5e48`.
    Refuses: `34f6` (64 hexadecimal digits)."""
    bytes: int
    """The size of the wheel in bytes.
    Noticed by: observations.
    Example: `17260199`. Refuses: `large` (an integer)."""
    ptxas: str
    """The SHA-256 of the ptxas in it.
    Noticed by: observations.
    Example: `5327910f0a661c67ad8ad98e2f8b42ada4adbba326facfb284c2f4e32a9e3e2f`.
    Refuses: `5327` (64 hexadecimal digits)."""


@dataclass(frozen=True)
class Assembler:
    """A release of ptxas."""

    package: str
    """The package of PyPI that carries it.
    Noticed by: observations, tests.
    Example: `nvidia-cuda-nvcc-cu12`. Refuses: `null` (text must stand)."""
    version: str
    """The package's version, by which the assembler is named: that of its CUDA toolkit, and a number.
    Noticed by: observations, tests.
    Example: `12.4.131`. Refuses: `12.4` (without quotes it is a number)."""
    builds: Mapping[str, Build]
    """The builds by platform.
    Noticed by: observations.
    Example: `{}`. Refuses: `{linux-x86_64: {bytes: 1}}` (the key wheel is missing)."""
    place: Place

    @property
    def toolkit(self) -> str:
        """The CUDA toolkit it came with."""
        return self.version.rpartition(".")[0]


@dataclass(frozen=True)
class Release:
    """One version of the PTX ISA."""

    ptx: Version
    """The version.
    Noticed by: observations, tests.
    Example: `"8.4"`. Refuses: `8.4` (not quoted)."""
    assemblers: tuple[Assembler, ...]
    """The assemblers that brought it; an empty list where PyPI carries none.
    Noticed by: observations, tests.
    Example: `[]`. Refuses: `[{toolkit: "12.4"}]` (the key package is missing)."""
    place: Place


@dataclass(frozen=True)
class Renaming:
    """The newer name of a target."""

    to: str
    """The target that it is named from then on.
    Noticed by: tests.
    Example: `sm_110`. Refuses: `sm_111` (there is no such target)."""
    since: Version
    """The version that renamed it, with which the new name begins.
    Noticed by: tests.
    Example: `"9.0"`. Refuses: `9.0` (not quoted)."""


@dataclass(frozen=True)
class Target:
    """What may stand behind .target."""

    since: Version
    """The least .version that assemblers accept with the target.
    Noticed by: observations, tests.
    Example: `"7.8"`. Refuses: `7.8` (not quoted)."""
    includes: tuple[str, ...]
    """The targets whose features it has, without those that these include.
    Noticed by: tests.
    Example: `[sm_89]`. Refuses: `[sm_91]` (there is no such target)."""
    renamed: Renaming | None = None
    """What a later version named it.
    Noticed by: tests.
    Example: `{to: sm_110, since: "9.0"}`. Refuses: `{to: sm_110}` (the key since is missing)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ElementType:
    """An element type."""

    bits: int
    """How wide an element is.
    Noticed by: tests.
    Example: `16`. Refuses: `wide` (an integer)."""
    kind: Literal["float", "signed", "unsigned", "bits", "scale"]
    """What the bits stand for.
    Noticed by: tests.
    Example: `float`. Refuses: `real` (not in the list)."""
    registers: tuple[str, ...]
    """The types that a register holding elements may be declared with; the name of a set stands for its
    members.
    Noticed by: tests.
    Example: `[b32, f16x2]`. Refuses: `[b33]` (neither a register type nor a set)."""
    note: str | None = None
    """What a reader should know about the type.
    Noticed by: readers.
    Example: `the low 13 bits are not part of the value`. Refuses: `[a]` (text, not a list)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class LateRegisters:
    """Special registers that came with a later version, or that not every target has."""

    registers: tuple[str, ...]
    """Their names, as `special_registers` has them.
    Noticed by: tests.
    Example: `[clusterid]`. Refuses: `clusterid` (a list, also of one)."""
    gate: Gate
    """Since when, and on which targets.
    Example: `{since: "7.8", deprecated: null, removed: null, targets: [sm_90]}`.
    Refuses: `{since: "7.8"}` (every key of a gate is written)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class MovedSection:
    """What a section is in a newer manual."""

    manual: Version
    """The newest edition that is known to number it so.
    Noticed by: tests.
    Example: `"9.4"`. Refuses: `9.4` (not quoted)."""
    section: str
    """Its number there.
    Noticed by: tests.
    Example: `9.7.16`. Refuses: `[9.7.16]` (text, not a list)."""


@dataclass(frozen=True)
class OrderingFiles:
    """The files about ordering."""

    rules: FileName
    """The file of rules.
    Example: `spec/ordering/rules.yaml`. Refuses: `[rules.yaml]` (one file, not a list)."""
    switches: FileName
    """The file of switches: questions about ordering that the text leaves open.
    Example: `spec/ordering/switches.yaml`. Refuses: `[switches.yaml]` (one file, not a list)."""
    litmus: FileName
    """The file of litmus tests written by hand.
    Example: `spec/ordering/litmus.yaml`. Refuses: `[litmus.yaml]` (one file, not a list)."""
    phases: FileName
    """The file of rules and litmus tests of barriers with phases.
    Example: `spec/ordering/phases.yaml`. Refuses: `[phases.yaml]` (one file, not a list)."""
    synthesised: FileName
    """The file of synthesised litmus tests, which `ptxmma litmus --synthesise` prints.
    Example: `spec/ordering/synthesised.yaml`. Refuses: `[synthesised.yaml]` (one file, not a list)."""


@dataclass(frozen=True)
class Index:
    """specs.yaml: what all files share, and where the others are."""

    isa: Version
    """The newest PTX ISA version that the specification is about.
    Example: `"9.5"`. Refuses: `9.5` (not quoted)."""
    manual: Version
    """The edition of the manual that numbers the sections which the files name.
    Noticed by: tests.
    Example: `"9.2"`. Refuses: `9.2` (not quoted)."""
    moved: Mapping[str, MovedSection]
    """The sections that a newer manual numbers otherwise, each with all below it.
    Noticed by: tests.
    Example: `{9.7.14: {manual: "9.4", section: 9.7.16}}`.
    Refuses: `{9.7.14: {manual: "9.4"}}` (the key section is missing)."""
    earlier: tuple[Version, ...]
    """The versions before those of `releases` that some assembler takes. Nothing is legal under them.
    Noticed by: observations.
    Example: `["5.0", "5.1"]`. Refuses: `[5.0]` (not quoted)."""
    releases: tuple[Release, ...]
    """The PTX ISA versions, each with its assemblers.
    Noticed by: observations, tests.
    Example: `[{ptx: "6.0", assemblers: []}]`. Refuses: `[{ptx: "6.0"}]` (the key assemblers is missing)."""
    targets: Mapping[str, Target]
    """The targets by name.
    Noticed by: observations, tests.
    Example: `{sm_35: {since: "3.1", includes: []}}`.
    Refuses: `{sm_35: {since: "3.1"}}` (the key includes is missing)."""
    register_types: tuple[str, ...]
    """Every type that a register may be declared with.
    Noticed by: tests.
    Example: `[pred, b32, f32]`. Refuses: `[b32]` (an operand takes a register of another type)."""
    register_sets: Mapping[str, tuple[str, ...]]
    """Names for register types that often stand together; where register types are listed, the name of a set
    stands for its members.
    Noticed by: tests.
    Example: `{float32: [b32, f32]}`. Refuses: `{float32: [b33]}` (not a register type)."""
    similar_types: Mapping[str, tuple[tuple[str, ...], ...]]
    """By a type that goes with all that are listed, the groups of types, and of kinds of literals, whose
    members go with each other in a vector. A floating-point literal as wide as a type of a group is of that
    type.
    Noticed by: tests.
    Example: `{b32: [[u32, s32, integer], [f32, double]]}`.
    Refuses: `{b32: [u32, s32]}` (groups are lists)."""
    special_registers: Mapping[str, tuple[str, ...]]
    """The special registers without their %, by the register type that ptxas gives them; `v4.` stands before
    the type of the components of a vector, and `pm<8>` for pm0 to pm7.
    Noticed by: tests.
    Example: `{b32: [laneid, "pm<8>"], v4.b32: [tid]}`. Refuses: `{b32: laneid}` (a list, also of one)."""
    late_registers: tuple[LateRegisters, ...]
    """The special registers that have a gate of their own.
    Noticed by: tests.
    Example: `[]`. Refuses: `[{registers: [clusterid]}]` (the key gate is missing)."""
    types: Mapping[str, ElementType]
    """The element types by name.
    Noticed by: tests.
    Example: `{f16: {bits: 16, kind: float, registers: [b32]}}`.
    Refuses: `{f16: {bits: 16}}` (the key kind is missing)."""
    ordered: Mapping[str, tuple[str, ...]]
    """By class, the qualifiers whose order among themselves matters; element types are such a class of their
    own. All others may be permuted.
    Noticed by: tests.
    Example: `{layout: [row, col]}`. Refuses: `{layout: row}` (a list, also of one)."""
    repeatable: tuple[str, ...]
    """The qualifiers that may stand more than once.
    Noticed by: tests.
    Example: `[sync, satfinite]`. Refuses: `sync` (a list, also of one)."""
    elsewhere: tuple[str, ...]
    """Qualifiers that other instructions of PTX have: assemblers are asked about statements with one more of
    them, since they ignore some.
    Noticed by: tests.
    Example: `[finite, v4]`. Refuses: `finite` (a list, also of one)."""
    instructions: tuple[FileName, ...]
    """The files of instructions, in the order of `ptxmma list`.
    Example: `[spec/instructions/mma.yaml]`.
    Refuses: `[spec/instructions/nosuch.yaml]` (the file does not exist)."""
    layouts: tuple[FileName, ...]
    """The files of layouts.
    Example: `[spec/layouts/mma.yaml]`. Refuses: `[spec/layouts/nosuch.yaml]` (the file does not exist)."""
    contracts: FileName
    """The file of clauses.
    Example: `spec/contracts.yaml`. Refuses: `spec/nosuch.yaml` (the file does not exist)."""
    sparsity: FileName
    """The file of sparse codings.
    Example: `spec/sparsity.yaml`. Refuses: `spec/nosuch.yaml` (the file does not exist)."""
    descriptors: FileName
    """The file of descriptors.
    Example: `spec/descriptors.yaml`. Refuses: `spec/nosuch.yaml` (the file does not exist)."""
    bridges: FileName
    """The file of bridges between layouts.
    Example: `spec/layouts/bridges.yaml`. Refuses: `spec/nosuch.yaml` (the file does not exist)."""
    addresses: FileName
    """The file of address rules.
    Example: `spec/addresses.yaml`. Refuses: `spec/nosuch.yaml` (the file does not exist)."""
    numerics: FileName
    """The file of formats and guarantees.
    Example: `spec/numerics.yaml`. Refuses: `spec/nosuch.yaml` (the file does not exist)."""
    arithmetic: tuple[FileName, ...]
    """The files that say what sums come to on a chip family, one a family.
    Example: `[spec/arithmetic/sm_90.yaml]`.
    Refuses: `[spec/arithmetic/nosuch.yaml]` (the file does not exist)."""
    effects: FileName
    """The file that says what all instructions of PTX do, for reading whole kernels.
    Example: `spec/effects.yaml`. Refuses: `[effects.yaml]` (one file, not a list)."""
    ordering: OrderingFiles
    """The files about ordering.
    Example: `{rules: a.yaml, switches: b.yaml, litmus: c.yaml, phases: d.yaml, synthesised: e.yaml}`.
    Refuses: `{rules: a.yaml}` (the key switches is missing)."""
    contradictions: FileName
    """The register of disagreements between the text, assemblers, silicon and others.
    Example: `contradictions.yaml`. Refuses: `[contradictions.yaml]` (one file, not a list)."""

    def files(self) -> tuple[FileName, ...]:
        """Every other file, in the order in which specs.yaml names them."""
        ordering = self.ordering
        single = (
            self.contracts,
            self.sparsity,
            self.descriptors,
            self.bridges,
            self.addresses,
            self.numerics,
            self.effects,
        )
        ordered = (ordering.rules, ordering.switches, ordering.litmus, ordering.phases, ordering.synthesised)
        several = (*self.instructions, *self.layouts, *self.arithmetic)
        return (*several, *single, *ordered, self.contradictions)


INDEX = "specs.yaml"


def read_index(root: Path) -> Index:
    """The index under `root`; raises SpecError where it is wrong."""
    return structure(compose(root / INDEX, INDEX), Index, INDEX)

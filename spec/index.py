"""What specs.yaml says: PTX ISA releases, their assemblers, targets, element types, and the other files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .errors import Place
from .nodes import Version

__all__ = ["Assembler", "Build", "ElementType", "Index", "Release", "Target"]


@dataclass(frozen=True)
class Build:
    """A release on one platform: the SHA-256 and size of the wheel, and the SHA-256 of the ptxas in it."""

    wheel: str
    bytes: int
    ptxas: str


@dataclass(frozen=True)
class Assembler:
    """A ptxas release: the CUDA toolkit it came with, the PyPI package that carries it, its builds.

    `builds` lists the platforms (``linux-x86_64``) that have a wheel.
    """

    toolkit: str
    package: str
    version: str
    builds: Mapping[str, Build]
    place: Place


@dataclass(frozen=True)
class Release:
    """One PTX ISA version, with the assemblers that brought it (none for some)."""

    ptx: Version
    assemblers: tuple[Assembler, ...]
    place: Place


@dataclass(frozen=True)
class Target:
    """A .target: since which PTX ISA version, and which targets' features it includes."""

    since: Version
    includes: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class ElementType:
    """An element type: its width, and the register types that hold it as an operand."""

    bits: int
    kind: Literal["float", "signed", "unsigned", "bits", "scale"]
    registers: tuple[str, ...]
    note: str | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Index:
    """specs.yaml: releases, targets, element types, and the files under spec/.

    `earlier` are the versions before those of `releases`, under which nothing is legal.
    `ordered` lists, by class, the qualifiers whose order among themselves matters; element types
    are such a class of their own. All other qualifiers may be permuted; those that are `repeatable`
    may stand more than once.
    """

    isa: Version
    earlier: tuple[Version, ...]
    releases: tuple[Release, ...]
    targets: Mapping[str, Target]
    types: Mapping[str, ElementType]
    ordered: Mapping[str, tuple[str, ...]]
    repeatable: tuple[str, ...]
    instructions: tuple[str, ...]
    layouts: tuple[str, ...]
    contracts: str
    sparsity: str
    descriptors: str
    bridges: str
    addresses: str
    numerics: str

"""nvcc.yaml: what nvcc knows of macros, toolkits and the constraints of inline assembly."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ...spec.cache import cached
from ...spec.lazy_dataclass import dataclass
from ...spec.nodes import compose, structure

__all__ = ["MacroValue", "Nvcc", "nvcc"]

_PATH = Path(__file__).with_name("nvcc.yaml")


@dataclass(frozen=True)
class MacroValue:
    """A macro of the compiler: when it is defined, and what it stands for (None: not known)."""

    when: str
    value: str | None


@dataclass(frozen=True)
class Nvcc:
    """nvcc.yaml. Conditions and values are expressions of the preprocessor."""

    toolkits: Mapping[str, str]
    constraints: Mapping[str, tuple[str, ...]]
    newer_types: Mapping[str, str]
    values: Mapping[str, MacroValue]
    macros: Mapping[str, str]


@cache
def nvcc() -> Nvcc:
    """The file, from the cache if it has not changed."""
    return cached("nvcc", Nvcc, _read, (_PATH, Path(__file__)))


def _read() -> Nvcc:
    return structure(compose(_PATH, _PATH.name), Nvcc, _PATH.name)

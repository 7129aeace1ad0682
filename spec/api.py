"""The questions that every folder asks the specification: load it, find a mnemonic, judge a statement."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from .cache import ROOT, cached, yaml_files
from .legality import Judge, Verdict
from .specification import Specification
from .variants import Variant

__all__ = ["find", "judge", "legal", "load", "load_cached"]


@cache
def load() -> Specification:
    """The whole specification, checked; raises SpecError when the YAML is wrong."""
    return load_cached()


def load_cached(root: Path = ROOT) -> Specification:
    """The specification under `root`, from the cache if possible; raises SpecError when the YAML is wrong."""
    return cached("specification", Specification, lambda: _load(root), yaml_files(root))


def _load(root: Path) -> Specification:
    from .loading import load_files  # not needed when the cache answers

    return load_files(root)


@cache
def judge(ptx: str | None = None, target: str | None = None) -> Judge:
    """A judge of statements for a PTX ISA version (default: the newest) and a target (default: any)."""
    return load().judge(ptx, target)


def legal(statement: str, ptx: str | None = None, target: str | None = None) -> Verdict:
    """Is one PTX statement legal?

    `statement` may begin with register declarations. The verdict is legal, illegal (with every
    reason) or unknown (the specification does not have the instruction or its shape).
    Raises Question for an unknown version or target.
    """
    return judge(ptx, target).judge(statement)


def find(mnemonic: str) -> Variant:
    """The variant that a person means by a mnemonic, in any case, or by a pattern that matches only one.

    Qualifiers may stand in any order that assemblers accept. Raises Question with the reasons and the
    nearest when there is none, and says how many there are when it matches several.
    """
    from .selection import find_variant

    return find_variant(load(), mnemonic)

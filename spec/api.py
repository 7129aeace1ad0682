"""The Python API: what a compiler imports instead of calling the command line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .cache import ROOT, cached, yaml_files
from .legality import Judge, Verdict
from .maps import LayoutMap
from .sparse import compress_row, metadata_words
from .specification import Specification
from .variants import Variant

__all__ = ["compress", "find", "judge", "layout", "legal", "load", "load_cached"]


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
    """The variant that a mnemonic spells; qualifiers may stand in any order that assemblers accept.

    Raises Question with the reasons and the nearest when there is none.
    """
    return load().find(mnemonic)


def layout(mnemonic: str, operand: str) -> LayoutMap:
    """The layout of a fragment (A, B, C, D), of the metadata or of scale factors (9.7.14, 9.7.15).

    `.points(parameters)` gives every (thread, element, row, col); `.trees` and `.inverse` the
    formulas. Raises Question when the operand has no layout, or an opaque one.
    """
    return load().layout_of(find(mnemonic), operand)


def compress(
    mnemonic: str, matrix: Sequence[Sequence[float]], selector: int = 0
) -> tuple[list[list[float]], list[int]]:
    """Compress a matrix of the right sparsity to packed A (rows x K*slots/chunk) and one metadata word a
    thread.

    Only +0.0 counts as absent: −0.0 is a value. Raises Question naming row and chunk where a chunk
    has too many values (9.7.15.6.1).
    """
    specification = load()
    variant = find(mnemonic)
    sparsity = specification.sparsity_of(variant)
    metadata = specification.layout_of(variant, "metadata")
    specification.check_matrix(variant, len(matrix), [len(row) for row in matrix])
    packed, codes = [], []
    for number, row in enumerate(matrix):
        stored, row_codes = compress_row(sparsity, row, is_value, f"row {number}")
        packed.append(stored)
        codes.append(row_codes)
    parameters = specification.selector_parameters(metadata, selector)
    return packed, metadata_words(sparsity, metadata, parameters, codes)


def is_value(element: float) -> bool:
    """Whether an element must be stored: everything but +0 (−0.0 and NaN are values)."""
    return element != 0 or str(element).startswith("-")

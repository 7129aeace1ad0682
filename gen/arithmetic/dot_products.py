"""Elements of D for arrays of bit patterns: what may be asked, and who computes it, compiled C or numpy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...spec.api import find, load
from ...spec.arithmetic import arithmetic_of
from ...spec.chip_arithmetic import PARTS, ChipArithmetic
from ...spec.errors import Question
from ...spec.parts import computes, without_sums
from ...spec.variants import Variant
from .compiled_sums import CompiledSums, compiler
from .numpy_sums import NumpySums

__all__ = ["SumsOfProducts", "sums_of"]

_LOOKED_AT = 64  # jobs of each question that numpy computes, too
_MANY = 1 << 20  # products that are worth a compilation


class SumsOfProducts:
    """One variant's elements of D on the chips of a target."""

    def __init__(self, variant: Variant, target: str) -> None:
        if not computes(variant.instruction):
            raise Question(without_sums(variant))
        specification = load()
        self.variant = variant
        self.arithmetic: ChipArithmetic = arithmetic_of(variant, target)
        self.widths = {part: specification.index.types[self.arithmetic.types[part]].bits for part in PARTS}
        self.arrays = NumpySums(specification, self.arithmetic)
        found = compiler()
        self.compiled = CompiledSums(specification, self.arithmetic, found) if found else None

    def codes(self, part: str, given: Any, jobs: int | None = None) -> NDArray[np.unsignedinteger[Any]]:
        """The codes of A or B (jobs, products), or of C (jobs,); raises Question where they are not such."""
        name, element = part.lower(), self.arithmetic.types[part]
        array = np.asarray(given)
        if array.dtype.kind not in "ui" and array.size:
            raise Question(f"{name} holds {array.dtype}; bit patterns are unsigned integers")
        shape = (array.shape[0] if jobs is None and array.ndim else jobs, self.arithmetic.products)
        wanted = shape if part != "C" else shape[:1]
        if array.shape != wanted:
            named = f"(jobs, {self.arithmetic.products})" if jobs is None else str(wanted)
            raise Question(f"{name} has the shape {array.shape}; it must be {named}")
        width = self.widths[part]
        if array.size and (int(array.max()) >> width or int(array.min()) < 0):
            wrong = int(array.min()) if int(array.min()) < 0 else int(array.max())
            raise Question(f"{name} holds {wrong:#x}; a bit pattern of .{element} has {width} bits")
        return array

    def results(
        self,
        a: NDArray[Any],
        b: NDArray[Any],
        c: NDArray[Any],
        negated: tuple[bool, bool],
        threads: int | None = None,
        looks: bool = True,
    ) -> NDArray[np.unsignedinteger[Any]]:
        """The codes of D (jobs,) in the least type that holds them, by so many threads (default: one a core).

        `looks` says whether numpy computes the first jobs too.
        """
        found, compiled = None, self.compiled
        if compiled is not None and (a.size >= _MANY or compiled.path.exists()):
            found = compiled.codes(a, b, c, negated, threads)
        if found is not None and looks and not self._agrees(found, a, b, c, negated):
            self.compiled = found = None
        if found is None:
            found = self.arrays.codes(a, b, c, negated, threads)
        return found.astype(np.min_scalar_type((1 << self.widths["D"]) - 1))

    def _agrees(
        self,
        found: NDArray[Any],
        a: NDArray[Any],
        b: NDArray[Any],
        c: NDArray[Any],
        negated: tuple[bool, bool],
    ) -> bool:
        """Whether numpy gives the first jobs the same bits: a compiler may be wrong."""
        few = slice(_LOOKED_AT)
        return bool((self.arrays.codes(a[few], b[few], c[few], negated) == found[few]).all())


@cache
def sums_of(mnemonic: str, target: str) -> SumsOfProducts:
    """The sums of a mnemonic on a target, made once; raises Question where they are not known."""
    return SumsOfProducts(find(mnemonic), target)

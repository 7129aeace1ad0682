"""The page of arithmetic: a dot product step by step, by two instructions; and what sums keep and lose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...gen.arithmetic.element_codes import number_text
from ...gen.arithmetic.explained_elements import explained_element
from ...gen.arithmetic.type_sets import TypeSet, growth_text, growths_of, type_sets
from ...spec.arithmetic import arithmetic
from ...spec.errors import Question
from ...spec.selection import summing
from ...spec.specification import Specification
from ...spec.sum_bounds import SumBound, bound_of
from ..files import Atlas, AtlasFile, AtlasPage, data_file
from ..frame import rendered
from ..sums_data import sums_data

__all__ = ["SHOWN", "made"]

SHOWN = arithmetic().families[0]  # the chip family that the page is about


# Elements of which some instructions lose the smaller product, and others keep it.
_TELLING = {"a": "448,1", "b": "448,1", "c": "0"}


@dataclass(frozen=True)
class _KeptRow:
    """A line of the table: sums that differ in the instruction and in the types of A and B alone."""

    types: Mapping[str, str]
    products: int
    bounds: tuple[SumBound, ...]
    lost: str
    mnemonics: Mapping[str, str]
    """One of each types of A and B."""

    @property
    def kept(self) -> str:
        """How many binary places below the greatest exponent terms keep, by sum; `all` where none is cut."""
        return _each("all" if bound.window is None else str(bound.window) for bound in self.bounds)

    @property
    def rounded(self) -> str:
        """To how many digits the sums on the way are rounded, and how."""
        return _each(
            f"{bound.digits} digits, {'to nearest' if bound.nearest else 'directed'}" for bound in self.bounds
        )

    @property
    def error(self) -> str:
        """How far a sum is at most from the exact sum of its terms, the longest sum of each kind."""
        longest = {
            (bound.window, bound.digits, bound.nearest): bound
            for bound in sorted(self.bounds, key=lambda bound: bound.cut)
        }
        kept = longest.values()
        return ", then ".join(dict.fromkeys(bound.text for bound in self.bounds if bound in kept)) or "0"


def _each(words: Iterator[str]) -> str:
    """Different words, in order; a sum of integers has none."""
    return ", then ".join(dict.fromkeys(words)) or "exact"


def _table(specification: Specification, sets: Sequence[TypeSet]) -> Mapping[str, list[_KeptRow]]:
    """The lines by row of the arithmetic."""
    found: dict[str, dict[object, _KeptRow]] = {}
    for one, growth in zip(sets, growths_of(specification, (one.arithmetic for one in sets)), strict=True):
        types, products = one.arithmetic.types, one.arithmetic.products
        every = (bound_of(specification, one.arithmetic, block) for block in one.arithmetic.blocks)
        bounds = tuple(bound for bound in every if bound is not None)
        lost = growth_text(number_text(growth.first), growth.last, growth.wraps)
        alike = types["C"], types["D"], products, bounds, lost
        lines = found.setdefault(one.arithmetic.row.id, {})
        before = lines.get(alike)
        known = dict(before.mnemonics) if before else {}
        known.setdefault(f"{types['A']} x {types['B']}", one.variant.mnemonic)
        lines[alike] = _KeptRow(types, products, bounds, lost, known)
    return {row: list(lines.values()) for row, lines in found.items()}


def _example(specification: Specification, target: str, sets: Sequence[TypeSet]) -> dict[str, str]:
    """Two instructions of the same types, of short names, that give different numbers; else one."""
    known: dict[tuple[str, ...], tuple[str, int]] = {}
    ordered = sorted(sets, key=lambda one: len(one.variant.mnemonic))
    for one in ordered:
        try:
            said = explained_element(specification, one.variant, target, _TELLING).explanation
        except Question:  # it has not these elements
            continue
        mnemonic, code = known.setdefault(
            tuple(one.arithmetic.types.values()), (one.variant.mnemonic, said.code)
        )
        if code != said.code:
            return {"m": mnemonic, "n": one.variant.mnemonic, **_TELLING}
    return {"m": ordered[0].variant.mnemonic, "a": "1", "b": "1", "c": "0"}


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page and its data, of the first chip family whose arithmetic is known."""
    target = SHOWN.targets[-1]
    sets = list(type_sets(atlas.specification, summing(atlas.specification, None, target), target))
    example = _example(atlas.specification, target, sets)
    yield data_file("sums", {**sums_data(atlas.specification, target), "example": example})
    notes = {row.id: row.source.note or row.source.section for row in SHOWN.rows}
    body = rendered(
        "arithmetic.html",
        target=target,
        targets=list(atlas.specification.index.targets),
        measured=SHOWN.targets,
        rows=_table(atlas.specification, sets),
        notes=notes,
    )
    yield AtlasPage(
        "arithmetic.html",
        "What does a dot product come to?",
        "Arithmetic",
        body,
        "One element of D, step by step, by two instructions side by side.",
        scripts=("element_codes", "sums", "explained", "arithmetic"),
        data=("sums",),
    )

"""Sums that have no negative terms, as those of bits: they are kept modulo the width of their type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from .smt.obligations import refuting
from .smt.terms import ULT, BitVec, ZeroExt
from .symbolic_sums import SymbolicSum

__all__ = ["counted_claims"]

_GREATEST = 1 << 40  # more than the bits of any K and C come to
_Claims = Iterator[tuple[str, tuple[str, ...], tuple[str, ...], Callable[[], str], str]]


def counted_claims(sums: SymbolicSum) -> _Claims:
    """Each claim about sums that add one thing only, as the theorem, what it is about, and its text."""
    shape = sums.shape
    reduced = [stage for stage in shape.model.stages if stage.reduce]
    if len(sums.reductions) != 1 or reduced[0].reduce != "sum" or True in shape.clamped:
        return
    (name,) = sums.reductions
    yield "fit", ("result",), (shape.result,), partial(_unfit, sums, name), "sums wrapped"
    for element in dict.fromkeys(shape.addends):
        stages = ("element", "addend", "term")
        yield "fit", stages, (element,), partial(_uncounted, sums, name, element), f"{element} as it is"


def _unfit(sums: SymbolicSum, name: str) -> str:
    """A sum is not kept modulo the width of its type."""
    held = sums.specification.index.types[sums.shape.result].bits
    total = BitVec("total", sums.shape.word)
    code = sums.result({name: total})["code"]
    return refuting(ULT(total, _GREATEST), code != total & (1 << held) - 1)


def _uncounted(sums: SymbolicSum, name: str, element: str) -> str:
    """A sum does not take an addend as its bits: of a signed type, modulo the width, that is its integer."""
    code = sums.element("code", element)
    found = sums.reduced([sums.addend(code, element)])[name]
    return refuting(found != ZeroExt(sums.shape.word - code.size(), code))

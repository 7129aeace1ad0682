"""What a file of spec/layouts/ says: integer maps, and which of them equal which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .errors import Place
from .model import Source
from .nodes import Formula, Scalars

__all__ = ["Bridge", "BridgeFile", "Layout", "LayoutFile"]


@dataclass(frozen=True)
class Layout:
    """An integer map: which thread's register element holds which matrix element, and the like.

    `let` names subexpressions; `params` are constants of one use (N, the sparsity selector), those
    in `cases` taken one value at a time. An `injection` need not reach all of its codomain.
    """

    title: str
    source: Source
    domain: Mapping[str, Formula]
    map: Mapping[str, Formula]
    codomain: Mapping[str, Formula]
    params: Mapping[str, Scalars] = field(default_factory=dict)
    let: Mapping[str, Formula] = field(default_factory=dict)
    where: Formula | None = None
    kind: Literal["bijection", "injection"] = "bijection"
    cases: tuple[str, ...] = ()
    id: str = ""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class LayoutFile:
    """A file of layouts, by id."""

    layouts: Mapping[str, Layout]


@dataclass(frozen=True)
class Bridge:
    """Two layouts said to be equal: `left` at `at` (over right's inputs and the parameters) equals
    `equals` (over right's outputs and the parameters), wherever `where` holds.

    Where it `holds` not, the solvers must find a difference. `permutes` names an output of left of which
    it is said that some permutation, with some order of each thread's elements, makes the two equal.
    """

    title: str
    source: Source
    left: str
    right: str
    at: Mapping[str, Formula]
    equals: Mapping[str, Formula]
    params: Mapping[str, Scalars] = field(default_factory=dict)
    where: Formula | None = None
    holds: bool = True
    permutes: str | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class BridgeFile:
    """The bridges, by id."""

    bridges: Mapping[str, Bridge]

"""The records of spec/layouts/: integer maps, and which of them are equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from .errors import Place
from .lazy_dataclass import dataclass
from .model import Part, Source
from .nodes import FILLED_IN, Formula, Scalars

__all__ = ["Arrangement", "Bridge", "BridgeFile", "Layout", "LayoutFile", "Occupant", "Through"]


@dataclass(frozen=True)
class Layout:
    """An integer map: which thread's register element holds which matrix element, and the like."""

    title: str
    """What the layout places, in a phrase.
    Noticed by: readers.
    Example: `Multiplicand A of mma.m16n8k16, 16-bit types`. Refuses: `null` (text must stand)."""
    source: Source
    """The section, and how the map was read there.
    Example: `{section: "9.7.14.5.8"}`. Refuses: `9.7.14` (a mapping)."""
    domain: Mapping[str, Formula]
    """The inputs (t the thread, i the element, bit, …) and how many values each has.
    Noticed by: proofs, peers, silicon, tests.
    Example: `{t: 32, i: "n // 2"}`.
    Refuses: `{t: 32, i: "nosuch // 2"}` (only parameters may stand in a size)."""
    map: Mapping[str, Formula]
    """Each output (row, col, chunk, …) over inputs, parameters and names of `let`.
    Noticed by: proofs, peers, silicon, tests.
    Example: `{row: "t // 4", col: "2*(t % 4) + i"}`.
    Refuses: `{row: "t // nosuch"}` (a name that nothing binds)."""
    codomain: Mapping[str, Formula]
    """The outputs, in the order of `map`, and how many values each has.
    Noticed by: proofs, peers, silicon, tests.
    Example: `{row: 16, col: n}`. Refuses: `{nosuch: 16}` (not the outputs of the map)."""
    params: Mapping[str, Scalars] = field(default_factory=dict)
    """Constants of one use (N, the sparsity selector), with every value that they take.
    Noticed by: proofs, peers, silicon, tests.
    Example: `{n: "range(8, 257, 8)"}`. Refuses: `{n: []}` (at least one value)."""
    let: Mapping[str, Formula] = field(default_factory=dict)
    """Names for subexpressions; each may use those above it.
    Noticed by: proofs, peers, silicon, tests.
    Example: `{warp: "t // 32"}`. Refuses: `{warp: "nosuch // 32"}` (a name that nothing binds)."""
    where: Formula | None = None
    """Which points of the domain take part; all of them if it does not stand.
    Noticed by: proofs, peers, silicon, tests.
    Example: `"t % 4 // 2 == s"`. Refuses: `"nosuch == 1"` (a name that nothing binds)."""
    kind: Literal["bijection", "injection"] = "bijection"
    """Whether every place of the codomain is reached (a bijection), or perhaps not all.
    Noticed by: proofs.
    Example: `injection`. Refuses: `surjection` (not in the list)."""
    inverse: Mapping[str, Formula] = field(default_factory=dict)
    """Each input over outputs and parameters, where no bitwise one exists. Without it the inverse is derived;
    proofs judge either.
    Noticed by: proofs, tests.
    Example: `{t: "row % 8 * 4 + col // 2", i: "row // 8 * 2 + col % 2"}`.
    Refuses: `{t: row}` (not the inputs of the map)."""
    part: Part | None = None
    """Which part of a product it lays out, where a mnemonic does not say which of several layouts applies.
    Noticed by: proofs, tests.
    Example: `D`. Refuses: `E` (not in the list)."""
    when: Formula | None = None
    """When it applies to that part: over the settings that descriptors have (cta_group, ws, sp, …), and what
    they say (m, width, scales, …).
    Noticed by: proofs, tests.
    Example: `"m == 64 and cta_group == 1 and ws == 0"`.
    Refuses: `"nosuch == 1"` (a name that nothing binds)."""
    arguments: Mapping[str, Formula] = field(default_factory=dict)
    """What a parameter is for one statement, where no field or setting bears its name: over the fields of the
    mnemonic, or over the fields and settings of the descriptor and what that says.
    Noticed by: proofs, tests.
    Example: `{num: repeat}`. Refuses: `{nosuch: repeat}` (the layout has no such parameter)."""
    cases: tuple[str, ...] = ()
    """Parameters that proofs take one value at a time.
    Noticed by: proofs.
    Example: `[W, bytes]`. Refuses: `[nosuch]` (the layout has no such parameter)."""
    id: str = field(default="", metadata=FILLED_IN)
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class LayoutFile:
    """A file of layouts."""

    layouts: Mapping[str, Layout]
    """The layouts by id; other people key on the ids, so they never change.
    Noticed by: proofs, peers, silicon, tests.
    Example: `{mine: {title: Mine, source: {section: "9.7.14"}, domain: {t: 32}, map: {row: t}, codomain:
    {row: 32}}}`.
    Refuses: `{mine: {title: Mine}}` (the key source is missing)."""
    let: Mapping[str, Formula] = field(default_factory=dict)
    """Names for subexpressions that several layouts of the file use; a layout takes those that it uses.
    Noticed by: proofs, peers, silicon, tests.
    Example: `{groupID: "t // 4"}`. Refuses: `{nosuch: "t // 4"}` (no layout uses the name)."""


@dataclass(frozen=True)
class Through:
    """A layout between the two of a bridge: it says what lies at the places that the right one names."""

    layout: str
    """The layout, by id.
    Noticed by: proofs, tests.
    Example: `mma.m16n8.c`. Refuses: `nosuch` (no file has such a layout)."""
    at: Mapping[str, Formula]
    """Its inputs, over the right layout's outputs and the parameters.
    Noticed by: proofs, tests.
    Example: `{t: "4*row + col // 2", i: "col % 2"}`.
    Refuses: `{nosuch: row}` (not the inputs of the layout)."""


@dataclass(frozen=True)
class Bridge:
    """Two layouts said to be equal, at every point of the right one."""

    title: str
    """What is said, in a phrase.
    Noticed by: readers. Example: `packed A of sparse wgmma k32 is dense A of k16 in packed columns`.
    Refuses: `null` (text must stand)."""
    source: Source
    """The section that says it.
    Example: `{section: "9.7.15.6.2.1", origin: measured}`. Refuses: `9.7.15` (a mapping)."""
    left: str
    """The layout that is taken at `at`.
    Noticed by: proofs, tests.
    Example: `wgmma.d`. Refuses: `nosuch` (no file has such a layout)."""
    right: str
    """The layout whose every point is looked at.
    Noticed by: proofs, tests.
    Example: `mma.m16n8.c`. Refuses: `nosuch` (no file has such a layout)."""
    at: Mapping[str, Formula]
    """The left layout's inputs, over the right one's inputs and the parameters.
    Noticed by: proofs, tests.
    Example: `{t: "32*w + t", i: "4*j + i"}`. Refuses: `{nosuch: t}` (not the inputs of the left layout)."""
    equals: Mapping[str, Formula]
    """The left layout's outputs, over the right one's outputs (or those of `through`) and the parameters.
    Noticed by: proofs, tests.
    Example: `{row: "16*w + row", col: "8*j + col"}`.
    Refuses: `{nosuch: row}` (not the outputs of the left layout)."""
    params: Mapping[str, Scalars] = field(default_factory=dict)
    """Constants, with every value that they take.
    Noticed by: proofs, tests.
    Example: `{w: [0, 1, 2, 3]}`. Refuses: `{w: []}` (at least one value)."""
    through: Through | None = None
    """A layout that the right one is read through: what an accumulator has at the places that a load reads.
    Noticed by: proofs, tests.
    Example: `{layout: mma.m16n8.c, at: {t: "4*row", i: col}}`. Refuses: `mma.m16n8.c` (a mapping)."""
    where: Formula | None = None
    """Where the two are compared; everywhere if it does not stand.
    Noticed by: proofs, tests.
    Example: `"8*j < n"`. Refuses: `"8*j <"` (not an expression)."""
    holds: bool = True
    """Whether they are equal; if false, the solvers must find a difference.
    Noticed by: proofs, tests.
    Example: `false`. Refuses: `maybe` (neither true nor false)."""
    permutes: str | None = None
    """An output of the left layout: some permutation of it, with some order of each thread's elements, makes
    the two equal.
    Noticed by: proofs, tests.
    Example: `col`. Refuses: `nosuch` (the left layout has no such output)."""
    place: Place = field(default=Place("", 0, 0), compare=False)

    @property
    def layouts(self) -> tuple[str, ...]:
        """Every layout that the bridge speaks of."""
        between = () if self.through is None else (self.through.layout,)
        return self.left, self.right, *between


@dataclass(frozen=True)
class Occupant:
    """A layout that takes part of a memory, from an address on."""

    layout: str
    """The layout, by id.
    Noticed by: proofs, tests.
    Example: `tcgen05.d.D`. Refuses: `nosuch` (no file has such a layout)."""
    address: Mapping[str, Formula]
    """What is added to each coordinate of a place, over the parameters; nothing where it does not stand.
    Noticed by: proofs, tests.
    Example: `{column: n}`. Refuses: `{nosuch: 4}` (the memory has no such coordinate)."""


@dataclass(frozen=True)
class Arrangement:
    """Layouts side by side in one memory: no two share a place, and all are inside of it."""

    title: str
    """What is arranged, in a phrase.
    Noticed by: readers.
    Example: `an accumulator and its scale factors`. Refuses: `null` (text must stand)."""
    source: Source
    """The section that the size of the memory is from.
    Example: `{section: "9.7.16.1"}`. Refuses: `9.7.16` (a mapping)."""
    memory: Mapping[str, Formula]
    """The coordinates of a place, and how many values each has, over the parameters.
    Noticed by: proofs, tests.
    Example: `{lane: 128, column: 512}`. Refuses: `{lane: nosuch}` (only parameters may stand in a size)."""
    occupants: Mapping[str, Occupant]
    """What lies there, by a name of its own.
    Noticed by: proofs, tests.
    Example: `{D: {layout: tcgen05.d.D, address: {column: 0}}}`.
    Refuses: `{D: {layout: nosuch, address: {}}}` (no file has such a layout)."""
    params: Mapping[str, Scalars] = field(default_factory=dict)
    """The parameters of the layouts, with every value that they take here.
    Noticed by: proofs, tests.
    Example: `{n: "range(8, 257, 8)"}`. Refuses: `{n: []}` (at least one value)."""
    fits: bool = True
    """Whether all are inside the memory; if false, the solvers must find a place that is not.
    Noticed by: proofs, tests.
    Example: `false`. Refuses: `maybe` (neither true nor false)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class BridgeFile:
    """spec/layouts/bridges.yaml."""

    bridges: Mapping[str, Bridge]
    """The bridges by id.
    Noticed by: proofs, tests.
    Example: `{mine: {title: Mine, source: {section: "9.7.14"}, left: a, right: b, at: {t: t}, equals: {row:
    row}}}`.
    Refuses: `{mine: {title: Mine}}` (the key source is missing)."""
    arrangements: Mapping[str, Arrangement] = field(default_factory=dict)
    """The arrangements by id.
    Noticed by: proofs, tests.
    Example: `{mine: {title: Mine, source: {section: "9.7.16.1"}, memory: {lane: 128}, occupants: {}}}`.
    Refuses: `{mine: {title: Mine}}` (the key source is missing)."""

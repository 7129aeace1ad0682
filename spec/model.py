"""The typed model of the specification: what the YAML may say, as frozen dataclasses.

Every class here is one kind of YAML entry; the JSON Schema for editors is derived from it.
`place` is filled in by the loader, never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from .errors import Place
from .nodes import Formula, Scalars, Version

__all__ = [
    "Around",
    "Assembler",
    "Build",
    "Clause",
    "ConditionalGate",
    "Descriptor",
    "ElementType",
    "Form",
    "Format",
    "Gate",
    "Guarantee",
    "Index",
    "Instruction",
    "Layout",
    "Operand",
    "Reading",
    "Release",
    "Row",
    "Source",
    "Sparsity",
    "Target",
    "Tolerance",
]

_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Source:
    """Where a claim comes from: a section of the PTX ISA, and how it was read."""

    section: str
    origin: Literal["text", "figure", "recovered", "measured", "assembler"] = "text"
    note: str | None = None


@dataclass(frozen=True)
class Gate:
    """Since which PTX ISA version, until which, on which targets.

    `targets` names targets of specs.yaml; each stands for itself and for every target that
    includes it. `any` stands for all. A target may carry a `since` of its own.
    """

    since: Version
    deprecated: Version | None
    removed: Version | None
    targets: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class ConditionalGate:
    """A gate on field values (or on a qualifier's absence): it applies where `when` holds."""

    id: str
    when: Formula
    gate: Gate
    why: str
    place: Place


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


Element = Literal["integer", "float", "sink"]
OperandShape = Literal["vector", "register", "negated", "immediate", "address"]
Part = Literal[
    "A",
    "B",
    "C",
    "D",
    "metadata",
    "selector",
    "scale-a",
    "scale-b",
    "byte-a",
    "byte-b",
    "thread-a",
    "thread-b",
    "scale-d",
    "negate-A",
    "negate-B",
    "transpose-A",
    "transpose-B",
    "address",
    "stride",
]


@dataclass(frozen=True)
class Operand:
    """One operand: which written forms may stand there, and what bounds them.

    A `vector` has `registers` elements; `holds` names the field whose element type decides the
    register types, `types` lists them where no field does. `values` lists the values of an immediate,
    and `valid` says which values (named ``value``) go with the fields. `negated` is a predicate behind
    ``!``. A vector of unlike `elements` names an operand for each. Literals may be elements of a vector
    that is a `source`, ``_`` of one that is a `destination`; neither of one that is read and written.
    `matrix` says what the operand's layout covers, where that is not the A, B, C or D of a product.
    `part` says what the operand is to the operation, whatever its name; a `descriptor` of this kind
    says where the part lies in shared memory.
    """

    what: str
    accepts: tuple[OperandShape, ...]
    registers: Formula | None = None
    holds: str | None = None
    types: tuple[str, ...] | None = None
    values: Scalars | None = None
    valid: Formula | None = None
    elements: tuple[str, ...] | None = None
    role: Literal["source", "destination", "both"] = "source"
    part: Part | None = None
    descriptor: str | None = None
    matrix: Mapping[str, Formula] | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Form:
    """An operand list; `a` says where multiplicand A comes from, when there is a choice."""

    operands: tuple[str, ...]
    a: Literal["descriptor", "register"] | None = None
    gate: Gate | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Row:
    """A small closed product of field values with one gate, one count and one set of layouts.

    A layout's id may name fields: `mma.m8n8k4.a.{alayout}`. `registers` says which register types an
    operand takes, where its element type does not decide; `elements` says what else a vector may hold,
    where that is not all that its role allows. A row that is `tolerated` is not in the text: assemblers
    accept it, and the reason says so. It is judged legal with a note, and listed nowhere.
    """

    id: str
    bind: Mapping[str, Scalars]
    count: int
    forms: tuple[str, ...]
    numerical: tuple[str, ...]
    where: Formula | None = None
    gate: Gate | None = None
    gates: tuple[ConditionalGate, ...] = ()
    layouts: Mapping[str, str] = field(default_factory=dict)
    registers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    elements: Mapping[str, tuple[Element, ...]] = field(default_factory=dict)
    sparsity: str | None = None
    source: Source | None = None
    tolerated: str | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Tolerance:
    """A qualifier that the text calls mandatory and every assembler lets be absent."""

    id: str
    absent: str
    why: str
    place: Place


@dataclass(frozen=True)
class Around:
    """The statements that a program puts around an instruction: behind each thread's writes of shared
    memory that it reads, before it, and behind it, so that its results can be read."""

    written: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """One instruction: syntax, operands, forms, rows of legal combinations, gates, contracts.

    `name` is the part of the syntax that must come first; the qualifiers behind it may be permuted.
    `shape` spells the shape qualifier from the row's m, n, k; `spelled` does so for other qualifiers
    that are not spelled as the row's value. `open` lists what the specification
    does not hold yet: `shape` when shapes are missing, or qualifiers whose forms are missing; a
    statement with one of them is unknown, not illegal. `registers` says
    which register types hold an element type, where specs.yaml does not. `readings` gives, for a
    reading that the text settles here, when each setting holds. `execution` names the clauses of the
    execution contract. `bind` holds the fields that a row need not bind itself. `memory` says, by the value
    of the field `layout`, how many elements after the address element (row, col) lies. `fragments` names
    the instructions that fill an opaque fragment from memory, and that empty D's.
    """

    instruction: str
    name: str
    title: str
    source: Source
    gate: Gate
    scope: Literal["warp", "warpgroup", "thread"]
    syntax: str
    shape: str | None
    open: tuple[str, ...]
    operands: Mapping[str, Operand]
    forms: Mapping[str, Form]
    rows: tuple[Row, ...]
    execution: tuple[str, ...]
    spelled: Mapping[str, str] = field(default_factory=dict)
    bind: Mapping[str, Scalars] = field(default_factory=dict)
    registers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    readings: Mapping[str, Mapping[str, Formula]] = field(default_factory=dict)
    gates: tuple[ConditionalGate, ...] = ()
    tolerances: tuple[Tolerance, ...] = ()
    around: Around = field(default=Around((), (), ()))
    memory: Mapping[str, Formula] = field(default_factory=dict)
    fragments: Mapping[str, str] = field(default_factory=dict)
    place: Place = field(default=Place("", 0, 0), compare=False)


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
class Consumer:
    """What would fail if a clause were wrong: exactly one of these is written.

    `theorem` names a theorem, `legality` a reason code, `case` the plan of inputs of the conformance
    cases that would fail, `varies` an operand each value of which has such cases, `litmus` the rule of
    ordering whose tests would fail, `check` the rule that `ptxmma check` would find broken.
    """

    theorem: str | None = None
    legality: str | None = None
    case: str | None = None
    varies: str | None = None
    litmus: str | None = None
    check: str | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Clause:
    """One sentence of a contract, with its consumers."""

    kind: Literal["numerical", "execution"]
    says: str
    section: str
    consumers: tuple[Consumer, ...]
    place: Place


@dataclass(frozen=True)
class Reading:
    """A named reading of a sentence that the text leaves open; `default` is one of `settings`."""

    question: str
    settings: Mapping[str, str]
    default: str
    why: str
    place: Place


@dataclass(frozen=True)
class Sparsity:
    """How a chunk of a sparse row is coded: of `chunk` columns, `slots` are stored.

    A chunk's code is indices of `index_bits` bits each, the first lowest; one index stands for `run`
    consecutive elements, all of them stored or none. `position` says, from `code` and `slot`, which
    column of the chunk a stored element belongs to. `valid` says, per setting of the reading
    `metadata-order`, which codes the text allows; `codes` lists those of the default, in the order in
    which compression tries them. `granule` is how many consecutive 2-bit positions one element takes.
    """

    title: str
    source: Source
    chunk: int
    slots: int
    index_bits: int
    granule: int
    run: int
    position: Formula
    valid: Mapping[str, Formula]
    codes: tuple[int, ...]
    place: Place

    @property
    def indices(self) -> int:
        """How many indices a code is made of."""
        return self.slots // self.run

    @property
    def code_bits(self) -> int:
        return self.indices * self.index_bits


@dataclass(frozen=True)
class DescriptorField:
    """A bit field of the matrix descriptor; `unit` is what one step of the coded value stands for."""

    what: str
    low: int
    high: int
    unit: int
    values: Mapping[str, int] = field(default_factory=dict)
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Descriptor:
    """A 64-bit descriptor: its fields; every bit outside them is zero."""

    title: str
    source: Source
    fields: Mapping[str, DescriptorField]
    place: Place


@dataclass(frozen=True)
class Format:
    """What an element type's bit patterns stand for: sign, `exponent` bits, `fraction` bits, highest first.

    `specials` says which patterns are no numbers; `ignored` low bits are no part of the value.
    """

    exponent: int
    fraction: int
    bias: int
    specials: Literal["ieee", "nan", "none"]
    source: Source
    signed: bool = True
    subnormals: bool = True
    ignored: int = 0
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Guarantee:
    """A clause's promise: products, or sums, have at least the precision of a format.

    `precision` names formats, or fields that hold an element type; the most precise counts.
    """

    of: Literal["products", "sums"]
    precision: tuple[str, ...]
    when: Formula | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class NumericsFile:
    """The formats by element type, and the guarantees by clause."""

    formats: Mapping[str, Format]
    guarantees: Mapping[str, Guarantee]


@dataclass(frozen=True)
class LayoutFile:
    """A file of layouts, by id."""

    layouts: Mapping[str, Layout]


@dataclass(frozen=True)
class ContractFile:
    """The clauses of all contracts, by id."""

    clauses: Mapping[str, Clause]


@dataclass(frozen=True)
class SparsityFile:
    """Codings of structured sparsity, by id, and the readings of the text they depend on."""

    readings: Mapping[str, Reading]
    sparsities: Mapping[str, Sparsity]


@dataclass(frozen=True)
class DescriptorFile:
    """The descriptors, by id."""

    descriptors: Mapping[str, Descriptor]


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


@dataclass(frozen=True)
class Swizzle:
    """The permutation of byte addresses of a swizzling mode: over `linear`, the descriptor's `base`
    offset and the mode's W. It moves bytes inside lines of `line` bytes only."""

    source: Source
    address: Formula
    line: int


@dataclass(frozen=True)
class AddressRule:
    """How a shared-memory layout's atoms lie: the descriptor field that is the stride of each index.

    `widths` gives W for every swizzling mode that the rule is for; `types` the element types.
    """

    title: str
    major: Literal["K", "MN"]
    layout: str
    widths: Mapping[str, int]
    strides: Mapping[str, str]
    types: tuple[str, ...]
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class AddressFile:
    """The swizzle, and the address rules by id."""

    swizzle: Swizzle
    addresses: Mapping[str, AddressRule]

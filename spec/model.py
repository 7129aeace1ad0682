"""What an instruction file says; sources and gates, which other files share.

Every class here is one kind of YAML entry, as every class of `index` and of the modules named `*_records` is;
docs/yaml.md and the JSON Schema are derived from them. The loader fills in `place`; no file writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .errors import Place
from .nodes import Formula, Scalars, Version

__all__ = [
    "Around",
    "ConditionalGate",
    "Form",
    "Gate",
    "Instruction",
    "Operand",
    "Row",
    "Source",
    "Tolerance",
]


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
    says where the part lies in shared memory. `contains` names the field with the element type of
    the matrix behind a descriptor or an address, or of scale factors.
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
    contains: str | None = None
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

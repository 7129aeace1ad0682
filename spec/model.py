"""The records of an instruction file; also sources and gates, which other files share.

Every class here is one kind of YAML entry, as every class of `index` and of the modules named `*_records` is;
docs/yaml.md and the JSON Schema are derived from them. The text below a field says what it means, gives an
example, and a value that the loader refuses (`field_docs` reads it). The loader fills in `place`; no file
writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from .errors import Place
from .lazy_dataclass import dataclass
from .nodes import FILLED_IN, Formula, Scalars, Version

__all__ = [
    "Around",
    "ConditionalGate",
    "Form",
    "Gate",
    "Instruction",
    "Operand",
    "OperandWord",
    "Row",
    "Source",
    "Tolerance",
]


@dataclass(frozen=True)
class Source:
    """Where a claim comes from: a section of the PTX ISA, and how it was read there."""

    section: str
    """The section numbers, in the edition that `manual` of specs.yaml names, separated by semicolons.
    Noticed by: readers.
    Example: `"9.7.15.5.1; 9.7.14.5.9"`. Refuses: `9.7` (without quotes it is a number)."""
    origin: Literal["text", "figure", "recovered", "measured", "assembler"] = "text"
    """How the claim was read: off the text or a figure, recovered from what is near it, measured on a chip,
    or found by asking assemblers.
    Noticed by: readers. Example: `figure`. Refuses: `guess` (not in the list)."""
    note: str | None = None
    """What a reader should know about the section.
    Noticed by: readers. Example: `Figure 175 is a picture`. Refuses: `[a, b]` (text, not a list)."""


@dataclass(frozen=True)
class Gate:
    """Since which PTX ISA version, until which, on which targets. All gates that apply must be open."""

    since: Version
    """The first PTX ISA version that has it.
    Noticed by: observations, universes, proofs, tests.
    Example: `"8.0"`. Refuses: `8.0` (a version is quoted: 9.10 comes after 9.9)."""
    deprecated: Version | None
    """The first version that calls it deprecated; null for none. It stays legal.
    Noticed by: tests, observations.
    Example: `null`. Refuses: `later` (neither a version nor null)."""
    removed: Version | None
    """The first version that no longer has it; null for none.
    Noticed by: observations, universes, proofs, tests.
    Example: `"6.3"`. Refuses: `6.3` (not quoted)."""
    targets: tuple[str, ...]
    """Targets of specs.yaml; each stands for itself and for every target that includes it. `any` stands for
    all.
    Noticed by: observations, universes, proofs.
    Example: `[sm_90a]`. Refuses: `[sm_91]` (specs.yaml has no such target)."""
    place: Place


@dataclass(frozen=True)
class ConditionalGate:
    """A gate on field values, or on the absence of a qualifier."""

    id: str
    """The gate's name, for messages and mutants; it never changes.
    Noticed by: tests.
    Example: `mixed-signedness`. Refuses: `[a]` (text, not a list)."""
    when: Formula
    """The gate applies to the variants where this holds. A word stands for itself; `::` is written `_`.
    Noticed by: observations, universes, proofs.
    Example: `"space == shared_cta"`. Refuses: `"space ="` (not an expression)."""
    gate: Gate
    """The gate.
    Noticed by: observations.
    Example: `{since: "7.8", deprecated: null, removed: null, targets: [any]}`.
    Refuses: `{since: "7.8"}` (every key of a gate is written, null included)."""
    why: str
    """The reason, in a sentence.
    Noticed by: readers.
    Example: `.aligned exists from PTX ISA 6.3 on`. Refuses: `null` (a reason must stand)."""
    place: Place


Element = Literal["integer", "float", "single", "double", "sink", "special"]
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
    "data",
    "split",
    "indices",
    "instruction",
    "lanes",
    "exponent-d",
    "zero-columns",
    "lookup",
]


@dataclass(frozen=True)
class OperandWord:
    """What the word in a register says, beside the qualifiers: the descriptor that its bits are."""

    descriptor: str
    """The descriptor of spec/descriptors.yaml; for a field in braces the last part of its value is put in
    (`f16` of `kind::f16`).
    Noticed by: tests.
    Example: `"tcgen05.{kind}"`. Refuses: `[a]` (text, not a list)."""
    settings: Mapping[str, Formula]
    """What the statement says for the settings, over the fields; a descriptor that lacks one ignores it. What
    does not stand here may be any.
    Noticed by: tests.
    Example: `{cta_group: "where(cta_group == cta_group_2, 2, 1)", sp: 0}`.
    Refuses: `cta_group` (a mapping)."""
    where: Formula | None = None
    """Of which variants the descriptor is known; of all if it does not stand.
    Noticed by: tests.
    Example: `"decompress == none"`. Refuses: `"decompress ="` (not an expression)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Operand:
    """One operand: which written forms may stand there, and what bounds them."""

    what: str
    """What the operand is, in a phrase.
    Noticed by: readers. Example: `sparsity metadata`. Refuses: `null` (text must stand)."""
    accepts: tuple[OperandShape, ...]
    """The written forms: a vector in braces, one register, a predicate behind `!` (negated), an integer
    constant (immediate), an address in brackets.
    Noticed by: observations, universes, tests.
    Example: `[register, immediate]`. Refuses: `[number]` (not in the list)."""
    registers: Formula | None = None
    """How many registers a vector has, over the fields; X_bits is the width of the element type in field X.
    Noticed by: observations, universes, proofs.
    Example: `"m * n * dtype_bits // (32 * 32)"`. Refuses: `"m * nosuch"` (no field has that name)."""
    holds: str | None = None
    """The field whose element type decides which register types may stand here.
    Noticed by: observations, universes, proofs, tests.
    Example: `dtype`. Refuses: `nosuch` (no row binds a field of that name)."""
    types: tuple[str, ...] | None = None
    """The register types that may stand here, where no field decides.
    Noticed by: observations, universes, tests.
    Example: `[b64, u64, s64]`. Refuses: `b64` (a list, also of one)."""
    values: Scalars | None = None
    """The values that an immediate may have.
    Noticed by: observations, universes, proofs.
    Example: `[-1, 1]`. Refuses: `[]` (at least one value)."""
    valid: Formula | None = None
    """Which values (named `value`) go with the fields.
    Noticed by: observations, universes, proofs.
    Example: `"value == 0 or k != 64"`. Refuses: `"value =="` (not an expression)."""
    elements: tuple[str, ...] | None = None
    """The operands that stand in this vector, one an element, where they are unlike each other.
    Noticed by: observations, universes, tests.
    Example: `[byte-id-a, thread-id-a]`. Refuses: `[nosuch]` (the instruction has no such operand)."""
    role: Literal["source", "destination", "both"] = "source"
    """Whether the instruction reads the operand, writes it, or both. A vector that is only read may hold
    literals, one that is only written may hold `_`.
    Noticed by: universes, tests.
    Example: `destination`. Refuses: `output` (not in the list)."""
    sum: bool = True
    """Whether a register plus a constant may stand for a register that is only read.
    Noticed by: tests.
    Example: `false`. Refuses: `[a]` (true or false)."""
    part: Part | None = None
    """What the operand is to the operation, whatever its name. Code asks for the part, never for the name.
    Noticed by: proofs, silicon, tests.
    Example: `metadata`. Refuses: `E` (not in the list)."""
    descriptor: str | None = None
    """The kind of descriptor (of spec/descriptors.yaml) that says where the part lies in shared memory.
    Noticed by: silicon, tests.
    Example: `wgmma`. Refuses: `nosuch` (spec/descriptors.yaml has no such descriptor)."""
    space: Literal["tensor"] | None = None
    """The memory that an address means, where that is not a state space of loads and stores. An address in
    tensor memory has a lane and a column; a whole matrix may lie there.
    Noticed by: tests.
    Example: `tensor`. Refuses: `shared` (the qualifiers of the instruction say so)."""
    word: OperandWord | None = None
    """What the operand's bits say, where they are a descriptor of more than a matrix.
    Noticed by: tests.
    Example: `{descriptor: tcgen05.f16, settings: {}}`. Refuses: `tcgen05.f16` (a mapping)."""
    contains: str | None = None
    """The field with the element type of the matrix behind a descriptor or an address, or of scale factors.
    Noticed by: proofs, silicon, tests.
    Example: `atype`. Refuses: `nosuch` (no row binds a field of that name)."""
    matrix: Mapping[str, Formula] | None = None
    """What the operand's layout covers, by output, where that is not the A, B, C or D of a product.
    Noticed by: proofs, silicon, tests.
    Example: `{row: "matrices * m", col: n}`. Refuses: `{row: "matrices *"}` (not an expression)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Form:
    """An operand list."""

    operands: tuple[str, ...]
    """The names of the operands, in the order in which they are written.
    Noticed by: observations, universes, tests.
    Example: `[d, a, b, c]`. Refuses: `[nosuch]` (the instruction has no such operand)."""
    gate: Gate | None = None
    """A gate on this form alone.
    Noticed by: observations.
    Example: `{since: "8.0", deprecated: null, removed: null, targets: [any]}`.
    Refuses: `{since: "8.0"}` (every key of a gate is written)."""
    # Where multiplicand A comes from, when there is a choice.
    a: Literal["descriptor", "register", "tensor memory"] | None = field(default=None, metadata=FILLED_IN)
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Row:
    """A small closed product of field values, with one gate, one count and one set of layouts."""

    id: str
    """The row's name within the instruction; other people key on it, so it never changes.
    Noticed by: register.
    Example: `m8n8.b16`. Refuses: `[m8n8]` (text, not a list)."""
    bind: Mapping[str, Scalars]
    """The values of the fields, tied together in this row. A field that only a formula needs may stand here.
    Noticed by: observations, universes, proofs, silicon, tests.
    Example: `{m: 64, n: "range(8, 257, 8)", dtype: [f16, f32]}`. Refuses: `{m: []}` (at least one value)."""
    count: int
    """How many legal combinations the row has; the loader counts them.
    Noticed by: loader.
    Example: `64`. Refuses: `0` (the row has more)."""
    forms: tuple[str, ...]
    """The operand lists that each combination may take, by name.
    Noticed by: observations, universes.
    Example: `[plain, strided]`. Refuses: `[nosuch]` (the instruction has no such form)."""
    numerical: tuple[str, ...]
    """The clauses of the numerical contract that hold for the row; an empty list where there are none.
    Noticed by: proofs, tests.
    Example: `[num.integer.exact]`. Refuses: `[num.nosuch]` (spec/contracts.yaml has no such clause)."""
    where: Formula | None = None
    """Which combinations of the values are legal; all of them if it does not stand.
    Noticed by: observations, universes, proofs, tests.
    Example: `"dtype == ctype"`. Refuses: `"dtype ="` (not an expression)."""
    gate: Gate | None = None
    """The row's own gate, on top of the instruction's.
    Noticed by: observations.
    Example: `{since: "8.6", deprecated: null, removed: null, targets: [sm_100f]}`.
    Refuses: `{since: "8.6"}` (every key of a gate is written)."""
    gates: tuple[ConditionalGate, ...] = ()
    """Gates on field values, for this row alone.
    Noticed by: observations, universes, tests.
    Example: `[{id: g, when: "k == 8", why: said so, gate: {since: "8.6", deprecated: null, removed: null,
    targets: [any]}}]`.
    Refuses: `[{id: g}]` (every key of a conditional gate is written)."""
    layouts: Mapping[str, str] = field(default_factory=dict)
    """The layout of each part that has one, by id; a field in braces is put in. `opaque` means that the text
    leaves the layout open.
    Noticed by: proofs, silicon, tests.
    Example: `{A: "mma.m8n8k4.a.{alayout}", D: opaque}`.
    Refuses: `{A: nosuch}` (no file has such a layout)."""
    registers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which register types an operand takes in this row, where its element type does not decide.
    Noticed by: observations, universes, tests.
    Example: `{a: [b32, s32, u32]}`. Refuses: `{a: b32}` (a list, also of one)."""
    elements: Mapping[str, tuple[Element, ...]] = field(default_factory=dict)
    """What a vector may hold beside registers, where that is not all that its role allows. A floating-point
    literal is single (0f…) or double (all others); where doubles alone may fill a vector, double stands here.
    Noticed by: observations, universes, tests.
    Example: `{r: [integer]}`. Refuses: `{r: [string]}` (not in the list)."""
    sparsity: str | None = None
    """The coding of a sparse A, by its id in spec/sparsity.yaml.
    Noticed by: proofs, silicon, tests.
    Example: `"2:4"`. Refuses: `"3:4"` (spec/sparsity.yaml has no such coding)."""
    source: Source | None = None
    """The row's own section, where it is not the instruction's.
    Noticed by: readers. Example: `{section: "9.7.14.5.1"}`. Refuses: `9.7.14` (a mapping)."""
    tolerated: str | None = None
    """Why the row stands although the text does not have it: assemblers accept it. Such a row is judged legal
    with a note, and listed nowhere.
    Noticed by: readers.
    Example: `the text has .s32 here; ptxas takes .f32 too`. Refuses: `[a]` (text, not a list)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Tolerance:
    """A qualifier that the text calls mandatory and every assembler lets be absent."""

    id: str
    """The tolerance's name, for messages; it never changes.
    Noticed by: tests.
    Example: `wgmma-aligned`. Refuses: `[a]` (text, not a list)."""
    absent: str
    """The qualifier that may be absent.
    Noticed by: universes, tests.
    Example: `aligned`. Refuses: `null` (a word must stand)."""
    why: str
    """What the text says, and what assemblers do.
    Noticed by: readers. Example: `the text calls it mandatory; every assembler accepts its absence`.
    Refuses: `null` (a reason must stand)."""
    place: Place


@dataclass(frozen=True)
class Around:
    """The statements that a program puts around an instruction."""

    written: tuple[str, ...]
    """What stands behind each thread's writes of the shared memory that the instruction reads.
    Noticed by: tests.
    Example: `["fence.proxy.async.shared::cta"]`. Refuses: `[nosuch.fence]` (no instruction spells it)."""
    before: tuple[str, ...]
    """What stands before the instruction.
    Noticed by: tests.
    Example: `[wgmma.fence.sync.aligned]`. Refuses: `[wgmma.nosuch]` (no instruction spells it)."""
    after: tuple[str, ...]
    """What stands behind the instruction, so that its results can be read.
    Noticed by: tests.
    Example: `[wgmma.wait_group.sync.aligned 0]`. Refuses: `[wgmma.nosuch]` (no instruction spells it)."""


@dataclass(frozen=True)
class Instruction:
    """One instruction: syntax, operands, forms, rows of legal combinations, gates, contracts."""

    instruction: str
    """The id; other people key on it, so it never changes.
    Noticed by: observations, register, tests.
    Example: `wgmma.mma_async.sp`. Refuses: `[mma]` (text, not a list)."""
    name: str
    """The part of the syntax that must come first; the qualifiers behind it may be permuted.
    Noticed by: observations, tests.
    Example: `wgmma.mma_async`. Refuses: `nosuch` (the syntax does not begin with it)."""
    title: str
    """What the instruction does, in a phrase.
    Noticed by: readers.
    Example: `Transpose a matrix in registers across the warp`. Refuses: `null` (text must stand)."""
    source: Source
    """The section of the instruction.
    Example: `{section: "9.7.14.5.17"}`. Refuses: `9.7.14` (a mapping)."""
    gate: Gate
    """Since when, until when and on which targets the instruction exists.
    Noticed by: observations.
    Example: `{since: "7.8", deprecated: null, removed: null, targets: [sm_75]}`.
    Refuses: `{since: "7.8", deprecated: null, removed: null, targets: [sm_76]}` (an unknown target)."""
    scope: Literal["warp", "warpgroup", "thread"]
    """Who executes it together.
    Noticed by: tests.
    Example: `warp`. Refuses: `block` (not in the list)."""
    syntax: str
    """The mnemonic, with fields in braces. A dot inside the braces goes when the field's value is `none`.
    Noticed by: observations, proofs, universes.
    Example: `"movmatrix.sync.aligned.{shape}.trans.{type}"`.
    Refuses: `"movmatrix.{nosuch}"` (no row binds a field of that name)."""
    shape: str | None
    """How the qualifier `shape` spells the row's m, n and k; null if the instruction has none.
    Noticed by: observations, proofs, universes.
    Example: `"m{m}n{n}k{k}"`. Refuses: `"m{nosuch}"` (no row binds a field of that name)."""
    operands: Mapping[str, Operand]
    """The operands by the name that the text gives them.
    Noticed by: observations, universes, proofs, tests.
    Example: `{d: {what: the result, accepts: [register]}}`.
    Refuses: `{d: {what: the result}}` (the key accepts is missing)."""
    forms: Mapping[str, Form]
    """The operand lists by name.
    Noticed by: observations, universes, tests.
    Example: `{plain: {operands: [d, a]}}`. Refuses: `{plain: [d, a]}` (a mapping)."""
    rows: tuple[Row, ...]
    """The legal combinations.
    Noticed by: observations, universes.
    Example: `[{id: only, bind: {m: 8}, count: 1, forms: [plain], numerical: []}]`.
    Refuses: `[]` (at least one row)."""
    execution: tuple[str, ...]
    """The clauses of the execution contract, by id.
    Noticed by: tests.
    Example: `[exec.sync.warp]`. Refuses: `[exec.nosuch]` (spec/contracts.yaml has no such clause)."""
    spelled: Mapping[str, str] = field(default_factory=dict)
    """How a qualifier is spelled that is not spelled as the field's value.
    Noticed by: observations, universes.
    Example: `{num: "x{matrices}"}`. Refuses: `{num: "x{nosuch}"}` (no row binds a field of that name)."""
    bind: Mapping[str, Scalars] = field(default_factory=dict)
    """The fields that a row need not bind itself.
    Noticed by: observations, universes, proofs, tests.
    Example: `{space: [none, shared], word: 32}`. Refuses: `{space: []}` (at least one value)."""
    registers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which register types hold an element type, where specs.yaml says otherwise.
    Noticed by: observations, universes, tests.
    Example: `{bf16: [b32, f16x2]}`. Refuses: `{nosuch: [b32]}` (specs.yaml has no such element type)."""
    readings: Mapping[str, Mapping[str, Formula]] = field(default_factory=dict)
    """For a question that the text leaves open and settles here: when each reading holds.
    Noticed by: proofs, silicon, tests.
    Example: `{metadata-order: {ascending: "ordered_metadata != none"}}`.
    Refuses: `{nosuch: {}}` (spec/sparsity.yaml has no such switch)."""
    gates: tuple[ConditionalGate, ...] = ()
    """Gates on field values.
    Noticed by: observations, universes, tests.
    Example: `[{id: g, when: "k == 8", why: said so, gate: {since: "8.6", deprecated: null, removed: null,
    targets: [any]}}]`.
    Refuses: `[{id: g}]` (every key of a conditional gate is written)."""
    tolerances: tuple[Tolerance, ...] = ()
    """Mandatory qualifiers that assemblers let be absent.
    Noticed by: universes, tests.
    Example: `[{id: t, absent: aligned, why: every assembler accepts it}]`.
    Refuses: `[aligned]` (a list of mappings)."""
    around: Around = field(default=Around((), (), ()))
    """The statements that a program puts around the instruction.
    Noticed by: tests.
    Example: `{written: [], before: [], after: []}`. Refuses: `{before: []}` (every key is written)."""
    memory: Mapping[str, Formula] = field(default_factory=dict)
    """By the value of the field `layout`: how many elements behind the address element (row, col) lies.
    Noticed by: silicon.
    Example: `{row: "row * stride + col"}`. Refuses: `{row: "row * nosuch"}` (only row, col and stride)."""
    each: tuple[Mapping[str, Scalars], ...] = field(default=(), compare=False)
    """For a file that several instructions share: one entry an instruction, and <name> anywhere in the file
    stands for the entry's value. The loader writes the instructions out and leaves this empty.
    Noticed by: observations, universes, proofs, silicon, register, tests.
    Example: `[{matrix: a, rows: m}, {matrix: b, rows: k}]`.
    Refuses: `[{matrix: a, nosuch: m}]` (nothing in the file uses the name)."""
    opcode: str | None = None
    """What assemblers read as one word, which no blank may part, where that is not the name. The rest of the
    name may stand among the qualifiers.
    Noticed by: tests.
    Example: `fence.proxy`. Refuses: `[fence, proxy]` (one text)."""
    apart: bool = False
    """Whether its qualifiers belong to a family of instructions of their own: universes put them in place of
    those of such instructions only.
    Noticed by: universes, tests.
    Example: `true`. Refuses: `often` (neither true nor false)."""
    uniform: tuple[str, ...] = ()
    """The fields that have one value in a whole kernel: in all statements of the instructions that name them
    here.
    Noticed by: observations, tests.
    Example: `[cta_group]`. Refuses: `[nosuch]` (no row binds a field of that name)."""
    layout_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By field and value, what stands for the value in the ids of layouts, where it is not the value itself.
    An operand whose id is empty then has no layout.
    Noticed by: proofs, tests.
    Example: `{pack: {none: "", "pack::16b": .packed}}`.
    Refuses: `{nosuch: {none: ""}}` (no row binds a field of that name)."""
    fragments: Mapping[str, str] = field(default_factory=dict)
    """For an opaque fragment: the instruction that fills it from memory, or that empties D's.
    Noticed by: tests.
    Example: `{A: wmma.load.a}`. Refuses: `{A: nosuch}` (no file has such an instruction)."""
    place: Place = field(default=Place("", 0, 0), compare=False)

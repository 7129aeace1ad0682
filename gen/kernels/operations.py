"""What a value kernel computes: its matrices with their shapes and types, its configuration words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from ...spec.expressions import Expression
from ...spec.fragments import element_bits
from ...spec.maps import LayoutMap
from ...spec.memory_records import DescriptorField
from ...spec.parts import computes, element_type, layout_key, operand_name, operands_of
from ...spec.specification import Specification
from ...spec.variants import ABSENT, Variant
from .kernel_list import Kernel

__all__ = [
    "ADDRESS",
    "BASE",
    "GUARD",
    "META",
    "MODE",
    "PADS",
    "PARAMETERS",
    "START",
    "JobMatrix",
    "Placed",
    "config_of",
    "field_word",
    "matrices",
    "parameter",
    "parameters_of",
    "quantum",
    "regions",
]

ADDRESS = "address"  # the type of an offset in shared memory
WORD = "word"  # the type of a word that is not an element
PADS = 2  # quanta that a stride may be longer than a row, at most
_ALIGNED = 256  # bytes
GUARD = 32  # elements behind the D of each job, which no kernel writes
START = "start-address"
BASE = "base-offset"
MODE = "swizzle-mode"
_WORDS: Mapping[str, str] = {"start": START, "base": BASE, "mode": MODE}
META = "meta"  # the parameter of data other than plain matrices
PARAMETERS = (*(part.lower() for part in "ABCD"), META)  # of a value kernel, before its configuration
_NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class JobMatrix:
    """A matrix of a job: its parameter's name, its shape (times `products`), its elements' type and width.

    `extra` elements follow it, which are 0 where an instruction writes what it should and nothing else.
    `offsets` says where the parts of other data (metadata, garbage, scale factors) begin.
    """

    name: str
    rows: int
    cols: int
    type: str
    bits: int
    products: int = 1
    written: bool = False
    extra: int = 0
    offsets: Mapping[str, int] = field(default_factory=lambda: _NOTHING)

    @property
    def count(self) -> int:
        return self.rows * self.cols * self.products + self.extra

    @property
    def size(self) -> int:
        """The bytes of an element in the row-major matrix."""
        return 8 if self.bits > 32 else 4


def config_of(specification: Specification) -> tuple[str, ...]:
    """The names of the configuration words of a value kernel, in their order.

    Start addresses count from the first byte of shared memory (of `meta`, in global memory); W is the width
    of the swizzle's rows; strides are those of matrices that wmma.load and wmma.store address, in elements.
    """
    operands = [one for i in specification.instructions.values() for one in i.operands.values()]
    written = {operand.descriptor for operand in operands if operand.contains}
    descriptors = [record for name, record in specification.descriptors.items() if name in written]
    words = [field_word(name, field) for record in descriptors for name, field in record.fields.items()]
    described = [f"{stem}.{word}" for stem in "ab" for word in dict.fromkeys((START, *words, "W"))]
    strided = (f"c.{START}", f"d.{START}", *(f"{stem}.stride" for stem in "abcd"))
    return ("scale-d", "shared-bytes", "filler", *described, *strided)


def field_word(name: str, field: DescriptorField) -> str:
    """The configuration word of a descriptor's field: its part's, however the field is named, or its own."""
    return _WORDS[field.part] if field.part else name


def parameters_of(kernel: Kernel, specification: Specification, letter: str) -> dict[str, int]:
    """The parameters of an operand's layout: fields of the variant, or values of its immediates."""
    selected = {
        "s": kernel.value("selector"),
        "thread_id": kernel.value(f"thread-{letter[-1].lower()}"),
        "byte_id": kernel.value(f"byte-{letter[-1].lower()}"),
    }
    layout = specification.layout_of(kernel.variant, letter)
    found: dict[str, int] = {}
    for name in layout.parameters:
        value = selected.get(name)
        found[name] = int(kernel.variant.fields[name]) if value is None else value
    return found


@dataclass(frozen=True)
class Placed:
    """An operand's layout with every parameter bound: its trees, its condition, the sizes of both sides."""

    trees: Mapping[str, Expression]
    condition: Expression | None
    shape: Mapping[str, int]
    domain: Mapping[str, int]

    @classmethod
    def of(cls, kernel: Kernel, specification: Specification, letter: str) -> Placed:
        use = use_of(kernel, specification, letter)
        return cls(
            use.at.trees,
            use.at.condition,
            use.layout.shape(use.parameters),
            use.layout.domain(use.parameters),
        )


class LayoutUse:
    """The key of a bound layout: the layout and its parameters."""

    def __init__(self, specification: Specification, identifier: str, parameters: Mapping[str, int]) -> None:
        self.layout = specification.layouts[identifier]
        self.parameters = dict(parameters)
        self._key = identifier, *parameters.items(), id(self.layout)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LayoutUse) and self._key == other._key

    @property
    def at(self) -> LayoutMap:
        """The layout; the same object every time."""
        return _at(self)


@lru_cache(maxsize=4096)
def _at(use: LayoutUse) -> LayoutMap:
    return use.layout.case(use.parameters)


def use_of(kernel: Kernel, specification: Specification, part: str) -> LayoutUse:
    """The layout of a part with every parameter put in."""
    parameters = parameters_of(kernel, specification, part)
    key = layout_key(kernel.variant, part) or part
    return LayoutUse(specification, kernel.variant.layouts[key], parameters)


def matrices(kernel: Kernel, specification: Specification) -> dict[str, JobMatrix]:
    """The matrices of a job by part. Where D is also the accumulator input, `C` is D's first value."""
    if computes(kernel.instruction):
        return _product(kernel, specification)
    return _move(kernel)


def _product(kernel: Kernel, specification: Specification) -> dict[str, JobMatrix]:
    variant = kernel.variant
    m, n, k = (int(variant.fields[name]) for name in "mnk")
    products = int(variant.fields.get("products", 1))
    sparsity = specification.sparsity_of(variant) if variant.row.row.sparsity else None
    packed = k * sparsity.slots // sparsity.chunk if sparsity else k
    found = {
        "A": _matrix(variant, "A", m, packed, products),
        "B": _matrix(variant, "B", k, n, products),
        "C": _matrix(variant, "C", m, n, products),
        "D": _matrix(variant, "D", m, n, products),
    }
    if kernel.accesses:
        words = sum(size for _, size in regions(found).values()) // 4
        found["metadata"] = JobMatrix(META, 1, words, WORD, 32)
        return found
    offsets: dict[str, int] = {}
    words = 0
    if sparsity:
        offsets["codes"] = 0
        words = m * k // sparsity.chunk
    offsets["garbage"] = words
    words += kernel.threads
    for part in ("scale-a", "scale-b"):
        if part in variant.layouts:
            offsets[part] = words
            words += specification.layout_of(variant, part).count(parameters_of(kernel, specification, part))
    if len(offsets) > 1:
        found["metadata"] = JobMatrix(META, 1, words, WORD, 32, offsets=offsets)
    return found


def _move(kernel: Kernel) -> dict[str, JobMatrix]:
    """The matrices of a move: A, in memory or in registers, becomes D; B holds the address of each row."""
    variant = kernel.variant
    moved = next(o for _, o in kernel.operands() if o.part in ("A", "D") and o.matrix)
    shape = {name: variant.evaluate(formula) for name, formula in (moved.matrix or {}).items()}
    given = str(variant.fields[moved.holds or ""])
    types = variant.row.family.isa.index.types
    address = operand_name(kernel.instruction, kernel.form, "address")
    contains = kernel.instruction.operands[address].contains if address else None
    source = str(variant.fields[contains]) if contains else given
    source = given if source == ABSENT else source
    rows, cols = shape["row"], shape["col"]
    extra = kernel.threads if kernel.stores else 0
    found = {
        "A": JobMatrix(parameter("A"), rows, cols, source, types[source].bits),
        "D": JobMatrix(parameter("D"), rows, cols, given, types[given].bits, written=True, extra=extra),
    }
    if address:
        found["B"] = JobMatrix(parameter("B"), 1, rows, ADDRESS, 32)
    return found


def regions(held: Mapping[str, JobMatrix]) -> dict[str, tuple[int, int]]:
    """The memory of each matrix that an instruction addresses, by part: first byte and size in bytes."""
    found: dict[str, tuple[int, int]] = {}
    first = 0
    for part in "ABCD":
        matrix = held[part]
        longest = max(matrix.rows, matrix.cols) + PADS * quantum(matrix)
        size = longest * max(matrix.rows, matrix.cols) * matrix.bits // 8
        found[part] = first, -(-size // _ALIGNED) * _ALIGNED
        first += found[part][1]
    return found


def quantum(matrix: JobMatrix) -> int:
    """The elements in 16 bytes: strides grow by multiples of it."""
    return 128 // matrix.bits


def parameter(part: str) -> str:
    """The name of the parameter that points to the matrices of a part."""
    return part.lower()


def _matrix(variant: Variant, part: str, rows: int, cols: int, products: int) -> JobMatrix:
    """The matrix of a part; without an operand C, C is the first value of D."""
    of = "D" if part == "C" and not list(operands_of(variant.instruction, part)) else part
    bits, written = element_bits(variant, of), part == "D"
    return JobMatrix(parameter(part), rows, cols, element_type(variant, of), bits, products, written)

"""The bytes of shared memory that a product reads, or a copy into tensor memory: by its descriptors, and by
spec/addresses.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from itertools import chain, repeat

from ...spec.addresses import ADDRESSES, DescribedMatrix, matrix_atoms, mode_of
from ...spec.api import load
from ...spec.described_products import DescribedProduct, described_product
from ...spec.descriptor import address_field, fields_of, split_address
from ...spec.errors import Question
from ...spec.expressions import compiled
from ...spec.lazy_dataclass import dataclass
from ...spec.memory_records import Descriptor
from ...spec.parts import element_type
from ..ptx.decode import DecodedStatement
from ..ptx.operands import NamedOperand
from ..ptx.operation import Operation
from ..values.interval import Interval
from .byte_regions import FAR, ByteRegion

__all__ = [
    "GRANULE",
    "described",
    "descriptor_texts",
    "granules",
    "matrices",
    "matrices_at",
    "may_take",
    "product_heads",
    "rows_at",
    "source_heads",
]

GRANULE = 16  # bytes: no swizzle moves fewer, and every row of an atom is a multiple
_HEADS = 8  # rows: the smallest part of a matrix that one stride is about
_PATTERN = 1024  # bytes: every swizzle repeats after them

ValueOf = Callable[[str, int, Descriptor], Interval]  # what an operand may hold, in a scope


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A matrix behind a descriptor: `rows` (of B: columns) by `depth` elements of `size` bytes."""

    text: str
    kind: str  # of the descriptor
    rows: int
    depth: int
    size: int
    major: str
    part: str = ""  # of the product


def described(statement: DecodedStatement) -> Iterator[tuple[NamedOperand, Descriptor]]:
    """The operands of a statement that are matrix descriptors."""
    for operand in statement.described:
        yield operand, load().descriptors[str(operand.operand.descriptor)]


@lru_cache(maxsize=1 << 12)
def descriptor_texts(statement: DecodedStatement) -> tuple[str, ...]:
    """The operands that describe the matrices of a product."""
    return tuple(matrix.text for matrix in _matrices(statement))


@lru_cache(maxsize=1 << 14)
def matrices_at(statement: DecodedStatement, words: tuple[int | None, ...]) -> tuple[ByteRegion, ...]:
    """The bytes that the matrices of a product take at most, by the words of its descriptors, None where one
    is unknown: of those, nothing.
    """
    return tuple(region for region, _, _ in rows_at(statement, words))


@lru_cache(maxsize=1 << 14)
def rows_at(
    statement: DecodedStatement, words: tuple[int | None, ...]
) -> tuple[tuple[ByteRegion, int, str], ...]:
    """The same, each with the bytes of an atom's row, by which its swizzle is named, and its part."""
    return tuple(_with_rows(statement, words))


def _with_rows(
    statement: DecodedStatement, words: tuple[int | None, ...]
) -> Iterator[tuple[ByteRegion, int, str]]:
    numbers = dict(zip(descriptor_texts(statement), words, strict=True))

    def value_of(text: str, scope: int, descriptor: Descriptor) -> Interval:
        word = numbers[text]
        if word is None:
            return Interval(0, 0)
        start, fields = split_address(descriptor, word)
        shift = address_field(descriptor).unit.bit_length() - 1
        return Interval(start, start, "shared", shift, fields)

    for matrix, region in zip(_matrices(statement), matrices(statement, value_of), strict=True):
        word = numbers[matrix.text]
        if region.base is not None and word is not None:
            atoms = _atoms(matrix, split_address(load().descriptors[matrix.kind], word)[1])
            yield region, 1 if atoms is None else atoms[0], matrix.part


def matrices(statement: DecodedStatement, value_of: ValueOf) -> Iterator[ByteRegion]:
    """The bytes that the matrices of a product may take at most, if the descriptors' fields are known."""
    for matrix in _matrices(statement):
        descriptor = load().descriptors[matrix.kind]
        value = value_of(matrix.text, statement.scope, descriptor)
        if value.base is None or 1 << value.shift != address_field(descriptor).unit:
            yield ByteRegion(None, 0, matrix.rows * matrix.depth * matrix.size)
            continue
        if value.fields is None:
            yield ByteRegion(value.base, value.low, FAR + 1)
            continue
        atoms = _atoms(matrix, value.fields)
        if atoms is None:  # an illegal product, which legality reports
            yield ByteRegion(value.base, value.low, FAR + 1)
            continue
        # The swizzle moves bytes inside lines only, wherever the matrix begins in a line.
        row, extent = atoms
        yield ByteRegion(value.base, value.low // row * row, value.high // row * row + extent)


def granules(statement: DecodedStatement, word_of: Callable[[str], int | None]) -> Iterator[frozenset[int]]:
    """The granules (addresses // 16) that the matrices of a product take exactly, by the words of its
    descriptors; nothing for a matrix whose word is unknown or describes none.
    """
    for matrix in _matrices(statement):
        word = word_of(matrix.text)
        taken = None if word is None else _granules_at(matrix, word)
        if taken is not None:
            yield taken


def may_take(statement: DecodedStatement, words: tuple[int | None, ...], touched: Collection[int]) -> bool:
    """Whether the matrices of a product may take some granules: the rows of others may lie between their own.
    `words`: of the product's descriptors, None where one is unknown.
    """
    for matrix, word in zip(_matrices(statement), words, strict=True):
        taken = None if word is None else _granules_at(matrix, word)
        if (taken is None and word is not None) or (taken and not taken.isdisjoint(touched)):
            return True
    return False


@lru_cache(maxsize=1 << 10)
def _granules_at(matrix: _Matrix, word: int) -> frozenset[int] | None:
    """The granules of a matrix by its descriptor's word; None if the word describes none."""
    descriptor = load().descriptors[matrix.kind]
    fields = fields_of(descriptor, word)
    start = fields[str(descriptor.field_of("start"))]
    first = start - start % _PATTERN
    near = _near(matrix, tuple({**fields, str(descriptor.field_of("start")): start % _PATTERN}.items()))
    if near is None:
        return None
    return frozenset((granule + first // GRANULE) % (ADDRESSES // GRANULE) for granule in near)


@lru_cache(maxsize=1 << 10)
def _near(matrix: _Matrix, fields: tuple[tuple[str, int], ...]) -> frozenset[int] | None:
    """The granules of a matrix that begins in the first repetition of the swizzle."""
    address = _address(matrix, fields)
    if address is None:
        return None
    across = max(GRANULE // matrix.size, 1)
    rows, depth = (1, across) if matrix.major == "K" else (across, 1)
    return frozenset(
        address(x, k) // GRANULE for x in range(0, matrix.rows, rows) for k in range(0, matrix.depth, depth)
    )


def _address(matrix: _Matrix, fields: tuple[tuple[str, int], ...]) -> Callable[[int, int], int] | None:
    """Where an element of a matrix lies, by its row and its place along K. None: the fields describe none."""
    specification = load()
    rules, descriptor = specification.rules_of(matrix.kind), specification.descriptors[matrix.kind]
    swizzle = specification.addresses.swizzle
    try:
        found = DescribedMatrix.of(
            rules, specification.layouts, swizzle, descriptor, dict(fields), matrix.major, matrix.size
        )
    except Question:
        return None
    width = found.rule.widths[found.mode]
    case = found.layout.case({"W": width, "bytes": matrix.size})
    parts = {name: compiled(tree, ("x", "k", "byte")) for name, tree in case.trees.items()}
    permute = compiled(swizzle.address.tree, ("linear", "base", "W"))
    strides = [(parts[index], found.fields[stride]) for index, stride in found.rule.strides.items()]

    def address(x: int, k: int) -> int:
        linear = found.start + parts["offset"](x, k, 0)
        return permute(linear + sum(part(x, k, 0) * by for part, by in strides), found.base, width)

    return address


@lru_cache(maxsize=1 << 12)
def product_heads(
    statement: DecodedStatement, words: tuple[int | None, ...], shape: int, blocks: int = 1
) -> tuple[tuple[ByteRegion, int, str], ...]:
    """Some bytes that a product surely reads, whose shape the word of a descriptor says: the first ones of a
    few rows of its matrices; each with how many a copy brings of what it reads from there on, 0 if it is not
    the first row, or that is not known; and with the matrix's part.
    `words`: of the matrices' own descriptors, None where one is unknown. `blocks`: so many hold a part of the
    rows each, at the same addresses.
    """
    variant, found = statement.operation.nearest, list[tuple[ByteRegion, int, str]]()
    if variant is None:
        return ()
    try:
        product = described_product(load(), variant, shape)
        rows = {"A": product.said("m") // blocks, "B": product.said("n") // blocks}
        width = product.said("width")
        row = {"A": product.said("bytes"), "B": product.said("k") * width // 8}
    except Question:
        return ()
    counted = 0 if _is_padded(product) else 1
    for operand, word in zip(statement.described, words, strict=True):
        part = operand.operand.part or ""
        if word is not None and part in rows:
            major = "MN" if (product.word or {}).get(f"transpose_{part}") else "K"
            kind, size = str(operand.operand.descriptor), max(width // 8, 1)
            heads = _heads(_Matrix(operand.text, kind, rows[part], 1, size, major), word)
            bytes_ = chain((counted * rows[part] * row[part],), repeat(0))
            found += zip(heads, bytes_, repeat(part), strict=False)
    return tuple(found)


def _is_padded(product: DescribedProduct) -> bool:
    """Whether a tensor copy may bring fewer bytes than the elements' places have."""
    try:
        return bool(product.said("padded"))
    except Question:
        return False


@lru_cache(maxsize=1 << 10)
def source_heads(
    statement: DecodedStatement, words: tuple[int | None, ...], rows: int
) -> tuple[ByteRegion, ...]:
    """The same of a copy into tensor memory, of so many rows of bytes."""
    found = list[ByteRegion]()
    for operand, word in zip(statement.described, words, strict=True):
        if word is not None:
            found += _heads(_Matrix(operand.text, str(operand.operand.descriptor), rows, 1, 1, "K"), word)
    return tuple(found)


def _heads(matrix: _Matrix, word: int) -> Iterator[ByteRegion]:
    """The first bytes of a few rows of a matrix, by its descriptor's word."""
    address = _address(matrix, tuple(fields_of(load().descriptors[matrix.kind], word).items()))
    last = matrix.rows - _HEADS
    if address is None or last < 0:
        return
    for row in sorted({0, min(_HEADS, last), last}):
        low = address(row, 0) % ADDRESSES // GRANULE * GRANULE
        yield ByteRegion("shared", low, low + GRANULE)


@lru_cache(maxsize=1 << 12)
def _matrices(statement: DecodedStatement) -> tuple[_Matrix, ...]:
    """The matrices behind a statement's descriptors; none if its qualifiers spell no shape."""
    transposed = {one.operand.part for one in statement.named if one.text == "1"}
    found = []
    for operand in statement.described:
        part = operand.operand.part or ""
        shape = _shape(statement.operation, part)
        if shape is not None:
            major = "MN" if f"transpose-{part}" in transposed else "K"
            found.append(_Matrix(operand.text, str(operand.operand.descriptor), *shape, major, part))
    return tuple(found)


@lru_cache(maxsize=1 << 10)
def _shape(operation: Operation, part: str) -> tuple[int, int, int] | None:
    """Rows (of B: columns), depth along K as it is stored, and bytes of an element; None if unknown."""
    factors, variant = operation.factors, operation.nearest
    if factors is None or variant is None or part not in ("A", "B"):
        return None
    specification = load()
    depth = factors.k
    if part == "A" and variant.row.row.sparsity is not None:
        sparsity = specification.sparsity_of(variant)
        depth = depth * sparsity.slots // sparsity.chunk
    bits = specification.index.types[element_type(variant, part)].bits
    size = max(bits // 8, 1)
    return factors.m if part == "A" else factors.n, depth * bits // 8 // size, size


@lru_cache(maxsize=1 << 12)
def _atoms(matrix: _Matrix, word: int) -> tuple[int, int] | None:
    """By a descriptor's word: the bytes of an atom's row, and from the first atom to the last one's end."""
    specification = load()
    rules, descriptor = specification.rules_of(matrix.kind), specification.descriptors[matrix.kind]
    fields = fields_of(descriptor, word)
    shape = matrix.rows, matrix.depth
    try:
        mode = mode_of(rules, descriptor, fields)
        atoms = matrix_atoms(rules, specification.layouts, matrix.major, mode, matrix.size, shape)
    except Question:
        return None
    return atoms.row, atoms.extent(fields)

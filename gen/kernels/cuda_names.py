"""Names, types and indices as the C++ of a value kernel has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...spec.expressions import Expression
from ..c_reading import c_text
from .operations import JobMatrix
from .statement import Vector

__all__ = ["c_type", "element_index", "identifier", "places", "register_type"]


def identifier(name: str) -> str:
    """An operand's or a configuration word's name as C has it."""
    return name.replace("-", "_").replace(".", "_")


def places(trees: Mapping[str, Expression]) -> Iterator[str]:
    """Where an element, or a bit, belongs."""
    written_out = ", ".join(f"{name} = {c_text(tree)}" for name, tree in trees.items())
    yield f"  const unsigned {written_out};"


def element_index(matrix: JobMatrix, trees: Mapping[str, Expression]) -> str:
    """The index of (row, col) in a job's matrix."""
    row = f"(product * {matrix.rows} + row)" if "product" in trees else "row"
    return f"{row} * {matrix.cols} + col"


def c_type(matrix: JobMatrix) -> str:
    """The type of an element of a job's matrix."""
    return "uint64_t" if matrix.size == 8 else "uint32_t"


def register_type(vector: Vector) -> str:
    """The type of a register."""
    return "uint64_t" if vector.kind == "b64" else "uint32_t"

"""Matrices in NumPy files, for compress and decompress: reading, shapes, bit patterns."""

from __future__ import annotations

from typing import Any

from ..spec.errors import Question

__all__ = ["bits", "from_bits", "read", "words", "write"]


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise Question("this command needs NumPy: pip install 'ptxmma[numpy]'") from None
    return numpy


def read(name: str, dimensions: int) -> Any:
    """An array of numbers from a .npy file; raises Question for any other file."""
    numpy = _numpy()
    try:
        array = numpy.load(name, allow_pickle=False)
    except (ValueError, EOFError):
        raise Question(f"{name} is not a .npy file of numbers") from None
    if not isinstance(array, numpy.ndarray) or array.dtype.kind not in "fiuV":
        raise Question(f"{name} does not hold an array of numbers")
    if array.ndim != dimensions:
        raise Question(f"{name} has {array.ndim} dimensions; it must have {dimensions}")
    return array


def bits(array: Any) -> Any:
    """The elements as unsigned integers of the same width, so that every bit pattern survives."""
    numpy = _numpy()
    return numpy.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def from_bits(rows: list[list[int]], like: Any) -> Any:
    """An array of the element type `like` from bit patterns."""
    numpy = _numpy()
    return numpy.array(rows, dtype=f"u{like.itemsize}").view(like)


def words(values: list[int]) -> Any:
    """An array of 32-bit words."""
    numpy = _numpy()
    return numpy.array(values, dtype=numpy.uint32)


def write(name: str, array: Any) -> None:
    """Write an array as .npy."""
    with open(name, "wb") as file:
        _numpy().save(file, array)

"""Matrices in NumPy files, for compress and decompress."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spec.errors import Question
from ..spec.writing import write_files

__all__ = ["read", "write"]


def read(name: str) -> NDArray[Any]:
    """An array of numbers from a .npy file; raises Question for any other file."""
    try:
        array = np.load(name, allow_pickle=False)
    except (ValueError, EOFError):
        raise Question(f"{name} is not a .npy file of numbers") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiuV":
        raise Question(f"{name} does not hold an array of numbers")
    return array


def write(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as .npy files, all or none."""
    write_files((name, _bytes(array)) for name, array in arrays.items())


def _bytes(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()

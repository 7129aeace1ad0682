"""Matrices in NumPy files, for compress and decompress."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spec.errors import Question

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


def write(name: str, array: NDArray[Any]) -> None:
    """Write an array as .npy."""
    with open(name, "wb") as file:
        np.save(file, array)

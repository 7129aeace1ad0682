"""Matrices in NumPy files, for compress and decompress."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spec.errors import Question
from ..spec.writing import write_files

__all__ = ["read", "refuse_one_file_twice", "write"]


def read(name: str) -> NDArray[Any]:
    """An array of numbers from a .npy file; raises Question for any other file."""
    try:
        array = np.load(name, allow_pickle=False)
    except (ValueError, EOFError):
        raise Question(f"{name} is not a .npy file of numbers") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiuV":
        raise Question(f"{name} does not hold an array of numbers")
    return array


def refuse_one_file_twice(*names: str) -> None:
    """Raise Question where an output is an input too, or the other output: one would be lost."""
    met: set[Path] = set()
    for name in names:
        path = Path(name).resolve()
        if path in met and not (path.exists() and not path.is_file()):  # /dev/null may be named twice
            raise Question(f"{name} is named twice; every input and output needs a file of its own")
        met.add(path)


def write(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as .npy files, all or none."""
    write_files((name, _bytes(array)) for name, array in arrays.items())


def _bytes(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()

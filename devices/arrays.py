"""Arrays of integers, as all measurements have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ints"]

Ints = NDArray[np.int64]

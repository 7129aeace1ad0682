"""Where CuTe's layouts of scale factors put the factors of one product, as maps of the specification.

cute_dsl.py uses it, and cute_rubin.py, which asks for products that only sm_107 has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peer_file import Observations, bases_of

__all__ = ["record_factors"]


def record_factors(
    seen: Observations, function: str, side: str, kind: str, rows: int, scales: int, whole: Callable[..., Any]
) -> None:
    """Record the factors of one product: `whole` has a copy's, a row's and a factor's address in bytes."""
    first = int(whole(0, 0, 0))
    start = first // 4 % 65536

    def place(copy: int, row: int, col: int) -> tuple[int, ...]:
        index, factor = (row, col) if side == "a" else (col, row)
        lies = int(whole(copy, index, factor))
        return lies // 262144, lies // 4 % 65536 - start, lies % 4

    inputs = {"copy": 4, **({"row": rows, "col": scales} if side == "a" else {"row": scales, "col": rows})}
    words = 1 if scales <= 2 else 2
    outputs = {"lane": 128, "column": words * rows // 32, "byte": 4}
    bases = bases_of(inputs, place, listed="col" if side == "a" else "row")
    given = {} if kind == "8X" else {"id": first % 4}
    if kind == "2X" or side == "b":
        given["m" if side == "a" else "n"] = rows
    seen.add_map(f"tcgen05.scale-{side}.{kind}", function, inputs, outputs, bases, **given)

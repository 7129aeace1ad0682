"""Ask TVM for its layouts of tensor memory, and record them in evidence/peers-apache-tvm.json.

python -m venv V && V/bin/pip install apache-tvm numpy && V/bin/python bench/peers/tvm_layouts.py

No GPU is needed. A TileLayout maps a row and a column to axes: TLane and TCol, or a thread and a register.
"""

from __future__ import annotations

from typing import Any

from peer_file import Observations, bases_of
from tvm.tirx.layout import tcgen05_atom_layout, tmem_datapath_layout

seen = Observations("TVM", "apache/tvm", "apache-tvm")


class Places:
    """The axes of every row and column of a layout."""

    def __init__(self, layout: Any, rows: int, cols: int) -> None:
        self.of = {
            (row, col): {
                str(name).rpartition(".")[2]: int(value)
                for name, value in layout.apply(row, col, shape=[rows, cols]).items()
            }
            for row in range(rows)
            for col in range(cols)
        }

    def at(self, row: int, col: int, *axes: str) -> tuple[int, ...]:
        """The values on some axes; an axis that does not occur is 0."""
        return tuple(self.of[row, col].get(axis, 0) for axis in axes)


def accumulators() -> None:
    """The data paths; of two CTAs, each has half of the rows."""
    for letter, rows, ctas, fold, least in (
        ("A", 128, 2, 1, 16),
        ("B", 64, 2, 2, 16),
        ("C", 64, 2, 1, 16),
        ("D", 128, 1, 1, 16),
        ("E", 64, 1, 2, 64),
        ("F", 64, 1, 1, 16),
        ("G", 32, 1, 4, 64),
    ):
        for n in (least, 128):
            places = Places(tmem_datapath_layout(letter, rows, n), rows, n)
            inputs = {"row": rows * ctas, "col": n}
            outputs = {"column": n // fold, "lane": 128, **({"cta": 2} if ctas == 2 else {})}

            def place(
                row: int, col: int, at: Places = places, size: int = rows, pair: int = ctas
            ) -> tuple[int, ...]:
                return *at.at(row % size, col, "TCol", "TLane"), *((row // size,) if pair == 2 else ())

            parameters = {"n": n, **({"half": 0} if letter in "CF" else {})}
            function, bases = f"tmem_datapath_layout({letter})", bases_of(inputs, place)
            seen.add_map(f"tcgen05.d.{letter}", function, inputs, outputs, bases, **parameters)


def transfers() -> None:
    """What tcgen05.ld moves: of four warps, what the threads of the first one hold."""
    for name, rows, factor, elements in (
        ("32x32b", 128, 1, 1),
        ("16x64b", 64, 2, 1),
        ("16x128b", 64, 4, 2),
        ("16x256b", 64, 8, 4),
    ):
        for num in (1, 2, 8, 32):
            columns, lanes = factor * num, rows // 4
            places = Places(tcgen05_atom_layout(name, (rows, columns), "float32"), rows, columns)

            def place(lane: int, column: int, at: Places = places) -> tuple[int, ...]:
                thread, lane_id, register = at.at(lane, column, "tid_in_wg", "laneid", "m")
                return register, thread + lane_id

            inputs = {"lane": lanes, "column": columns}
            outputs = {"i": elements * num, "t": 32}
            function = f"tcgen05_atom_layout({name})"
            seen.add_map(f"tcgen05.ld.{name}", function, inputs, outputs, bases_of(inputs, place), num=num)


if __name__ == "__main__":
    accumulators()
    transfers()
    seen.write()

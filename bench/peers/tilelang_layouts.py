"""Ask TileLang for the layouts of its mma and mma.sp, and record them in evidence/peers-tilelang.json.

python -m venv V && V/bin/pip install tilelang && V/bin/python bench/peers/tilelang_layouts.py

No GPU is needed. TileLang's functions map a thread and one of its elements to a row and a column; B is
written as (n, k), and its n16 is two products side by side, of which the first is taken.
"""

from __future__ import annotations

from collections.abc import Callable

from peer_file import Observations, bases_of
from tilelang.cuda.intrinsics.layout import mma_layout as dense
from tilelang.cuda.intrinsics.layout import mma_sp_layout as sparse

Function = Callable[[int, int], tuple[int, int]]

# A function, the elements of a thread, the matrix, whether it is written (n, k), the layout, and its K.
MAPS: tuple[tuple[Function, int, tuple[int, int], bool, str, int | None], ...] = (
    (dense.mma_store_32x8_to_shared_16x16_layout, 4, (16, 8), False, "mma.m16n8.c", None),
    (dense.mma_store_32x2_to_shared_8x8_layout_fp64, 2, (8, 8), False, "mma.m8n8.c", None),
    (dense.mma_load_a_32x4_to_shared_16x8_layout, 4, (16, 8), False, "mma.m16n8.a.word", 8),
    (dense.mma_load_b_32x4_to_shared_16x8_layout, 2, (8, 8), True, "mma.n8.b.word", 8),
    (dense.mma_load_a_32x8_to_shared_16x16_layout, 8, (16, 16), False, "mma.m16n8k16.a.16b", None),
    (dense.mma_load_b_32x8_to_shared_16x16_layout, 4, (16, 8), True, "mma.m16n8k16.b.16b", None),
    (dense.mma_load_a_32x16_to_shared_16x32_layout, 16, (16, 32), False, "mma.m16n8k32.a.8b", None),
    (dense.mma_load_b_32x16_to_shared_16x32_layout, 8, (32, 8), True, "mma.m16n8k32.b.8b", None),
    (dense.mma_load_a_32x32_to_shared_16x64_layout, 32, (16, 64), False, "mma.m16n8k64.a.4b", None),
    (dense.mma_load_b_32x16_to_shared_8x64_layout, 16, (64, 8), True, "mma.m16n8k64.b.4b", None),
    (sparse.mma_sp_load_a_32x4_to_shared_16x16_layout, 4, (16, 8), False, "mma.sp.m16n8k16.a.tf32", None),
    (sparse.mma_sp_load_a_32x8_to_shared_16x32_layout, 8, (16, 16), False, "mma.sp.m16n8k32.a.16b", None),
    (sparse.mma_sp_load_a_32x16_to_shared_16x64_layout, 16, (16, 32), False, "mma.sp.m16n8k64.a.8b", None),
    (sparse.mma_sp_load_b_32x8_to_shared_16x16_layout, 4, (16, 8), True, "mma.n8.b.word", 16),
    (sparse.mma_sp_load_b_32x16_to_shared_16x32_layout, 8, (32, 8), True, "mma.sp.m16n8k32.b.16b", None),
    (sparse.mma_sp_load_b_32x32_to_shared_16x64_layout, 16, (64, 8), True, "mma.sp.m16n8k64.b.8b", None),
)
# A function of a thread and a byte of its metadata, the bytes of a row, the layout, and its selectors.
METADATA: tuple[tuple[Function, int, str, tuple[int, ...]], ...] = (
    (
        sparse.metadata_8bit_load_32x4_to_shared_16x4_layout_16bit,
        4,
        "mma.sp.metadata.16b.pair",
        (0, 1),
    ),
    (sparse.metadata_8bit_load_32x4_to_shared_16x8_layout_8bit, 8, "mma.sp.metadata.narrow.all", ()),
)

seen = Observations("TileLang", "tile-ai/tilelang", "tilelang")


def fragments() -> None:
    """The fragments of mma and mma.sp."""
    for function, elements, (rows, cols), transposed, layout, k in MAPS:
        inputs, outputs = {"t": 32, "i": elements}, {"row": rows, "col": cols}

        def place(t: int, i: int, of: Function = function, swap: bool = transposed) -> tuple[int, int]:
            row, col = of(t, i)
            return (col, row) if swap else (row, col)

        parameters = {} if k is None else {"k": k}
        seen.add_map(layout, function.__name__, inputs, outputs, bases_of(inputs, place), **parameters)


def metadata() -> None:
    """The metadata of mma.sp: a byte has two chunks, a chunk two indices of two bits."""
    for function, width, layout, selectors in METADATA:
        inputs = {"t": 32, "bit": 32}
        outputs = {"row": 16, "chunk": 2 * width, "slot": 2, "index_bit": 2}

        def place(t: int, bit: int, of: Function = function) -> tuple[int, int, int, int]:
            row, byte = of(t, bit // 8)
            return row, 2 * byte + bit % 8 // 4, bit // 2 % 2, bit % 2

        bases = bases_of(inputs, place)
        for selector in selectors or (None,):
            parameters = {} if selector is None else {"s": selector}
            seen.add_map(layout, function.__name__, inputs, outputs, bases, **parameters)


if __name__ == "__main__":
    fragments()
    metadata()
    seen.write()

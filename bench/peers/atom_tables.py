"""Ask tensor-layouts for the atoms of CUTLASS that CuTe's Python package lacks, and record them.

python -m venv V && V/bin/pip install tensor-layouts && V/bin/python bench/peers/atom_tables.py

The tables follow CUTLASS's C++ headers and say so: together with CuTe they are one witness. An atom of
mma.m8n8k4 has eight threads; its `thr_id` says which of a warp they are for product 0.
"""

from __future__ import annotations

from typing import Any

import tensor_layouts.atoms_nv as atoms
from peer_file import Observations, bases_of
from tensor_layouts import size

ORIGIN = "NVIDIA/cutlass"
# An atom, the layouts of A, B and C, and the K that they take as a parameter.
ATOMS = (
    ("SM80_8x8x32_S32S4S4S32_TN", ("mma.m8n8.a", "mma.m16n8k32.b.4b", "mma.m8n8.c")),
    ("SM80_16x8x32_S32S4S4S32_TN", ("mma.m16n8k32.a.4b", "mma.m16n8k32.b.4b", "mma.m16n8.c")),
    ("SM80_16x8x64_S32S4S4S32_TN", ("mma.m16n8k64.a.4b", "mma.m16n8k64.b.4b", "mma.m16n8.c")),
    ("SM80_8x8x128_S32U1U1S32_TN_XORPOPC", ("mma.m8n8.a", "mma.n8.b.b1", "mma.m8n8.c")),
    ("SM80_16x8x128_S32U1U1S32_TN_XORPOPC", ("mma.m16n8.a.b1", "mma.n8.b.b1", "mma.m16n8.c")),
    ("SM80_16x8x256_S32U1U1S32_TN_XORPOPC", ("mma.m16n8.a.b1", "mma.n8.b.b1", "mma.m16n8.c")),
    ("SM90_16x8x4_F64F64F64F64_TN", ("mma.m16n8.a.word", "mma.n8.b.word", "mma.m16n8.c")),
    ("SM90_16x8x8_F64F64F64F64_TN", ("mma.m16n8.a.word", "mma.n8.b.word", "mma.m16n8.c")),
    ("SM90_16x8x16_F64F64F64F64_TN", ("mma.m16n8.a.word", "mma.n8.b.word", "mma.m16n8.c")),
    ("SM70_8x8x4_F16F16F16F16_TN", ("mma.m8n8k4.a.row", "mma.m8n8k4.b.col", "mma.m8n8k4.c.f16")),
    ("SM70_8x8x4_F32F16F16F32_NT", ("mma.m8n8k4.a.col", "mma.m8n8k4.b.row", "mma.m8n8k4.c.f32")),
)
WITH_K = ("mma.m8n8.a", "mma.n8.b.b1", "mma.m16n8.a.b1", "mma.m16n8.a.word", "mma.n8.b.word")

seen = Observations("tensor-layouts", "facebookresearch/tensor-layouts", "tensor-layouts")


def keep(atom: Any, letter: str, layout: str) -> None:
    """Record one operand of an atom."""
    m, n, k = atom.shape_mnk
    whole = getattr(atom, f"{letter.lower()}_layout")
    fast, slow = {"A": (m, k), "B": (n, k), "C": (m, n)}[letter]
    names = ("col", "row") if letter == "B" else ("row", "col")
    function = f"{atom.name}.{letter.lower()}_layout"
    threads = 32 if atom.thr_id is None else 8
    elements = size(whole) // threads
    outputs = dict(zip(names, (fast, slow), strict=True))
    parameters = {"k": k} if layout in WITH_K else {}
    if threads == 32:
        seen.add_map(
            layout, function, {"t": 32, "i": elements}, outputs, plain(whole), **parameters, origin=ORIGIN
        )
        return
    logical = {atom.thr_id(t): t for t in range(8)}

    def place(t: int, i: int) -> tuple[int, ...]:
        product = t % 16 // 4
        index = whole(logical[t - 4 * product], i)
        return index % fast, index // fast, product

    inputs = {"t": 32, "i": elements}
    bases = bases_of(inputs, place)
    seen.add_map(layout, function, inputs, {**outputs, "product": 4}, bases, origin=ORIGIN)


def plain(layout: Any) -> str:
    """A layout as CuTe writes it."""
    return str(layout).replace(" ", "")


if __name__ == "__main__":
    for name, layouts in ATOMS:
        for letter, layout in zip("ABC", layouts, strict=True):
            keep(getattr(atoms, name), letter, layout)
    seen.write()

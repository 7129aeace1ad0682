"""Record what PTX.jl's builders of tcgen05's descriptors state, in evidence/peers-PTX.jl.json.

python bench/peers/ptx_jl.py

PTX.jl is written in Julia; it was read, not run: src/lib/tcgen05_descriptor.jl at the commit below. Each
builder here has what it always sets, and what each of its parameters adds: the field, a value in the
specification's words, and the bits. It says that it follows CUTLASS for .kind::f16 and for most of the
shared-memory descriptor, so only what it takes from the tables of PTX ISA 9.4 is here.
"""

from __future__ import annotations

from peer_file import Observations

COMMIT = "81aca855"
Bits = tuple[str, int | str, int]  # a field, its value, and the bits that say so

NARROW = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
SHAPE: tuple[Bits, ...] = (("N", 8, 1 << 17), ("M", 128, 8 << 24))
SHAPES: tuple[Bits, ...] = (*SHAPE, ("N", 256, 32 << 17), ("M", 64, 4 << 24), ("M", 256, 16 << 24))
SCALED_SHAPE: tuple[Bits, ...] = (("N", 8, 1 << 17), ("M", 128, 1 << 27))
SCALED_SHAPES: tuple[Bits, ...] = (*SCALED_SHAPE, ("N", 256, 32 << 17), ("M", 256, 2 << 27))
SPARSE: Bits = ("sparse", 1, 1 << 2)
NEGATE: tuple[Bits, ...] = (("negate-A", 1, 1 << 13), ("negate-B", 1, 1 << 14))
MAJOR: tuple[Bits, ...] = (("transpose-A", 1, 1 << 15), ("transpose-B", 1, 1 << 16))
SHIFT: tuple[Bits, ...] = (
    ("max-shift", "shift8", 1 << 30),
    ("max-shift", "shift16", 2 << 30),
    ("max-shift", "shift32", 3 << 30),
)
IDS: tuple[Bits, ...] = (("scale-id-A", 2, 2 << 29), ("scale-id-B", 2, 2 << 4))
LANES: Bits = ("scale-layout-A", 1, 1 << 26)


def types(codes: dict[str, int]) -> tuple[Bits, ...]:
    """Each type of A, and each of B."""
    a = tuple(("atype", name, code << 7) for name, code in codes.items())
    return *a, *(("btype", name, code << 10) for name, code in codes.items())


FP4: tuple[Bits, ...] = (("atype", "e2m1", 1 << 7), ("btype", "e2m1", 1 << 10), *SCALED_SHAPE)
FP4_MORE: tuple[Bits, ...] = (
    SPARSE,
    *NEGATE,
    *SCALED_SHAPES,
    *IDS,
    LANES,
    ("sparsity-version", 1, 1 << 12),
    ("K", "k96", 1 << 31),
    ("K-top", 1, 1 << 3),
)
# By descriptor: the builder, what it always sets, and what a parameter sets beside it or in its place.
BUILDERS: dict[str, tuple[str, tuple[Bits, ...], tuple[Bits, ...]]] = {
    "tcgen05.i8": (
        "tcgen05_instr_desc_i8",
        (("dtype", "s32", 2 << 4), ("atype", "u8", 0), ("btype", "u8", 0), *SHAPE),
        (*types({"u8": 0, "s8": 1}), SPARSE, ("saturate", 1, 1 << 3), *MAJOR, *SHAPES, *SHIFT),
    ),
    "tcgen05.f8f6f4": (
        "tcgen05_instr_desc_f8f6f4",
        (("dtype", "f32", 1 << 4), ("atype", "e4m3", 0), ("btype", "e4m3", 0), *SHAPE),
        (
            *types(NARROW),
            ("dtype", "f16", 0),
            SPARSE,
            *NEGATE,
            *MAJOR,
            *SHAPES,
            ("K", "k64", 1 << 29),
            *SHIFT,
        ),
    ),
    "tcgen05.ti16": (
        "tcgen05_instr_desc_ti16",
        (("dtype", "s32", 2 << 4), ("atype", "s1z4m11", 3 << 7), ("btype", "s1z4m11", 3 << 10), *SHAPE),
        (SPARSE, *NEGATE, *SHAPES, *SHIFT),
    ),
    "tcgen05.mxf8f6f4": (
        "tcgen05_instr_desc_mxf8f6f4",
        (("atype", "e4m3", 0), ("btype", "e4m3", 0), ("scale-type", "ue8m0", 1 << 23), *SCALED_SHAPE),
        (*types(NARROW), SPARSE, *NEGATE, *MAJOR, *SCALED_SHAPES, *IDS, LANES, ("K", "k64", 1 << 31)),
    ),
    "tcgen05.mxf4": ("tcgen05_instr_desc_mxf4", (*FP4, ("scale-type", "ue8m0", 1 << 23)), FP4_MORE),
    "tcgen05.mxf4nvf4": (
        "tcgen05_instr_desc_mxf4nvf4",
        (*FP4, ("scale-type", "ue4m3", 0)),
        (*FP4_MORE, ("scale-type", "ue8m0", 1 << 23), ("scale-type", "ue5m3", 2 << 23)),
    ),
    "tcgen05.shared": (
        "tcgen05_descriptor",
        (("fixed", 1, 1 << 46),),
        (
            ("segment-start", 1, 1 << 53),
            ("start-address-top", 0x40000, 1 << 14),
            ("leading-dimension-top", 0x40000, 1 << 30),
        ),
    ),
}

seen = Observations("PTX.jl", "jool-space/PTX.jl", "PTX.jl", kind="source", version=COMMIT)


def words() -> None:
    """A word with each builder's defaults, and one with each parameter."""
    for descriptor, (builder, always, parameters) in BUILDERS.items():
        base = {field: (value, bits) for field, value, bits in always}
        changes = [{}, *({field: (value, bits)} for field, value, bits in parameters)]
        for change in changes:
            chosen = {**base, **change}
            word = sum(bits for _, bits in chosen.values())
            fields = {field: value for field, (value, _) in chosen.items()}
            seen.add_word(descriptor, builder, fields, word)


if __name__ == "__main__":
    words()
    seen.write()

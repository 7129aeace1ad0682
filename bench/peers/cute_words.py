"""The words that CuTe's experimental primitives (nvidia-cutlass-dsl) build of descriptors' fields.

cute_dsl.py calls this. The builders of instruction descriptors are plain arithmetic; those of shared-memory
descriptors are not, so of these each named bit field is set in a word and read back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cutlass
from cutlass.experimental.primitives import descriptors as cute
from peer_file import Observations

__all__ = ["record_words"]

Fields = dict[str, int | str]
# By parameter of the builders: the specification's field, and the values to try in units of the parameter.
PLAIN = {
    "sparse_id2": ("sparsity-selector", (1, 2)),
    "sparse_flag": ("sparse", (1,)),
    "saturate": ("saturate", (1,)),
    "a_negate": ("negate-A", (1,)),
    "b_negate": ("negate-B", (1,)),
    "a_major": ("transpose-A", (1,)),
    "b_major": ("transpose-B", (1,)),
    "n_dim": ("N", (8, 256)),
    "m_dim": ("M", (64, 128, 256)),
    "max_shift": ("max-shift", (1, 3)),
}
SCALED = {
    "a_negate": ("negate-A", (1,)),
    "b_negate": ("negate-B", (1,)),
    "a_major": ("transpose-A", (1,)),
    "b_major": ("transpose-B", (1,)),
    "sparse_flag": ("sparse", (1,)),
    "a_sf_id": ("scale-id-A", (1, 2)),
    "b_sf_id": ("scale-id-B", (1, 2)),
    "a_sf_layout": ("scale-layout-A", (1,)),
    "n_dim": ("N", (16, 256)),
    "m_dim": ("M", (256,)),
}
TYPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tcgen05.f16": (
        {"f16": cutlass.Float16, "bf16": cutlass.BFloat16},
        {"f16": cutlass.Float16, "f32": cutlass.Float32},
    ),
    "tcgen05.tf32": ({"tf32": cutlass.Float32}, {"f32": cutlass.Float32}),
    "tcgen05.f8f6f4": (
        {"e4m3": cutlass.Float8E4M3FN, "e5m2": cutlass.Float8E5M2},
        {"f16": cutlass.Float16, "f32": cutlass.Float32},
    ),
    "tcgen05.i8": ({"u8": cutlass.Uint8, "s8": cutlass.Int8}, {"s32": cutlass.Int32}),
}
MX_TYPES = {
    "e4m3": cutlass.Float8E4M3FN,
    "e5m2": cutlass.Float8E5M2,
    "e2m3": cutlass.Float6E2M3FN,
    "e3m2": cutlass.Float6E3M2FN,
    "e2m1": cutlass.Float4E2M1FN,
}
# By descriptor: CuTe's class of it, and by property its fields with the codes to set.
SHARED: dict[str, tuple[str, dict[str, tuple[tuple[str, int], ...]]]] = {
    "tcgen05.shared": (
        "Tcgen05SmemDesc",
        {
            "start_address": (("start-address", 0x3FFF), ("start-address-top", 0x4000)),
            "leading_byte_offset": (
                ("leading-dimension-byte-offset", 0x3FFF),
                ("leading-dimension-top", 0x4000),
            ),
            "stride_byte_offset": (("stride-dimension-byte-offset", 0x3FFF),),
            "base_offset": (("base-offset", 5),),
        },
    ),
    "wgmma": (
        "WgmmaSmemDesc",
        {
            "start_address": (("start-address", 0x3FFF),),
            "leading_byte_offset": (("leading-dimension-byte-offset", 0x3FFF),),
            "stride_byte_offset": (("stride-dimension-byte-offset", 0x3FFF),),
            "base_offset": (("base-offset", 5),),
        },
    ),
}
SWIZZLES: dict[str, Any] = {"tcgen05.shared": cute.Tcgen05SmemSwizzle, "wgmma": cute.WgmmaSwizzle}
UNITS = {"start-address": 16, "leading-dimension-byte-offset": 16, "stride-dimension-byte-offset": 16}
TOP = 262144  # what the highest bit of an address in units of 16 bytes stands for


def plain() -> Iterator[tuple[str, str, Fields, dict[str, Any]]]:
    """Descriptors without scale factors: each field alone, and each type."""
    for kind, (inputs, outputs) in TYPES.items():
        for parameter, (field, values) in PLAIN.items():
            for value in values:
                yield kind, "Tcgen05InstrDesc", {field: value}, {parameter: value}
        for name, made in inputs.items():
            yield kind, "Tcgen05InstrDesc", {"atype": name}, {"a_dtype": made}
            yield kind, "Tcgen05InstrDesc", {"btype": name}, {"b_dtype": made}
        for name, made in outputs.items():
            yield kind, "Tcgen05InstrDesc", {"dtype": name}, {"c_dtype": made}
    yield "tcgen05.f8f6f4", "Tcgen05InstrDesc", {"K": 1}, {"k_dim": 1}


def scaled() -> Iterator[tuple[str, str, Fields, dict[str, Any]]]:
    """Descriptors with scale factors; the builders want N and M, and types that their defaults leave out."""
    base: Fields = {"N": 8, "M": 128, "scale-type": "ue8m0"}
    size = {"n_dim": 8, "m_dim": 128}
    kinds = (
        ("tcgen05.mxf8f6f4", "Tcgen05MxInstrDesc", "e4m3", MX_TYPES),
        ("tcgen05.mxf4", "Tcgen05MxOmmaInstrDesc", "e2m1", {"e2m1": cutlass.Float4E2M1FN}),
        ("tcgen05.mxf4nvf4", "Tcgen05MxOmmaInstrDesc", "e2m1", {"e2m1": cutlass.Float4E2M1FN}),
    )
    for kind, builder, usual, types in kinds:
        fp4 = builder == "Tcgen05MxOmmaInstrDesc"
        chosen = {
            "a_dtype": types[usual],
            "b_dtype": types[usual],
            **({"sparsity_version": 0} if fp4 else {}),
        }
        fields: Fields = {**base, "atype": usual, "btype": usual}
        for parameter, (field, values) in SCALED.items():
            for value in values:
                yield kind, builder, {**fields, field: value}, {**size, **chosen, parameter: value}
        for name, made in types.items():
            yield kind, builder, {**fields, "atype": name}, {**size, **chosen, "a_dtype": made}
            yield kind, builder, {**fields, "btype": name}, {**size, **chosen, "b_dtype": made}
        yield kind, builder, {**fields, "K": 1}, {**size, **chosen, "k_dim": 1}
        if fp4:
            yield kind, builder, {**fields, "K-top": 1}, {**size, **chosen, "k_dim": 2}
            yield kind, builder, {**fields, "sparsity-version": 1}, {**size, **chosen, "sparsity_version": 1}
    for code in cute.MxScaleFormat:
        name = {"E8M0": "ue8m0"}.get(code.name, code.name.lower())
        chosen = {"a_dtype": cutlass.Float4E2M1FN, "b_dtype": cutlass.Float4E2M1FN, "sparsity_version": 0}
        fields = {**base, "atype": "e2m1", "btype": "e2m1", "scale-type": name}
        made = {**size, **chosen, "scale_format": int(code)}
        yield "tcgen05.mxf4nvf4", "Tcgen05MxOmmaInstrDesc", fields, made


def shared() -> Iterator[tuple[str, str, Fields, int]]:
    """Words of a matrix's descriptor that read back as one field, and as the version that CuTe says."""
    for kind, (name, properties) in SHARED.items():
        made = getattr(cute, name)
        versioned = kind == "tcgen05.shared"
        base: Fields = {"fixed": 1} if versioned else {}
        version = 1 << 46 if versioned else 0
        for of, parts in properties.items():
            for field, code in parts:
                word = version | code << lowest(made, of)
                read = made(word)
                if getattr(read, of) != code or (versioned and read.version != 1):
                    raise ValueError(f"{of} of {word:#x} reads {getattr(read, of)}")
                unit = TOP // 0x4000 if field.endswith("-top") else UNITS.get(field, 1)
                yield kind, f"{name}.{of}", {**base, field: code * unit}, word
        for swizzle in SWIZZLES[kind]:
            words = swizzle.name.removeprefix("SWIZZLE_").replace("ATOM_32B", "atom32").replace("_", "-")
            fields = {**base, "swizzle-mode": {"NONE": "none", "INTERLEAVE": "none"}.get(words, words)}
            word = version | int(swizzle) << lowest(made, "layout_type")
            yield kind, f"{name}.layout_type", fields, word


def lowest(made: Any, of: str) -> int:
    """The lowest bit that a property reads."""
    return next(bit for bit in range(64) if getattr(made(1 << bit), of))


def record_words(seen: Observations) -> None:
    """Record every word; a builder's word is an Int32 that may be negative."""
    for kind, builder, fields, parameters in (*plain(), *scaled()):
        word = getattr(cute, builder).build(**parameters).value & 0xFFFFFFFF
        seen.add_word(kind, f"{builder}.build({', '.join(parameters)})", fields, word)
    for kind, function, fields, word in shared():
        seen.add_word(kind, function, fields, word & (1 << 64) - 1)

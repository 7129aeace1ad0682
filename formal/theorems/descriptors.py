"""Theorems about matrix descriptors: fields are disjoint, encoding and decoding undo each other."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from ...spec.descriptor import limit
from ...spec.memory_records import Descriptor
from ..smt.obligations import Obligation, refuting

__all__ = ["descriptor_obligations"]


def descriptor_obligations(name: str, descriptor: Descriptor) -> Iterator[Obligation]:
    """Every obligation of one descriptor, over all 64-bit words and all field values."""
    fields = descriptor.fields
    values = {key: z3.BitVec(key, 64) for key in fields}
    legal = z3.And(
        *(
            z3.And(z3.ULE(values[key], limit(field)), z3.URem(values[key], field.unit) == 0)
            for key, field in fields.items()
        )
    )
    masks = {key: (1 << (f.high - f.low + 1)) - 1 for key, f in fields.items()}
    word = z3.BitVecVal(0, 64)
    for key, field in fields.items():
        word = word | z3.UDiv(values[key], z3.BitVecVal(field.unit, 64)) << field.low

    def decoded(key: str, coded: z3.BitVecRef) -> z3.BitVecRef:
        field = fields[key]
        return (z3.LShR(coded, field.low) & masks[key]) * field.unit

    yield Obligation(
        "descriptor.decode_encode",
        name,
        refuting(legal, z3.Or(*(decoded(key, word) != values[key] for key in fields))),
        lambda model: (
            "these values do not survive: " + ", ".join(f"{key} = {model.get(key, 0)}" for key in fields)
        ),
    )
    coded = z3.BitVec("word", 64)
    used = sum(masks[key] << field.low for key, field in fields.items())
    again = z3.BitVecVal(0, 64)
    for key, field in fields.items():
        again = again | z3.UDiv(decoded(key, coded), z3.BitVecVal(field.unit, 64)) << field.low
    yield Obligation(
        "descriptor.encode_decode",
        name,
        refuting(coded & ~z3.BitVecVal(used & (1 << 64) - 1, 64) == 0, again != coded),
        lambda model: f"the word {model.get('word', 0):#018x} does not survive",
    )
    bit = z3.BitVec("bit", 64)
    one = z3.BitVecVal(1, 64) << bit
    owners = [
        z3.If(one & (masks[key] << field.low) != 0, z3.BitVecVal(1, 64), z3.BitVecVal(0, 64))
        for key, field in fields.items()
    ]
    outside = any(field.high > 63 or field.low > field.high for field in fields.values())
    yield Obligation(
        "descriptor.disjoint",
        name,
        refuting(z3.BoolVal(True) if outside else z3.And(z3.ULT(bit, 64), z3.UGT(sum(owners), 1))),
        lambda model: f"bit {model.get('bit', 0)} belongs to two fields, or a field leaves the word",
    )

"""Theorems about matrix descriptors: fields are disjoint, encoding and decoding undo each other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...spec.descriptor import limit
from ...spec.memory_records import Descriptor
from ...spec.specification import Specification
from ..smt.obligations import Obligation, refuting
from ..smt.terms import UGT, ULE, ULT, And, BitVec, BitVecVal, BoolVal, If, LShR, Or, Term, UDiv, URem
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "descriptor_obligations"]


def descriptor_obligations(name: str, descriptor: Descriptor) -> Iterator[Obligation]:
    """Every obligation of one descriptor, over all 64-bit words and all field values."""
    fields = descriptor.fields
    values = {key: BitVec(key, 64) for key in fields}
    legal = And(
        *(
            And(ULE(values[key], limit(field)), URem(values[key], field.unit) == 0)
            for key, field in fields.items()
        )
    )
    masks = {key: (1 << (f.high - f.low + 1)) - 1 for key, f in fields.items()}
    word = BitVecVal(0, 64)
    for key, field in fields.items():
        word = word | UDiv(values[key], BitVecVal(field.unit, 64)) << field.low

    def decoded(key: str, coded: Term) -> Term:
        field = fields[key]
        return (LShR(coded, field.low) & masks[key]) * field.unit

    yield Obligation(
        "descriptor.decode_encode",
        name,
        refuting(legal, Or(*(decoded(key, word) != values[key] for key in fields))),
        lambda model: (
            "these values do not survive: " + ", ".join(f"{key} = {model.get(key, 0)}" for key in fields)
        ),
    )
    coded = BitVec("word", 64)
    used = sum(masks[key] << field.low for key, field in fields.items())
    again = BitVecVal(0, 64)
    for key, field in fields.items():
        again = again | UDiv(decoded(key, coded), BitVecVal(field.unit, 64)) << field.low
    yield Obligation(
        "descriptor.encode_decode",
        name,
        refuting(coded & ~BitVecVal(used & (1 << 64) - 1, 64) == 0, again != coded),
        lambda model: f"the word {model.get('word', 0):#018x} does not survive",
    )
    bit = BitVec("bit", 64)
    one = BitVecVal(1, 64) << bit
    owners = [
        If(one & (masks[key] << field.low) != 0, BitVecVal(1, 64), BitVecVal(0, 64))
        for key, field in fields.items()
    ]
    outside = any(field.high > 63 or field.low > field.high for field in fields.values())
    yield Obligation(
        "descriptor.disjoint",
        name,
        refuting(BoolVal(True) if outside else And(ULT(bit, 64), UGT(sum(owners, BitVecVal(0, 64)), 1))),
        lambda model: f"bit {model.get('bit', 0)} belongs to two fields, or a field leaves the word",
    )


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for name, descriptor in specification.descriptors.items():
        yield ProofPart(f"descriptor {name}", partial(descriptor_obligations, name, descriptor))


GROUP = TheoremGroup(
    50,
    (
        Theorem(
            "descriptor.disjoint",
            "no bit of the descriptor belongs to two fields",
            formula="for each bit < 64: at most one field's mask has it",
            fails="a bit that belongs to two fields, or a field that leaves the word",
        ),
        Theorem(
            "descriptor.decode_encode",
            "decoding an encoded descriptor gives the fields back",
            formula="for legal values v: decode(encode(v)) == v",
            fails="values that do not survive",
        ),
        Theorem(
            "descriptor.encode_decode",
            "encoding a decoded descriptor gives the word back",
            small=True,
            formula="for each word w of bits that fields have: encode(decode(w)) == w",
            fails="a word that does not survive",
        ),
    ),
    _parts,
)

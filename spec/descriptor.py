"""Descriptors: encode fields as a word of 32 or 64 bits and decode it, with every field range-checked."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import Question
from .memory_records import Descriptor, DescriptorField
from .nodes import nearest

__all__ = [
    "address_field",
    "decode",
    "encode",
    "fields_of",
    "legal_values",
    "limit",
    "mask",
    "reserved",
    "split_address",
]


def limit(field: DescriptorField) -> int:
    """The greatest value that a field can stand for."""
    return ((1 << (field.high - field.low + 1)) - 1) * field.unit


def encode(descriptor: Descriptor, values: Mapping[str, int | str]) -> int:
    """The word; absent fields are 0, or what they always are.

    Raises Question for an unknown, unaligned or too large value.
    """
    word = sum(
        field.constant << field.low
        for name, field in descriptor.fields.items()
        if field.constant is not None and name not in values
    )
    for name, given in values.items():
        field = descriptor.fields.get(name)
        if field is None:
            guess = nearest(name, descriptor.fields)
            hint = f"did you mean {guess}?" if guess else f"it has {', '.join(descriptor.fields)}"
            raise Question(f"the descriptor has no field {name!r}; {hint}")
        word |= _value(name, field, given) // field.unit << field.low
    return word


def _value(name: str, field: DescriptorField, given: int | str) -> int:
    if isinstance(given, str):
        if given not in field.values:
            named = ", ".join(field.values) or "an integer, in decimal or as 0x…"
            raise Question(f"{name}: {given!r} is not a value; it must be {named}")
        return field.values[given]
    if not 0 <= given <= limit(field):
        raise Question(f"{name}: {given} is out of range; it must be 0..{limit(field)}")
    if given % field.unit:
        raise Question(f"{name}: {given} is not a multiple of {field.unit}")
    if field.values and given not in field.values.values():
        raise Question(f"{name}: {given} is not a value; it must be one of {dict(field.values)}")
    if field.constant is not None and given != field.constant * field.unit:
        raise Question(f"{name}: {given} is not a value; it must be {field.constant * field.unit}")
    return given


def legal_values(field: DescriptorField) -> tuple[int, ...] | None:
    """The values that a field may have, where not all that fit are legal."""
    if field.constant is not None:
        return (field.constant * field.unit,)
    return tuple(field.values.values()) or None


def mask(field: DescriptorField) -> int:
    """The bits of a word that a field takes."""
    return (1 << field.high + 1) - (1 << field.low)


def address_field(descriptor: Descriptor) -> DescriptorField:
    """The field that says where the matrix begins; raises Question when no field does."""
    name = descriptor.field_of("start")
    if name is None:
        raise Question(f"the descriptor does not say where a matrix begins: {descriptor.title}")
    return descriptor.fields[name]


def split_address(descriptor: Descriptor, word: int) -> tuple[int, int]:
    """Where the matrix of a word begins, in bytes, and the word without that field."""
    field = address_field(descriptor)
    bits = mask(field)
    return ((word & bits) >> field.low) * field.unit, word & ~bits


def fields_of(descriptor: Descriptor, word: int) -> dict[str, int]:
    """Every field's value, whatever the bits outside the fields are."""
    return {
        name: ((word & mask(field)) >> field.low) * field.unit for name, field in descriptor.fields.items()
    }


def reserved(descriptor: Descriptor, word: int) -> str:
    """What is wrong with the bits of a word outside the fields; nothing where all are 0."""
    rest = word
    for field in descriptor.fields.values():
        rest &= ~mask(field)
    if not rest:
        return ""
    bits = [str(bit) for bit in range(descriptor.bits) if rest >> bit & 1]
    one = len(bits) == 1
    return (
        f"the reserved bit{'' if one else 's'} {', '.join(bits)} {'is' if one else 'are'} set; "
        f"{'it' if one else 'they'} must be 0"
    )


def decode(descriptor: Descriptor, word: int) -> dict[str, int]:
    """Every field's value; raises Question when a bit outside the fields is set."""
    if not 0 <= word < 1 << descriptor.bits:
        raise Question(f"{word:#x} is not a {descriptor.bits}-bit word")
    fault = reserved(descriptor, word)
    if fault:
        raise Question(fault)
    return fields_of(descriptor, word)

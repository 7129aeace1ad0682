"""What one integer instruction computes, in the numbers of one thread."""

from __future__ import annotations

from collections.abc import Sequence

from ..values.lanes import COMPARE, TWO

__all__ = ["MASK", "computed"]

MASK = (1 << 64) - 1


def computed(words: Sequence[str], bits: int, values: Sequence[int | None]) -> int | None:
    """What an instruction makes of its sources; None where that is not known.

    words: its name's parts; bits: the size of its type.
    """
    head, kind = words[0], words[-1]
    if head == "selp" and len(values) == 3:
        return None if values[2] is None else values[0 if values[2] else 1]
    if kind == "pred" and head in ("and", "or") and None in values:
        stops = 0 if head == "and" else 1
        return stops if stops in values else None
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known or kind[0] == "f":
        return None
    if head in ("mov", "cvta", "mapa"):
        return known[0]
    if head == "cvt":
        return _converted(words, known[0], bits)
    if kind == "pred":
        if head == "not":
            return 1 - (known[0] & 1)
        return TWO[head](known[0], known[1]) & 1 if head in TWO and len(known) == 2 else None
    return _arithmetic(words, known, bits)


def _converted(words: Sequence[str], value: int, bits: int) -> int | None:
    source = words[-1]
    size = int(source[1:]) if source[1:].isdigit() else 64
    if source[0] == "s":
        return _fit(value, size, True) & MASK
    if words[-2][1:].isdigit():
        return value & ((1 << min(bits, int(words[-2][1:]))) - 1)
    return value


def _arithmetic(words: Sequence[str], known: Sequence[int], bits: int) -> int | None:
    head = words[0]
    signed = words[-1][0] == "s"
    mask = (1 << bits) - 1
    fitted = [_fit(value, bits, signed) for value in known]
    if head == "setp" and words[1] in COMPARE and len(known) >= 2:
        result = int(COMPARE[words[1]](fitted[0], fitted[1]))
        if len(known) == 3:
            joins = {"and": result & known[2], "or": result | known[2], "xor": result ^ known[2]}
            return joins.get(words[2])
        return result
    if head in ("mul", "mad") and "wide" in words:
        return (fitted[0] * fitted[1] + (known[2] if head == "mad" else 0)) & MASK
    if head in ("mul", "mad"):
        product = fitted[0] * fitted[1] >> (bits if "hi" in words else 0)
        return (product + (known[2] if head == "mad" else 0)) & mask
    if head == "bfe" and len(known) == 3 and known[1] + known[2] <= bits:
        field = known[0] >> known[1] & (1 << known[2]) - 1
        return _fit(field, known[2], signed) & mask if known[2] else 0
    if head == "bfi" and len(known) == 4:
        field = (1 << known[3]) - 1
        return known[1] & ~(field << known[2]) | (known[0] & field) << known[2]
    if head in TWO and len(known) == 2 and (fitted[1] or head not in ("div", "rem")):
        second = known[1] if head in ("shl", "shr") else fitted[1]
        return TWO[head](fitted[0], second) & mask
    if head == "lop3" and len(known) == 4:
        return _lop3(known[0], known[1], known[2], known[3]) & mask
    if head in ("not", "neg", "abs") and len(known) == 1:
        return {"not": ~known[0], "neg": -known[0], "abs": abs(fitted[0])}[head] & mask
    return None


def _fit(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _lop3(a: int, b: int, c: int, table: int) -> int:
    result = 0
    for row in range(8):
        if table >> row & 1:
            term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
            result |= term
    return result

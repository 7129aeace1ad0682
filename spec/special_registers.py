"""The types of registers by what is written: declared ones, special ones, and the components of vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .errors import SpecError
from .index import Index
from .model import Gate
from .nodes import nearest
from .statements import PARTS

__all__ = ["late_registers", "scalar_of", "special_types", "type_of", "vector_length"]

_NUMBERED = re.compile(r"(.*)<(\d+)>")
_VECTOR = re.compile(r"v(\d)\.")


def special_types(index: Index) -> Mapping[str, str]:
    """The type of every special register, and of every component of one, by its text."""
    found: dict[str, str] = {}
    for kind, listed in index.special_registers.items():
        for name in _numbered(listed):
            found[f"%{name}"] = kind
            if vector_length(kind):
                found.update({f"%{name}.{part}": scalar_of(kind) for part in PARTS})
    return found


def late_registers(index: Index) -> Mapping[str, Gate]:
    """The gate of every special register that has one, and of its components, by its text."""
    found: dict[str, Gate] = {}
    kinds = {name: kind for kind, listed in index.special_registers.items() for name in listed}
    for late in index.late_registers:
        for listed in late.registers:
            if listed not in kinds:
                what = f"there is no special register {listed!r}"
                raise SpecError(what, late.place, nearest(listed, kinds) or ", ".join(kinds))
            parts = ("", *(f".{part}" for part in PARTS)) if vector_length(kinds[listed]) else ("",)
            for name in _numbered([listed]):
                found.update({f"%{name}{part}": late.gate for part in parts})
    return found


def _numbered(listed: Iterable[str]) -> Iterable[str]:
    """The names, `pm<8>` written out."""
    for name in listed:
        several = _NUMBERED.fullmatch(name)
        yield from [f"{several[1]}{number}" for number in range(int(several[2]))] if several else [name]


def vector_length(kind: str) -> int:
    """How many registers a vector variable has; 0 for the type of a single register."""
    found = _VECTOR.match(kind)
    return int(found[1]) if found else 0


def scalar_of(kind: str) -> str:
    """The type of a component: `b32` of `v4.b32`; that of a single register is its own."""
    return _VECTOR.sub("", kind)


def type_of(text: str, declared: Mapping[str, str], special: Mapping[str, str]) -> str | None:
    """The type of a register, or of a component of a vector variable; None where nobody declares it."""
    found = declared.get(text) or special.get(text)
    if found is None and "." in text:
        whole = declared.get(text.partition(".")[0], "")
        return scalar_of(whole) if vector_length(whole) else None
    return found

"""Parse one PTX statement: guard, qualifiers, the form of every operand, declared register types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from .constants import SyntaxFault, constant_of, literal_of, signed
from .float_constants import is_float, is_single
from .lazy_dataclass import dataclass

__all__ = [
    "PARTS",
    "Argument",
    "Statement",
    "argument_of",
    "arguments",
    "element_kind",
    "read_statement",
]


class Argument(NamedTuple):
    """An operand's written form: what it is, its length or value, the registers it names.

    `shape` is vector, register, negated, immediate, address, sum (a register and a constant), float (a
    literal) or sink (``_`` outside a vector). No operand of a tensor-core instruction takes the last two.
    `literals` counts those among a vector's elements; an address without a register or a variable is an
    immediate one.
    """

    shape: str
    value: int
    registers: tuple[str, ...]
    literals: int = 0


@dataclass(frozen=True)
class Statement:
    """`mnemonic` with its qualifiers, the operands' text, and the types of declared registers.

    `written` is the mnemonic as it stands in the text, where blanks part it. A vector variable is declared as
    `v4.b32`.
    """

    guard: str | None
    mnemonic: str
    operands: str
    declared: Mapping[str, str]
    written: str | None = None


PARTS = "xyzwrgba"  # the components of a vector variable
_NAME = r"(?:[A-Za-z]|[%$_][A-Za-z0-9_$])[A-Za-z0-9_$]*"  # an identifier (4.4)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_FOREIGN = re.compile(r"[^ -~\t\n\r\f]")  # outside comments, no assembler reads another character
_DECLARATION = re.compile(r"\s*\.reg\s+(?:\.(v\d)\s*)?\.(\w+)\s+([^;]*?)\s*(?:;|$)")
_DECLARED = re.compile(rf"({_NAME})\s*(?:<\s*(\d+)\s*>)?$")
_LABELS = re.compile(rf"(?:\s*{_NAME}\s*:(?!:))+")
_GUARD = re.compile(rf"\s*@\s*(!?)\s*({_NAME})\s+")
_MNEMONIC = re.compile(r"\s*([A-Za-z_][\w:]*(?:\s*\.[\w:]+|\s+::\w+)*)\s*")
_ARGUMENT = re.compile(r"\s*(?:\{([^{}]*)\}|\[([^\[\]]*)\]|([^\s,{}\[\];][^,{}\[\];]*?))\s*(?:,|$)")
_NAMED = re.compile(rf"(?!WARP_SZ\b){_NAME}")
_REGISTER = re.compile(rf"(?!WARP_SZ$)(?:{_NAME}(?:\.[xyzwrgba])?|_)")
_SUM = re.compile(rf"((?!WARP_SZ\b){_NAME})\s*\+(?P<constant>.+)")
_INTEGER = re.compile(r"([+-]?)\s*(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?")
_LITERAL = frozenset(("immediate", "float"))
_DIGITS = 20  # decimal ones that a number of registers may have


def read_statement(text: str) -> Statement:
    """Read register declarations, then exactly one statement; raises SyntaxFault."""
    if "/" in text:
        text = _COMMENT.sub(" ", text)
        if "/*" in text:
            raise SyntaxFault("a comment begins with '/*' and does not end", text.index("/*") + 1)
    foreign = None if text.isascii() and text.isprintable() else _FOREIGN.search(text)
    if foreign:
        raise SyntaxFault(f"{foreign[0]!r} may stand in a comment only", foreign.start() + 1)
    rest, offset = text, 0
    declared: dict[str, str] = {}
    if ".reg" in text:
        rest, declared = _declarations(text)
        offset = len(text) - len(rest)
    rest = rest.rstrip()
    if not rest.strip():
        where = " behind the declarations" if declared else ""
        raise SyntaxFault(f"there is no statement{where}; one ends with ';'", offset + 1)
    if not rest.endswith(";"):
        raise SyntaxFault("the statement does not end with ';'", offset + len(rest) + 1)
    rest = rest[:-1]
    if ";" in rest:
        raise SyntaxFault("more than one statement", offset + rest.index(";") + 2)
    guard = None
    if "@" in rest or ":" in rest:
        labels = _LABELS.match(rest)
        if labels:
            rest, offset = rest[labels.end() :], offset + labels.end()
        found = _GUARD.match(rest)
        if found:
            guard = found[1] + found[2]
            rest, offset = rest[found.end() :], offset + found.end()
    opcode = _MNEMONIC.match(rest)
    if not opcode:
        raise SyntaxFault("no instruction name", offset + 1)
    words = opcode[1].split()
    written = opcode[1] if len(words) > 1 else None
    return Statement(guard, "".join(words), rest[opcode.end() :], declared, written)


def _declarations(text: str) -> tuple[str, dict[str, str]]:
    declared: dict[str, str] = {}
    while found := _DECLARATION.match(text):
        kind = f"{found[1]}.{found[2]}" if found[1] else found[2]
        for item in found[3].split(","):
            name = _DECLARED.match(item.strip())
            if not name:
                raise SyntaxFault(f"{item.strip()!r} is not a register name", found.start(3) + 1)
            digits = (name[2] or "").lstrip("0")
            if len(digits) > _DIGITS:
                raise SyntaxFault(f"a number of {len(digits)} digits of registers", found.start(3) + 1)
            count = int(digits or "0") if name[2] else None
            if count is not None and count > 1 << 20:
                raise SyntaxFault(f"{count} registers in one declaration", found.start(3) + 1)
            if count is None:
                declared[name[1]] = kind
            else:
                declared.update(dict.fromkeys(map(name[1].__add__, map(str, range(count))), kind))
        text = text[found.end() :]
    return text, declared


@lru_cache(maxsize=1 << 14)
def arguments(text: str) -> tuple[Argument, ...]:
    """The operands of a statement, by their form; raises SyntaxFault."""
    found: list[Argument] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _ARGUMENT.match(text, position)
        if not match:
            raise SyntaxFault(f"no operand at {text[position : position + 20].strip()!r}", position + 1)
        vector, address, plain = match.groups()
        if vector is not None:
            found.append(_vector(vector))
        elif address is not None:
            found.append(_address(address.strip()))
        else:
            found.append(argument_of(plain))
        if match[0].rstrip().endswith(",") and match.end() >= end:
            raise SyntaxFault("an operand is missing behind the last ','", end)
        position = match.end()
    return tuple(found)


def _vector(text: str) -> Argument:
    parts = text.split(",")
    registers = tuple(map(str.strip, parts))
    if not all(registers):
        raise SyntaxFault("a vector has an empty element")
    literals = 0
    for element in registers:
        if not _REGISTER.fullmatch(element):
            if argument_of(element).shape not in _LITERAL:
                raise SyntaxFault(f"{element} may not stand in a vector")
            literals += 1
    return Argument("vector", len(registers), registers, literals)


def element_kind(text: str) -> str:
    """What an element of a vector is: integer, single or double (floating point), sink or register."""
    if text == "_":
        return "sink"
    if _REGISTER.fullmatch(text):
        return "register"
    if argument_of(text).shape != "float":
        return "integer"
    return "single" if is_single(text) else "double"


def _address(text: str) -> Argument:
    """`[name]`, `[name+offset]` or an immediate address."""
    base = _NAMED.match(text)
    if base is None:
        if argument_of(text).shape != "immediate":
            raise SyntaxFault(f"[{text}] is not an address")
        return Argument("address", 0, ())
    behind = text[base.end() :].strip()
    if behind:
        if behind[0] == "-":
            raise SyntaxFault(f"[{text}] is not an address; write [{base[0]}+{behind}]")
        if behind[0] != "+" or argument_of(behind[1:].strip()).shape != "immediate":
            raise SyntaxFault(f"[{text}] is not an address; it may be [{base[0]}] or [{base[0]}+offset]")
    return Argument("address", 0, (base[0],))


def argument_of(text: str) -> Argument:
    """The form of an operand (or of a vector's element) that is neither a vector nor an address."""
    if _REGISTER.fullmatch(text) and text != "_":
        return Argument("register", 1, (text,))
    integer = _INTEGER.fullmatch(text)
    if integer:
        value = literal_of(integer[2], text)
        return Argument("immediate", signed(-value if integer[1] == "-" else value), ())
    if text.startswith("!"):
        behind = text[1:].strip()
        if _REGISTER.fullmatch(behind):
            return Argument("negated", 1, (behind,))
    if text == "_":
        return Argument("sink", 0, ())
    if is_float(text):
        return Argument("float", 0, ())
    added = _SUM.fullmatch(text)
    if added:
        constant_of(added["constant"].strip())
        return Argument("sum", 1, (added[1],))
    return Argument("immediate", constant_of(text), ())

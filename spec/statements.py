"""Parse one PTX statement: guard, qualifiers, the form of every operand, declared register types."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from .errors import PtxmmaError

__all__ = [
    "Argument",
    "Statement",
    "SyntaxFault",
    "argument_of",
    "arguments",
    "element_kind",
    "read_statement",
]


class SyntaxFault(PtxmmaError):
    """The text is not one PTX statement; `column` counts from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        self.column = column
        super().__init__(message)


class Argument(NamedTuple):
    """An operand's written form: what it is, its length or value, the registers it names.

    `shape` is vector, register, negated, immediate, address, float (a literal) or sink (``_`` outside a
    vector). No operand of a tensor-core instruction takes the last two. `literals` counts those among a
    vector's elements; an address without a register or a variable is an immediate one.
    """

    shape: str
    value: int
    registers: tuple[str, ...]
    literals: int = 0


@dataclass(frozen=True)
class Statement:
    """`mnemonic` with its qualifiers, the operands' text, and the types of declared registers."""

    guard: str | None
    mnemonic: str
    operands: str
    declared: Mapping[str, str]


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_DECLARATION = re.compile(r"\s*\.reg\s+(?:\.v\d\s+)?\.(\w+)\s+([^;]*?)\s*(?:;|$)")
_DECLARED = re.compile(r"([%$\w]+)\s*(?:<\s*(\d+)\s*>)?$")
_LABEL = re.compile(r"\s*[A-Za-z_$%][\w$]*\s*:(?!:)")
_GUARD = re.compile(r"\s*@\s*(!?)\s*([%$A-Za-z_][\w$%]*)\s+")
_MNEMONIC = re.compile(r"\s*([A-Za-z_][\w:]*(?:\s*\.\s*[\w:]+)*)\s*")
_ARGUMENT = re.compile(r"\s*(?:\{([^{}]*)\}|\[([^\[\]]*)\]|([^\s,{}\[\];][^,{}\[\];]*?))\s*(?:,|$)")
_REGISTER = re.compile(r"[%$A-Za-z_][\w$]*(?:\.[xyzwrgba])?")
_INTEGER = re.compile(r"([+-]?)\s*(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?")
_UNSIGNED = re.compile(r"\b(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U\b")
_OCTAL = re.compile(r"(^|[^\w.])0([0-7]+)\b")
_MASK = (1 << 64) - 1
_DIGITS = 20  # decimal ones that 64 bits may have
_UNARY: Mapping[type[ast.unaryop], Callable[[int], int]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_BINARY: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: lambda a, b: a << min(b, 64),
    ast.RShift: lambda a, b: a >> min(b, 64),
}
_FLOAT = re.compile(r"[+-]?(?:0[fFdD][0-9a-fA-F]+|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)")


def read_statement(text: str) -> Statement:
    """Read register declarations, then exactly one statement; raises SyntaxFault."""
    if "/" in text:
        text = _COMMENT.sub(" ", text)
        if "/*" in text:
            raise SyntaxFault("a comment begins with '/*' and does not end", text.index("/*") + 1)
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
        label = _LABEL.match(rest)
        if label:
            rest, offset = rest[label.end() :], offset + label.end()
        found = _GUARD.match(rest)
        if found:
            guard = found[1] + found[2]
            rest, offset = rest[found.end() :], offset + found.end()
    opcode = _MNEMONIC.match(rest)
    if not opcode:
        raise SyntaxFault("no instruction name", offset + 1)
    mnemonic = opcode[1]
    if not mnemonic.isascii():
        raise SyntaxFault("an instruction name is ASCII", offset + 1)
    return Statement(guard, "".join(mnemonic.split()), rest[opcode.end() :], declared)


def _declarations(text: str) -> tuple[str, dict[str, str]]:
    declared: dict[str, str] = {}
    while found := _DECLARATION.match(text):
        for item in found[2].split(","):
            name = _DECLARED.match(item.strip())
            if not name:
                raise SyntaxFault(f"{item.strip()!r} is not a register name", found.start(2) + 1)
            digits = (name[2] or "").lstrip("0")
            if len(digits) > _DIGITS:
                raise SyntaxFault(f"a number of {len(digits)} digits of registers", found.start(2) + 1)
            count = int(digits or "0") if name[2] else None
            if count is not None and count > 1 << 20:
                raise SyntaxFault(f"{count} registers in one declaration", found.start(2) + 1)
            if count is None:
                declared[name[1]] = found[1]
            else:
                declared.update((f"{name[1]}{i}", found[1]) for i in range(count))
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
            argument_of(element)
            literals += 1
    return Argument("vector", len(registers), registers, literals)


def element_kind(text: str) -> str:
    """What an element of a vector is: integer, float, sink or register."""
    if text == "_":
        return "sink"
    if _REGISTER.fullmatch(text):
        return "register"
    return "float" if argument_of(text).shape == "float" else "integer"


def _address(text: str) -> Argument:
    """`[name]`, `[name+offset]` or an immediate address."""
    base = _REGISTER.match(text)
    if base is None or text == "_":
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
        digits = integer[2]
        base = 0 if digits[:2].lower() in ("0x", "0b") else 8 if digits[0] == "0" else 10
        # int() refuses thousands of decimal digits. ptxas 12.0 to 13.5 say "Constant overflow" of most too
        # large numbers, and take a few for small ones.
        value = _MASK + 1 if base == 10 and len(digits) > _DIGITS else int(digits, base)
        if value > _MASK:
            raise SyntaxFault(f"{text} does not fit in the 64 bits of an integer constant (4.5.1)")
        return Argument("immediate", _wrap(-value if integer[1] == "-" else value), ())
    if text.startswith("!"):
        behind = text[1:].strip()
        if _REGISTER.fullmatch(behind):
            return Argument("negated", 1, (behind,))
    if text == "_":
        return Argument("sink", 0, ())
    if _FLOAT.fullmatch(text):
        return Argument("float", 0, ())
    return Argument("immediate", _constant(text), ())


def _constant(text: str) -> int:
    """The value of a constant expression, in 64-bit arithmetic as ptxas has it."""
    plain = _OCTAL.sub(r"\g<1>0o\g<2>", _UNSIGNED.sub(r"\g<1>", text)).replace("!", " not ")
    try:
        value = _evaluate(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        raise SyntaxFault(f"{text!r} is not an operand") from None
    return _wrap(value)


def _wrap(value: int) -> int:
    """The value as a signed 64-bit integer."""
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


def _evaluate(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return int(value)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return int(_UNARY[type(op)](_evaluate(operand)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return int(_BINARY[type(op)](_evaluate(left), _evaluate(right))) & _MASK
    raise ValueError

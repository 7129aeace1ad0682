"""The value of an integer constant expression of PTX: 64 bits, signed or unsigned (PTX ISA 4.5)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from .errors import PtxmmaError

__all__ = ["MASK", "SyntaxFault", "constant_of", "literal_of", "signed"]

MASK = (1 << 64) - 1
_DEEPEST = 50  # expressions inside one another
_DIGITS = 20  # decimal ones that 64 bits may have
_WARP = 32  # WARP_SZ
_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)(?P<unsigned>U?)(?![\w.$])"
    r"|(?P<warp>WARP_SZ)(?![\w$])|\(\s*(?P<cast>\.[su]64)\s*\)"
    r"|(?P<sign>\|\||&&|<<|>>|[=!<>]=|%(?![\w$])|[-+*/&|^<>!~?:()]))"
)
_LEVELS: Mapping[str, int] = {
    sign: level
    for level, signs in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %"), 1
    )
    for sign in signs.split()
}
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class SyntaxFault(PtxmmaError):
    """The text is not one PTX statement, or not an operand of one; `column` counts from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        self.column = column
        super().__init__(message)


class _TypedInteger(NamedTuple):
    """A value of type .s64 or .u64."""

    value: int
    unsigned: bool


def constant_of(text: str) -> int:
    """The 64 bits of an expression, as a signed number; raises SyntaxFault."""
    reader = _ConstantReader(text)
    found = reader.expression()
    reader.expect("")
    return signed(found.value)


def signed(value: int) -> int:
    """The value as a signed 64-bit integer."""
    value &= MASK
    return value - (1 << 64) if value >> 63 else value


def literal_of(digits: str, text: str) -> int:
    """The value of an integer literal without sign and `U`, which stands in `text`; raises SyntaxFault.

    int() refuses thousands of decimal digits. ptxas 12.0 to 13.5 say "Constant overflow" of most too large
    numbers, and take a few for small ones.
    """
    base = 0 if digits[:2].lower() in ("0x", "0b") else 8 if digits[0] == "0" else 10
    value = MASK + 1 if base == 10 and len(digits) > _DIGITS else int(digits, base)
    if value > MASK:
        raise SyntaxFault(f"{text} does not fit in the 64 bits of an integer constant (4.5.1)")
    return value


def _made(value: int, unsigned: bool) -> _TypedInteger:
    return _TypedInteger(value & MASK if unsigned else signed(value), unsigned)


class _ConstantReader:
    """Reads the tokens of an expression from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = self._split()
        self._depth = 0
        self._next()

    def _split(self) -> Iterator[re.Match[str]]:
        position, end = 0, len(self.text.rstrip())
        while position < end:
            found = _TOKEN.match(self.text, position)
            if found is None:
                raise self._fault()
            yield found
            position = found.end()

    def _next(self) -> None:
        self._token = next(self._tokens, None)
        self._sign = self._token["sign"] or "" if self._token else ""

    def _fault(self) -> SyntaxFault:
        return SyntaxFault(f"{self.text!r} is not an operand")

    def expect(self, sign: str) -> None:
        """Go behind a sign; `""` is the end."""
        if self._sign != sign or (not sign and self._token):
            raise self._fault()
        self._next()

    def expression(self) -> _TypedInteger:
        """A conditional expression. Its value keeps its own type: so ptxas has it, against 4.5.5
        (asm-constant-types in the register)."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._fault()
        found = self._binary(1)
        if self._sign == "?":
            self._next()
            first = self.expression()
            self.expect(":")
            second = self.expression()
            found = first if found.value else second
        self._depth -= 1
        return found

    def _binary(self, lowest: int) -> _TypedInteger:
        left = self._unary()
        while (level := _LEVELS.get(self._sign, 0)) >= lowest:
            sign = self._sign
            self._next()
            left = self._applied(sign, left, self._binary(level + 1))
        return left

    def _unary(self) -> _TypedInteger:
        before: list[str] = []
        while self._token and (self._token["cast"] or self._sign in ("+", "-", "!", "~")):
            before.append(self._token["cast"] or self._sign)
            self._next()
        found = self._primary()
        for sign in reversed(before):
            match sign:
                case "-":
                    found = _made(-found.value, found.unsigned)
                case "!":
                    found = _TypedInteger(int(not found.value), False)
                case "~":
                    found = _made(~found.value, True)
                case ".u64" | ".s64":
                    found = _made(found.value, sign == ".u64")
        return found

    def _primary(self) -> _TypedInteger:
        token = self._token
        if token is None:
            raise self._fault()
        if token["sign"]:
            self.expect("(")
            found = self.expression()
            self.expect(")")
            return found
        self._next()
        value = _WARP if token["warp"] else literal_of(token["number"], token["number"])
        return _TypedInteger(value, bool(token["unsigned"]) or value >> 63 > 0)

    def _applied(self, sign: str, left: _TypedInteger, right: _TypedInteger) -> _TypedInteger:
        unsigned = left.unsigned or right.unsigned
        if sign in ("&&", "||"):
            both = bool(left.value), bool(right.value)
            return _TypedInteger(int(all(both) if sign == "&&" else any(both)), False)
        if sign in ("<<", ">>"):
            count = right.value & 63  # as ptxas counts; the text says nothing of 64 and more
            return _made(left.value << count if sign == "<<" else left.value >> count, left.unsigned)
        a, b = _made(left.value, unsigned).value, _made(right.value, unsigned).value
        if sign in _ARITHMETIC:
            return _made(_ARITHMETIC[sign](a, b), unsigned)
        if sign in _COMPARISONS:
            return _TypedInteger(int(_COMPARISONS[sign](a, b)), False)
        if not b:
            raise SyntaxFault(f"{self.text!r} divides by zero")
        if sign == "%":  # of unsigned numbers; so is the result, by ptxas: the text calls it signed
            return _made((a & MASK) % (b & MASK), True)
        quotient = abs(a) // abs(b)
        return _made(-quotient if (a < 0) != (b < 0) else quotient, unsigned)

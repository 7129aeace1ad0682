"""What an integer instruction computes: the only place that defines PTX's arithmetic.

Every rule is said once, for every kind of value (word_algebra.py). A number is the bits of a register, read
as an unsigned integer: −1 in a .b32 register is 0xffffffff (PTX ISA 9.7.1, 9.7.8, 9.7.9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from . import bit_rules
from .opcode_kind import ArithmeticRule, OpcodeKind, bits_of
from .word_algebra import NUMBER, WORD, NoResultError, WordAlgebra

__all__ = ["DECIDED", "MASK", "MOVES", "as_signed", "computed", "rule_of"]

MASK = (1 << WORD) - 1
DECIDED: Mapping[str, int | None] = {"selp": None, "and": 0, "or": 1}  # what one known source may decide
_INTEGERS = "usb"  # the first letters of their types
_FIELD_BITS = 8  # of the operands that say where a bit field lies
_SHIFT_BITS = 32  # of the operand that says how far to shift
_FACTOR_BITS = 24  # of the factors of mul24 and mad24
_UPPER_PLACE = 16  # of the upper half of their product
_ONE = 0x3F800000  # 1.0 in .f32


def as_signed(number: int, bits: int) -> int:
    """The number that the lowest bits spell in two's complement."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def computed(words: tuple[str, ...], values: Sequence[int | None]) -> int | None:
    """The result of an instruction in one thread, by the words of its opcode and its sources; None if
    unknown.

    A source may be None (unknown): the others may decide the result.
    """
    if None not in values:
        rule = rule_of(words, len(values))
        try:
            return None if rule is None else rule(NUMBER, *values)
        except NoResultError:
            return None
    if words[0] == "selp" and len(values) == 3:
        return None if values[2] is None else values[0 if values[2] & 1 else 1]
    decides = DECIDED.get(words[0]) if words[-1] == "pred" else None
    return decides if decides is not None and decides in values else None


@lru_cache(maxsize=1 << 10)
def rule_of(words: tuple[str, ...], count: int) -> ArithmeticRule | None:
    """The rule of an instruction of `count` sources; None if it is not modelled."""
    bits = 1 if words[-1] == "pred" else bits_of(words)
    kind = OpcodeKind(words, bits, words[-1][0] == "s")
    if words[0] in _ANY_TYPE:
        return _ANY_TYPE[words[0]](kind, count)
    if words[-1] == "pred":
        make = _OF_PREDICATES.get((words[0], count))
    elif words[-1][0] in _INTEGERS and "sat" not in words and kind.bits <= WORD:
        make = _OF_INTEGERS.get((words[0], count))
    else:
        return None
    return None if make is None else make(kind)


def _moved(kind: OpcodeKind, count: int) -> ArithmeticRule | None:
    bits = kind.bits
    return lambda m, a, *_: m.low(a, bits)


def _selected(kind: OpcodeKind, count: int) -> ArithmeticRule | None:
    bits = kind.bits
    return (lambda m, a, b, p: m.low(m.chosen(m.low(p, 1), a, b), bits)) if count == 3 else None


def _converted(kind: OpcodeKind, count: int) -> ArithmeticRule | None:
    """Sign or zero extension, then the lowest bits."""
    words = kind.words
    if count != 1 or len(words) < 3 or "sat" in words or "pack" in words:
        return None  # the types do not stand, or do not say it all
    to, source = words[-2:]
    if not (to[1:].isdigit() and source[1:].isdigit()):
        return None
    if to[0] not in _INTEGERS or source[0] not in _INTEGERS:
        return None
    width, read = int(to[1:]), OpcodeKind(words, int(source[1:]), source[0] == "s")
    if max(width, read.bits) > WORD:
        return None
    return lambda m, a: m.low(read.fit(m, a), width)


def _compared(kind: OpcodeKind) -> ArithmeticRule | None:
    """A comparison, and the operator that joins it to a third source."""
    compare = _COMPARE.get(kind.words[1])
    return None if compare is None else lambda m, a, b: compare(kind, m, kind.fit(m, a), kind.fit(m, b))


def _compared_and_joined(kind: OpcodeKind) -> ArithmeticRule | None:
    compare, joins = _compared(kind), _BITWISE.get(kind.words[2])
    if compare is None or joins is None:
        return None
    return lambda m, a, b, c: joins(compare(m, a, b), m.low(c, 1))


def _spelled(make: Callable[[OpcodeKind], ArithmeticRule | None]) -> Callable[..., ArithmeticRule | None]:
    """A comparison whose result is all ones, or 1.0, where it is true (PTX ISA 9.7.8.1)."""

    def made(kind: OpcodeKind) -> ArithmeticRule | None:
        compare, to = make(kind), kind.words[-2]
        if compare is None or to[1:] != "32":
            return None
        true = _ONE if to[0] == "f" else (1 << bits_of(kind.words[:-1])) - 1
        return lambda m, *sources: m.chosen(compare(m, *sources), m.word(true), m.word(0))

    return made


def _selected_by_sign(kind: OpcodeKind) -> ArithmeticRule:
    """The first source where the third is not negative, else the second."""
    width = bits_of(kind.words[:-1])
    return lambda m, a, b, c: m.low(m.chosen(m.less(kind.fit(m, c), m.word(0), True), b, a), width)


def _multiplied(kind: OpcodeKind) -> ArithmeticRule | None:
    """A product, of which a third source may be a summand: the lower half, the upper half, or all of it."""
    bits, signed = kind.bits, kind.signed
    if "wide" in kind.words:
        if 2 * bits > WORD:
            return None
        return lambda m, a, b, *c: m.low(_sum(m.times(kind.fit(m, a), kind.fit(m, b)), c), 2 * bits)
    if "hi" not in kind.words:
        return lambda m, a, b, *c: m.low(_sum(m.times(a, b), c), bits)
    if bits == WORD:
        return lambda m, a, b, *c: m.low(_sum(m.high(a, b, signed), c), bits)
    return lambda m, a, b, *c: m.low(
        _sum(m.right(m.times(kind.fit(m, a), kind.fit(m, b)), m.word(bits), signed), c), bits
    )


def _multiplied_short(kind: OpcodeKind) -> ArithmeticRule:
    """A product of 24-bit numbers: its bits from 0 or from 16 on. A third source may be a summand."""
    bits, fit = kind.bits, kind._replace(bits=_FACTOR_BITS).fit
    down = _UPPER_PLACE if "hi" in kind.words else 0

    def rule(m: WordAlgebra[Any], a: Any, b: Any, *c: Any) -> Any:
        product = m.right(m.times(fit(m, a), fit(m, b)), m.word(down), False)
        return m.low(_sum(m.low(product, bits), c), bits)

    return rule


def _summed_products(kind: OpcodeKind) -> ArithmeticRule:
    """The products of four bytes each, or of two halves and two bytes, and a third source."""
    words, halves = kind.words, kind.words[0] == "dp2a"
    width, count = (16, 2) if halves else (8, 4)
    first = 2 if halves and "hi" in words else 0

    def rule(m: WordAlgebra[Any], a: Any, b: Any, c: Any) -> Any:
        for place in range(count):
            sides = (a, words[-2], width, place), (b, words[-1], 8, first + place)
            parts = []
            for source, letter, size, at in sides:
                part = m.right(m.low(source, kind.bits), m.word(size * at), False)
                parts.append(m.signed(part, size) if letter[0] == "s" else m.low(part, size))
            c = m.low(c + m.times(*parts), kind.bits)
        return m.low(c, kind.bits)

    return rule


def _difference_added(kind: OpcodeKind) -> ArithmeticRule:
    """The distance of two sources, and a third source."""
    bits = kind.bits

    def rule(m: WordAlgebra[Any], a: Any, b: Any, c: Any) -> Any:
        a, b = kind.fit(m, a), kind.fit(m, b)
        return m.low(c + m.chosen(m.less(a, b, kind.signed), m.minus(b, a), m.minus(a, b)), bits)

    return rule


def _sum(product: Any, summand: tuple[Any, ...]) -> Any:
    return product + summand[0] if summand else product


def _shifted(kind: OpcodeKind) -> ArithmeticRule:
    bits, signed = kind.bits, kind.signed
    if kind.words[0] == "shl":
        return lambda m, a, b: m.low(m.left(a, m.low(b, _SHIFT_BITS)), bits)
    return lambda m, a, b: m.low(m.right(kind.fit(m, a), m.low(b, _SHIFT_BITS), signed), bits)


def _divided(kind: OpcodeKind) -> ArithmeticRule:
    """A quotient towards zero, or the remainder that it leaves."""
    bits = kind.bits
    rest = kind.words[0] == "rem"

    def rule(m: WordAlgebra[Any], a: Any, b: Any) -> Any:
        a, b = kind.fit(m, a), kind.fit(m, b)
        if not kind.signed:
            found = m.quotient(a, b)
        else:
            zero = m.word(0)
            signs = m.less(a, zero, True), m.less(b, zero, True)
            sizes = (m.chosen(s, m.minus(zero, n), n) for s, n in zip(signs, (a, b), strict=True))
            found = m.quotient(*sizes)
            found = m.chosen(signs[0] ^ signs[1], m.minus(zero, found), found)
        return m.low(m.minus(a, m.times(b, found)) if rest else found, bits)

    return rule


def _extreme(kind: OpcodeKind) -> ArithmeticRule:
    least, bits, signed = kind.words[0] == "min", kind.bits, kind.signed

    def rule(m: WordAlgebra[Any], a: Any, b: Any) -> Any:
        a, b = kind.fit(m, a), kind.fit(m, b)
        first = m.less(a, b, signed) if least else m.less(b, a, signed)
        return m.low(m.chosen(first, a, b), bits)

    return rule


def _extracted(kind: OpcodeKind) -> ArithmeticRule:
    """A bit field; a signed one has no result that reaches beyond the word."""
    bits = kind.bits

    def rule(m: WordAlgebra[Any], a: Any, low: Any, count: Any) -> Any:
        low, count = m.low(low, _FIELD_BITS), m.low(count, _FIELD_BITS)
        if not kind.signed:
            return m.right(m.low(a, bits), low, False) & _ones(m, count)
        wide = m.number(count)
        if wide and m.number(low) + wide > bits:
            raise NoResultError
        return m.low(m.signed(m.right(m.low(a, bits), low, False), wide), bits) if wide else m.word(0)

    return rule


def _inserted(kind: OpcodeKind) -> ArithmeticRule:
    bits = kind.bits

    def rule(m: WordAlgebra[Any], field: Any, word: Any, low: Any, count: Any) -> Any:
        low, count = m.low(low, _FIELD_BITS), m.low(count, _FIELD_BITS)
        kept = m.left(_ones(m, count), low)
        return m.low(m.low(word, bits) & (kept ^ m.word(MASK)) | m.left(field, low) & kept, bits)

    return rule


def _ones(m: WordAlgebra[Any], count: Any) -> Any:
    """So many ones."""
    return m.minus(m.left(m.word(1), count), m.word(1))


def _looked_up(kind: OpcodeKind) -> ArithmeticRule:
    """For each bit, the entry of an eight-entry table that the three source bits select."""
    bits = kind.bits

    def rule(m: WordAlgebra[Any], a: Any, b: Any, c: Any, table: Any) -> Any:
        entries, every = m.number(table), m.word(MASK)
        found = m.word(0)
        for row in range(8):
            if entries >> row & 1:
                sides = zip((a, b, c), (4, 2, 1), strict=True)
                x, y, z = (source if row & place else source ^ every for source, place in sides)
                found |= x & y & z
        return m.low(found, bits)

    return rule


def _each(operate: Callable[[WordAlgebra[Any], Any], Any]) -> Callable[[OpcodeKind], ArithmeticRule]:
    """An operation on one source, as its type reads it."""
    return lambda kind: lambda m, a: m.low(operate(m, kind.fit(m, a)), kind.bits)


def _of_bits(name: str) -> Callable[[OpcodeKind], ArithmeticRule]:
    """An operation on single bits."""
    operate = _BITWISE[name]
    return lambda kind: lambda m, a, b: m.low(operate(a, b), kind.bits)


def _added(kind: OpcodeKind) -> ArithmeticRule:
    bits = kind.bits
    return lambda m, a, b: m.low(a + b, bits)


def _subtracted(kind: OpcodeKind) -> ArithmeticRule:
    bits = kind.bits
    return lambda m, a, b: m.low(m.minus(a, b), bits)


_BITWISE: Mapping[str, Callable[[Any, Any], Any]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_Compare = Callable[[OpcodeKind, WordAlgebra[Any], Any, Any], Any]


def _less(negated: bool, swapped: bool) -> _Compare:
    def compare(kind: OpcodeKind, m: WordAlgebra[Any], a: Any, b: Any) -> Any:
        found = m.less(b, a, kind.signed) if swapped else m.less(a, b, kind.signed)
        return found ^ m.word(1) if negated else found

    return compare


_COMPARE: Mapping[str, _Compare] = {
    "eq": lambda kind, m, a, b: m.equal(a, b),
    "ne": lambda kind, m, a, b: m.equal(a, b) ^ m.word(1),
    **dict.fromkeys(("lt", "lo"), _less(False, False)),
    **dict.fromkeys(("ge", "hs"), _less(True, False)),
    **dict.fromkeys(("gt", "hi"), _less(False, True)),
    **dict.fromkeys(("le", "ls"), _less(True, True)),
}
MOVES = ("mov", "cvta")  # they pass a number or an address on
# By the opcode's first word, whatever its type is.
_ANY_TYPE: Mapping[str, Callable[[OpcodeKind, int], ArithmeticRule | None]] = {
    **dict.fromkeys((*MOVES, "mapa"), _moved),
    "selp": _selected,
    "cvt": _converted,
    "prmt": bit_rules.permuted,
}
# By the first word and the number of sources.
_OF_PREDICATES: Mapping[tuple[str, int], Callable[[OpcodeKind], ArithmeticRule | None]] = {
    ("not", 1): lambda kind: lambda m, a: m.low(a, 1) ^ m.word(1),
    **{(name, 2): _of_bits(name) for name in _BITWISE},
}
_OF_INTEGERS: Mapping[tuple[str, int], Callable[[OpcodeKind], ArithmeticRule | None]] = {
    ("add", 2): _added,
    ("sub", 2): _subtracted,
    ("mul", 2): _multiplied,
    ("mad", 3): _multiplied,
    ("div", 2): _divided,
    ("rem", 2): _divided,
    ("min", 2): _extreme,
    ("max", 2): _extreme,
    ("setp", 2): _compared,
    ("setp", 3): _compared_and_joined,
    ("set", 2): _spelled(_compared),
    ("set", 3): _spelled(_compared_and_joined),
    ("slct", 3): _selected_by_sign,
    ("mul24", 2): _multiplied_short,
    ("mad24", 3): _multiplied_short,
    ("sad", 3): _difference_added,
    ("dp4a", 3): _summed_products,
    ("dp2a", 3): _summed_products,
    ("shl", 2): _shifted,
    ("shr", 2): _shifted,
    ("bfe", 3): _extracted,
    ("bfi", 4): _inserted,
    ("lop3", 4): _looked_up,
    ("popc", 1): bit_rules.counted,
    ("clz", 1): bit_rules.leading_zeros,
    ("bfind", 1): bit_rules.highest,
    ("fns", 3): bit_rules.nth_found,
    ("brev", 1): bit_rules.turned,
    ("bmsk", 2): bit_rules.masked,
    ("szext", 2): bit_rules.extended,
    ("shf", 3): bit_rules.shifted_pair,
    ("not", 1): _each(lambda m, a: a ^ m.word(MASK)),
    ("cnot", 1): _each(lambda m, a: m.equal(a, m.word(0))),
    ("neg", 1): _each(lambda m, a: m.minus(m.word(0), a)),
    ("abs", 1): lambda kind: _each(
        lambda m, a: m.chosen(m.less(a, m.word(0), kind.signed), m.minus(m.word(0), a), a)
    )(kind),
    **{(name, 2): _of_bits(name) for name in _BITWISE},
}

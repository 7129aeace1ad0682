"""What the bit patterns of a kernel's arithmetic tests amount to: bits, rounding, blocks, special values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...spec.numerics_records import Format
from .arithmetic_probe import Dot
from .arithmetic_tests import ROUNDED, PowersOfTwo

__all__ = ["Summary", "kept", "summary"]


@dataclass(frozen=True)
class Summary:
    """What the patterns of one kernel amount to. Bits count those below the leading one of the greatest term;
    at the greatest distance that the types allow, nothing was lost: `all` says so."""

    bits: int
    all: bool
    bits_c: int
    bits_small_c: int
    dropped: str
    rounding: str
    rounding_c: str
    block: str
    halves: str
    specials: Mapping[str, str]


def kept(dot: Dot, patterns: Mapping[str, int], name: str) -> int:
    """The greatest distance up to which the small term came through."""
    known = PowersOfTwo.of(dot)
    for j in range(known.farthest + 1):
        if dot.value(patterns[f"{name} {j}"]) != 2.0 ** (known.big - j):
            return j - 1
    return known.farthest


def summary(dot: Dot, patterns: Mapping[str, int]) -> Summary:
    """Read the patterns of both sets of tests."""
    known = PowersOfTwo.of(dot)
    bits = kept(dot, patterns, "block")
    every = bits == known.farthest
    unit = 2.0 ** (known.big - bits)
    dropped = "none"
    if not every:
        ends = [dot.value(patterns[f"{name} {bits}"]) / unit for name in ("half", "minus half")]
        words = {
            (1.0, -1.0): "toward zero",
            (2.0, -2.0): "to nearest",
            (1.0, -2.0): "down",
            (1.5, -1.5): "none",
        }
        dropped = words.get((ends[0], ends[1]), f"{ends}")
    specials = {
        name: f"{pattern:#0{2 + _digits(known.d)}x}"
        for name, pattern in patterns.items()
        if not name.startswith(
            ("block", "c ", "small c", "half", "minus", "round", "first", "last", "pair", "two")
        )
    }
    halves = "-"
    if "two halves" in patterns:
        halves = "added first" if dot.value(patterns["two halves"]) else "each dropped"
    return Summary(
        bits,
        every,
        kept(dot, patterns, "c"),
        kept(dot, patterns, "small c"),
        dropped,
        _rounding_word(dot, patterns, "product"),
        _rounding_word(dot, patterns, "c"),
        _block(dot, patterns),
        halves,
        specials,
    )


def _digits(form: Format) -> int:
    return (1 + form.exponent + form.fraction + form.ignored) // 4


def _rounding_word(dot: Dot, patterns: Mapping[str, int], top: str) -> str:
    """What was done with a quarter of the last place, a half, three quarters, one and a half."""
    if kept(dot, patterns, "block" if top == "product" else "c") <= PowersOfTwo.of(dot).d.fraction:
        return "-"
    last = 2.0 ** -PowersOfTwo.of(dot).d.fraction
    seen = []
    for sign, word in ((1.0, "+"), (-1.0, "-")):
        for name in ROUNDED:
            pattern = patterns.get(f"round {word} {name} on {top}")
            if pattern is None:
                return "-"
            seen.append(round((dot.value(pattern) * sign - 1) / last))
    known: dict[tuple[int, ...], str] = {
        (0, 0, 0, 1, 0, 0, 0, 1): "toward zero",
        (0, 0, 1, 2, 0, 0, 1, 2): "to nearest even",
        (0, 1, 1, 2, 0, 1, 1, 2): "to nearest, ties away",
        (0, 0, 0, 2, 0, 0, 0, 2): "to nearest even, at every addition",
        (0, 0, 0, 1, 1, 1, 1, 2): "down",
        (1, 1, 1, 2, 0, 0, 0, 1): "up",
    }
    return known.get(tuple(seen), str(seen))


def _block(dot: Dot, patterns: Mapping[str, int]) -> str:
    """How many consecutive k are aligned together."""
    first = [patterns.get(f"first pair, small {s}") for s in range(2, dot.length)]
    if None in first or not first:
        return "-"
    lost = [not dot.value(pattern or 0) for pattern in first]
    if all(lost):
        return str(dot.length)
    length = 2 + lost.index(False)
    if any(lost[length - 2 :]):
        return "".join("x" if gone else "." for gone in (True, True, *lost))
    return str(length)

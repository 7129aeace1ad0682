"""Every type set of sm_90a comes to the sums that were written down by hand, on inputs that are hard for each."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from ptxmma.gen.arithmetic.numpy_sums import NumpySums
from ptxmma.spec.arithmetic import arithmetic_of
from ptxmma.spec.parts import element_type
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Variant

from .sums_by_hand import FORMATS, INTEGERS, sum_by_hand

WATCHES = ("spec/arithmetic/*.yaml", "spec/numerics.yaml")
JOBS = 40
NEGATED = ((False, False), (True, False), (False, True), (True, True))  # A, B: imm-scale-a, imm-scale-b
SETS = {"wgmma.mma_async": 21, "wgmma.mma_async.sp": 20, "mma": 94, "mma.sp": 44, "wmma.mma": 21}  # of types


def type_sets(specification: Specification, instruction: str) -> Iterator[Variant]:
    """One variant of each set of types, K, rounding and clamping of an instruction."""
    seen = set()
    for variant in specification.families[instruction].variants():
        told = ("k", "atype", "btype", "ctype", "dtype", "satfinite", "rnd", "op")
        key = tuple(variant.fields.get(name) for name in told)
        if key not in seen and "sm_90a" in dict(variant.gate.targets):
            seen.add(key)
            yield variant


def element(random: Random, name: str, top: int, kind: str) -> int:
    """A code: any bits, or a number whose exponent is near `top`."""
    if name in INTEGERS:
        width, _ = INTEGERS[name]
        return random.choice([random.getrandbits(width), 1 << (width - 1), (1 << (width - 1)) - 1, 0])
    form = FORMATS[name]
    if kind == "special" and random.random() < 0.4:
        zero, sign = random.choice([(0, 0), (0, 1), (form.infinity, 0), (form.infinity, 1)])
        return (zero | sign << (form.exponent + form.fraction)) << form.ignored
    if kind == "any" or random.random() < 0.02:
        return random.getrandbits(form.width)
    fraction = random.choice([random.getrandbits(form.fraction), 0, (1 << form.fraction) - 1, 1])
    field = min(max(top + form.bias, 0), (1 << form.exponent) - 2)
    return (
        random.getrandbits(1) << (form.exponent + form.fraction) | field << form.fraction | fraction
    ) << form.ignored


def drawn(random: Random, a: str, b: str, c: str, count: int) -> tuple[list[tuple[int, int]], int]:
    """One dot product: exponents all over, or near each other, or below, at and above the end of a window."""
    kind = random.choice(["any", "near", "gaps", "cancel", "low", "high", "sparse", "apart", "special"])
    span = FORMATS[a].bias if a in FORMATS else 0
    base = {"low": -span, "high": span}.get(kind, random.randint(-min(span, 12), min(span, 12)))
    pairs = []
    for _ in range(count):
        gap = (
            random.choice([0, 0, 11, 12, 13, 14, 23, 24, 25, 26]) if kind == "gaps" else random.randint(0, 3)
        )
        x, y = element(random, a, base - gap, kind), element(random, b, base, kind)
        if kind == "apart" and a in FORMATS:  # the one as small, the other as great as can be, or both small
            far = random.choice((span, span, -span))
            x, y = element(random, a, -span, "low"), element(random, b, far, "high")
        if kind == "sparse" and random.random() < 0.8:
            x = 0
        pairs.append((x, y))
    if kind == "cancel" and a in FORMATS:
        flip = 1 << (FORMATS[a].width - 1)
        pairs[1::2] = [(x ^ flip, y) for x, y in pairs[: len(pairs) // 2 * 2 : 2]]
    addend = element(
        random, c, 2 * base + random.choice([-26, -25, -24, -14, -13, -2, -1, 0, 1, 2, 13, 25]), kind
    )
    if kind == "cancel" and random.random() < 0.5:
        addend = random.choice([0, 1 << ((FORMATS[c].width if c in FORMATS else 32) - 1)])
    return pairs, addend


def misses(specification: Specification, variant: Variant) -> list[str]:
    """The drawn inputs of a variant for which the model gives other bits."""
    random = Random(variant.mnemonic)
    arithmetic = arithmetic_of(variant, "sm_90a")
    types = [element_type(variant, part) for part in "ABCD"]
    jobs = [drawn(random, types[0], types[1], types[2], arithmetic.products) for _ in range(JOBS)]
    a, b = (np.array([[pair[side] for pair in pairs] for pairs, _ in jobs], np.uint64) for side in (0, 1))
    c = np.array([addend for _, addend in jobs], np.uint64)
    word = variant.instruction.instruction.partition(".")[0]
    negated = random.choice(NEGATED) if word == "wgmma" and types[3] in FORMATS else (False, False)
    given = [int(code) for code in NumpySums(specification, arithmetic).codes(a, b, c, negated)]
    fields = dict(zip(("atype", "btype", "ctype", "dtype"), types, strict=True)) | {
        name: value for name, value in variant.fields.items() if name in ("satfinite", "rnd", "op")
    }
    signs = [
        flip << FORMATS[name].width - 1 if flip else 0 for flip, name in zip(negated, types, strict=False)
    ]
    flipped = [[(x ^ signs[0], y ^ signs[1]) for x, y in pairs] for pairs, _ in jobs]
    wanted = [
        sum_by_hand(word, fields, pairs, addend) for pairs, (_, addend) in zip(flipped, jobs, strict=True)
    ]
    return [
        f"{variant.mnemonic}: {have:#x}, not {want:#x}: {pairs}, {addend:#x}"
        for (pairs, addend), have, want in zip(jobs, given, wanted, strict=True)
        if have != want
    ]


@pytest.mark.parametrize(("instruction", "sets"), SETS.items())
def test_sums(specification: Specification, instruction: str, sets: int) -> None:
    variants = list(type_sets(specification, instruction))
    assert len(variants) == sets
    assert [miss for variant in variants for miss in misses(specification, variant)] == []

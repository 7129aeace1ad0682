"""The models of spec/arithmetic give, bit for bit, every result of `arithmetic` that two chips recorded.

Nobody who wrote the models typed these numbers: they are patterns that an H100 and an H200 gave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from ptxmma.cli.silicon_report import dot_of
from ptxmma.devices.probes.arithmetic_probe import Dot, DotTest
from ptxmma.devices.probes.arithmetic_summary import kept
from ptxmma.devices.probes.arithmetic_tests import first_tests, second_tests
from ptxmma.gen.arithmetic.numpy_sums import NumpySums
from ptxmma.ledger.silicon_record import load_silicon
from ptxmma.ledger.silicon_verdicts import by_mnemonic
from ptxmma.spec.arithmetic import arithmetic_of
from ptxmma.spec.chip_arithmetic import ChipArithmetic
from ptxmma.spec.dot_product import DotProduct, ElementCode
from ptxmma.spec.specification import Specification

WATCHES = ("spec/arithmetic/*.yaml", "spec/numerics.yaml")
TARGET = "sm_90a"
STRIDE = 50  # of the results that the definition recomputes; numpy recomputes all
SILICON = load_silicon()
RECORDED = SILICON[0].arithmetic
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def recorded(specification: Specification, name: str) -> tuple[ChipArithmetic, Dot, list[DotTest]]:
    """The arithmetic of a kernel, and the tests that were recorded of it."""
    observed = RECORDED[name]
    variant = by_mnemonic(specification)[observed.kernel.split()[0]]
    dot = dot_of(specification, variant, observed.kernel)
    patterns: Mapping[str, int] = observed.values
    tests = [*first_tests(dot), *second_tests(dot, kept(dot, patterns, "block"))]
    return arithmetic_of(variant, TARGET), dot, tests


def misses(
    specification: Specification, arithmetic: ChipArithmetic, name: str, dot: Dot, tests: list[DotTest]
) -> list[str]:
    """The tests whose recorded results are others."""
    wanted = np.array([RECORDED[name].values[test.name] for test in tests], np.uint64)
    given = NumpySums(specification, arithmetic).codes(*dot.codes(tests))
    return [test.name for test, right in zip(tests, given == wanted, strict=True) if not right]


def test_both_chips_recorded_the_same() -> None:
    assert len(SILICON) == 2
    assert len(RECORDED) == 59
    for name, observed in RECORDED.items():
        assert dict(SILICON[1].arithmetic[name].values) == dict(observed.values)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_result(specification: Specification, name: str) -> None:
    """Of all 59 type sets: none is passed over."""
    arithmetic, dot, tests = recorded(specification, name)
    assert {test.name for test in tests} == set(RECORDED[name].values)
    assert misses(specification, arithmetic, name, dot, tests) == []
    some = tests[len(name) % STRIDE :: STRIDE]
    definition = DotProduct(specification, arithmetic)
    for test, a, b, c in zip(some, *dot.codes(some), strict=True):
        x, y = ([ElementCode(int(code)) for code in part] for part in (a, b))
        assert definition.code(x, y, int(c)) == RECORDED[name].values[test.name], test


@pytest.mark.parametrize(
    ("integer", "value"),
    [("window", 24), ("window", 26), ("digits", 23), ("nearest", 1), ("nan_code", 0x7FC00000)],
)
def test_a_wrong_integer_is_refuted(specification: Specification, integer: str, value: int) -> None:
    arithmetic, dot, tests = recorded(specification, MMA)
    (block,) = arithmetic.blocks
    wrong = replace(arithmetic, blocks=(replace(block, integers={**block.integers, integer: value}),))
    assert misses(specification, wrong, MMA, dot, tests)

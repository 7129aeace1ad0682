"""The models of spec/arithmetic give, bit for bit, every result of `arithmetic` that two chips recorded.

Nobody who wrote the models typed these numbers: they are patterns that an H100 and an H200 gave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ptxmma.cli.silicon_report import dot_of
from ptxmma.devices.probes.arithmetic_probe import Dot, DotTest
from ptxmma.devices.probes.arithmetic_summary import kept
from ptxmma.devices.probes.arithmetic_tests import first_tests, second_tests
from ptxmma.ledger.silicon_record import Observed, load_silicon
from ptxmma.ledger.silicon_verdicts import by_mnemonic
from ptxmma.spec.arithmetic import arithmetic_of
from ptxmma.spec.chip_arithmetic import ChipArithmetic
from ptxmma.spec.dot_product import DotProduct, ElementCode
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification

WATCHES = ("spec/arithmetic/*.yaml", "spec/numerics.yaml")
TARGET = "sm_90a"
STRIDE = 12  # of the results that are recomputed in one run of the tests
SILICON = load_silicon()
RECORDED = SILICON[0].arithmetic

# The kernels whose arithmetic is recorded and has no model yet, by a word of their mnemonic and how many.
OPEN = {".m8n8k4.": 4, ".f64.": 4, "e4m3": 6, "e5m2": 6}


def dot(specification: Specification, observed: Observed) -> Dot:
    return dot_of(specification, by_mnemonic(specification)[observed.kernel.split()[0]], observed.kernel)


def recorded_tests(found: Dot, patterns: Mapping[str, int]) -> list[DotTest]:
    return [*first_tests(found), *second_tests(found, kept(found, patterns, "block"))]


def code(specification: Specification, arithmetic: ChipArithmetic, found: Dot, test: DotTest) -> int:
    a, b, c = (part[0].tolist() for part in found.codes([test]))
    return DotProduct(specification, arithmetic).code(
        [ElementCode(x) for x in a], [ElementCode(x) for x in b], c
    )


def known(specification: Specification, name: str) -> ChipArithmetic:
    return arithmetic_of(by_mnemonic(specification)[name.split()[0]], TARGET)


def test_both_chips_recorded_the_same() -> None:
    assert len(SILICON) == 2
    assert len(RECORDED) == 59
    for name, observed in RECORDED.items():
        assert dict(SILICON[1].arithmetic[name].values) == dict(observed.values)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_result(specification: Specification, name: str) -> None:
    observed = RECORDED[name]
    found = dot(specification, observed)
    tests = recorded_tests(found, observed.values)
    assert {test.name for test in tests} == set(observed.values)  # none is passed over
    try:
        arithmetic = known(specification, name)
    except Question as why:
        assert str(why).endswith(f"on {TARGET}: not measured")
        assert any(word in name for word in OPEN)
        return
    for test in tests[len(name) % STRIDE :: STRIDE]:
        assert code(specification, arithmetic, found, test) == observed.values[test.name], test


def test_which_have_no_model(specification: Specification) -> None:
    families = {name: by_mnemonic(specification)[name.split()[0]] for name in RECORDED}
    left = []
    for name, variant in families.items():
        try:
            arithmetic_of(variant, TARGET)
        except Question:
            left.append(name)
    counts = {word: sum(word in name for name in left) for word in OPEN}
    assert counts == OPEN and len(left) == sum(OPEN.values()) - 1  # one is f64 and m8n8k4


SLIPS = {
    "window": (24, 26),
    "digits": (23,),
    "nearest": (1,),
    "nan_code": (0x7FC00000,),
}


@pytest.mark.parametrize(
    ("integer", "value"), [(name, value) for name, values in SLIPS.items() for value in values]
)
def test_a_wrong_integer_is_refuted(specification: Specification, integer: str, value: int) -> None:
    name = next(
        name for name in RECORDED if ".f32.f16.f16.f32" in name and "k16" in name and ".sp" not in name
    )
    observed, arithmetic = RECORDED[name], known(specification, name)
    wrong = replace(arithmetic, integers={**arithmetic.integers, integer: value})
    found = dot(specification, observed)
    assert any(
        code(specification, wrong, found, test) != observed.values[test.name]
        for test in recorded_tests(found, observed.values)
    )

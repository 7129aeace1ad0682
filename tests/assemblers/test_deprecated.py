"""What is deprecated since when: the words of assemblers against the gates."""

from __future__ import annotations

import re

import pytest

from ptxmma.assemblers.classification import classify
from ptxmma.assemblers.toolchains import Ptxas, locate
from ptxmma.assemblers.universe import Universe
from ptxmma.spec.errors import Question
from ptxmma.spec.gates import EffectiveGate
from ptxmma.spec.nodes import Version
from ptxmma.spec.specification import Specification

WATCHES = ("spec/instructions/*.yaml",)
SAID = re.compile(r"is deprecated since PTX ISA version (\d+\.\d+)")

# "PTX ISA notes" of 9.7.14.4.5: .satfinite on floating-point wmma.mma, from 6.4; nothing else here is deprecated.
DEPRECATED = {("wmma.mma", Version(6, 4))}


@pytest.fixture(scope="module")
def oldest() -> Ptxas:
    try:
        return locate("11.7.99")
    except Question:
        pytest.skip("NO PTXAS 11.7.99: `ptxmma toolchain fetch 11.7.99` brings it")


def deprecated(specification: Specification) -> dict[tuple[str, EffectiveGate], str]:
    """By instruction and gate with a date of deprecation, a statement."""
    universe, found = Universe(specification), {}
    for name, family in specification.families.items():
        for view in family.rows:
            for variant in view.variants():
                if variant.gate.deprecated and (name, variant.gate) not in found:
                    found[name, variant.gate] = universe.write(variant, next(iter(variant.forms))).text
    return found


def test_what_is_deprecated_is_what_the_text_says(specification: Specification) -> None:
    assert {(name, gate.deprecated) for name, gate in deprecated(specification)} == DEPRECATED


def test_an_assembler_warns_from_the_version_on_that_the_gate_says(
    specification: Specification, oldest: Ptxas
) -> None:
    asked = deprecated(specification)
    assert asked
    for (_, gate), statement in asked.items():
        target = gate.targets[0][0]
        for version in specification.isa.versions:
            if gate.since <= version and gate.opens(version, target):
                (outcome,) = classify(oldest, [statement], version, target)
                said = set(SAID.findall(outcome.words))
                late = gate.deprecated is not None and gate.deprecated <= version
                assert said == ({str(gate.deprecated)} if late else set()), (statement, version)

"""Every numerical clause that sm_90a can exercise has a case in the emitted suite, row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

from ptxmma.gen.kernels.kernel_list import Kernel
from ptxmma.gen.suite.cases import Case, cases_of
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Variant

pytestmark = pytest.mark.slow

TARGET = "sm_90a"
# Numerical clauses that no case for sm_90a exercises, each for a reason of its own.
NOT_EXERCISED = {
    "num.float.clamp",  # no assembler since PTX ISA 6.5 takes it
    "num.block-scale",  # block scaling: forms of other targets
    "num.matrix.padded",  # so are the matrices that memory pads
    # and tcgen05, of which no suite is emitted
    *(f"num.tensor.{what}" for what in ("enable", "lanes", "exponent", "shift", "sparse", "block-scale")),
    *("num.tensor.zero-columns", "num.tensor.lookup"),
}
KernelCases = Sequence[tuple[Kernel, Sequence[Case]]]


@pytest.fixture(scope="module")
def variants(specification: Specification) -> list[Variant]:
    """Every variant that the target has, each row at its least N only."""
    found = []
    for family in specification.families.values():
        for view in family.rows:
            if not view.row.layouts or view.row.tolerated:
                continue
            own = [v for v in view.variants() if TARGET in dict(v.gate.targets) and v.gate.removed is None]
            least = min((int(v.fields.get("n", 0)) for v in own), default=0)
            found += [v for v in own if int(v.fields.get("n", 0)) == least]
    return found


@pytest.fixture(scope="module")
def cases(specification: Specification, variants: list[Variant]) -> KernelCases:
    return cases_of(specification, variants, variants).cases


def test_every_clause_of_every_row_has_a_case(
    specification: Specification, variants: list[Variant], cases: KernelCases
) -> None:
    exercised: dict[str, set[str]] = defaultdict(set)
    seeds: dict[tuple[str, str], set[int]] = defaultdict(set)
    for kernel, its_cases in cases:
        for case in its_cases:
            exercised[kernel.variant.row.id].update(case.clauses)
            seeds[kernel.variant.row.id, case.plan.name].add(case.seed)
    asked, missing = 0, []
    for name, view in {variant.row.id: variant.row for variant in variants}.items():
        for clause in view.row.numerical:
            wanted = specification.clauses[clause].consumers
            if any(c.case or c.varies for c in wanted):
                asked += 1
                if clause not in exercised[name]:
                    missing.append((name, clause))
    assert not missing
    assert asked > 100
    assert len(exercised) > 40
    assert len(seeds) > 40 and all(len(found) >= 3 for found in seeds.values())


def test_every_clause_that_is_numerical_is_exercised(
    specification: Specification, cases: KernelCases
) -> None:
    seen = {clause for _, its_cases in cases for case in its_cases for clause in case.clauses}
    numerical = {name for name, clause in specification.clauses.items() if clause.kind == "numerical"}
    assert numerical - seen == NOT_EXERCISED

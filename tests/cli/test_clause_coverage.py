"""Every numerical clause that sm_90a can exercise has a case in the emitted suite, row by row."""

from __future__ import annotations

from collections import defaultdict

from ptxmma.gen.suite.cases import cases_of
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Variant

TARGET = "sm_90a"


def variants_of(specification: Specification) -> list[Variant]:
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


def test_every_clause_of_every_row_has_a_case(specification: Specification) -> None:
    variants = variants_of(specification)
    exercised: dict[str, set[str]] = defaultdict(set)
    plans: dict[str, set[str]] = defaultdict(set)
    seeds: dict[tuple[str, str], set[int]] = defaultdict(set)
    for kernel, cases in cases_of(specification, variants, variants).cases:
        for case in cases:
            exercised[kernel.variant.row.id].update(case.clauses)
            plans[kernel.variant.row.id].add(case.plan.name)
            seeds[kernel.variant.row.id, case.plan.name].add(case.seed)
    missing = []
    rows = {variant.row.id: variant.row for variant in variants}
    for name, view in rows.items():
        for clause in view.row.numerical:
            wanted = specification.clauses[clause].consumers
            if any(c.case or c.varies for c in wanted) and clause not in exercised[name]:
                missing.append((name, clause))
    assert not missing
    assert len(exercised) > 40
    assert all(len(found) >= 3 for found in seeds.values())


def test_every_clause_that_is_numerical_is_exercised(specification: Specification) -> None:
    """All but the one that no assembler since PTX ISA 6.5 takes, and those of other targets' forms."""
    variants = variants_of(specification)
    seen = {
        clause
        for _, cases in cases_of(specification, variants, variants).cases
        for case in cases
        for clause in case.clauses
    }
    numerical = {name for name, clause in specification.clauses.items() if clause.kind == "numerical"}
    elsewhere = {"num.float.clamp", "num.block-scale", "num.matrix.padded"}
    assert numerical - seen <= elsewhere | {"num.matrix.expanded"}

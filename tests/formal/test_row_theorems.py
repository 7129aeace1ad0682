"""What is asked of rows says as much as the whole table of versions and targets would, and can fail."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ptxmma.formal.catalogue import GROUPS
from ptxmma.formal.prove import prove
from ptxmma.formal.row_symbols import RowSymbols
from ptxmma.formal.smt.obligations import refuting
from ptxmma.formal.smt.solvers import ask
from ptxmma.formal.theorems.rows import alive
from ptxmma.spec import variants
from ptxmma.spec.gates import EffectiveGate
from ptxmma.spec.loading import load_files
from ptxmma.spec.nodes import Formula
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Family, RowView

WGMMA = "spec/instructions/wgmma.mma_async.yaml"
MMA = "spec/instructions/mma.yaml"


def in_full(symbols: RowSymbols, view: RowView, *whens: Formula) -> str:
    """The same question about all fields, all versions and all targets."""
    read = (symbols.read(when) for when in whens)
    return refuting(symbols.row(view), *read, symbols.gates(view), symbols.known, symbols.exists)


def own_conditions(family: Family) -> dict[str, Formula]:
    return {c.when.text: c.when for view in family.rows for c in view.conditions()}


@pytest.mark.parametrize(
    "name", ["mma", "mma.sp", "wgmma.mma_async", "tcgen05.mma", "tcgen05.ld", "ldmatrix"]
)
def test_as_much_is_asked_as_in_full(specification: Specification, name: str) -> None:
    """Under each condition of any row, many of which a row never meets."""
    family = specification.families[name]
    symbols = RowSymbols(family)
    statuses: Counter[str] = Counter()
    for view in family.rows:
        for when in (None, *own_conditions(family).values()):
            whens = () if when is None else (when,)
            status = ask("z3", alive(symbols, view, *whens)).status
            assert status == ask("z3", in_full(symbols, view, *whens)).status, (view.id, whens)
            statuses[status] += 1
    assert statuses["sat"] >= len(family.rows)
    assert statuses["unsat"] or len(own_conditions(family)) < 2


SPOILT = [  # file, right, wrong, theorem, a subject
    (
        WGMMA,
        'since: "8.0", deprecated: null, removed: null',
        'since: "8.0", deprecated: null, removed: "8.0"',
        "rows.alive",
        "wgmma.mma_async/f16",
    ),
    (
        WGMMA,
        'since: "8.4", deprecated: null, removed: null',
        'since: "8.4", deprecated: null, removed: "8.3"',
        "gates.satisfiable",
        "wgmma.mma_async/integer mixed-signedness",
    ),
    (
        WGMMA,
        'since: "8.4", deprecated: null, removed: null, targets: [sm_90a]',
        'since: "8.4", deprecated: null, removed: null, targets: [sm_100a]',
        "gates.satisfiable",
        "wgmma.mma_async/integer mixed-signedness",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong", "theorem", "subject"), SPOILT)
def test_a_slip_is_refuted(
    monkeypatch: pytest.MonkeyPatch,
    files: Path,
    name: str,
    right: str,
    wrong: str,
    theorem: str,
    subject: str,
) -> None:
    """By both solvers; the loader would refuse some of it."""
    monkeypatch.setattr(variants, "check_gates", lambda instruction, isa: None)
    monkeypatch.setattr(EffectiveGate, "satisfiable", True)
    path = files / name
    text = path.read_text()
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong))
    (group,) = (group for group in GROUPS if theorem in {one.name for one in group.theorems})
    results = list(
        prove(load_files(files), ("z3", "cvc5"), lambda _, one: one.theorem == theorem, groups=(group,))
    )
    refuted = Counter(one.obligation.subject for one in results if one.verdict == "refuted")
    assert refuted[subject] == 2
    assert all(of.startswith("wgmma.mma_async/") for of in refuted) and len(results) > 2 * len(refuted)

"""What an instruction's page has as formulas, against what the commands print."""

import re

from markupsafe import escape

from ptxmma.atlas.files import Atlas, AtlasPage
from ptxmma.atlas.sections import theorems
from ptxmma.atlas.sections.instruction_answers import answered
from ptxmma.atlas.sections.instruction_formulas import arithmetic, layouts, models
from ptxmma.atlas.sections.instructions import made
from ptxmma.formal.arithmetic_latex import arithmetic_latex
from ptxmma.formal.catalogue import GROUPS
from ptxmma.formal.statement_mathml import statement
from ptxmma.ledger.solver_record import SolverRecord
from ptxmma.spec.arithmetic import known_arithmetic
from ptxmma.spec.specification import Specification


def test_the_models_are_those_that_show_prints(specification: Specification) -> None:
    """Steps, models, stages and names, in the order of `ptxmma show MNEMONIC --latex`."""
    for name in ("mma", "wgmma.mma_async.sp"):
        family = specification.families[name]
        by_name = {(one["chip"], one["name"]): one for one in models(family)}
        steps = {step for one in arithmetic(family) for step in one["steps"]}
        for view in family.rows:
            for known in known_arithmetic(next(view.variants())):
                printed = "\n".join(arithmetic_latex(known))
                for model, what in re.findall(r"^% model (\w+): (.+)$", printed, re.M):
                    assert by_name[known.family, model]["what"] == what
                    for stage in by_name[known.family, model]["stages"]:
                        assert f"% {stage['id']}, of each {stage['each']}: {stage['what']}" in printed
                for block in known.blocks:
                    assert (block.step.id, block.step.model) in {step[:2] for step in steps}


def test_every_layout_of_a_row_is_there_both_ways(specification: Specification) -> None:
    for family in specification.families.values():
        shown = {one["id"]: one for one in layouts(specification, family)}
        assert shown.keys() == {name for view in family.rows for name in view.layouts}
        for name, one in shown.items():
            layout = specification.layouts[name]
            assert len(one["forth"]) == len(layout.outputs)
            assert not one["back"] or len(one["back"]) == len(layout.inputs)


def test_answers_are_counted_by_solver() -> None:
    records = [
        SolverRecord("z3", "5.4", "", {"a.b": {"1": "unsat", "2": "sat", "3": "unsat"}}),
        SolverRecord("cvc5", "1.3", "", {"a.b": {"1": "unknown"}}),
    ]
    assert answered(records) == {
        "a.b": ["z3 5.4: 3 questions, 1 sat, 2 unsat", "cvc5 1.3: 1 question, 1 unknown"]
    }


def test_a_page_has_formulas_texts_and_answers(specification: Specification) -> None:
    pages = (one for one in made(Atlas(specification)) if isinstance(one, AtlasPage))
    body = next(page.body for page in pages if page.title == "mma")
    group = next(group for group in GROUPS if group.name == "layout")
    for theorem in group.theorems[:5]:
        assert statement(theorem.formula) in body and str(escape(theorem.fails)) in body
    assert re.search(r"z3 [\d.]+: \d+ questions, \d+ unsat", body)
    assert body.count("<math") > 100


def test_one_page_has_every_theorem(specification: Specification) -> None:
    (page,) = (one for one in theorems.made(Atlas(specification)) if isinstance(one, AtlasPage))
    every = [theorem for group in GROUPS for theorem in group.theorems]
    assert page.lead.startswith(f"{len(every)} theorems") and page.body.count("<dt>") == len(every)
    for theorem in every:
        assert statement(theorem.formula) in page.body and str(escape(theorem.fails)) in page.body
    assert "for each mode, address x, base offset b: <math>" in page.body
    assert len(re.findall(r"z3 [\d.]+: [\d,]+ questions?, \d+ (?:un)?sat", page.body)) > 60

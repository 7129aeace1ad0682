"""The formulas of an instruction's page: its layouts, and the models of its arithmetic, as MathML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from ...formal.mathml import equation, mathml
from ...spec.arithmetic import known_arithmetic
from ...spec.arithmetic_records import ArithmeticModel
from ...spec.expressions import Expression
from ...spec.maps import LayoutMap, NoClosedForm
from ...spec.specification import Specification
from ...spec.variants import Family

__all__ = ["arithmetic", "layouts", "models"]

_OVER_TERMS: Mapping[str | None, str] = {"greatest": "max", "sum": "∑", None: ""}


def layouts(specification: Specification, family: Family) -> Iterator[dict[str, Any]]:
    """Each layout of its rows: what it maps where, and the way back, for every value of its parameters."""
    for name in sorted({name for view in family.rows for name in view.layouts}):
        yield _layout(specification.layouts[name])


def _layout(layout: LayoutMap) -> dict[str, Any]:
    try:
        back: Mapping[str, Expression] = layout.inverse.inputs
    except NoClosedForm:
        back = {}
    written = layout.layout.params
    return {
        "id": layout.layout.id,
        "title": layout.layout.title,
        "parameters": {name: _ends(written[name].values) for name in layout.parameters},
        "sizes": [Markup(equation(name, tree, sign="<")) for name, tree in layout.sizes.items()],
        "condition": Markup(f"<math>{mathml(layout.condition)}</math>") if layout.condition else None,
        "forth": _equations(layout.trees),
        "back": _equations(back),
    }


def _ends(values: tuple[str | int, ...]) -> str:
    if len(values) > 8:
        return f"{values[0]}, {values[1]} … {values[-1]}"
    return ", ".join(map(str, values))


def _equations(trees: Mapping[str, Expression]) -> list[Markup]:
    return [Markup(equation(name, tree)) for name, tree in trees.items()]


def arithmetic(family: Family) -> list[dict[str, Any]]:
    """What sums come to, by chip family and steps, with the rows that it holds for."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for view in family.rows:
        for known in known_arithmetic(next(view.variants())):
            steps = tuple(
                (block.step.id, block.step.model, block.model.what, tuple(block.names.items()))
                for block in known.blocks
            )
            note = known.row.source.note or known.row.source.section
            found.setdefault((known.family, note, steps), []).append(view.row.id)
    return [
        {"chip": chip, "note": note, "steps": steps, "rows": rows}
        for (chip, note, steps), rows in found.items()
    ]


def models(family: Family) -> list[dict[str, Any]]:
    """The models that its sums are made by on each chip family, each once."""
    found: dict[tuple[str, str], ArithmeticModel] = {}
    for view in family.rows:
        for known in known_arithmetic(next(view.variants())):
            for block in known.blocks:
                found[known.family, block.step.model] = block.model
    return [
        {
            "name": name,
            "what": model.what,
            "integers": model.integers,
            "chip": chip,
            "stages": [
                {
                    "id": stage.id,
                    "each": stage.each,
                    "what": stage.what,
                    "equations": [
                        Markup(equation(let, formula.tree, _OVER_TERMS[stage.reduce]))
                        for let, formula in stage.let.items()
                    ],
                }
                for stage in model.stages
            ],
        }
        for (chip, name), model in found.items()
    ]

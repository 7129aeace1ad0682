"""The arithmetic of a chip as LaTeX: the integers of each step, and the stages of each model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..spec.arithmetic_records import ArithmeticStage
from ..spec.chip_arithmetic import ChipArithmetic
from .latex import latex, symbol

__all__ = ["arithmetic_latex"]

_OVER_TERMS: Mapping[str, str] = {
    "greatest": r"\max_{\text{terms}}",
    "sum": r"\sum_{\text{terms}}",
}


def arithmetic_latex(arithmetic: ChipArithmetic) -> Iterator[str]:
    """Lines of LaTeX: what each step gives its model, then every model, with the sentences as comments."""
    steps = {block.step.id: block for block in arithmetic.blocks}
    for name, block in steps.items():
        yield f"% step {name}: model {block.step.model}, result .{block.result}"
        yield from _aligned([(integer, str(value)) for integer, value in block.names.items()])
    for name, model in {block.step.model: block.model for block in steps.values()}.items():
        yield f"% model {name}: {model.what}"
        yield "% what an element is called begins with a_, b_ or c_ later on: of A, of B, of an addend"
        for stage in model.stages:
            yield f"% {stage.id}, of each {stage.each}: {stage.what}"
            yield from _aligned(list(_formulas(stage)))


def _formulas(stage: ArithmeticStage) -> Iterator[tuple[str, str]]:
    for name, formula in stage.let.items():
        text = latex(formula.tree)
        yield name, text if stage.reduce is None else rf"{_OVER_TERMS[stage.reduce]} \left({text}\right)"


def _aligned(equations: list[tuple[str, str]]) -> Iterator[str]:
    yield r"\begin{aligned}"
    yield from (rf"{symbol(name)} &= {text} \\" for name, text in equations)
    yield r"\end{aligned}"

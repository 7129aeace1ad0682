"""The least and greatest value of every formula of a block of sums, from those of the elements on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .arithmetic_records import ArithmeticStage
from .chip_arithmetic import FACTORS, ChipArithmetic, SumBlock, block_constants, constants_of
from .lazy_dataclass import dataclass
from .nodes import Formula, bounded
from .specification import Specification

__all__ = ["RESULT", "BoundedFormula", "Span", "bounded_formulas"]

RESULT = "code"  # what the last stage calls the bit pattern of the sum
Span = tuple[int, int]
_Spans = dict[str, Span]


@dataclass(frozen=True)
class BoundedFormula:
    """A formula where it stands, the least and greatest value of each name before it, and its own."""

    stage: ArithmeticStage
    name: str
    formula: Formula
    names: Mapping[str, Span]
    span: Span


def bounded_formulas(
    specification: Specification, arithmetic: ChipArithmetic, block: SumBlock
) -> Iterator[BoundedFormula]:
    """Every formula of a block, in the order of the stages, for every kind of element, product and addend.

    The last one is the code. Raises SpecError where a value may be negative, divide by zero, or exceed the
    word.
    """
    constants = block_constants(specification, arithmetic, block)
    fixed: _Spans = {name: (value, value) for name, value in constants.items()}
    of_elements = [(part, arithmetic.types[part]) for part in FACTORS if block.products]
    elements = {part: _element(specification, fixed, element) for part, element in of_elements}
    addends = [_element(specification, fixed, element) for element in dict.fromkeys(block.types)]
    products: list[_Spans] = [dict(fixed)] if block.products else []
    added = [dict(fixed) for _ in addends]
    for scope, element in zip(added, dict.fromkeys(block.types), strict=True):
        scope |= {f"c_{name}": (v, v) for name, v in constants_of(specification, element).items()}
    terms = [*products, *added]
    result: _Spans = dict(fixed)
    word = block.step.word
    for stage in block.model.stages:
        match stage.each:
            case "element":
                for bounds in (*elements.values(), *addends):
                    yield from _let(stage, bounds, word)
                for part, bounds in elements.items():
                    for scope in products:
                        scope |= {f"{part.lower()}_{name}": bounds[name] for name in stage.let}
                for scope, bounds in zip(added, addends, strict=True):
                    scope |= {f"c_{name}": bounds[name] for name in stage.let}
            case "product" | "addend":
                for scope in products if stage.each == "product" else added:
                    yield from _let(stage, scope, word)
            case "term":
                for scope in terms:
                    scope |= result
                    yield from _let(stage, scope, word)
                if stage.reduce:
                    counts = len(block.products), len(block.addends)
                    for name in stage.let:
                        result[name] = _reduced(stage, [scope[name] for scope in terms], counts)
            case "result":
                yield from _let(stage, result, word)


def _element(specification: Specification, fixed: _Spans, element: str) -> _Spans:
    known = constants_of(specification, element)
    bounds: _Spans = {**fixed, **{name: (value, value) for name, value in known.items()}}
    return bounds | {"code": (0, (1 << known["width"]) - 1), "negated": (0, 1)}


def _let(stage: ArithmeticStage, bounds: _Spans, word: int) -> Iterator[BoundedFormula]:
    for name, formula in stage.let.items():
        span = bounded(formula, bounds, word)
        yield BoundedFormula(stage, name, formula, bounds, span)
        bounds[name] = span


def _reduced(stage: ArithmeticStage, values: Sequence[Span], counts: tuple[int, int]) -> Span:
    low, high = (max(ends) for ends in zip(*values, strict=True))
    return (low, high) if stage.reduce == "greatest" else (0, sum(counts) * high)

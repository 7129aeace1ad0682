"""The definition of a sum of products on a chip: Python integers, stage by stage, as the YAML has it.

Slow and obvious. Other readings of the same stages (numpy, C, CUDA) must give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from .arithmetic_records import ArithmeticStage
from .chip_arithmetic import PARTS, ChipArithmetic, SumBlock, constants_of
from .expressions import Expression, compiled, names
from .lazy_dataclass import dataclass
from .specification import Specification

__all__ = ["BlockSteps", "DotProduct", "ElementCode"]

_Names = dict[str, int]


@dataclass(frozen=True)
class ElementCode:
    """An element's bit pattern, and whether the instruction negates it."""

    code: int
    negated: bool = False


@dataclass(frozen=True)
class BlockSteps:
    """Every name that the stages gave for one block: of its terms (products, then the addend), its result."""

    block: SumBlock
    addend: int
    terms: tuple[Mapping[str, int], ...]
    result: Mapping[str, int]

    @property
    def code(self) -> int:
        """The bit pattern of the block's result."""
        return self.result["code"]


@dataclass(frozen=True)
class DotProduct:
    """One element of D on a chip, by the definition."""

    specification: Specification
    arithmetic: ChipArithmetic

    @cached_property
    def _functions(self) -> Mapping[int, tuple[Callable[..., int], tuple[str, ...]]]:
        """The formulas of the model as Python functions, with the names that they read."""
        stages = self.arithmetic.model.stages
        return {id(f): _function(f.tree) for stage in stages for f in stage.let.values()}

    def code(self, a: Sequence[ElementCode], b: Sequence[ElementCode], c: int) -> int:
        """The bit pattern of D."""
        for steps in self.steps(a, b, c):
            c = steps.code
        return c

    def steps(self, a: Sequence[ElementCode], b: Sequence[ElementCode], c: int) -> Iterator[BlockSteps]:
        """Every block, in order; the result of one is added in the next."""
        for block in self.arithmetic.blocks:
            found = self._block(block, [(a[i], b[i]) for i in block.products], c)
            yield found
            c = found.code

    def _block(
        self, block: SumBlock, products: Sequence[tuple[ElementCode, ElementCode]], addend: int
    ) -> BlockSteps:
        stages = self.arithmetic.model.stages
        types = {part: constants_of(self.specification, block.types[part]) for part in PARTS}
        fixed: _Names = dict(self.arithmetic.integers)
        for part in PARTS:
            fixed |= {f"{part.lower()}_{name}": value for name, value in types[part].items()}
        terms: list[_Names] = []
        for x, y in products:
            scope = fixed | self._element("A", types["A"], x) | self._element("B", types["B"], y)
            self._all(scope, "product")
            terms.append(scope)
        scope = fixed | self._element("C", types["C"], ElementCode(addend))
        self._all(scope, "addend")
        terms.append(scope)
        result: _Names = dict(fixed)
        for stage in stages:
            if stage.each == "term":
                for term in terms:
                    term |= result
                    self._let(stage, term)
                if stage.reduce:
                    taken = max if stage.reduce == "greatest" else sum
                    result |= {name: taken(term[name] for term in terms) for name in stage.let}
            elif stage.each == "result":
                self._let(stage, result)
        return BlockSteps(block, addend, tuple(terms), result)

    def _element(self, part: str, constants: Mapping[str, int], element: ElementCode) -> _Names:
        scope: _Names = {**self.arithmetic.integers, **constants}
        scope |= {"code": element.code, "negated": int(element.negated)}
        known = set(scope)
        self._all(scope, "element")
        return {f"{part.lower()}_{name}": value for name, value in scope.items() if name not in known}

    def _all(self, scope: _Names, each: str) -> None:
        for stage in self.arithmetic.model.stages:
            if stage.each == each:
                self._let(stage, scope)

    def _let(self, stage: ArithmeticStage, scope: _Names) -> None:
        for name, formula in stage.let.items():
            function, read = self._functions[id(formula)]
            scope[name] = function(*[scope[given] for given in read])


def _function(tree: Expression) -> tuple[Callable[..., int], tuple[str, ...]]:
    read = tuple(sorted(names(tree)))
    return compiled(tree, read), read

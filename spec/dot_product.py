"""The definition of a sum of products on a chip: Python integers, stage by stage, as the YAML has it.

Slow and obvious. Other readings of the same stages (numpy, C, CUDA) must give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from .arithmetic_records import ArithmeticStage
from .chip_arithmetic import ZERO, C, ChipArithmetic, SumBlock, block_constants, constants_of
from .expressions import compiled_in_turn
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
    """Every name that the stages gave for one block: of its terms (products, then addends), of its sum."""

    block: SumBlock
    addends: tuple[int, ...]
    terms: tuple[Mapping[str, int], ...]
    result: Mapping[str, int]

    @property
    def code(self) -> int:
        """The bit pattern of the block's sum."""
        return self.result["code"]


@dataclass(frozen=True)
class DotProduct:
    """One element of D on a chip, by the definition."""

    specification: Specification
    arithmetic: ChipArithmetic

    @cached_property
    def _functions(self) -> Mapping[int, tuple[Callable[..., tuple[int, ...]], tuple[str, ...]]]:
        """The stages of the models as Python functions, with the names that they read."""
        stages = {id(stage): stage for block in self.arithmetic.blocks for stage in block.model.stages}
        return {
            number: compiled_in_turn({name: formula.tree for name, formula in stage.let.items()})
            for number, stage in stages.items()
        }

    def code(self, a: Sequence[ElementCode], b: Sequence[ElementCode], c: int) -> int:
        """The bit pattern of D."""
        *_, last = self.steps(a, b, c)
        return last.code

    def steps(self, a: Sequence[ElementCode], b: Sequence[ElementCode], c: int) -> Iterator[BlockSteps]:
        """Every block, in order; later blocks may add the sums of earlier ones."""
        sums: list[int] = []
        for block in self.arithmetic.blocks:
            addends = [c if n == C else 0 if n == ZERO else sums[n] for n in block.addends]
            found = self._block(block, [(a[i], b[i]) for i in block.products], addends)
            yield found
            sums.append(found.code)

    def _block(
        self, block: SumBlock, products: Sequence[tuple[ElementCode, ElementCode]], addends: Sequence[int]
    ) -> BlockSteps:
        fixed = block_constants(self.specification, self.arithmetic, block)
        types = self.arithmetic.types
        terms: list[_Names] = []
        for x, y in products:
            scope = (
                fixed | self._element(block, "A", types["A"], x) | self._element(block, "B", types["B"], y)
            )
            self._all(block, scope, "product")
            terms.append(scope)
        for code, element in zip(addends, block.types, strict=True):
            scope = fixed | self._element(block, "C", element, ElementCode(code))
            self._all(block, scope, "addend")
            terms.append(scope)
        result: _Names = dict(fixed)
        for stage in block.model.stages:
            if stage.each == "term":
                for term in terms:
                    term |= result
                    self._let(stage, term)
                if stage.reduce:
                    taken = max if stage.reduce == "greatest" else sum
                    result |= {name: taken(term[name] for term in terms) for name in stage.let}
            elif stage.each == "result":
                self._let(stage, result)
        return BlockSteps(block, tuple(addends), tuple(terms), result)

    def _element(self, block: SumBlock, part: str, element: str, given: ElementCode) -> _Names:
        """The names of an element, with the prefix of its part."""
        scope: _Names = block.names
        known = set(scope)
        scope |= constants_of(self.specification, element)
        scope |= {"code": given.code, "negated": int(given.negated)}
        self._all(block, scope, "element")
        prefix = part.lower()
        return {f"{prefix}_{name}": value for name, value in scope.items() if name not in known}

    def _all(self, block: SumBlock, scope: _Names, each: str) -> None:
        for stage in block.model.stages:
            if stage.each == each:
                self._let(stage, scope)

    def _let(self, stage: ArithmeticStage, scope: _Names) -> None:
        function, read = self._functions[id(stage)]
        scope.update(zip(stage.let, function(*[scope[given] for given in read]), strict=True))

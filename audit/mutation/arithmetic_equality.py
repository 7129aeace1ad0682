"""Is a slip of spec/arithmetic the same sums as before? A solver proves it, formula by formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...formal.smt.bitvectors import BitVectors
from ...formal.smt.obligations import refuting
from ...formal.smt.terms import UGE, ULE, And, BitVec, Term
from ...spec.arithmetic_bounds import RESULT, BoundedFormula, Span, bounded_formulas
from ...spec.arithmetic_checks import sums_of
from ...spec.arithmetic_records import ArithmeticFile, ArithmeticModel
from ...spec.chip_arithmetic import PARTS, ChipArithmetic, SumBlock, matching_rows, of_row
from ...spec.chip_codes import parts_met
from ...spec.errors import SpecError
from ...spec.expressions import Expression, Number, names, substitute
from ...spec.nodes import Formula
from ...spec.specification import Specification

__all__ = ["same_sums"]


def same_sums(
    specification: Specification,
    old: ArithmeticFile,
    new: ArithmeticFile,
    unsatisfiable: Callable[[str], bool],
) -> bool:
    """Whether two families that differ in formulas alone give every variant the same sums.

    Each changed formula has to have the same value for all values of the names before it; or if no other
    stage reads it, each formula that does. So sums that come to the same in another way are not called so.
    """
    proven: set[str] = set()

    def holds(text: str) -> bool:
        if text not in proven and not unsatisfiable(text):
            return False
        proven.add(text)
        return True

    if _codes(specification, old) != _codes(specification, new):
        return False
    try:
        for one, other in _blocks(specification, old, new):
            if one is None or other is None or not _same(specification, one, other, holds):
                return False
    except SpecError:
        return False
    return True


def _codes(specification: Specification, family: ArithmeticFile) -> object:
    """What every metadata code does."""
    return {
        name: [
            parts_met(codes, specification.sparsities[name], code)
            for code in range(1 << specification.sparsities[name].code_bits)
        ]
        for name, codes in family.codes.items()
    }


_Sums = tuple[ChipArithmetic, SumBlock]


def _blocks(
    specification: Specification, old: ArithmeticFile, new: ArithmeticFile
) -> Iterator[tuple[_Sums | None, _Sums | None]]:
    """The blocks of every variant before and after, each pair once; None where there is no such pair."""
    seen: set[object] = set()
    for variant in sums_of(specification, old):
        before, after = list(matching_rows(old, variant)), list(matching_rows(new, variant))
        if [row.id for row in before] != [row.id for row in after]:
            yield None, None
        for one, other in zip(before, after, strict=False):
            found = of_row(specification, old, one, variant), of_row(specification, new, other, variant)
            if [_shape(block) for block in found[0].blocks] != [_shape(block) for block in found[1].blocks]:
                yield None, None
            for pair in zip(found[0].blocks, found[1].blocks, strict=False):
                key = (*map(_shape, pair), *(tuple(b.integers.values()) for b in pair), found[0].types["A"])
                key += (found[0].types["B"], pair[0].step.model)
                if key not in seen:
                    seen.add(key)
                    yield (found[0], pair[0]), (found[1], pair[1])


def _shape(block: SumBlock) -> tuple[object, ...]:
    return block.products, block.addends, block.types, block.result, block.step.word


def _same(specification: Specification, old: _Sums, new: _Sums, holds: Callable[[str], bool]) -> bool:
    """Whether every formula that another stage reads has the same value before and after."""
    if old[1].integers == new[1].integers and _formulas(old[1].model) == _formulas(new[1].model):
        return True
    pairs = zip(bounded_formulas(specification, *old), bounded_formulas(specification, *new), strict=True)
    others: dict[tuple[int, str], tuple[Expression, Expression]] = {}  # by scope and name: not the same
    for one, other in pairs:
        scope = id(one.names)
        before = _settled(one.formula, one.names)
        after = _settled(other.formula, other.names)
        wrong = {
            name: others[scope, name] for name in names(before) | names(after) if (scope, name) in others
        }
        before = substitute(before, {name: pair[0] for name, pair in wrong.items()})
        after = substitute(after, {name: pair[1] for name, pair in wrong.items()})
        if before == after or holds(_difference(one, before, after, old[1].step.word)):
            continue
        if _is_read_elsewhere(old[1].model, one) or _is_read_elsewhere(new[1].model, other):
            return False
        others[scope, one.name] = before, after
    return True


def _is_read_elsewhere(model: ArithmeticModel, formula: BoundedFormula) -> bool:
    """Whether another stage reads the name of a formula, or the sum is called so."""
    known = {formula.name, *(f"{part.lower()}_{formula.name}" for part in PARTS)}
    stages = (stage for stage in model.stages if stage.id != formula.stage.id)
    read = {name for stage in stages for each in stage.let.values() for name in names(each.tree)}
    return formula.name == RESULT or not known.isdisjoint(read)


def _formulas(model: ArithmeticModel) -> list[str]:
    return [formula.text for stage in model.stages for formula in stage.let.values()]


def _settled(formula: Formula, spans: Mapping[str, Span]) -> Expression:
    """The formula with the names that have one value here replaced by it."""
    ends = {name: spans[name] for name in names(formula.tree)}
    return substitute(formula.tree, {name: Number(low) for name, (low, high) in ends.items() if low == high})


def _difference(formula: BoundedFormula, old: Expression, new: Expression, word: int) -> str:
    """What is computed exceeds no word; what is not chosen may.

    Names that the stage gives before the formula are read as their formulas, others as any value of theirs.
    """
    given: dict[str, Expression] = {}
    for name, earlier in formula.stage.let.items():
        if name == formula.name:
            break
        given[name] = _settled(earlier, formula.names)
    read = names(old) | names(new)
    for name in reversed(given):
        if name in read:
            read |= names(given[name])
    values: dict[str, Term] = {name: BitVec(name, word) for name in sorted(read - given.keys())}
    bounds = {name: formula.names[name] for name in values}
    within = [And(UGE(values[name], low), ULE(values[name], high)) for name, (low, high) in bounds.items()]
    algebra = BitVectors(word, values)
    for name, tree in given.items():
        if name in read:
            values[name] = algebra.read(tree)
    return refuting(*within, algebra.read(old) != algebra.read(new))

"""Checks of spec/arithmetic/*.yaml: names exist, values stay in their words, a variant has one row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .arithmetic_bounds import RESULT, bounded_formulas
from .arithmetic_records import (
    ArithmeticFile,
    ArithmeticModel,
    ArithmeticRow,
    ArithmeticStep,
)
from .chip_arithmetic import (
    ADDENDS,
    PARTS,
    ZERO,
    ChipArithmetic,
    SumBlock,
    matching_rows,
    of_row,
    products_of,
)
from .chip_codes import check_codes
from .errors import SpecError
from .expressions import (
    Binary,
    BitLength,
    Compare,
    Connective,
    Expression,
    Negation,
    Where,
    children,
    names,
    source,
    walk,
)
from .nodes import Formula, must_exist
from .parts import computes
from .specification import Specification
from .variants import Variant

__all__ = ["check_arithmetic", "sums_of"]

_TRUTHS = (Compare, Connective, Negation)
_LAST = "d"
_ORDER = {"element": 0, "product": 1, "addend": 2, "term": 3, "result": 4}


def check_arithmetic(families: Iterable[ArithmeticFile], specification: Specification) -> None:
    """Raise SpecError at the first thing that is wrong."""
    owners: dict[str, str] = {}
    for family in families:
        for target in family.targets:
            must_exist("target", target, specification.index.targets, family.place)
            if owners.setdefault(target, family.family) != family.family:
                what = f"the target {target} belongs to {owners[target]} and to {family.family}"
                raise SpecError(what, family.place, "each target in one family")
        for model in family.models.values():
            _check_stages(model)
            _check_read(model)
        _check_rows(family, specification)
        check_codes(family, specification)


def _check_stages(model: ArithmeticModel) -> None:
    """Stages come in order, define each name once, and end with the code of the result."""
    before = 0
    defined: dict[str, set[str]] = {each: set() for each in _ORDER}
    for stage in model.stages:
        if _ORDER[stage.each] < before:
            what = f"the stage {stage.id} comes too late"
            raise SpecError(what, stage.place, "elements, then products, the addend, terms, the result")
        before = _ORDER[stage.each]
        if stage.reduce and stage.each != "term":
            raise SpecError(f"the stage {stage.id} reduces what is not a term", stage.place, "each: term")
        for name, formula in stage.let.items():
            _check_kinds(formula)
            scope = defined["result" if stage.reduce else stage.each]
            if (
                name in scope
                or name in model.integers
                or (stage.each == "term" and name in defined["product"])
            ):
                raise SpecError(f"the name {name} is given twice", formula.place, "each name once")
            scope.add(name)
    if defined["product"] != defined["addend"]:
        odd = ", ".join(sorted(defined["product"] ^ defined["addend"]))
        what = f"products and the addend have other names: {odd}"
        raise SpecError(what, model.place, "the same names: both are terms")
    if not model.stages or model.stages[-1].each != "result" or RESULT not in model.stages[-1].let:
        raise SpecError(
            "no stage gives the code of the result", model.place, "a last stage, each: result, with code"
        )


def _check_read(model: ArithmeticModel) -> None:
    """Every name is read by a formula, the code excepted; that of an element with a prefix, or without."""
    read = {name for stage in model.stages for formula in stage.let.values() for name in names(formula.tree)}
    for stage in model.stages:
        for name, formula in stage.let.items():
            prefixed = [f"{part.lower()}_{name}" for part in PARTS] if stage.each == "element" else []
            if name != RESULT and read.isdisjoint([name, *prefixed]):
                what = f"no formula reads {name}"
                raise SpecError(what, formula.place, "a name that a later formula reads")


def _check_kinds(formula: Formula) -> None:
    """Numbers and truth values are not mixed."""
    wrong: list[Expression]
    for node in walk(formula.tree):
        match node:
            case Binary() | BitLength() | Compare():
                wrong = [child for child in children(node) if isinstance(child, _TRUTHS)]
            case Connective() | Negation():
                wrong = [child for child in children(node) if not isinstance(child, _TRUTHS)]
            case Where(condition, then, otherwise):
                wrong = [condition] if not isinstance(condition, _TRUTHS) else []
                wrong += [branch for branch in (then, otherwise) if isinstance(branch, _TRUTHS)]
            case _:
                wrong = []
        for child in wrong:
            truth = isinstance(child, _TRUTHS)
            what = f"{source(child)!r} is a {'truth value' if truth else 'number'} here (in {formula.text!r})"
            right = f"where({source(child)}, 1, 0)" if truth else f"{source(child)} == 1"
            raise SpecError(what, formula.place, right)
    if isinstance(formula.tree, _TRUTHS):
        raise SpecError(f"{formula.text!r} is a truth value", formula.place, f"where({formula.text}, 1, 0)")


def sums_of(specification: Specification, family: ArithmeticFile) -> Iterator[Variant]:
    """The variants that compute sums on a family's targets, those that differ in N alone once."""
    for one in specification.families.values():
        if not computes(one.instruction):
            continue
        for view in one.rows:
            seen = set()
            for variant in view.variants():
                key = tuple(value for name, value in variant.fields.items() if name != "n")
                if key not in seen and not set(family.targets).isdisjoint(dict(variant.gate.targets)):
                    seen.add(key)
                    yield variant


def _check_rows(family: ArithmeticFile, specification: Specification) -> None:
    """Rows name what there is, have variants, and share none; every value stays in its word."""
    named: dict[str, ArithmeticRow] = {}
    for row in family.rows:
        if named.setdefault(row.id, row) is not row:
            raise SpecError(f"the row {row.id} stands twice", row.place, "each id once")
        for instruction in row.instructions:
            must_exist("instruction", instruction, specification.instructions, row.place)
        if not row.steps:
            raise SpecError(f"the row {row.id} has no step", row.place, "a step that gives D")
        _check_steps(row, family, specification)
    met: dict[str, set[str]] = {row.id: set() for row in family.rows}
    known: set[object] = set()
    for variant in sums_of(specification, family):
        rows = list(matching_rows(family, variant))
        if len(rows) > 1:
            what = f"{variant.mnemonic} belongs to the rows {rows[0].id} and {rows[1].id}"
            raise SpecError(what, rows[1].place, "one row a variant")
        for row in rows:
            met[row.id].add(variant.instruction.instruction)
            found = of_row(specification, family, row, variant)
            _check_products(found, variant, products_of(specification, variant))
            for block in found.blocks:
                key = (id(block.step), *block.integers.values(), len(block.products), block.types)
                key += (found.types["A"], found.types["B"], block.result)
                if key not in known:
                    known.add(key)
                    _check_bounds(specification, found, block)
    for row in family.rows:
        for instruction in row.instructions:
            if instruction not in met[row.id]:
                what = f"the row {row.id} has no variant of {instruction}"
                raise SpecError(what, row.when.place, "a condition that some variant meets")


def _check_steps(row: ArithmeticRow, family: ArithmeticFile, specification: Specification) -> None:
    """Steps name models with their integers, types, and sums of earlier steps; every sum is used."""
    sums: dict[str, ArithmeticStep] = {}
    used: set[str] = set()
    for step in row.steps:
        must_exist("model", step.model, family.models, step.place)
        if step.type is not None:
            must_exist("element type", step.type, specification.index.types, step.place)
        for name in step.adds:
            must_exist("sum", name, [*ADDENDS, *sums], step.place)
        if ZERO in [ADDENDS.get(name) for name in step.adds] and len(step.adds) > 1:
            raise SpecError("zero is added beside others", step.place, "zero alone, or what is not zero")
        used |= set(step.adds)
        if step.id in sums or step.id in ADDENDS:
            raise SpecError(f"the name {step.id} is given twice", step.place, "each name once")
        sums[step.id] = step
        wanted = family.models[step.model].integers
        if set(step.integers) != set(wanted):
            what = f"the model {step.model} has the integers {', '.join(wanted)}"
            raise SpecError(f"{what}, not {', '.join(step.integers)}", step.place, "the same names")
    last = row.steps[-1]
    if last.id != _LAST:
        raise SpecError(f"the last step is called {last.id}", last.place, f"{_LAST}: it gives D")
    if last.type is not None:
        raise SpecError("the last step gives D", last.place, "no type of its own")
    for name in sums:
        if name not in used and sums[name] is not last:
            raise SpecError(f"no step adds {name}", sums[name].place, "each sum is added once")


def _check_products(found: ChipArithmetic, variant: Variant, count: int) -> None:
    """Every product is in one block, and no block of a step with products is empty."""
    met: list[int] = []
    for block in found.blocks:
        if block.step.block is not None and not block.products:
            what = f"a block of {variant.mnemonic} has no products"
            raise SpecError(what, block.step.block.place, "blocks are numbered 1, 2, 3, … without a gap")
        met += block.products
    if sorted(met) != list(range(count)):
        what = f"the blocks of {variant.mnemonic} have {len(met)} products in all"
        raise SpecError(what, found.row.place, f"each of the {count} products in one block")


def _check_bounds(specification: Specification, arithmetic: ChipArithmetic, block: SumBlock) -> None:
    """Raise SpecError where a value may be negative, divide by zero, or exceed the step's word."""
    code = (0, 0)
    for formula in bounded_formulas(specification, arithmetic, block):
        code = formula.span
    width = specification.index.types[block.result].bits
    if code[1] >> width:
        place = block.model.stages[-1].let[RESULT].place
        what = f"the code of the result can be {code[1]:#x}; its type has {width} bits"
        raise SpecError(what, place, f"at most {(1 << width) - 1:#x}")

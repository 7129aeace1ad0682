"""Checks of spec/arithmetic/*.yaml: names exist, values stay in their words, a variant has one row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .arithmetic_records import ArithmeticFile, ArithmeticModel, ArithmeticRow, ArithmeticStage
from .chip_arithmetic import (
    PARTS,
    ChipArithmetic,
    SumBlock,
    constants_of,
    evaluated,
    matching_rows,
    of_row,
    products_of,
)
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
    source,
    walk,
)
from .nodes import Formula, bounded, must_exist
from .parts import computes
from .specification import Specification
from .variants import Variant

__all__ = ["block_bounds", "check_arithmetic"]

_Spans = dict[str, tuple[int, int]]
_TRUTHS = (Compare, Connective, Negation)
_ORDER = {"element": 0, "product": 1, "addend": 1, "term": 2, "result": 3}
_RESULT = "code"


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
        _check_rows(family, specification)


def _check_stages(model: ArithmeticModel) -> None:
    """Stages come in order, define each name once, and end with the code of the result."""
    before = 0
    defined: dict[str, set[str]] = {each: set() for each in _ORDER}
    for stage in model.stages:
        if _ORDER[stage.each] < before:
            what = f"the stage {stage.id} comes too late"
            raise SpecError(what, stage.place, "elements, then products and the addend, terms, the result")
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
    if not model.stages or model.stages[-1].each != "result" or _RESULT not in model.stages[-1].let:
        raise SpecError(
            "no stage gives the code of the result", model.place, "a last stage, each: result, with code"
        )


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


def _variants(specification: Specification, family: ArithmeticFile) -> Iterator[Variant]:
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
        must_exist("model", row.model, family.models, row.place)
        for instruction in row.instructions:
            must_exist("instruction", instruction, specification.instructions, row.place)
        if row.carry is not None:
            must_exist("element type", row.carry, specification.index.types, row.place)
        wanted = family.models[row.model].integers
        for name in (*row.integers, *wanted):
            if name not in wanted or name not in row.integers:
                what = f"the model {row.model} has the integers {', '.join(wanted)}"
                raise SpecError(f"{what}, not {', '.join(row.integers)}", row.place, "the same names")
    met: dict[str, set[str]] = {row.id: set() for row in family.rows}
    known: set[object] = set()
    for variant in _variants(specification, family):
        rows = list(matching_rows(family, variant))
        if len(rows) > 1:
            what = f"{variant.mnemonic} belongs to the rows {rows[0].id} and {rows[1].id}"
            raise SpecError(what, rows[1].place, "one row a variant")
        for row in rows:
            met[row.id].add(variant.instruction.instruction)
            _check_numbers(row, variant, specification)
            found = of_row(specification, family, row, variant)
            key = (row.id, *found.types.values(), *found.integers.values(), *map(len, _groups(found)))
            if key not in known:
                known.add(key)
                for block in found.blocks:
                    block_bounds(specification, found, block)
    for row in family.rows:
        for instruction in row.instructions:
            if instruction not in met[row.id]:
                what = f"the row {row.id} has no variant of {instruction}"
                raise SpecError(what, row.when.place, "a condition that some variant meets")


def _groups(found: ChipArithmetic) -> list[tuple[int, ...]]:
    return [block.products for block in found.blocks]


def _check_numbers(row: ArithmeticRow, variant: Variant, specification: Specification) -> None:
    """Blocks are numbered 0, 1, 2, … without a gap."""
    count = products_of(specification, variant)
    numbers = {evaluated(variant, row.block, i=i) for i in range(count)}
    if numbers != set(range(len(numbers))):
        shown = ", ".join(map(str, sorted(numbers)[:6]))
        what = f"the blocks of {variant.mnemonic} are {shown}"
        raise SpecError(what, row.block.place, "0, 1, 2, … without a gap")


def block_bounds(
    specification: Specification, arithmetic: ChipArithmetic, block: SumBlock
) -> Mapping[str, _Spans]:
    """The least and greatest value of every name of a block, by what stages are about.

    Raises SpecError where a value may be negative, divide by zero, or take more bits than the model's word.
    """
    model = arithmetic.model
    types = {part: constants_of(specification, block.types[part]) for part in PARTS}
    fixed: _Spans = {name: (value, value) for name, value in arithmetic.integers.items()}
    for part in PARTS:
        fixed |= {f"{part.lower()}_{name}": (value, value) for name, value in types[part].items()}
    elements: dict[str, _Spans] = {}
    for part in PARTS[:3]:
        bounds: _Spans = {**fixed, **{name: (value, value) for name, value in types[part].items()}}
        bounds |= {"code": (0, (1 << types[part]["width"]) - 1), "negated": (0, 1)}
        elements[part] = bounds
    terms: dict[str, _Spans] = {"product": dict(fixed), "addend": dict(fixed)}
    term: _Spans = dict(fixed)
    result: _Spans = dict(fixed)
    for stage in model.stages:
        match stage.each:
            case "element":
                for part, bounds in elements.items():
                    _let(stage, bounds, model.word)
                    for each in terms.values():
                        each |= {f"{part.lower()}_{name}": bounds[name] for name in stage.let}
            case "product" | "addend":
                _let(stage, terms[stage.each], model.word)
                for name in stage.let:
                    known = [each[name] for each in terms.values() if name in each]
                    term[name] = min(low for low, _ in known), max(high for _, high in known)
            case "term":
                scope = {**result, **term}
                _let(stage, scope, model.word)
                for name in stage.let:
                    if stage.reduce:
                        result[name] = _reduced(stage, scope[name], len(block.products) + 1)
                    else:
                        term[name] = scope[name]
            case "result":
                _let(stage, result, model.word)
    _check_code(model, result, types["D"]["width"])
    return {**elements, **terms, "term": term, "result": result}


def _let(stage: ArithmeticStage, bounds: _Spans, word: int) -> None:
    for name, formula in stage.let.items():
        bounds[name] = bounded(formula, bounds, word)


def _reduced(stage: ArithmeticStage, one: tuple[int, int], count: int) -> tuple[int, int]:
    return one if stage.reduce == "greatest" else (count * one[0], count * one[1])


def _check_code(model: ArithmeticModel, result: _Spans, width: int) -> None:
    """The code of the result fits D."""
    formula = model.stages[-1].let[_RESULT]
    if result[_RESULT][1] >> width:
        what = f"the code of the result can be {result[_RESULT][1]:#x}; D has {width} bits"
        raise SpecError(what, formula.place, f"at most {(1 << width) - 1:#x}")

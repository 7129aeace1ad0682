"""Theorems about a row's parameters: the values of its fields and selectors are those of its layouts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from string import Formatter

from ...spec.expressions import names
from ...spec.maps import LayoutMap
from ...spec.model import Operand
from ...spec.parts import operands_of, stated_parameters
from ...spec.specification import Specification
from ...spec.variants import OPAQUE, Family, RowView
from ..row_symbols import RowSymbols
from ..smt.bitvectors import conjunction, width_for
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import ULT, And, BitVec, Not, Or, Term
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "layout_parameters", "row_parameters"]

_SCALES = "scale-"
_MOST = 64  # above every value of an immediate that selects threads or bytes


def _selector(letter: str, parameter: str) -> str | None:
    """The part of the operand whose value is a parameter of a layout; None where the parameter is a field."""
    if parameter == "s" and letter == "metadata":
        return "selector"
    if letter.startswith(_SCALES):
        side = letter.removeprefix(_SCALES)
        return {"thread_id": f"thread-{side}", "byte_id": f"byte-{side}"}.get(parameter)
    return None


_SELECTORS = {"metadata": ("s",), "scale-a": ("thread_id", "byte_id"), "scale-b": ("thread_id", "byte_id")}


def row_parameters(
    view: RowView, layouts: Mapping[str, LayoutMap], family_symbols: Callable[[], RowSymbols]
) -> Iterator[Obligation]:
    """For each layout of a row: the row's fields have values that the layout has, and its operands that
    select threads or bytes have exactly those.
    """
    symbols = family_symbols()
    for letter, written in view.row.layouts.items():
        if written == OPAQUE:
            continue
        named = tuple(name for _, name, _, _ in Formatter().parse(written) if name)
        for identifier, where in _layouts_of(view, letter, named).items():
            layout = layouts[identifier]
            condition = conjunction(
                symbols.fields[name] == symbols.code(value) for name, value in where.items()
            )
            premise = And(symbols.row(view), condition)
            yield from _of_fields(symbols, view, letter, layout, premise)
            yield from _of_selectors(symbols, view, letter, layout, premise)


def _layouts_of(view: RowView, letter: str, named: tuple[str, ...]) -> dict[str, dict[str, str | int]]:
    """The ids of a letter's layouts, each with the values of the fields that its name has in braces."""
    return {
        variant.layouts[letter]: {name: variant.fields[name] for name in named}
        for variant in view.variants()
        if letter in variant.layouts
    }


def _of_fields(
    symbols: RowSymbols, view: RowView, letter: str, layout: LayoutMap, premise: Term
) -> Iterator[Obligation]:
    for name, scalars in layout.layout.params.items():
        if _selector(letter, name) is not None:
            continue
        argument = layout.layout.arguments.get(name)
        reads = names(argument.tree) if argument is not None else frozenset({name})
        if not reads <= symbols.fields.keys():
            said = partial(_no_field, view, layout, name)
            text = partial(refuting, premise)
        else:
            field = symbols.fields[name] if argument is None else symbols.read(argument)
            listed = Or(*(field == int(v) for v in scalars.values if int(v) >> symbols.width == 0))
            said = partial(_unknown_value, view, layout, name, str(field))
            text = partial(refuting, premise, Not(listed))
        yield Obligation("row.parameters", f"{view.id} {letter} {name}", text, said)


def _no_field(view: RowView, layout: LayoutMap, name: str, model: Model) -> str:
    return f"{view.row.place}: the row {view.id} has no {name}, which {layout.layout.id} needs"


def _unknown_value(view: RowView, layout: LayoutMap, name: str, symbol: str, model: Model) -> str:
    values = ", ".join(map(str, layout.layout.params[name].values))
    return (
        f"{view.row.place}: the row {view.id} has {name} = {model.get(symbol, 0)}; "
        f"{layout.layout.id} has {values} ({layout.layout.params[name].place})"
    )


def _of_selectors(
    symbols: RowSymbols, view: RowView, letter: str, layout: LayoutMap, premise: Term
) -> Iterator[Obligation]:
    for name in _SELECTORS.get(letter, ()):
        part = str(_selector(letter, name))
        for operand_name, operand in operands_of(view.family.instruction, part):
            if operand.values is None:
                continue
            scalars = layout.layout.params.get(name)
            listed = [int(value) for value in scalars.values] if scalars else [0]
            value = BitVec("value", symbols.width)
            allowed = Or(*(value == int(v) for v in operand.values.values))
            if operand.valid is not None:
                allowed = And(allowed, symbols.read(operand.valid, {"value": value}))
            has = Or(*(value == v for v in listed))
            yield Obligation(
                "row.parameters",
                f"{view.id} {letter} {name}",
                partial(refuting, premise, ULT(value, _MOST), allowed != has),
                partial(_selected, view, operand_name, operand, layout, name, listed),
            )


def _selected(
    view: RowView,
    operand_name: str,
    operand: Operand,
    layout: LayoutMap,
    name: str,
    listed: list[int],
    model: Model,
) -> str:
    value = model.get("value", 0)
    has, lacks = (
        ("the layout has", "the operand does not")
        if value in listed
        else (
            "the operand may be",
            "the layout does not have it",
        )
    )
    return (
        f"{operand.place}: {operand_name} of {view.id} selects {name} of {layout.layout.id}: "
        f"{has} {value}, {lacks} (layout: {', '.join(map(str, listed))})"
    )


def layout_parameters(layout: LayoutMap, used: Mapping[str, Collection[int]]) -> Iterator[Obligation]:
    """Every value of a layout's parameters is that of some row; `used` are the rows' values."""
    for name, values in used.items():
        scalars = layout.layout.params[name]
        listed = [int(value) for value in scalars.values]
        width = max((*listed, *values)).bit_length() or 1
        symbol = BitVec(name, width)
        has, wanted = (Or(*(symbol == value for value in some)) for some in (listed, sorted(values)))
        yield Obligation(
            "layout.parameters",
            f"{layout.layout.id} {name}",
            partial(refuting, has, Not(wanted)),
            partial(_unused, layout, name),
        )


def _unused(layout: LayoutMap, name: str, model: Model) -> str:
    place = layout.layout.params[name].place
    return f"{place}: no row that uses {layout.layout.id} has {name} = {model.get(name, 0)}"


def _parts(specification: Specification) -> Iterator[ProofPart]:
    layouts = specification.layouts
    used = cache(partial(_used, specification))
    for family in specification.families.values():
        symbols = cache(partial(_symbols, family))
        for view in family.rows:
            yield ProofPart(f"row {view.id}", partial(row_parameters, view, layouts, symbols))
    for name, layout in layouts.items():
        yield ProofPart(f"layout {name}", partial(_of_layout, layout, used), layout.layout.title)


def _symbols(family: Family) -> RowSymbols:
    """The fields of an instruction, as wide as the values of its selectors and what is computed with them."""
    least = 1
    parts = {str(_selector(letter, name)) for letter, named in _SELECTORS.items() for name in named}
    for operand in (found for part in parts for _, found in operands_of(family.instruction, part)):
        if operand.values is not None:
            least = max(least, *(int(value).bit_length() for value in (_MOST, *operand.values.values)))
        if operand.valid is not None:
            used = names(operand.valid.tree) - {"value"}
            for view in (view for view in family.rows if used <= view.domains.keys()):
                bounds = {name: view.bounds(name) for name in used}
                least = max(least, width_for([operand.valid.tree], {**bounds, "value": (0, _MOST)}))
    return RowSymbols(family, least)


def _of_layout(
    layout: LayoutMap, used: Callable[[], Mapping[str, Mapping[str, set[int]]]]
) -> Iterator[Obligation]:
    return layout_parameters(layout, used().get(layout.layout.id, {}))


def _used(specification: Specification) -> dict[str, dict[str, set[int]]]:
    """By layout and parameter, the values that the variants of all rows have."""
    found: dict[str, dict[str, set[int]]] = {}
    for family in specification.families.values():
        for variant in family.variants():
            for identifier in variant.layouts.values():
                if identifier != OPAQUE:
                    for name, value in stated_parameters(specification.layouts[identifier], variant).items():
                        found.setdefault(identifier, {}).setdefault(name, set()).add(value)
    return found


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    return iter((f"row {row.id}", *(f"layout {name}" for name in sorted(row.layouts))))


GROUP = TheoremGroup(
    25,
    (
        Theorem(
            "row.parameters",
            "a row's fields and selectors have values that its layouts have",
            small=True,
            formula="a field's value is in the layout's list; "
            "an operand may select v == v is in the layout's list",
            fails="a value of a field or a selector that its layout lacks, or one of a selector left out",
        ),
        Theorem(
            "layout.parameters",
            "each value of a layout's parameter is that of some row",
            small=True,
            formula="for each value v of a layout's parameter: some variant of some row has v",
            fails="a value of a parameter that no row uses",
        ),
    ),
    _parts,
    _behind,
)

"""Layouts as data for scripts: formulas as JavaScript and C text, and which mnemonic's operand has which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..gen.c_reading import c_text
from ..gen.javascript_reading import javascript_text
from ..gen.pictures.colours import colour
from ..gen.pictures.places import PLACE, loading_variants
from ..gen.pictures.tables import operand_packing
from ..spec.described_products import described_product
from ..spec.errors import Question
from ..spec.expressions import Expression, names, source
from ..spec.maps import LayoutMap
from ..spec.nodes import Scalars
from ..spec.parts import layout_key, placed_parts, stated_parameters
from ..spec.paths import path_values
from ..spec.sparse import positions
from ..spec.sparsity_records import Sparsity
from ..spec.specification import Specification
from ..spec.variants import OPAQUE, Family, Variant

__all__ = ["layout_data"]

_MNEMONIC = "{mnemonic}"  # stands for the mnemonic in sentences that several have
_Json = dict[str, Any]


def layout_data(specification: Specification) -> _Json:
    """Everything that the explorer asks: layouts, instructions with their operands, bridges, colours."""
    operands = _OperandSets(specification)
    return {
        "layouts": {name: _layout(layout) for name, layout in specification.layouts.items()},
        "instructions": {
            name: _instruction(family, operands) for name, family in specification.families.items()
        },
        "operands": operands.listed,
        "sets": operands.sets,
        "bridges": {name: _bridge(specification, name) for name in specification.bridges},
        "sparsities": {name: _sparsity(one) for name, one in specification.sparsities.items()},
        "loads": _loads(specification),
        "least": {name: values[0] for name, values in path_values(specification.descriptors).items()},
        "place": PLACE,
        "colours": {str(n): [_hex(colour(t, n)) for t in range(n)] for n in (32, 128)},
    }


def _hex(rgb: tuple[int, int, int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in rgb)


def _texts(trees: Mapping[str, Expression]) -> dict[str, str]:
    return {name: javascript_text(tree) for name, tree in trees.items()}


def _function(tree: Expression) -> tuple[str, list[str]]:
    """A formula as text, and the names that it reads."""
    return javascript_text(tree), sorted(names(tree))


def _c_texts(trees: Mapping[str, Expression]) -> dict[str, str]:
    return {name: c_text(tree) for name, tree in trees.items()}


def _values(params: Mapping[str, Scalars]) -> dict[str, list[int]]:
    return {name: [int(value) for value in scalars.values] for name, scalars in params.items()}


def _layout(layout: LayoutMap) -> _Json:
    said = layout.layout
    condition = layout.condition
    return {
        "title": said.title,
        "section": said.source.section,
        "origin": said.source.origin,
        "part": said.part or "",
        "params": _values(said.params),
        "inputs": _texts(layout.sizes),
        "outputs": _texts(layout.extents),
        "map": _texts(layout.trees),
        "where": "" if condition is None else javascript_text(condition),
        "when": None if said.when is None else _function(said.when.tree),
        "arguments": {name: _function(formula.tree) for name, formula in said.arguments.items()},
        "c": {
            "map": _c_texts(layout.trees),
            "inverse": [
                {
                    "case": {name: int(case.layout.params[name].values[0]) for name in said.cases},
                    "inputs": _c_texts(case.inverse.inputs),
                }
                for case in layout.cases()
            ],
            "where": "" if condition is None else c_text(condition),
        },
        "formulas": {name: source(formula.tree) for name, formula in said.map.items()},
        "let": {name: source(formula.tree) for name, formula in said.let.items()},
    }


def _bridge(specification: Specification, name: str) -> _Json:
    bridge = specification.bridges[name]
    through = bridge.through
    return {
        "title": bridge.title,
        "left": bridge.left,
        "right": bridge.right,
        "params": _values(bridge.params),
        "at": _texts({key: formula.tree for key, formula in bridge.at.items()}),
        "equals": _texts({key: formula.tree for key, formula in bridge.equals.items()}),
        "where": "" if bridge.where is None else javascript_text(bridge.where.tree),
        "through": None
        if through is None
        else {
            "layout": through.layout,
            "at": _texts({key: formula.tree for key, formula in through.at.items()}),
        },
        "holds": bridge.holds,
        "permutes": bridge.permutes or "",
    }


def _sparsity(sparsity: Sparsity) -> _Json:
    """A coding, with the columns that each code stores."""
    return {
        "title": sparsity.title,
        "chunk": sparsity.chunk,
        "slots": sparsity.slots,
        "run": sparsity.run,
        "indexBits": sparsity.index_bits,
        "codeBits": sparsity.code_bits,
        "codes": sparsity.codes,
        "positions": [positions(sparsity, code) for code in range(1 << sparsity.code_bits)],
    }


def _loads(specification: Specification) -> list[list[Any]]:
    """The loads from tensor memory, short ones first: mnemonic, layout, its parameters, whether by halves."""
    return [
        [one.mnemonic, name, stated_parameters(specification.layouts[name], one), halves]
        for name, one, halves in loading_variants(specification)
    ]


def _instruction(family: Family, operands: _OperandSets) -> _Json:
    """The syntax in pieces, the words of each field, and of each variant its words and operands."""
    words: dict[str, dict[str | None, int]] = {name: {} for name in family.fields}
    rows = []
    for variant in family.variants():
        row = []
        for name in family.fields:
            word = family.token(name, variant.fields)
            row.append(words[name].setdefault(word, len(words[name])))
        rows.append([*row, operands.set_of(variant)])
    return {
        "pieces": [list(piece) for piece in family.pieces],
        "fields": {name: list(own) for name, own in words.items()},
        "variants": rows,
    }


class _OperandSets:
    """Operands and sets of them, each listed once."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self.listed: list[_Json] = []
        self.sets: list[_Json] = []
        self._numbers: dict[str, int] = {}
        self._possible: dict[Any, _Json] = {}
        self._names = {id(one): name for name, one in specification.descriptors.items()}

    def _number(self, kind: list[_Json], value: _Json) -> int:
        key = f"{id(kind)} {value}"
        if key not in self._numbers:
            self._numbers[key] = len(kind)
            kind.append(value)
        return self._numbers[key]

    def set_of(self, variant: Variant) -> int:
        """The number of a variant's operands, with its sparsity."""
        sparsity = variant.row.row.sparsity
        one: _Json = {"operands": [self._number(self.listed, own) for own in self._each(variant)]}
        if sparsity is not None:
            one["sparsity"] = sparsity
            one |= {name: int(variant.fields[name]) for name in ("m", "k")}
            one["valid"] = self.specification.codes_of(variant)
        return self._number(self.sets, one)

    def _each(self, variant: Variant) -> list[_Json]:
        found = [self._operand(variant, name) for name in variant.layouts]
        parts = placed_parts(self.specification.layouts, variant)
        found += [one for part in parts if (one := self._placed(variant, part))]
        used = dict.fromkeys(name for form in variant.forms for name in form.operands)
        for name in used:
            operand = variant.instruction.operands[name]
            if operand.descriptor:
                found.append({"name": name, "shared": operand.descriptor, "part": str(operand.part)})
        return found

    def _operand(self, variant: Variant, name: str) -> _Json:
        identifier = variant.layouts[name]
        key = layout_key(variant, name) or name
        if identifier == OPAQUE:
            try:
                self.specification.layout_of(variant, name)
            except Question as question:
                return {"name": key, "opaque": str(question).replace(variant.mnemonic, _MNEMONIC)}
        layout = self.specification.layouts[identifier]
        packed = operand_packing(variant, key)
        made: _Json = {"name": key, "layout": identifier, "stated": stated_parameters(layout, variant)}
        if packed is not None:
            made |= {"width": packed.width, "word": packed.word}
        return made

    def _placed(self, variant: Variant, part: str) -> _Json | None:
        """A part in tensor memory: the layouts that it may have, with what decides."""
        try:
            product = described_product(self.specification, variant)
        except Question:
            return None
        key = id(product.descriptor), tuple(product.settings.items()), part
        if key not in self._possible:
            self._possible[key] = {
                name: {what: list(values) for what, values in deciding.items()}
                for name, deciding in product.possible(part).items()
            }
        if not self._possible[key]:
            return None
        return {
            "name": part,
            "choices": self._possible[key],
            "descriptor": self._names[id(product.descriptor)],
            "settings": dict(product.settings),
        }

"""The whole map of an operand: every thread's elements with register, bits and matrix position."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ...spec.described_products import described_product, placed_part
from ...spec.errors import Question
from ...spec.expressions import Expression
from ...spec.fragments import Packing, packing
from ...spec.index import Index
from ...spec.lazy_dataclass import dataclass
from ...spec.maps import LayoutMap
from ...spec.parts import layout_key, layout_operand, named_operand, stated_parameters
from ...spec.specification import Specification
from ...spec.variants import Variant

__all__ = ["MapTable", "layout_table", "operand_packing", "said", "table_of"]


@dataclass(frozen=True)
class MapTable:
    """An operand's layout at one variant's parameters.

    `entries` are (thread, element, register, bit_low, row, col), then the product where the
    instruction computes several at once. `packing` is None where no register element is mapped; the
    entries are the layout's points then: (thread, bit, row, chunk, slot, index_bit) for metadata,
    (thread, matrix, row) for addresses. A layout of tensor memory may stand alone, without a variant.
    """

    variant: Variant | None
    operand: str
    layout: LayoutMap
    parameters: Mapping[str, int]
    packing: Packing | None
    index: Index

    @property
    def title(self) -> str:
        """What the map is of, and the selectors that it is for."""
        chosen = [f"{said(name)} {value}" for name, value in self.selected.items()]
        of = ""
        if self.variant is not None:
            of = f" of {self.variant.mnemonic}"
            chosen = [self.layout.layout.id, *chosen] if self.layout.layout.part else chosen
        said_of = f" ({', '.join(chosen)})" if chosen else ""
        return f"{self.operand}{said_of}{of}"

    @property
    def selected(self) -> dict[str, int]:
        """The selectors that the map depends on."""
        stated = stated_parameters(self.layout, self.variant) if self.variant else {}
        return {name: value for name, value in self.parameters.items() if name not in stated}

    @cached_property
    def entries(self) -> list[tuple[int, ...]]:
        points = self.layout.points(self.parameters)
        if self.packing is None:
            return points
        width, word = self.packing.width, self.packing.word
        return [(t, i, i * width // word, i * width % word, *place) for t, i, *place in points]

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of an entry's numbers."""
        if self.packing is None:
            said = {"t": "thread", "i": "element"} if self.variant is None else {"t": "thread"}
            return tuple(said.get(name, name) for name in (*self.layout.inputs, *self.layout.outputs))
        return ("thread", "element", "register", "bit_low", *self.layout.outputs)

    @property
    def threads(self) -> int:
        return self.layout.domain(self.parameters)["t"]

    @property
    def elements(self) -> int:
        """How many elements a thread holds."""
        return self.layout.domain(self.parameters)["i"]

    @property
    def rows(self) -> int:
        return self.layout.shape(self.parameters)["row"]

    @property
    def cols(self) -> int:
        return self.layout.shape(self.parameters)["col"]

    @property
    def products(self) -> int:
        """How many matrices of this shape the threads hold, each for a product of its own."""
        return self.layout.shape(self.parameters).get("product", 1)

    @property
    def letter(self) -> str:
        """How the manual writes an element: a0, b3, c2."""
        if self.packing is None:
            return "e"
        return self.operand.lower() if len(self.operand) == 1 else "sf"

    @cached_property
    def forward(self) -> dict[str, Expression]:
        """Outputs as expressions of thread and element, parameters put in."""
        return self.layout.at(self.parameters).trees

    @cached_property
    def backward(self) -> Mapping[str, Expression]:
        """Thread and element as expressions of the outputs, parameters put in."""
        return self.layout.at(self.parameters).inverse.inputs


def table_of(
    specification: Specification,
    variant: Variant,
    operand: str,
    a_source: str | None = None,
    selectors: Mapping[str, int] | None = None,
    word: int | None = None,
) -> MapTable:
    """The map of an operand of a variant; `operand` is its part or its name.

    `selectors` sets the layout's mode parameters (s, thread_id, byte_id); those not given are 0. Where a part
    lies in tensor memory, `word`, its instruction descriptor, and `selectors` say which layout it has, and
    nothing is taken for granted. Raises Question for an operand without a register layout, for a selector out
    of range, and for what leaves a layout open.
    """
    operand = named_operand(variant, operand)
    part = placed_part(specification, variant, operand)
    if part is not None:
        if a_source == "register":
            raise Question(
                f"A of {variant.mnemonic} lies in shared memory or in tensor memory, in no register"
            )
        place = described_product(specification, variant, word).placed(part, selectors or {})
        own = specification.layouts[place.layout]
        return MapTable(variant, part, own, place.parameters, None, specification.index)
    if word is not None:
        described_product(specification, variant, word)
        specification.layout_of(variant, operand)
        raise Question(f"the instruction descriptor says nothing about {operand} of {variant.mnemonic}")
    found = layout_operand(variant.instruction, operand)
    is_a = operand == "A" or (found is not None and found[1].part == "A")
    if a_source and all(form.a is None for form in variant.forms):
        raise Question(f"{variant.mnemonic} has no choice of where A comes from")
    if a_source == "descriptor" and is_a:
        raise Question(
            "with a descriptor, A lies in shared memory and no register holds it; "
            "see `ptxmma descriptor address`"
        )
    layout = specification.layout_of(variant, operand)
    operand = layout_key(variant, operand) or operand
    stated = stated_parameters(layout, variant)
    parameters = _chosen(layout, operand, stated, selectors or {}, variant.mnemonic)
    packed = operand_packing(variant, operand)
    return MapTable(variant, operand, layout, parameters, packed, specification.index)


def operand_packing(variant: Variant, operand: str) -> Packing | None:
    """How the elements of a layout key's operand lie in registers; None where no register holds one."""
    found = layout_operand(variant.instruction, operand)
    if found and found[1].holds and found[1].part != "address":
        return packing(variant, operand)
    return Packing(8, 32) if operand.startswith("scale") else None


def layout_table(specification: Specification, name: str, given: Mapping[str, int]) -> MapTable:
    """The map of a layout by its id; `given` sets its parameters, selectors are 0 unless they are given."""
    layout = specification.layouts[name]
    parameters = _chosen(layout, name, {}, given, "")
    return MapTable(None, name, layout, parameters, None, specification.index)


def _chosen(
    layout: LayoutMap,
    operand: str,
    fields: Mapping[str, int],
    selectors: Mapping[str, int],
    mnemonic: str,
) -> dict[str, int]:
    """A value for each parameter: one that is given, a field's, the only one, or 0."""
    given = dict(selectors)
    parameters: dict[str, int] = {}
    for name, scalars in layout.layout.params.items():
        value = given.pop(name, None)
        if value is None:
            only = int(scalars.values[0]) if len(scalars.values) == 1 else 0
            value = fields.get(name, only)
        if value not in scalars.values:
            allowed = ", ".join(map(str, scalars.values))
            if name not in selectors and name not in fields:
                raise Question(f"{operand} needs {said(name)}: one of {allowed}")
            raise Question(f"{operand}: {said(name)} is {value}; it must be one of {allowed}")
        parameters[name] = value
    for name, value in given.items():
        if value != 0 or not mnemonic:
            raise Question(f"{operand}{f' of {mnemonic}' if mnemonic else ''} has no {said(name)}")
    return parameters


def said(name: str) -> str:
    """How a layout's parameter is called on the command line."""
    return {"s": "selector"}.get(name, name.replace("_", "-"))

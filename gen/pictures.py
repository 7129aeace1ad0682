"""Layout pictures: everything about one operand of one variant that a figure or a function shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ..spec.errors import Question
from ..spec.expressions import Binary, Expression, Name, Number, substitute
from ..spec.fragments import Packing, packing, register_operand
from ..spec.loading import Specification
from ..spec.maps import LayoutMap, Point
from ..spec.variants import Variant

__all__ = ["OPERANDS", "Picture", "ask", "draw"]

OPERANDS = ("A", "B", "C", "D", "metadata", "scale-a", "scale-b")
_SHOWN = {"t": "thread", "i": "element"}
_SELECTORS = {
    "s": "--selector (the sparsity selector)",
    "thread_id": "--thread-id (the thread selector of scale factors)",
    "byte_id": "--byte-id (the byte selector of scale factors)",
}


@dataclass(frozen=True)
class Picture:
    """One operand's layout, its selectors fixed.

    `points` has one tuple of `columns` for each element: thread, element, register, bit_low, row, col;
    for metadata one for each bit: thread, bit, row, chunk, slot, index_bit. `sizes` and `shape` give
    the number of values of every input and output of `layout`.
    """

    mnemonic: str
    operand: str
    name: str
    layout: LayoutMap
    modes: Mapping[str, int]
    sizes: Mapping[str, int]
    shape: Mapping[str, int]
    packing: Packing | None
    columns: tuple[str, ...]
    points: tuple[Point, ...]

    @property
    def threads(self) -> int:
        return self.sizes["t"]

    @property
    def rows(self) -> int:
        return self.shape["row"]

    @property
    def partial(self) -> bool:
        """Whether a selector leaves some of the threads or elements out."""
        return self.layout.condition is not None

    @property
    def caption(self) -> str:
        """One line: whose operand this is, its size, and where the claim comes from."""
        claim = self.layout.layout.source
        size = " x ".join(str(extent) for extent in self.shape.values())
        chosen = "".join(f", {name} = {value}" for name, value in self.modes.items())
        return (
            f"{self.operand} of {self.mnemonic}: {' x '.join(self.shape)} = {size}, "
            f"{self.threads} threads{chosen} (PTX ISA {claim.section}, {claim.origin})"
        )

    @cached_property
    def forward(self) -> dict[str, Expression]:
        """Each output over the inputs, which are named thread, element and bit."""
        return {name: _shown(tree) for name, tree in self.layout.trees.items()}

    @cached_property
    def inverse(self) -> dict[str, Expression]:
        """Each input (thread, element or bit) over the outputs."""
        return {_SHOWN.get(name, name): _shown(tree) for name, tree in self.layout.inverse.inputs.items()}

    @cached_property
    def condition(self) -> Expression | None:
        """Which (thread, element or bit) take part; None: all."""
        return _shown(self.layout.condition) if self.layout.condition is not None else None

    @cached_property
    def places(self) -> dict[str, Expression]:
        """The register of an element and its lowest bit there, over `element`; none for metadata."""
        if self.packing is None:
            return {}
        width, word, element = self.packing.width, self.packing.word, Name("element")
        if word == width:
            return {"register": element, "bit_low": Number(0)}
        offset = Binary("*", element, Number(width))
        if word % width:
            return {
                "register": Binary("//", offset, Number(word)),
                "bit_low": Binary("%", offset, Number(word)),
            }
        share = Number(word // width)
        return {
            "register": Binary("//", element, share),
            "bit_low": Binary("*", Number(width), Binary("%", element, share)),
        }

    @cached_property
    def cells(self) -> dict[tuple[int, int], tuple[int, str]]:
        """The matrix as drawn: (row, column) to thread and label; a metadata cell is a whole chunk."""
        if self.packing is not None:
            letter = self.operand.lower() if len(self.operand) == 1 else "byte"
            return {(p[4], p[5]): (p[0], f"{letter}{p[1]}") for p in self.points}
        held: dict[tuple[int, int], tuple[int, list[int]]] = {}
        for thread, bit, row, chunk, *_ in self.points:
            held.setdefault((row, chunk), (thread, []))[1].append(bit)
        return {at: (thread, f"b{min(bits)}-{max(bits)}") for at, (thread, bits) in held.items()}

    @property
    def width(self) -> int:
        """How many columns the matrix has as drawn."""
        return self.shape["col" if self.packing is not None else "chunk"]


def _shown(tree: Expression) -> Expression:
    return substitute(tree, {short: Name(long) for short, long in _SHOWN.items()})


def draw(
    specification: Specification,
    mnemonic: str,
    operand: str,
    a_source: str | None = None,
    selector: int | None = None,
    thread_id: int | None = None,
    byte_id: int | None = None,
) -> Picture:
    """The picture of an operand: A, B, C, D, metadata, scale-a or scale-b (PTX ISA 9.7.14, 9.7.15).

    `selector` is the sparsity selector (metadata only), `thread_id` and `byte_id` select scale factors;
    each is 0 unless given. Raises Question for an unknown mnemonic, an operand that is in shared
    memory or opaque, and a selector that is out of range or does not belong to the operand.
    """
    variant = specification.find(mnemonic)
    _check_source(variant, operand, a_source)
    layout = _layout(specification, variant, operand)
    given = {"s": selector, "thread_id": thread_id, "byte_id": byte_id}
    modes = _modes(layout, operand, given)
    sizes = {n: int(variant.fields[n]) for n in layout.parameters if n not in modes}
    chosen = layout.case(modes) if modes else layout
    parameters = {**sizes, **modes}
    points = chosen.points(parameters)
    if operand == "metadata":
        how, columns = None, (*(_SHOWN.get(name, name) for name in chosen.inputs), *chosen.outputs)
    else:
        how = Packing(8, 32) if operand.startswith("scale") else packing(variant, operand)
        columns = ("thread", "element", "register", "bit_low", "row", "col")
        places = [how.place(element) for element in range(chosen.domain(parameters)["i"])]
        points = [(t, i, *places[i], row, col) for t, i, row, col in points]
    if operand == "metadata" and "s" not in modes and not selector:
        modes = {"s": 0}
    return Picture(
        variant.mnemonic,
        operand,
        _identifier(variant, operand, modes),
        chosen,
        modes,
        chosen.domain(parameters),
        chosen.shape(parameters),
        how,
        columns,
        tuple(points),
    )


def _check_source(variant: Variant, operand: str, a_source: str | None) -> None:
    if a_source is None:
        return
    if all(form.a != a_source for form in variant.forms):
        sources = {form.a for form in variant.forms if form.a} or {"register"}
        if a_source not in sources:
            raise Question(f"{variant.mnemonic} takes A from {' or '.join(sorted(sources))}, not {a_source}")
    if operand == "A" and a_source == "descriptor":
        raise Question(_in_shared_memory(variant, "A"))


def _in_shared_memory(variant: Variant, operand: str) -> str:
    return (
        f"{operand} of {variant.mnemonic} lives in shared memory, read through a matrix descriptor: it has no "
        "register fragment; `ptxmma descriptor address` tells where its elements lie"
    )


def _layout(specification: Specification, variant: Variant, operand: str) -> LayoutMap:
    known = variant.row.row.layouts
    operands = variant.row.family.instruction.operands
    if known.get(operand) == "opaque":
        vector = operands.get(operand.lower()) or next(o for o in operands.values() if o.registers)
        count = variant.evaluate(vector.registers) if vector.registers else 0
        raise Question(
            f"{operand} of {variant.mnemonic}: the fragment is opaque by the text (9.7.14.4.1): which element "
            f"a register holds is unspecified; it has {count} registers"
        )
    if operand not in known and f"{operand.lower()}-desc" in operands:
        raise Question(_in_shared_memory(variant, operand))
    return specification.layout_of(variant, operand)


def _modes(layout: LayoutMap, operand: str, given: Mapping[str, int | None]) -> dict[str, int]:
    """The selectors' values; raises Question for one that is out of range or has no meaning here."""
    known = {name: layout.layout.params[name].values for name in layout.parameters if name in given}
    for name, value in given.items():
        if value is None:
            continue
        allowed = known.get(name, (0,) if name == "s" and operand == "metadata" else ())
        if not allowed:
            raise Question(f"{_SELECTORS[name]} has no meaning for the layout of {operand}")
        if value not in allowed:
            shown = " or ".join(map(str, allowed))
            raise Question(f"{_SELECTORS[name]} is {value}; for this {operand} it must be {shown}")
    return {name: given[name] or 0 for name in known}


def _identifier(variant: Variant, operand: str, modes: Mapping[str, int]) -> str:
    """A name for generated functions, such as mma_m16n8k16_a_f16."""
    fields = variant.fields
    shape = "".join(f"{letter}{fields[letter]}" for letter in "mnk" if letter in fields)
    field = {"metadata": "atype", "scale-a": "stype", "scale-b": "stype"}.get(operand)
    field = field or register_operand(variant, operand).holds or ""
    words = [variant.row.family.instruction.instruction, shape, operand, str(fields[field])]
    words += [f"{name}{value}" for name, value in modes.items()]
    return "_".join(words).replace(".", "_").replace("-", "_").lower()


def ask(picture: Picture, wanted: Mapping[str, int]) -> Picture:
    """The picture with only the point where each of `wanted`'s columns has its value.

    Raises Question for a value out of range, and when no point is there.
    """
    sizes = {_SHOWN.get(name, name): size for name, size in {**picture.sizes, **picture.shape}.items()}
    for name, value in wanted.items():
        if not 0 <= value < sizes[name]:
            raise Question(
                f"the {name} is {value}; {picture.operand} of {picture.mnemonic} has {name}s 0 to {sizes[name] - 1}"
            )
    positions = [(picture.columns.index(name), value) for name, value in wanted.items()]
    found = tuple(p for p in picture.points if all(p[at] == value for at, value in positions))
    if not found:
        chosen = ", ".join(f"{name} = {value}" for name, value in picture.modes.items())
        where = " ".join(f"{name} {value}" for name, value in wanted.items())
        raise Question(f"{where} takes no part in {picture.operand} with {chosen}")
    return replace(picture, points=found)

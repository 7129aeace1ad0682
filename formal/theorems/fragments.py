"""Theorems about a row's fragments: they cover the operand's matrix, and fill the vector's registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial, reduce

from ...spec.errors import SpecError
from ...spec.expressions import Binary, Expression, Name, Number, names, substitute
from ...spec.fragments import Packing, packing, register_operand
from ...spec.maps import LayoutMap
from ...spec.parts import layout_operand
from ...spec.sparsity_records import Sparsity
from ...spec.specification import Specification
from ...spec.variants import OPAQUE, RowView, Variant
from ..smt.bitvectors import BitVectors, width_for
from ..smt.obligations import Obligation, refuting
from ..smt.terms import UGT, ULT, And, BitVec, BitVecs, BitVecVal, BoolVal, Not, Or, Term, UDiv, URem
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "fragment_obligations", "known", "matrix_shape", "packing_obligations"]

_WIDTH = 24  # a bit's number in a vector of registers
_FRAGMENTS = "ABCD"
_LAID_OUT = (*_FRAGMENTS, "scale-a", "scale-b", "metadata")
_ELEMENTS = 256  # that a thread holds at most


def matrix_shape(
    letter: str, fields: Mapping[str, str | int], sparsity: Sparsity | None
) -> dict[str, Expression]:
    """What an operand's layout must cover, from the instruction's m, n, k (n may stay symbolic), and
    how many products it computes at once."""
    m, n, k = (_extent(fields, name) for name in "mnk")
    packed, chunks = k, k
    if sparsity is not None:
        count = int(fields["k"])
        packed = Number(count * sparsity.slots // sparsity.chunk)
        chunks = Number(count // sparsity.chunk)
    scales = Number(int(fields.get("scales", 1)))
    shapes: dict[str, dict[str, Expression]] = {
        "A": {"row": m, "col": packed},
        "B": {"row": k, "col": n},
        "C": {"row": m, "col": n},
        "D": {"row": m, "col": n},
        "scale-a": {"row": m, "col": scales},
        "scale-b": {"row": scales, "col": n},
    }
    products = int(fields.get("products", 1))
    if products > 1:
        for shape in shapes.values():
            shape["product"] = Number(products)
    if sparsity is not None:
        shapes["metadata"] = {
            "row": m,
            "chunk": chunks,
            "slot": Number(sparsity.indices),
            "index_bit": Number(sparsity.index_bits),
        }
    try:
        return shapes[letter]
    except KeyError:
        raise SpecError(f"no operand is called {letter!r}") from None


def _wanted(variant: Variant, letter: str, sparsity: Sparsity | None) -> dict[str, Expression]:
    """What a part's layout must cover: as the operand says, or as the part of a product."""
    found = layout_operand(variant.instruction, letter)
    if found is not None and found[1].matrix is not None:
        return {name: known(variant, formula.tree, "n") for name, formula in found[1].matrix.items()}
    fields = {name: value for name, value in variant.fields.items() if name != "n"}
    return matrix_shape(letter, fields, sparsity)


def _extent(fields: Mapping[str, str | int], name: str) -> Expression:
    return Name("n") if name == "n" and "n" not in fields else Number(int(fields[name]))


def known(variant: Variant, tree: Expression, free: str) -> Expression:
    """`tree` with every field but `free` replaced by its value."""
    bindings: dict[str, Expression] = {}
    for name in names(tree):
        value = variant.row.value(name, variant.fields)
        if name != free and isinstance(value, int):
            bindings[name] = Number(value)
    return substitute(tree, bindings)


def fragment_obligations(
    view: RowView, layouts: Mapping[str, LayoutMap], sparsity: Sparsity | None
) -> Iterator[Obligation]:
    """For every operand of a row, all N at once: the layout covers the matrix, exactly once a
    register bit: threads x elements = matrix elements, and elements x width = registers x word."""
    values = [int(value) for value in view.domains.get("n", ())]
    seen: set[tuple[object, ...]] = set()
    for variant in view.variants():
        for letter, identifier in variant.layouts.items():
            if identifier == OPAQUE or _moved(variant, letter):
                continue
            packed = packing(variant, letter) if letter in _FRAGMENTS else None
            key = (
                letter,
                identifier,
                packed,
                tuple(
                    variant.fields[f]
                    for f in ("m", "k", *layouts[identifier].parameters)
                    if f in variant.fields and f != "n"
                ),
            )
            if key in seen:
                continue
            seen.add(key)
            layout = layouts[identifier]
            yield _covers(view, variant, letter, layout, sparsity, values)
            if packed is not None:
                yield _fills(view, variant, letter, layout, packed, values)


def _moved(variant: Variant, letter: str) -> bool:
    """Whether an operand is what moves to or from tensor memory, of which nothing says a shape."""
    found = layout_operand(variant.instruction, letter)
    return found is not None and found[1].matrix is None and letter not in _LAID_OUT


def _differing(
    variant: Variant, layout: LayoutMap, values: list[int], pairs: list[tuple[Expression, Expression]]
) -> str:
    """The text that asks for a value of N (if there is an N) at which the sides of some pair differ.

    The layout's parameters are the variant's fields, 0 where no field is.
    """
    fields = {name: int(variant.fields.get(name, 0)) for name in layout.parameters if name != "n"}
    bounds = {name: (value, value) for name, value in fields.items()}
    if values:
        bounds["n"] = (min(values), max(values))
    width = width_for([tree for pair in pairs for tree in pair], bounds)
    n = BitVec("n", width)
    others = {name: BitVecVal(value, width) for name, value in fields.items()}
    reader = BitVectors(width, {**others, "n": n})
    admissible = Or(*(n == value for value in values)) if values else BoolVal(True)
    return refuting(admissible, Not(And(*(reader.read(a) == reader.read(b) for a, b in pairs))))


def _product(*factors: Expression) -> Expression:
    return reduce(lambda a, b: Binary("*", a, b), factors)


def _covers(
    view: RowView,
    variant: Variant,
    letter: str,
    layout: LayoutMap,
    sparsity: Sparsity | None,
    values: list[int],
) -> Obligation:
    wanted = _wanted(variant, letter, sparsity)
    subject = f"{view.id} {letter}"
    if set(wanted) != set(layout.extents):
        return Obligation(
            "row.covers",
            subject,
            refuting(BoolVal(True)),
            lambda _: (
                f"{layout.layout.id} maps to ({', '.join(layout.extents)}), not to ({', '.join(wanted)})"
            ),
        )
    pairs = [(layout.extents[name], wanted[name]) for name in wanted]
    return Obligation(
        "row.covers",
        subject,
        partial(_differing, variant, layout, values, pairs),
        lambda model: (
            f"at N = {model.get('n', 0)}, {layout.layout.id} is not of the shape of operand {letter}"
        ),
    )


def _fills(
    view: RowView,
    variant: Variant,
    letter: str,
    layout: LayoutMap,
    packed: Packing,
    values: list[int],
) -> Obligation:
    operand = register_operand(variant, letter)
    if operand.registers is None:
        raise SpecError(f"the operand {letter} has no register count", operand.place)
    registers = known(variant, operand.registers.tree, "n")
    elements = layout.sizes["i"]
    pairs = [
        (_product(layout.sizes["t"], elements), _product(*layout.extents.values())),
        (_product(elements, Number(packed.width)), _product(registers, Number(packed.word))),
    ]
    subject = f"{view.id} {letter} {packed.width}/{packed.word}"
    return Obligation(
        "row.registers",
        subject,
        partial(_differing, variant, layout, values, pairs),
        lambda model: (
            f"at N = {model.get('n', 0)}, the elements of {letter} do not fill its registers exactly"
        ),
    )


def packing_obligations(packed: Packing, elements: int) -> Iterator[Obligation]:
    """Element -> (register, bits) is injective and stays inside the register, up to `elements`."""
    first, second = BitVecs("i i_other", _WIDTH)
    width, word = packed.width, packed.word

    def place(element: Term) -> tuple[Term, Term]:
        bits = element * width
        return UDiv(bits, word), URem(bits, word)

    register, low = place(first)
    other_register, other_low = place(second)
    overlap = And(
        register == other_register,
        ULT(low, other_low + width),
        ULT(other_low, low + width),
    )
    yield Obligation(
        "packing.bijective",
        f"{width}-bit elements in {word}-bit registers",
        refuting(
            ULT(first, elements),
            ULT(second, elements),
            Or(And(first != second, overlap), UGT(low + width, word)),
        ),
        lambda model: f"elements {model.get('i', 0)} and {model.get('i_other', 0)} share bits of a register",
    )


def _parts(specification: Specification) -> Iterator[ProofPart]:
    for family in specification.families.values():
        for view in family.rows:
            sparsity = specification.sparsities[view.row.sparsity] if view.row.sparsity else None
            made = partial(fragment_obligations, view, specification.layouts, sparsity)
            yield ProofPart(f"row {view.id}", made)
    yield ProofPart("packing", partial(_packings, specification))


def _packings(specification: Specification) -> Iterator[Obligation]:
    """Every width of elements that a fragment has in its registers, once."""
    packings = {}
    for family in specification.families.values():
        for view in family.rows:
            for variant in view.variants():
                for letter, identifier in variant.layouts.items():
                    if letter in _FRAGMENTS and identifier != OPAQUE:
                        packed = packing(variant, letter)
                        packings[packed.width, packed.word] = packed
    for packed in packings.values():
        yield from packing_obligations(packed, _ELEMENTS)


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    return iter((f"row {row.id}", "packing"))


GROUP = TheoremGroup(
    20,
    (
        Theorem(
            "packing.bijective",
            "elements share no bit of a register and leave none over",
            small=True,
            formula="for i != j: bits of i and j are apart; i * width % word + width <= word",
            fails="two elements that share bits of a register",
        ),
        Theorem(
            "row.covers",
            "an operand's layout has exactly the shape of its matrix, for every N",
            small=True,
            formula="for each N: extents(N) == the operand's matrix(N)",
            fails="an N at which the layout has another shape, or coordinates with other names",
        ),
        Theorem(
            "row.registers",
            "threads x elements = matrix elements; elements fill the vector exactly",
            small=True,
            formula="for each N: threads * elements == places; elements * width == registers * word",
            fails="an N at which elements do not fill the registers exactly",
        ),
    ),
    _parts,
    _behind,
)

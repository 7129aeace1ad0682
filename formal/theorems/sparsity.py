"""Theorems about structured sparsity: codes, completeness, compression, and the sparse product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from ...spec.errors import SpecError
from ...spec.sparse import positions
from ...spec.sparsity_records import Sparsity
from ...spec.specification import METADATA_ORDER, Specification
from ...spec.variants import RowView
from ..smt.bitvectors import BitVectors, width_for
from ..smt.obligations import Obligation, refuting
from ..smt.terms import UGE, ULE, ULT, And, BitVec, BitVecVal, If, LShR, Not, Or, Term
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "sparsity_obligations"]

_WIDTH = 16


def _value(number: int) -> Term:
    return BitVecVal(number, _WIDTH)


def _read(sparsity: Sparsity, code: Term) -> list[Term]:
    """The position of every slot, as the YAML's expression has it."""
    return [
        BitVectors(_WIDTH, {"code": code, "slot": _value(slot)}).read(sparsity.position.tree)
        for slot in range(sparsity.slots)
    ]


def _valid(sparsity: Sparsity, setting: str, code: Term) -> Term:
    in_range = ULT(code, _value(1 << sparsity.code_bits))
    return And(in_range, BitVectors(_WIDTH, {"code": code}).read(sparsity.valid[setting].tree))


def _named_distinctly(sparsity: Sparsity, code: Term) -> Term:
    """Independent of the YAML's `valid`: the two 2-bit indices name what an element may be stored as.

    With one granule an element: two different positions. With two: both halves of one element.
    """
    low, high = code & 3, LShR(code, 2) & 3
    if sparsity.granule == 1:
        return low != high
    return And(low & 1 == 0, high == low + 1)


def _code_name(sparsity: Sparsity, model: Mapping[str, int]) -> str:
    return f"0b{model.get('code', 0):0{sparsity.code_bits}b}"


def sparsity_obligations(name: str, sparsity: Sparsity, default: str) -> Iterator[Obligation]:
    """Every obligation of one sparsity pattern, for each setting of the reading of its codes."""
    bounds = {"code": (0, (1 << sparsity.code_bits) - 1), "slot": (0, sparsity.slots - 1)}
    if width_for([f.tree for f in (sparsity.position, *sparsity.valid.values())], bounds) > _WIDTH:
        raise SpecError(f"the sparsity {name} has values of more than {_WIDTH} bits", sparsity.place)
    code = BitVec("code", _WIDTH)
    in_range = ULT(code, _value(1 << sparsity.code_bits))
    listed = Or(*(code == value for value in sparsity.codes))
    yield Obligation(
        "sparse.codes",
        f"{name} (listed)",
        refuting(in_range, listed != _valid(sparsity, default, code)),
        lambda model: f"{_code_name(sparsity, model)} is listed but not valid, or valid but not listed",
    )
    yield Obligation(
        "sparse.codes",
        f"{name} (distinct)",
        refuting(in_range, _named_distinctly(sparsity, code) != _valid(sparsity, "distinct", code)),
        lambda model: f"{_code_name(sparsity, model)} is judged otherwise by its two indices",
    )
    for setting in sparsity.valid:
        yield _distinct(name, sparsity, setting, code)
        yield _product(name, sparsity, setting, code)
    yield _complete(name, sparsity)
    yield _round_trip(name, sparsity)


def _distinct(name: str, sparsity: Sparsity, setting: str, code: Term) -> Obligation:
    places = _read(sparsity, code)
    faults = [UGE(place, _value(sparsity.chunk)) for place in places]
    faults += [a == b for i, a in enumerate(places) for b in places[:i]]
    return Obligation(
        "sparse.positions",
        f"{name} ({setting})",
        refuting(_valid(sparsity, setting, code), Or(*faults)),
        lambda model: f"{_code_name(sparsity, model)} names a position twice, or one outside the chunk",
    )


def _complete(name: str, sparsity: Sparsity) -> Obligation:
    mask = BitVec("mask", _WIDTH)
    kept = [LShR(mask, bit) & 1 for bit in range(sparsity.chunk)]
    ones = sum(kept, _value(0))
    whole = And(*(bit == kept[at - at % sparsity.run] for at, bit in enumerate(kept)))
    covers = [sum(1 << position for position in positions(sparsity, code)) for code in sparsity.codes]
    hits = sum((If(mask == cover, _value(1), _value(0)) for cover in covers), _value(0))
    return Obligation(
        "sparse.complete",
        name,
        refuting(ULT(mask, _value(1 << sparsity.chunk)), whole, ones == sparsity.slots, hits != 1),
        lambda model: (
            f"the columns of mask 0b{model.get('mask', 0):0{sparsity.chunk}b} "
            "are not named by exactly one code"
        ),
    )


def _scatter(sparsity: Sparsity, places: list[Term], stored: list[Term]) -> list[Term]:
    """Decompression: each column takes the stored element that names it, else zero."""
    columns = []
    for column in range(sparsity.chunk):
        value = _value(0)
        for place, element in zip(places, stored, strict=True):
            value = If(place == column, element, value)
        columns.append(value)
    return columns


def _round_trip(name: str, sparsity: Sparsity) -> Obligation:
    elements = [BitVec(f"x{column}", _WIDTH) for column in range(sparsity.chunk)]
    occupied = [element != 0 for element in elements]
    runs = [Or(*occupied[at : at + sparsity.run]) for at in range(0, sparsity.chunk, sparsity.run)]
    many = sum((If(taken, _value(1), _value(0)) for taken in runs), _value(0))
    code = _value(sparsity.codes[-1])
    for candidate in reversed(sparsity.codes):
        named = positions(sparsity, candidate)
        covered = And(*(Not(t) for c, t in enumerate(occupied) if c not in named))
        code = If(covered, _value(candidate), code)
    places = _read(sparsity, code)
    stored = []
    for place in places:
        value = elements[-1]
        for column in range(sparsity.chunk - 1):
            value = If(place == column, elements[column], value)
        stored.append(value)
    back = _scatter(sparsity, places, stored)
    different = Or(*(a != b for a, b in zip(elements, back, strict=True)))
    return Obligation(
        "sparse.round_trip",
        name,
        refuting(ULE(many, _value(sparsity.indices)), different),
        lambda model: (
            "the chunk ("
            + ", ".join(str(model.get(f"x{c}", 0)) for c in range(sparsity.chunk))
            + ") does not survive compression and decompression"
        ),
    )


def _product(name: str, sparsity: Sparsity, setting: str, code: Term) -> Obligation:
    """The coefficient of every row of B, added up slot by slot, is the decompressed element."""
    places = _read(sparsity, code)
    stored = [BitVec(f"y{slot}", _WIDTH) for slot in range(sparsity.slots)]
    dense = _scatter(sparsity, places, stored)
    faults = []
    for column in range(sparsity.chunk):
        coefficient = _value(0)
        for place, element in zip(places, stored, strict=True):
            coefficient = coefficient + If(place == column, element, _value(0))
        faults.append(coefficient != dense[column])
    return Obligation(
        "sparse.product",
        f"{name} ({setting})",
        refuting(_valid(sparsity, setting, code), Or(*faults)),
        lambda model: f"with code {_code_name(sparsity, model)} the sparse product is not the dense one",
    )


def _parts(specification: Specification) -> Iterator[ProofPart]:
    default = specification.switches[METADATA_ORDER].default
    for name, sparsity in specification.sparsities.items():
        made = partial(sparsity_obligations, name, sparsity, default)
        yield ProofPart(f"sparsity {name}", made, sparsity.title)


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    if row.row.sparsity:
        yield f"sparsity {row.row.sparsity}"


GROUP = TheoremGroup(
    40,
    (
        Theorem(
            "sparse.codes",
            "the listed codes are the valid ones, and name distinct elements",
            small=True,
            formula="for each code: listed == valid; valid == its two indices name distinct elements",
            fails="a code that is listed and not valid, or valid and not listed",
        ),
        Theorem(
            "sparse.positions",
            "a valid code names distinct positions inside the chunk",
            small=True,
            formula="for each valid code: positions < chunk, and no two are equal",
            fails="a code that names a position twice, or one outside the chunk",
        ),
        Theorem(
            "sparse.complete",
            "every choice of kept columns has exactly one listed code",
            formula="for each choice of kept columns: exactly one code of the list names them",
            fails="columns that no code names, or that two do",
        ),
        Theorem(
            "sparse.round_trip",
            "decompress after compress is the identity on chunks of right sparsity",
            formula="for each chunk x of right sparsity: decompress(compress(x)) == x",
            fails="a chunk that does not survive",
        ),
        Theorem(
            "sparse.product",
            "the sparse product is the dense product of the decompressed matrix",
            formula="for each valid code, column c: decompressed[c] == sum of stored[s], position(s) == c",
            fails="a code with which the sparse product is not the dense one",
        ),
    ),
    _parts,
    _behind,
)

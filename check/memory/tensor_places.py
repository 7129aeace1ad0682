"""Which lanes and columns of tensor memory a statement surely accesses, by its layouts.

9.7.16.2.3 and 9.7.16.10.5. What is not known is left out: of a product whose instruction descriptor is
unknown, all columns but the first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from ...spec.api import load
from ...spec.described_operands import INSTRUCTION
from ...spec.described_products import described_product
from ...spec.errors import Question
from ...spec.maps import LayoutMap
from ...spec.parts import TENSOR_MEMORY, stated_parameters
from ..ptx.decode import DecodedStatement
from ..ptx.operands import Address, address_of

__all__ = [
    "ADDS",
    "COMMITTED",
    "SPLIT",
    "TENSOR_ACTIONS",
    "TensorOperand",
    "TensorPlace",
    "allocated_place",
    "copied_rows",
    "filled_place",
    "fills_place",
    "moved_places",
    "names_other_slice",
    "product_place",
    "tensor_operands",
    "tensor_texts",
]

SPLIT: Final = "split"  # that of the operand that says where the second of two accesses begins
ADDS: Final = "scale-d"  # the part of the operand that says whether a product adds to what was there
# What is complete once a commit behind it has arrived.
COMMITTED = frozenset(("tensor-multiply", "tensor-copy", "tensor-shift"))
# What is done to allocated tensor memory, or orders it, beside arrivals.
TENSOR_ACTIONS = COMMITTED | frozenset(
    (
        *("fetch", "fetch-wait", "tensor-store", "tensor-store-wait"),
        *("tensor-fence", "tensor-release", "deallocate"),
    )
)
_LANES = 128
_COLUMNS = (1 << 16) - 1  # the bits of an address that are its column
_LANE_BITS = 16  # those above are its lane
_SLICE = 32  # lanes that one warp of a warpgroup reaches
_HALF = 16  # lanes: no part of a product takes fewer of a slice


class TensorPlace(NamedTuple):
    """Columns `low` to `high` - 1 of some lanes, a bit for each. Of blocks that are executed together, each
    has those behind all that the one before it may have.
    """

    low: int
    high: int
    lanes: int

    @property
    def block(self) -> int:
        """The rank of the block in whose tensor memory it lies, among those that are executed together."""
        return self.low >> _LANE_BITS

    @property
    def own(self) -> TensorPlace:
        """The same columns, counted in the block's own tensor memory."""
        return self.moved(-self.block)

    def moved(self, blocks: int) -> TensorPlace:
        """The same place of a block whose rank is so much greater."""
        by = blocks << _LANE_BITS
        return self if not by else self._replace(low=self.low + by, high=self.high + by)


class TensorOperand(NamedTuple):
    """An operand that is an address in tensor memory, by its name, and its part of the product. `is_written`:
    the result lies there.
    """

    name: str
    address: Address
    part: str
    is_written: bool


@lru_cache(maxsize=1 << 10)
def tensor_operands(statement: DecodedStatement) -> tuple[TensorOperand, ...]:
    """The operands that are addresses in tensor memory, and are a base and an offset."""
    found = []
    for named in statement.named:
        address = address_of(named.text) if named.operand.space == TENSOR_MEMORY else None
        if address is not None:
            written = named.operand.role != "source"
            found.append(TensorOperand(named.name, address, str(named.operand.part), written))
    return tuple(found)


def tensor_texts(statement: DecodedStatement) -> list[str]:
    """The operands that say which places of tensor memory a statement accesses, which of shared memory a
    product reads, and whether it adds.
    """
    texts = [named.text for named in statement.named if named.operand.space == TENSOR_MEMORY]
    texts += [named.text for named in statement.described]
    return [*texts, *(named.text for part in (INSTRUCTION, ADDS) if (named := statement.part(part)))]


@lru_cache(maxsize=1 << 12)
def moved_places(statement: DecodedStatement, at: int, warp: int, split: int) -> tuple[TensorPlace, ...]:
    """What a warp loads from an address, or stores to it; nothing where no layout says. `split`: how far
    behind the first access of a statement its second one begins, if it has two. A warp reaches one slice of
    the lanes only, by its number in the warpgroup (9.7.16.8.1): DeepGEMM and TileLang let all warps name the
    first lane.
    """
    variant = statement.operation.nearest
    layout = None if variant is None else load().layouts.get(variant.layouts.get("data", ""))
    if variant is None or layout is None:
        return ()
    sizes = layout.shape(stated_parameters(layout, variant))
    if not {"lane", "column"} <= sizes.keys():
        return ()
    starts = [at + split * access for access in range(sizes.get("access", 1))]
    first = warp * _SLICE % _LANES
    lanes = ((_lane(start) % _SLICE + first, start) for start in starts)
    return tuple(_place(start, sizes["column"], ((1 << sizes["lane"]) - 1) << lane) for lane, start in lanes)


def product_place(
    statement: DecodedStatement, operand: TensorOperand, at: int, word: int | None
) -> TensorPlace:
    """What a product accesses at the address of an operand, by its instruction descriptor, as far as that is
    known.
    """
    known = None if word is None else _placed(statement.operation.opcode, operand.part, word)
    if known is not None and known.is_full:
        return _place(at, known.columns, (1 << _LANES) - 1)
    lanes = _some_lanes(at) if operand.is_written else ((1 << _HALF) - 1) << _lane(at)
    return _place(at, 1 if known is None else known.columns, lanes)


def fills_place(statement: DecodedStatement, operand: TensorOperand, word: int | None) -> bool:
    """Whether a product accesses no other columns at the address of an operand than those that are known."""
    return word is not None and _placed(statement.operation.opcode, operand.part, word) is not None


@lru_cache(maxsize=1 << 12)
def filled_place(statement: DecodedStatement, operand: TensorOperand, at: int) -> TensorPlace | None:
    """What a copy writes at the address of its operand, or a shift; None where no layout says."""
    known = _filling(statement, operand.name)
    if known is None:
        return None
    layout, parameters = known
    points = layout.points(parameters)
    lanes = sum([1 << lane for lane in {point[0] for point in points}])
    return _place(at, 1 + max(point[1] for point in points), lanes << _lane(at))


def copied_rows(statement: DecodedStatement) -> int:
    """How many rows of bytes a copy into tensor memory reads; 0 if it reads none, or no layout says."""
    known = [_filling(statement, operand.name) for operand in tensor_operands(statement)]
    return sum(one[0].shape(one[1]).get("row", 0) for one in known if one is not None)


@lru_cache(maxsize=1 << 10)
def _filling(statement: DecodedStatement, name: str) -> tuple[LayoutMap, dict[str, int]] | None:
    """The layout of what is written at the operand of that name, and its parameters."""
    variant = statement.operation.nearest
    layout = None if variant is None else load().layouts.get(variant.layouts.get(name, ""))
    if variant is None or layout is None or layout.inputs[:2] != ("lane", "column"):
        return None
    return layout, stated_parameters(layout, variant)


def names_other_slice(at: int, warp: int) -> bool:
    """Whether an address names lanes that only other warps of the warpgroup reach, or that there are not: not
    the first ones, which stand for those of each warp.
    """
    named = (at >> _LANE_BITS) % (1 << _LANE_BITS) // _SLICE
    return named not in (0, warp % (_LANES // _SLICE))


def allocated_place(at: int, columns: int) -> TensorPlace:
    """As many columns of all lanes as are allocated at an address."""
    return _place(at, columns, (1 << _LANES) - 1)


def _place(at: int, columns: int, lanes: int) -> TensorPlace:
    low = at & _COLUMNS
    return TensorPlace(low, low + columns, lanes & (1 << _LANES) - 1)


def _lane(at: int) -> int:
    return at >> _LANE_BITS & _LANES - 1


def _some_lanes(at: int) -> int:
    """As many lanes of each slice as any result takes, from that of an address on."""
    half = ((1 << _HALF) - 1) << _lane(at) % _SLICE
    return sum(half << first for first in range(0, _LANES, _SLICE))


class _Placed(NamedTuple):
    """How many columns a part of a product takes, and whether it takes all lanes."""

    columns: int
    is_full: bool


@lru_cache(maxsize=1 << 8)
def _placed(mnemonic: str, part: str, word: int) -> _Placed | None:
    """Where a part of a product lies; None where no layout says."""
    variant, layouts = load().judge().variant_of(mnemonic), load().layouts
    if variant is None:
        return None
    try:
        product = described_product(load(), variant, word)
        modes = {mode: 0 for name in product.possible(part) for mode in layouts[name].mode_parameters}
        placed = product.placed(part, modes)
    except Question:
        return None
    layout = layouts[placed.layout]
    sizes = layout.domain(placed.parameters)
    if not {"lane", "column"} <= sizes.keys():
        return None
    return _Placed(sizes["column"], layout.condition is None and sizes["lane"] == _LANES)

"""Which layouts the operands of a variant have: those that it names, and those that its product may have in
tensor memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..spec.described_products import described_product
from ..spec.errors import Question
from ..spec.parts import placed_parts
from ..spec.quantities import one_of
from ..spec.specification import Specification
from ..spec.variants import Variant

__all__ = ["variant_layouts"]


def variant_layouts(specification: Specification, variant: Variant) -> Iterator[tuple[str, str]]:
    """Each operand, or part in tensor memory with what decides, and its layout."""
    yield from variant.layouts.items()
    try:
        product = described_product(specification, variant)
    except Question:  # it takes no instruction descriptor, or none that is known
        return
    for part in placed_parts(specification.layouts, variant):
        for identifier, deciding in product.possible(part).items():
            said = ", ".join(f"{name} {one_of(values)}" for name, values in deciding.items())
            yield f"{part}{f', {said}' if said else ''}", identifier

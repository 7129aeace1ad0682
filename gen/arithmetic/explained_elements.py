"""One element of D explained, from elements as people write them: `ptxmma explain` and `ptxmma.explain`."""

from __future__ import annotations

from collections.abc import Mapping

from ...spec.arithmetic import arithmetic_of, negated
from ...spec.dot_product import ElementCode
from ...spec.errors import Question
from ...spec.parts import computes, without_sums
from ...spec.specification import Specification
from ...spec.variants import Variant
from .element_codes import code_of, codes_of
from .explanation_text import ExplainedElement
from .explanations import explained

__all__ = ["explained_element"]


def explained_element(
    specification: Specification,
    variant: Variant,
    target: str,
    written: Mapping[str, str],
    scales: tuple[int, int] = (1, 1),
) -> ExplainedElement:
    """`written` has the row of A, the column of B and the element of C, by the names that errors give them.

    Raises Question where the variant adds no products, where nobody has measured the arithmetic of the
    target, and where an element is not one of its type.
    """
    if not computes(variant.instruction):
        raise Question(without_sums(variant))
    arithmetic = arithmetic_of(variant, target)
    types, count = arithmetic.types, arithmetic.products
    (name_a, a), (name_b, b), (name_c, c) = written.items()
    row, column = (
        [ElementCode(code, negate) for code in codes_of(specification, types[part], text, count, name)]
        for part, text, name, negate in zip(
            ("A", "B"), (a, b), (name_a, name_b), negated(variant, *scales), strict=True
        )
    )
    added = code_of(specification, types["C"], c, name_c)
    found = explained(specification, arithmetic, row, column, added)
    return ExplainedElement(specification, variant, target, found)

"""What is said of each theorem for readers: a formula, and what is found where it is false."""

import pytest

from ptxmma.formal.catalogue import GROUPS
from ptxmma.formal.theorem import Theorem

# Groups whose theorems have no formula yet.
_WITHOUT = {
    "address",
    "arithmetic",
    "arrangement",
    "bridge",
    "exact",
    "mask",
    "ordering",
    "swizzle",
    "targets",
    "types",
}
_FEW = {"layout.parameters", "row.parameters", "legal.nearest"}  # of groups of which others have one
_ALL = [theorem for group in GROUPS for theorem in group.theorems]


def test_every_theorem_has_its_texts_or_is_known_to_have_none() -> None:
    without = {one.name for one in _ALL if not one.formula}
    assert {name for name in without if name.partition(".")[0] not in _WITHOUT} == _FEW
    assert {name.partition(".")[0] for name in without} - {
        name.partition(".")[0] for name in _FEW
    } == _WITHOUT


@pytest.mark.parametrize(
    "theorem", [one for one in _ALL if one.formula or one.fails], ids=lambda one: one.name
)
def test_texts_are_one_line_each_and_of_one_theorem(theorem: Theorem) -> None:
    assert theorem.formula and theorem.fails
    for text in (theorem.formula, theorem.fails):
        assert "\n" not in text and len(text) <= 90 and not text.endswith(".")
    alike = [one.name for one in _ALL if one.formula == theorem.formula]
    assert alike == [theorem.name]

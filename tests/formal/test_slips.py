"""Slips: a changed scalar is read as what it looks like, as a person's slip would be."""

import pytest

from ptxmma.audit.mutation.corpus import Corpus
from ptxmma.formal.mutation.slips import Slip

DESCRIPTORS, BRIDGES, MMA = (
    "spec/descriptors.yaml",
    "spec/layouts/bridges.yaml",
    "spec/instructions/mma.yaml",
)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus()


def of(corpus: Corpus, file: str, field: str, kind: str) -> list[Slip]:
    found = [one for one in corpus.slips([file]) if one.field == field and one.kind == kind]
    assert found
    return found


@pytest.mark.parametrize(
    ("file", "field", "kind", "tag"),
    [
        (DESCRIPTORS, "DescriptorField.low", "integer", "int"),
        (MMA, "Row.count", "integer", "int"),
        (BRIDGES, "Bridge.holds", "boolean", "bool"),
        (MMA, "Gate.since", "version", "str"),
        (MMA, "Operand.role", "word", "str"),
    ],
)
def test_a_changed_scalar_keeps_its_kind(corpus: Corpus, file: str, field: str, kind: str, tag: str) -> None:
    """Else the loader refuses the word in place of an integer, and no witness is asked."""
    assert {one.new.tag for one in of(corpus, file, field, kind)} == {f"tag:yaml.org,2002:{tag}"}


def test_a_name_stays_while_the_place_and_the_change_do(corpus: Corpus) -> None:
    every = [one.name for one in corpus.slips([DESCRIPTORS])]
    assert len(set(every)) == len(every)
    assert f"{DESCRIPTORS} descriptors.wgmma.fields.base-offset.unit: integer: 1 → 2" in every

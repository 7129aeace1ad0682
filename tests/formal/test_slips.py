"""Slips: a changed scalar is read as what it looks like, as a person's slip would be."""

import pytest

from ptxmma.audit.mutation.corpus import Corpus
from ptxmma.audit.mutation.meaning import plain
from ptxmma.formal.mutation.slips import Slip
from ptxmma.spec import instead
from ptxmma.spec.api import load
from ptxmma.spec.cache import ROOT
from ptxmma.spec.loading import load_files

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


@pytest.mark.parametrize(
    "changed", [MMA, BRIDGES, DESCRIPTORS, "spec/layouts/mma.yaml", "spec/sparsity.yaml", "spec/effects.yaml"]
)
def test_a_changed_file_is_read_anew_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    before = load()
    monkeypatch.setattr(instead, "_KEPT", {ROOT: instead.KeptFiles(before, frozenset({changed}))})
    after = load_files(ROOT)
    assert after == before
    read = {n for n in before.instructions if after.instructions[n] is not before.instructions[n]}
    read |= {n for n in before.layouts if after.layouts[n] is not before.layouts[n]}
    read |= {n for n in before.bridges if after.bridges[n] is not before.bridges[n]}
    file_of = {
        **{n: one.place.file for n, one in before.instructions.items()},
        **{n: one.layout.place.file for n, one in before.layouts.items()},
        **{n: one.place.file for n, one in before.bridges.items()},
    }
    assert read == {name for name, file in file_of.items() if file == changed}
    assert after.sparsities is not before.sparsities or changed != "spec/sparsity.yaml"


def test_the_order_of_a_list_counts_where_it_means_something() -> None:
    one = load().instructions["mma"]
    form = next(iter(one.forms))
    written = plain(one)
    assert written["forms"][form]["operands"] == list(one.forms[form].operands)
    assert written["execution"] == sorted(one.execution) != list(one.execution)

"""Slips: everything in a file is changed, one at a time, and read as what it looks like, as a person's slip would be."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ptxmma.audit.mutation.corpus import Corpus
from ptxmma.audit.mutation.meaning import plain
from ptxmma.formal.mutation.slips import Slip, changed_root
from ptxmma.formal.ordering.programs import ProxyFence, WgmmaFence
from ptxmma.spec import instead
from ptxmma.spec.api import load
from ptxmma.spec.cache import ROOT
from ptxmma.spec.loading import load_files

ADDRESSES, DESCRIPTORS, BRIDGES, MMA = (
    "spec/addresses.yaml",
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


def below(value: Any) -> Iterator[Any]:
    """Everything in a plain value that stands at a key or in a list."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for inner in inside:
        yield inner
        yield from below(inner)


def scalars(node: yaml.Node) -> Iterator[yaml.Node]:
    """The scalars of a node that are no keys."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    for inner in node.value if not isinstance(node, yaml.ScalarNode) else ():
        yield from scalars(inner[1] if isinstance(inner, tuple) else inner)


@pytest.mark.parametrize(
    "file",
    [
        "specs.yaml",
        "contradictions.yaml",
        BRIDGES,
        DESCRIPTORS,
        "check/rules.yaml",
        "spec/instructions/ldmatrix.yaml",
        "spec/layouts/wgmma.yaml",
        "spec/numerics.yaml",
        "spec/ordering/switches.yaml",
        "spec/ordering/litmus.yaml",
    ],
)
def test_everything_is_changed(corpus: Corpus, file: str) -> None:
    """Counted anew from the file as any reader of YAML has it, without the typed model."""
    text = (ROOT / file).read_text(encoding="utf-8")
    every = list(corpus.slips([file]))
    assert max(Counter(slip.name for slip in every).values()) == 1
    kinds = Counter(slip.kind for slip in every)
    values = list(below(yaml.load(text, Loader=yaml.CSafeLoader)))
    dropped = kinds["key dropped"] + kinds["entry dropped"] + kinds["member dropped"]
    assert dropped == len(values)
    rewritten = {"boolean", "formula", "integer", "null", "text", "version", "word"}
    places = {(slip.place.line, slip.place.column) for slip in every if slip.kind in rewritten}
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    assert root is not None
    marks = [node.start_mark for node in scalars(root)]
    assert len(marks) == sum(not isinstance(value, dict | list) for value in values)
    assert {(mark.line + 1, mark.column + 1) for mark in marks} <= places


def test_a_slip_changes_its_file_and_nothing_of_the_old_root(corpus: Corpus) -> None:
    root, _ = corpus.nodes[ADDRESSES]
    before = yaml.serialize(root)
    texts = [yaml.serialize(changed_root(root, slip)) for slip in corpus.slips([ADDRESSES])]
    assert before not in texts
    assert len(set(texts)) == len(texts) > 100
    assert yaml.serialize(root) == before


def test_a_setting_becomes_another_of_its_switch(corpus: Corpus) -> None:
    switches = "spec/ordering/switches.yaml"
    changes = {
        slip.after for slip in of(corpus, switches, "Switch.strict", "word") if ".same-shape." in slip.path
    }
    assert changes >= {"m-n", "m-n-k"}


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


def test_another_step_is_another_meaning() -> None:
    """Steps without fields differ by what they are."""
    assert plain(ProxyFence()) != plain(WgmmaFence())
    assert plain([ProxyFence(), WgmmaFence()]) != plain([WgmmaFence(), ProxyFence()])

"""A trial of a slip is made cheap, and must say what the whole question says."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ptxmma.assemblers.universe import Universe
from ptxmma.assemblers.universe_cache import PackedUniverse, packed
from ptxmma.audit.mutation.baseline import Baseline
from ptxmma.audit.mutation.corpus import Corpus
from ptxmma.audit.mutation.equality import equal_families
from ptxmma.audit.mutation.peer_answers import PeerAnswers
from ptxmma.audit.mutation.universe_table import UniverseTable, words
from ptxmma.audit.mutation.witnesses import Changed, concerned_words
from ptxmma.formal.mutation.slips import Slip, changed_root
from ptxmma.ledger.peer_record import load_peers
from ptxmma.spec import instead
from ptxmma.spec.api import load
from ptxmma.spec.cache import ROOT
from ptxmma.spec.errors import PtxmmaError
from ptxmma.spec.expressions import Number, parse
from ptxmma.spec.loading import load_files
from ptxmma.spec.maps import LayoutMap
from ptxmma.spec.specification import Specification
from ptxmma.spec.statements import Statement
from ptxmma.spec.variants import Family

MOVMATRIX = "spec/instructions/movmatrix.yaml"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus()


@pytest.fixture(scope="module")
def universe() -> PackedUniverse:
    before = load()
    return packed(Universe(before), before.families["movmatrix"])


@pytest.fixture(scope="module")
def read(corpus: Corpus) -> Iterator[list[Specification]]:
    """Specifications with a slip in a small file, each read as a trial reads it."""
    before, found = load(), []
    every = list(corpus.slips([MOVMATRIX]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instead, "_KEPT", {ROOT: instead.KeptFiles(before, frozenset({MOVMATRIX}))})
        for slip in random.Random(15).sample(every, 60):
            patch.setattr(instead, "_NODES", {ROOT / MOVMATRIX: _changed(corpus, slip)})
            try:
                found.append(load_files(ROOT))
            except PtxmmaError:
                continue
    yield found


def _changed(corpus: Corpus, slip: Slip) -> object:
    return changed_root(corpus.nodes[slip.file][0], slip)


def test_only_the_statements_that_are_looked_at_are_judged_otherwise(
    corpus: Corpus, universe: PackedUniverse, read: list[Specification]
) -> None:
    table, base, differing = UniverseTable.of(universe), Baseline(corpus), 0
    assert len(read) > 10
    for specification in read:
        if "movmatrix" not in specification.instructions:
            continue
        made = Universe(specification)
        seen = set(table.with_words(concerned_words(Changed(base, specification, MOVMATRIX), "movmatrix")))
        for number, point in enumerate(universe.points):
            mnemonic, _, operands = point.statement.rstrip(";").partition(" ")
            gate = made.judge.gate_of(Statement(None, mnemonic, operands, made.declared))
            if gate != point.gate:
                differing += 1
                assert number in seen, point.statement
    assert differing > 100


def test_a_table_has_the_statements_of_its_universe(universe: PackedUniverse) -> None:
    table = UniverseTable.of(universe)
    for number, point in enumerate(universe.points):
        assert (table.statement(number), table.gate(number)) == (point.statement, point.gate)
    wanted = words(universe.points[0].statement.partition(" ")[0])
    spelled = [words(point.statement.rstrip(";").partition(" ")[0]) for point in universe.points]
    assert table.with_words([wanted]) == [n for n, one in enumerate(spelled) if one == wanted]
    assert table.with_words([frozenset({"nothing"})]) == []


def test_a_rule_of_values_that_nobody_lists_is_not_called_equal() -> None:
    """There are no values to try it for."""
    old = load().families["wgmma.wait_group"]
    (name,) = (name for name, one in old.instruction.operands.items() if one.valid)
    operand = old.instruction.operands[name]
    assert operand.valid is not None and operand.values is None
    other = replace(operand, valid=replace(operand.valid, tree=Number(1)))
    new = Family(replace(old.instruction, operands={name: other}), old.isa)
    assert equal_families(old, old) and not equal_families(old, new)


def test_only_a_default_that_every_row_has_a_value_of_its_own_for_is_no_matter() -> None:
    old = load().families["tcgen05.mma.block_scale"].instruction

    def other(field: str, value: str) -> Family:
        bind = {**old.bind, field: replace(old.bind[field], values=(value,))}
        return Family(replace(old, bind=bind), load().isa)

    family = Family(old, load().isa)
    assert all("scale_vec" in row.bind for row in old.rows)
    assert equal_families(family, other("scale_vec", "block32"))
    assert any("decompress" not in row.bind for row in old.rows)
    assert not equal_families(family, other("decompress", "decompress::lut::b"))


def test_peers_notice_a_layout_and_a_field_that_they_have_otherwise() -> None:
    """They have D of M = 128 in the lane of its row, and M from bit 24 on."""
    old = load()
    answers = PeerAnswers(old, load_peers())
    assert not list(answers.differing(old, ["tcgen05.d.D"], ["tcgen05.f16"]))
    layout = old.layouts["tcgen05.d.D"].layout
    row = replace(layout.map["row"], tree=parse("127 - lane"))
    turned = LayoutMap(replace(layout, map={**layout.map, "row": row}))
    changed = replace(old, layouts={**old.layouts, layout.id: turned})
    assert "0 here, " in str(next(answers.differing(changed, [layout.id], [])))
    word = old.descriptors["tcgen05.f16"]
    moved = {**word.fields, "M": replace(word.fields["M"], low=word.fields["M"].low - 1)}
    changed = replace(old, descriptors={**old.descriptors, "tcgen05.f16": replace(word, fields=moved)})
    assert "descriptor tcgen05.f16" in str(next(answers.differing(changed, [], ["tcgen05.f16"])))

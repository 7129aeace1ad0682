"""Each answer says who witnessed it: `legal`, `descriptor`, `list`, as lines and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ptxmma.ledger.asked_names import devices_of, releases_of, universes_of
from ptxmma.ledger.assembler_record import load_records
from ptxmma.ledger.records import FOLDER
from ptxmma.ledger.silicon_record import load_silicon
from ptxmma.ledger.universe_record import load_universes
from ptxmma.spec.quantities import counted_state

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
PRODUCT = "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;"
FENCE = "wgmma.fence.sync.aligned;"
PEERS = ("TVM", "JAX", "CuTe", "Triton")


def answer(run: Run, *words: str) -> dict[str, Any]:
    _, out, _ = run(*words, "--format", "json")
    found: dict[str, Any] = json.loads(out)
    valid(words[0], found)
    return found


def test_a_count_has_its_verb() -> None:
    said = [counted_state(count, state) for count in (1, 2) for state in ("agrees", "differs", "stale")]
    assert said == ["1 agrees", "1 differs", "1 stale", "2 agree", "2 differ", "2 stale"]


def test_how_many_differ(run: Run) -> None:
    _, out, _ = run("legal", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];")
    assert "15 of 17 releases agree with the row, 2 differ, " in out
    _, out, _ = run("legal", "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;")
    assert "16 of 17 releases agree with the row, 1 differs, " in out


def test_legal_says_who_witnessed_the_row(run: Run) -> None:
    found = answer(run, "legal", PRODUCT)
    assert found["witnesses"]["assemblers"] == {"agrees": 17}
    assert found["witnesses"]["devices"] == []
    named = {peer.split()[0] for peer in found["witnesses"]["peers"]["tcgen05.d.D"]}
    assert named == {*PEERS}
    assert found["universe"] is None
    _, out, _ = run("legal", PRODUCT)
    line = "  witnesses: ptxas: 17 of 17 releases agree with the row, no device, 4 peers of its layouts"
    assert f"\n{line} (`ptxmma show` names them)\n" in out


def test_legal_names_devices_and_leaves_peers_out_where_there_is_no_layout(run: Run) -> None:
    assert answer(run, "legal", FENCE)["witnesses"]["peers"] == {}
    _, out, _ = run("legal", FENCE)
    assert "witnesses: ptxas: 17 of 17 releases agree with the row, no device (`ptxmma show`" in out
    shown = answer(run, "legal", "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;")["witnesses"]
    assert shown["devices"] == ["NVIDIA H100 80GB HBM3", "NVIDIA H200"]


@pytest.mark.parametrize(
    ("statement", "instruction"),
    [
        (PRODUCT.replace("f16", "f32"), "tcgen05.mma"),
        ("wgmma.fence.sync.aligned.x2;", "wgmma.fence"),
        ("tcgen05.mma", "tcgen05.mma"),
    ],
)
def test_a_statement_in_no_row_names_who_was_asked_beside_the_rows(
    run: Run, statement: str, instruction: str
) -> None:
    found = answer(run, "legal", statement)
    assert found["witnesses"] is None
    assert found["universe"]["instruction"] == instruction
    assert found["universe"]["releases"][-1] == "13.5.37"
    _, out, _ = run("legal", statement)
    assert f"`ptxmma evidence --universes {instruction}`" in out


def test_nobody_witnessed_what_is_unknown(run: Run) -> None:
    found = answer(run, "legal", "nosuch.thing %r0;")
    assert found["witnesses"] is None and found["universe"] is None
    assert "witnesses" not in run("legal", "nosuch.thing %r0;")[1]


def test_the_word_of_a_descriptor_has_its_own_witnesses(run: Run) -> None:
    found = answer(run, "legal", PRODUCT, "--idesc", "0xd8200490")["idesc"]["witnesses"]
    assert found["descriptor"] == "tcgen05.f16"
    assert found["source"] == "9.7.16.4.2 (text)"
    assert found["rules"]["max-shift"] == "9.7.16.4.2 (recovered)"
    assert {peer.split()[0] for peer in found["peers"]} >= {"CUTLASS", "JAX"}
    same = answer(run, "descriptor", "decode", "0xd8200490", "--kind", "tcgen05.f16", "ws=0")["witnesses"]
    assert same["peers"] == found["peers"]
    _, out, _ = run("legal", PRODUCT, "--idesc", "0x08200490")
    assert "  witnesses of the descriptor tcgen05.f16: 9.7.16.4.2 (text); peers: CUTLASS " in out


def test_a_field_that_no_peer_sets_is_named(run: Run) -> None:
    found = answer(run, "descriptor", "decode", "0", "--kind", "tcgen05.ti16")["witnesses"]
    assert "transpose-A" in found["unstated"] and "N" not in found["unstated"]
    assert "no peer sets " in run("descriptor", "decode", "0", "--kind", "tcgen05.ti16")[1]


def test_list_ends_with_who_was_asked(run: Run) -> None:
    _, out, _ = run("list", "tcgen05*")
    assert out.endswith(
        "; witnesses: ptxas (17 releases), silicon (no device); `ptxmma evidence` says who agrees\n"
    )
    assert "silicon (2 devices, 11 of 14 rows)" in run("list", "wgmma*")[1]


def test_names_are_those_of_the_whole_records() -> None:
    rows = {"wgmma.mma_async/f16", "tcgen05.mma/f16", "no such row"}

    def those(known: Sequence[tuple[str, set[str]]]) -> dict[str, set[str]]:
        return {name: own & rows for name, own in known if own & rows}

    assert dict(releases_of(rows)) == those([(one.release, {*one.rows}) for one in load_records()])
    whole = [(one.device.name, {s.row for s in one.subjects.values()}) for one in load_silicon()]
    assert dict(devices_of(rows)) == those(whole)
    name = "tcgen05.mma"
    assert universes_of(name) == [one.release for one in load_universes(FOLDER) if name in one.instructions]

"""Peers: what they said is held against the YAML, and nothing passes that they did not say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ptxmma.cli import peers_report
from ptxmma.ledger.contradiction_file import check_contradictions
from ptxmma.ledger.contradictions import register
from ptxmma.ledger.independent import corroborations
from ptxmma.ledger.peer_record import PeerMap, PeerRecord, load_peers
from ptxmma.ledger.peer_verdicts import peer_verdicts
from ptxmma.ledger.register_questions import (
    ExplainedPeer,
    MinimalQuestion,
    explained_verdicts,
    needless_peers,
)
from ptxmma.spec.errors import Question, SpecError
from ptxmma.spec.expressions import parse
from ptxmma.spec.maps import LayoutMap
from ptxmma.spec.nodes import Formula
from ptxmma.spec.specification import Specification

WATCHES = ("contradictions.yaml",)

Run = Callable[..., tuple[int, str, str]]

PEER = {
    "name": "Mine", "origin": "me/mine", "package": "mine", "version": "1", "kind": "program", "date": "2026-01-02",
}  # fmt: skip
# CuTe's SM80_16x8_Row and Triton's bases of the same accumulator, typed by hand.
CUTE = "((4,8),(2,2)):((32,1),(16,8))"
BASES = {"t": [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], "i": [[0, 1], [8, 0]]}
C = {
    "layout": "mma.m16n8.c", "parameters": {}, "function": "C", "inputs": {"t": 32, "i": 4},
    "outputs": {"row": 16, "col": 8}, "map": CUTE,
}  # fmt: skip
START = {"descriptor": "wgmma", "function": "make", "fields": {"start-address": 0x120}, "word": "0x12"}


def recorded(folder: Path, maps: list[Any], words: list[Any] | None = None) -> PeerRecord:
    value = {"format": 1, "peer": PEER, "maps": maps, "words": words or []}
    (folder / "peers-mine.json").write_text(json.dumps(value))
    return load_peers(folder)[0]


def said(specification: Specification, record: PeerRecord) -> list[tuple[str, str]]:
    return [(verdict.state, verdict.why) for verdict in peer_verdicts(specification, [record])]


def test_two_ways_to_write_one_map(tmp_path: Path, specification: Specification) -> None:
    record = recorded(tmp_path, [C, {**C, "map": BASES}])
    assert said(specification, record) == [("agrees", ""), ("agrees", "")]
    # Thread 5, element 3 is in row 5 // 4 + 8, column 2 * (5 % 4) + 1.
    for one in record.maps:
        steps = dict(zip(one.inputs, one.steps(), strict=True))
        assert steps["t"][5] + steps["i"][3] == 9 + 16 * 3


@pytest.mark.parametrize(
    ("changed", "state", "why"),
    [
        ({"map": "((4,8),(2,2)):((32,1),(8,16))"}, "differs",
         "64 of 128 points; t 0, i 1: row 0, col 1 here, row 8, col 0 there"),
        ({"map": {**BASES, "i": [[8, 0], [0, 1]]}}, "differs",
         "64 of 128 points; t 0, i 1: row 0, col 1 here, row 8, col 0 there"),
        ({"map": "((4,8),2):((32,1),16)", "inputs": {"t": 32, "i": 2}}, "differs",
         "the inputs are t 32, i 4 here, t 32, i 2 there"),
        ({"outputs": {"row": 8, "col": 16}}, "differs", "the outputs are row 16, col 8 here, row 8, col 16 there"),
        ({"layout": "mma.m16n8.gone"}, "stale", "no layout has this name any more"),
        ({"parameters": {"k": 8}}, "stale", "it has the parameters none, no longer k"),
        ({"layout": "wgmma.d", "parameters": {"n": 12}}, "stale", "n is no longer 12"),
    ],
)  # fmt: skip
def test_what_does_not_agree(
    tmp_path: Path, specification: Specification, changed: dict[str, Any], state: str, why: str
) -> None:
    assert said(specification, recorded(tmp_path, [{**C, **changed}])) == [(state, why)]


def test_a_place_outside_the_matrix_is_no_other_place(tmp_path: Path, specification: Specification) -> None:
    """Row 16 of column 0 has the number of row 0 of column 1."""
    layout = specification.layouts["mma.m16n8.c"]
    text, place = "t // 4 + 16*(i // 2)", layout.layout.place
    slipped = {**layout.layout.map, "row": Formula(text, parse(text), place)}
    wrong = LayoutMap(replace(layout.layout, map=slipped))
    broken = replace(specification, layouts={**specification.layouts, "mma.m16n8.c": wrong})
    record = recorded(tmp_path, [{**C, "map": "((4,8),(2,2)):((32,1),(16,16))"}])
    ((state, why),) = said(broken, record)
    assert state == "differs" and why.startswith(
        "64 of 128 points; t 0, i 2: row 16, col 0 here, row 0, col 1 there"
    )
    verdict = next(iter(peer_verdicts(broken, [record])))
    assert str(verdict.place).startswith("spec/layouts/mma.yaml:")


def test_words_of_descriptors(tmp_path: Path, specification: Specification) -> None:
    words = [
        START,
        {**START, "word": "0x120"},
        {**START, "fields": {"start-address": 0x121}},
        {**START, "fields": {"end-address": 16}},
        {**START, "descriptor": "gone"},
        {
            "descriptor": "tcgen05.f16",
            "function": "w",
            "fields": {"atype": "bf16", "N": 24},
            "word": hex(1 << 7 | 3 << 17),
        },
        {"descriptor": "tcgen05.f16", "function": "w", "fields": {"atype": "e4m3"}, "word": "0x0"},
    ]
    assert said(specification, recorded(tmp_path, [], words)) == [
        ("agrees", ""),
        ("differs", "start-address 288 is 0x12 here, 0x120 there"),
        (
            "differs",
            "start-address 289 is 0x12 there, and refused here: start-address: 289 is not a multiple of 16",
        ),
        ("stale", "it has no field end-address any more"),
        ("stale", "no descriptor has this name any more"),
        ("agrees", ""),
        (
            "differs",
            "atype e4m3 is 0x0 there, and refused here: atype: 'e4m3' is not a value; it must be f16, bf16",
        ),
    ]


def test_a_map_from_elements_to_places_is_read_backwards(
    tmp_path: Path, specification: Specification
) -> None:
    """Layout F, typed by hand: rows 16 to 31 are in the lanes from 32 on, n = 8 columns side by side."""
    one = {
        "layout": "tcgen05.d.F", "parameters": {"n": 8, "half": 0}, "function": "F",
        "inputs": {"row": 64, "col": 8}, "outputs": {"lane": 128, "column": 8}, "map": "((16,4),8):((1,32),128)",
    }  # fmt: skip
    other = {**one, "map": "(64,8):(1,128)"}
    assert said(specification, recorded(tmp_path, [one, other])) == [
        ("agrees", ""),
        ("differs", "384 of 512 points; row 16, col 0: lane 32, column 0 here, lane 16, column 0 there"),
    ]


def test_a_map_of_an_input_may_list_its_values(tmp_path: Path, specification: Specification) -> None:
    """Three scale factors from byte 3 on, typed by hand: the other two are in the word four columns on."""
    lanes = {
        "copy": [[32, 0, 0], [64, 0, 0]],
        "row": [[1 << bit, 0, 0] for bit in range(5)] + [[0, 1, 0], [0, 2, 0]],
    }
    one = {
        "layout": "tcgen05.scale-a.3X", "parameters": {"id": 3}, "function": "sf",
        "inputs": {"copy": 4, "row": 128, "col": 3}, "outputs": {"lane": 128, "column": 8, "byte": 4},
        "map": {**lanes, "col": [[0, 0, 3], [0, 4, 0], [0, 4, 1]]},
    }  # fmt: skip
    next_column = {**one, "map": {**lanes, "col": [[0, 0, 3], [0, 1, 0], [0, 1, 1]]}}
    (agrees, _), (differs, why) = said(specification, recorded(tmp_path, [one, next_column]))
    assert (agrees, differs) == ("agrees", "differs")
    assert why.endswith("lane 0, column 4, byte 0 here, lane 0, column 1, byte 0 there")


@pytest.mark.parametrize(
    "spoilt",
    [
        {"map": "((4,8)):((32,1))"},
        {"map": "((4,8),(2,4)):((32,1),(16,8))"},
        {"map": "((4,8),(2,2)"},
        {"map": {**BASES, "i": [[0, 1], [16, 0]]}},
        {"map": {**BASES, "i": [[0, 0], [0, 1], [8, 0]]}},
        {"map": {"t": BASES["t"]}},
        {"extra": 1},
    ],
)
def test_what_is_no_map_is_refused(tmp_path: Path, spoilt: dict[str, Any]) -> None:
    with pytest.raises(Question, match=r"peers-mine\.json is not a record of observations"):
        recorded(tmp_path, [{**C, **spoilt}])


def test_peers_with_one_origin_are_one_witness(tmp_path: Path, specification: Specification) -> None:
    own = recorded(tmp_path, [C], [START])
    copy = replace(own, peer=replace(own.peer, name="Copy"))
    other = replace(own, peer=replace(own.peer, name="Other", origin="them/theirs"))
    moved = tuple(replace(one, origin="them/theirs") for one in own.maps)

    def witnesses(*records: PeerRecord) -> dict[str, tuple[str, ...]]:
        found = corroborations(specification, peer_verdicts(specification, records), {})
        return next(dict(one.witnesses) for one in found if one.part == "layout mma.m16n8.c")

    assert witnesses(own, copy) == {"me/mine": ("Mine", "Copy")}
    assert witnesses(own, other) == {"me/mine": ("Mine",), "them/theirs": ("Other",)}
    assert witnesses(replace(own, maps=moved)) == {"them/theirs": ("Mine",)}
    wrong: tuple[PeerMap, ...] = (*own.maps, replace(own.maps[0], map="((4,8),(2,2)):((32,1),(8,16))"))
    assert witnesses(replace(own, maps=wrong)) == {}, "a peer that differs once is no witness"


def test_a_field_has_the_witnesses_that_set_it(tmp_path: Path, specification: Specification) -> None:
    words = [{**START, "fields": {"start-address": 0x120, "base-offset": 0}}]
    record = recorded(tmp_path, [], words)
    chips = {"k-major": frozenset({"Chip"})}
    found = corroborations(specification, peer_verdicts(specification, [record]), chips)
    by_part = {one.part: dict(one.witnesses) for one in found}
    assert by_part["descriptor wgmma, start-address"] == {"me/mine": ("Mine",), "silicon": ("Chip",)}
    assert by_part["descriptor wgmma, base-offset"] == {}
    assert by_part["layout smem.k-major"] == {"silicon": ("Chip",)}


def test_every_recorded_peer_agrees(specification: Specification) -> None:
    records = load_peers()
    assert {"CuTe DSL", "Triton", "JAX Mosaic GPU"} <= {record.peer.name for record in records}
    for record in records:
        assert record.peer.version and record.peer.date and (record.maps or record.words)
    verdicts = explained_verdicts(register().entries, peer_verdicts(specification, records))
    assert [str(verdict) for verdict in verdicts if not verdict.holds] == []
    assert list(needless_peers(register().entries, verdicts)) == []
    agreeing = {verdict.part: set[str]() for verdict in verdicts}
    for verdict in verdicts:
        agreeing[verdict.part].add(verdict.origin)
    assert len(agreeing["descriptor tcgen05.f16"]) >= 2 and len(agreeing["layout tcgen05.d.B"]) >= 4
    assert len(agreeing["layout wgmma.d"]) >= 3 and len(agreeing["layout mma.m16n8k16.a.16b"]) >= 3


def test_an_entry_explains_what_differs_and_nothing_else(
    tmp_path: Path, specification: Specification
) -> None:
    record = recorded(tmp_path, [{**C, "map": "((4,8),(2,2)):((32,1),(8,16))"}, C])
    old = register().entries["cutlass-m16n8k32-int4-b"]
    one = ExplainedPeer("mine", "layout mma.m16n8.c", "C")
    entries = {"mine-c": replace(old, peers=(one,))}
    verdicts = explained_verdicts(entries, peer_verdicts(specification, [record]))
    assert [(v.state, v.entry, v.holds) for v in verdicts] == [
        ("differs", "mine-c", True),
        ("agrees", "", True),
    ]
    assert list(needless_peers(entries, verdicts)) == []
    ((_, what),) = needless_peers(entries, verdicts[1:])
    assert what == "mine-c explains layout mma.m16n8.c of mine (C), which does not differ"
    other = {"mine-c": replace(old, peers=(replace(one, function="D"),))}
    assert not explained_verdicts(other, verdicts)[0].holds and list(needless_peers(other, verdicts))


def test_a_question_has_two_answers(specification: Specification) -> None:
    old = register().entries["cutlass-m16n8k32-int4-b"]
    same = MinimalQuestion("which row", {"9.7.14.5.10": "8", "mine": "8"})
    with pytest.raises(SpecError, match="'which row' has one answer"):
        check_contradictions({"mine": replace(old, questions=(same,))}, specification)
    with pytest.raises(SpecError, match="mine has no case"):
        check_contradictions({"mine": replace(old, cases=(), questions=())}, specification)


def test_the_command_says_what_rests_on_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_report, "load_silicon", tuple)  # chips have tests of their own
    code, out, _ = run("evidence", "--peers", "matrix.*")
    (rests,) = (line for line in out.splitlines() if "rest on one witness beside the text: " in line)
    assert code == 0 and "layout matrix.m16n16.trans" in rests and "layout matrix.rows.16" in rests
    _, out, _ = run("evidence", "--peers", "tcgen05.d.?")
    (rests,) = (line for line in out.splitlines() if "rest on one witness beside the text: " in line)
    assert "layout tcgen05.d.C" in rests and "layout tcgen05.d.B" not in rests
    assert "layout mma" not in out
    code, out, _ = run("evidence", "--peers", "wgmma.d", "--format", "json")
    jsonschema.validate(json.loads(out), json.loads(run("schema", "--answers", "evidence-peers")[1]))
    (one,) = json.loads(out)
    assert code == 0 and one["part"] == "layout wgmma.d" and one["independent"] >= 3
    assert one["where"].startswith("spec/layouts/wgmma.yaml:")
    assert {said["package"] for said in one["said"]} >= {"nvidia-cutlass-dsl", "triton", "jax"}
    code, _, err = run("evidence", "--peers", "nosuch")
    assert code == 2 and "no layout or descriptor is named 'nosuch'" in err


# What nobody but the text says, of tensor memory and its descriptors. A peer that is found shortens the list.
ALONE = {
    *(f"layout tcgen05.{name}" for name in ("a.C", "shift", "cp.b4x16_p64", "cp.b6x16_p32")),
    *(f"layout tcgen05.metadata.{kind}.m64" for kind in ("16b", "tf32", "8b")),
    *(
        f"descriptor tcgen05.ti16, {name}"
        for name in ("sparsity-selector", "saturate", "transpose-A", "transpose-B")
    ),
}


def test_what_rests_on_the_text_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_report, "load_silicon", tuple)
    _, out, _ = run("evidence", "--peers", "tcgen05*", "--format", "json")
    alone = {one["part"] for one in json.loads(out) if one["independent"] == 0}
    assert alone == ALONE

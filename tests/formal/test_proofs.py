"""The theorems hold by both solvers, and each of them can fail."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ptxmma.check.rules import rules
from ptxmma.cli.clauses_command import users
from ptxmma.cli.prove_command import parts_in_words
from ptxmma.formal.catalogue import GROUPS, STATEMENTS, obligations, subjects
from ptxmma.formal.consumers import check_consumers
from ptxmma.formal.prove import prove
from ptxmma.formal.smt.solvers import ask
from ptxmma.formal.smt.terms import script
from ptxmma.gen.litmus.litmus_tests import suite
from ptxmma.ledger.solver_record import load_answers
from ptxmma.spec import validation
from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import load_files
from ptxmma.spec.specification import Specification

pytestmark = pytest.mark.slow


def test_what_is_recorded_as_proven_is_all_that_is_claimed_today(specification: Specification) -> None:
    """`make prove` asks the solvers, and `ptxmma prove --record` records; CI does the former before the tests."""
    wanted: dict[str, dict[str, str]] = defaultdict(dict)
    for _, obligation in obligations(specification):
        wanted[obligation.theorem][obligation.digest] = obligation.expects
    assert wanted.keys() == {theorem.name for g in GROUPS for theorem in g.theorems if not theorem.enumerated}
    answers = load_answers()
    assert [record.solver for record in answers] == ["z3", "cvc5"]
    for record in answers:
        assert record.answers == wanted, "`ptxmma prove --record` records what is proven today"


def test_a_part_is_proven_by_both_solvers(specification: Specification) -> None:
    sparse = prove(specification, ("z3", "cvc5"), lambda part, _: part.startswith("row wgmma.mma_async.sp"))
    verdicts = Counter((result.solver, result.verdict) for result in sparse)
    assert verdicts.keys() == {("z3", "proven"), ("cvc5", "proven")}
    assert verdicts["z3", "proven"] == verdicts["cvc5", "proven"] > 30


def test_each_module_declares_the_theorems_that_it_makes_obligations_of(specification: Specification) -> None:
    declared = [theorem.name for group in GROUPS for theorem in group.theorems]
    assert len(declared) == len(set(declared)) == len(STATEMENTS)
    assert len({group.place for group in GROUPS}) == len(GROUPS)
    for group in GROUPS:
        asked = {obligation.theorem for _, obligation in obligations(specification, groups=(group,))}
        tried = {enumeration.theorem for enumeration in group.enumerations(specification)}
        assert asked == {theorem.name for theorem in group.theorems if not theorem.enumerated}
        assert tried == {theorem.name for theorem in group.theorems if theorem.enumerated}


def test_every_row_rests_on_something(specification: Specification) -> None:
    rows = list(subjects(specification))
    assert len(rows) == sum(len(i.rows) for i in specification.instructions.values())
    assert all(len(row.parts) >= 3 for row in rows)


def test_a_row_rests_on_its_own_sums(specification: Specification) -> None:
    (row,) = subjects(specification, "wgmma.mma_async/f16".__eq__)
    sums = {
        part.removeprefix("arithmetic sm_90 ").partition(" (")[0] for part in row.parts if "sm_90" in part
    }
    kinds = {"f16 and C -> f16", "f16 and C -> f32"}
    assert sums == {"f16 x f16 + f16 -> f16", "f16 x f16 + f32 -> f32"} | kinds
    every = {part.name: part for group in GROUPS for part in group.parts(specification)}
    own = [one for part in row.parts & every.keys() for one in every[part].obligations()]
    about = Counter(one.theorem for one in own if one.subject.endswith("nearest 1, nan_code 32767)"))
    assert about["arithmetic.round"] == 9 and about["arithmetic.bound"] == 8 and about["arithmetic.zero"] == 1


def test_the_name_of_a_row_means_that_row(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("prove", "ldmatrix/m8n8.b16", "--solver", "z3", "--format", "json")
    found = {result["subject"] for result in json.loads(out)["results"]}
    assert code == 0 and "ldmatrix/m8n8.b16 D" in found
    assert not [subject for subject in found if ".trans" in subject.partition(" ")[0]]


def test_a_mnemonic_means_its_row(run: Callable[..., tuple[int, str, str]]) -> None:
    asked = [
        run("prove", pattern, "--solver", "z3", "--format", "json")
        for pattern in ("ldmatrix/m8n8.b16", "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    ]
    row, mnemonic = ({result["obligation"] for result in json.loads(out)["results"]} for _, out, _ in asked)
    assert row == mnemonic
    code, _, said = run("prove", "ldmatrix.sync.aligned.m8n8.x3.shared.b16")
    assert code == 2 and "nothing matches" in said


WGMMA = "spec/layouts/wgmma.yaml"
MMA = "spec/layouts/mma.yaml"
MATRIX = "spec/layouts/matrix.yaml"
LDMATRIX = "spec/instructions/ldmatrix.yaml"
SHARED = "spec/layouts/shared_memory.yaml"
BRIDGES = "spec/layouts/bridges.yaml"
MMA_SP = "spec/layouts/mma.sp.yaml"
SPARSITY = "spec/sparsity.yaml"
SP = "spec/instructions/wgmma.mma_async.sp.yaml"

SPOILT = [
    (WGMMA, "16*warp + groupID + 8*(i // 2 % 2)", "16*warp + groupID + 4*(i // 2 % 2)", "layout.injective"),
    (WGMMA, "16*warp + groupID + 8*(i // 2 % 2)", "17*warp + groupID + 8*(i // 2 % 2)", "layout.in_bounds"),
    (
        WGMMA,
        "8*(threadID_in_group // 2) + bit // 4",
        "4*(threadID_in_group // 2) + bit // 4",
        "layout.injective",
    ),
    (WGMMA, "threadID_in_group // 2 == s", "threadID_in_group == s", "layout.surjective"),
    (
        MMA,
        'where: "threadID_in_group // 2 == thread_id',
        'where: "threadID_in_group % 2 == thread_id',
        "layout.injective",
    ),
    (SPARSITY, "0b1001, 0b1101", "0b1001", "sparse.codes"),
    (SPARSITY, "0b1001, 0b1101", "0b1001", "sparse.complete"),
    (SPARSITY, '"(code >> 2*slot) & 3"', '"(code >> slot) & 3"', "sparse.round_trip"),
    (
        SPARSITY,
        'distinct: "(code & 3) != (code >> 2)"',
        'distinct: "(code & 3) == (code & 3)"',
        "sparse.product",
    ),
    (SPARSITY, 'position: "code >> 3"', 'position: "code >> 2"', "sparse.positions"),
    ("spec/descriptors.yaml", "low: 16, high: 29", "low: 13, high: 26", "descriptor.disjoint"),
    ("spec/descriptors.yaml", "coding, low: 12, high: 12", "coding, low: 11, high: 11", "word.apart"),
    ("spec/descriptors.yaml", "use-span: used - 1", "use-span: used", "mask.fits"),
    ("spec/descriptors.yaml", "position <= skip_span", "position < skip_span", "mask.runs"),
    ("spec/descriptors.yaml", "use_span + 2", "use_span + 1", "mask.turns"),
    (
        "spec/descriptors.yaml",
        "K == k64 or sparse == 1 or N % 16 == 0",
        "K == k64 or sparse == 1 or N % 8 == 0",
        "word.reason",
    ),
    ("spec/addresses.yaml", "^ (((linear >> 7)", "+ (((linear >> 7)", "swizzle.involution"),
    ("spec/addresses.yaml", "base & 3) << 5", "base & 3) << 4", "swizzle.spreads"),
    ("spec/layouts/bridges.yaml", '"8*j + col"', '"8*j + row"', "bridge.equal"),
    (
        "spec/layouts/bridges.yaml",
        "equals: {row: row, col: col}",
        "equals: {row: row, col: col}\n    holds: false",
        "bridge.differs",
    ),
    (
        "spec/layouts/bridges.yaml",
        '"16*(row // 8) + 2*col + b"',
        '"16*(row // 8) + col + 8*b"',
        "bridge.equal",
    ),
    (
        MATRIX,
        "8*matrix + 2*threadID_in_group + i % 2",
        "8*matrix + threadID_in_group + 4*i",
        "layout.in_bounds",
    ),
    (MATRIX, 'col: "groupID + 8*(i // 4 % 2)"', 'col: "groupID + 8*(i // 2 % 2)"', "layout.injective"),
    (MATRIX, 'matrix: "t // 16", row: "t % 16"', 'matrix: "t // 8 % 2", row: "t % 16"', "layout.surjective"),
    (LDMATRIX, "matrices * m * n * type_bits // (32 * 32)", "matrices", "row.registers"),
    (LDMATRIX, 'row: "matrices * m"', "row: m", "row.covers"),
    ("spec/layouts/bridges.yaml", "permutes: col", "permutes: row", "bridge.permutation"),
    ("spec/addresses.yaml", "<< 4", "<< 3", "swizzle.line"),
    ("spec/addresses.yaml", "linear >> 7", "linear >> 8", "swizzle.spreads"),
    (
        MMA,
        'where: "threadID_in_group == thread_id and i // 2 == byte_id // 2"',
        'where: "threadID_in_group == thread_id and i // 2 == byte_id // 3"',
        "layout.selective",
    ),
    (SHARED, "codomain: {block: 32,", "codomain: {block: 33,", "address.tight"),
    (SHARED, "(63 + W) // W", "(64 + W) // W", "address.tight"),
    (SHARED, 'offset: "8 * W"', 'offset: "9 * W"', "address.tight"),
    (SHARED, "domain: {x: 256,", "domain: {x: 255,", "address.domain"),
    (BRIDGES, '"8*j < n"', '"9*j < n"', "bridge.covers"),
    (SP, '"m * n * dtype_bits // (128 * 32)"', '"m * n * dtype_bits // (256 * 32)"', "row.registers"),
    (SP, "A: wgmma.sp.a.16b,", "A: wgmma.sp.a.8b,", "row.covers"),
    (SPARSITY, "& 3) + slot % 2", "& 3)", "sparse.positions"),
    (SPARSITY, "2*(slot // 2)) & 3) + slot % 2", "slot // 2) & 3) + slot % 2", "sparse.round_trip"),
    (MMA_SP, "threadID_in_group == s", "threadID_in_group // 2 == s // 2", "layout.injective"),
    (
        MMA_SP,
        "8*threadID_in_group + i % 8 + 32*(i // 16)",
        "8*(3 - threadID_in_group) + i % 8 + 32*(i // 16)",
        "bridge.equal",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong", "theorem"), SPOILT)
def test_a_wrong_claim_is_refuted(
    monkeypatch: pytest.MonkeyPatch, files: Path, name: str, right: str, wrong: str, theorem: str
) -> None:
    """Of positions too, where the loader would say before that the codes stand in another order."""
    monkeypatch.setattr(validation, "check_code_order", lambda name, sparsity: None)
    path = files / name
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    spoilt = load_files(files)
    (group,) = (group for group in GROUPS if theorem in {one.name for one in group.theorems})
    results = prove(spoilt, ("z3",), lambda _, obligation: obligation.theorem == theorem, groups=(group,))
    refuted = {result.obligation.theorem: result.detail for result in results if result.verdict == "refuted"}
    assert refuted.get(theorem), theorem


def test_a_bridge_between_layouts_of_other_parameters(files: Path) -> None:
    path = files / BRIDGES
    text = path.read_text()
    start = text.index("  wgmma.d-mma.c:")
    right, changed = re.subn(r"params: \{n: \"[^\"]*\"", "params: {nn: [0]", text[start:], count=1)
    assert changed
    path.write_text(text[:start] + right)
    with pytest.raises(SpecError, match=r"the bridge says nothing of the parameter n of wgmma\.d") as error:
        load_files(files)
    assert error.value.place is not None and error.value.place.file.endswith("bridges.yaml")


def test_a_counterexample_is_said_as_a_person_reads_it(files: Path) -> None:
    path = files / WGMMA
    path.write_text(path.read_text().replace("16*warp + groupID + 8*", "16*warp + groupID + 4*", 1))
    results = prove(
        load_files(files),
        ("z3",),
        lambda part, o: o.theorem == "layout.injective" and part.endswith("wgmma.d"),
    )
    (detail,) = [result.detail for result in results if result.verdict == "refuted"]
    assert "thread " in detail and " both hold (" in detail


def test_a_pattern_makes_only_what_it_names(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(*arguments: Any) -> str:
        made.append(script(*arguments))
        return made[-1]

    monkeypatch.setattr("ptxmma.formal.smt.obligations.script", counted)
    code, out, err = run("prove", "nosuch")
    assert (code, out) == (2, "") and err.startswith("ptxmma: nothing matches 'nosuch'")
    aside = len(made)
    assert aside < 150  # of thousands: small ones, made at once
    assert run("prove", "layout.selective", "--solver", "z3")[0] == 0
    assert 0 < len(made) - 2 * aside < 40


def test_a_pattern_says_what_it_proved(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("prove", "bridge ldmatrix.trans-mma.m16n8k16.b", "--solver", "z3")
    assert code == 0
    assert (
        "proven: bridge ldmatrix.trans-mma.m16n8k16.b: ldmatrix.m8n8.x2.trans of N-major B is B of mma.m16n8k16 "
        "(.f16, .bf16): lane l gives the address of row l (bridge.covers, bridge.equal, bridge.widest)\n"
    ) in out
    assert "row" not in [
        line.split()[1] for line in out.splitlines() if line.startswith("┃")
    ]  # an empty table


def test_what_is_not_proven_is_said_of_its_part(specification: Specification) -> None:
    results = prove(specification, ("z3",), lambda part, _: part == "bridge mma.c-mma.a.16b")
    spoilt = [replace(result, verdict="unknown") if i == 0 else result for i, result in enumerate(results)]
    (line,) = parts_in_words(specification, spoilt)
    assert line.startswith(
        f"{len(spoilt) - 1} of {len(spoilt)} PROVEN: bridge mma.c-mma.a.16b: C/D of two mma"
    )


def test_no_answer_is_no_proof(specification: Specification) -> None:
    results = list(prove(specification, ("cvc5",), lambda part, _: part == "layout wgmma.d", milliseconds=0))
    assert results
    assert ask("z3", "(set-logic QF_BV)\n(assert (= x x))").status == "unknown"
    assert ask("cvc5", "(set-logic QF_BV)\n(nonsense)").status == "unknown"


def test_every_clause_has_a_consumer_that_exists(specification: Specification) -> None:
    reasons = {
        "gate.since", "gate.removed", "gate.target", "operand.count", "operand.kind", "operand.length",
        "operand.range", "qualifier.missing", "qualifier.unexpected", "qualifier.value",
    }  # fmt: skip
    used = users(specification)
    for name, clause in specification.clauses.items():
        assert clause.consumers, name
        assert used.get(name), name
        for consumer in clause.consumers:
            assert consumer.legality is None or consumer.legality in reasons
    check_consumers(specification, {hazard for test in suite() for hazard in test.hazards}, rules())

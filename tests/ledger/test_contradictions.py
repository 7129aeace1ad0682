"""The register of contradictions: it loads, it still shows, and it hides nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.assemblers.asking import register_types
from ptxmma.assemblers.outcomes import StatementOutcome
from ptxmma.assemblers.toolchains import Ptxas, locate
from ptxmma.ledger import contradictions
from ptxmma.ledger.assembler_record import claims, load_records
from ptxmma.ledger.contradiction_file import MinimalCase, check_contradictions
from ptxmma.ledger.contradictions import ContradictionRegister, register
from ptxmma.ledger.covered_points import spelled
from ptxmma.spec.api import judge
from ptxmma.spec.errors import Question, SpecError
from ptxmma.spec.loading import ROOT
from ptxmma.spec.nodes import Version
from ptxmma.spec.specification import Specification
from ptxmma.spec.statements import read_statement

Run = Callable[..., tuple[int, str, str]]
KINDS = {"text", "assembler", "silicon", "source"}
PARTIES = {"text", "asm", "silicon", "llvm", "cutlass", "triton", "tilelang", "jax", "tvm", "cccl", "peers"}


def only(release: str) -> Ptxas:
    """A fake toolchain that has every release."""
    return Ptxas(Path("ptxas"), release, Version(9, 9))


# What ptxas says of the cases of text-mma-m8n84, typed by hand from its own output.
D2, D1 = "{%fd0,%fd1}", "{%fd0}"
RIGHT = f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {D2}, {D1}, {D1}, {D2};"
WRONG = f"mma.sync.aligned.m8n84.row.col.f64.f64.f64.f64 {D2}, {D1}, {D1}, {D2};"
TYPED = {
    RIGHT: StatementOutcome("accepted"),
    WRONG: StatementOutcome(
        "refused", ("Unknown modifier '.m8n84'", "Shape modifier required for instruction 'mma'")
    ),
}


@pytest.fixture
def ptxas_says(monkeypatch: pytest.MonkeyPatch) -> dict[str, StatementOutcome]:
    """A fake assembler, which says of every statement what this dictionary does."""
    says = dict(TYPED)

    def classify(ptxas: Ptxas, statements: list[str], ptx: Version, target: str) -> list[StatementOutcome]:
        return [says[text] for text in statements]

    monkeypatch.setattr(contradictions, "classify", classify)
    monkeypatch.setattr(contradictions.ContradictionRegister.run, "__defaults__", (only,))
    return says


def cases() -> list[tuple[str, MinimalCase]]:
    return [(name, case) for name, entry in register().entries.items() for case in entry.cases]


def test_every_kind_of_party_has_entries() -> None:
    entries = register().entries
    assert len(entries) >= 50
    assert {party.who for entry in entries.values() for party in entry.parties} == KINDS
    for name, entry in entries.items():
        assert name.split("-")[0] in PARTIES
        assert entry.section and entry.witness.says and entry.reading.why


@pytest.mark.parametrize(("name", "case"), cases(), ids=lambda value: getattr(value, "statement", value))
def test_the_specification_says_of_a_case_what_is_recorded(name: str, case: MinimalCase) -> None:
    statement = replace(read_statement(case.text), declared=register_types()) if case.specification else None
    if statement is not None:
        verdict = judge(str(case.ptx), case.target).judge_statement(statement)
        assert verdict.verdict == case.specification, (name, verdict.reasons)


def test_the_cases_show_on_the_ptxas_at_hand() -> None:
    try:
        ptxas = locate(None)
    except Question as error:
        pytest.skip(f"no ptxas at all: {error}")
    known = register()

    def find(release: str) -> Ptxas:
        if release != ptxas.version:
            raise Question("only one is asked")
        return ptxas

    try:
        results, _ = known.run(list(known.entries), find)
    except Question as error:
        pytest.skip(f"ptxas {ptxas.version} is none of those recorded: {error}")
    assert len(results) > 50
    assert [(r.id, r.case.text, r.recorded, r.outcome) for r in results if not r.shows] == []


def test_every_block_of_points_is_a_disagreement_that_a_case_shows() -> None:
    known = register()
    for name, entry in known.entries.items():
        for points in entry.points:
            alone = replace(known, entries={name: replace(entry, points=(points,))})
            assert any(
                explained(alone, points.instruction, case, release, verdict) == name
                for case in entry.cases
                for release, verdict in known.verdicts(case).items()
                if verdict == points.direction and (case.specification == "legal") != (verdict == "accepted")
            ), (name, points.place)
        for ignored in entry.everywhere:
            alone = replace(known, entries={name: replace(entry, points=(), everywhere=(ignored,))})
            assert any(
                explained(alone, case.text.partition(".")[0], case, release, verdict) == name
                for case in entry.cases
                for release, verdict in known.verdicts(case).items()
                if verdict == "accepted"
            ), (name, ignored.place)


def explained(
    known: ContradictionRegister, instruction: str, case: MinimalCase, release: str, verdict: str
) -> str | None:
    return known.explains(instruction, case.text, release, case.ptx, case.target, verdict)  # type: ignore[arg-type]


# Typed by hand: instruction, statement, release, version, target, and what explains that it is accepted.
B4 = "{%b0, %b1, %b2, %b3}"
B8 = "{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}"
HEAD = "mma.sp.sync.aligned.m16n8k32.row.col"


def f32(selector: int, head: str = HEAD) -> str:
    return f"{head}.f32.f16.f16.f32 {B4}, {B4}, {B4}, {B4}, %b9, {selector};"


F16 = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16"
WMMA, WMMA32 = (f"wmma.mma.sync.aligned.row.row.m16n16k16.f16.{kind}" for kind in ("f16", "f32"))
LOAD = "wmma.load.a.sync.aligned.row.m16n16k16.f16"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32"
F16_OPERANDS = "{%b0, %b1}, {%b2, %b3}, {%b4}, {%b5, %b6}"
S4 = "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32"
S4_OPERANDS = f"{B4}, {{%b0, %b1}}, {{%b0}}, {B4}"
UMMA = "tcgen05.mma.cta_group::2"
EXCLUSIVE = "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.b32"
POINTS = [
    ("mma.sp", f32(2), "12.9.86", "8.8", "sm_90a", "silicon-sp-k32-selectors"),
    ("mma.sp", f32(3), "11.7.99", "7.1", "sm_80", "silicon-sp-k32-selectors"),
    ("mma.sp", f32(4), "12.9.86", "8.8", "sm_90a", None),
    ("mma.sp", f"{HEAD}.f16.f16.f16.f16 {{%b0, %b1}}, {B4}, {B4}, {{%b0, %b1}}, %b9, 2;", "12.9.86", "8.8", "sm_90a", None),
    ("mma.sp", f32(2), "12.9.86", "7.0", "sm_80", None),
    ("mma.sp", f32(2), "12.9.86", "8.8", "sm_75", None),
    ("mma", f32(2), "12.9.86", "8.8", "sm_90a", None),
    ("mma.sp", f32(2, HEAD.replace("m16n8k32", "m16n8k64")), "12.9.86", "8.8", "sm_90a", None),
    ("mma.sp", f32(0).replace("%b9", "{%b8, %b9}"), "12.9.86", "8.8", "sm_90", "asm-metadata-operands"),
    ("mma.sp", f32(0).replace("%b9", "{%b8, %b9}"), "12.9.86", "8.8", "sm_100", None),
    ("mma.sp", f32(0).replace("%b9", "0f00000000"), "12.9.86", "8.8", "sm_100", "asm-metadata-operands"),
    ("mma.sp", f32(0).replace("%b9", "1.0"), "12.9.86", "8.8", "sm_100", None),
    ("mma.sp", f32(0).replace("%b9", "{%b7, %b8, %b9}"), "12.9.86", "8.8", "sm_90", None),
    ("mma", f"{F16} {{%b0, %s1}}, {{%b0, %u1}}, {{%b0}}, {{%b0, %b1}};", "12.9.86", "8.8", "sm_80", "asm-mixed-vectors"),
    ("mma", f"{F16} {{%b0, %b1}}, {{%b0, %u1}}, {{%b0}}, {{%b0, %b1}};", "12.9.86", "8.8", "sm_80", "asm-mixed-vectors"),
    ("mma", f"{F16} {{%b0, %b1}}, {{%u0, %u1}}, {{%b0}}, {{%b0, %b1}};", "12.9.86", "8.8", "sm_80", None),
    ("mma", f"{F16} {{%b0, %b1}}, {{%b0, %bd1}}, {{%b0}}, {{%b0, %b1}};", "12.9.86", "8.8", "sm_80", None),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x16.shared.b16 {%b5, %b6}, [%bd0];", "12.3.107", "8.3", "sm_90", "asm-matrix-repeats"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x16.shared.b16 {%b5, %b6}, [%bd0];", "12.2.140", "8.2", "sm_90", None),
    ("ldmatrix", "ldmatrix.sync.aligned.m16n16.x8.trans.b8 {%b5, %b6}, [%bd0];", "12.8.93", "8.6", "sm_100a", "asm-matrix-repeats"),
    ("ldmatrix", "ldmatrix.sync.aligned.m16n16.x4.trans.b8 {%b5, %b6}, [%bd0];", "12.8.93", "8.6", "sm_100a", None),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n16.x8.s8.s4 {%b5}, [%bd0];", "13.4.92", "9.4", "sm_90a", "asm-matrix-repeats"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n16.x8.s8.s4 {%b5}, [%bd0];", "13.3.73", "9.3", "sm_90a", None),
    ("stmatrix", "stmatrix.sync.aligned.m16n8.x16.trans.b8 [%bd0], {%b5};", "13.0.88", "9.0", "sm_120a", "asm-matrix-repeats"),
    ("stmatrix", "stmatrix.sync.aligned.m16n8.x16.trans.b8 [%bd0], {%b5};", "13.0.88", "9.0", "sm_90", None),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b5}, [%uh4];", "11.7.99", "6.5", "sm_75", "asm-narrow-addresses"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.b16 {%b5}, [%uh4];", "11.7.99", "6.5", "sm_75", None),
    ("stmatrix", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%sb2], {%b5};", "13.5.37", "9.5", "sm_90", "asm-narrow-addresses"),
    ("stmatrix", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%h2], {%b5};", "13.5.37", "9.5", "sm_90", None),
    ("wgmma.fence", "wgmma.fence.sync.b8x16;", "12.9.86", "8.8", "sm_90a", "asm-surplus-formats"),
    ("wgmma.fence", "wgmma.fence.sync.b8x16;", "12.6.85", "8.5", "sm_90a", None),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16.bf16 %b0, %b1;", "12.9.86", "8.8", "sm_80", "asm-surplus-types"),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16.bf16 %b0, %b1;", "12.9.86", "8.8", "sm_75", None),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %b0, %b1;", "13.0.88", "8.8", "sm_88", "asm-sm-88-early"),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %b0, %b1;", "13.0.88", "7.7", "sm_88", None),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16.col {%b5}, [%bd0];", "12.9.86", "8.8", "sm_90", "asm-matrix-layouts-ignored"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.row.col.b16 {%b5}, [%bd0];", "12.9.86", "8.8", "sm_90", "asm-matrix-layouts-ignored"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.row.b16 {%b5,%b6}, [%bd0];", "12.9.86", "8.8", "sm_90", None),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%b5}, [%bd0];", "11.7.99", "7.7", "sm_80", "asm-shared-cta-early"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%b5}, [%bd0];", "11.8.89", "7.7", "sm_80", None),
    ("mma.sp", f"{HEAD}.s32.s8.s8.s32 {B4}, {{%p0, %p1}}, {{%b0, %b1}}, {B4}, %b9, 0;", "12.9.86", "8.8", "sm_90", "asm-predicate-registers"),
    ("mma.sp", f"{HEAD}.s32.s8.s8.s32 {B4}, {{%p0, %p1, %p2}}, {{%b0, %b1}}, {B4}, %b9, 0;", "12.9.86", "8.8", "sm_90", None),
    ("mma.sp", f"{HEAD}.s32.s8.s8.s32 {B4}, {{%h0, %h1}}, {{%b0, %b1}}, {B4}, %b9, 0;", "12.9.86", "8.8", "sm_90", None),
    ("mma.sp", f"{HEAD}.s32.s8.s8.s32 {B4}, {{%p0, %p1}}, {{%b0, %b1}}, {B4}, %b9, 0;", "12.9.86", "8.8", "sm_100", None),
    ("mma.sp", f"{HEAD}.s32.s8.s8.s32 {B4}, %b5, {{%b0, %b1}}, {B4}, %b9, 0;", "12.9.86", "8.8", "sm_90", "asm-sp-unbraced"),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %p4, %b1;", "12.9.86", "8.8", "sm_75", "asm-predicate-registers"),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %h4, %b1;", "12.9.86", "8.8", "sm_75", None),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %b0, 0fBF800000;", "12.9.86", "8.8", "sm_75", "asm-movmatrix-float-literal"),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %b0, 0d3FF0000000000000;", "12.9.86", "8.8", "sm_75", None),
    ("stmatrix", "stmatrix.sync.aligned.m8n8.x1.b16 [%bd0], {%p0};", "12.9.86", "8.8", "sm_90", "asm-predicate-registers"),
    ("stmatrix", "stmatrix.sync.aligned.m8n8.x1.b16 [%bd0], {%p0};", "13.5.37", "9.5", "sm_90", None),
    ("wmma.load.a", f"wmma.load.a.sync.aligned.row.m16n16k16 {B8}, [%bd0];", "12.9.86", "8.8", "sm_80", "asm-wmma-load-type-absent"),
    ("wmma.load.a", f"wmma.load.a.sync.aligned.row.m16n16k16 {B8}, [%bd0];", "13.0.88", "8.8", "sm_80", None),
    ("wmma.load.a", f"wmma.load.a.sync.aligned.row.m16n16k16.b8x16 {B8}, [%bd0];", "12.6.85", "8.5", "sm_80", None),
    ("wmma.load.a", f"wmma.load.a.sync.aligned.row.m16n16k16 {B4}, [%bd0];", "12.9.86", "8.8", "sm_80", None),
    ("wmma.load.b", f"wmma.load.b.sync.aligned.row.m8n32k16.shared::cluster.f16 {B8}, [%bd0];", "11.7.99", "7.7", "sm_80", "asm-shared-cluster-early"),
    ("wmma.load.b", f"wmma.load.b.sync.aligned.row.m8n32k16.shared::cluster.f16 {B8}, [%bd0];", "11.8.89", "7.7", "sm_80", None),
    ("wmma.mma", f"wmma.mma.sync.aligned.col.row.m16n16k8.s32.u8.u8.s32 {B8}, {{%b1}}, {{%b2}}, {B8};", "12.6.85", "8.5", "sm_80", "asm-wmma-integer-shapes"),
    ("wmma.mma", f"wmma.mma.sync.aligned.col.row.m16n16k8.s32.u8.s8.s32 {B8}, {{%b1}}, {{%b2}}, {B8};", "12.6.85", "8.5", "sm_80", None),
    ("wmma.mma", f"wmma.mma.sync.aligned.col.row.m16n16k8.s32.u8.u8.s32 {B8}, {{%b1}}, {{%b2}}, {B8};", "12.6.85", "6.5", "sm_75", None),
    # Runs of two in D of .f16, and neighbours anywhere; on sm_70 the whole of D, and runs of two in A.
    ("wmma.mma", f"{WMMA} {{%f0, %b0, %hh0, %hh1}}, {B8}, {B8}, {B4};", "12.9.86", "8.8", "sm_80", "asm-mixed-vectors"),
    ("wmma.mma", f"{WMMA} {{%b0, %f0, %b1, %s0}}, {B8}, {B8}, {B4};", "12.9.86", "8.8", "sm_80", "asm-mixed-vectors"),
    ("wmma.mma", f"{WMMA} {{%b0, %f0, %s0, %b1}}, {B8}, {B8}, {B4};", "12.9.86", "8.8", "sm_80", None),
    ("wmma.mma", f"{WMMA} {{%b0, %b1, %f0, %f1}}, {B8}, {B8}, {B4};", "12.9.86", "8.8", "sm_80", None),
    ("wmma.mma", f"{WMMA} {{%b0, %b1, %f0, %f1}}, {B8}, {B8}, {B4};", "12.9.86", "8.8", "sm_70", "asm-mixed-vectors"),
    ("wmma.mma", f"{WMMA} {B4}, {{%b0, %b1, %b2, %b3, %f0, %f1, %f2, %f3}}, {B8}, {B4};", "12.9.86", "8.8", "sm_80", "asm-mixed-vectors"),
    ("wmma.mma", f"{WMMA} {B4}, {{%b0, %b1, %b2, %b3, %f0, %f1, %f2, %f3}}, {B8}, {B4};", "12.9.86", "8.8", "sm_70", None),
    ("wmma.mma", f"{WMMA} {B4}, {B8}, {{%b0, %b1, %b2, %b3, %p0, %p1, %p2, %p3}}, {B4};", "13.5.37", "9.5", "sm_75", "asm-mixed-vectors"),
    ("wmma.mma", f"{WMMA} {B4}, {B8}, {{%b0, %b1, %b2, %p0, %b4, %b5, %b6, %b7}}, {B4};", "13.5.37", "9.5", "sm_75", None),
    ("wmma.mma", f"{WMMA} {B4}, {B8}, {{%b0, %b1, %b2, %p0, %b4, %b5, %b6, %b7}}, {B4};", "13.5.37", "9.5", "sm_80", "asm-mixed-vectors"),
    ("wmma.mma", f"{WMMA32} {{%b0, %b1, %b2, %p0}}, {B8}, {B8}, {B8};", "12.9.86", "8.8", "sm_80", None),
    ("wmma.mma", f"{WMMA32} {{%b0, %b1, %b2, %u0}}, {B8}, {B8}, {B8};", "12.9.86", "8.8", "sm_80", "asm-mixed-vectors"),
    ("wmma.load.a", f"{LOAD} {{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %s0}}, [%bd0];", "11.7.99", "7.7", "sm_75", "asm-mixed-vectors"),
    ("wmma.load.a", f"{LOAD} {{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %p0}}, [%bd0];", "11.7.99", "7.7", "sm_75", None),
    ("wmma.load.a", f"{LOAD} {{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %p0}}, [%bd0];", "11.7.99", "7.7", "sm_72", "asm-mixed-vectors"),
    ("wmma.load.a", f"{LOAD} {{%s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7}}, [%bd0];", "11.7.99", "7.7", "sm_75", None),
    ("wmma.load.a", f"{LOAD} {{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %tid.x}}, [%bd0];", "12.9.86", "6.3", "sm_70", "asm-wmma-special"),
    ("wmma.load.a", f"{LOAD} {{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %tid.x}}, [%bd0];", "12.9.86", "6.3", "sm_75", None),
    ("mma", f"{F16} {{%b0, %b1}}, {{%s0, %u1}}, {{%b0}}, {{%b0, %b1}};", "12.9.86", "8.8", "sm_80", "asm-mixed-vectors"),
    ("mma", f"{F16} {{%b0, %b1}}, {{%s0, %f1}}, {{%b0}}, {{%b0, %b1}};", "12.9.86", "8.8", "sm_80", None),
    ("mma", f"{F16} {{%p1, %b1}}, {{%b0, %p1}}, {{%b0}}, {{%b0, %b1}};", "11.7.99", "7.0", "sm_80", "asm-mixed-vectors"),
    ("mma", f"{F16} {{%p1, %p2}}, {{%b0, %b1}}, {{%b0}}, {{%b0, %b1}};", "11.7.99", "7.0", "sm_80", None),
    ("mma", f"{F16} {{%p1, %u2}}, {{%b0, %b1}}, {{%b0}}, {{%b0, %b1}};", "11.7.99", "7.0", "sm_80", None),
    ("mma", f"mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {B4}, {B4}, {{%b0, %b1}}, {{%p0, %b1, %b2, %b3}};", "13.5.37", "9.5", "sm_89", "asm-mixed-vectors"),
    ("mma", f"mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {B4}, {B4}, {{%b0, %b1}}, {{%p0, %b1, %b2, %b3}};", "13.5.37", "9.5", "sm_90", None),
    ("tcgen05.dealloc", f"{DEALLOC} %b0, 65536;", "13.1.115", "9.1", "sm_100a", "asm-tensor-dealloc-columns"),
    ("tcgen05.dealloc", f"{DEALLOC} %b0, -32;", "12.8.93", "8.6", "sm_100a", "asm-tensor-dealloc-columns"),
    ("tcgen05.dealloc", f"{DEALLOC} %b0, 65536;", "13.2.78", "9.1", "sm_100a", None),
    ("tcgen05.dealloc", f"{DEALLOC} %b0, 65537;", "13.1.115", "9.1", "sm_100a", None),
    ("tcgen05.dealloc", f"{DEALLOC} %b0, 4294967328;", "13.5.37", "9.1", "sm_100a", "asm-literals-of-32-bits"),
    ("tcgen05.dealloc", f"{DEALLOC} %b0, 4294967329;", "13.5.37", "9.1", "sm_100a", None),
    ("tcgen05.dealloc", f"{DEALLOC} %b0, 4294967296;", "13.1.115", "9.1", "sm_100a", "asm-literals-of-32-bits"),
    ("tcgen05.dealloc", f"{DEALLOC} %b0, 4294967296;", "13.2.78", "9.1", "sm_100a", None),
    ("tcgen05.alloc", f"{EXCLUSIVE} [%bd0], 65536;", "13.4.92", "9.4", "sm_107a", "asm-tensor-exclusive-columns"),
    ("tcgen05.alloc", f"{EXCLUSIVE} [%bd0], -1024;", "13.5.37", "9.5", "sm_100f", "asm-tensor-exclusive-columns"),
    ("tcgen05.alloc", f"{EXCLUSIVE} [%bd0], 0;", "13.4.92", "9.4", "sm_107a", None),
    ("tcgen05.alloc", f"{EXCLUSIVE} [%bd0], 616;", "13.4.92", "9.4", "sm_107a", None),
    ("tcgen05.alloc", f"{EXCLUSIVE.replace('.exclusive', '')} [%bd0], 65536;", "13.4.92", "9.4", "sm_107a", None),
    # What every instruction takes, wherever it stands behind the name, and with anything else that is taken.
    ("mma", f"{F16}.finite {F16_OPERANDS};", "11.7.99", "6.5", "sm_75", "asm-words-ignored"),
    ("mma", f"{F16.replace('sync', 'subnormal.sync')} {F16_OPERANDS};", "13.5.37", "9.5", "sm_121a", "asm-words-ignored"),
    ("mma", f"{F16}.finite.number.finite {F16_OPERANDS};", "11.7.99", "6.5", "sm_75", "asm-words-ignored"),
    ("mma", f"{F16}.finite {F16_OPERANDS};", "11.7.99", "6.4", "sm_75", None),
    ("mma", f"{F16}.bogus {F16_OPERANDS};", "13.5.37", "9.5", "sm_121a", None),
    ("mma", f"{F16}.finite.bogus {F16_OPERANDS};", "13.5.37", "9.5", "sm_121a", None),
    ("mma", f"{F16}.rank {F16_OPERANDS};", "12.3.107", "6.5", "sm_75", "asm-words-ignored"),
    ("mma", f"{F16}.rank {F16_OPERANDS};", "12.2.140", "6.5", "sm_75", None),
    ("mma", f"{F16}.acc::f16.b2 {F16_OPERANDS};", "12.2.140", "6.5", "sm_75", "asm-words-ignored"),
    ("tcgen05.wait::ld", "tcgen05.wait::ld.sync.swizzle_atomicity.aligned;", "12.8.93", "8.6", "sm_100a", "asm-words-ignored"),
    ("tcgen05.wait::ld", "tcgen05.wait::ld.sync.swizzle_atomicity.aligned;", "12.8.93", "8.6", "sm_100", None),
    ("mma", f"{F16}.b2 {F16_OPERANDS};", "11.7.99", "6.5", "sm_75", "asm-surplus-b2"),
    ("mma", f"{F16.replace('f16', 'f32.bf16', 1).replace('f16.f16.f16', 'bf16.f32')}.b2 {B4}, {{%b0, %b1}}, {{%b0}}, {B4};", "11.7.99", "7.7", "sm_80", None),
    ("mma", f"{F16}.b4 {F16_OPERANDS};", "13.4.92", "6.5", "sm_75", "asm-surplus-b4"),
    ("mma", f"{F16}.b4 {F16_OPERANDS};", "13.3.73", "6.5", "sm_75", None),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.b16.b2 {%b5}, [%bd0];", "13.3.73", "9.3", "sm_90", "asm-surplus-b2"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.b16.b2 {%b5}, [%bd0];", "13.4.92", "9.4", "sm_90", None),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.b16.pred {%b5}, [%bd0];", "13.4.92", "9.4", "sm_90", "asm-surplus-opaque-types"),
    ("wmma.load.c", f"wmma.load.c.sync.aligned.row.m16n16k16.f16.v4 {B4}, [%bd0];", "11.7.99", "6.3", "sm_70", "asm-surplus-vectors"),
    ("wmma.load.c", f"wmma.load.c.sync.aligned.row.m16n16k16.f32.v4 {B8}, [%bd0];", "11.7.99", "6.3", "sm_70", None),
    ("fence.proxy.async", "fence.proxy.async.global.sync_restrict::shared::cta;", "12.8.93", "8.6", "sm_90", "asm-sync-restrict-ignored"),
    ("fence.proxy.async", "fence.proxy.async.global.sync_restrict::shared::cta;", "12.8.93", "8.5", "sm_90", None),
    # Qualifiers in place of others, next to each other, and any of several.
    ("mma", f"{S4}.xor.max {S4_OPERANDS};", "11.7.99", "7.0", "sm_80", "asm-subbyte-operations-ignored"),
    ("mma", f"{S4}.xor.popc.max {S4_OPERANDS};", "11.7.99", "7.0", "sm_80", "asm-subbyte-operations-ignored"),
    ("mma", f"{S4}.max {S4_OPERANDS};", "11.7.99", "7.0", "sm_80", None),
    ("wmma.mma", f"wmma.mma.sync.aligned.row.col.m16n16k16.u32.s8.s8.s32 {B8}, {{%b0, %b1}}, {{%b0, %b1}}, {B8};", "12.6.85", "6.3", "sm_75", "asm-wmma-u32"),
    ("wmma.mma", f"wmma.mma.sync.aligned.row.col.m16n16k16.u32.u8.u8.u32 {B8}, {{%b0, %b1}}, {{%b0, %b1}}, {B8};", "12.6.85", "6.3", "sm_75", "asm-wmma-u32"),
    ("wmma.mma", f"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.u32 {B8}, {{%b0, %b1}}, {{%b0, %b1}}, {B8};", "12.6.85", "6.3", "sm_75", None),
    ("wmma.mma", f"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.u32 {B8}, {{%b0, %b1}}, {{%b0, %b1}}, {B8};", "13.0.88", "6.3", "sm_75", "asm-wmma-u32"),
    ("wmma.mma", f"wmma.mma.sync.aligned.col.row.m8n32k16.u32.u32.satfinite {B8}, {{%b0, %b1}}, {B4}, {B8};", "12.6.85", "6.3", "sm_75", "asm-wmma-integer-shapes"),
    ("wmma.mma", f"wmma.mma.sync.aligned.col.row.m8n32k16.u32.u32.satfinite {B8}, {{%b0, %b1, %b2}}, {B4}, {B8};", "12.6.85", "6.3", "sm_75", None),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x64.shared::cta.b16 {%b5, %f6}, [%bd0 + 16];", "12.3.107", "8.3", "sm_90", "asm-matrix-repeats"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x64.shared::cta.b16 {%b5, %f6, %b7}, [%bd0];", "12.3.107", "8.3", "sm_90", None),
    # Several operands in place of one.
    ("tcgen05.mma", f"{UMMA}.kind::tf32.collector::a::lastuse [%b0], [%b1], %bd0, %b2, !%p0, 77, 15;", "13.4.92", "9.4", "sm_107f", "asm-tcgen05-two-predicates"),
    ("tcgen05.mma", f"{UMMA}.kind::f16 [%b0], [%b1], %bd0, %b2, %p0, %p1, 16;", "13.4.92", "9.4", "sm_107f", None),
    ("tcgen05.mma", f"{UMMA}.kind::f16 [%b0], [%b1], %bd0, %b2, %p0, %b3, 0;", "13.4.92", "9.4", "sm_107f", None),
    ("tcgen05.mma", f"{UMMA}.kind::f16 [%b0], [%b1], %bd0, %b2, %p0, %p1;", "13.4.92", "9.4", "sm_107f", None),
    ("tcgen05.mma", f"{UMMA}.kind::f16 [%b0], [%b1], %bd0, %b2, %p0, %p1, 0, 0;", "13.4.92", "9.4", "sm_107f", None),
    ("tcgen05.mma", f"{UMMA}.kind::i8 [%b0], [%b1], %bd0, %b2, !%p0, !%p1, 99;", "12.8.93", "8.6", "sm_100a", "asm-tcgen05-i8-operands"),
    ("tcgen05.mma", f"{UMMA}.kind::i8 [%b0], [%b1], %bd0, %b2, {{%b3, %b4, %b5, %b6, %b7, %b8, %b9, %b10}}, %p0, 99;", "12.8.93", "8.6", "sm_100a", "asm-tcgen05-i8-operands"),
    ("tcgen05.mma", f"{UMMA}.kind::f8f6f4 [%b0], [%b1], %bd0, %b2, %p0, 99;", "12.8.93", "8.6", "sm_100a", None),
]  # fmt: skip


@pytest.mark.parametrize(("instruction", "text", "release", "ptx", "target", "entry"), POINTS)
def test_points_are_exact(
    instruction: str, text: str, release: str, ptx: str, target: str, entry: str | None
) -> None:
    known = register()
    assert known.explains(instruction, text, release, Version.of(ptx), target, "accepted") == entry
    assert known.explains(instruction, text, release, Version.of(ptx), target, "refused") is None


LD = "tcgen05.ld.sync.aligned"
RED = "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32"
TWICE = "asm-tensor-register-twice"


@pytest.mark.parametrize(
    ("instruction", "text", "release", "ptx", "target", "entry"),
    [
        ("tcgen05.ld", f"{LD}.32x32b.x4.b32 {{%b3, %b0, %b2, %b3}}, [%b1];", "13.2.78", "8.6", "sm_100a", TWICE),
        ("tcgen05.ld", f"{LD}.32x32b.x4.b32 {{%b3, %b0, %b2, %b3}}, [%b1];", "13.1.115", "8.6", "sm_100a", None),
        ("tcgen05.ld", f"{LD}.32x32b.x4.b32 {{%b3, %b0, %b2, %b4}}, [%b4];", "13.5.37", "9.5", "sm_100a", None),
        ("tcgen05.ld", f"{LD}.16x64b.x128.b32 {{{', '.join(f'%f{n % 127}' for n in range(128))}}}, [%b1];", "13.5.37", "9.5", "sm_110f", TWICE),
        ("tcgen05.ld", f"{LD}.16x32bx2.x2.pack::16b.b32 {{%f9, %f9}}, [%b1], 2;", "13.4.92", "9.0", "sm_103f", TWICE),
        ("tcgen05.ld.red", f"{RED} {{%f0, %f1}}, %f1, [%b1];", "13.3.73", "8.8", "sm_103a", TWICE),
        ("tcgen05.ld.red", f"{RED} {{%f0, %f0}}, %f1, [%b1];", "13.3.73", "8.8", "sm_103a", TWICE),
        ("tcgen05.ld.red", f"{RED} {{%f0, %f2}}, %f1, [%b1];", "13.3.73", "8.8", "sm_103a", None),
        ("tcgen05.st", "tcgen05.st.sync.aligned.32x32b.x2.b32 [%b1], {%b0, %b0};", "13.5.37", "9.5", "sm_100a", None),
        ("wmma.mma", f"{WMMA32} {{%b0, %b1, %b2, %laneid}}, {B8}, {B8}, {B8};", "13.5.37", "9.5", "sm_90", "asm-wmma-special"),
        ("wmma.mma", f"{WMMA} {{%b0, %b1, %b2, %laneid}}, {B8}, {B8}, {B4};", "13.5.37", "9.5", "sm_90", None),
        ("mma.sp", f"{HEAD.replace('k32', 'k64')}.s32.s4.s4.s32 {B4}, {{%b0, %b1}}, {{%b0, %b1}}, {B4}, %b9+12, 0;", "11.8.89", "7.8", "sm_90", "asm-register-plus-constant"),
        ("mma.sp", f"{HEAD.replace('k32', 'k64')}.s32.s4.s4.s32 {B4}, {{%b0, %b1}}, {{%b0, %b1}}, {B4}, %b9+12, 0;", "11.8.89", "7.8", "sm_89", None),
    ],
)  # fmt: skip
def test_points_are_exact_about_what_is_refused(
    instruction: str, text: str, release: str, ptx: str, target: str, entry: str | None
) -> None:
    known = register()
    assert known.explains(instruction, text, release, Version.of(ptx), target, "refused") == entry


# Metadata in a vector of one register: instruction's head and operands, release, version, target, whether it is explained.
E4M3 = f"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32 {B4}, {B4}, {B4}, {B4}, {{%b9}}, 0;"
U4 = f"mma.sp.sync.aligned.m16n8k128.row.col.s32.u4.u4.s32 {B4}, {B4}, {B4}, {B4}, {{%b9}}, 0;"
ONE = f32(0).replace("%b9", "{%b9}")
REFUSED = [
    (ONE, "12.9.86", "8.8", "sm_100", True),
    (ONE, "13.5.37", "9.5", "sm_121a", True),
    (ONE, "12.9.86", "8.8", "sm_90a", False),
    (f32(0), "12.9.86", "8.8", "sm_100", False),
    (ONE.replace("%b9", "%b8, %b9"), "12.9.86", "8.8", "sm_100", False),
    (ONE.replace("mma.sp.", "mma.sp::ordered_metadata."), "12.9.86", "8.8", "sm_100", False),
    (ONE.replace("f16.f16", "bf16.bf16"), "12.9.86", "8.8", "sm_100", False),
    (U4, "11.8.89", "7.8", "sm_90", True),
    (U4.replace("mma.sp.", "mma.sp::ordered_metadata."), "12.5.82", "8.5", "sm_90", True),
    (U4, "11.8.89", "7.8", "sm_89", False),
    (E4M3, "12.4.131", "8.4", "sm_90", True),
    (E4M3, "12.4.131", "8.4", "sm_89", False),
    (E4M3, "12.9.86", "8.8", "sm_110a", False),  # not before 9.0
    (E4M3, "13.0.88", "9.0", "sm_110a", True),
    (E4M3, "12.9.86", "8.8", "sm_120", False),
]


@pytest.mark.parametrize(("text", "release", "ptx", "target", "is_explained"), REFUSED)
def test_one_register_in_a_vector_is_refused_where_it_is_emulated(
    text: str, release: str, ptx: str, target: str, is_explained: bool
) -> None:
    found = register().explains("mma.sp", text, release, Version.of(ptx), target, "refused")
    assert found == ("asm-metadata-one-register" if is_explained else None)


# What is legal and refused: instruction, statement, release, version, target, and what explains it.
MASK = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [%bd0]"
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned"
V4 = "mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f16"
LEGAL_AND_REFUSED = [
    ("tcgen05.commit", f"{MASK}, 31;", "12.8.93", "8.6", "sm_100a", "asm-tensor-commit-mask-literal"),
    ("tcgen05.commit", f"{MASK}, 0xfffe;", "13.3.73", "9.3", "sm_110a", "asm-tensor-commit-mask-literal"),
    ("tcgen05.commit", f"{MASK}, 65536;", "12.8.93", "8.6", "sm_100a", None),
    ("tcgen05.commit", f"{MASK}, %h0;", "12.8.93", "8.6", "sm_100a", None),
    ("tcgen05.commit", f"{MASK}, 31;", "13.4.92", "8.6", "sm_100a", None),
    ("tcgen05.alloc", f"{ALLOC}.shared::cta.b32 [%smid], 32;", "12.8.93", "8.6", "sm_100a", "asm-tensor-alloc-special"),
    ("tcgen05.alloc", f"{ALLOC}.shared::cta.b32 [%gridid], 32;", "12.8.93", "8.6", "sm_100a", None),
    ("tcgen05.alloc", f"{ALLOC}.b32 [%smid], 32;", "12.8.93", "8.6", "sm_100a", None),
    ("tcgen05.alloc", f"{ALLOC}.shared::cta.b32 [%b0], 32;", "12.8.93", "8.6", "sm_100a", None),
    ("mma", f"{V4} {B4}, {{%b0, %smid}}, {{%b2, %b3}}, {B4};", "11.7.99", "7.0", "sm_80", "asm-special-emulated"),
    ("mma", f"{V4} {B4}, {{%b0, %smid}}, {{%b2, %b3}}, {B4};", "11.7.99", "7.0", "sm_75", None),
    ("mma", f"{V4} {B4}, {{%b0, %b1}}, {{%b2, %b3}}, {B4};", "11.7.99", "7.0", "sm_80", None),
]  # fmt: skip


@pytest.mark.parametrize(("instruction", "text", "release", "ptx", "target", "entry"), LEGAL_AND_REFUSED)
def test_what_is_legal_and_refused_is_explained_exactly(
    instruction: str, text: str, release: str, ptx: str, target: str, entry: str | None
) -> None:
    """A literal stands for any other, and a special register for all of its type."""
    assert register().explains(instruction, text, release, Version.of(ptx), target, "refused") == entry
    assert register().explains(instruction, text, release, Version.of(ptx), target, "accepted") is None


def test_what_must_be_explained_is_listed() -> None:
    assert "asm-shared-cta-early" in register().expected("11.7.99", Version(7, 7), "sm_80")
    assert "asm-shared-cta-early" not in register().expected("11.8.89", Version(7, 7), "sm_80")
    assert "asm-scale-operands" in register().expected("12.9.86", Version(8, 8), "sm_120f")
    assert "asm-scale-operands" not in register().expected("12.9.86", Version(8, 8), "sm_90a")
    assert not any(register().expected("12.9.86", Version(8, 8), "sm_120f")["asm-scale-operands"].values())
    assert any(register().expected("12.9.86", Version(8, 8), "sm_120f")["asm-surplus-types"].values())
    address = "asm-tensor-address-f16x2"  # tcgen05.ld refuses it from 13.4 on, tcgen05.cp never
    late = register().expected("13.5.37", Version(9, 5), "sm_100a")[address]
    assert "tcgen05.cp" in late and "tcgen05.ld" not in late
    assert "tcgen05.ld" in register().expected("13.3.73", Version(9, 3), "sm_100a")[address]
    early = register().expected("11.7.99", Version(7, 7), "sm_80")["asm-shared-cta-early"]
    assert early.keys() >= {"ldmatrix", "wmma.load.a", "wmma.store.d"}
    numbers = register().expected("13.5.37", Version(9, 5), "sm_100a")["asm-tcgen05-i8-operands"]
    assert numbers == {"tcgen05.mma": False, "tcgen05.mma.sp": False}


FAULTS = [
    ("releases: [11.7.99], ptx", "releases: ['*'], ptx", "is a wildcard"),
    ("releases: [11.7.99], ptx", "releases: [11.7.98], ptx", "unknown release '11.7.98'"),
    ("releases: [11.7.99], ptx", "releases: {first: 11.7.98}, ptx", "unknown release '11.7.98'"),
    ("releases: [11.7.99], ptx", "releases: {last: 11.7.99}, ptx", "the key 'first' is missing"),
    ("releases: [11.7.99], ptx", "releases: {first: 12.0.140, last: 11.7.99}, ptx", "is empty"),
    ('ptx: {first: "6.5", last: "7.7"}', 'ptx: {first: "6.6"}', "unknown version '6.6'"),
    ('ptx: {first: "6.5", last: "7.7"}', "ptx: {first: 6.5}", "the version 6.5 is not quoted"),
    ("targets: {first: sm_75, last: sm_87}, since", "targets: [any], since", "'any' is a wildcard"),
    ("targets: {first: sm_75, last: sm_87}, since", "targets: [], since", "no target is listed"),
    ("rows: [m16n8k32.f16]", "rows: [m16n8k32.*]", "is a wildcard"),
    (
        "rows: [m16n8k32.f16]",
        "rows: [m16n8k32.f61]",
        "unknown row of spec/instructions/mma.sp.yaml 'm16n8k32.f61'",
    ),
    ("fields: {dtype: [f32]}", "fields: {dtype: ['?']}", "is a wildcard"),
    (', operand: f, written: ["2", "3"]', "", "points change one thing"),
    ("takes: silicon", "takes: hearsay", "'hearsay' is not allowed here"),
    ("target: sm_80, specification", "target: sm_81, specification", "unknown target 'sm_81'"),
    ("accepted: [11.7.99], refused", "accepted: {first: 11.7.99}, refused", "each release has one verdict"),
    ("witness:", "witnes:", "unknown key 'witnes'"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), FAULTS)
def test_a_fault_is_named_where_it_is(tmp_path: Path, right: str, wrong: str, message: str) -> None:
    text = (ROOT / "contradictions.yaml").read_text()
    assert right in text
    (tmp_path / "contradictions.yaml").write_text(text.replace(right, wrong, 1))
    with pytest.raises(SpecError) as caught:
        register(tmp_path)
    assert message in str(caught.value)
    assert caught.value.place is not None and caught.value.place.file == "contradictions.yaml"


def test_a_row_that_is_lost_is_missed_in_the_file_of_its_instruction() -> None:
    """Its statements are recorded; the register, which names it too, is not to blame."""
    known = register().specification
    load_a = known.instructions["wmma.load.a"]
    rest = tuple(row for row in load_a.rows if row.id != "m16n16k16.integer")
    less = replace(known, instructions={**known.instructions, "wmma.load.a": replace(load_a, rows=rest)})
    with pytest.raises(SpecError) as caught:
        check_contradictions(register().entries, less)
    assert "wmma.load.a has lost its row 'm16n16k16.integer'" in str(caught.value)
    assert "ptxas 11.7.99 to 13.5.37" in str(caught.value)
    assert caught.value.place == rest[0].place
    assert rest[0].place.file == "spec/instructions/wmma.load.multiplicand.yaml"


def test_the_list_and_an_entry_in_full(run: Run) -> None:
    code, out, _ = run("contradictions")
    assert code == 0 and "text-sp-sel-range (text, assembler; 9.7.15.6.3)" in out
    code, out, _ = run("contradictions", "text-mma-m8n84")
    assert code == 0
    assert ".version 7.0\n.target sm_80\n" in out and ".reg .b32 %b<160>;" in out
    assert "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0,%fd1}, {%fd0}, {%fd0}, {%fd0,%fd1};" in out
    code, out, _ = run("contradictions", "text-mma-m8n84", "--format", "json")
    assert [entry["id"] for entry in json.loads(out)] == ["text-mma-m8n84"]
    code, _, err = run("contradictions", "text-mma-m8n48")
    assert code == 2 and "did you mean text-mma-m8n84?" in err
    code, _, err = run("contradictions", "nosuch")
    assert code == 2 and err.endswith("has the id 'nosuch'; `ptxmma contradictions` lists them\n")


def test_run_asks_every_release_again(ptxas_says: dict[str, StatementOutcome]) -> None:
    results, missing = register().run(["text-mma-m8n84"])
    assert len(results) == 2 * 17 and not missing and all(result.shows for result in results)
    assert {result.release for result in results} == {record.release for record in load_records()}


def test_what_no_longer_shows_is_reported(run: Run, ptxas_says: dict[str, StatementOutcome]) -> None:
    assert run("contradictions", "text-mma-m8n84", "--run")[0] == 0
    ptxas_says[RIGHT] = StatementOutcome("refused", ("Illegal matrix shape",))
    code, out, _ = run("contradictions", "text-mma-m8n84", "--run")
    assert code == 1
    assert "text-mma-m8n84: no longer shows on ptxas 11.7.99" in out
    assert "recorded: accepted; now: refused: Illegal matrix shape" in out
    ptxas_says[RIGHT] = TYPED[RIGHT]
    ptxas_says[WRONG] = StatementOutcome("refused", ("for another reason",))
    code, out, _ = run("contradictions", "text-mma-m8n84", "--run", "--format", "json")
    assert code == 1
    assert sum(not entry["shows"] for entry in json.loads(out)) == 17


def test_the_cases_agree_with_what_is_recorded_of_every_form(specification: Specification) -> None:
    """Two recordings of the same assemblers: the verdicts of the cases, and the bitmaps of evidence/."""
    forms = {
        spelled(read_statement(text)): (claim, number)
        for claim in claims(specification)
        for number, text in enumerate(claim.statements)
    }
    held = 0
    for record in load_records():
        places = {setting: place for place, setting in enumerate(record.settings)}
        for name, case in cases():
            verdict = register().verdicts(case).get(record.release)
            if name == "asm-tensor-register-twice":
                continue  # a statement of the same form, with other registers
            found = forms.get(spelled(read_statement(case.text))) if case.specification else None
            place = places.get((str(case.ptx), case.target))
            if verdict is None or found is None or place is None:
                continue
            claim, number = found
            bitmaps = record.seen(claim)
            assert bitmaps is not None
            assert (verdict == "accepted") == bool(bitmaps[place] >> number & 1), (name, record.release)
            held += 1
    assert held > 400


def test_a_new_release_needs_no_edit(specification: Specification) -> None:
    """A range without a last holds whatever specs.yaml adds; one with a last stays as it is."""
    index = specification.index
    built = replace(index.releases[-1].assemblers[0], version="13.6.1")
    newest = replace(index.releases[-1], ptx=Version(9, 6), assemblers=(built,))
    grown = replace(index, releases=(*index.releases, newest))
    later = ContradictionRegister(replace(specification, index=grown), register().entries)
    for name, case in cases():
        verdicts = dict(later.verdicts(case))
        last = verdicts.pop("13.6.1", None)
        assert verdicts == register().verdicts(case) and last == verdicts.get("13.5.37"), name
    new = "13.6.1", Version(9, 6)
    assert later.explains("mma.sp", f32(2), *new, "sm_90a", "accepted") == "silicon-sp-k32-selectors"
    load = f"wmma.load.a.sync.aligned.row.m16n16k16 {{{B8[1:-1]}}}, [%bd0];"
    assert later.explains("wmma.load.a", load, "12.9.86", Version(8, 8), "sm_80", "accepted")
    assert later.explains("wmma.load.a", load, *new, "sm_80", "accepted") is None


def test_without_any_release_the_question_cannot_be_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(release: str) -> Ptxas:
        raise Question("not here")

    monkeypatch.setattr(contradictions.ContradictionRegister.run, "__defaults__", (none,))
    code, _, err = run("contradictions", "text-mma-m8n84", "--run")
    assert code == 2 and "none of the releases is here" in err

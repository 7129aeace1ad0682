"""How a statement is written, judged as every ptxas judges it: special registers, vector variables and their
components, a register and a constant, blanks in a mnemonic. The verdicts are typed from what 17 releases said.
"""

from __future__ import annotations

import re

import pytest

import ptxmma
from ptxmma.assemblers.classification import Session
from ptxmma.assemblers.toolchains import Ptxas, available
from ptxmma.check.check_file import check_text
from ptxmma.spec.nodes import Version

WATCHES = ("spec/instructions/fence.proxy.async.yaml",)
V4, V2 = ".reg .v4 .b32 vv; ", ".reg .v2 .b32 vv; "
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}"
SP = "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%b0,%b1}, {%b0,%b1}, {%f0,%f1,%f2,%f3}"
S8 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%b0,%b1,%b2,%b3}"
LD = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%b0,%b1}"
WG = "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%b0,%b1}"
TC = "tcgen05.mma.cta_group::1.kind::f16 [%b0]"
SCALED = (
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
    "{%f0,%f1,%f2,%f3}, {%b0,%b1,%b2,%b3}, {%b0,%b1}, {%f0,%f1,%f2,%f3}"
)
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
MOVE = "movmatrix.sync.aligned.m8n8.trans.b16"
A80, A90, A100 = ("7.8", "sm_80"), ("8.0", "sm_90a"), ("8.6", "sm_100a")
REST = "{%b0,%b1}, {%f0,%f1,%f2,%f3};"
UNANSWERED = f"{TC}, %bd0, %bd1, %b1, %p0+1;"  # ptxas takes all the memory that there is, and does not end

ADDED = "{%b0,%b1,%b2,%b3}, {%b0,%b1}, {%f0,%f1,%f2,"
FLOATS = (
    *(
        ".5",
        "-.5e-1",
        "- 1.0",
        "08.5",
        "1e+3",
        "5.e3",
        "0F3f800000",
        "0D3ff0000000000000",
        "(.5)",
        "- -1.0",
        "1e308*1e308",
    ),
    *("-(0f3f800000)", "1.0 * (2.0+.5)", "1.0+-1.0", "((1.0))"),
)
NO_FLOATS = (
    *(
        "1.e",
        "1.5f",
        "1e400",
        "1e-400",
        "1.8e308",
        "0f3f8000000",
        "0f3f80000",
        "0d3ff0",
        "-0f3f800000",
        "1 .0",
        "1.0%2.0",
    ),
    *("0f3f800000+0f3f800000", "1.0+0f3f800000", "1.0+", "(1.0)(2.0)", "0x1.0", "1.0+1"),
)
LEGAL = [
    *((A80, f"{F16}, {ADDED}{text}}};") for text in FLOATS),
    (A80, f"{F16}, {{%laneid,%tid.x,%ctaid.w,%b3}}, {REST}"),
    (A80, f"{F16}, {{%tid.r,%b1,%b2,%b3}}, {REST}"),
    (A80, f"{F16}, {{%b0,%b1,%b2,%b3}}, {{%b0,%b1}}, {{%laneid,%f1,%f2,%f3}};"),
    (A80, f"{LD}, [%laneid];"),
    (A80, f"{LD}, [%clock64 + 16];"),
    (A80, f"{MOVE} %b0, %b1+1;"),
    (A80, f"{MOVE} %b0, %laneid + -4;"),
    (A80, f"{SP}, %b0+1, 0;"),
    (A80, f"{SP}, {{%laneid}}, 0;"),
    (A80, f"{V4}{F16}, vv, {REST}"),
    (A80, f"{V4}{F16}, {{vv.x,vv.g,vv.b,vv.w}}, {REST}"),
    (A80, f"{V2}{MOVE} vv.x, vv.y;"),
    (A80, f"{V2}ldmatrix.sync.aligned.m8n8.x2.shared.b16 vv, [%b0];"),
    (A80, f"{F16.replace('.', ' .')}, {{%b0,%b1,%b2,%b3}}, {REST}"),
    (A80, f"{SP.replace('mma.sp', 'mma .sp')}, %b0, 0;"),
    (A80, f"{F16}, {{%b0,%b1,%b2,%b3}}, {{%b0,%b1}}, {{0f00000000,0f3f800000,0f00000000,0f00000000}};"),
    (A80, f"{F16}, {{%b0,%b1,%b2,%b3}}, {{%b0,%b1}}, {{%f0,%f1,1.0,0f00000000}};"),
    (A80, f"{S8}, {{0f00000000,0f00000000,0f00000000,0f00000000}}, {{%b0,%b1}}, {{0,0,0,1}};"),
    (A80, "wmma.store.d.sync.aligned.row.m16n16k16.f16 [%bd0], {%b0,%b1,0f00000000,%b3};"),
    (A90, "@!%is_explicit_cluster ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b0}, [%bd0];"),
    (A90, "wgmma.fence .sync .aligned;"),
    (A90, "wgmma.fence\t.sync.aligned ;"),
    (A90, f"{WG}, %bd0+16, %bd1, %p0+1, 1, 1, 0, 0;"),
    (A90, "fence.proxy .async .global;"),
    *((A90, f"fence.proxy.{space}.async;") for space in ("global", "shared::cta", "shared::cluster")),
    (A80, f"{S8}, {{%u0,%b1,%f2,1.0}}, {{%s0,1}}, {{%b0,%b1,%b2,%b3}};"),
    (A80, f"{S8}, {{%hh0,%b1,%tid.x,%f3}}, {{0f00000000,%f1}}, {{%b0,%b1,%b2,%b3}};"),
    (A80, f"{LD}, [%reserved_smem_offset_1];"),
    (A80, f"{LD}, [%total_smem_size];"),
    (A90, f"{F16}, {{%cluster_ctarank,%clusterid.x,%b2,%b3}}, {REST}"),
    (A90, f"{LD}, [%current_graph_exec];"),
    (A100, "tcgen05.wait ::ld.sync.aligned;"),
    (A100, "tcgen05.mma.ws .sp.cta_group::1.kind::f16 [%b0], %bd0, %bd1, [%b2], %b1, %p0, %bd2;"),
    (A100, f"{TC}, %bd0+1, %bd1+2, %b1, %p0;"),
    (A100, f"{TC}, %bd0, %bd1, %b1, {{%b0,%laneid,%b1,%b2}}, %p0;"),
    (A100, "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%b0], %b1+1;"),
]
ILLEGAL = [
    *((A80, f"{F16}, {ADDED}{text}}};", "syntax") for text in NO_FLOATS),
    (A80, f"{F16}, {{%tid,%b1,%b2,%b3}}, {REST}", "operand.type"),
    (A80, f"{F16}, {{%clock64,%b1,%b2,%b3}}, {REST}", "operand.type"),
    (A80, f"{F16}, {{%laneid.x,%b1,%b2,%b3}}, {REST}", "operand.component"),
    (A80, f"{F16}, {{%b0.x,%b1,%b2,%b3}}, {REST}", "operand.component"),
    (A80, f"{F16}, {{%b0,%b1,%b2,!%p1}}, {REST}", "syntax"),
    (A80, f"{F16}, {{%b0,%b1,%b2,%b3+1}}, {REST}", "syntax"),
    (A80, f"{F16}, %tid, {REST}", "operand.kind"),
    (A80, f"{V4}{F16}, {{vv,%b1,%b2,%b3}}, {REST}", "operand.type"),
    (A80, f"{V2}{MOVE} %b0, vv;", "operand.kind"),
    (A80, f"{V2}{LD}, [vv];", "operand.type"),
    (A80, f"{LD}, [%tid];", "operand.type"),
    (A80, f"{LD}, [%tid.x];", "syntax"),
    (A90, f"{LD}, [%is_explicit_cluster];", "operand.type"),
    (A80, f"{MOVE} %b0, %laneid;", "operand.special"),
    (A80, f"{MOVE} %tid.x, %b0;", "operand.special"),
    (A80, f"{MOVE} %b0, %b1.x;", "operand.component"),
    (A80, f"{MOVE} %b0+1, %b1;", "operand.kind"),
    (A80, f"{SP}, %laneid, 0;", "operand.special"),
    (A80, f"@%laneid {LD}, [%bd0];", "guard.type"),
    (
        A80,
        "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%laneid}, [%bd0];",
        "operand.special",
    ),
    (A80, "wmma .load.a.sync.aligned.row.m16n16k16.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, [%bd0];", "syntax"),
    (A80, f"{F16.replace('.sync', '. sync')}, {{%b0,%b1,%b2,%b3}}, {REST}", "qualifier.missing"),
    (A80, f"{F16}, {{%b0,%b1,%b2,%b3}}, {{%b0,%b1}}, {{1.0,1.0,1.0,1.0}};", "operand.vector"),
    (A80, f"{F16}, {{%b0,%b1,%b2,%b3}}, {{%b0,%b1}}, {{%f0,%f1,%f2,-0f00000000}};", "syntax"),
    (A80, f"{F16}, {{%b0,%b1,%b2,%b3}}, {{%b0,%b1}}, {{%f0,%f1,1.0,0}};", "operand.literal"),
    (A80, f"{F16}, {{0f00000000,0f00000000,0f00000000,0f00000000}}, {REST}", "operand.vector"),
    (A80, f"{S8}, {{0,0,0,0}}, {{%b0,%b1}}, {{0,0,0,1}};", "operand.vector"),
    (A80, "wmma.store.d.sync.aligned.row.m16n16k16.f16 [%bd0], {%b0,%b1,1.0,%b3};", "operand.literal"),
    (A80, f"{SP.replace('{%b0,%b1}', '{%u0,%f1}')}, %b0, 0;", "operand.type"),
    *(
        (A80, f"{S8}, {{{vector}}}, {{%b0,%b1}}, {{%b0,%b1,%b2,%b3}};", "operand.type")
        for vector in (
            "%b0,%u1,%f2,%b3",
            "%hh0,%hh1,%hh2,%s3",
            "%f0,%hh1,%b2,%b3",
            "1,%f1,%b2,%b3",
            "%u0,1.0,%b2,%b3",
            "%b0,%b1,%hh2,0f00000000",
            "%b0,1,%hh2,%b3",
        )
    ),
    (A80, f"{S8}, {{%b0,%tid.x,%b2,1}}, {{%b0,%b1}}, {{%b0,%b1,%b2,%b3}};", "operand.special"),
    (A80, f"{S8}, {{0f00000000,%b1,%b2,%ctaid.y}}, {{%b0,%b1}}, {{%b0,%b1,%b2,%b3}};", "operand.special"),
    (
        A80,
        f"{SP.rpartition('{')[0]}{{1,1,1,1}}, %b0, 0;",
        "operand.vector",
    ),
    (A80, f"{LD}, [%cluster_ctarank];", "operand.special"),
    (A80, f"{LD}, [%current_graph_exec];", "operand.special"),
    (A90, f"{LD}, [%aggr_smem_size];", "operand.special"),
    (A100, f"{LD}, [%perctamemoryoffset];", "operand.special"),
    (A90, "fence.proxy.global.async.global;", "qualifier.repeated"),
    (A90, "wgmma .fence.sync.aligned;", "syntax"),
    (A90, "fence .proxy.async;", "syntax"),
    (A90, f"{WG}, %clock64, %bd1, 1, 1, 1, 0, 0;", "operand.special"),
    (A90, f"{WG}, %bd0, %bd1, !%is_explicit_cluster, 1, 1, 0, 0;", "operand.special"),
    (A90, f"{WG}, %bd0, %bd1.x, 1, 1, 1, 0, 0;", "operand.component"),
    (A100, "tcgen05 .wait::ld.sync.aligned;", "syntax"),
    (A100, "tcgen05.mma .ws.cta_group::1.kind::f16 [%b0], %bd0, %bd1, %b1, %p0, %bd2;", "syntax"),
    (A100, "tcgen05.alloc.cta_group ::1.sync.aligned.shared::cta.b32 [%b0], 32;", "syntax"),
    (A100, f"{TC}, %bd0, %bd1, %b1+1, %p0;", "operand.kind"),
    (A100, UNANSWERED, "operand.kind"),
    (A100, f"{TC.replace('%b0', '%laneid')}, %bd0, %bd1, %b1, %p0;", "operand.special"),
    (A100, "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%laneid,%b0}, [%b1];", "operand.special"),
    (A100, "tcgen05.st.sync.aligned.32x32b.x1.b32 [%b0], {%laneid};", "operand.special"),
]
DECLARED = (
    ".reg .pred %p<8>; .reg .b32 %b<160>; .reg .f32 %f<160>; .reg .b64 %bd<160>; .reg .f16x2 %hh<160>; "
    ".reg .u32 %u<160>; .reg .s32 %s<160>; "
)


@pytest.mark.parametrize(("setting", "text"), LEGAL)
def test_written_so_it_is_legal(setting: tuple[str, str], text: str) -> None:
    verdict = ptxmma.legal(DECLARED + text, *setting)
    assert verdict, verdict.reasons


@pytest.mark.parametrize(
    ("setting", "text", "noted"),
    [
        (A80, f"{MOVE} %b0, %b1+1;", "a register and a constant"),
        (A80, f"{F16}, {{%laneid,%b1,%b2,%b3}}, {REST}", "a special register, or a literal"),
        (A80, f"{F16}, {{%b0,%b1,%b2,0}}, {REST}", "a special register, or a literal"),
        (A80, f"{LD}, [%laneid];", "a special register, or a literal"),
        (A100, f"{ALLOC} [%laneid], 32;", "a special register, or a literal"),  # every ptxas refuses it
        (A80, f".reg .b32 %laneid; {F16}, {{%laneid,%b1,%b2,%b3}}, {REST}", ""),
        (A80, f"{F16}, {{%b0,%b1,%b2,%b3}}, {REST}", ""),
        (("8.7", "sm_120a"), f"{SCALED}, %b4, {{0,1}}, %b5, {{0,1}};", ""),
    ],
)
def test_what_the_text_does_not_have_is_noted(setting: tuple[str, str], text: str, noted: str) -> None:
    """A vector of unlike operands holds literals by the text."""
    verdict = ptxmma.legal(DECLARED + text, *setting)
    assert verdict, verdict.reasons
    assert [note.split(":")[0].split(" in a ")[0].split(" as one ")[0] for note in verdict.notes] == (
        [noted] if noted else []
    )


@pytest.mark.parametrize(("setting", "text", "code"), ILLEGAL)
def test_written_so_it_is_illegal(setting: tuple[str, str], text: str, code: str) -> None:
    verdict = ptxmma.legal(DECLARED + text, *setting)
    assert verdict.verdict == "illegal"
    assert code in {reason.code for reason in verdict.reasons}


@pytest.mark.parametrize("ptxas", available(), ids=lambda one: one.version)
def test_every_assembler_says_so(ptxas: Ptxas) -> None:
    asked = 0
    for setting in (A80, A90, A100):
        version = Version(*map(int, setting[0].split(".")))
        session = Session(ptxas, version, setting[1])
        if version > ptxas.ptx or session.mute() is not None:
            continue
        legal = [text for one, text in LEGAL if one == setting]
        illegal = [text for one, text, _ in ILLEGAL if one == setting and text != UNANSWERED]
        asked += len(legal)
        for texts, accepted in ((legal, True), (illegal, False)):
            for some in _parted(texts):
                for text, outcome in zip(some, session.classify(_single(some)), strict=True):
                    assert (outcome.verdict == "accepted") == accepted, (text, outcome)
    assert asked or ptxas.ptx < Version(7, 8)


def _parted(texts: list[str]) -> list[list[str]]:
    """Those with a predicate and a constant each by itself: ptxas works for minutes on one beside others."""
    alone = [text for text in texts if "%p0+1" in text]
    return [[text for text in texts if text not in alone], *([text] for text in alone)]


def _single(texts: list[str]) -> list[str]:
    """The same, with variables of other names, as they stand in one kernel."""
    return [re.sub(r"\bvv\b", f"vv{number}", text) for number, text in enumerate(texts)]


LATE = {
    "reserved_smem_offset_begin": ("7.6", "sm_80"),
    "reserved_smem_offset_0": ("7.6", "sm_80"),
    "reserved_smem_offset_1": ("7.6", "sm_80"),
    "reserved_smem_offset_end": ("7.6", "sm_80"),
    "reserved_smem_offset_cap": ("7.6", "sm_80"),
    **dict.fromkeys(("cluster_ctarank", "cluster_nctarank"), ("7.8", "sm_90")),
    "current_graph_exec": ("8.0", "sm_75"),
    "aggr_smem_size": ("8.1", "sm_90"),
    **dict.fromkeys(("perctamemoryoffset", "perctamemorysize"), ("9.4", "sm_80")),
    **dict.fromkeys(("total_smem_size", "dynamic_smem_size", "pm7_64", "globaltimer"), ("6.5", "sm_75")),
}


@pytest.mark.parametrize("register", LATE)
def test_some_special_registers_came_late(register: str) -> None:
    """On sm_75 current_graph_exec is there, as its gate begins with sm_50; ldmatrix begins with sm_75 and 6.5."""
    since, first = LATE[register]
    statement = f"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%b0}}, [%{register}];"
    versions = ["6.5", "7.5", "7.6", "7.7", "7.8", "8.0", "8.1", "9.3", "9.4", "9.5"]
    targets = {"sm_75": "6.5", "sm_80": "7.0", "sm_89": "7.8", "sm_90": "7.8", "sm_100": "8.6"}
    for version in versions:
        for place, (target, begin) in enumerate(targets.items()):
            if Version.of(version) >= Version.of(begin):
                there = Version.of(version) >= Version.of(since) and place >= [*targets].index(first)
                assert bool(ptxmma.legal(statement, version, target)) == there, (version, target)


@pytest.mark.parametrize("name", ["clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"])
def test_components_came_with_their_vectors(name: str) -> None:
    statement = f"{F16}, {{%{name}.x,%{name}.w,%b2,%b3}}, {REST}"
    assert ptxmma.legal(statement, "7.8", "sm_90")
    assert not ptxmma.legal(statement, "7.8", "sm_89") and not ptxmma.legal(statement, "7.7")
    assert not ptxmma.legal("@!%is_explicit_cluster fence.proxy.async;", "9.5", "sm_89")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (".reg .b32 a; " + f"{MOVE} a, b;", ["b"]),
        (".reg .b32 a; " + f"@!q {MOVE} %r1, a;", ["%r1", "q"]),
        (".reg .b32 %r<2>; " + f"{MOVE} %r0, %r2;", ["%r2"]),
        (".reg .v4 .b32 v; " + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {v.x,w.y,v.z,w.y}, [p];", ["w.y"]),
        (".reg .b32 a; " + f"{MOVE} a, a;", []),
        (
            ".reg .b32 a; " + f"{LD.replace('%b0', 'a').replace('%b1', 'a')}, [tile+16];",
            [],
        ),  # it may be a variable
        (f"{MOVE} a, b;", []),  # nothing is declared: registers have any name
    ],
)
def test_undeclared_names_are_noted(text: str, names: list[str]) -> None:
    """Every ptxas says Unknown symbol; what `legal` is asked about need not be a whole file."""
    verdict = ptxmma.legal(text)
    said = "has no declaration before the statement: its type was not judged"
    assert verdict and list(verdict.notes) == [f"{name} {said}" for name in names]


@pytest.mark.parametrize(
    ("vector", "legal"),
    [
        ("%b0,7,%b1,1.0", True),
        ("1.0,%b0,%b1,7", True),
        ("7,%b0,%b1,0f3f800000", True),
        ("0f3f800000,%b0,%b1,7", False),
        ("7,1.0,%b0,%b1", False),
        ("%b0,%b1,0f3f800000,7", False),
    ],
)
def test_literals_of_two_kinds_with_a_register_between(vector: str, legal: bool) -> None:
    """As ptxas 11.7.99 to 13.5.37 have it in C of .f16, .tf32 and .s32 products, on sm_80 and later."""
    statement = f"{S8}, {{%b0,%b1,%b2,%b3}}, {{%b0,%b1}}, {{{vector}}};"
    assert bool(ptxmma.legal(statement, *A80)) == legal


def test_perctamemorysize_has_32_bits() -> None:
    """As ptxas 13.4.92 and 13.5.37 have it in vectors, and perctamemoryoffset 64."""
    rest = "{%bd0,%bd1}, {%bd2}, {%bd3}"
    double = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
    assert ptxmma.legal(f"{F16}, {{%perctamemorysize,%b1,%b2,%b3}}, {REST}", "9.4", "sm_80")
    assert not ptxmma.legal(f"{double} {rest}, {{%perctamemorysize,%bd4}};", "9.4", "sm_80")
    assert ptxmma.legal(f"{double} {rest}, {{%perctamemoryoffset,%bd4}};", "9.4", "sm_80")
    assert not ptxmma.legal(f"{F16}, {{%perctamemoryoffset,%b1,%b2,%b3}}, {REST}", "9.4", "sm_80")


def test_a_sum_is_noted() -> None:
    (note,) = ptxmma.legal(f"{MOVE} a, b+1;").notes
    assert "a register and a constant" in note
    assert not ptxmma.legal(f"{LD}, [b+16];").notes


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"{MOVE} %b0, %laneid;", "legality.operand.special"),
        (f"{MOVE} %b0, %b1.x;", "legality.operand.component"),
        (f"{V4}{MOVE} %b0, vv;", "legality.operand.kind"),
        ("wgmma .fence.sync.aligned;", "legality.syntax"),
        (f"{F16.replace('.sync', '. sync')}, {{%b0,%b1,%b2,%b3}}, {REST}", "legality.syntax"),
        (f"{F16}, {{%clock64,%b1,%b2,%b3}}, {REST}", "legality.operand.type"),
    ],
)
def test_check_judges_alike(text: str, rule: str) -> None:
    assert rule in _findings(text)


@pytest.mark.parametrize("text", [text for setting, text in LEGAL if setting == A80])
def test_check_accepts_alike(text: str) -> None:
    assert not [found for found in _findings(text) if found.startswith("legality")]


def test_alike_names_of_unlike_kinds_are_judged_apart() -> None:
    """The second statement has the first one's types but for the special register."""
    assert "legality.operand.type" in _findings(
        f"{F16}, {{%x,%b1,%b2,%b3}}, {REST} {F16}, {{%clock64,%b1,%b2,%b3}}, {REST}"
    )


def _findings(text: str) -> list[str]:
    declared = DECLARED.replace("; ", ";\n")
    head = ".version 8.5\n.target sm_90a\n.address_size 64\n"
    report = check_text(f"{head}.visible .entry k()\n{{\n{declared}{text}\nret;\n}}\n", "k.ptx")
    return [finding.rule for finding in report.findings]

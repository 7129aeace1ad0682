"""Legality against the text: counts, gates, operands; check values are typed from the seeds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxmma
from ptxmma.spec.specification import Specification

WATCHES = ("specs.yaml", "spec/instructions/*.yaml")

Run = Callable[..., tuple[int, str, str]]
D4 = "{d0, d1, d2, d3}"
SP = "wgmma.mma_async.sp.sync.aligned"


def verdict(statement: str, ptx: str = "9.5", target: str | None = "sm_90a") -> str:
    return ptxmma.legal(statement, ptx, target).verdict


def codes(statement: str, ptx: str = "9.5", target: str | None = "sm_90a") -> list[str]:
    return [reason.code for reason in ptxmma.legal(statement, ptx, target).reasons]


# 9.7.15.6.3: 64 f16, 32 bf16, 32 tf32, 256 fp8 and 144 integer mnemonics; the dense ones add 18 of .b1
@pytest.mark.parametrize(
    ("instruction", "mnemonics"),
    [("wgmma.mma_async.sp", 64 + 32 + 32 + 256 + 144), ("wgmma.mma_async", 64 + 32 + 32 + 256 + 144 + 18)],
)
def test_counts(specification: Specification, instruction: str, mnemonics: int) -> None:
    variants = list(specification.families[instruction].listed())
    assert len(variants) == mnemonics
    assert sum(1 for variant in variants for _ in variant.forms) == 2 * mnemonics


# the seeds' own examples; the register lists of the wgmma ones are those of N = 8
EXAMPLES = [
    ("wgmma.fence.sync.aligned;", "8.0", "sm_90a"),
    ("wgmma.commit_group.sync.aligned;", "8.0", "sm_90a"),
    ("wgmma.wait_group.sync.aligned 0;", "8.0", "sm_90a"),
    (f"{SP}.m64n8k64.s32.u8.u8 {D4}, descA, descB, spMeta, 0, scaleD;", "8.2", "sm_90a"),
    (f"{SP}.m64n8k64.s32.s8.u8 {D4}, descA, descB, spMeta, 0, scaleD;", "8.4", "sm_90a"),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f32d0, f32d1, f32d2, f32d3},"
        "\n {f16a0, f16a1, f16a2, f16a3}, descB, 1, -1, -1, 1;",
        "8.0",
        "sm_90a",
    ),
    (
        "wmma.mma.sync.aligned.m16n16k16.row.col.f32.f32 {d0, d1, d2, d3, d4, d5, d6, d7}, "
        "{a0, a1, a2, a3, a4, a5, a6, a7}, {b0, b1, b2, b3, b4, b5, b6, b7}, {c0, c1, c2, c3, c4, c5, c6, c7};",
        "6.3",
        "sm_70",
    ),
    (
        "wmma.mma.sync.aligned.m8n32k16.row.col.s32.s8.s8.s32 {d0, d1, d2, d3, d4, d5, d6, d7}, {a}, "
        "{b0, b1, b2, b3}, {c0, c1, c2, c3, c4, c5, c6, c7};",
        "6.3",
        "sm_72",
    ),
    ("wmma.mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {d0, d1}, {a}, {b}, {c0, c1};", "6.3", "sm_75"),
    (
        "wmma.mma.xor.popc.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32 {d0, d1}, {a}, {b}, {c0, c1};",
        "6.3",
        "sm_75",
    ),
    ("wmma.mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d0, d1}, {a}, {b}, {c0, c1};", "7.0", "sm_80"),
    (
        "wmma.load.a.sync.aligned.m16n16k16.global.row.f16 {a0, a1, a2, a3, a4, a5, a6, a7}, [A];",
        "6.3",
        "sm_70",
    ),
    (
        "wmma.store.d.sync.aligned.m16n16k16.global.col.f32 [D], {d0, d1, d2, d3, d4, d5, d6, d7};",
        "6.3",
        "sm_70",
    ),
]


@pytest.mark.parametrize(("statement", "ptx", "target"), EXAMPLES)
def test_examples_of_the_text(statement: str, ptx: str, target: str) -> None:
    assert verdict(statement, ptx, target) == "legal"


@pytest.mark.parametrize(
    ("statement", "before", "since", "target", "too_small"),
    [
        (EXAMPLES[3][0], "8.1", "8.2", "sm_90a", "sm_90"),
        (EXAMPLES[4][0], "8.3", "8.4", "sm_90a", "sm_90"),
        (EXAMPLES[0][0], "7.8", "8.0", "sm_90a", "sm_90"),
        (EXAMPLES[7][0], "6.2", "6.3", "sm_72", "sm_70"),
        (EXAMPLES[8][0], "6.2", "6.3", "sm_75", "sm_72"),
        (EXAMPLES[10][0], "6.5", "7.0", "sm_80", "sm_75"),
        (EXAMPLES[9][0].replace("xor", "and"), "7.0", "7.1", "sm_80", "sm_75"),
    ],
)
def test_gates_of_the_text(statement: str, before: str, since: str, target: str, too_small: str) -> None:
    assert verdict(statement, since, target) == "legal"
    assert set(codes(statement, before, target)) <= {"gate.since", "gate.target_version"}
    assert codes(statement, before, target)
    assert codes(statement, "9.5", too_small) == ["gate.target"]


def test_a_qualifier_and_its_absence_have_gates() -> None:
    plain = "wmma.mma.sync.row.col.m16n16k16.f32.f32 {a,b,c,d,e,f,g,h}, {a,b,c,d,e,f,g,h}, {a,b,c,d,e,f,g,h}, {a,b,c,d,e,f,g,h};"
    aligned = plain.replace("sync", "sync.aligned")
    assert (verdict(plain, "6.2", "sm_70"), verdict(aligned, "6.2", "sm_70")) == ("legal", "illegal")
    assert (verdict(plain, "6.3", "sm_70"), verdict(aligned, "6.3", "sm_70")) == ("illegal", "legal")
    assert codes(plain, "6.3", "sm_70") == ["gate.removed"]
    clamped = aligned.replace(".f32.f32", ".f32.f32.satfinite")
    assert verdict(clamped, "6.4", "sm_70") == "legal"
    assert ptxmma.legal(clamped, "6.4", "sm_70").notes == ("deprecated since PTX ISA 6.4",)
    assert codes(clamped, "6.5", "sm_70") == ["gate.removed"]


F16 = f"{SP}.m64n8k32.f32.f16.f16 {D4}, da, db, meta, 0, p, 1, 1, 0, 0;"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("m64n8k32", "m64n12k32"), "qualifier.value"),
        (("m64n8k32", "m64n264k32"), "qualifier.value"),
        ((".f32.f16.f16", ".f32.f16.bf16"), "qualifier.value"),
        ((".f32.f16.f16", ".f32.f16"), "qualifier.types"),
        ((".sync", ""), "qualifier.missing"),
        ((".sync", ".sync.foo"), "qualifier.unknown"),
        ((".sync", ".sync.satfinite"), "qualifier.unexpected"),
        (("d3}", "d3, d4}"), "operand.length"),
        ((", 0, 0;", ", 0;"), "operand.count"),
        ((", 0, 0;", ", 0, 2;"), "operand.range"),
        (("1, 1", "0, 1"), "operand.range"),
        (("meta, 0", "meta, 2"), "operand.range"),
        (("meta", "7"), "operand.kind"),
        (("da", "[da]"), "operand.kind"),
        (("d3}", "_}"), "operand.sink"),
        (("p,", "p,,"), "syntax"),
        ((";", ""), "syntax"),
    ],
)
def test_reasons(change: tuple[str, str], code: str) -> None:
    assert verdict(F16) == "legal"
    spoilt = F16.replace(*change, 1)
    assert verdict(spoilt) == "illegal"
    assert code in codes(spoilt)


@pytest.mark.parametrize("order", ["aligned.sync", "sync.sync.aligned", "m64n8k32.sync.aligned", "sync"])
def test_qualifiers_as_assemblers_take_them(order: str) -> None:
    shape = "" if "m64" in order else "m64n8k32."
    assert verdict(f"wgmma.mma_async.{order}.{shape}f32.f16.f16.sp {F16.split(' ', 1)[1]}") == "legal"


def test_register_types_count_when_they_are_declared() -> None:
    declared = ".reg .f32 d<4>; .reg .b64 da, db; .reg .b32 meta; .reg .pred p; "
    assert verdict(declared + F16) == "legal"
    assert codes(declared.replace(".f32 d", ".s32 d") + F16) == ["operand.type"]
    assert codes(declared.replace(".pred p", ".b32 p") + F16) == ["operand.type"]


def test_what_is_not_held_is_unknown() -> None:
    assert verdict("frobnicate.mma.cta_group::1.kind::f16 [d], a, b, i, p;") == "unknown"
    assert verdict("add.f32 a, b, c;") == "unknown"
    assert verdict("nonsense") == "unknown"


def test_the_nearest_is_suggested(run: Run) -> None:
    code, out, _ = run("legal", F16.replace("n8k32", "n12k32"))
    assert code == 1
    assert (
        "nearest legal form: wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {d0, d1, d2, d3}, a-desc"
        in out
    )
    code, out, _ = run("legal", "wgma.fence.sync.aligned;")
    assert code == 2
    assert "wgmma.fence" in out


STATEMENTS = [statement.replace("\n", " ") for statement, _, _ in EXAMPLES]
STATEMENTS += [
    F16,
    F16.replace("m64n8k32", "m64n264k32"),
    F16.replace("0, p", "9, p"),
    "garbage",
    "@p " + F16,
]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("9223372036854775807", "legal"),  # 2**63 - 1; from here on as ptxas 12.0 to 13.5 say, too
        ("9223372036854775808", "illegal"),
        ("18446744073709551615", "illegal"),
        ("99999999999999999999", "illegal"),
        ("-1", "illegal"),
        ("4294967296", "legal"),
    ],
)
def test_a_constant_has_64_bits(groups: str, said: str) -> None:
    assert verdict(f"wgmma.wait_group.sync.aligned {groups};") == said


def test_batch_and_single_verdicts_are_identical(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "statements"
    path.write_text("\n".join([*STATEMENTS, "", "{"]))
    code, out, _ = run("legal", "--batch", str(path), "--ptx", "8.4", "--target", "sm_90a")
    assert code == 1
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["line"] for line in lines] == [*range(1, len(STATEMENTS) + 1), len(STATEMENTS) + 2]
    for line, statement in zip(lines, [*STATEMENTS, "{"], strict=True):
        assert {k: v for k, v in line.items() if k != "line"} == alone(statement, "8.4", "sm_90a")


def alone(statement: str, ptx: str, target: str) -> dict[str, object]:
    """The verdict on one statement, as --batch has it."""
    single = ptxmma.legal(statement, ptx, target)
    reasons = [{"code": r.code, "message": r.message} for r in single.reasons]
    return {"verdict": single.verdict, "reasons": reasons}


@pytest.mark.parametrize(
    ("operands", "found"),
    [
        ("{a, b, c, d}, {e, f, g, %clock64}, %rd1, p, 1, -1;", ["operand.type"]),  # of 64 bits
        ("{a, b, c, d}, {e, f, %tid.x, %laneid}, %rd1, p, 1, -1;", []),
        ("{a, b, c, d}, {e, f, g, %laneid.x}, %rd1, p, 1, -1;", ["operand.component"]),
        ("{a, b, c, d}, %rd1, %clock64, p, 1, -1;", ["operand.special"]),
    ],
)
def test_special_registers_matter_where_nothing_is_declared(operands: str, found: list[str]) -> None:
    assert codes(f"wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {operands}") == found


# Arguments of which no two are judged alike in all places, and some that are (%r1 and a, [%r1] and [a+4]).
ARGUMENTS = """
%r1; a; %tid; %tid.x; %laneid; %laneid.x; %clock64; %is_explicit_cluster; a.x; _; 1; -1; 300; 1.0; !%p1; !%tid;
a + 4; %tid + 4; %laneid + 4; [%r1]; [a+4]; [%tid]; [%laneid]; [%laneid.x]; [%is_explicit_cluster]; [4]; {}; {%r1};
{a, b}; {%r1, _}; {_, %r1}; {%r1, 1}; {a, 1.0}; {%r1, 1.0}; {1, 1.0}; {%tid.x, b}; {%tid.x, 1}; {%laneid, %clock64};
{%laneid, %laneid}; {%clock64, b}; {%laneid.x, b}; {a.x, b}; {%r1, %r2, %r3, %r4}; {a, b, c, d}; {a, b, c, _};
{%r1, %tid.x, %r3, %r4}; {%r1, %clock64, %r3, %r4}; {a, b, 1, 1}; {a, b, 1, 0f3f800000}; {1, 1, 1, 1};
{_, _, _, _}; %r 1; {a,,b}
"""


@pytest.mark.parametrize(
    ("mnemonic", "operands"),
    [
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32", "{a, b, c, d}; {e, f, g, h}; %rd1; p; 1; -1"),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32", "{a, b, c, d}; %rd1; %rd2; p; 1; -1"),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            "{a, b, c, d}; {e, f, g, h}; {i, j}; {k, l, m, n}",
        ),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "{a, b}; {c}; {d}; {e, f}"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "{a, b, c, d}; [p]"),
        ("stmatrix.sync.aligned.m8n8.x2.shared.b16", "[p]; {a, b}"),
    ],
)
def test_a_batch_tells_apart_what_is_judged_apart(
    run: Run, tmp_path: Path, mnemonic: str, operands: str
) -> None:
    usual = operands.split("; ")
    texts = [text.strip() for text in ARGUMENTS.split(";")]
    changed = [[*usual[:at], text, *usual[at + 1 :]] for at in range(len(usual)) for text in texts]
    statements = [f"{mnemonic} {', '.join(given)};" for given in (usual, *changed)]
    (tmp_path / "statements").write_text("\n".join(statements))
    _, out, _ = run("legal", "--batch", str(tmp_path / "statements"), "--ptx", "8.4", "--target", "sm_90a")
    said = [json.loads(line) for line in out.splitlines()]
    assert said[0]["verdict"] == "legal"
    expected = [{"line": n} | alone(text, "8.4", "sm_90a") for n, text in enumerate(statements, 1)]
    assert said == expected


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.one_of(
        st.text(),
        st.sampled_from(STATEMENTS).flatmap(
            lambda s: st.tuples(
                st.just(s),
                st.integers(0, len(s)),
                st.integers(0, 6),
                st.text(alphabet="{}[],.;:@!_%0x1aé \n", max_size=4),
            ).map(lambda p: p[0][: p[1]] + p[3] + p[0][p[1] + p[2] :])
        ),
    )
)
def test_no_statement_is_too_odd(text: str) -> None:
    assert ptxmma.legal(text, "8.4", "sm_90a").verdict in ("legal", "illegal", "unknown")


def test_a_batch_passes_over_what_is_no_statement(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "statements.txt"
    path.write_bytes(b"\xef\xbb\xbfwgmma.fence.sync.aligned;\r\n// a comment\n\nwgmma.fence.sync.aligned;")
    code, out, err = run("legal", "--batch", str(path))
    assert (code, err) == (0, "") and [json.loads(line)["line"] for line in out.splitlines()] == [1, 4]
    path.write_text("// nothing\n")
    code, out, err = run("legal", "--batch", str(path))
    assert (code, out) == (2, "")
    assert err == f"ptxmma: {path}: there is no statement; write one a line\n"


@pytest.mark.parametrize(
    "arguments", [("--ptx", "99.9"), ("--ptx", "x"), ("--target", "sm_91"), ("--batch", "/no/such")]
)
def test_what_cannot_be_asked(run: Run, arguments: tuple[str, str]) -> None:
    statement = () if "--batch" in arguments else ("wgmma.fence.sync.aligned;",)
    code, out, err = run("legal", *statement, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("ptxmma: ")


def test_a_shape_where_none_belongs_is_not_remembered_as_none(specification: Specification) -> None:
    judge = specification.judge("8.0", "sm_90a")
    assert judge.judge("wgmma.commit_group.sync.m64n8k16;").verdict == "illegal"
    assert judge.judge("wgmma.commit_group.sync;").verdict == "legal"


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("%rd1", None),
        ("%rd1+16", None),
        ("%rd1 + -0x10", None),
        ("buffer+(4*4)", None),
        ("1024", "operand.address"),
        ("%rd1-16", "syntax"),
        ("%rd1+%rd2", "syntax"),
        ("16+%rd1", "syntax"),
        ("", "syntax"),
        ("_", "syntax"),
        ("%f1", "operand.type"),
    ],
)
def test_addresses(specification: Specification, address: str, code: str | None) -> None:
    """As every ptxas has them: a register or a variable, and a constant added to it."""
    text = (
        f".reg .b64 %rd<3>; .reg .f32 %f<2>; wmma.load.a.sync.aligned.row.m8n32k16.s8 {{r}}, [{address}], 16;"
    )
    verdict = specification.judge("9.5", "sm_90a").judge(text)
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (".sync.aligned.aligned.", "qualifier.repeated"),
        (".sync.sync.aligned.", None),
        (".sync.aligned.m64n8k16.", "qualifier.repeated"),
    ],
)
def test_repeated_qualifiers(specification: Specification, wrong: str, code: str | None) -> None:
    """ptxas: `Multiple .aligned modifiers specified`; it takes .sync as often as one likes."""
    text = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a,b,c,d}, x, y, p, 1, 1, 0, 0;"
    verdict = specification.judge("9.5", "sm_90a").judge(text.replace(".sync.aligned.", wrong, 1))
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("wgmma.wait_group.sync.aligned -1;", "operand.range"),
        ("wgmma.wait_group.sync.aligned 4294967296;", None),
        ("wgmma.wait_group.sync.aligned 18446744073709551615;", "operand.range"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a,b,c,d}, x, y, 2, 1, 1, 0, 0;", "operand.range"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a,b,c,d}, x, y, !0, 1, 1, 0, 0;", None),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a,b,c,d}, x, _, p, 1, 1, 0, 0;", "operand.kind"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a,b,c,1.0}, x, y, p, 1, 1, 0, 0;", "operand.literal"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {_,_,_,_}, {a,b,c,d}, {a,b}, {e,f,g,h};", "operand.vector"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a,_,b,_}, {a,7,c,d}, {a,b}, {e,f,g,h};", None),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a,b,c,d}, {a,b,c,d}, {a,b}, {0f00000000,0f00000000,0f00000000,0f00000000};", None),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a,b,c,d}, {a,b,c,d}, {a,b}, {0,0,0,0};", "operand.vector"),
        ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {a,b}, {a,b,c,d}, {a,b}, {0,0};", "operand.vector"),
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {a,b,c,d}, {a,b,c,d}, {a,b}, {0,0,0,0};", None),
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {a,b,c,d}, {0,0,0,0}, {a,b}, {a,b,c,d};", "operand.vector"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a,b,c,d}, {a,_,c,d}, {a,b}, {e,f,g,h};", "operand.sink"),
        ("wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32 {a,b,c,d,e,f,g,_}, {a,b,c,d}, {a,b,c,d}, {a,b,c,d,e,f,g,h};", "operand.sink"),
        ("wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32 {a,b,c,d,e,f,g,h}, {a,b,c,0}, {a,b,c,1.0}, {a,b,c,d,e,f,g,h};", "operand.literal"),
        ("wmma.mma.sync.aligned.row.row.m16n16k16.s32.s8.s8.s32 {a,b,c,d,e,f,g,_}, {a,0}, {a,b}, {a,b,c,d,e,f,g,h};", None),
        ("wmma.store.d.sync.aligned.row.m8n8k32.s32 [p], {a, 0};", None),
        ("wmma.store.d.sync.aligned.row.m8n8k32.s32 [p], {a, 1.0};", "operand.literal"),
        (".reg .b32 q; @q wgmma.fence.sync.aligned;", "guard.type"),
        (".reg .pred q; @!q wgmma.fence.sync.aligned;", None),
    ],
)  # fmt: skip
def test_literals_sinks_and_guards(specification: Specification, statement: str, code: str | None) -> None:
    verdict = specification.judge("9.5", "sm_90a").judge(statement)
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])


def test_each_unknown_shape_is_named_by_itself() -> None:
    said = [
        ptxmma.legal(f"tcgen05.alloc.cta_group::1.sync.{shape}.aligned.shared::cta.b32 [a], 32;").reasons[0]
        for shape in ("m8n8k1", "m9n9", "m8n8k1")
    ]
    assert [reason.message for reason in said] == [
        f"there is no qualifier .{shape} here" for shape in ("m8n8k1", "m9n9", "m8n8k1")
    ]


def test_two_shapes_are_named_as_they_stand() -> None:
    for first, other in (("m64n8k16", "m64n16k16"), ("m64n24k16", "m64n16k16")):
        said = ptxmma.legal(f"wgmma.mma_async.sync.aligned.{first}.{other}.f32.f16.f16 d;").reasons[0].message
        assert said.startswith(f"shape is .{other}.{first};")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"wgmma.wait_group.sync.aligned {'1' * 5_000};", "does not fit in the 64 bits"),
        (f".reg .b32 %r<{'1' * 5_000}>; wgmma.fence.sync.aligned;", "a number of 5000 digits of registers"),
    ],
)
def test_numbers_of_thousands_of_digits_are_refused_in_a_sentence(text: str, said: str) -> None:
    assert said in ptxmma.legal(text).reasons[0].message

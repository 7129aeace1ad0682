"""What is suggested is legal where the question was asked: a wrong suggestion costs more than none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

import pytest

from ptxmma.assemblers.universe import Universe
from ptxmma.spec.legality import ILLEGAL, LEGAL, Judge, Verdict
from ptxmma.spec.model import Form
from ptxmma.spec.operand_rules import written
from ptxmma.spec.specification import Specification
from ptxmma.spec.statements import Statement, read_statement
from ptxmma.spec.variants import Variant

Run = Callable[..., tuple[int, str, str]]
SETTINGS = [
    ("6.2", "sm_70"), ("6.3", "sm_72"), ("6.5", "sm_75"), ("7.0", "sm_80"), ("7.8", "sm_90"), ("8.0", "sm_90a"),
    ("8.3", "sm_90a"), ("8.4", "sm_89"), ("8.6", "sm_100a"), ("8.7", "sm_120a"), ("8.8", "sm_101f"),
    ("9.0", "sm_101a"), ("9.0", "sm_110a"), ("9.3", "sm_107a"), ("9.5", "sm_103f"), ("9.5", "sm_53"),
]  # fmt: skip


def spoilt(mnemonics: list[str], words: list[str], chance: Random) -> Iterator[str]:
    """Mnemonics with one token lost, doubled, misspelled or in place of another."""
    for mnemonic in chance.sample(mnemonics, 25):
        tokens = mnemonic.split(".")
        place = chance.randrange(1, len(tokens))
        token = tokens[place]
        yield ".".join([*tokens[:place], *tokens[place + 1 :]])
        yield ".".join([*tokens[:place], chance.choice(words), *tokens[place + 1 :]])
        yield ".".join([*tokens[:place], token[:-1] + chance.choice("0x7a"), *tokens[place + 1 :]])
        yield mnemonic


def operands_of(variant: Variant, form: Form) -> str:
    return ", ".join(written(variant, name) for name in form.operands)


def words_of(variant: Variant) -> set[str]:
    return set(variant.mnemonic.split("."))


@pytest.mark.parametrize(("ptx", "target"), SETTINGS)
def test_every_suggestion_is_legal(specification: Specification, ptx: str, target: str) -> None:
    chance = Random(f"{ptx} {target}")
    families = specification.families.values()
    variants = [variant for family in families for variant in family.variants()]
    words = sorted({word for variant in variants for word in words_of(variant)} - {""})
    judge, universe, version = (
        specification.judge(ptx, target),
        Universe(specification),
        specification.isa.version(ptx),
    )
    taken = {v.mnemonic: v for v in variants if v.gate.opens(version, target)}
    opened = {name: v for name, v in taken.items() if not v.row.row.tolerated}
    suggested = 0
    for mnemonic in spoilt([variant.mnemonic for variant in variants], words, chance):
        verdict = judge.judge(f"{mnemonic};")
        for reason in verdict.reasons:
            check_reason(specification, judge, verdict, reason.message, opened)
        text = judge.suggest(Statement(None, mnemonic, "", {}))
        if text is None:
            continue
        suggested += 1
        spelled, _, operands = text.removesuffix(";").partition(" ")
        # It is one that the version and the target have; the text has it too, or else it was asked about.
        variant = taken[spelled] if spelled == mnemonic else opened[spelled]
        (form,) = (form for form in variant.forms if operands_of(variant, form) == operands)
        written = universe.write(variant, form).text
        assert judge.judge(written).verdict == LEGAL, written
    assert suggested or not opened


def check_reason(
    specification: Specification, judge: Judge, verdict: Verdict, message: str, opened: dict[str, Variant]
) -> None:
    """Everything that a reason names as right stands in a form that is open."""
    # A reason about the gate says that nothing of this name is open; the others say what would be right where it is.
    shut = any(reason.code.startswith("gate.") for reason in verdict.reasons)
    if (found := re.search(r"did you mean \.([\w:]+)\?", message)) and not shut:
        assert any(found[1] in words_of(variant) for variant in opened.values()), message
    if found := re.search(r"it needs one of (.*)$", message):
        for name in found[1].split(", "):
            since = specification.index.targets[name].since
            assert since <= judge.ptx or verdict.variant is None or verdict.variant.gate.since > judge.ptx
    if (found := re.search(r"; allowed: ([^…]*)$", message)) and not shut:
        spelled = {word for variant in opened.values() for word in words_of(variant)}
        for option in found[1].split(", "):
            assert set(option.removeprefix(".").split(".")) <= spelled, (message, option)
    if found := re.search(r"the nearest that it has is (\S+)$", message):
        assert any(name.startswith(found[1]) for name in opened), message


def test_another_type_is_not_suggested(specification: Specification) -> None:
    """.u8.s8 came with PTX ISA 8.4; .u8.u8 is legal before, but another product."""
    judge = specification.judge("8.3", "sm_90a")
    text = "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {a,b,c,d}, x, y, p;"
    assert judge.judge(text).verdict == ILLEGAL
    assert judge.suggest(read_statement(text)) is None
    text = "wmma.mma.sync.row.col.m16n16k16.f32.f32 {a}, {b}, {c}, {d};"
    later = specification.judge("6.3", "sm_70").suggest(read_statement(text))
    assert later == (
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 "
        "{d0, d1, d2, d3, d4, d5, d6, d7}, {a0, a1, a2, a3, a4, a5, a6, a7}, "
        "{b0, b1, b2, b3, b4, b5, b6, b7}, {c0, c1, c2, c3, c4, c5, c6, c7};"
    )


@pytest.mark.parametrize("written", ["sm_71", "sm_91a", "sm_1", "sm_", "", "gfx90a", "sm_900"])
def test_an_unknown_target_is_not_guessed(run: Run, written: str) -> None:
    code, _, err = run("legal", "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;", "--target", written)
    assert code == 2 and "did you mean" not in err


@pytest.mark.parametrize("written", ["sm90a", "SM_90A", "90a", "compute_90a", ".target sm_90a", "sm-90a"])
def test_a_target_written_otherwise_is_named(run: Run, written: str) -> None:
    code, _, err = run("legal", "wgmma.fence.sync.aligned;", "--target", written)
    assert code == 2 and err.endswith("did you mean sm_90a?\n")


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a,b,c,d}, {a,b,c,d}, {a,b}, {a,b,c,d};"


@pytest.mark.parametrize("suffix", ["", "f", "a"])
def test_9_0_renamed_sm_101(run: Run, suffix: str) -> None:
    """As every tcgen05 instruction of the manual has it: sm_101a (Renamed to sm_110a from PTX ISA version 9.0)."""
    old, new = f"sm_101{suffix}", f"sm_110{suffix}"
    code, out, _ = run("legal", MMA, "--ptx", "9.0", "--target", old)
    assert code == 0 and f"note: {old} is renamed {new} since PTX ISA 9.0" in out
    code, out, _ = run("legal", MMA, "--ptx", "8.8", "--target", new)
    assert code == 1 and f"note: {new} is the name since PTX ISA 9.0; before, it is {old}" in out
    for ptx, target in (("8.8", old), ("9.0", new), ("8.5", new)):
        assert "note" not in run("legal", MMA, "--ptx", ptx, "--target", target)[1]


F16 = "mma.sync.aligned{}.row.col.f32.f16.f16.f32 {{a,b,c,d}}, {{a,b,c,d}}, {{a,b}}, {{a,b,c,d}};"


@pytest.mark.parametrize(
    ("shape", "near"), [(".m16n8k15", "m16n8k16"), (".m16n8k7", "m16n8k8"), (".m8n8k5", "m8n8k4")]
)
def test_the_nearest_shape_of_rows_that_are_equally_near(run: Run, shape: str, near: str) -> None:
    """9.7.14.5.1: .f16 has m8n8k4, m16n8k8 and m16n8k16."""
    code, out, _ = run("legal", F16.format(shape))
    assert code == 1
    assert f"the shape {shape} does not exist here; allowed: .m8n8k4, .m16n8k8, .m16n8k16\n" in out
    assert f"nearest legal form: mma.sync.aligned.{near}.row.col.f32.f16.f16.f32 " in out


def test_a_shape_that_is_left_out(run: Run) -> None:
    out = run("legal", F16.format(""))[1]
    assert "no shape is given; allowed: .m8n8k4, .m16n8k8, .m16n8k16\n" in out
    # Only m8n8k4 has row-major B.
    assert "allowed: .m8n8k4\n" in run("legal", F16.format(".m16n8k15").replace(".col", ".row"))[1]


def test_a_suggestion_is_written_as_it_must_be(run: Run) -> None:
    """What it shows in place of `d, a, b, c` is legal as it stands."""
    written = run("legal", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c;")[1]
    assert run("legal", written.split("nearest legal form: ")[1])[0] == 0
    written = run("legal", "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {d}, p;")[1]
    assert "operand.length: d has 1 register; it must have 2\n" in written
    assert run("legal", written.split("nearest legal form: ")[1])[0] == 0
    wide = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16;"
    assert "{d0, d1, …, d127}, a-desc, b-desc, scale-d, " in run("legal", wide)[1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "column 1: there is no statement; one ends with ';'"),
        ("// nothing", "column 1: there is no statement; one ends with ';'"),
        (".reg .b32 a;", "column 13: there is no statement behind the declarations; one ends with ';'"),
        (";", "column 1: no instruction name"),
        ("wgmma.fence.sync.aligned; /* x", "column 27: a comment begins with '/*' and does not end"),
        ("wgmma.fence.sync.aligned x;", "1 operand is given; none belongs here"),
        ("wgmma.wait_group.sync.aligned;", "0 operands are given; 1 belongs here: n"),
    ],
)
def test_what_is_wrong_with_a_statement(specification: Specification, text: str, says: str) -> None:
    (reason,) = specification.judge("9.5", "sm_90a").judge(text).reasons
    assert reason.message == says

"""Inline assembly that is pasted: the scripts read it as `ptxmma check --cuda` does, and judge it as `legal` does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ptxmma.atlas.legality_data import legality_data
from ptxmma.atlas.sections.home import JUDGE
from ptxmma.check.cuda.asm_statements import read_source
from ptxmma.check.cuda.check_source import _asked
from ptxmma.check.cuda.nvcc import nvcc
from ptxmma.check.cuda.verdicts import read_asm
from ptxmma.cli.legal_command import _suggest, as_json
from ptxmma.spec.api import judge
from ptxmma.spec.nodes import Version
from ptxmma.spec.specification import Specification

from .in_node import in_node

_BODY = """
const judge = new ptxmma.legality.Specification(ptxmma.data.legality).judge(given.ptx, given.target);
const { constraints } = ptxmma.data.inline;
return given.texts.map((text) => ptxmma.inlineAsm.answers(judge, text, constraints));
"""
MMA = """asm volatile(
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
    "{%0,  %1,  %2,  %3},"  // D
    "{%4,  %5,  %6,  %7},"
    "{%8,  %9},"
    "{%10, %11, %12, %13};\\n"
    : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
    :  "r"(a0),  "r"(a1),  "r"(a2),  "r"(a3), "r"(b0),  "r"(b1), "f"(c0),  "f"(c1),  "f"(c2),  "f"(c3));"""
WGMMA = """asm volatile("{\\n"
    ".reg .pred p;\\n"
    "setp.ne.b32 p, %6, 0;\\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
    "{%0, %1, %2, %3}, %4, %5, p, %7, %8, %9, %10;\\n"
    "}\\n"
    : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
    : "l"(desc_a), "l"(desc_b), "r"(int32_t(scale_D)), "n"(int32_t(scaleA)), "n"(-1), "n"(int32_t(tnspA)), "n"(0));"""
FENCE = 'asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory");'
NAMED = (
    'asm("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%[x], %[y]}, [%2];" : [x] "=r"(x), [y]"=r"(y) : "r"(p));'
)
RAW = 'asm(R"(ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];)" : "=r"(x) : "r"(p));'
PREDICATED = 'asm volatile("@%%p0 wgmma.commit_group.sync.aligned;\\n" ::);'
TEXTS = (
    MMA,
    WGMMA,
    FENCE,
    NAMED,
    RAW,
    PREDICATED,
    MMA.replace("m16n8k16", "m16n8k17"),
    MMA.replace("{%8,  %9},", "{%8},"),
    MMA.replace('"f"(c3)', '"r"(c3)'),
    MMA.replace('%13};\\n"', '%13}\\n"'),
    MMA + FENCE,
    WGMMA.replace('"n"(-1)', '"n"(2)'),
    WGMMA.replace("p, %7", "p, p, %7"),
    WGMMA.replace('"l"(desc_b)', '"r"(desc_b)'),
    FENCE.replace("aligned", "alinged"),
    FENCE.replace("fence", "f\\x65nce").replace(";\\n", "\\073"),
    "void f() { " + FENCE.replace("volatile", "__volatile__") + " }  // a comment",
    NAMED.replace("=r", "=h"),
)  # fmt: skip


def in_scripts(specification: Specification, texts: Sequence[str], ptx: str, target: str) -> list[Any]:
    data = {"legality": legality_data(specification), "inline": {"constraints": nvcc().constraints}}
    given = {"texts": texts, "ptx": ptx, "target": target}
    found: list[Any] = in_node((*JUDGE, "inline_asm"), data, given, _BODY)
    return found


@pytest.mark.parametrize(("ptx", "target"), [("", ""), ("8.3", "sm_90a"), ("7.0", "sm_80")])
def test_statements_are_judged_as_check_judges_them(
    specification: Specification, ptx: str, target: str
) -> None:
    asked = _asked(ptx or None, target or None)
    seen = set()
    for text, answers in zip(TEXTS, in_scripts(specification, TEXTS, ptx, target), strict=True):
        (*every,) = (
            statement
            for asm in read_source(text).statements
            for statement in read_asm(asm, asked.operations, asked.known, lambda gate: True).statements
        )
        assert len(every) == len(answers), text
        for mine, other in zip(every, answers, strict=True):
            rules = {fault.rule.removeprefix("legality.") for fault in mine.faults}
            codes = {one["code"] for one in other["reasons"] if not one["code"].startswith("gate.")}
            assert rules == codes, (text, rules, codes)
            gated = any(one["code"].startswith("gate.") for one in other["reasons"])
            shut = target and mine.gate and not mine.gate.opens(Version.of(ptx), target)
            assert other["row"] is None or gated == bool(shut), text
            seen |= {other["verdict"], *codes}
    assert seen >= {"legal", "illegal", "operand.type", "operand.length", "operand.count", "operand.range"}


def test_the_answer_is_that_of_legal_on_the_statement_with_its_types(specification: Specification) -> None:
    declared = "".join(f".reg .f32 %{n}; " for n in (0, 1, 2, 3, 10, 11, 12, 13))
    declared += "".join(f".reg .b32 %{n}; " for n in range(4, 10))
    for name in ("m16n8k16", "m16n8k17"):
        (found,) = in_scripts(specification, [MMA.replace("m16n8k16", name)], "8.3", "sm_80")[0]
        text = (
            f"{declared}mma.sync.aligned.{name}.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"
        )
        asked = judge("8.3", "sm_80")
        verdict = asked.judge(text)
        wanted = as_json(verdict, _suggest(asked, text) if verdict.verdict != "legal" else None)
        assert {key: found[key] for key in wanted} == json.loads(json.dumps(wanted))


def test_strings_alone_macros_and_open_numbers(specification: Specification) -> None:
    alone = '"wgmma.wait_group.sync"\n".aligned %0;\\n"'
    macro = 'asm volatile("mma.sync.aligned." SHAPE ".row.col.f32.f16.f16.f32 {%0};" : "=f"(x));'
    other = 'printf("nothing");'
    answers = in_scripts(specification, [alone, macro, WGMMA, other, '"'], "", "")
    assert answers[0][0]["statement"] == "wgmma.wait_group.sync.aligned %0;"
    assert answers[1][0]["why"].startswith("A macro spells a part of it")
    assert answers[2][0]["verdict"] == "legal" and ", p, …, -1, …, 0;" in answers[2][0]["statement"]
    assert answers[3][0]["verdict"] == "unknown" and answers[4] == []


def test_open_numbers_take_what_their_operands_allow(specification: Specification) -> None:
    """The selector of 8-bit types must be 0, which most numbers need not be."""
    text = (
        'asm("wgmma.mma_async.sp.sync.aligned.m64n8k64.f16.e4m3.e4m3 {%0, %1}, %2, %3, %4, %5, p, %6, %7;"'
        ' : "+r"(a), "+r"(b) : "l"(x), "l"(y), "r"(e), "n"(sel), "n"(sa), "n"(sb));'
    )
    (answer,), (guarded,) = in_scripts(specification, [text, PREDICATED], "", "")
    assert answer["verdict"] == "legal"
    assert guarded["statement"] == "@%p0 wgmma.commit_group.sync.aligned;"

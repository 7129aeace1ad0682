"""Verdicts on inline assembly: every kind of planted fault is found, and what is right is not accused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxmma.check.check_file import FileReport
from ptxmma.check.cuda.check_source import check_source
from ptxmma.check.cuda.counts import InlineCounts

MMA = """asm volatile(
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
    "{%0,  %1,  %2,  %3},"
    "{%4,  %5,  %6,  %7},"
    "{%8,  %9},"
    "{%10, %11, %12, %13};\\n"
    : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
    :  "r"(a0),  "r"(a1),  "r"(a2),  "r"(a3),
       "r"(b0),  "r"(b1),
       "f"(c0),  "f"(c1),  "f"(c2),  "f"(c3));
"""
WGMMA = """asm volatile(
    "{\\n"
    ".reg .pred p;\\n"
    "setp.ne.b32 p, %6, 0;\\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
    "{%0, %1, %2, %3}, %4, %5, p, %7, %8, %9, %10;\\n"
    "}\\n"
    : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
    : "l"(desc_a), "l"(desc_b), "r"(int32_t(scale_D)), "n"(int32_t(scaleA)), "n"(int32_t(scaleB)),
      "n"(int32_t(tnspA)), "n"(int32_t(tnspB)));
"""
LDMATRIX = 'asm("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(p));'
TCGEN05 = """if (elect()) asm volatile("{\\n\\t.reg .pred p;\\n\\tsetp.ne.b32 p, %4, 0;\\n\\t"
   "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, {%5, %6, %7, %8}, p; \\n\\t}\\n"
   :: "r"(c), "l"(a), "l"(b), "r"(i), "r"(s), "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]));"""


def check(text: str) -> FileReport:
    report = check_source(text, "x.cu")
    assert not report.faults, report.faults
    return report


def rules(text: str) -> list[str]:
    return [finding.rule for finding in check(text).findings]


def counts(text: str) -> InlineCounts:
    found = check(text).inline
    assert found is not None
    return found


@pytest.mark.parametrize("text", [MMA, WGMMA, LDMATRIX, TCGEN05], ids=["mma", "wgmma", "ldmatrix", "tcgen05"])
def test_what_is_right_passes(text: str) -> None:
    assert rules(text) == []
    assert counts(text).statements == 1


def test_counts() -> None:
    assert counts(MMA) == InlineCounts(asm=1, legal=1)
    assert counts(WGMMA) == InlineCounts(asm=1, holed=1)  # the compiler knows the immediates
    assert counts(MMA.replace("k16", "k17")) == InlineCounts(asm=1, illegal=1)
    assert counts('asm("bar.sync 0;");') == InlineCounts(asm=1)


@pytest.mark.parametrize(
    ("text", "old", "new", "rule"),
    [
        (MMA, '"r"(a3)', '"l"(a3)', "legality.operand.type"),
        (MMA, '"f"(c3)', '"d"(c3)', "legality.operand.type"),
        (MMA, '"=f"(d0)', '"=h"(d0)', "legality.operand.type"),
        (MMA, '"r"(a3)', '"f"(a3)', "inline.constraint"),  # .b32 for sm_100 and later, .f32 before
        (LDMATRIX, '"r"(p)', '"n"(16)', "legality.operand.address"),
        (MMA, '"r"(a3)', '"w"(a3)', "inline.constraint"),
        (MMA, '"r"(a3)', '"=r"(a3)', "inline.constraint"),
        (MMA, '"=f"(d3)', '"f"(d3)', "inline.constraint"),
        (MMA, '"f"(c0),  "f"(c1),  "f"(c2),  "f"(c3)', '"f"(c0)', "inline.operand-number"),
        (MMA, "{%8,  %9},", "", "legality.operand.count"),
        (MMA, "%6,  %7}", "%6}", "legality.operand.length"),
        (MMA, "{%10, %11, %12, %13}", "{%0, %1, %2, %3}", "inline.output-read"),
        (MMA, "{%0,  %1,  %2,  %3}", "{%10, %11, %12, %13}", "inline.input-written"),
        (MMA, "f32.f16.f16.f32", "f32.f16.f16.f16", "legality.qualifier.combination"),
        (MMA, ";\\n", "", "inline.semicolon"),
        (WGMMA, ", %10;", ";", "legality.operand.count"),
        (WGMMA, '"n"(int32_t(scaleA))', '"r"(scaleA)', "legality.operand.kind"),
        (WGMMA, '"n"(int32_t(scaleA))', '"n"(2)', "legality.operand.range"),
        (WGMMA, '"n"(int32_t(tnspB))', '"n"(-1)', "legality.operand.range"),
        (WGMMA, ".reg .pred p", ".reg .b32 p", "legality.operand.type"),
        (WGMMA, '"l"(desc_b)', '"r"(desc_b)', "legality.operand.type"),
        (WGMMA, '"+f"(d3)', '"+d"(d3)', "legality.operand.type"),
        (WGMMA, "m64n8k16", "m64n9k16", "legality.qualifier.value"),
        (LDMATRIX, '"=r"(y) :', '"=l"(y) :', "legality.operand.type"),
        (LDMATRIX, "x2", "x3", "legality.qualifier.unknown"),
        (LDMATRIX, "{%0, %1}", "{%0, %2}", "inline.input-written"),
        (LDMATRIX, "[%2]", "[%[q]]", "inline.operand-number"),
        (TCGEN05, "%7, %8}", "%7}", "legality.operand.length"),
        (TCGEN05, '"r"(i)', '"l"(i)', "legality.operand.type"),
    ],
)
def test_every_kind_of_fault_is_found(text: str, old: str, new: str, rule: str) -> None:
    assert old in text
    assert rule in rules(text.replace(old, new, 1))


@pytest.mark.parametrize(
    "text",
    [
        MMA.replace('"=f"', '"=r"').replace('"f"', '"r"'),  # ptxas takes .b32 for f32
        MMA.replace("{%10, %11, %12, %13}", "{%0, %1, %2, %3}").replace('"=f"', '"+f"'),
        WGMMA.replace('"n"(int32_t(scaleA))', '"n"(-1)').replace('"n"(int32_t(tnspB))', '"n"(true)'),
        WGMMA.replace('"+f"', '"=f"'),  # with scale-d false D is not read
        LDMATRIX.replace("[%2]", "[%[q]]").replace('"r"(p)', '[q] "r"(p)'),
        LDMATRIX.replace('"r"(p)', '"l"(p)'),
        LDMATRIX.replace('"ldmatrix', '"// %%9 is no operand \\n L%=: ldmatrix'),
        LDMATRIX.replace('"r"(p)', '"" LETTER (p)'),
        LDMATRIX.replace('"r"(p)', "OPERANDS(p)"),
        'asm("mov.f32 %0, 0f00000000;" "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5},'
        '{%6},{%0,%0,%0,%0};" : "=f"(a),"=f"(b),"=f"(c),"=f"(d) : "r"(x),"r"(y),"r"(z));',
    ],
)
def test_what_is_right_otherwise_is_not_accused(text: str) -> None:
    assert [one for one in check(text).findings if one.tier in ("error", "likely")] == []
    assert counts(text).statements == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('#define M(T) asm("mma.sync.aligned.m16n8k16.row.col.f32." #T "." #T ".f32 {%0,%1,%2,%3},'
         '{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};" OPERANDS)', "holed"),
        ('asm("mma.sync.aligned.m16n8k16.row.col.f32." T ".f32 {%0,%1},{%4,%5,%6,%7},{%8,%9},{%10,%11};" LISTS);', "unjudged"),
        ('asm("mma.sync.aligned." SHAPE "row.col.f32.f17.f16.f32 {%0};" LISTS);', "unjudged"),
        ('asm("wgmma.wait_group.sync.aligned %0;\\n" :: "n"(N) : "memory");', "holed"),
        ('asm("ldmatrix.sync.aligned.m8n8.x%2.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(p), "n"(N));', "holed"),
        ('asm("ldmatrix.sync.aligned.m8n8.x1.shared.%2 {%0}, [%1];" : "=r"(x) : "r"(p), "C"(type));', "holed"),
        ('asm("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, " ADDRESS ";" : "=r"(x));', "holed"),
        ('asm(BEGIN "ldmatrix.sync.aligned.m8n8.x9.shared.b16 {%0}, [%1];" END : "=r"(x) : "r"(p));', "unjudged"),
        ('asm("ldmatrix.sync.aligned.m8n8"\n#pragma once\n".x1.shared.b16 {%0}, [%1];" LISTS);', "unjudged"),
    ],
)  # fmt: skip
def test_statements_with_holes_are_never_accused(text: str, kind: str) -> None:
    found = check(text)
    assert [one for one in found.findings if one.tier != "info"] == []
    assert found.inline is not None and found.inline.statements == 1
    assert getattr(found.inline, kind) == 1
    assert bool(found.not_judged) == (kind == "unjudged")


def test_a_number_out_of_range_accuses_no_open_number_beside_it() -> None:
    text = WGMMA.replace('"n"(int32_t(scaleB))', '"n"(2)')
    (finding,) = check(text).findings
    assert finding.rule == "legality.operand.range"
    assert "imm-scale-b is 2; it must be -1 or 1" in finding.message


def test_braces_around_one_register_are_not_accused() -> None:
    """ptxas takes `{%r8}` for the metadata of mma.sp; for other operands of one register nothing is said."""
    text = """asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},"
      "{%8,%9,%10,%11},{%0,%1,%2,%3},{%12},0;" : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(b2), "r"(b3), "r"(e));"""
    assert counts(text).legal == 1 and rules(text) == []
    assert counts(text.replace("{%12}", "%12")).legal == 1
    assert rules(text.replace("{%12}", "{%12, %12}")) == ["legality.operand.length"]
    text = """asm("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3},{%4},%5,1,1,1,0,0;"
      : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "l"(a), "l"(b));"""
    assert counts(text).unjudged == 1 and rules(text) == []
    assert rules(text.replace("{%4}", "{%4, %4}")) != []


def test_the_place_is_that_of_the_statement_in_the_string() -> None:
    text = (
        '\n  asm volatile("mov.b32 %0, 0;\\n\\t"\n      "  ldmatrix.sync.x9 {%0}, [%1];" : "=r"(x) : "r"(p));'
    )
    place = check(text).findings[0].place
    assert (place.line, place.column) == (3, 10)


def test_an_unknown_tensor_core_instruction_is_said() -> None:
    assert rules('asm("wgmma.nonsense.sync.aligned;");') == ["legality.unknown"]


def test_scopes_and_declarations_are_read() -> None:
    text = """asm("{ .reg .pred p; { .reg .b32 p; mov.b32 p, 1; } setp.ne.b32 p, %2, 0;"
      "@p ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1]; }" : "+r"(x) : "r"(a), "r"(s));"""
    assert rules(text) == []
    assert rules(text.replace("{ .reg .pred p;", "{ .reg .b32 p;", 1)) == ["legality.guard.type"]


def test_braces_may_be_closed_in_another_asm_statement() -> None:
    text = 'asm("{ .reg .b32 q;"); asm("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {q}, [%0]; }" :: "r"(p));'
    assert rules(text) == [] and counts(text).legal == 1


def test_text_that_is_no_ptx_is_unreadable() -> None:
    report = check_source(
        'asm("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1]; ??" : "=r"(x) : "r"(p));', "x.cu"
    )
    assert [fault.place.line for fault in report.faults] == [1]


def test_many_holes_take_no_longer() -> None:
    holes = " ".join(f'"." H{number} ".a"' for number in range(200))
    assert counts(f'asm("mma.sync.aligned" {holes} " {{%0}};" LISTS);').unjudged == 1
    holes = " ".join(f"H{number}" for number in range(200))
    assert counts(f'asm("mma.sync.aligned.m16n8k16" {holes} " {{%0}}, " OPERANDS ";" LISTS);').holed == 1


PIECES = st.sampled_from(
    ['asm volatile("', 'asm("', '"', ");", "(", ")", ":", "::", "%0", "%[x]", "%%", "{", "}", ";", "\\", "\n",
     "/*", "*/", "//", 'R"(', ')"', "#if __CUDA_ARCH__ >= 900\n", "\n#else\n", "\n#endif\n", "\n#define M(x) asm(#x ",
     '"=r"(x)', '"n"(N)', '"C"(t)', ",", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];", "mma", ".", "'",
     "wgmma.wait_group.sync.aligned 0;", ".reg .b32 q;", "@p ", "L: ", "\0", "é", "_hole_", "_number_", "\ud800"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=24))
def test_garbage_never_gives_a_traceback(pieces: list[str]) -> None:
    check_source("".join(pieces), "x.cu")


@given(st.text(alphabet='asm("{%0}, [1];":=r\\\n\t#/*x', max_size=60))
def test_nor_does_any_text(text: str) -> None:
    check_source(f"asm({text}", "x.cu")
    check_source(f'asm("mma.sync.aligned {text}', "x.cu", "8.0", "sm_80")

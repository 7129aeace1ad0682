"""ptxmma check on generated and mutated kernels: no crash, and the same verdict for every way to write a
kernel.
"""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptxmma.check.check_file import check_text
from ptxmma.gen.litmus.litmus_ptx import module
from ptxmma.gen.litmus.litmus_tests import suite
from ptxmma.spec.effects import load_effects
from ptxmma.spec.errors import PtxmmaError

FAST = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
TESTS = [test for test in suite() if len(test.program) > 3][::17]
TEXTS = [module([test.kernel]) for test in TESTS]


def verdict(text: str) -> list[tuple[str, str, str, int]]:
    """What is found, without places: rules and tiers by function."""
    report = check_text(text, "fuzz.ptx")
    assert not report.faults
    return sorted((f.function, f.tier, f.rule, f.more) for f in report.findings)


texts = st.sampled_from(TEXTS)


@FAST
@given(texts, st.randoms(use_true_random=False))
def test_renamed_registers(text: str, random: Random) -> None:
    names = sorted(set(re.findall(r"(?<=%)(?:r\d+_|word|own\d+|desc\d+)", text)))
    fresh = [f"q{i}_" for i in range(len(names))]
    random.shuffle(fresh)
    table = dict(zip(names, fresh, strict=True))
    renamed = re.sub(r"(?<=%)(?:r\d+_|word|own\d+|desc\d+)", lambda found: table[found[0]], text)
    assert verdict(renamed) == verdict(text)


@FAST
@given(texts, st.randoms(use_true_random=False))
def test_declarations_in_another_order(text: str, random: Random) -> None:
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if re.match(r"\s*\.(?:reg|shared) ", line)]
    moved = [lines[i] for i in places]
    random.shuffle(moved)
    for place, line in zip(places, moved, strict=True):
        lines[place] = line
    assert verdict("\n".join(lines)) == verdict(text)


@FAST
@given(texts, st.randoms(use_true_random=False))
def test_white_space_and_comments(text: str, random: Random) -> None:
    text = re.sub(r"//[^\n]*", "", text)
    between = [" ", "\n", "\t", " /* ; { } */ ", " // wgmma.fence.sync.aligned; \n", "\r\n"]
    written = re.sub(r"(?<=[;,{}]) (?=[%\[{\d])|(?<=;)\n", lambda _: random.choice(between), text)
    assert verdict(written) == verdict(text)


@FAST
@given(texts, st.data())
def test_a_spoilt_kernel_is_checked_or_refused(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 40))
    new = data.draw(st.text(alphabet=" \n;{}[](),.@%!:/*\"'<>=+-0123456789abfrxwgmSL\x00é", max_size=20))
    spoilt = text[:start] + new + text[start + length :]
    try:
        check_text(spoilt, "fuzz.ptx")
    except PtxmmaError as error:
        assert "fuzz.ptx" in str(error)


@FAST
@given(texts, st.data())
def test_lines_lost_doubled_or_moved(text: str, data: st.DataObject) -> None:
    lines = text.split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        at, to = data.draw(st.integers(0, len(lines) - 1)), data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.sampled_from(["lose", "double", "move"])):
            case "lose" if len(lines) > 1:
                del lines[at]
            case "double":
                lines.insert(to, lines[at])
            case "move":
                lines.insert(to, lines.pop(at))
    try:
        check_text("\n".join(lines), "fuzz.ptx")
    except PtxmmaError as error:
        assert "fuzz.ptx" in str(error)


OPERANDS = st.sampled_from(
    [
        "%r1",
        "%f1",
        "%p1",
        "!%p1",
        "%p1|%p2",
        "%rd1",
        "{%f0,%f1,%f2,%f3}",
        "{}",
        "[%rd1]",
        "[%rd1+4]",
        "[]",
        "1",
        "-1",
        "0x",
        "0f00000000",
        "tile",
        "_",
        "%tid.x",
        "(%r1)",
        "L",
    ]
)
# Every opcode that spec/effects.yaml knows, with qualifiers that may or may not belong to it.
EFFECTS = load_effects()
KNOWN = [name for row in (*EFFECTS.results, *EFFECTS.effects, EFFECTS.calls) for name in row]
QUALIFIERS = [
    "",
    ".b32",
    ".u64",
    ".s64",
    ".f32",
    ".pred",
    ".lt.u32",
    ".wide.u32",
    ".sync.b32",
    ".shared.b32",
    ".u64.u32",
]
OPCODES = st.one_of(
    st.builds(str.__add__, st.sampled_from(KNOWN), st.sampled_from(QUALIFIERS)),
    st.sampled_from(
        [
            "wgmma.fence.sync.aligned",
            "wgmma.commit_group.sync.aligned",
            "wgmma.wait_group.sync.aligned",
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
            "cp.async.cg.shared.global",
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            "wmma.load.a.sync.aligned.row.m16n16k16.f16",
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
            "tcgen05.mma",
            "frobnicate",
        ]
    ),
)
# What asks for the value of a register: whatever was computed before it is looked at.
ASKING = [
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%rd1];",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd1, %p1, 1, 1, 0, 0;",
]
STATEMENTS = st.one_of(
    st.builds(
        lambda guard, opcode, operands: f"{guard}{opcode} {', '.join(operands)};",
        st.sampled_from(["", "@%p1 ", "@!%p1 "]),
        OPCODES,
        st.lists(OPERANDS, max_size=6),
    ),
    st.builds("{} {};".format, OPCODES, st.sampled_from(["%rd1", "%rd1, %rd1", "%rd1, L", "%p1, %rd1"])),
    st.sampled_from(["{", "}", "L:", ".reg .b32 %r1;", "M:", ";", "bra L;", "@%p1 bra M;"]),
)


@settings(FAST, max_examples=150)
@given(st.lists(STATEMENTS, max_size=25))
def test_statements_at_random(statements: list[str]) -> None:
    text = (
        ".version 8.5\n.target sm_90a\n.shared .align 16 .b8 tile[64];\n.visible .entry k()\n{\n"
        ".reg .b32 %r<4>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<4>;\n.reg .pred %p<4>;\n"
        + "\n".join([*statements, *ASKING])
        + "\n}\n"
    )
    try:
        check_text(text, "fuzz.ptx")
    except PtxmmaError as error:
        assert "fuzz.ptx" in str(error)


@pytest.mark.parametrize("opcode", KNOWN)
def test_every_opcode_with_too_few_operands(opcode: str) -> None:
    head = ".version 8.5\n.target sm_90a\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<4>;\n.reg .pred %p<4>;\n"
    for qualifier in QUALIFIERS:
        for operands in ("", "%rd1", "%rd1, %rd2", "%p1", "%rd1, L", "%rd1|%p1, %r1"):
            lines = [f"{opcode}{qualifier} {operands};", *ASKING]
            try:
                check_text(head + "\n".join(lines) + "\n}\n", "few.ptx")
            except PtxmmaError as error:
                assert "few.ptx" in str(error)


COPIED = next(text for text in map(module, ([test.kernel] for test in suite())) if "cp.async.bulk.s" in text)
LINES = [line for line in dict.fromkeys(COPIED.splitlines()) if re.match(r"    [@a-z][^.].*,.*;$", line)]


@pytest.mark.parametrize("line", LINES, ids=str.strip)
def test_a_statement_without_its_last_operand(line: str) -> None:
    """In a kernel with copies, mbarriers and products: `check` comes to its end."""
    check_text(COPIED.replace(line, line.rpartition(",")[0] + ";"), "few.ptx")


@pytest.mark.parametrize("deep", [2000, 20000])
def test_deep_nesting_is_no_trouble(deep: int) -> None:
    text = (
        ".version 8.5\n.target sm_90a\n.visible .entry k()\n{\n"
        + "{" * deep
        + "wgmma.fence.sync.aligned;"
        + "}" * deep
        + "}"
    )
    check_text(text, "fuzz.ptx")

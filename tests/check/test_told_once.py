"""How findings read: each fault once, names demangled, source lines, schedules side by side, fingerprints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ptxmma.check.baseline import fingerprint
from ptxmma.check.check_file import check_text
from ptxmma.check.findings import Finding
from ptxmma.check.kernel_names import demangled, readable, template_of
from ptxmma.check.reports import CheckReport, as_github, as_json, as_text

HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n"
KERNEL = """.visible .entry NAME(.param .u64 out)
.reqntid 128, 1, 1
{
.reg .f32 %f<9>; .reg .b64 %rd<9>;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
st.global.f32 [%rd3], %f0;
wgmma.wait_group.sync.aligned 0;
ret;
}
"""
FIRST, SECOND, OTHER = "_Z4gemmILi128EEvPf", "_Z4gemmILi256EEvPf", "_Z5otherILi128EEvPf"


def errors(text: str) -> list[dict[str, object]]:
    answer = as_json(CheckReport((check_text(text, "k.ptx"),)))
    return [found for found in answer["files"][0]["findings"] if found["tier"] == "error"]


def test_two_instances_of_a_template_are_told_once() -> None:
    text = HEAD + KERNEL.replace("NAME", FIRST) + KERNEL.replace("NAME", SECOND)
    (found,) = errors(text)
    assert found["name"] == "void gemm<128>(float*)" and found["line"] == 11
    assert found["also"] == [{"line": 22, "column": 1, "function": SECOND}]
    shown = as_text(CheckReport((check_text(text, "k.ptx"),)), frozenset({"error"}))
    assert "also in 1 other place: line 22; 2 functions in all" in shown and "1 error" in shown


def test_other_kernels_and_other_code_are_told_apart() -> None:
    assert len(errors(HEAD + KERNEL.replace("NAME", FIRST) + KERNEL.replace("NAME", OTHER))) == 2
    code = KERNEL.replace("NAME", SECOND).replace("%rd3], %f0", "%rd3], %f1")
    assert len(errors(HEAD + KERNEL.replace("NAME", FIRST) + code)) == 2
    twice = KERNEL.replace("NAME", FIRST).replace("st.global", "st.global.f32 [%rd3], %f0;\nst.global")
    assert len(errors(HEAD + twice)) == len(errors(HEAD + twice.replace("gemm", "gemn")))


def test_a_source_line_is_told_once() -> None:
    lines = '.file 1 "gemm.cu"\n.file 2 "mma.cuh"\n'
    located = KERNEL.replace("st.global", ".loc 2 7 3, function_name $L, inlined_at 1 40 5\nst.global")
    (found,) = errors(HEAD + lines + located.replace("NAME", FIRST) + located.replace("NAME", OTHER))
    assert found["source"] == "mma.cuh:7, inlined at gemm.cu:40"
    assert found["also"] == [{"line": 26, "column": 1, "function": OTHER}]
    assert errors(HEAD + KERNEL.replace("NAME", FIRST))[0]["source"] is None


def test_a_line_of_another_function_is_not_the_source() -> None:
    text = (
        HEAD
        + KERNEL.replace("NAME", FIRST).replace("ret;", ".loc 1 9 1\nret;")
        + KERNEL.replace("NAME", OTHER)
    )
    assert {found["source"] for found in errors(text)} == {None}


def test_schedules_stand_side_by_side() -> None:
    report = check_text(HEAD + KERNEL.replace("NAME", "k"), "k.ptx")
    lines = as_text(CheckReport((report,)), frozenset({"error"})).splitlines()
    rows = [line for line in lines if "  | " in line]
    assert len(rows) >= 4 and "schedule 1:" in rows[0] and "schedule 2:" in rows[0]
    assert len({line.index("  | ") for line in rows}) == 1


def renumbered(text: str) -> str:
    """A file whose compiler counts registers otherwise."""
    shifted = re.sub(r"%(f|rd)(\d)\b", lambda found: f"%{found[1]}{int(found[2]) + 20}", text)
    return re.sub(r"<9>", "<40>", shifted)


def test_a_fingerprint_survives_lines_and_register_numbers() -> None:
    text = HEAD + KERNEL.replace("NAME", "k")
    (first,), (second,) = errors(text), errors(renumbered("\n\n" + text))
    assert first["fingerprint"] == second["fingerprint"] and first["line"] != second["line"]
    (other,) = errors(text.replace("%rd3], %f0", "%rd3], %f1"))
    assert other["fingerprint"] != first["fingerprint"]
    report = check_text(text, "k.ptx")
    assert fingerprint("k.ptx", report.findings[0]) != fingerprint("other.ptx", report.findings[0])


@pytest.mark.parametrize(
    ("name", "shown", "template"),
    [
        ("kernel", "kernel", "kernel"),
        ("_Znonsense", "_Znonsense", "_Znonsense"),
        ("_ZN1a1bEv", "a::b()", "a::b"),
        (FIRST, "void gemm<128>(float*)", "void gemm"),
        ("_ZN1a4smemE", "a::smem", "a::smem"),
        ("_ZZ4tilePfE4smem", "tile(float*)::smem", "tile"),
        ("_ZZ4tilePfE5smem", "_ZZ4tilePfE5smem", "_ZZ4tilePfE5smem"),  # four characters are not five
        ("_Z13fwd_attend_kerILi128ELb0EEv11fwd_globalsIXT_EE", None, None),  # expressions are not read
    ],
)
def test_names_are_demangled(name: str, shown: str | None, template: str | None) -> None:
    assert demangled(name) == (name if shown is None else shown)
    assert template_of(name) == (name if template is None else template)


def test_names_of_variables_are_demangled_in_sentences() -> None:
    case = "m11_descriptor_8.ptx"
    report = CheckReport((check_text((Path(__file__).parent / "cases" / case).read_text(), case),))
    assert "the matrix begins at byte 8 of tile_wgmma::smem, not" in as_text(report, frozenset({"error"}))
    assert "of tile_wgmma::smem, not" in as_github(report, frozenset({"error"}))
    assert "of _ZZ10tile_wgmmaE4smem, not" in json.dumps(as_json(report))


def test_what_is_not_judged_names_a_kernel_as_people_do() -> None:
    assert readable("barriers of _ZN1a1bEv: %_Zr1 is unknown") == "barriers of a::b(): %_Zr1 is unknown"


def test_a_long_name_is_cut_in_text_alone() -> None:
    long = "_Z4gemmI" + "Li128E" * 60 + "EvPf"
    report = CheckReport((check_text(HEAD + KERNEL.replace("NAME", long), "k.ptx"),))
    shown = as_text(report, frozenset({"error"})).splitlines()[1]
    assert len(shown) < 200 and shown.endswith("…")
    assert len(json.dumps(as_json(report))) > len(long)
    assert Path(as_json(report)["files"][0]["file"]).name == "k.ptx"


# Warp 4 copies two matrices, each under a condition, and arrives; a warpgroup waits and multiplies each of them.
GATHERED = """.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in, .param .u32 n)
.reqntid 160, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<16>; .reg .pred %p<16>; .reg .b32 %r<16>;
ld.param.u64 %d2, [in]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, smem;
shr.u32 %r3, %r2, 4; and.b32 %r3, %r3, 16383; cvt.u64.u32 %d3, %r3; or.b64 %d0, %d3, 0x4000004000010000;
add.s64 %d1, %d0, 1024; add.s64 %d4, %d0, 2048;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra NI;
mbarrier.init.shared::cta.b64 [smem+65536], 32;
NI:
bar.sync 0;
setp.lt.u32 %p2, %r1, 128;
@%p2 bra C;
sub.u32 %r5, %r1, 128; shl.b32 %r6, %r5, 6; add.u32 %r7, %r2, %r6;
setp.lt.u32 %p3, %r0, 4;
@%p3 bra F0;
cp.async.cg.shared.global [%r7], [%d2], 16;
F0:
setp.lt.u32 %p4, %r0, 5;
@%p4 bra F1;
cp.async.cg.shared.global [%r7+32768], [%d2], 16;
F1:
cp.async.mbarrier.arrive.noinc.shared::cta.b64 [smem+65536];
bra E;
C:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [smem+65536], 0;
@!%p5 bra C;
FENCE
wgmma.fence.sync.aligned;
@%p3 bra M0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d1, 0, 1, 1, 0, 0;
M0:
@%p4 bra M1;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4,%f5,%f6,%f7}, %d4, %d1, 0, 1, 1, 0, 0;
M1:
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
E:
ret;
}
"""


def test_a_fence_that_is_missing_before_an_arrival_is_one_fault() -> None:
    (found,) = tiers(GATHERED.replace("FENCE\n", ""))
    assert (found.rule, found.tier, found.more) == ("proxy-fence", "likely", 1)
    assert tiers(GATHERED.replace("FENCE", "fence.proxy.async.shared::cta;")) == []


def tiers(body: str) -> list[Finding]:
    return [one for one in check_text(HEAD + body, "k.ptx").findings if one.tier in ("error", "likely")]

"""ptxmma check as a command: formats, exit codes, suppression, baseline, bad input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., str]

FAULTY = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k()
.reqntid 128, 1, 1
{
.reg .f32 %f<10>;
.reg .b64 %rd<10>;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
add.f32 %f9, %f0, %f1;
wgmma.wait_group.sync.aligned 0;
ret;
}
"""
RIGHT = FAULTY.replace("add.f32 %f9, %f0, %f1;\n", "")
STRICT = RIGHT.replace("wgmma.mma_async", "mov.f32 %f0, 0f00000000;\nwgmma.mma_async")


@pytest.fixture
def file(tmp_path: Path) -> Write:
    def write(text: str, name: str = "k.ptx") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_exit_codes(run: Run, file: Write) -> None:
    assert run("check", file(RIGHT))[0] == 0
    assert run("check", file(FAULTY))[0] == 1
    assert run("check", "absent.ptx")[0] == 2


def test_text_names_the_place_the_rule_and_the_witness(run: Run, file: Write) -> None:
    path = file(FAULTY)
    code, out, _ = run("check", path)
    assert code == 1
    assert out.startswith(f"{path}:12:1: error accumulator-in-flight: ")
    assert "line 10: wgmma.mma_async" in out and "line 12: add.f32" in out
    assert "schedule 1:" in out and "schedule 2:" in out
    assert "These are claims about the PTX as given" in out


def test_strict_raises_the_tier_that_fails(run: Run, file: Write) -> None:
    assert run("check", file(STRICT))[0] == 0
    assert run("check", "--strict", file(STRICT))[0] == 1


def test_json(run: Run, file: Write) -> None:
    code, out, _ = run("check", "--format", "json", file(FAULTY))
    found = json.loads(out)
    assert code == 1 and found["counts"]["error"] == 1
    assert found["files"][0]["findings"][0]["witness"][0]["line"] == 10
    valid("check", found)


def test_sarif_is_valid(run: Run, file: Write) -> None:
    code, out, _ = run("check", "--format", "sarif", file(FAULTY))
    assert code == 1
    sarif = Sarif.model_validate_json(out)
    assert [result.ruleId for result in sarif.runs[0].results] == ["accumulator-in-flight"]
    Sarif.model_validate_json(run("check", "--format", "sarif", file(RIGHT))[1])
    Sarif.model_validate_json(run("check", "--format", "sarif", file(FAULTY + "garbage"))[1])


def test_github_annotations(run: Run, file: Write) -> None:
    path = file(FAULTY)
    code, out, _ = run("check", "--format", "github", path)
    assert code == 1
    assert out.startswith(f"::error file={path},line=12,col=1,title=ptxmma accumulator-in-flight::")


@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_comment_suppresses_its_rule(run: Run, file: Write, place: str) -> None:
    statement = "add.f32 %f9, %f0, %f1;"
    comment = "// ptxmma: ignore accumulator-in-flight"
    text = FAULTY.replace(
        statement, f"{comment}\n{statement}" if place == "before" else f"{statement} {comment}"
    )
    code, out, _ = run("check", file(text))
    assert code == 0 and "1 suppressed" in out


def test_a_comment_suppresses_no_other_rule_and_is_said_to_be_idle(run: Run, file: Write) -> None:
    text = FAULTY.replace("add.f32 %f9", "// ptxmma: ignore proxy-fence\nadd.f32 %f9")
    code, out, _ = run("check", "--info", file(text))
    assert code == 1 and "idle-suppression" in out


def test_a_baseline_passes_over_what_it_knows(run: Run, file: Write, tmp_path: Path) -> None:
    known = str(tmp_path / "baseline.json")
    assert run("check", "--write-baseline", known, file(FAULTY))[0] == 0
    assert run("check", "--baseline", known, file(FAULTY))[0] == 0
    moved = FAULTY.replace("wgmma.fence", "\n\n// moved\nwgmma.fence")
    assert run("check", "--baseline", known, file(moved))[0] == 0
    worse = FAULTY.replace(
        "ret;",
        "add.f32 %f0, %f0, %f1;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 1, 1, 1, 0, 0;\nret;",
    )
    assert run("check", "--baseline", known, file(worse))[0] == 1


def test_a_baseline_that_is_none(run: Run, file: Write) -> None:
    code, _, err = run("check", "--baseline", file("[]", "b.json"), file(FAULTY))
    assert code == 2 and "not a baseline file" in err


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no .version"),
        ("int main() { return 0; }", "this is not PTX"),
        ("\x7fELF\x02\x01\x01\x00", "this is not PTX"),
        (".version 8.0\n", "no .target"),
        (".version eight\n.target sm_90a\n", ".version must be followed"),
        (FAULTY[:-3], "is not closed"),
        (FAULTY.replace("8.0", "99.0"), "99.0"),
    ],
)
def test_garbage_is_refused_with_its_place(run: Run, file: Write, text: str, what: str) -> None:
    path = file(text)
    code, _, err = run("check", path)
    assert code == 2 and what in err and path in err
    assert "Traceback" not in err


def test_a_statement_that_cannot_be_read_is_reported(run: Run, file: Write) -> None:
    path = file(FAULTY.replace("ret;", "mov.f32 = 3 {;\nret;"))
    code, out, _ = run("check", path)
    assert code == 2 and f"{path}:14:" in out and "unreadable" in out


def test_an_unknown_label_is_reported(run: Run, file: Write) -> None:
    code, out, _ = run("check", file(FAULTY.replace("ret;", "bra nowhere;\nret;")))
    assert code == 2 and "the label nowhere is not declared" in out


def test_many_files_are_reported_in_the_order_asked(run: Run, file: Write) -> None:
    paths = [file(FAULTY, f"{name}.ptx") for name in "cab"]
    out = json.loads(run("check", "--format", "json", *paths)[1])
    assert [entry["file"] for entry in out["files"]] == paths


TCGEN05 = """.version 8.6
.target sm_100a
.address_size 64
.visible .entry k()
{
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
.reg .pred %p<2>;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%rd0], 128;
tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd1, %rd2, %r1, %p0;
tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd1, %rd2, %r1, %p1;
frobnicate.sync %r1, %r2;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 128;
ret;
}
"""


def test_what_was_not_judged_is_said_aloud(run: Run, file: Write) -> None:
    """A file whose tensor-core instructions the specification does not hold is not clean in silence."""
    path = file(TCGEN05)
    code, out, _ = run("check", path)
    assert code == 0
    left = (
        "where accesses of tensor memory lie, their order, and that of what is read of shared memory, where no "
        "execution follows them,"
    )
    said = f"{left} was not judged yet"
    assert f"{path}:9:1: not judged: tcgen05 (4 statements): {said}" in out
    assert f"{path}:12:1: not judged: frobnicate.sync (1 statement): " in out
    assert out.rstrip().endswith("0 info; 5 not judged")
    found = json.loads(run("check", "--format", "json", path)[1])
    names = [(one["instruction"], one["statements"]) for one in found["files"][0]["not_judged"]]
    assert names == [("tcgen05", 4), ("frobnicate.sync", 1)]
    valid("check", found)
    sarif = Sarif.model_validate_json(run("check", "--format", "sarif", path)[1])
    (invocation,) = sarif.runs[0].invocations
    assert invocation.executionSuccessful is True
    assert len(invocation.toolExecutionNotifications) == 2
    github = run("check", "--format", "github", path)[1].splitlines()
    assert [line.split(" ")[0] for line in github] == ["::notice"] * 2


def test_a_plain_kernel_has_nothing_that_is_not_judged(run: Run, file: Write) -> None:
    assert "not judged" not in run("check", file(RIGHT))[1]


def test_barriers_of_a_block_of_unknown_size_are_said_not_to_be_judged(run: Run, file: Write) -> None:
    """Threads are executed together where the PTX says how many there are, and nowhere else."""
    head, body = RIGHT.split("{", 1)
    body = "{\n.reg .b32 %bar;\nmov.u32 %bar, 0;\nbar.sync %bar, 128;" + body
    unsized = re.sub(r"\.(?:req|max)ntid[^\n]*", "", head)
    shown = run("check", file(unsized + body))[1]
    assert "not judged: barriers of " in shown and "(1 statement): neither .reqntid nor .maxntid" in shown
    sized = unsized.rstrip() + "\n.reqntid 128, 1, 1\n"
    assert "not judged" not in run("check", file(sized + body))[1]


def test_barriers_of_a_block_of_unknown_shape_are_said_not_to_be_judged(run: Run, file: Write) -> None:
    """One warp of such a block is followed, which no barrier orders against others."""
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 tile[4096];\n"
        ".visible .entry k(.param .u64 p)\n.maxntid 128, 1, 1\n{\n.reg .b32 %r<4>;\n.reg .b64 %a;\n"
        "ld.param.u64 %a, [p];\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, tile;\nshl.b32 %r1, %r1, 4;\n"
        "add.u32 %r2, %r2, %r1;\ncp.async.ca.shared.global [%r2], [%a], 16;\ncp.async.wait_all;\n"
        "bar.sync 0;\nld.shared.u32 %r3, [tile];\nret;\n}\n"
    )
    shown = run("check", file(text))[1]
    assert "not judged: barriers of k (1 statement): threads read %tid.y or %tid.z" in shown
    for known in (text.replace(".maxntid", ".reqntid"), text.replace("%tid.y", "%tid.x")):
        assert "not judged" not in run("check", file(known))[1]

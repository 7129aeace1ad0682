"""Findings that depend on a reading name it, and settling the reading decides them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import EVERYWHERE, Finding
from ptxmma.check.readings import chosen_readings, undefined
from ptxmma.formal.ordering.notation import parse
from ptxmma.spec.errors import Question

WATCHES = ("check/rules.yaml", "spec/ordering/switches.yaml")

KERNEL = """.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
.reqntid 128, 1, 1
{
.reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 1, 1, 1;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ret;
}
"""


def findings(*readings: str) -> tuple[Finding, ...]:
    report = check_text(KERNEL, "k.ptx", readings=chosen_readings(readings))
    return tuple(f for f in report.findings if f.tier != "info")


def test_a_finding_names_the_readings_under_which_it_holds() -> None:
    (finding,) = findings()
    assert (finding.tier, finding.rule) == ("reading", "fence-after-mma")
    assert {setting for one in finding.readings for setting in one} >= {("completed-mma", "fence")}


def test_settling_a_reading_decides() -> None:
    assert findings("completed-mma=free") == ()
    (finding,) = findings("completed-mma=fence", "same-shape=types")
    assert finding.tier == "error" and finding.readings == EVERYWHERE


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("wait-scope", "is not NAME=SETTING"),
        ("wait-scop=warp", "there is no switch 'wait-scop'; right would be: wait-scope"),
        ("wait-scope=wrap", "there is no setting of wait-scope 'wrap'; right would be: warp"),
    ],
)
def test_a_reading_that_does_not_exist(word: str, said: str) -> None:
    with pytest.raises(Question, match=said):
        chosen_readings([word])


def test_a_reading_is_settled_once() -> None:
    with pytest.raises(Question, match="settled twice"):
        chosen_readings(["wait-scope=warp", "wait-scope=warpgroup"])


def test_what_is_undefined_under_every_reading_names_none() -> None:
    program = parse("fence; mma m64n8k16.f32.f16.f16 r0 s0 s0; commit; read r0")
    assert undefined(program)["accumulator-in-flight"] == EVERYWHERE


def test_a_release_after_the_own_wait_depends_on_the_wait_s_scope() -> None:
    program = parse("fence; mma m64n8k16.f32.f16.f16 r0 s0 s0; commit; wait 0; store s0")
    found = dict(undefined(program))
    assert all(("wait-scope", "warp") in one for rule in ("shared-overwritten",) for one in found[rule])


def test_the_command_line_and_json(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(KERNEL)
    code, out, _ = run("check", str(file), "--format", "json")
    (shown,) = (f for f in json.loads(out)["files"][0]["findings"] if f["tier"] == "reading")
    assert code == 0 and any(one.get("completed-mma") == "fence" for one in shown["readings"])
    assert run("check", str(file), "--reading", "completed-mma=fence,same-shape=types")[0] == 1
    code, _, err = run("check", str(file), "--reading", "completed-mma=fnce")
    assert code == 2 and "right would be: fence" in err

"""Running suites: results, a device's failure fails only its case, a hang, no GPU; pipelines on the stand-in."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptxmma.devices.gpu import Gpu
from ptxmma.devices.suite_runs import SuiteFolder, execute
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
PROGRAM = """#!{python}
import json, pathlib, sys, time
words = sys.argv[1:]
cases = pathlib.Path(words[words.index("--only") + 1]).read_text().split()
alone = "--batch" in words
bad = {bad}
def say(case, status, **more):
    print(json.dumps({{"case": case, "status": status, **more}}), flush=True)
for case in cases:
    if case == "nowhere":
        print("conformance: there is no device", file=sys.stderr)
        sys.exit(2)
    if case in bad:
        code, status = (4, "hang") if bad[case] == "hang" else (3, "device-error")
        for other in [case] if alone else cases[cases.index(case):cases.index(case) + 3]:
            say(other, status, why="it " + bad[case], together=1 if alone else 3)
        print("conformance: it " + bad[case], file=sys.stderr)
        sys.exit(code)
    if case == "killed":
        sys.exit(9)
    wrong = [{{"row": 1, "col": 2, "expected": "0x1", "got": "0x2"}}] if case == "wrong" else []
    say(case, "failed" if wrong else "passed", **({{"count": 1, "wrong": wrong}} if wrong else {{}}))
print(json.dumps({{"summary": {{"device": "a program", "run_seconds": 0.5}}}}), flush=True)
"""


def suite(folder: Path, cases: list[str], bad: dict[str, str] | None = None) -> SuiteFolder:
    """A suite whose program is a script: cases of one module a pair."""
    kernels = [
        {"kernel": f"k{i}", "module": f"m{i // 2}", "ptx": "x", "cases": [{"case": case}]}
        for i, case in enumerate(cases)
    ]
    (folder / "manifest.json").write_text(json.dumps({"kernels": kernels}))
    program = folder / "conformance"
    program.write_text(PROGRAM.format(python=sys.executable, bad=bad or {}))
    program.chmod(0o755)
    return SuiteFolder(folder)


def test_results_are_taken_down(tmp_path: Path) -> None:
    outcome = execute(
        suite(tmp_path, ["a", "b", "wrong", "c", "d"]), "ptx", ["a", "b", "wrong", "c"], processes=2
    )
    assert {case: r.status for case, r in outcome.results.items()} == {
        "a": "passed",
        "b": "passed",
        "wrong": "failed",
        "c": "passed",
    }
    assert outcome.results["wrong"].wrong == ({"row": 1, "col": 2, "expected": "0x1", "got": "0x2"},)
    assert outcome.device == "a program" and outcome.seconds["run"] == 1.0


@pytest.mark.parametrize(("how", "status"), [("failed", "device-error"), ("hang", "hang")])
def test_a_case_that_ends_the_process_loses_no_other(tmp_path: Path, how: str, status: str) -> None:
    names = ["a", "b", "culprit", "c", "d", "e"]
    outcome = execute(suite(tmp_path, names, {"culprit": how}), "ptx", names, processes=1)
    statuses = {case: r.status for case, r in outcome.results.items()}
    assert statuses == {**dict.fromkeys(names, "passed"), "culprit": status}
    assert outcome.results["culprit"].why == f"it {how}"


def test_a_process_that_dies_is_no_silent_pass(tmp_path: Path) -> None:
    outcome = execute(suite(tmp_path, ["a", "killed", "b"]), "ptx", ["a", "killed", "b"], processes=1)
    statuses = {case: result.status for case, result in outcome.results.items()}
    assert statuses == {"a": "passed", "killed": "error", "b": "passed"}
    assert outcome.results["killed"].why == "the process ended with 9"


def test_without_a_device_there_is_a_question(tmp_path: Path) -> None:
    with pytest.raises(Question, match=r"^there is no device$"):
        execute(suite(tmp_path, ["nowhere"]), "ptx", ["nowhere"])


def test_no_suite(tmp_path: Path) -> None:
    with pytest.raises(Question, match="is not a suite"):
        _ = SuiteFolder(tmp_path).cases


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there is a GPU")
def test_run_without_a_gpu(run: Run) -> None:
    code, out, err = run("run", "mma.sync.aligned.m16n8k8")
    assert (code, out) == (2, "")
    assert err == "ptxmma: there is no CUDA driver here (libcuda.so.1 cannot be opened)\n"


def test_the_stand_in_is_not_measured(run: Run) -> None:
    code, _, err = run("run", "mma.sync.aligned.m16n8k8", "--via", "stand-in", "--measure")
    assert code == 2 and "the stand-in cannot be measured" in err


def test_what_the_target_does_not_have_is_said(run: Run) -> None:
    code, out, err = run("run", "mma.sync*mxf4nvf4*2X*", "--via", "stand-in")
    assert (code, out) == (2, "")
    assert err == (
        "ptxmma: sm_90a has nothing that matches mma.sync*mxf4nvf4*2X*: "
        "mma/m16n8k64.mxf4nvf4.2X: it is for sm_120f, sm_120a, sm_121f, sm_121a\n"
    )


class Driver:
    """libcuda with GPUs of some compute capability."""

    def __init__(self, capability: tuple[int, int], count: int = 1, error: int = 0) -> None:
        self.answers = {75: capability[0], 76: capability[1]}
        self.count, self.error = count, error

    def cuInit(self, flags: int) -> int:
        return self.error

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = self.count
        return 0

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = 13000
        return 0

    def cuDeviceGet(self, device: Any, number: int) -> int:
        device._obj.value = number
        return 0

    def cuDeviceGetAttribute(self, value: Any, attribute: int, device: Any) -> int:
        value._obj.value = self.answers[attribute]
        return 0


@pytest.mark.parametrize(
    ("driver", "words", "said"),
    [
        (Driver((8, 0)), (), "GPU 0 is of compute capability 8.0, and what is for sm_90a does not run there"),
        (
            Driver((10, 0)),
            (),
            "GPU 0 is of compute capability 10.0, and what is for sm_90a does not run there",
        ),
        (
            Driver((9, 0)),
            ("--target", "sm_100a"),
            "GPU 0 is of compute capability 9.0, and what is for sm_100a does not run there",
        ),
        (Driver((9, 0)), ("--device", "1"), "there is no GPU 1; there are 1"),
        (Driver((9, 0)), ("--device", "-1"), "there is no GPU -1; there are 1"),
        (Driver((9, 0), error=100), (), "the CUDA driver finds no GPU (error 100)"),
    ],
)
def test_a_gpu_that_does_not_have_the_target(
    run: Run, monkeypatch: pytest.MonkeyPatch, driver: Driver, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: driver)
    assert run("run", "mma.sync.aligned.m16n8k8", *words) == (2, "", f"ptxmma: {said}\n")


@pytest.mark.parametrize(
    ("capability", "target", "fits"),
    [
        ((9, 0), "sm_90a", True),
        ((9, 0), "sm_80", True),
        ((8, 9), "sm_90", False),
        ((10, 3), "sm_100f", True),
        ((10, 3), "sm_100a", False),
        ((10, 0), "sm_103f", False),
        ((7, 5), "sm_75", True),
        ((99, 0), "sm_90a", False),
    ],
)
def test_targets_that_gpus_have(
    specification: Specification, capability: tuple[int, int], target: str, fits: bool
) -> None:
    assert Gpu(0, capability, "13.0").fits(specification.isa, target) == fits


def test_measuring_without_bindings_is_refused_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: Driver((9, 0)))
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    code, _, err = run("run", "mma.sync.aligned.m16n8k8", "--measure")
    assert (code, err) == (2, "ptxmma: measuring needs cuda-bindings: pip install 'ptxmma[device]'\n")


def test_a_suite_says_what_it_is_for(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    assert (
        run("gen", "mma.sync.aligned.m8n8k16", "--target", "sm_80", "--kind", "cuda", "--out", str(out))[0]
        == 0
    )
    code, _, err = run("run", str(out), "--target", "sm_90a")
    assert (code, err) == (2, "ptxmma: the suite is for sm_80, not for sm_90a\n")
    monkeypatch.setattr("ctypes.CDLL", lambda name: Driver((7, 5)))
    code, _, err = run("run", str(out))
    assert (code, err) == (
        2,
        "ptxmma: GPU 0 is of compute capability 7.5, and what is for sm_80 does not run there\n",
    )


@pytest.mark.parametrize("words", [("mma",), ("--via", "ptx"), ("--via", "stand-in")])
def test_a_part_is_not_recorded(run: Run, words: tuple[str, ...]) -> None:
    code, _, err = run("run", "--record", *words)
    assert code == 2 and err.startswith("ptxmma: a record is of everything")


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("make") and shutil.which("g++")), reason="no compiler")
def test_a_suite_runs_on_the_stand_in(run: Run) -> None:
    arguments = ("run", "mma.sync.aligned.m16n8k8.row.col.f32.bf16", "--via", "stand-in", "--format", "json")
    code, out, _ = run(*arguments)
    found = json.loads(out)
    valid("run", found)
    assert code == 0 and found["faults"] == []
    assert found["rows"] == {"mma/m16n8k8.bf16": {"cases": 18, "stand-in passed": 18}}
    assert {"generation", "compilation", "execution, stand-in"} == set(found["seconds"])
    assert found["not run"]["mma/m16n8k64.mxf4"] == "it is for sm_120f, sm_120a, sm_121f, sm_121a"
    assert found["not run"]["mma/m16n8k32.fp8"].startswith("8 of 16 mnemonics: it is for sm_100f, sm_100a")
    assert found["pairs"] == {"met": 13, "possible": 13}


def test_what_chips_keep_is_recorded(run: Run) -> None:
    """13 bits of fp8 in wgmma and 25 of f16, as published for Hopper (MMA-Sim); the text asks for 24."""
    code, out, _ = run("evidence", "--arithmetic", "wgmma", "--format", "json")
    found = json.loads(out)
    valid("arithmetic", found)
    assert code == 0
    bits = {tuple(row["kernel"].split(".")[-3:]): (row["bits"], row["block"]) for row in found}
    assert bits["f32", "e4m3", "e4m3"] == bits["f32", "e5m2", "e5m2"] == ("13", "32")
    assert bits["f32", "f16", "f16"] == bits["f32", "bf16", "bf16"] == ("25", "16")
    assert bits["f32", "tf32", "tf32"] == ("25", "8")
    below = {row["kernel"] for row in found if "below single" in row["guaranteed"]}
    assert len(below) == 4 and all(".f32.e" in kernel for kernel in below)

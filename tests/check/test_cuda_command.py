"""`ptxmma check --cuda` as a command: formats, exit codes, folders, suppression, baseline, bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
RIGHT = """namespace n {
__device__ void load(unsigned (&x)[1], unsigned p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x[0]) : "r"(p));
}
}
"""
WRONG = RIGHT.replace("x1.shared", "x2.shared")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "right.cuh").write_text(RIGHT)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "wrong.cu").write_text(WRONG)
    (tmp_path / "below" / "kernel.ptx").write_text("no PTX")
    return tmp_path


def test_exit_codes_and_text(run: Run, folder: Path) -> None:
    assert run("check", "--cuda", str(folder / "right.cuh"))[:2] == (
        0,
        "1 file, 1 asm statement, 1 of the specification in them: 1 legal, 0 illegal, 0 with holes, "
        "0 not judged, 0 not compiled; 0 error, 0 likely, 0 reading, 0 info\n",
    )
    path = folder / "below" / "wrong.cu"
    code, out, _ = run("check", "--cuda", str(path))
    assert code == 1
    assert out.startswith(
        f"{path}:3:17: error legality.operand.length: ldmatrix.sync.aligned.m8n8.x2.shared.b16: "
    )
    assert "\n  in n::load\n" in out and "1 illegal" in out and "as written" in out
    (folder / "cut.cu").write_text('asm("')
    assert run("check", "--cuda", str(folder / "cut.cu"))[0] == 2
    assert run("check", "--cuda", "absent.cu")[0] == 2


def test_folders_hold_sources(run: Run, folder: Path) -> None:
    code, out, _ = run("check", "--cuda", str(folder))
    assert code == 1 and "2 files, 2 asm statements" in out
    code, out, _ = run("check", "--cuda", str(folder), "--exclude", "below")
    assert code == 0 and "1 file," in out
    empty = folder / "empty"
    empty.mkdir()
    code, _, err = run("check", "--cuda", str(empty))
    assert code == 2 and "no *.cu, *.cuh, *.h, *.hpp, *.inl file" in err


def test_version_and_target(run: Run, folder: Path) -> None:
    path = str(folder / "right.cuh")
    assert run("check", "--cuda", path, "--ptx", "6.5", "--target", "sm_75")[0] == 0
    code, out, _ = run("check", "--cuda", path, "--target", "sm_70")
    assert code == 1 and "legality.gate.target" in out
    assert run("check", "--cuda", path, "--target", "sm_7")[0] == 2
    assert run("check", "--cuda", path, "--ptx", "1.0")[0] == 2
    code, _, err = run("check", path, "--ptx", "8.0")
    assert code == 2 and "--ptx goes with --cuda" in err


def test_json_and_sarif(run: Run, folder: Path) -> None:
    code, out, _ = run("check", "--cuda", str(folder), "--format", "json")
    found = json.loads(out)
    valid("check", found)
    (wrong,) = (file for file in found["files"] if file["file"].endswith("wrong.cu"))
    assert code == 1 and wrong["inline"] == {
        "asm": 1, "legal": 0, "illegal": 1, "with_holes": 0, "not_judged": 0, "not_compiled": 0,
    }  # fmt: skip
    (finding,) = wrong["findings"]
    assert (finding["line"], finding["column"], finding["function"]) == (3, 17, "n::load")
    code, out, _ = run("check", "--cuda", str(folder), "--format", "sarif")
    Sarif.model_validate_json(out)
    (result,) = json.loads(out)["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert code == 1 and region == {"startLine": 3, "startColumn": 17}


def test_suppression_and_baseline(run: Run, folder: Path) -> None:
    path = folder / "below" / "wrong.cu"
    baseline = str(folder / "baseline.json")
    assert run("check", "--cuda", str(path), "--write-baseline", baseline)[0] == 0
    assert run("check", "--cuda", str(path), "--baseline", baseline)[0] == 0
    path.write_text("\n\n" + WRONG)
    assert run("check", "--cuda", str(path), "--baseline", baseline)[0] == 0
    path.write_text(WRONG.replace("  asm", "  // ptxmma: ignore legality\n  asm"))
    assert run("check", "--cuda", str(path))[0] == 0
    assert run("check", "--cuda", str(path), "--ignore", "legality")[0] == 0


def test_several_files_are_judged_alike_in_other_processes(run: Run, folder: Path) -> None:
    (folder / "large.cu").write_text(WRONG + "// filler\n" * 120_000)
    code, out, _ = run("check", "--cuda", str(folder))
    assert code == 1 and "3 files, 3 asm statements" in out and "2 illegal" in out


def test_check_without_cuda_imports_none_of_it() -> None:
    program = (
        "import sys\nfrom ptxmma.cli.main import main\nmain(['check', 'absent.ptx'])\n"
        "print(sorted(m for m in sys.modules if m.startswith('ptxmma.check.cuda.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['ptxmma.check.cuda.counts']"

"""A disk that is full (here: a limit on the size of files) leaves nothing half written, and a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16"
WRITES = {
    "gen": ("gen movmatrix --out suite", "suite/ptx/"),
    "schema": ("schema --write out", "out/docs/"),
    "atlas": ("atlas --out site", "site/scripts/"),
    "litmus": ("litmus --emit tests", "tests/"),
    "compress": (f"compress {SPARSE} matrix.npy", "packed.npy"),
    "check": ("check unwaited.ptx --write-baseline base.json", "base.json"),
}
# A site of scripts and styles alone: pages would take seconds, and the first file is refused.
NO_PAGES = "from ptxmma.atlas import site; from ptxmma.cli.main import entry; site._SECTIONS = (); entry()"


def shell(
    line: str, folder: Path, program: str = "-m ptxmma", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line.replace("ptxmma", f"{sys.executable} {program}", 1)],
        capture_output=True,
        text=True,
        cwd=folder,
        # Python would keep the bytecode of a module cut off where the limit is.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    matrix = numpy.zeros((64, 32), numpy.float16)
    matrix[:, ::2] = 1
    numpy.save(tmp_path / "matrix.npy", matrix)
    unwaited = Path(__file__).parents[1] / "check" / "unwaited.ptx"
    (tmp_path / "unwaited.ptx").write_text(unwaited.read_text())
    return tmp_path


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_half_written(name: str, folder: Path) -> None:
    words, file = WRITES[name]
    before = sorted(folder.iterdir())
    program = f"-c '{NO_PAGES}'" if name == "atlas" else "-m ptxmma"
    done = shell(f"ulimit -f 0; ptxmma {words}", folder, program)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ptxmma: {file}") and " cannot be written: " in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_each_obligation_is_whole(folder: Path) -> None:
    """They are written one by one, as they are made; most of them have less than the kilobyte allowed here."""
    done = shell("ulimit -f 1; ptxmma prove 'layout wgmma.sp*' --solver z3 --dump dumps", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ptxmma: dumps/layout.") and "File too large" in done.stderr
    texts = [path.read_text() for path in (folder / "dumps").iterdir()]
    assert texts and all("(check-sat)" in text for text in texts)


def test_the_first_of_two_files_waits_for_the_second(folder: Path) -> None:
    before = sorted(folder.iterdir())
    done = shell(f"ptxmma compress {SPARSE} matrix.npy --metadata /dev/full", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ptxmma: /dev/full cannot be written: No space left on device\n"
    assert sorted(folder.iterdir()) == before


def test_a_cache_that_cannot_be_written_is_no_error(folder: Path) -> None:
    cache = folder / "cache"
    done = shell("ulimit -f 0; ptxmma list movmatrix", folder, XDG_CACHE_HOME=str(cache))
    assert (done.returncode, done.stderr) == (0, "")
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    done = shell("ptxmma list movmatrix", folder, XDG_CACHE_HOME="/dev/null/cache")
    assert (done.returncode, done.stderr) == (0, "")
    done = shell("ptxmma list movmatrix", folder, XDG_CACHE_HOME="", HOME="/proc/none")
    assert (done.returncode, done.stderr) == (0, "")

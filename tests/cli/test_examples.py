"""The examples of every --help work as they are written, and the scripts for shells complete."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from ptxmma.cli.commands import COMMANDS, Example
from ptxmma.spec.loading import ROOT

from ..long_examples import ATLAS, PROVE

EXAMPLES = [example for command in COMMANDS.values() for example in command.examples]
PLAIN = [example for example in EXAMPLES if not example.needs]
LONG = {ATLAS, PROVE}
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16"

KERNEL = """\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel() {
    wgmma.fence.sync.aligned;
    ret;
}
"""


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `ptxmma` is the command."""
    called = f'ptxmma() {{ {sys.executable} -m ptxmma "$@"; }}; {line}'
    surroundings = {**os.environ, "HOME": str(folder)}
    return subprocess.run(
        ["bash", "-c", called], capture_output=True, text=True, cwd=folder, env=surroundings
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the examples name, and the folders to which they redirect."""
    matrix = numpy.zeros((64, 32), numpy.float16)
    matrix[:, ::2] = 1
    numpy.save(tmp_path / "matrix.npy", matrix)
    numpy.save(tmp_path / "A.npy", matrix[:16])
    numpy.save(tmp_path / "B.npy", matrix[:32, :16])
    (tmp_path / "kernel.ptx").write_text(KERNEL)
    (tmp_path / "source.cu").write_text('void f() { asm volatile("wgmma.fence.sync.aligned;"); }\n')
    (tmp_path / "statements.txt").write_text("wgmma.fence.sync.aligned;\nwgmma.commit_group.sync.aligned;\n")
    for name in (".zfunc", ".local/share/bash-completion/completions"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_every_command_has_one_to_three_examples() -> None:
    assert all(1 <= len(command.examples) <= 3 for command in COMMANDS.values())
    assert all(one.words.startswith(f"ptxmma {name}") for name, c in COMMANDS.items() for one in c.examples)
    assert len(PLAIN) > 30
    assert {example.words for example in EXAMPLES} >= LONG


@pytest.mark.slow
@pytest.mark.parametrize("example", [e for e in PLAIN if e.words not in LONG], ids=lambda e: e.words[7:50])
def test_an_example_works(example: Example, folder: Path) -> None:
    if "packed.npy" in example.words:
        assert shell(f"ptxmma compress {SPARSE} matrix.npy", folder).returncode == 0
    done = shell(example.words, folder)
    assert done.returncode == 0
    assert "rror" not in done.stderr
    assert done.stdout or ">" in example.words or "--write" in example.words


TRY = """
try() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=()
    "$(complete -p ptxmma | sed 's/.* -F \\([^ ]*\\).*/\\1/')"; echo "${COMPREPLY[*]}"
}
"""
COMPLETED = [
    ("ptxmma la", "layout"),
    ("ptxmma list --t", "--target"),
    ("ptxmma list --target sm_90", "sm_90 sm_90a"),
    ("ptxmma legal --ptx 8.", "8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8"),
    ("ptxmma layout --thread ''", ""),
    ("ptxmma show --format ''", "text json"),
    ("ptxmma toolchain fe", "fetch"),
    ("ptxmma check ker", "kernel.ptx"),
    ("ptxmma gen --out .zf", ".zfunc"),
]


def test_bash_completes(folder: Path) -> None:
    words = "\n".join(f"try {words}" for words, _ in COMPLETED)
    done = shell(f"source <(ptxmma completion bash); {TRY}\n{words}", folder)
    assert done.returncode == 0
    assert "rror" not in done.stderr
    assert done.stdout.split("\n")[:-1] == [found for _, found in COMPLETED]


@pytest.mark.parametrize("name", ["zsh", "tcsh"])
def test_other_shells_take_the_script(name: str, folder: Path) -> None:
    done = shell(f"ptxmma completion {name} > script", folder)
    script = (folder / "script").read_text()
    assert done.returncode == 0
    assert "rror" not in done.stderr
    assert all(command in script for command in COMMANDS) and "sm_121a" in script
    if shutil.which(name):
        assert subprocess.run([name, "-n", "script"], cwd=folder).returncode == 0


def test_every_command_and_option_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    assert all(f"\n## {name}\n" in page for name in COMMANDS)
    assert all(example.words in page for example in EXAMPLES)
    assert r"| `--format text\|json\|sarif\|github` |" in page

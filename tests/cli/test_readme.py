"""What the README and the pages of docs/ show is what the commands print.

CI runs this file once more with PTXMMA_INSTALLED, a venv outside the checkout that holds the wheel and nothing
else: then the commands are that venv's.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptxmma.cli.commands import COMMANDS
from ptxmma.ledger.contradictions import register
from ptxmma.spec.loading import ROOT

PAGES = {
    path.relative_to(ROOT).as_posix().removeprefix("docs/"): path.read_text()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
# How many commands with output each page shows, at least: a page whose examples are not found fails.
SHOWN = {
    "README.md": 9,
    "add-an-instruction.md": 8,
    "cookbook.md": 19,
    "how-it-is-checked.md": 1,
    "guides/kernel-engineer.md": 5,
}

INSTALLED = os.environ.get("PTXMMA_INSTALLED")


def in_the_venv(folder: Path, program: str, *arguments: str) -> tuple[int, str, str]:
    """Run a program of the venv in an empty folder that holds only the files that the arguments name."""
    for name in arguments:
        if name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    call = [f"{INSTALLED}/bin/{program}", *arguments]
    ended = subprocess.run(call, cwd=folder, env=surroundings, capture_output=True, text=True)
    return ended.returncode, ended.stdout, ended.stderr


if INSTALLED:

    @pytest.fixture
    def run(tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
        return lambda *words: in_the_venv(tmp_path, "ptxmma", *words)


def shown(page: str) -> Iterator[tuple[str, str]]:
    """Every `$ ptxmma …` of a block of a page, with what stands below it. Blocks marked `text` are not run."""
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", PAGES[page], re.S | re.M):
        if kind:
            continue
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith("ptxmma "):
                yield command, output


EXAMPLES = [(page, *example) for page in PAGES for example in shown(page)]


@pytest.mark.parametrize(("page", "command", "output"), EXAMPLES)
def test_a_page_shows_what_is_printed(
    run: Callable[..., tuple[int, str, str]], page: str, command: str, output: str
) -> None:
    command, _, first = command.partition(" | head -")
    command, _, last = command.partition(" | tail -")
    _, *words = shlex.split(command)
    _, printed, _ = run(*words)
    lines = printed.strip("\n").split("\n")
    cut = slice(-int(last), None) if last else slice(int(first) if first else None)
    assert lines[cut] == output.strip("\n").split("\n")


@pytest.mark.parametrize(("page", "least"), SHOWN.items())
def test_the_examples_of_a_page_are_found(page: str, least: int) -> None:
    assert sum(1 for _ in shown(page)) >= least


@pytest.mark.parametrize("page", PAGES)
def test_no_example_of_a_page_is_overlooked(page: str) -> None:
    run = re.sub(r"^```text\n.*?^```$", "", PAGES[page], flags=re.S | re.M)
    assert sum(1 for _ in shown(page)) == len(re.findall(r"^\s*\$ ptxmma ", run, re.M))


@pytest.mark.parametrize("page", ["README.md", "guides/compiler-engineer.md"])
def test_the_python_example_holds(page: str, tmp_path: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGES[page], re.S | re.M)
    if INSTALLED:
        (tmp_path / "example.py").write_text(example)
        code, _, told = in_the_venv(tmp_path, "python", "example.py")
        assert code == 0, told
    else:
        exec(example, {})


def test_every_link_to_a_file_leads_to_one() -> None:
    found = [
        (path, link)
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
        for link in re.findall(r"\]\(([^)#:]+)", path.read_text())
    ]
    assert len(found) > 10
    assert [f"{path.name}: {link}" for path, link in found if not (path.parent / link).exists()] == []


def test_the_picture_is_what_layout_draws(run: Callable[..., tuple[int, str, str]]) -> None:
    mnemonic = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    code, drawn, _ = run("layout", mnemonic, "--operand", "A,B,D", "--format", "svg")
    assert code == 0 and drawn == (ROOT / "docs" / "images" / "mma-m16n8k16.svg").read_text()


def test_every_command_is_named() -> None:
    text = PAGES["README.md"] + PAGES["cookbook.md"]
    assert [name for name in COMMANDS if f"ptxmma {name}" not in text] == []


def test_the_readme_is_short() -> None:
    assert PAGES["README.md"].count("\n") <= 150


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md"])
def test_the_entries_of_the_register_are_counted(page: str) -> None:
    counts = re.findall(
        r"(\d+)\s+(?:entries\s+of\s+`|places\s+where\s+the\s+text)", (ROOT / page).read_text()
    )
    assert counts == [str(len(register().entries))]

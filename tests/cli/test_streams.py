"""Closed and full standard streams: exit code 2 and a sentence that names the stream."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from ptxmma.cli.commands import COMMANDS
from ptxmma.spec.loading import ROOT

FULL = "ptxmma: standard output: No space left on device\n"
CLOSED = "ptxmma: standard output: it is closed\n"
# One quick question of every command that prints.
PRINTS = {
    "list": "movmatrix",
    "show": "movmatrix.sync.aligned.m8n8.trans.b16",
    "legal": "'wgmma.fence.sync.aligned;' --ptx 8.0 --target sm_90a",
    "layout": "movmatrix.sync.aligned.m8n8.trans.b16 --operand d",
    "descriptor": "decode 1",
    "explain": "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 --a 1 --b 1",
    "numerics": "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
    "check": "tests/check/unwaited.ptx",
    "prove": "--list",
    "litmus": "--switches",
    "ordering": "--alphabet",
    "clauses": "",
    "toolchain": "list",
    "contradictions": "",
    "evidence": "--arithmetic",
    "diff": "8.3 8.4",
    "schema": "",
    "completion": "bash",
}
# Those that also write files, or ask other programs; they print as the others do.
WRITE = {"compress", "decompress", "compute", "gen", "run", "assemble", "atlas"}
# The one that answers an editor, and prints for nobody.
ANSWERS = {"lsp"}


def shell(command: str, *before: str) -> tuple[int, str, str]:
    """Run a line of shell; `ptxmma` stands for the command."""
    line = command.replace("ptxmma", f"{sys.executable} -m ptxmma")
    done = subprocess.run(
        ["bash", "-c", "; ".join((*before, line))], capture_output=True, text=True, cwd=ROOT
    )
    return done.returncode, done.stdout, done.stderr


def test_every_command_is_looked_at() -> None:
    assert PRINTS.keys() | WRITE | ANSWERS >= COMMANDS.keys()


@pytest.mark.parametrize("name", PRINTS)
def test_a_full_disk(name: str) -> None:
    assert shell(f"ptxmma {name} {PRINTS[name]} > /dev/full") == (2, "", FULL)


@pytest.mark.parametrize("words", ["--help", "--version", "list --help", "list movmatrix --format json"])
def test_a_full_disk_for_what_the_parser_prints(words: str) -> None:
    assert shell(f"ptxmma {words} > /dev/full") == (2, "", FULL)
    assert shell(f"ptxmma {words} >&-") == (2, "", CLOSED)


def test_closed_streams() -> None:
    assert shell("ptxmma legal --batch - <&-") == (2, "", "ptxmma: standard input: it is closed\n")
    assert shell("ptxmma list movmatrix 2>&-")[:1] == (0,)
    assert shell("ptxmma list nothing --ptx x 2>&-") == (2, "", "")
    assert shell("ptxmma list nothing --ptx x 2>/dev/full") == (2, "", "")
    assert shell("ptxmma list movmatrix <&- >&- 2>&-") == (2, "", "")


def test_no_file_takes_the_number_of_a_closed_stream() -> None:
    program = "from ptxmma.cli import streams; streams.name_streams(); print(open('/dev/null').fileno() > 2)"
    done = subprocess.run(
        ["bash", "-c", f'exec <&- 2>&-; {sys.executable} -c "{program}"'], capture_output=True, text=True
    )
    assert done.stdout == "True\n"


def test_a_reader_that_leaves() -> None:
    """No pass: a gate with `pipefail` would take 0 for one."""
    wide = "layout wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 --operand D --format svg"  # 3 MB
    code, out, err = shell(f"ptxmma {wide} | head -n 1", "set -o pipefail")
    assert (code, err) == (141, "") and out.count("\n") == 1


MATRIX = "layout movmatrix.sync.aligned.m8n8.trans.b16 --operand d"


COLOURED = re.compile(r"\x1b\[[0-9;]*[34][0-9]")
BARE = "env -u NO_COLOR -u FORCE_COLOR"


def test_colours() -> None:
    """Only a terminal gets colours, or one who forces them; NO_COLOR is stronger."""
    sign = "\x1b[30;48;2"
    assert sign not in shell(f"{BARE} ptxmma {MATRIX}")[1]
    assert sign in shell(f"{BARE} FORCE_COLOR=1 ptxmma {MATRIX}")[1]
    on_terminal = f"TERM=xterm script -qec \"$(printf '%q ' {BARE} NO_COLOR=1 ptxmma {MATRIX})\" /dev/null"
    assert not COLOURED.search(shell(on_terminal)[1])


@pytest.mark.parametrize("command", [MATRIX, "evidence movmatrix", "prove 'layout wgmma.d' --solver z3"])
def test_no_color_is_stronger(command: str) -> None:
    assert "\x1b[" in shell(f"{BARE} FORCE_COLOR=1 ptxmma {command}")[1]
    assert not COLOURED.search(shell(f"{BARE} FORCE_COLOR=1 NO_COLOR=1 ptxmma {command}")[1])


def test_what_an_encoding_lacks_is_escaped() -> None:
    code, out, err = shell("PYTHONIOENCODING=ascii ptxmma list movmatrix")
    assert (code, err) == (0, "") and r"\u2026" in out


def test_scripts_show_no_traceback() -> None:
    missing = subprocess.run(
        [sys.executable, ROOT / "bench" / "checker.py", "missing.ptx"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == "ptxmma: missing.ptx: No such file or directory\n"

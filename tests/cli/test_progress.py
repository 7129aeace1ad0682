"""Progress is shown on a terminal's standard error after a second, nowhere else, and nothing of it is left."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

LONG = [sys.executable, "-m", "ptxmma", "litmus", "--format", "json"]
SHORT = [sys.executable, "-m", "ptxmma", "list", "movmatrix"]
COUNTED = """
import time
from ptxmma.cli import main
from ptxmma.spec.workers import pool
def work(words):
    from ptxmma.cli import progress
    progress.show("ptxmma prove")
    with pool(2) as executor:
        list(executor.map(time.sleep, [0.1] * 39 + [1.0]))
    print("answer")
    progress.hide()
    return 0
main._run = work
main.entry()
"""


def on_a_terminal(words: list[str], output: bool, **variables: str) -> tuple[str, str]:
    """What a command writes to a terminal that is its standard error, and to a pipe or the same terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words,
        stdout=theirs if output else subprocess.PIPE,
        stderr=theirs,
        text=True,
        env={**os.environ, "TERM": "xterm", **variables},
    )
    os.close(theirs)
    written = process.communicate()[0] or ""
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # a terminal without a process
        pass
    os.close(ours)
    assert process.returncode == 0
    return shown.decode(), written


def left(shown: str) -> str:
    """What stands on the screen in the end: `\\r` and "erase the line" take a line away."""
    return re.sub(r"[^\n]*\r\x1b\[2K", "", shown.replace("\r\n", "\n"))


def test_work_is_counted_and_nothing_is_left() -> None:
    shown, written = on_a_terminal([sys.executable, "-c", COUNTED], output=False)
    counts = [int(count) for count in re.findall(r"\r\x1b\[2Kptxmma prove: (\d+) of 40, 0:0\d", shown)]
    assert len(counts) > 3 and counts == sorted(counts) and counts[0] > 5
    assert (left(shown), written) == ("", "answer\n")
    shown, _ = on_a_terminal([sys.executable, "-c", COUNTED], output=True)
    assert left(shown) == "answer\n"


@pytest.mark.slow
def test_a_long_command() -> None:
    shown, _ = on_a_terminal(LONG, output=False)
    assert "\r\x1b[2Kptxmma litmus: 0:01" in shown and left(shown) == ""


def test_a_short_command_shows_nothing() -> None:
    assert on_a_terminal(SHORT, output=False)[0] == ""


def test_nowhere_else() -> None:
    shown, _ = on_a_terminal([sys.executable, "-c", COUNTED], output=False, TERM="dumb")
    assert shown == ""
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("answer\n", "")

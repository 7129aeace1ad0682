"""Ctrl-C and SIGTERM end a command, with all that it started, within a second and with one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ptxmma.assemblers.toolchains import available
from ptxmma.spec.loading import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found by Linux's /proc"),
]
KERNELS = [str(path) for path in sorted((ROOT / "tests" / "kernels").glob("*.ptx"))]
WITH_WORKERS = [
    ("prove",),
    ("ordering", "default"),
    ("evidence", "--universes"),
    ("check", *KERNELS, *KERNELS, *KERNELS),
    pytest.param(("assemble",), marks=pytest.mark.skipif(not available(), reason="no ptxas is here")),
]


@contextmanager
def started(words: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in a session of its own, to which Ctrl-C is not ignored."""
    process = subprocess.Popen(
        words,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )
    try:
        yield process
    finally:
        with process:
            for left in session(process.pid):
                os.kill(left, signal.SIGKILL)


def session(leader: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(name))
    return found


def waited(process: subprocess.Popen[str], processes: int) -> None:
    """Wait until a session has so many processes."""
    for _ in range(600):
        assert process.poll() is None, process.communicate()
        if len(session(process.pid)) >= processes:
            return
        time.sleep(0.05)
    raise AssertionError("it starts no workers")


def ended(process: subprocess.Popen[str]) -> tuple[int, str, list[int], float]:
    """Exit code, standard error, the processes that are left, and the seconds that it took."""
    begun = time.monotonic()
    _, said = process.communicate(timeout=30)
    seconds = time.monotonic() - begun
    while (left := session(process.pid)) and time.monotonic() - begun < 2:  # killed, but not gone yet
        time.sleep(0.01)
    return process.returncode, said, left, seconds


def soon(trial: Callable[[], float], limit: float) -> bool:
    """Whether one of three trials takes fewer seconds than that: a machine may stall, a command may not."""
    return any(trial() < limit for _ in range(3))


@pytest.mark.parametrize("whole", [True, False], ids=["group", "parent"])
@pytest.mark.parametrize("words", WITH_WORKERS, ids=lambda words: " ".join(words[:2])[:20])
def test_workers_end_with_the_command(words: tuple[str, ...], whole: bool, tmp_path: Path) -> None:
    if words[0] != "ordering" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core there are no workers")

    def trial() -> float:
        with started([sys.executable, "-m", "ptxmma", *words], tmp_path) as process:
            waited(process, 2)
            (os.killpg if whole else os.kill)(process.pid, signal.SIGINT)
            code, said, left, seconds = ended(process)
        assert (code, said, left) == (130, "ptxmma: interrupted\n", [])
        return seconds

    assert soon(trial, 1)


def test_nothing_is_left_of_a_suite(tmp_path: Path) -> None:
    def trial() -> float:
        with started([sys.executable, "-m", "ptxmma", "gen", "--out", "suite"], tmp_path) as process:
            time.sleep(1.5)
            os.kill(process.pid, signal.SIGTERM)
            code, said, _, seconds = ended(process)
        assert (code, said, list(tmp_path.iterdir())) == (143, "ptxmma: terminated\n", [])
        return seconds

    assert soon(trial, 1)


SWALLOWED = """
class Swallows:
    def __del__(self):
        print("x", flush=True)
        time.sleep(9)

Swallows()
while True:
    time.sleep(9)
"""
WAITING_FOR_A_THREAD = """
with ThreadPoolExecutor() as pool:
    pool.submit(time.sleep, 9)
    print("x", flush=True)
    time.sleep(9)
"""
SOLVING = """
print("x", flush=True)
with ThreadPoolExecutor() as pool:
    pool.submit(subprocess.run, ["sh", "-c", "sleep 9 & sleep 9"]).result()
"""


@pytest.mark.parametrize("text", [SWALLOWED, WAITING_FOR_A_THREAD, SOLVING])
def test_whatever_the_command_does(text: str, tmp_path: Path) -> None:
    """An exception in a finaliser gets lost; a pool waits for its threads; a process has processes."""
    work = text.replace("\n", "\n    ")
    program = (
        "import subprocess, sys, time\nfrom concurrent.futures import ThreadPoolExecutor\n"
        f"from ptxmma.cli import main\ndef work(words):\n    {work}\nmain._run = work\nmain.entry()\n"
    )

    def trial() -> float:
        with started([sys.executable, "-c", program], tmp_path) as process:
            assert process.stdout is not None and process.stdout.readline() == "x\n"
            time.sleep(0.1)
            os.kill(process.pid, signal.SIGINT)
            code, said, left, seconds = ended(process)
        assert (code, said, left) == (130, "ptxmma: interrupted\n", [])
        return seconds

    assert soon(trial, 1.5)


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As under nohup, or for a command that a shell has put into the background."""
    words = ["sh", "-c", f"trap '' INT; exec {sys.executable} -m ptxmma ordering --alphabet"]
    with started(words, tmp_path) as process:
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        code, said, _, _ = ended(process)
    assert (code, said) == (0, "")


def test_while_the_package_is_imported(tmp_path: Path) -> None:
    """The command's first module has begun, and none has been told to listen."""
    slow = "import sys, importlib.abc, os, signal\n"
    slow += "class Interrupts(importlib.abc.MetaPathFinder):\n"
    slow += "    def find_spec(self, name, path, target=None):\n"
    slow += "        if name == 'ptxmma.api': os.kill(os.getpid(), signal.SIGINT)\n"
    slow += "sys.meta_path.insert(0, Interrupts())\n"
    (tmp_path / "sitecustomize.py").write_text(slow)
    for other in ("other", "ptxmma_tools"):
        (tmp_path / f"{other}.py").write_text("import ptxmma\n")
    (tmp_path / "ptxmma").write_text("import ptxmma\n")
    python = ["env", f"PYTHONPATH={tmp_path}:{os.environ.get('PYTHONPATH', '')}", sys.executable]
    for words, is_the_command in (
        (["ptxmma"], True),
        (["-m", "ptxmma"], True),
        (["-m", "ptxmma", "legal", "-m", "other"], True),
        (["-mptxmma"], True),
        (["-m", "ptxmma_tools"], False),
        (["-m", "other", "-m", "ptxmma"], False),
        (["other.py"], False),
    ):
        with started([*python, *words], tmp_path) as one:
            error = one.communicate()[1]
        if is_the_command:
            assert (one.returncode, error) == (130, "ptxmma: interrupted\n"), words
        else:
            assert one.returncode == -2 and "Traceback" in error, words

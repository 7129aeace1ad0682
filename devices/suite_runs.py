"""Run a conformance suite: build it, run it in several processes, confine a device error to its case."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..spec.errors import Question
from ..spec.writing import write_file

__all__ = ["VIAS", "CaseResult", "SuiteFolder", "SuiteOutcome", "execute"]

VIAS = ("ptx", "cubin", "stand-in")
_PROCESSES = 64  # processes one after another, at most
_STARTING = 120.0  # seconds: a process that prints nothing for so long counts as hung
_MISSING = {"ptx": "conformance", "cubin": "cubin", "stand-in": "stand-in"}
_UNABLE, _FAILED, _HUNG = 2, 3, 4


@dataclass(frozen=True)
class CaseResult:
    """The result of a case: passed, failed (with the first wrong elements), or why there is none."""

    case: str
    status: str
    why: str = ""
    count: int = 0
    wrong: tuple[Mapping[str, Any], ...] = ()


@dataclass
class SuiteOutcome:
    """The results by case, the device that gave them, and the seconds that it took."""

    via: str
    results: dict[str, CaseResult] = field(default_factory=dict)
    device: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SuiteFolder:
    """A suite's folder."""

    folder: Path

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """manifest.json; raises Question where there is none."""
        path = self.folder / "manifest.json"
        try:
            manifest: Mapping[str, Any] = json.loads(path.read_text())
        except FileNotFoundError:
            raise Question(f"{self.folder} is not a suite: it has no manifest.json") from None
        except ValueError as error:
            raise Question(f"{path} is not a manifest: {error}") from None
        return manifest

    @property
    def target(self) -> str:
        """The target that the suite was made for."""
        return str(self.manifest["target"])

    @cached_property
    def cases(self) -> dict[str, Mapping[str, Any]]:
        """Every case's kernel, by the case's hash."""
        return {case["case"]: kernel for kernel in self.manifest["kernels"] for case in kernel["cases"]}

    def shards(self, count: int, only: Sequence[str]) -> list[list[str]]:
        """The cases in at most `count` parts of about equal work; the cases of a module stay together."""
        wanted = set(only)
        by_module: dict[str, list[str]] = {}
        for case, kernel in self.cases.items():
            if case in wanted:
                by_module.setdefault(kernel["module"], []).append(case)
        parts: list[list[str]] = [[] for _ in range(min(count, len(by_module)))]
        for cases in sorted(by_module.values(), key=len, reverse=True):
            min(parts, key=len).extend(cases)
        return parts

    def build(self, via: str, jobs: int) -> float:
        """Make the host program and, unless PTX is loaded as it is, the binaries; the seconds it took."""
        began = time.monotonic()
        if not shutil.which("make"):
            raise Question("building a suite needs make and a C++ compiler")
        for goal in dict.fromkeys(("conformance", _MISSING[via])):
            if goal == "cubin" and not shutil.which("nvcc"):
                raise Question("binaries need nvcc; --via ptx does without")
            done = subprocess.run(
                ["make", "-k", f"-j{jobs}", goal],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode and goal == "conformance":
                raise Question(f"make {goal} failed: {_first_error(done.stderr) or done.returncode}")
        return time.monotonic() - began


def _first_error(text: str) -> str:
    """The first line in which a compiler or make says what is wrong, or the last line."""
    lines = text.splitlines()
    return next((line for mark in ("error:", "***") for line in lines if mark in line.lower()), _last(text))


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def execute(
    suite: SuiteFolder,
    via: str,
    only: Sequence[str],
    device: int = 0,
    limit: float = 20.0,
    processes: int = 0,
    report: Callable[[CaseResult], None] = lambda result: None,
) -> SuiteOutcome:
    """Run cases, in a new process after one that failed; raises Question where there is no device."""
    outcome = SuiteOutcome(via)
    began = time.monotonic()
    parts = suite.shards(processes or os.cpu_count() or 1, only)
    shards = [_Shard(suite, via, device, limit, report) for _ in parts]
    with ThreadPoolExecutor(max(1, len(parts))) as pool:
        running = [pool.submit(shard.run, part) for shard, part in zip(shards, parts, strict=True)]
        try:
            for one in running:
                shard = one.result()
                outcome.results |= shard.results
                outcome.device = shard.device or outcome.device
                for name, seconds in shard.seconds.items():
                    outcome.seconds[name] = outcome.seconds.get(name, 0.0) + seconds
        except BaseException:
            for shard in shards:
                shard.stop.set()
            raise
    outcome.seconds["wall"] = time.monotonic() - began
    return outcome


class _Shard:
    """A part of the cases: run in one process after another until each has a result."""

    def __init__(
        self, suite: SuiteFolder, via: str, device: int, limit: float, report: Callable[[CaseResult], None]
    ) -> None:
        self.suite, self.via, self.number, self.limit, self.report = suite, via, device, limit, report
        self.results: dict[str, CaseResult] = {}
        self.seconds: dict[str, float] = {}
        self.device = ""
        self.stop = threading.Event()  # another part met an error that is everyone's, or the user stopped

    def run(self, cases: Sequence[str]) -> _Shard:
        """Run them all."""
        left = list(cases)
        for _ in range(_PROCESSES):
            if not left or self.stop.is_set():
                break
            suspects, why = self._process(left, together=True)
            left = [case for case in left if case not in self.results]
            for suspect in (
                suspects or left[: bool(why)]
            ):  # alone: the case at fault fails again, and is named
                if self.stop.is_set():
                    break
                _, alone = self._process([suspect], together=False)
                if suspect not in self.results:
                    self._keep(CaseResult(suspect, "error", alone or why))
            left = [case for case in left if case not in self.results]
            if not (suspects or why):
                break
        for case in left:
            self._keep(CaseResult(case, "error", f"{_PROCESSES} processes ended before it could be asked"))
        return self

    def _keep(self, result: CaseResult) -> None:
        self.results[result.case] = result
        self.report(result)

    def _process(self, cases: Sequence[str], together: bool) -> tuple[list[str], str]:
        """Run one process; return the cases that it was running when it ended, and why it ended."""
        with tempfile.TemporaryDirectory() as folder:
            chosen = Path(folder) / "cases"
            write_file(chosen, "\n".join(cases) + "\n")
            words = [str(self.suite.folder.resolve() / "conformance"), ".", "--via", self.via]
            words += ["--device", str(self.number), "--only", str(chosen), "--limit", str(self.limit)]
            words += ["--jobs", "1", *([] if together else ["--batch", "1"])]
            errors = (Path(folder) / "errors").open("w+")
            process = subprocess.Popen(
                words, cwd=self.suite.folder, stdout=subprocess.PIPE, stderr=errors, text=True, bufsize=1
            )
            with process, errors:
                suspects = self._listen(process, together)
                code = process.wait()
                errors.seek(0)
                why = _last(errors.read()).removeprefix("conformance: ")
        if code == _UNABLE:
            raise Question(why)
        if code == _HUNG and not suspects:
            why = why or "it did not end"
        if code in (0, 1):
            return [], ""
        return suspects, why or f"the process ended with {code}"

    def _listen(self, process: subprocess.Popen[str], together: bool) -> list[str]:
        """Read the results that a process prints; cases of one failed launch become suspects."""
        suspects = []
        for line in _lines(process, self.limit + _STARTING):
            if not line.endswith("\n"):
                break  # cut off
            said = json.loads(line)
            if "summary" in said:
                self._summary(said["summary"])
            elif said["status"] in ("device-error", "hang") and together and said.get("together", 1) > 1:
                suspects.append(said["case"])
            else:
                wrong = tuple(said.get("wrong", ()))
                self._keep(
                    CaseResult(said["case"], said["status"], said.get("why", ""), said.get("count", 0), wrong)
                )
        return suspects

    def _summary(self, said: Mapping[str, Any]) -> None:
        self.device = said["device"]
        for name in ("load_seconds", "run_seconds", "host_seconds", "device_seconds"):
            if name in said:
                short = name.removesuffix("_seconds")
                self.seconds[short] = self.seconds.get(short, 0.0) + said[name]


def _lines(process: subprocess.Popen[str], silence: float) -> Iterator[str]:
    """The lines that a process prints; the process is killed when it prints nothing for too long."""
    heard = [time.monotonic()]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(1.0):
            if time.monotonic() - heard[0] > silence:
                process.kill()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        for line in process.stdout or ():
            heard[0] = time.monotonic()
            yield line
    finally:
        over.set()
        watcher.join()

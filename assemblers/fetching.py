"""Fetch releases of ptxas from PyPI: pip downloads the wheel, and only ptxas is unpacked into the cache.

All work happens in a temporary folder inside the cache. Only a binary with the recorded hashes (of wheel and
binary) is renamed to its place. So the cache never has half a file, even if several fetch at once or one is
interrupted.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..spec.errors import Question
from .toolchains import PLATFORM, KnownRelease, PtxasPlace, digest, examine, folder

__all__ = ["FetchStage", "Fetched", "fetch"]

FetchStage = Literal["here", "fetching", "unpacking", "fetched", "failed"]
Tell = Callable[[str, FetchStage, int], None]
_TOGETHER = 4
_ABANDONED = 86400.0
_UNREACHED = re.compile(
    r"NewConnectionError|ConnectTimeoutError|NameResolutionError|ProxyError|ReadTimeoutError|"
    r"[Tt]emporary failure in name resolution|[Nn]etwork is unreachable"
)


@dataclass(frozen=True)
class Fetched:
    """The result for one release: its place, or why it could not be fetched."""

    version: str
    path: Path | None
    new: bool
    why: str | None


class _Stopped(Exception):
    """Another release could not be fetched for a reason that holds for all, or the user stopped."""


def fetch(releases: Sequence[KnownRelease], tell: Tell) -> tuple[Fetched, ...]:
    """Fetch releases, several at a time; `tell` hears version, stage and bytes, from any thread."""
    for release in releases:
        if release.build is None:
            raise Question(f"PyPI has no wheel of ptxas {release.version} for {PLATFORM}")
    stop = threading.Event()
    with ThreadPoolExecutor(_TOGETHER) as pool:
        try:
            return tuple(pool.map(lambda release: _one(release, tell, stop), releases))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _one(release: KnownRelease, tell: Tell, stop: threading.Event) -> Fetched:
    target = folder() / release.version / "ptxas"
    why = "not tried"
    try:
        if _is_right(target):
            tell(release.version, "here", 0)
            return Fetched(release.version, target, False, None)
        if stop.is_set():
            raise _Stopped
        with _room() as room:
            wheel = _download(release, room, tell, stop)
            tell(release.version, "unpacking", wheel.stat().st_size)
            _unpack(wheel, release, room, target)
        tell(release.version, "fetched", 0)
        return Fetched(release.version, target, True, None)
    except _Stopped:
        pass
    except Question as error:
        why = str(error)
    except OSError as error:
        why = f"{error.filename or folder()}: {error.strerror or error}"
    tell(release.version, "failed", 0)
    return Fetched(release.version, None, False, why)


def _is_right(target: Path) -> bool:
    try:
        examine(PtxasPlace(target, "cache", target.parent.name))
    except Question:
        return False
    return True


@contextlib.contextmanager
def _room() -> Iterator[Path]:
    """A folder to work in, on the cache's file system; those that a killed fetch left are removed."""
    cache = folder()
    cache.mkdir(parents=True, exist_ok=True)
    for left in cache.glob(".fetch-*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
    room = Path(tempfile.mkdtemp(prefix=".fetch-", dir=cache))
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _pip() -> list[str]:
    """The pip of this interpreter, else one on PATH (any will do: nothing is installed)."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if found is None:
        raise Question("fetching needs pip, which this Python lacks: `python -m ensurepip` brings it")
    return [found]


def _download(release: KnownRelease, room: Path, tell: Tell, stop: threading.Event) -> Path:
    """The wheel, by pip under the user's own configuration."""
    name = f"{release.assembler.package}=={release.version}"
    wheels = room / "wheels"
    options = ["--no-deps", "--only-binary=:all:", "--progress-bar=off", "--disable-pip-version-check"]
    command = [*_pip(), "download", *options, "--no-input", "--dest", str(wheels), name]
    tell(release.version, "fetching", 0)
    with open(os.memfd_create("pip"), "w+b") as output:  # a full disk must not silence it
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(room), "PYTHONUNBUFFERED": "1"},
        )
        try:
            while process.poll() is None:
                if stop.wait(0.1):
                    raise _Stopped
                tell(release.version, "fetching", _size(room))
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        output.seek(0)
        words = output.read().decode("utf-8", "replace")
    found = list(wheels.glob("*.whl"))
    if process.returncode or len(found) != 1:
        if stop.is_set():
            raise _Stopped
        if _UNREACHED.search(words):
            stop.set()  # the other packages cannot be reached either
            raise Question(f"pip reaches no package index that has {name}: is there a network?")
        raise Question(f"pip cannot fetch {name}{_said(words)}")
    return found[0]


def _said(words: str) -> str:
    """The first of pip's errors (the last line of a traceback), without what a URL holds before its host."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    errors = [line for line in lines if re.match("ERROR: (?!Exception:)", line)] or lines[-1:]
    return "".join(f": {re.sub(r'//[^/@ ]*@', '//', line)[:300]}" for line in errors[:1])


def _size(room: Path) -> int:
    """The bytes in a folder whose files come and go."""
    total = 0
    for path, _, files in os.walk(room):
        for file in files:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(path, file)).st_size
    return total


def _unpack(wheel: Path, release: KnownRelease, room: Path, target: Path) -> None:
    """Unpack ptxas from a wheel, if both have the recorded hashes."""
    assert release.build is not None
    found = digest(wheel)
    if found != release.build.wheel:
        right = f"SHA-256 {release.build.wheel}"
        raise Question(f"{wheel.name}, as pip brought it, has SHA-256 {found}; the recorded one has {right}")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/bin/ptxas"))
        binary = room / "binary"
        with archive.open(name) as source, binary.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
            sink.flush()
            os.fsync(sink.fileno())
    if digest(binary) != release.build.ptxas:
        raise Question(f"the ptxas in {wheel.name} is not the recorded one")
    binary.chmod(0o755)
    target.parent.mkdir(exist_ok=True)
    os.replace(binary, target)
    _settle(target.parent)


def _settle(directory: Path) -> None:
    """Make a rename survive a loss of power, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

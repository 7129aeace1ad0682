"""Find every available ptxas: fetched from PyPI's wheels, installed, or on PATH.

A fetched ptxas lies in the cache as <version>/ptxas and is used only while it has the recorded hash. Any
other is asked for its version and for the newest PTX ISA that it knows.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from ..spec.api import load
from ..spec.errors import Question
from ..spec.index import Assembler, Build
from ..spec.nodes import Version

__all__ = ["KnownRelease", "Ptxas", "available", "chosen", "digest", "folder", "known", "locate"]

PLATFORM = f"{sys.platform}-{platform.machine().lower()}"
_PATIENCE = 10.0
_ENOUGH = 1 << 16


@dataclass(frozen=True)
class Ptxas:
    """A ptxas that answered: where it is, its version, and the newest PTX ISA version it knows."""

    path: Path
    version: str
    ptx: Version


@dataclass(frozen=True)
class KnownRelease:
    """A release that specs.yaml lists, with what it brings on this platform (None: no wheel)."""

    version: str
    ptx: Version
    assembler: Assembler
    build: Build | None


@dataclass(frozen=True)
class PtxasPlace:
    """Where a ptxas should lie, and the version it is said to have (None: it must be asked)."""

    path: Path
    source: Literal["cache", "wheel", "PATH"]
    said: str | None


@cache
def known() -> Mapping[str, KnownRelease]:
    """The releases of specs.yaml by version, oldest first."""
    return {
        assembler.version: KnownRelease(
            assembler.version, release.ptx, assembler, assembler.builds.get(PLATFORM)
        )
        for release in load().index.releases
        for assembler in release.assemblers
    }


def folder() -> Path:
    """The cache of fetched releases; PTXMMA_TOOLCHAINS names another."""
    named = os.environ.get("PTXMMA_TOOLCHAINS")
    if named:
        return Path(named).absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("ptxmma")) / "toolchains"


def available() -> tuple[Ptxas, ...]:
    """Every usable ptxas, oldest first, each version once."""
    best: dict[str, Ptxas] = {}
    for place in places():
        with contextlib.suppress(Question):
            ptxas = examine(place)
            best.setdefault(ptxas.version, ptxas)
    return tuple(sorted(best.values(), key=lambda ptxas: numbers(ptxas.version)))


def locate(release: str | None = None, path: Path | None = None) -> Ptxas:
    """The ptxas of a release, named by its own version, its toolkit's or a PTX ISA version.

    None means the newest available one. `path` names the binary to use; it must then be of the release.
    Raises Question when there is none, or when it cannot be used.
    """
    if path is not None:
        ptxas = ask(path)
        if release is not None and not _answers(release, ptxas.version, ptxas.ptx):
            raise Question(f"{path} is ptxas {ptxas.version} (PTX ISA {ptxas.ptx}), not {release}")
        return ptxas
    complaints = []
    best: Ptxas | None = None
    for place in places():
        if best and release is None and place.said and numbers(place.said) <= numbers(best.version):
            continue
        said = known().get(place.said or "")
        if release is not None and said is not None and not _answers(release, said.version, said.ptx):
            continue
        try:
            ptxas = examine(place)
        except Question as error:
            complaints.append(str(error))
            continue
        if release is not None and _answers(release, ptxas.version, ptxas.ptx):
            return ptxas
        if release is None and (best is None or numbers(best.version) < numbers(ptxas.version)):
            best = ptxas
    if best is None:
        raise Question("\n  ".join([_missing(release), *complaints]))
    return best


def places() -> Iterator[PtxasPlace]:
    """Every place of a ptxas: the cache, newest first, then installed wheels, then PATH."""
    cached = folder().glob("[!.]*/ptxas")
    for path in sorted(cached, key=lambda path: numbers(path.parent.name), reverse=True):
        yield PtxasPlace(path, "cache", path.parent.name)
    installed = sorted(_installed(), key=lambda place: numbers(place.said or ""), reverse=True)
    yield from installed
    on_path = shutil.which("ptxas")
    if on_path and Path(on_path).resolve() not in {place.path.resolve() for place in installed}:
        yield PtxasPlace(Path(on_path), "PATH", None)


def examine(place: PtxasPlace) -> Ptxas:
    """The ptxas of a place; raises Question when it cannot be used.

    For a fetched ptxas the recorded hash gives its version and shows that it is whole; any other is asked.
    """
    release = known().get(place.said or "")
    if place.source != "cache" or release is None or release.build is None:
        return ask(place.path)
    mend = f"`ptxmma toolchain fetch {release.version}` mends it"
    try:
        if digest(place.path) != release.build.ptxas:
            raise Question(f"{place.path} is not the binary that its wheel carries; {mend}")
    except OSError as error:
        raise Question(f"{place.path}: {error.strerror}; {mend}") from None
    if not os.access(place.path, os.X_OK):
        raise Question(f"{place.path} is not executable; {mend}")
    return Ptxas(place.path, release.version, release.ptx)


def numbers(version: str) -> tuple[int, ...]:
    """A version for comparison, without its letters."""
    return tuple(map(int, re.findall(r"\d+", version)))


def _answers(release: str, version: str, ptx: Version) -> bool:
    return release in (version, version.rpartition(".")[0], str(ptx))


def chosen(release: str | None) -> KnownRelease:
    """The release of specs.yaml that a version, a toolkit or a PTX ISA version names; None: the newest."""
    matching = [k for k in known().values() if release is None or _answers(release, k.version, k.ptx)]
    if not matching:
        raise Question(_missing(release))
    return max(matching, key=lambda k: numbers(k.version))


def _missing(release: str | None) -> str:
    releases = known()
    if release is None:
        return "there is no ptxas: `ptxmma toolchain fetch` brings one, or name one with --ptxas"
    matching = [k for k in releases.values() if _answers(release, k.version, k.ptx)]
    if matching:
        newest = matching[-1].version
        return f"ptxas {newest} is not here: `ptxmma toolchain fetch {newest}` brings it"
    isa = load().isa
    if re.fullmatch(r"\d+\.\d+", release) and Version.of(release) in isa.versions:
        later = next((k for k in releases.values() if k.ptx > Version.of(release)), None)
        through = f"; read it through {later.version} (PTX ISA {later.ptx})" if later else ""
        return f"PTX ISA {release} has no ptxas of its own on PyPI{through}"
    return f"no ptxas release {release!r} is known; `ptxmma toolchain list` names them all"


def _installed() -> Iterator[PtxasPlace]:
    """The ptxas of every installed wheel of a package that carries one."""
    import importlib.metadata  # slow to import, and most commands ask no assembler

    for package in sorted({release.assembler.package for release in known().values()}):
        try:
            distribution = importlib.metadata.distribution(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in distribution.files or []:
            if file.parts[-2:] == ("bin", "ptxas"):
                yield PtxasPlace(Path(str(file.locate())), "wheel", distribution.version)


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    import hashlib  # slow to import

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ask(path: Path) -> Ptxas:
    """Ask a binary for its version and for the newest PTX ISA it knows; raises Question unless it tells."""
    path = path.absolute()
    words = _words(path, ["--version"])
    told = re.search(r"Ptx optimizing assembler.*\bV(\d+\.\d+\.\d+)\s", words, re.DOTALL)
    if told is None:
        first = next(iter(words.split("\n")), "").strip()[:80]
        raise Question(f"{path} is not a ptxas: asked for its version it says {first!r}")
    # every release names its newest version when it meets a later one (12.0 then dies, having named it)
    refusal = _words(path, ["/dev/stdin", "-o", os.devnull], b".version 99.9\n")
    newest = re.search(r"current version is '(\d+\.\d+)'", refusal)
    if newest is None:
        raise Question(f"{path} (ptxas {told[1]}) does not say which PTX ISA version is its newest")
    return Ptxas(path, told[1], Version.of(newest[1]))


def _words(path: Path, arguments: list[str], text: bytes = b"") -> str:
    """What a program prints, up to a limit of length and of time."""
    try:
        process = subprocess.Popen(
            [path, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise Question(f"{path} cannot be run: {error.strerror}") from None
    late = threading.Event()

    def give_up() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(_PATIENCE, give_up)
    timer.start()
    try:
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it need not read
            process.stdin.write(text)
            process.stdin.close()
        words = process.stdout.read(_ENOUGH)
    finally:
        timer.cancel()
        _kill(process)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    if late.is_set():
        raise Question(f"{path} does not answer within {_PATIENCE:g} s")
    return words.decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

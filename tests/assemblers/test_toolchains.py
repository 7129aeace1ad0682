"""Releases of ptxas are found, asked, and fetched by a fake pip; no failure leaves a half-written file in
use.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from ptxmma.assemblers import fetching, toolchains
from ptxmma.assemblers.toolchains import KnownRelease, Ptxas, PtxasPlace, available, chosen, locate
from ptxmma.spec.errors import Place as Position
from ptxmma.spec.errors import Question
from ptxmma.spec.index import Assembler, Build
from ptxmma.spec.nodes import Version

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
Set = Callable[[str], None]

# version, newest PTX ISA it knows, package: as PyPI and each binary have them
RELEASES = """
11.7.99 7.7 -cu11 | 11.8.89 7.8 -cu11 | 12.0.140 8.0 -cu12 | 12.1.105 8.1 -cu12 | 12.2.140 8.2 -cu12
12.3.107 8.3 -cu12 | 12.4.131 8.4 -cu12 | 12.5.82 8.5 -cu12 | 12.6.85 8.5 -cu12 | 12.8.93 8.7 -cu12
12.9.86 8.8 -cu12 | 13.0.88 9.0 | 13.1.115 9.1 | 13.2.78 9.2 | 13.3.73 9.3 | 13.4.92 9.4 | 13.5.37 9.5
"""
NO_AARCH64 = {"11.7.99", "12.0.140", "12.1.105", "12.2.140"}

FAKE_PTXAS = """#!/bin/sh
if [ "$1" = --version ]; then
  echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'
  echo 'Cuda compilation tools, release {toolkit}, V{version}'
  echo 'Build cuda_{toolkit}.r{toolkit}/compiler.1_0'
else
  echo "ptxas $1, line 1; fatal   : Unsupported .version 99.9; current version is '{ptx}'" >&2
  exit 255
fi
"""

FAKE_PIP = """
import os, pathlib, shutil, sys, time
folder = pathlib.Path(__file__).parent
with open(folder / "calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
mode = (folder / "mode").read_text()
dest, name = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1]), sys.argv[-1]
(wheel,) = folder.glob(name.split("==")[0].replace("-", "_") + "-" + name.split("==")[1] + "-*.whl")
if mode == "hang":
    (pathlib.Path(os.environ["TMPDIR"]) / "part").write_bytes(wheel.read_bytes()[:100])
    (folder / "pid").write_text(str(os.getpid()))
    time.sleep(60)
if mode == "offline":
    print("WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)'")
    sys.exit("ERROR: No matching distribution found for " + name)
if mode == "refuse":
    sys.exit("ERROR: 403 for https://user:secret@example.org/simple")
if mode == "full":
    sys.exit("ERROR: Exception:\\nTraceback (most recent call last):\\nOSError: [Errno 28] No space left on device")
if mode != "nothing":
    dest.mkdir(parents=True)
    shutil.copy(wheel, dest)
if mode == "other":
    (dest / wheel.name).write_bytes(b"another wheel")
"""


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def fake(path: Path, version: str, ptx: str) -> Path:
    toolkit = version.rpartition(".")[0]
    return script(path, FAKE_PTXAS.format(version=version, toolkit=toolkit, ptx=ptx))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Bench:
    """A cache, a PATH and an index of two releases, all of them fake."""

    def __init__(self, root: Path) -> None:
        self.cache, self.bin, self.pip = root / "cache", root / "bin", root / "pip"
        self.bin.mkdir(parents=True)
        self.pip.mkdir()
        (self.pip / "calls").touch()
        self.known: dict[str, KnownRelease] = {}
        self.mode("serve")
        script(self.pip / "pip.py", FAKE_PIP)
        for version, ptx in (("12.3.107", "8.3"), ("12.4.131", "8.4")):
            self.release(version, ptx)

    def release(self, version: str, ptx: str) -> None:
        binary = fake(self.pip / "ptxas", version, ptx).read_bytes() + b"#" * 300_000
        wheel = self.pip / f"nvidia_cuda_nvcc_cu12-{version}-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("nvidia/cuda_nvcc/bin/nvcc", b"not wanted")
            archive.writestr("nvidia/cuda_nvcc/bin/ptxas", binary)
        build = Build(sha256(wheel.read_bytes()), wheel.stat().st_size, sha256(binary))
        builds = {toolchains.PLATFORM: build}
        assembler = Assembler("nvidia-cuda-nvcc-cu12", version, builds, Position("", 1, 1))
        self.known[version] = KnownRelease(version, Version.of(ptx), assembler, build)

    def mode(self, mode: str) -> None:
        (self.pip / "mode").write_text(mode)

    def calls(self) -> list[str]:
        return (self.pip / "calls").read_text().splitlines()

    def files(self) -> list[str]:
        return sorted(str(p.relative_to(self.cache)) for p in self.cache.rglob("*") if p.is_file())

    def fetch(self, *versions: str) -> tuple[fetching.Fetched, ...]:
        return fetching.fetch([self.known[version] for version in versions], lambda *_: None)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench(tmp_path)
    monkeypatch.setenv("PTXMMA_TOOLCHAINS", str(made.cache))
    monkeypatch.setenv("PATH", str(made.bin))
    monkeypatch.setattr(toolchains, "known", lambda: made.known)
    monkeypatch.setattr(toolchains, "_installed", lambda: iter(()))
    monkeypatch.setattr(fetching, "_pip", lambda: [sys.executable, str(made.pip / "pip.py")])
    return made


# the record


def test_the_seventeen_releases() -> None:
    typed = [entry.split() for line in RELEASES.strip().splitlines() for entry in line.split("|")]
    expected = [(e[0], e[1], "nvidia-cuda-nvcc" + (e[2] if len(e) == 3 else "")) for e in typed]
    known = list(toolchains.known().values())
    assert [(k.version, str(k.ptx), k.assembler.package) for k in known] == expected
    assert len(known) == 17
    builds = [build for k in known for build in k.assembler.builds.values()]
    hashes = [sha for build in builds for sha in (build.wheel, build.ptxas)]
    assert all(len(sha) == 64 and set(sha) <= set("0123456789abcdef") for sha in hashes)
    assert len(set(hashes)) == 2 * (17 + 13)
    assert all(15_000_000 < build.bytes < 60_000_000 for build in builds)
    for k in known:
        assert k.version.startswith(f"{k.assembler.toolkit}.")
        platforms = {"linux-x86_64"} if k.version in NO_AARCH64 else {"linux-x86_64", "linux-aarch64"}
        assert set(k.assembler.builds) == platforms


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("12.4.131", "12.4.131"), ("12.4", "12.4.131"), ("8.4", "12.4.131"), ("8.5", "12.6.85"),
        ("12.5", "12.5.82"), ("9.5", "13.5.37"), ("11.7", "11.7.99"), (None, "13.5.37"),
    ],
)  # fmt: skip
def test_what_names_a_release(name: str | None, version: str) -> None:
    assert chosen(name).version == version


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("8.6", "PTX ISA 8.6 has no ptxas of its own on PyPI; read it through 12.8.93"),
        ("6.5", "read it through 11.7.99 (PTX ISA 7.7)"),
        ("12.4.1", "'12.4.1' is known"), ("12", "'12'"), ("9.6", "'9.6'"), ("", "''"), ("x", "'x'"), ("1.4", "'1.4'"),
    ],
)  # fmt: skip
def test_what_names_none(name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXMMA_TOOLCHAINS", str(tmp_path))
    for ask in (chosen, locate):
        with pytest.raises(Question) as told:
            ask(name)
        assert words in str(told.value)


def test_the_real_ones_are_what_the_record_says() -> None:
    real = available()
    if not real:
        pytest.skip("no ptxas here: `pip install ptxmma[assembler]` or `ptxmma toolchain fetch --all`")
    for ptxas in real:
        assert toolchains.ask(ptxas.path) == ptxas
        assert locate(ptxas.version).version == ptxas.version


# finding


def test_nothing_is_here(bench: Bench, run: Run) -> None:
    assert available() == ()
    for name, words in ((None, "there is no ptxas"), ("8.4", "`ptxmma toolchain fetch 12.4.131` brings it")):
        with pytest.raises(Question, match=words):
            locate(name)
    code, out, _ = run("toolchain", "list")
    assert (code, out.splitlines()[-1], out.count("not here")) == (0, "0 can be used", 2)


def test_on_path(bench: Bench) -> None:
    path = fake(bench.bin / "ptxas", "12.4.99", "8.4")
    expected = Ptxas(path, "12.4.99", Version(8, 4))
    assert available() == (expected,)
    for name in (None, "12.4.99", "12.4", "8.4"):
        assert locate(name) == expected
    with pytest.raises(Question, match=r"ptxas 12\.4\.131 is not here"):
        locate("12.4.131")


def test_a_release_from_after_the_record(bench: Bench) -> None:
    path = fake(bench.bin / "ptxas", "14.0.7", "10.12")
    bench.fetch("12.4.131")
    assert locate() == Ptxas(path, "14.0.7", Version(10, 12))
    assert locate("10.12").path == locate("14.0").path == path
    assert [ptxas.version for ptxas in available()] == ["12.4.131", "14.0.7"]


def test_the_cache_comes_first_then_wheels_then_path(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_path = fake(bench.bin / "ptxas", "12.4.131", "8.4")
    assert locate("8.4").path == on_path
    wheel = fake(tmp_path / "site/nvidia/bin/ptxas", "12.4.131", "8.4")
    monkeypatch.setattr(toolchains, "_installed", lambda: iter([PtxasPlace(wheel, "wheel", "12.4.131")]))
    assert locate("8.4").path == locate().path == wheel
    bench.fetch("12.4.131")
    cached = bench.cache / "12.4.131" / "ptxas"
    assert locate("8.4").path == locate().path == cached
    assert [ptxas.path for ptxas in available()] == [cached]


def test_an_installed_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake(tmp_path / "site/nvidia/cuda_nvcc/bin/ptxas", "11.7.99", "7.7")
    info = tmp_path / "site" / "nvidia_cuda_nvcc_cu11-11.7.99.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-cuda-nvcc-cu11\nVersion: 11.7.99\n")
    (info / "RECORD").write_text("nvidia/cuda_nvcc/bin/ptxas,,\nnvidia/cuda_nvcc/bin/nvcc,,\n")
    monkeypatch.setenv("PTXMMA_TOOLCHAINS", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(path.parent))  # the same file again: asked once
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert [place.source for place in toolchains.places() if place.path == path] == ["wheel"]
    assert locate("7.7") == Ptxas(path, "11.7.99", Version(7, 7))


def test_another_version_in_the_cache_is_asked(bench: Bench) -> None:
    path = fake(bench.cache / "12.4.99" / "ptxas", "12.4.99", "8.4")
    assert locate("12.4") == Ptxas(path, "12.4.99", Version(8, 4))


# asking


def lines(*commands: str) -> str:
    return "\n".join(["#!/bin/sh", *commands, ""])


SAYS = "echo 'NVIDIA (R) Ptx optimizing assembler'; echo 'release 12.4, V12.4.131'"
BAD = {
    "rubbish": (lines("echo hello; exit 3"), "is not a ptxas: asked for its version it says 'hello'"),
    "nothing": (lines("exit 0"), "is not a ptxas: asked for its version it says ''"),
    "bytes": (lines(r"printf '\377\000\033[31m\n'"), "is not a ptxas"),
    "endless": (
        lines("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"),
        "is not a ptxas",
    ),
    "dies": (lines("kill -SEGV $$"), "is not a ptxas"),
    "half a version": (
        lines("echo 'Ptx optimizing assembler'; echo 'release 12.4, V12.4'"),
        "is not a ptxas",
    ),
    "hangs": (lines("/bin/sleep 30 & wait"), "does not answer within"),
    "hangs later": (
        lines(f"if [ $1 = --version ]; then {SAYS}; else /bin/sleep 30; fi"),
        "does not answer within",
    ),
    "knows no PTX": (lines(SAYS), "does not say which PTX ISA version"),
    "no interpreter": ("#!/no/such\n", "cannot be run: No such file"),
    "no program": ("\x00\x01", "cannot be run: Exec format error"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_ptxas(name: str, bench: Bench, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("hangs"):
        monkeypatch.setattr(toolchains, "_PATIENCE", 0.3)
    text, words = BAD[name]
    path = script(bench.bin / "ptxas", text)
    begun = time.monotonic()
    with pytest.raises(Question) as told:
        locate(None, path)
    assert words in str(told.value) and str(path) in str(told.value)
    assert "\x1b" not in str(told.value)
    assert time.monotonic() - begun < 25  # they sleep for 30
    code, out, err = run("toolchain", "list", "--ptxas", str(path))
    assert (code, out) == (2, "") and words in err
    # the same on PATH: told, and no hindrance to what is cached
    assert available() == ()
    with pytest.raises(Question) as told:
        locate()
    assert "there is no ptxas" in str(told.value) and words in str(told.value)
    bench.fetch("12.4.131")
    assert locate().version == "12.4.131"
    code, out, _ = run("toolchain", "list", "--format", "json")
    (broken,) = [entry for entry in json.loads(out) if entry["source"] == "PATH"]
    assert code == 0 and words in broken["why"] and broken["version"] is None


@pytest.mark.parametrize("kind", ["absent", "plain", "folder"])
def test_what_cannot_be_run(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "ptxas"
    if kind == "plain":
        path.write_text("x")
    if kind == "folder":
        path.mkdir()
    with pytest.raises(Question, match=r"cannot be run: (No such file|Permission denied)"):
        locate(None, path)


def test_a_given_one_must_be_of_the_release(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake(bench.bin / "other", "12.3.107", "8.3")
    for name in (None, "8.3", "12.3", "12.3.107"):
        assert locate(name, path).version == "12.3.107"
    with pytest.raises(Question, match=r"is ptxas 12\.3\.107 \(PTX ISA 8\.3\), not 8\.4"):
        locate("8.4", path)
    monkeypatch.chdir(bench.bin)
    assert locate(None, Path("other")).path == path  # not looked for on PATH


# fetching


def test_fetch(bench: Bench, run: Run) -> None:
    code, out, err = run("toolchain", "fetch", "8.4", "12.4", "12.4.131")
    assert (code, err) == (0, "")
    assert out.startswith(
        f"12.4.131  fetched: {bench.cache}/12.4.131/ptxas\n1 fetched, 0 were here, 0 failed; "
    )
    assert bench.files() == ["12.4.131/ptxas"]
    assert os.access(bench.cache / "12.4.131" / "ptxas", os.X_OK)
    (call,) = bench.calls()
    assert call.startswith("download --no-deps --only-binary=:all: ") and call.endswith(
        " nvidia-cuda-nvcc-cu12==12.4.131"
    )
    code, out, _ = run("toolchain", "fetch", "--all")
    assert code == 0 and "12.4.131  was here" in out and "1 fetched, 1 were here, 0 failed" in out
    assert len(bench.calls()) == 2
    assert [(p.version, str(p.ptx)) for p in available()] == [("12.3.107", "8.3"), ("12.4.131", "8.4")]
    assert locate().version == "12.4.131"


def test_fetch_the_newest(bench: Bench, run: Run) -> None:
    assert run("toolchain", "fetch")[0] == 0
    assert bench.files() == ["12.4.131/ptxas"]


@pytest.mark.parametrize("arguments", [["8.6"], ["--all", "8.4"], ["8.4", "nonsense"]])
def test_fetch_what_there_is_not(arguments: list[str], bench: Bench, run: Run) -> None:
    code, out, err = run("toolchain", "fetch", *arguments)
    assert (code, out, bench.calls()) == (2, "", []) and err.startswith("ptxmma: ")


def test_a_platform_without_wheels(bench: Bench, run: Run) -> None:
    known = bench.known["12.4.131"]
    bench.known["12.4.131"] = KnownRelease(known.version, known.ptx, known.assembler, None)
    code, _, err = run("toolchain", "fetch", "8.4")
    assert code == 2 and f"PyPI has no wheel of ptxas 12.4.131 for {toolchains.PLATFORM}" in err
    assert "no wheel for this platform" in run("toolchain", "list")[1]
    assert run("toolchain", "fetch", "--all")[0] == 0
    assert bench.files() == ["12.3.107/ptxas"]


def test_list_as_json(bench: Bench, run: Run) -> None:
    bench.fetch("12.4.131")
    fake(bench.bin / "ptxas", "14.0.7", "10.0")
    code, out, _ = run(
        "toolchain", "list", "--format", "json", "--ptxas", str(fake(bench.bin / "x", "12.3.107", "8.3"))
    )
    entries = json.loads(out)
    valid("toolchain-list", entries)
    assert code == 0
    assert [(entry["version"], entry["source"], entry["fetchable"]) for entry in entries] == [
        ("12.3.107", "given", True), ("12.4.131", "cache", True), ("14.0.7", "PATH", False),
    ]  # fmt: skip


# what goes wrong


def test_another_wheel(bench: Bench, run: Run) -> None:
    bench.mode("other")
    code, _, err = run("toolchain", "fetch", "8.4")
    assert code == 2 and f"has SHA-256 {sha256(b'another wheel')}" in err
    assert bench.known["12.4.131"].build is not None and bench.known["12.4.131"].build.wheel in err
    assert bench.files() == [] and available() == ()


def test_another_binary_in_the_right_wheel(bench: Bench, run: Run) -> None:
    known = bench.known["12.4.131"]
    assert known.build is not None
    build = Build(known.build.wheel, known.build.bytes, "0" * 64)
    bench.known["12.4.131"] = KnownRelease(known.version, known.ptx, known.assembler, build)
    code, _, err = run("toolchain", "fetch", "8.4")
    assert code == 2 and "is not the recorded one" in err and bench.files() == []


@pytest.mark.parametrize("harm", ["truncated", "changed", "empty", "mode", "folder"])
def test_a_spoilt_cache_is_not_used_and_mended(harm: str, bench: Bench, run: Run) -> None:
    bench.fetch("12.3.107", "12.4.131")
    path = bench.cache / "12.4.131" / "ptxas"
    whole = path.read_bytes()
    if harm == "mode":
        path.chmod(0o644)
    elif harm == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes({"truncated": whole[:-1], "changed": whole[:-1] + b"\n", "empty": b""}[harm])
    with pytest.raises(Question, match=r"`ptxmma toolchain fetch 12\.4\.131` mends it"):
        locate("8.4")
    assert locate().version == "12.3.107"
    assert [p.version for p in available()] == ["12.3.107"]
    code, out, _ = run("toolchain", "list")
    assert code == 0 and "unusable: " in out and "1 can be used" in out
    if harm != "folder":  # which is nobody's half-written file
        assert run("toolchain", "fetch", "8.4")[0] == 0
        assert locate("8.4").path.read_bytes() == whole


def test_no_network(bench: Bench, run: Run) -> None:
    bench.fetch("12.3.107")
    bench.mode("offline")
    code, out, err = run("toolchain", "fetch", "--all")
    assert code == 2 and "12.3.107  was here" in out
    assert "pip reaches no package index that has nvidia-cuda-nvcc-cu12==12.4.131: is there a network?" in err
    assert locate("8.3").version == locate().version == "12.3.107"
    assert bench.files() == ["12.3.107/ptxas"]


def test_without_a_network_not_all_are_tried(bench: Bench) -> None:
    for patch in range(12):
        bench.release(f"11.0.{patch}", "7.0")
    bench.mode("offline")
    fetched = bench.fetch(*bench.known)
    assert all(one.path is None for one in fetched)
    assert len(bench.calls()) < len(bench.known)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (
            "refuse",
            "pip cannot fetch nvidia-cuda-nvcc-cu12==12.4.131: ERROR: 403 for https://example.org/simple",
        ),
        ("full", "==12.4.131: OSError: [Errno 28] No space left on device"),
        ("nothing", "pip cannot fetch nvidia-cuda-nvcc-cu12==12.4.131"),
    ],
)
def test_pip_fails(mode: str, words: str, bench: Bench, run: Run) -> None:
    bench.mode(mode)
    code, _, err = run("toolchain", "fetch", "8.4")
    assert code == 2 and words in err and "secret" not in err and bench.files() == []


def test_which_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert fetching._pip() == [sys.executable, "-m", "pip"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/pip" if name == "pip" else None)
    assert fetching._pip() == ["/bin/pip"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Question, match="fetching needs pip"):
        fetching._pip()


def test_the_disk_is_full(bench: Bench, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(source: IO[bytes], sink: IO[bytes], length: int = 0) -> None:
        sink.write(source.read(1000))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    bench.fetch("12.3.107")
    monkeypatch.setattr(shutil, "copyfileobj", half)
    code, _, err = run("toolchain", "fetch", "8.4")
    assert code == 2 and f"{bench.cache}: No space left on device" in err
    assert bench.files() == ["12.3.107/ptxas"] and not list(bench.cache.glob(".fetch-*"))
    assert locate().version == "12.3.107"


@pytest.mark.parametrize("kind", ["a file", "below a file"])
def test_the_cache_cannot_be_written(
    kind: str, bench: Bench, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = bench.bin / "plain"
    plain.write_text("x")
    monkeypatch.setenv("PTXMMA_TOOLCHAINS", str(plain if kind == "a file" else plain / "below"))
    code, _, err = run("toolchain", "fetch", "8.4")
    assert code == 2 and str(plain) in err and "Traceback" not in err
    assert run("toolchain", "list")[0] == 0


# interrupted and concurrent

DRIVER = """
import os, pathlib, shutil, signal, sys
from ptxmma.assemblers import fetching, toolchains
from ptxmma.cli.main import main
from ptxmma.spec.errors import Place
from ptxmma.spec.index import Assembler, Build
from ptxmma.spec.nodes import Version

folder, when, wheel, binary = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
build = Build(wheel, 1, binary)
assembler = Assembler("nvidia-cuda-nvcc-cu12", "12.4.131", {toolchains.PLATFORM: build}, Place("", 1, 1))
toolchains.known = lambda: {"12.4.131": toolchains.KnownRelease("12.4.131", Version(8, 4), assembler, build)}
fetching._pip = lambda: [sys.executable, folder + "/pip.py"]

def die(*ignored):
    os.kill(os.getpid(), signal.SIGKILL)

def half(source, sink, length):
    sink.write(source.read(1000))
    sink.flush()
    die()

if when == "while unpacking":
    shutil.copyfileobj = half
if when == "before the rename":
    os.replace = die
if when == "after the rename":
    fetching._settle = die
raise SystemExit(main(["toolchain", "fetch", "12.4"]))
"""


def drive(bench: Bench, when: str) -> subprocess.Popen[str]:
    build = bench.known["12.4.131"].build
    assert build is not None
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(bench.pip), when, build.wheel, build.ptxas],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(true: Callable[[], bool]) -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it does not come about")


def alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("when", ["while unpacking", "before the rename", "after the rename"])
def test_killed(when: str, bench: Bench) -> None:
    process = drive(bench, when)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    if when == "after the rename":
        assert locate("8.4").version == "12.4.131"
        return
    assert any(name.startswith(".fetch-") for name in bench.files())
    assert available() == () and [place.path for place in toolchains.places()] == []
    bench.fetch("12.4.131")
    assert locate("8.4").path.parent.name == "12.4.131"


def test_killed_while_pip_downloads(bench: Bench) -> None:
    bench.mode("hang")
    process = drive(bench, "never")
    until((bench.pip / "pid").exists)
    process.kill()
    process.communicate()
    pip = int((bench.pip / "pid").read_text())
    os.kill(pip, signal.SIGKILL)
    assert available() == ()
    for room in bench.cache.glob(".fetch-*"):
        os.utime(room, (0, 0))  # long ago
    bench.mode("serve")
    bench.fetch("12.4.131")
    assert bench.files() == ["12.4.131/ptxas"]  # what was left is gone


def test_interrupted_by_the_user(bench: Bench) -> None:
    bench.mode("hang")
    process = drive(bench, "never")
    until(lambda: (bench.pip / "pid").exists() and bool((bench.pip / "pid").read_text()))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "ptxmma: interrupted\n")
    assert bench.files() == [] and not alive(int((bench.pip / "pid").read_text()))


def test_many_at_once(bench: Bench) -> None:
    processes = [drive(bench, "never") for _ in range(4)]
    path = bench.cache / "12.4.131" / "ptxas"
    build = bench.known["12.4.131"].build
    assert build is not None
    seen = set()
    while any(process.poll() is None for process in processes):
        if path.exists():
            seen.add(toolchains.digest(path))
        time.sleep(0.001)
    for process in processes:
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "") and "0 failed" in out
    assert seen <= {build.ptxas} and toolchains.digest(path) == build.ptxas
    assert bench.files() == ["12.4.131/ptxas"]


def test_many_threads_at_once(bench: Bench) -> None:
    results: list[fetching.Fetched] = []
    threads = [
        threading.Thread(target=lambda: results.extend(bench.fetch("12.4.131", "12.3.107"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8 and all(one.why is None for one in results)
    assert bench.files() == ["12.3.107/ptxas", "12.4.131/ptxas"]

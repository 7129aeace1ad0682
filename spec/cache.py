"""A cache of values made from YAML files, keyed by the content of those files.

The key hashes the YAML, the code that reads it and the interpreter's version, so an entry can never be stale.
An entry that cannot be read or written is ignored. The cache saves the reading of YAML, which takes most of a
short command's time. So this module imports nothing that a warm cache does not need.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import source_hash
from pathlib import Path
from typing import TypeVar

from .instead import reads_instead

__all__ = ["PACKAGE", "ROOT", "cache_folder", "cached", "yaml_files"]

PACKAGE = Path(__file__).resolve().parent.parent
# The folder with specs.yaml that all commands read: the package's own, unless this variable names another.
ROOT = Path(os.environ.get("PTXMMA_SPECIFICATION") or PACKAGE)
_KEPT = 4
T = TypeVar("T")


def yaml_files(root: Path = ROOT) -> tuple[Path, ...]:
    """Every YAML file of the specification under `root`."""
    return (root / "specs.yaml", *sorted(root.glob("spec/**/*.yaml")))


def cached(name: str, kind: type[T], make: Callable[[], T], files: Iterable[Path]) -> T:
    """The value that `make` makes from `files`, or its cached copy. List code outside `spec` in `files`."""
    if reads_instead():
        return make()
    try:
        path = cache_folder() / f"{name}-{_key(files)}.pickle"
    except OSError:
        return make()
    try:
        with path.open("rb") as file:
            found = pickle.load(file)
        if isinstance(found, kind):
            return found
    except Exception:  # no entry, or one that cannot be used: make it
        pass
    made = make()
    with contextlib.suppress(OSError):  # a full disk or a read-only home costs time only
        _write(path, name, made)
    return made


def _key(files: Iterable[Path]) -> str:
    """The hash by which Python itself knows whether source has changed: quick, and imported already."""
    return source_hash(b"\n".join((sys.version.encode(), *_code(), *_contents(files)))).hex()


@cache
def _code() -> tuple[bytes, ...]:
    return _contents(sorted(Path(__file__).resolve().parent.glob("*.py")))


def _contents(files: Iterable[Path]) -> tuple[bytes, ...]:
    return tuple(b"%b\n%b" % (path.name.encode(), path.read_bytes()) for path in files)


def cache_folder() -> Path:
    """Where the operating system wants caches; on Linux without platformdirs, which is slow to import."""
    if sys.platform != "linux":
        import platformdirs

        return Path(platformdirs.user_cache_dir("ptxmma"))
    return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache").expanduser() / "ptxmma"


def _write(path: Path, kind: str, made: object) -> None:
    """Write beside, then rename: a half-written entry is never seen. Old entries are dropped."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{kind}-")
    try:
        with os.fdopen(handle, "wb") as file:
            pickle.dump(made, file, protocol=pickle.HIGHEST_PROTOCOL)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    entries = sorted(path.parent.glob(f"{kind}-{'?' * 16}.pickle"), key=lambda p: p.stat().st_mtime)
    for old in entries[:-_KEPT]:
        old.unlink(missing_ok=True)

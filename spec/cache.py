"""A cache of what is made from the specification, keyed by the content of every file it was made from.

The key hashes the YAML, the code that reads it and the interpreter's version, so an entry can never
be stale; one that cannot be read or written is passed over. Reading YAML takes most of a short
command's time, which is all that this saves.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .loading import ROOT, load_files
from .specification import Specification

__all__ = ["cached", "load_cached"]

_KEPT = 4
T = TypeVar("T")


def _key(root: Path, code: tuple[Path, ...]) -> str:
    digest = hashlib.sha256(f"{sys.version}".encode())
    for path in (
        *sorted(Path(__file__).resolve().parent.glob("*.py")),
        *code,
        root / "specs.yaml",
        *sorted(root.glob("spec/**/*.yaml")),
    ):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("ptxmma"))


def load_cached(root: Path = ROOT) -> Specification:
    """The specification under `root`; raises SpecError like load_files when it is wrong."""
    return cached("specification", Specification, lambda: load_files(root), root)


def cached(
    name: str, kind: type[T], make: Callable[[], T], root: Path = ROOT, code: tuple[Path, ...] = ()
) -> T:
    """Something made from the specification under `root` by this package's code and by `code`."""
    try:
        path = _folder() / f"{name}-{_key(root, code)}.pickle"
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


def _write(path: Path, kind: str, made: object) -> None:
    """Write beside, then rename: a half-written entry is never seen. Old entries are dropped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{kind}-")
    try:
        with os.fdopen(handle, "wb") as file:
            pickle.dump(made, file, protocol=pickle.HIGHEST_PROTOCOL)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    entries = sorted(
        path.parent.glob(f"{kind}-????????????????????????????????.pickle"), key=lambda p: p.stat().st_mtime
    )
    for old in entries[:-_KEPT]:
        old.unlink(missing_ok=True)

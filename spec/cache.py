"""A cache of the checked specification, keyed by the content of every file it was made from.

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
from pathlib import Path

from .loading import ROOT, Specification, load_files

__all__ = ["load_cached"]

_KEPT = 4


def _key(root: Path) -> str:
    digest = hashlib.sha256(f"{sys.version}".encode())
    code = Path(__file__).resolve().parent
    for path in (
        *sorted(code.glob("*.py")),
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
    try:
        path = _folder() / f"specification-{_key(root)}.pickle"
    except OSError:
        return load_files(root)
    try:
        with path.open("rb") as file:
            found = pickle.load(file)
        if isinstance(found, Specification):
            return found
    except Exception:  # no entry, or one that cannot be used: read the YAML
        pass
    specification = load_files(root)
    with contextlib.suppress(OSError):  # a full disk or a read-only home costs time only
        _write(path, specification)
    return specification


def _write(path: Path, specification: Specification) -> None:
    """Write beside, then rename: a half-written entry is never seen. Old entries are dropped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".specification-")
    try:
        with os.fdopen(handle, "wb") as file:
            pickle.dump(specification, file, protocol=pickle.HIGHEST_PROTOCOL)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    entries = sorted(path.parent.glob("specification-*.pickle"), key=lambda p: p.stat().st_mtime)
    for old in entries[:-_KEPT]:
        old.unlink(missing_ok=True)

"""Nodes that are read in place of files: a mutation run reads a changed file that lies on no disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["instead_of", "read_instead", "reads_instead"]

_NODES: dict[Path, object] = {}


def read_instead(nodes: Mapping[Path, object]) -> None:
    """Read these root nodes in place of the files, in this process and from now on.

    What was read before stays as it was: call it in a process of its own, and clear its caches.
    """
    _NODES.update(nodes)


def instead_of(path: Path) -> object | None:
    """The node that is read in place of a file; None where the file itself is read."""
    return _NODES.get(path)


def reads_instead() -> bool:
    """Whether any file is replaced: then no cache of the disk may answer."""
    return bool(_NODES)

"""Nodes that are read in place of files: a mutation run reads a changed file that lies on no disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .lazy_dataclass import dataclass

__all__ = ["KeptFiles", "instead_of", "keep_others", "kept_of", "read_instead", "reads_instead"]

_NODES: dict[Path, object] = {}
_KEPT: dict[Path, KeptFiles] = {}


@dataclass(frozen=True)
class KeptFiles:
    """A Specification that was read before, and the files that are others now.

    Its type is not named: that module reads files, and so imports this one.
    """

    specification: Any
    changed: frozenset[str]


def read_instead(nodes: Mapping[Path, object]) -> None:
    """Read these root nodes in place of the files, in this process and from now on.

    What was read before stays as it was: call it in a process of its own, and clear its caches.
    """
    _NODES.update(nodes)


def keep_others(root: Path, specification: Any, changed: frozenset[str]) -> None:
    """Take what all files under `root` but the changed ones say from a specification that was read before."""
    _KEPT[root] = KeptFiles(specification, changed)


def kept_of(root: Path) -> KeptFiles | None:
    """What is known of the files under `root` that did not change; None: every file is read."""
    return _KEPT.get(root)


def instead_of(path: Path) -> object | None:
    """The node that is read in place of a file; None where the file itself is read."""
    return _NODES.get(path)


def reads_instead() -> bool:
    """Whether any file is replaced: then no cache of the disk may answer."""
    return bool(_NODES)

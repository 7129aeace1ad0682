"""Read the specification of a checkout or a git revision, to compare two of them."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

from ..spec.api import load_cached
from ..spec.errors import Question, SpecError
from ..spec.loading import PACKAGE
from ..spec.specification import Specification
from ..spec.writing import write_folder

__all__ = ["read"]

_INDEX = "specs.yaml"


def read(name: str) -> Specification:
    """The specification of a folder that holds specs.yaml, or of a revision of the repository.

    The repository is the one around the current folder if it holds a specification, else ptxmma's own.
    Raises Question for anything else, and for wrong files, with the place of the fault.
    """
    folder = Path(name)
    if name and (folder / _INDEX).is_file():
        return _load(folder, f"{folder}/")
    repository = _repository()
    if repository is None:
        raise Question(f"{name!r} is not a folder with a {_INDEX}, and there is no git repository here")
    commit = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if commit is None:
        raise Question(f"{name!r} is neither a folder with a {_INDEX} nor a revision of {repository}")
    archive = _git(repository, "archive", "--format=tar", commit.decode().strip(), _INDEX, "spec")
    if archive is None:
        raise Question(f"the revision {name} of {repository} has no {_INDEX}")
    with tempfile.TemporaryDirectory(prefix="ptxmma-") as unpacked:
        _unpack(archive, Path(unpacked))
        return _load(Path(unpacked), f"{name}:")


def _load(root: Path, prefix: str) -> Specification:
    """The specification under a folder; an error names the file in full."""
    try:
        return load_cached(root)
    except SpecError as error:
        raise Question(f"{prefix}{'' if error.place else ' '}{error.render()}") from None


def _unpack(archive: bytes, folder: Path) -> None:
    """Write the YAML files of an archive; a link or anything else that is not a file is left out."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() and member.name.endswith(".yaml") else None
            if file is not None:
                write_folder(folder, [(member.name, file.read())])


def _repository() -> Path | None:
    """The git repository to ask: the current folder's if it holds a specification, else ptxmma's."""
    for folder in (Path.cwd(), PACKAGE):
        top = _git(folder, "rev-parse", "--show-toplevel")
        if top is not None:
            found = Path(top.decode(errors="surrogateescape").rstrip("\n"))
            if (found / _INDEX).is_file():
                return found
    return None


def _git(folder: Path, *arguments: str) -> bytes | None:
    """What git prints; None when it fails. Raises Question when there is no git."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True)
    except OSError as error:
        raise Question(f"git cannot be run: {error.strerror}") from None
    except ValueError:  # a null byte
        return None
    return done.stdout if done.returncode == 0 else None

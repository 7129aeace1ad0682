"""All files of the site, and the folder that they are written to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..spec.errors import Question
from ..spec.specification import Specification
from ..spec.writing import write_folder
from .files import Atlas, AtlasFile, AtlasPage, data_file
from .frame import framed
from .page_index import page_index
from .sections import (
    arithmetic,
    changes,
    contradictions,
    descriptors,
    documents,
    home,
    instructions,
    layouts,
    order,
    rules,
    sparse,
    theorems,
)

__all__ = ["AREAS", "files", "require_ours", "write"]

Section = Callable[[Atlas], Iterable[AtlasPage | AtlasFile]]

# The navigation: where an entry leads, and its name.
AREAS = (
    ("index.html", "Search"),
    ("layouts.html", "Layouts"),
    ("sparse.html", "Sparse"),
    ("descriptors.html", "Descriptors"),
    ("arithmetic.html", "Arithmetic"),
    ("order.html", "Order"),
    ("changes.html", "Changes"),
    ("register.html", "Register"),
    ("theorems.html", "Proofs"),
    ("docs.html", "Docs"),
)
_SECTIONS: tuple[Section, ...] = (
    home.made,
    instructions.made,
    layouts.made,
    sparse.made,
    descriptors.made,
    arithmetic.made,
    order.made,
    rules.made,
    changes.made,
    contradictions.made,
    theorems.made,
    documents.made,
)

# Written beside the pages: the site's own files, by which a folder is known to be ours.
_LIST = ".ptxmma-atlas"
_COPIED = {"scripts": "*.js", "styles": "*.css"}


def files(specification: Specification) -> Iterator[AtlasFile]:
    """Every file of the site, the same for the same specification."""
    atlas = Atlas(specification, AREAS)
    for folder, pattern in _COPIED.items():
        for path in sorted((Path(__file__).parent / folder).glob(pattern)):
            yield AtlasFile(f"{folder}/{path.name}", path.read_text(encoding="utf-8"))
    pages: list[AtlasPage] = []
    for section in _SECTIONS:
        for one in section(atlas):
            if isinstance(one, AtlasPage):
                pages.append(one)
            yield framed(atlas, one) if isinstance(one, AtlasPage) else one
    yield data_file("pages", page_index(specification, pages))


def require_ours(folder: Path) -> None:
    """Raises Question where a folder holds anything else than a site."""
    _earlier(folder)


def write(folder: Path, made: Iterable[AtlasFile]) -> int:
    """Write the site whole, or nothing; returns the number of files.

    A folder that an earlier call wrote is brought up to date. Raises Question where the folder holds anything
    else, or cannot be written.
    """
    earlier = _earlier(folder)
    content = {one.path: one.content for one in made}
    content[_LIST] = "\n".join(sorted(content)) + "\n"
    write_folder(folder, content.items())
    for name in earlier - set(content):
        (folder / name).unlink(missing_ok=True)
    return len(content) - 1


def _earlier(folder: Path) -> set[str]:
    """The files of the site that stands there; none where there is none."""
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise Question(f"{folder} is a file; the site needs a folder")
    try:
        listed = (folder / _LIST).read_text(encoding="utf-8").splitlines()
    except OSError:
        if any(folder.iterdir()):
            raise Question(f"{folder} holds something else; name a new or an empty folder") from None
        return set()
    return {name for name in listed if ".." not in Path(name).parts and not Path(name).is_absolute()}

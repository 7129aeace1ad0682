"""docs/architecture.md names every folder of the package, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxmma.spec.loading import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
FOLDERS = re.findall(r"^\| `(\S+)/` \|", PAGE, re.M)
NAMED = sorted(set(re.findall(r"`([\w/]+(?:\.py|\.yaml|/))`", PAGE)))


def test_every_package_has_its_line() -> None:
    packages = {str(path.parent.relative_to(ROOT)) for path in ROOT.glob("*/**/__init__.py")}
    packages = {name for name in packages if not name.startswith((".", "cache", "build"))}
    within = {
        name for name in packages if name.startswith("formal/ordering/")
    }  # the page has a table of its own
    assert {f"formal/ordering/{name}" for name in ("phases", "rings", "states", "symbolic")} == within
    assert packages - within <= set(FOLDERS)
    assert len(FOLDERS) == len(set(FOLDERS)) > 20


@pytest.mark.parametrize("name", NAMED)
def test_what_the_page_names_is_there(name: str) -> None:
    assert (ROOT / name).exists() or (ROOT / "formal" / "ordering" / name).exists()


def test_names_are_found() -> None:
    assert len(NAMED) > 50


LISTING = [ROOT / "check", *(path.parent for path in sorted((ROOT / "check").glob("*/__init__.py")))]
LISTING += [ROOT / "formal" / "ordering" / name for name in ("", "phases", "rings", "states", "symbolic")]


@pytest.mark.parametrize("folder", LISTING, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_a_folder_says_in_which_order_to_read_its_modules(folder: Path) -> None:
    words = set(re.findall(r"\w+", (folder / "__init__.py").read_text()))
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert modules and modules - words == set()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "formal" / "ordering").rglob("*.py")), ids=lambda path: path.stem
)
def test_every_module_of_the_models_is_named_there_or_in_its_folder(path: object) -> None:
    name = str(path).split("formal/ordering/")[1]
    words = PAGE + (ROOT / "formal" / "ordering" / "__init__.py").read_text()
    assert name.endswith("__init__.py") or name in words or name.removesuffix(".py") in words, name

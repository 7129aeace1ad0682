"""What pip installs: ranges, both of whose ends CI tests, and types that a type checker finds."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ptxmma.spec.loading import PACKAGE

PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
NEEDED = [Requirement(text) for text in PROJECT["dependencies"]]


def constraints(name: str) -> dict[str, str]:
    """The exact version of each package in a file of constraints/."""
    lines = (PACKAGE / "constraints" / f"{name}.txt").read_text().splitlines()
    pinned = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line) for line in lines if not line.startswith("#")]
    return {canonicalize_name(m[1]): m[2] for m in pinned if m}


OLDEST, NEWEST = constraints("oldest"), constraints("newest")


@pytest.mark.parametrize("needed", NEEDED, ids=lambda needed: needed.name)
def test_each_dependency_is_a_range_of_whose_ends_both_are_tested(needed: Requirement) -> None:
    name = canonicalize_name(needed.name)
    ends = {one.operator: one.version for one in needed.specifier}
    assert set(ends) == {">=", "<"}
    # the lower end is the version that CI tests, but for zeros at its end
    assert re.fullmatch(re.escape(ends[">="]) + r"(\.0)*", OLDEST[name])
    assert needed.specifier.contains(OLDEST[name]) and needed.specifier.contains(NEWEST[name])
    assert OLDEST[name] != NEWEST[name]


def test_the_oldest_ends_are_of_dependencies_only() -> None:
    assert set(OLDEST) == {canonicalize_name(needed.name) for needed in NEEDED}


def test_every_development_tool_has_its_version() -> None:
    tools = [Requirement(text) for text in PROJECT["optional-dependencies"]["dev"]]
    assert [t.name for t in tools if t.name != "ptxmma" and canonicalize_name(t.name) not in NEWEST] == []
    assert len(tools) > 8


def test_the_folder_to_import_from_holds_the_checkout_under_its_name() -> None:
    # An editable install is then one line of a .pth file, which type checkers follow, and not an import hook.
    setting = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    assert setting == {"": ".import"}
    assert (PACKAGE / ".import" / "ptxmma").resolve() == PACKAGE.resolve()


def test_every_package_is_in_the_wheel() -> None:
    named = set(tomllib.loads((PACKAGE / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {path.parent for path in PACKAGE.glob("*/**/__init__.py")} | {PACKAGE}
    packages = {".".join(("ptxmma", *path.relative_to(PACKAGE).parts)) for path in found}
    assert {
        name for name in packages if not name.startswith(("ptxmma..", "ptxmma.build", "ptxmma.tests"))
    } == named

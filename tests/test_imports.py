"""Folders depend on one another one way, modules not in a circle, and a class name means one thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import pytest

from ptxmma.spec.loading import ROOT

# Each folder, and the folders that it may import: the table of docs/architecture.md. What is missing there is an arrow
# that nobody may draw: nothing imports upwards, and none of check, assemblers and devices imports another of the three.
(ARROWS,) = re.findall(
    r"<!-- arrows -->\n```\n(.*?)```", (ROOT / "docs" / "architecture.md").read_text(), re.S
)
ALLOWED = {line.split()[0]: frozenset(line.split()[1:]) for line in ARROWS.strip().splitlines()}

# Libraries that a folder does without: the specification is read by all, also where no solver is.
FOREIGN = {"spec": frozenset({"z3", "cvc5", "sympy", "numpy"})}

# The modules at the root. `import ptxmma` gives the API, api.py; `python -m ptxmma` is the command line.
ENTRANCES = {"ptxmma": "api", "ptxmma.api": "api", "ptxmma.__main__": "cli"}
FOLDERS = frozenset(ALLOWED) - {"api"}


@dataclass(frozen=True)
class Arrow:
    """One import: a module, what it imports, and the line that does."""

    module: str
    imports: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.imports}"


def sources() -> dict[str, str]:
    """The text of every module of the package, by dotted name."""
    files = {"ptxmma": "__init__.py", "ptxmma.api": "api.py", "ptxmma.__main__": "__main__.py"}
    found = {name: ROOT / file for name, file in files.items()}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(("ptxmma", *(part for part in parts if part != "__init__")))] = path
    return {name: path.read_text() for name, path in found.items()}


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def arrows(modules: Mapping[str, str]) -> Iterator[Arrow]:
    """Every import of every module, those within functions and under TYPE_CHECKING too."""
    folders = frozenset(name.rpartition(".")[0] for name in modules)
    for name, text in modules.items():
        for line, level, module, imported in imports_of(text):
            if module is None and not level:
                yield Arrow(name, imported, line)
                continue
            base = module or ""
            if level:
                parts = name.split(".") + ([""] if name in folders else [])
                base = ".".join(part for part in (*parts[:-level], module) if part)
            inner = f"{base}.{imported}"
            yield Arrow(name, inner if inner in modules else base, line)


@cache
def imports_of(text: str) -> list[tuple[int, int, str | None, str]]:
    """Line, level, module and imported name of every import; a plain import has no level and no module."""
    found: list[tuple[int, int, str | None, str]] = []
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, 0, None, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.lineno, node.level, node.module, alias.name) for alias in node.names]
    return found


def folder(module: str) -> str:
    return ENTRANCES.get(module) or module.split(".")[1]


def forbidden(modules: Mapping[str, str]) -> list[str]:
    """The arrows that the table at the top does not allow."""
    return [
        str(arrow)
        for arrow in arrows(modules)
        if arrow.imports.split(".")[0] == "ptxmma"
        and folder(arrow.imports) not in ALLOWED[folder(arrow.module)] | {folder(arrow.module)}
    ]


def strangers(modules: Mapping[str, str]) -> list[str]:
    """The imports of libraries that a folder does without."""
    return [
        str(arrow)
        for arrow in arrows(modules)
        if arrow.imports.split(".")[0] in FOREIGN.get(folder(arrow.module), frozenset())
    ]


def circle(modules: Mapping[str, str]) -> list[str]:
    """The modules of one circle of imports, first and last the same; empty where there is none."""
    imports: dict[str, set[str]] = {name: set() for name in modules}
    for arrow in arrows(modules):
        if arrow.imports in modules and arrow.imports != arrow.module:
            imports[arrow.module].add(arrow.imports)
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for other in sorted(imports[name]):
                if found := visit(other, [*path, name]):
                    return found
            done.add(name)
        return []

    return next((found for name in sorted(imports) if (found := visit(name, []))), [])


def class_names(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """The modules that define each class name at their top level: classes, and aliases of types."""
    found: dict[str, list[str]] = {}
    for module, text in modules.items():
        for node in parsed(text).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name) and is_class_name(target.id):
                        found.setdefault(target.id, []).append(module)
    return found


def is_class_name(name: str) -> bool:
    """CamelCase: what a person reads as a type. (Constants have no small letter, functions no large one first.)"""
    bare = name.lstrip("_")
    return bare[:1].isupper() and any(letter.islower() for letter in bare)


@pytest.fixture(scope="module")
def modules() -> dict[str, str]:
    return sources()


def test_all_of_the_package_is_looked_at(modules: dict[str, str]) -> None:
    assert len(modules) > 200
    assert {folder(name) for name in modules} == set(ALLOWED)
    of_the_root = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert of_the_root == FOLDERS, "a new package needs its line in the table of arrows"
    assert len(class_names(modules)) > 300
    assert len(list(arrows(modules))) > 1000


def test_folders_depend_one_way(modules: dict[str, str]) -> None:
    assert forbidden(modules) == []


def test_the_table_has_no_arrow_both_ways() -> None:
    assert list(ALLOWED) == [
        name for name in ALLOWED if ALLOWED[name] <= set(list(ALLOWED)[: list(ALLOWED).index(name)])
    ]


def test_the_specification_is_read_without_a_solver(modules: dict[str, str]) -> None:
    assert strangers(modules) == []


def test_no_circle_of_modules(modules: dict[str, str]) -> None:
    assert circle(modules) == []


def test_one_class_name_is_one_thing(modules: dict[str, str]) -> None:
    twice = {name: where for name, where in class_names(modules).items() if len(where) > 1}
    assert twice == {}


# The tests above can fail: each finds what is planted.


@pytest.mark.parametrize(
    ("module", "text", "arrow"),
    [
        ("ptxmma.spec.model", "from ..gen import suite", "ptxmma.spec.model:1 imports ptxmma.gen.suite"),
        ("ptxmma.spec.model", "def f():\n    import ptxmma.cli.main", "ptxmma.spec.model:2 imports ptxmma.cli.main"),
        ("ptxmma.check.ptx.source", "from ...devices.gpu import Gpu", "ptxmma.check.ptx.source:1 imports ptxmma.devices.gpu"),
        ("ptxmma.api", "from .cli.main import main", "ptxmma.api:1 imports ptxmma.cli.main"),
        ("ptxmma.audit.checkouts", "from ..api import legal", "ptxmma.audit.checkouts:1 imports ptxmma.api"),
        ("ptxmma.gen.suite", "from ...check import rules", "ptxmma.gen.suite:1 imports ptxmma.check.rules"),
        (
            "ptxmma.formal.prove",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..gen.kernels.statement import x",
            "ptxmma.formal.prove:3 imports ptxmma.gen.kernels.statement",
        ),
    ],
)  # fmt: skip
def test_a_planted_arrow_is_found(modules: dict[str, str], module: str, text: str, arrow: str) -> None:
    assert module in modules
    assert forbidden({**modules, module: text}) == [arrow]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("ptxmma.spec.gates", "import numpy as np"),
        ("ptxmma.spec.maps", "def f():\n    from z3.z3util import get_vars"),
    ],
)
def test_a_planted_library_is_found(modules: dict[str, str], module: str, text: str) -> None:
    assert len(strangers({**modules, module: text})) == 1


def test_a_planted_circle_is_found(modules: dict[str, str]) -> None:
    a, b = "ptxmma.check.walks.stages", "ptxmma.check.walks.walk_plan"
    planted = {**modules, a: "from .walk_plan import x", b: "def late():\n    from . import stages"}
    assert circle(planted) in ([a, b, a], [b, a, b])


def test_a_planted_name_is_found(modules: dict[str, str]) -> None:
    planted = {**modules, "ptxmma.check.rules": "class Specification: ..."}
    assert (
        "Specification" in class_names(modules)
        and "ptxmma.check.rules" not in class_names(modules)["Specification"]
    )
    assert len(class_names(planted)["Specification"]) == 2

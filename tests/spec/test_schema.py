"""The JSON Schema as an editor uses it: each YAML file names its schema, and a misspelled key fails."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from referencing import Registry, Resource

from ptxmma.check.rule_texts import FILES as RULES
from ptxmma.ledger.contradiction_file import FILES as CONTRADICTIONS
from ptxmma.spec.loading import ROOT
from ptxmma.spec.schema import FILES, kinds, modeline, schema_of
from ptxmma.spec.yaml_docs import markdown

MORE = {**CONTRADICTIONS, **RULES}
ALL = {**FILES, **MORE}
LONGEST = 140  # characters of a line of YAML


def yaml_files() -> Iterator[tuple[str, str]]:
    """Every YAML file of the specification with its kind."""
    for kind in ALL:
        for path in sorted(ROOT.glob(kind)):
            name = path.relative_to(ROOT).as_posix()
            if name == kind or name not in ALL:
                yield name, kind


PAIRS = list(yaml_files())


@pytest.fixture(scope="module")
def registry() -> Registry[Any]:
    """The committed schema, where the schemas of the kinds refer to it."""
    shared = json.loads((ROOT / "spec" / "schema.json").read_text(encoding="utf-8"))
    resource: Resource[Any] = Resource.from_contents(shared)
    found: Registry[Any] = Registry().with_resource("https://ptxmma/spec/schema.json", resource)
    return found


def _validator(path: Path, registry: Registry[Any]) -> jsonschema.Draft202012Validator:
    schema = json.loads(path.read_text(encoding="utf-8"))
    schema["$id"] = f"https://ptxmma/{path.relative_to(ROOT).as_posix()}"
    return jsonschema.Draft202012Validator(schema, registry=registry)


def test_every_file_is_looked_at() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "spec").rglob("*.yaml")}
    assert {name for name, _ in PAIRS} == {*found, "specs.yaml", *MORE}


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_a_file_satisfies_the_schema_that_it_names(name: str, kind: str, registry: Registry[Any]) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    assert first == modeline(name, kind)
    schema = (ROOT / name).parent / first.partition("$schema=")[2]
    assert schema.resolve() == ROOT / schema_of(kind)
    validator = _validator(schema.resolve(), registry)
    value = yaml.safe_load(text)
    validator.validate(value)
    misspelled = 0
    for spoilt in _misspelled(value):
        misspelled += 1
        assert not validator.is_valid(spoilt)
    assert misspelled


def _misspelled(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The value with the first key misspelled, and with the deepest first key of a record so."""
    first, *rest = value
    yield {f"{first}s": value[first], **{key: value[key] for key in rest}}
    for key in ("rows", "instructions"):
        if isinstance(value.get(key), list) and isinstance(value[key][0], dict):
            spoilt = copy.deepcopy(value)
            wanted = "count" if "count" in spoilt[key][0] else "when"
            spoilt[key][0]["cuont"] = spoilt[key][0].pop(wanted)
            yield spoilt


def test_the_committed_files_are_derived(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    assert run("schema", "--write", str(tmp_path))[0] == 0
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.suffix == ".json" for path in written) == 1 + len(kinds(MORE))
    pages = {path.relative_to(tmp_path).as_posix() for path in written if path.suffix == ".md"}
    assert {
        "docs/yaml.md",
        "docs/rules.md",
        "docs/exit-codes.md",
        "docs/api/functions.md",
        "docs/api/classes.md",
    } <= pages
    for path in written:
        committed = ROOT / path.relative_to(tmp_path)
        assert path.read_text(encoding="utf-8") == committed.read_text(encoding="utf-8")
    assert {path.name for path in (ROOT / "spec" / "schemas").iterdir()} == {
        path.name for path in (tmp_path / "spec" / "schemas").iterdir()
    }
    assert run("schema", "--markdown")[1] == markdown(MORE)


def test_a_folder_that_cannot_be_written(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = run("schema", "--write", str(tmp_path / "file"))
    assert code == 2 and "cannot be written" in err


def test_a_parameter_stands_for_a_value_in_shared_files_only(registry: Registry[Any]) -> None:
    validator = _validator(ROOT / schema_of("spec/instructions/*.yaml"), registry)
    value = yaml.safe_load((ROOT / "spec/instructions/movmatrix.yaml").read_text(encoding="utf-8"))
    value["operands"]["d"]["part"] = "<part>"
    assert validator.is_valid(value)
    value["operands"]["d"]["part"] = "part"
    assert not validator.is_valid(value)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_no_line_is_long(name: str, kind: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").split("\n")
    assert [number for number, line in enumerate(lines, 1) if len(line) > LONGEST] == []

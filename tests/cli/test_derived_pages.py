"""The pages that are derived from code, the API's examples, and the schemas of answers."""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Callable

import jsonschema
import pytest

import ptxmma
import ptxmma.api
from ptxmma.cli.commands import COMMANDS
from ptxmma.spec.loading import ROOT

Run = Callable[..., tuple[int, str, str]]
API = (ROOT / "docs" / "api" / "functions.md").read_text()
CLASSES = (ROOT / "docs" / "api" / "classes.md").read_text()


def test_every_exported_name_has_its_section() -> None:
    sections = set(re.findall(r"^## (\w+)$", API + CLASSES, re.M))
    assert set(ptxmma.__all__) - {"__version__"} <= sections
    assert (
        "legal(statement: str, ptx: str | None = None, target: str | None = None, *, idesc: int | None" in API
    )


def test_every_function_has_an_example_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = doctest.testmod(ptxmma.api, extraglobs={"ptxmma": ptxmma})
    assert done.failed == 0 and done.attempted >= 18
    sections = re.split(r"^## ", API, flags=re.M)[1:]
    lacking = [part.split("\n")[0] for part in sections if "\n```python\n" in part and ">>> " not in part]
    assert lacking == []


def test_every_command_has_its_exit_codes() -> None:
    page = (ROOT / "docs" / "exit-codes.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \| [^|]+ \|$", page, re.M) == list(COMMANDS)


def test_the_schema_of_an_answer(run: Run) -> None:
    code, out, _ = run("schema", "--answers", "legal")
    _, answer, _ = run("legal", "wgmma.fence.sync.aligned;", "--format", "json")
    schema = json.loads(out)
    jsonschema.validate(json.loads(answer), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({}, schema)
    assert code == 0


def test_the_page_on_json_names_every_schema(run: Run) -> None:
    names = set(json.loads(run("schema", "--answers")[1])["$defs"])
    rows = re.findall(r"^\| (`.+?) \| ", (ROOT / "docs" / "json.md").read_text(), re.M)
    assert set(re.findall(r"`([\w-]+)`", " ".join(rows))) == names
    code, _, told = run("schema", "--answers", "nosuch")
    assert code == 2 and "there is no schema 'nosuch'" in told

"""The recipes of docs/guides/ci.md work as written, but for the one address that the page names."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ptxmma.check.rules import rules
from ptxmma.spec.loading import ROOT

Run = Callable[..., tuple[int, str, str]]
ADDRESS: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
PAGE = (ROOT / "docs" / "guides" / "ci.md").read_text()
WORKFLOW, PRE_COMMIT = (
    yaml.load(b, yaml.BaseLoader) for b in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.S | re.M)
)
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
GOOD = """\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry good()
{
    wgmma.fence.sync.aligned;
    ret;
}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's project with one PTX file, in which commands run."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "good.ptx").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spoil(project: Path) -> None:
    shutil.copy(ROOT / "tests" / "check" / "unwaited.ptx", project / "kernels" / "bad.ptx")


def test_the_workflow_installs_and_checks(run: Run, project: Path) -> None:
    (job,) = WORKFLOW["jobs"].values()
    install, check = [shlex.split(step["run"]) for step in job["steps"] if "run" in step]
    assert WORKFLOW["env"] == {"PTXMMA": ADDRESS} and install == ["pip", "install", "git+$PTXMMA"]
    assert check[0] == "ptxmma" and run(*check[1:])[0] == 0
    spoil(project)
    code, out, _ = run(*check[1:])
    assert code == 1 and "::error file=kernels/bad.ptx,line=17" in out


def test_the_hook_checks_the_files_that_pre_commit_hands_it(run: Run, project: Path) -> None:
    (repository,) = PRE_COMMIT["repos"]
    assert repository["repo"] == ADDRESS and repository["hooks"] == [{"id": HOOK["id"]}]
    command, *words = shlex.split(HOOK["entry"])
    assert (command, HOOK["language"]) == ("ptxmma", "python")

    def handed() -> list[str]:
        names = sorted(path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file())
        return [name for name in names if re.search(HOOK["files"], name)]

    (project / "kernels" / "notes.ptx.txt").write_text("not PTX")
    assert run(*words, *handed())[0] == 0
    spoil(project)
    code, out, _ = run(*words, *handed())
    assert code == 1 and "kernels/bad.ptx:17:5: error accumulator-in-flight" in out


def test_one_place_is_left_to_fill_in() -> None:
    pages: dict[str, Any] = {path.name: path.read_text() for path in (ROOT / "docs").rglob("*.md")}
    assert [name for name, text in pages.items() if re.search(r"\bOWNER\b|\bREVISION\b", text)] == []
    assert [name for name, text in pages.items() if "example.com" in text] == ["ci.md"]
    assert f"Wherever `{ADDRESS}` stands on this page" in PAGE


def test_the_address_is_one_and_contributing_says_where_it_stands() -> None:
    """Nobody has to look for a second address on the day that there is one."""
    base = ADDRESS.removesuffix(".git")
    assert base in (ROOT / "CONTRIBUTING.md").read_text()
    assert {rule.address for rule in rules().values()} == {f"{base}/rules/{name}.html" for name in rules()}

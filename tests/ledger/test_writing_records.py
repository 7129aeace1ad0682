"""Records are written into a checkout, or where one is told: never into an installed package."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmma.ledger import records
from ptxmma.ledger.solver_record import SolverRecord, load_answers, write_answers
from ptxmma.spec.errors import Question

Run = Callable[..., tuple[int, str, str]]
ANSWERS = SolverRecord("z3", "4.0", "2026-01-02", {"layout.injective": {"00ff": "unsat"}})


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package as a wheel has it: its folder holds no pyproject.toml."""
    own = tmp_path / "site-packages" / "ptxmma" / "evidence"
    monkeypatch.setattr(records, "PACKAGE", own.parent)
    monkeypatch.setattr(records, "ROOT", own.parent)
    monkeypatch.setattr(records, "_OWN", own)
    return own


def test_an_installed_package_keeps_its_evidence(installed: Path) -> None:
    with pytest.raises(
        Question, match=r"an installed ptxmma keeps its evidence; name a folder .*PTXMMA_EVIDENCE="
    ):
        write_answers(ANSWERS, installed)
    assert not installed.exists()


def test_a_folder_that_is_named_gets_the_record(installed: Path, tmp_path: Path) -> None:
    path = write_answers(ANSWERS, tmp_path / "mine")
    assert json.loads(path.read_text())["tool"] == {"name": "z3", "version": "4.0"}
    assert load_answers(tmp_path / "mine") == (ANSWERS,)


def test_a_checkout_gets_the_record(installed: Path) -> None:
    installed.parent.mkdir(parents=True)
    (installed.parent / "pyproject.toml").touch()
    assert write_answers(ANSWERS, installed).parent == installed


def test_evidence_is_not_about_another_specification(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.parent.mkdir(parents=True)
    (installed.parent / "pyproject.toml").touch()
    monkeypatch.setattr(records, "ROOT", tmp_path)
    with pytest.raises(Question, match="it is about another specification"):
        write_answers(ANSWERS, installed)


@pytest.mark.parametrize(
    "words", [("prove", "--record"), ("run", "--record"), ("evidence", "--record", "13.5.37")], ids=" ".join
)
def test_a_command_says_so_before_it_begins(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def refused() -> None:
        raise Question("name a folder")

    def begun(*_: object) -> None:
        raise AssertionError("it has begun")

    monkeypatch.setattr(records, "require_writable", refused)
    monkeypatch.setattr("ptxmma.cli.evidence_answers.require_writable", refused)
    monkeypatch.setattr("ptxmma.formal.prove.prove", begun)
    monkeypatch.setattr("ptxmma.devices.gpu.find_gpu", begun)
    monkeypatch.setattr("ptxmma.cli.evidence_answers.observe", begun)
    code, out, told = run(*words)
    assert (code, out) == (2, "") and told.endswith("name a folder\n")

"""Fixtures: the specification, a copy of its files to spoil, and the command line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import ptxmma
from ptxmma.cli.main import main
from ptxmma.spec.loading import ROOT
from ptxmma.spec.specification import Specification

# No deadline for examples, and no limit on drawing them: a busy machine is slow.
settings.register_profile("ptxmma", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ptxmma")


@pytest.fixture(scope="session")
def specification() -> Specification:
    return ptxmma.load()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A copy of the YAML that a test may spoil."""
    root = tmp_path / "files"
    shutil.copytree(ROOT / "spec", root / "spec", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(ROOT / "specs.yaml", root / "specs.yaml")
    return root


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process: exit code, standard output, standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        output = capsys.readouterr()
        return code, output.out, output.err

    return call

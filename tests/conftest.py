"""Fixtures: the specification, a copy of its files to spoil, and the command line."""

from __future__ import annotations

import gc
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import ptxmma
from ptxmma.cli.main import main
from ptxmma.spec.loading import ROOT, load_files
from ptxmma.spec.specification import Specification

# No deadline for examples, and no limit on drawing them: a busy machine is slow. No database: what failed in one
# checkout would fail there again and pass everywhere else. The seed, which a failure prints, is enough.
settings.register_profile(
    "ptxmma", deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("ptxmma")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """One seed for all drawn examples, so that a run can be repeated. No garbage collection, a tenth of the time:
    the first command that a test runs in this process would turn it off.
    """
    gc.disable()
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(secrets.randbelow(1 << 32))


@pytest.fixture(scope="module", autouse=True)
def _nothing_to_scan() -> None:
    """hypothesis looks through all objects, once a thread, for who holds its random numbers: a second each time."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Collect the garbage, which shows what was never closed; pytest would collect it five times."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """How to draw the same examples again, where something failed."""
    if exitstatus:
        terminalreporter.write_line(
            f"drawn examples again: pytest --hypothesis-seed={config.option.hypothesis_seed}"
        )


@pytest.fixture(scope="session")
def specification() -> Specification:
    return ptxmma.load()


@pytest.fixture(scope="session")
def read_once() -> None:
    """Read the files, so that of a spoilt copy only what is spoilt is read."""
    load_files()


@pytest.fixture
def files(tmp_path: Path, read_once: None) -> Path:
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

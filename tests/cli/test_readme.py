"""What the README shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator

import pytest

from ptxmma.spec.loading import ROOT

README = (ROOT / "README.md").read_text()


def shown() -> Iterator[tuple[str, str]]:
    """Every `$ ptxmma …` of a block, with what stands below it."""
    for block in re.findall(r"^```\n(.*?)^```", README, re.S | re.M):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@pytest.mark.parametrize(("command", "output"), list(shown()))
def test_the_readme_shows_what_is_printed(
    run: Callable[..., tuple[int, str, str]], command: str, output: str
) -> None:
    command, _, first = command.partition(" | head -")
    program, *words = shlex.split(command)
    assert program == "ptxmma"
    _, printed, _ = run(*words)
    lines = printed.strip("\n").split("\n")
    assert lines[: int(first) if first else None] == output.strip("\n").split("\n")


def test_the_python_example_holds() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", README, re.S | re.M)
    exec(example, {})


def test_every_command_is_named() -> None:
    from ptxmma.cli.main import _COMMANDS

    assert [name for name in _COMMANDS if f"ptxmma {name}" not in README] == []

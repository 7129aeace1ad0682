"""The command line itself: help, suggestions, options anywhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ptxmma.cli.commands import COMMANDS
from ptxmma.cli.parser import build_parser
from ptxmma.spec.loading import ROOT

Run = Callable[..., tuple[int, str, str]]


def test_every_module_of_a_command_is_in_the_table() -> None:
    modules = {path.stem.removesuffix("_command") for path in (ROOT / "cli").glob("*_command.py")}
    assert modules == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(run: Run, name: str) -> None:
    code, out, err = run(name, "--help")
    assert (code, err) == (0, "")
    assert run("help", name) == (0, out, "")
    assert f"examples:\n  ptxmma {name}" in out and "exit codes:\n  0  " in out


def test_help_of_all(run: Run) -> None:
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert all(
        f"\n    {name} " in out and command.help in out
        for name, command in COMMANDS.items()
        if len(name) < 12
    )
    assert run("help") == (0, out, "")
    assert run() == (2, "", out)


def test_version(run: Run) -> None:
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert out.startswith("ptxmma ") and out.split()[1][0].isdigit()


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("layuot",), "layout"),
        (("help", "layuot"), "layout"),
        (("toolchain", "fetsh"), "fetch"),
        (("list", "--formt", "json"), "--format"),
        (("list", "--format", "jsno"), "json"),
        (("prove", "--solver", "cvc4"), "cvc5"),
    ],
)
def test_the_nearest_word_is_suggested(run: Run, words: tuple[str, ...], near: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.endswith(f"; did you mean {near}?\n")


def test_nothing_is_suggested_where_nothing_is_near(run: Run) -> None:
    assert "did you mean" not in run("zzzzzz")[2]
    assert "did you mean" not in run("list", "--zzzzzz")[2]
    assert run("legal", "--file", "x")[2].endswith(
        "ptxmma: ptxmma legal has no option --file\n"
    )  # not --idesc


def test_options_stand_anywhere_behind_the_command(run: Run) -> None:
    unwaited, other = (str(ROOT / "tests" / "check" / name) for name in ("unwaited.ptx", "unwaited.ptx"))
    first = run("check", unwaited, other, "--format", "json", "--strict")
    assert first[0] == 1 and first == run("check", unwaited, "--format", "json", other, "--strict")
    assert run("list", "--ptx", "8.0", "movmatrix") == run("list", "movmatrix", "--ptx", "8.0")


def test_an_option_before_the_command_is_refused(run: Run) -> None:
    code, out, err = run("--format", "json", "list")
    assert (code, out) == (2, "") and "behind the command's name" in err


def test_a_word_too_many_is_named(run: Run) -> None:
    assert "'b'" in run("show", "a", "b")[2]


def test_every_argument_is_explained() -> None:
    parsers = [build_parser()]
    for parser in parsers:
        parsers += parser.verbs.values()
        assert [action.dest for action in parser._actions if not (action.help or parser.verbs)] == []
    assert len(parsers) > 25

"""ptxmma completion: the script by which a shell completes commands, options, targets and versions."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from .parser import CommandParser, build_parser

__all__ = ["add"]

_SHELLS = ("bash", "zsh", "tcsh")
_FILES = ("FILE", "PATH", ".npy", ".ptx")
_FOLDERS = ("DIR", "FOLDER")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("shell", choices=_SHELLS, help="the shell that reads the script")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from ..spec.api import load

    isa = load().isa
    known = {"target": list(isa.index.targets), "ptx": [str(version) for version in isa.versions]}
    whole = build_parser()
    for action in _arguments(whole):
        name = action.metavar if isinstance(action.metavar, str) else ""
        if action.dest in known and name:
            action.choices = known[action.dest]
        elif any(sign in name for sign in (*_FILES, *_FOLDERS)):
            kind = shtab.FILE if any(sign in name for sign in _FILES) else shtab.DIRECTORY
            action.complete = kind  # type: ignore[attr-defined]  # shtab asks for it
    print(shtab.complete(whole, shell=args.shell))
    return 0


def _arguments(parser: CommandParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of its commands."""
    yield from parser._actions
    for verb in parser.verbs.values():
        yield from _arguments(verb)

"""How the words of a command line are read: options anywhere, suggestions for what is mistyped."""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn

from .commands import COMMANDS, Command, Example

__all__ = ["CommandParser", "build_parser", "read"]

_PATHS = frozenset(("DIR", "FILE", "FILE.npy", "PATH"))  # what an option that takes a path calls it


class CommandParser(argparse.ArgumentParser):
    """A parser of this command line. `verbs` are the parsers of its commands, by name."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **options)
        self.verbs: Mapping[str, CommandParser] = {}
        self.verb_name = ""

    def add_subparsers(self, **options: Any) -> Any:
        """As argparse has it; remembers the commands, and the argument that names one."""
        action = super().add_subparsers(**options)
        self.verbs, self.verb_name = action.choices, action.dest
        return action

    def error(self, message: str) -> NoReturn:
        """Say how to use the command and what is wrong; exit code 2."""
        self.print_usage(sys.stderr)
        print(f"ptxmma: {message}", file=sys.stderr)
        raise SystemExit(2)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Refuse an empty path, as of a variable that is not set: it would mean this folder; and say in a
        sentence that a word is not an integer.
        """
        if not arg_string and action.option_strings and action.metavar in _PATHS:
            raise argparse.ArgumentError(action, "the path is empty")
        if action.type is int:
            try:
                return int(arg_string)
            except ValueError:
                raise argparse.ArgumentError(action, f"{arg_string!r} is not an integer") from None
        return super()._get_value(action, arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not one of the choices, and name the nearest."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        near = _nearest(str(value), known)
        if isinstance(action, argparse._SubParsersAction):
            raise argparse.ArgumentError(
                None, f"{self.prog} has no command {value!r}{near or ': ' + ', '.join(known)}"
            )
        raise argparse.ArgumentError(action, f"{value!r} is not one of {', '.join(known)}{near}")


class _Version(argparse.Action):
    """Prints the version; looked up when asked for, since that takes long."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from .. import __version__

        print(f"ptxmma {__version__}")
        raise SystemExit(0)


@functools.cache
def build_parser(asked: str | None = None) -> CommandParser:
    """The parser with every command and its options; quicker, of the one that is asked for alone, or with ""
    of all without their options.
    """
    parser = CommandParser(
        prog="ptxmma",
        description="The machine-checked specification of NVIDIA's PTX tensor-core instructions.",
        epilog="`ptxmma help COMMAND` explains a command.\n"
        "Exit codes: 0 it holds, 1 it does not hold, 2 the question could not be asked, 130 interrupted.\n"
        "PTXMMA_SPECIFICATION names a folder whose specs.yaml is read in place of the package's own; "
        "PTXMMA_EVIDENCE one whose records are read, and written by --record.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of ptxmma")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in ({asked: COMMANDS[asked]} if asked else COMMANDS).items():
        own = commands.add_parser(name, help=command.help, description=_sentence(command.help))
        if asked != "":
            importlib.import_module(f".{name}_command", __package__).add(own)
            _explain(own, name, command)
    explainer = commands.add_parser("help", help="explain a command, as --help does")
    explainer.add_argument("words", nargs="*", metavar="COMMAND", help="the command (default: all of them)")
    return parser


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:] + ("" if words.endswith("?") else ".")


def _explain(parser: CommandParser, name: str, command: Command) -> None:
    """Add the examples, and what the exit codes mean, to the help of a command and of its own commands."""
    codes = "\n".join(
        f"  {code}  {meaning}"
        for code, meaning in enumerate((command.holds, command.fails, command.refuses))
        if meaning
    )
    for verb, own in {"": parser, **parser.verbs}.items():
        concerning = [
            one for one in command.examples if one.words.startswith(f"ptxmma {name} {verb}".strip())
        ]
        own.epilog = f"examples:\n{_shown(concerning)}\n\nexit codes:\n{codes}"
        for action in own._actions:
            if action.dest == "format" and not action.help:
                action.help = "how the answer is printed (default: %(default)s)"


def _shown(examples: Sequence[Example]) -> str:
    return "\n".join(
        f"  {example.words}{f'  # needs {example.needs}' if example.needs else ''}" for example in examples
    )


def read(words: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command line. Options of a command may stand anywhere behind its name.

    Exits with 0 after --help, and with 2 and a sentence where the words cannot be read.
    """
    rest = list(words)
    if rest[:1] == ["help"]:
        rest = [*rest[1:], "--help"]
    taken = {}
    parser = build_parser(rest[0] if rest and rest[0] in COMMANDS else "")
    while parser.verbs:
        if not rest:
            parser.print_help(sys.stderr)
            raise SystemExit(2)
        if rest[0].startswith("-"):
            found, unknown = parser.parse_known_args(rest[:1])
            if unknown:
                parser.error(
                    f"no option {unknown[0]} stands before a command; write it behind the command's name"
                )
            return found
        if rest[0] not in parser.verbs:
            parser.parse_args(rest[:1])  # says so
        taken[parser.verb_name] = rest[0]
        parser = parser.verbs[rest.pop(0)]
    parse = parser.parse_known_args if "--" in rest else parser.parse_known_intermixed_args
    found, unknown = parse(rest)
    if unknown:
        parser.error(
            _unexpected(parser, next((word for word in unknown if word.startswith("-")), unknown[0]))
        )
    for name, verb in taken.items():
        setattr(found, name, verb)
    return found


def _unexpected(parser: CommandParser, word: str) -> str:
    """What is wrong with a word that no argument of a command takes."""
    if not word.startswith("-"):
        return f"{word!r} is one word too many; quote what belongs together"
    name = word.partition("=")[0]
    options = [option[2:] for option in parser._option_string_actions if option.startswith("--")]
    return f"{parser.prog} has no option {name}{_nearest(name.lstrip('-'), options, '--')}"


def _nearest(word: str, known: Collection[str], before: str = "") -> str:
    """`; did you mean …?`, or nothing where no word is near; `before` stands before a known word."""
    from ..spec.nodes import nearest

    near = nearest(word, known)
    return f"; did you mean {before}{near}?" if near else ""

"""docs/commands.md: every command with its arguments, examples and exit codes, as the parsers have them."""

from __future__ import annotations

import argparse

from .commands import COMMANDS, Command, Example
from .parser import CommandParser, build_parser

__all__ = ["command_page"]

_HEAD = """\
# Commands

`ptxmma schema --write .` writes this page from the parsers, and CI compares. `ptxmma help COMMAND` says the
same. Options stand anywhere behind the name of the command. `ptxmma --version` prints the version.

On a terminal, whatever takes more than a second shows on standard error how far it is. `NO_COLOR` takes the
colours away, `FORCE_COLOR` keeps them where the output is not a terminal. Ctrl-C ends a command, and all that
it has started, with exit code 130. Files are written whole or not at all.

"""

_OR = r"\|"  # in a table's cell


def command_page() -> str:
    """The page."""
    parser = build_parser()
    parts = [_section(parser.verbs[name], name, command) for name, command in COMMANDS.items()]
    contents = "".join(f"- [`{name}`](#{name}): {command.help}\n" for name, command in COMMANDS.items())
    return _HEAD + contents + "".join(parts)


def _section(parser: CommandParser, name: str, command: Command) -> str:
    lines = ["", f"## {name}", _sentence(command.help)]
    for action in parser._actions:
        for verb in getattr(action, "_choices_actions", ()):
            lines += ["", f"### {name} {verb.dest}", _sentence(verb.help)]
            lines += _arguments(parser.verbs[verb.dest])
    if not parser.verbs:
        lines += _arguments(parser)
    lines += ["", "```", *map(_example, command.examples), "```", "", "| exit code | |", "|---|---|"]
    codes = enumerate((command.holds, command.fails, command.refuses))
    lines += [f"| {code} | {meaning} |" for code, meaning in codes if meaning]
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('?') else '.'}"


def _example(example: Example) -> str:
    return f"{example.words}{f'  # needs {example.needs}' if example.needs else ''}"


def _arguments(parser: CommandParser) -> list[str]:
    """How the command is called, and a table of its arguments."""
    words = [parser.prog]
    rows = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        shown = _shown(action)
        cells = (f"`{shown}`", _meaning(parser, action))
        rows.append("".join(f"| {cell.replace('|', _OR)} " for cell in cells) + "|")
        words.append(shown if action.required and action.nargs not in ("*", "?") else f"[{shown}]")
    return ["", "```", " ".join(words), "```", "", "| argument | |", "|---|---|", *rows]


def _shown(action: argparse.Action) -> str:
    """An argument as it is written."""
    value = _value(action)
    return " ".join([*action.option_strings[:1], value]).strip() if action.option_strings else value


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        value = action.metavar
    elif action.choices is not None:
        value = "|".join(map(str, action.choices))
    else:
        value = action.dest.upper() if action.option_strings else action.dest
    if action.nargs == "?" and action.option_strings:
        return f"[{value}]"
    return f"{value} …" if action.nargs in ("+", "*") else value


def _meaning(parser: CommandParser, action: argparse.Action) -> str:
    """The help of an argument, with its default where the help does not name it."""
    said = parser._get_formatter()._expand_help(action) if action.help else ""
    usual = None if action.nargs == 0 or not action.option_strings else action.default
    named = usual in (None, argparse.SUPPRESS) or "default" in said
    return said if named else f"{said} (default: {usual})".lstrip()

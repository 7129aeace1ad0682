"""docs/exit-codes.md: what each exit code of each command means, as the table of commands has it."""

from __future__ import annotations

from .commands import COMMANDS

__all__ = ["exit_codes"]

_HEAD = """\
# Exit codes

`ptxmma schema --write .` writes this page from `cli/commands.py`, and CI compares. `ptxmma help COMMAND` says
the same.

- **0**: it holds. Where a command only prints, it has printed.
- **1**: it does not hold.
- **2**: the question could not be asked: a mistake in the arguments, a file that cannot be read or written, a
  tool, a GPU or a network that is missing. A sentence on standard error says which. This is never a pass.
- **130**: interrupted (Ctrl-C).
- **141**: whoever read the output left before its end (`… | head`), so nothing was decided.

A gate in CI passes on 0 alone.

| command | 0 | 1 | 2 |
|---|---|---|---|
"""


def exit_codes() -> str:
    """The page."""
    rows = (
        f"| `{name}` | {command.holds} | {command.fails or 'never'} | {command.refuses or 'never'} |"
        for name, command in COMMANDS.items()
    )
    return _HEAD + "\n".join(rows) + "\n"

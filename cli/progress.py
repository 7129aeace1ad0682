"""How far a command has come: one line on a terminal's standard error, from its second second on.

A timer's signal draws the line, so that nothing is slower for it, and workers are forked without a thread. It
is drawn by hand, since a library cannot be imported while a signal is handled.
"""

from __future__ import annotations

import os
import signal
import time

from ..spec.counting import listen

__all__ = ["clear", "hide", "show"]

_FIRST = 1.0  # seconds until the line is drawn
_AGAIN = 0.2  # seconds between drawings
_CLEAR = b"\r\x1b[2K"


class _Line:
    """What is shown: the command, since when, how many pieces of how many; and whether it is drawn."""

    title = ""
    begun = 0.0
    done = total = 0
    drawn = False


def show(title: str) -> None:
    """Show the line while a command runs; nothing where standard error is not a terminal."""
    if not os.isatty(2) or os.environ.get("TERM", "dumb") == "dumb":
        return
    _Line.title, _Line.begun = title, time.monotonic()
    listen(_hear)
    signal.signal(signal.SIGALRM, _draw)
    signal.setitimer(signal.ITIMER_REAL, _FIRST, _AGAIN)


def hide() -> None:
    """Draw no more: the command has ended, or shows by itself how far it is."""
    if _Line.title:
        signal.setitimer(signal.ITIMER_REAL, 0)
        clear()


def clear() -> None:
    """Take the line off the screen before something else is printed there."""
    if _Line.drawn:
        _Line.drawn = False
        os.write(2, _CLEAR)


def _hear(done: int, total: int) -> None:
    _Line.done, _Line.total = done, total


def _draw(*_: object) -> None:
    minutes, seconds = divmod(int(time.monotonic() - _Line.begun), 60)
    pieces = f" {_Line.done:,} of {_Line.total:,}," if _Line.total else ""
    line = f"{_Line.title}:{pieces} {minutes}:{seconds:02}"
    _Line.drawn = True
    try:
        width = os.get_terminal_size(2).columns or len(line)
        os.write(2, _CLEAR + line[:width].encode())
    except OSError:  # the terminal has gone
        _Line.drawn = False

"""Standard input, output and error as a command line needs them: an error names the stream.

Python itself drops what is printed to a closed standard output, and names no file where a disk is full.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from .progress import clear

__all__ = ["STANDARD_OUTPUT", "coloured", "drop_output", "name_streams"]

STANDARD_OUTPUT = "standard output"
_STANDARD_ERROR = "standard error"


class NamedStream(io.FileIO):
    """A standard stream whose errors say which one it is."""

    def __init__(self, number: int, mode: str, title: str, closed: bool) -> None:
        super().__init__(number, mode, closefd=False)
        self.title, self.was_closed = title, closed

    def readinto(self, buffer: Any) -> Any:
        """As FileIO has it."""
        return self._named(super().readinto, buffer)

    def readall(self) -> bytes:
        """As FileIO has it."""
        return bytes(self._named(lambda _: super(NamedStream, self).readall(), None))

    def write(self, data: Any) -> Any:
        """As FileIO has it."""
        return self._named(super().write, data)

    def _named(self, act: Callable[[Any], Any], data: Any) -> Any:
        try:
            if self.was_closed:
                raise OSError(errno.EBADF, "it is closed")
            clear()  # the line of progress must not stand before what is printed
            return act(data)
        except OSError as error:
            if self.title == _STANDARD_ERROR:  # nobody can be told
                return len(data)
            error.filename = self.title
            raise


def name_streams() -> None:
    """Replace the three standard streams. A closed one refuses; no file gets its number."""
    closed = [_is_closed(number) for number in range(3)]
    for name in ("stdout", "stderr"):  # what was printed before stays where it was printed
        with contextlib.suppress(AttributeError, OSError):
            getattr(sys, name).flush()
    given = NamedStream(0, "r", "standard input", closed[0])
    sys.stdin = io.TextIOWrapper(io.BufferedReader(given), encoding="utf-8", errors="surrogateescape")
    output = NamedStream(1, "w", STANDARD_OUTPUT, closed[1])
    sys.stdout = _writer(output, sys.stdout, output.isatty())
    sys.stderr = _writer(NamedStream(2, "w", _STANDARD_ERROR, closed[2]), sys.stderr, True)


def _is_closed(number: int) -> bool:
    """Whether a stream is closed; then a file that ends at once, or swallows all, takes its number."""
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # takes the least free number
        return True
    return False


def _writer(raw: NamedStream, before: TextIO | None, lines: bool) -> io.TextIOWrapper:
    """A text stream that prints what its encoding lacks as an escape, never an error."""
    encoding = getattr(before, "encoding", None) or "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=lines
    )


def coloured() -> bool:
    """Whether standard output takes colours: a terminal does; NO_COLOR and FORCE_COLOR as in rich."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def drop_output() -> None:
    """Let what is still to be printed go nowhere: its reader has gone, or its disk is full."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, NamedStream):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, raw.fileno())
        os.close(nowhere)
        raw.was_closed = False

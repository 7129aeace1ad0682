"""Options that several commands share."""

from __future__ import annotations

import argparse
import contextlib

from ..spec.errors import Question

__all__ = ["add_scheduler", "descriptor_word", "seconds", "whole"]

_WHOLE = 1 << 63
_LEAST, _MOST = 0.001, 86_400  # solvers count milliseconds, in 32 bits


def seconds(text: str) -> float:
    """A length of time: the type of an option."""
    with contextlib.suppress(ValueError):
        if _LEAST <= (value := float(text)) <= _MOST:
            return value
    raise argparse.ArgumentTypeError(
        f"{text} is not a length of time; write a number of seconds from {_LEAST} to {_MOST}"
    )


def whole(text: str) -> int:
    """A whole number from 1 on, also as 1e9: the type of an option."""
    with contextlib.suppress(ValueError, OverflowError):
        value = int(text) if text.isdecimal() else int(float(text))
        if 1 <= value < _WHOLE and float(text) == value:
            return value
    raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on, such as 1000 or 1e9")


def descriptor_word(text: str) -> int:
    """The word of a descriptor, in decimal or as 0x…; raises Question for anything else."""
    try:
        return int(text, 0)
    except ValueError:
        raise Question(f"{text!r} is not an integer; write it in decimal or as 0x…") from None


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add --scheduler; `cli.main` acts on it."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="work on the Dask cluster with this scheduler (tcp://host:8786); its workers see the same files",
    )

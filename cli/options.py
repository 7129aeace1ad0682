"""Options that several commands share."""

from __future__ import annotations

import argparse
import contextlib

__all__ = ["add_scheduler", "seconds"]

_LEAST, _MOST = 0.001, 86_400  # solvers count milliseconds, in 32 bits


def seconds(text: str) -> float:
    """A length of time: the type of an option."""
    with contextlib.suppress(ValueError):
        if _LEAST <= (value := float(text)) <= _MOST:
            return value
    raise argparse.ArgumentTypeError(
        f"{text} is not a length of time; write a number of seconds from {_LEAST} to {_MOST}"
    )


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add --scheduler; `cli.main` acts on it."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="work on the Dask cluster with this scheduler (tcp://host:8786); its workers see the same files",
    )

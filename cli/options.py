"""Options that several commands share."""

from __future__ import annotations

import argparse

__all__ = ["add_scheduler", "seconds"]


def seconds(text: str) -> float:
    """A length of time: the type of an option."""
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not a length of time; write a number of seconds above 0")
    return value


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add --scheduler; `cli.main` acts on it."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="work on the Dask cluster with this scheduler (tcp://host:8786); its workers see the same files",
    )

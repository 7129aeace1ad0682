"""Options that several commands have."""

from __future__ import annotations

import argparse

__all__ = ["add_scheduler"]


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add --scheduler, which the command line's `main` obeys."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="work on the Dask cluster with this scheduler (tcp://host:8786); its workers see the same files",
    )

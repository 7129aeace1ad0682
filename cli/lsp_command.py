"""ptxmma lsp: a language server for PTX and for inline assembly in CUDA C++, over stdio."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from types import TracebackType

from ..spec.errors import Question

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the editor says goodbye."""
    try:
        from .editor.server import language_server
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise Question(
            f"the Python package {error.name} is missing; `pip install 'ptxmma[editor]'` installs it"
        ) from None
    from .. import __version__

    log = logging.StreamHandler(sys.stderr)
    log.setFormatter(_Sentences("ptxmma: %(message)s"))
    logging.basicConfig(handlers=[log])
    # The server closes what it writes to; our own end of standard output stays open for who called us.
    with os.fdopen(os.dup(1), "wb", closefd=True) as output:
        try:
            language_server(__version__).start_io(stdout=output)
        except (MemoryError, OverflowError):
            raise Question("standard input announces a message that is too long to read") from None
    return 0


class _Sentences(logging.Formatter):
    """What the library logs, with the error's sentence in place of its traceback."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        return f"  {ei[1]}"

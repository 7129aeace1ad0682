"""Serve a written site on this machine alone, for as long as the command runs."""

from __future__ import annotations

import socket
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ..spec.errors import Question

__all__ = ["require_free", "server"]

_HOST = "127.0.0.1"


class SilentHandler(SimpleHTTPRequestHandler):
    """Answers with files, and writes no line for each."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def server(folder: Path, port: int) -> tuple[ThreadingHTTPServer, str]:
    """A server of a folder's files and the address of its first page; port 0 takes a free one.

    Raises Question where the port is taken.
    """
    try:
        made = ThreadingHTTPServer((_HOST, port), partial(SilentHandler, directory=str(folder)))
    except (OSError, OverflowError) as error:
        raise _refused(port, error) from None
    return made, f"http://{_HOST}:{made.server_port}/index.html"


def require_free(port: int) -> None:
    """Raise Question where a port is taken, or is none: before the site is made, which takes longer."""
    try:
        with socket.create_server((_HOST, port)):
            pass
    except (OSError, OverflowError) as error:
        raise _refused(port, error) from None


def _refused(port: int, error: Exception) -> Question:
    return Question(f"port {port} cannot be served: {getattr(error, 'strerror', None) or error}")

"""The command line: a module for each command. Exit codes: 0 it holds, 1 it does not, 2 it could not be
asked.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from ..spec.errors import PtxmmaError
from .parser import read

__all__ = ["main"]


def _refuse(message: str) -> int:
    print(f"ptxmma: {message}", file=sys.stderr)
    return 2


@contextmanager
def _workers(scheduler: str | None) -> Iterator[None]:
    """Where the command's work goes: to the Dask cluster of a scheduler, or to this machine."""
    if scheduler is None:
        yield
        return
    from ..spec.workers import dask_cluster, using

    with dask_cluster(scheduler) as executor, using(executor):
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; never shows a traceback."""
    gc.disable()  # a command ends before garbage collection would help
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = read(words)
        with _workers(getattr(parsed, "scheduler", None)):
            code: int = parsed.run(parsed)
        sys.stdout.flush()
        return code
    except PtxmmaError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return _refuse("interrupted")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UnicodeError as error:
        return _refuse(f"the input is not text: {error}")
    except OSError as error:
        return _refuse(f"{error.filename or 'input or output'}: {error.strerror or error}")


def entry() -> NoReturn:
    """The console script."""
    raise SystemExit(main())

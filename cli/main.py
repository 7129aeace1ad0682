"""The command line: a module for each command. Exit codes: 0 it holds, 1 it does not, 2 it could not be
asked, 130 (or 128 and a signal) it was interrupted, 141 nobody read its output to the end.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from ..spec.errors import PtxmmaError, SpecError, missing
from . import interruption, progress
from .parser import read
from .streams import STANDARD_OUTPUT, drop_output, name_streams

__all__ = ["main", "run_script"]

_UNREAD = 141  # 128 and SIGPIPE, as a shell has it


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
    words = sys.argv[1:] if arguments is None else arguments
    code = _guarded(lambda: _run(words))
    unwritten = _guarded(_flush)
    return unwritten or code


def run_script(script: Callable[[], int | None]) -> NoReturn:
    """Run the main function of a script under bench/; it never shows a traceback either."""

    def work() -> int:
        try:
            return script() or 0
        except SystemExit as stopped:
            if isinstance(stopped.code, str):
                return _refuse(stopped.code, 1)
            return int(stopped.code or 0)

    code = _guarded(work)
    raise SystemExit(_guarded(_flush) or code)


def _run(words: Sequence[str]) -> int:
    try:
        parsed = read(words)
        progress.show(f"ptxmma {parsed.command}")
        with _workers(getattr(parsed, "scheduler", None)):
            code: int = parsed.run(parsed)
            return code
    except SystemExit as stopped:  # the parser has said what there is to say
        return stopped.code if isinstance(stopped.code, int) else 0
    finally:
        progress.hide()


def _flush() -> int:
    sys.stdout.flush()
    return 0


def _guarded(work: Callable[[], int]) -> int:
    """The exit code of some work; what it raises on purpose, and what the system refuses, is a sentence."""
    try:
        return work()
    except SpecError as error:
        return _refuse(f"{error}{_elsewhere()}")
    except PtxmmaError as error:
        return _refuse(str(error))
    except ModuleNotFoundError as error:
        return _refuse(str(missing(error)))
    except KeyboardInterrupt:
        return _refuse("interrupted", 130)
    except BrokenPipeError:
        drop_output()
        return _UNREAD
    except UnicodeError as error:
        return _refuse(f"the input is not text: {error}")
    except OSError as error:
        if error.filename == STANDARD_OUTPUT:
            drop_output()
        return _refuse(f"{error.filename or 'input or output'}: {error.strerror or error}")


def _elsewhere() -> str:
    """Where the specification is if it is not the package's own: places in it do not say so."""
    folder = os.environ.get("PTXMMA_SPECIFICATION")
    return f"\n  PTXMMA_SPECIFICATION names the folder {folder}" if folder else ""


def _refuse(message: str, code: int = 2) -> int:
    if not interruption.received():  # else all that follows from it says nothing new
        print(f"ptxmma: {message}", file=sys.stderr)
    return code


def entry() -> NoReturn:
    """The console script."""
    code = 1
    try:
        name_streams()
        interruption.listen()
        code = main()
    finally:
        if interruption.received():
            interruption.end_now()
    gc.freeze()  # the collection at exit would look at everything, and free it a moment early
    raise SystemExit(code)

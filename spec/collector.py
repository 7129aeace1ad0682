"""Work without the garbage collector, which would scan all that the work keeps, again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Let nothing be collected in this context; what it leaves behind is collected later."""
    collects = gc.isenabled()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if collects:
            gc.enable()

"""The processor time that a page takes for what a user does, by the browser's own account.

A clock on the wall measures the other users of a machine, too; a page's thread is told apart from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import CDPSession, Page

__all__ = ["MOST", "ProcessorTime", "processor_time"]

MOST = 50.0  # milliseconds that an answer may take


class ProcessorTime:
    """The account of one page."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        self.page = page
        self.session = session

    def _now(self) -> float:
        told = self.session.send("Performance.getMetrics")["metrics"]
        return 1000 * float(next(one["value"] for one in told if one["name"] == "TaskDuration"))

    def of(self, act: str, given: Any = None, tries: int = 12) -> float:
        """The milliseconds of a function of JavaScript and of the frame behind it: the least of a few runs.

        A run may hold what others left behind, such as garbage; it is repeated only while it took too long.
        """
        body = f"given => new Promise((done) => {{ ({act})(given); requestAnimationFrame(() => setTimeout(done)); }})"
        best = float("inf")
        for run in range(tries):
            if run > 1 and best <= MOST:
                break
            begun = self._now()
            self.page.evaluate(body, given)
            best = min(best, self._now() - begun)
        return best


@contextmanager
def processor_time(page: Page) -> Iterator[ProcessorTime]:
    """The account of a page that is open, in the time of its own thread."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    yield ProcessorTime(page, session)
    session.detach()

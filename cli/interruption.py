"""Ctrl-C and SIGTERM end a command within a second: its processes first, then the command itself.

A signal kills every process that the command started, and what those started, and raises KeyboardInterrupt.
Whoever works in a `with` cleans up. Should that take too long (a thread that waits, a solver that does not
listen), the command ends all the same.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from types import FrameType

__all__ = ["end_now", "listen", "received"]

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
_CLEANING = 0.6  # seconds that cleaning up may take
_LOOK = 0.02  # seconds between looks at whether Python lost the exception
_SHOW_CURSOR = b"\r\x1b[2K\x1b[?25h"


class _State:
    """What this process has heard: the signal, and whether an exception of it got lost in a finaliser."""

    process = 0
    signal = 0
    lost = False
    said = threading.Lock()


def listen() -> None:
    """Answer signals from now on. A signal that the caller has ignored (nohup) stays ignored."""
    _State.process = os.getpid()
    for number in _WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _hear)


def received() -> int:
    """The signal that ends this command; 0 while there is none."""
    return _State.signal


def _hear(number: int, _: FrameType | None) -> None:
    if os.getpid() != _State.process:  # a new process that does not leave signals to its parent yet
        os._exit(128 + number)
    if _State.signal and not _State.lost:
        return
    if not _State.signal:
        _State.signal = number
        sys.unraisablehook = _lose
        threading.excepthook = lambda _: None  # a thread whose process was killed has nothing to say
        threading.Thread(target=_insist, args=(number,), daemon=True).start()
    _State.lost = False
    _kill_descendants()
    raise KeyboardInterrupt


def _lose(ignored: sys.UnraisableHookArgs) -> None:
    """In place of 'Exception ignored in …': where a finaliser swallowed the exception, it is raised again."""
    if ignored.exc_type is KeyboardInterrupt:
        _State.lost = True


def _insist(number: int) -> None:
    """Raise the exception again where it got lost; end the process when its time is over."""
    end = time.monotonic() + _CLEANING
    while time.monotonic() < end:
        time.sleep(_LOOK)
        if _State.lost:
            signal.pthread_kill(threading.main_thread().ident or 0, number)
    _kill_descendants()
    end_now()


def end_now() -> None:
    """Say in one line which signal it was, and end without waiting for threads or printing what is left."""
    if not _State.said.acquire(blocking=False):
        time.sleep(1)  # another thread is about to end the process
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
        os.write(2, f"ptxmma: {_WORDS[signal.Signals(_State.signal)]}\n".encode())
    os._exit(128 + _State.signal)


def _kill_descendants() -> None:
    """Stop what this process started, whatever that started, until nothing new appears; then kill it all."""
    stopped: list[int] = []
    while fresh := [process for process in _descendants() if process not in stopped]:
        for process in fresh:
            _send(process, signal.SIGSTOP)
        stopped += fresh
    for process in stopped:
        _send(process, signal.SIGKILL)


def _send(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def _descendants() -> list[int]:
    """The processes below this one, by Linux's /proc; none where there is no such folder."""
    children: dict[int, list[int]] = defaultdict(list)
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    with open(f"/proc/{name}/stat", "rb") as file:
                        fields = file.read().rpartition(b")")[2].split()
                    if fields[0] != b"Z":
                        children[int(fields[1])].append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children[waiting.pop()]
        found += below
        waiting += below
    return found

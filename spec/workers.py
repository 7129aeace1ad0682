"""Send work to the processes of this machine, or to any `concurrent.futures` executor.

Inside `using(executor)` all work goes to that executor; `dask_cluster(address)` gives one of a Dask cluster.
Elsewhere work goes to as many processes as this one may use cores. Work must be a function of a module; it
and its arguments must be picklable. Forking only makes it quicker.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, TypeVar

from .collector import uncollected
from .counting import tell
from .errors import Question

__all__ = ["cores", "dask_cluster", "in_threads", "leave_signals", "over_jobs", "pool", "pool_with", "using"]

_EXECUTOR: ContextVar[Executor | None] = ContextVar("_EXECUTOR", default=None)
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl
_PATIENCE = 10  # seconds that a scheduler may take to answer, and a cluster may be without workers
# How Dask and executors call what is no longer worked on: cancelled, or ended three workers
_LOST = frozenset({"CancelledError", "FutureCancelledError", "FuturesCancelledError", "KilledWorker"})
J = TypeVar("J")
T = TypeVar("T")


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def using(executor: Executor) -> Iterator[None]:
    """Send all work inside this context to an executor; whoever made it shuts it down."""
    token = _EXECUTOR.set(executor)
    try:
        yield
    finally:
        _EXECUTOR.reset(token)


@contextmanager
def pool(count: int | None = None) -> Iterator[Executor]:
    """The executor of the context, or else `count` processes of this machine (default: one a core).

    The processes end with the context, and are killed where it ends by an exception or the parent dies.
    Raises Question where one of them died.
    """
    with pool_with((), repr, count) as (executor, _):
        yield executor


@contextmanager
def pool_with(
    jobs: Sequence[J], work: Callable[[J], T], count: int | None = None
) -> Iterator[tuple[Executor, list[Future[T]]]]:
    """A pool, and what `work` makes of every job, first of all that is sent there.

    Processes of this machine inherit the jobs; another executor is sent them.
    """
    executor = _EXECUTOR.get()
    if executor is not None:
        yield executor, [executor.submit(work, job) for job in jobs]
        return
    with _processes(count or cores(), jobs, work) as local:
        yield local, [local.submit(_inherited, number) for number in range(len(jobs))]


def over_jobs(jobs: Sequence[J], work: Callable[[J], T]) -> Iterator[T]:
    """The result of `work` for every job, computed in parallel, in the order of the jobs."""
    executor = _EXECUTOR.get()
    if executor is not None:
        yield from executor.map(work, jobs)
        return
    count = min(cores(), len(jobs))
    with uncollected():
        if count < 2:
            for number, job in enumerate(jobs, 1):
                yield work(job)
                tell(number, len(jobs))
            return
        with _processes(count, jobs, work) as local:
            yield from local.map(_inherited, range(len(jobs)))


def in_threads(work: Callable[[J], T], jobs: Iterable[J], count: int | None = None) -> list[T]:
    """The result of `work` for every job, by so many threads (default: one a core).

    For work that leaves Python.
    """
    if count == 1:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(count or cores()) as threads:
        return list(threads.map(work, jobs))


_INHERITED: tuple[Sequence[Any], Callable[[Any], Any]] = ((), repr)


def _inherited(number: int) -> Any:
    jobs, work = _INHERITED
    return work(jobs[number])


def _context() -> BaseContext:
    """Forked processes inherit imports and jobs; a system that cannot fork gets the default start method."""
    forks = sys.platform == "linux" and "fork" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork" if forks else None)


class CountedProcesses(ProcessPoolExecutor):
    """Processes that tell how many of their jobs are done."""

    sent = done = 0

    def submit(self, work: Callable[..., T], /, *args: Any, **options: Any) -> Future[T]:
        """As any executor has it."""
        future = super().submit(work, *args, **options)
        self.sent += 1
        future.add_done_callback(self._count)
        return future

    def _count(self, _: Future[Any]) -> None:
        self.done += 1
        tell(self.done, self.sent)


@contextmanager
def _processes(
    count: int, jobs: Sequence[Any] = (), work: Callable[[Any], Any] = repr
) -> Iterator[ProcessPoolExecutor]:
    local = CountedProcesses(count, _context(), _begin, (os.getpid(), jobs, work))
    try:
        yield local
        local.shutdown()
    except BaseException as error:
        _kill(local)
        if isinstance(error, BrokenExecutor):
            raise Question(
                "a worker process died, perhaps for lack of memory; use fewer cores (taskset -c 0)"
            ) from None
        raise


def _kill(local: ProcessPoolExecutor) -> None:
    """End the workers without waiting for their jobs."""
    processes = list((local._processes or {}).values())
    local.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()


def _begin(parent: int, jobs: Sequence[Any], work: Callable[[Any], Any]) -> None:
    """In a new process: take over the jobs, leave Ctrl-C to the parent, and die with it."""
    global _INHERITED
    _INHERITED = jobs, work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before the request
            os._exit(1)


@contextmanager
def dask_cluster(address: str) -> Iterator[Executor]:
    """An executor of the Dask cluster whose scheduler has this address (tcp://host:8786).

    Raises Question where Dask is not installed, the scheduler does not answer, the cluster has no workers or
    loses them, or a worker's ptxmma is not the one that runs here.
    """
    try:
        from distributed import Client
    except ImportError:
        raise Question("--scheduler needs Dask: pip install 'ptxmma[cluster]'") from None
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        why = str(error) or type(error).__name__
        raise Question(
            f"no Dask scheduler answers at {address} ({why}); `dask scheduler` prints its address"
        ) from None
    with client:
        try:
            held = client.run(fingerprint)
        except ImportError as error:
            raise Question(
                f"a worker of {address} cannot import ptxmma ({error}); install it there"
            ) from None
        if not held:
            raise Question(f"the cluster at {address} has no workers; `dask worker {address}` starts one")
        other = [worker for worker, digest in held.items() if digest != fingerprint()]
        if other:
            raise Question(f"the worker {other[0]} has another version of ptxmma; install this one there")
        with _watched(client, address) as executor:
            yield executor


def leave_signals() -> None:
    """In a thread: the processes that it starts leave Ctrl-C to this one, which ends them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


@contextmanager
def _watched(client: Any, address: str) -> Iterator[Executor]:
    """The executor of a cluster, as long as the cluster has workers; Dask itself would wait for new ones."""
    executor = client.get_executor(pure=False)
    over, lost = threading.Event(), threading.Event()
    watcher = threading.Thread(target=_watch, args=(client, executor, over, lost), daemon=True)
    watcher.start()
    try:
        yield executor
    except BaseException as error:
        if lost.is_set() or type(error).__name__ in _LOST:
            raise Question(
                f"the cluster at {address} has lost its workers; see what they said last, and start new ones"
            ) from None
        raise
    finally:
        over.set()
        executor.shutdown(wait=False)


def _watch(client: Any, executor: Executor, over: threading.Event, lost: threading.Event) -> None:
    """Cancel what is under way when there have been no workers for a while."""
    missed = 0
    while not over.wait(1):
        try:
            missed = 0 if client.scheduler_info()["workers"] else missed + 1
        except Exception:  # neither does the scheduler answer
            missed += 1
        if missed >= _PATIENCE:
            lost.set()
            executor.shutdown(wait=False)
            return


def fingerprint() -> str:
    """A hash of this package's code and YAML: two processes with the same one do the same work."""
    root = Path(__file__).resolve().parents[1]
    folders = sorted(entry.parent for entry in root.glob("*/__init__.py"))
    files = [path for f in folders for path in sorted(f.rglob("*")) if path.suffix in (".py", ".yaml")]
    digest = hashlib.sha256()
    for path in (root / "specs.yaml", *files):
        digest.update(f"{path.relative_to(root)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]

"""Work goes to the chosen executor, comes back in order, and gives the same verdicts everywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ptxmma.assemblers.toolchains import available
from ptxmma.spec.errors import Question
from ptxmma.spec.loading import ROOT
from ptxmma.spec.workers import cores, dask_cluster, over_jobs, pool, using

Run = Callable[..., tuple[int, str, str]]
KERNELS = ROOT / "tests" / "kernels"


def square(number: int) -> int:
    return number * number


def process(_: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def die(_: int) -> None:
    os._exit(3)


@pytest.mark.parametrize("executor", [None, ProcessPoolExecutor, ThreadPoolExecutor])
def test_results_come_in_the_order_of_the_jobs(executor: Callable[[int], Executor] | None) -> None:
    jobs = range(50)
    expected = [number * number for number in jobs]
    if executor is None:
        assert list(over_jobs(jobs, square)) == expected
        return
    with executor(2) as chosen, using(chosen):
        assert list(over_jobs(jobs, square)) == expected
        with pool() as inner:
            assert inner is chosen
    with pool(1) as local:
        assert local is not chosen


def test_every_core_works() -> None:
    assert len(set(over_jobs(range(20), process)) - {os.getpid()}) == (cores() if cores() > 1 else 0)


def test_a_worker_that_dies_is_said() -> None:
    with pytest.raises(Question, match="a worker process died"), pool(2) as local:
        list(local.map(die, range(2)))


SLEEPERS = """
import os, sys, time
from ptxmma.spec.workers import pool
def sleep(_):
    os.write(1, f"{os.getpid()}\\n".encode())
    time.sleep(600)
with pool(2) as local:
    list(local.map(sleep, range(2)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes outlive their parent")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_die_with_the_parent(how: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", SLEEPERS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,  # nohup ignores
    )
    assert parent.stdout is not None
    with parent.stdout as lines:
        workers = [int(lines.readline()) for _ in range(2)]
    parent.send_signal(how)
    parent.wait(60)
    for _ in range(600):
        alive = [pid for pid in workers if Path(f"/proc/{pid}/stat").exists() and not _zombie(pid)]
        if not alive:
            return
        time.sleep(0.05)
    raise AssertionError(f"{alive} live on")


def _zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_a_scheduler_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("ptxmma.spec.workers._PATIENCE", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense", ""):
        code, out, err = run("prove", "swizzle", "--scheduler", address)
        assert (code, out) == (2, "")
        assert err.startswith(f"ptxmma: no Dask scheduler answers at {address} (") and err.count("\n") == 1


def test_dask_that_is_not_installed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = run("prove", "swizzle", "--scheduler", "tcp://127.0.0.1:1")
    assert (code, err) == (2, "ptxmma: --scheduler needs Dask: pip install 'ptxmma[cluster]'\n")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a Dask cluster of two processes on this machine."""
    distributed = pytest.importorskip("distributed")
    paths = os.pathsep.join([str(ROOT / "bench"), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", paths)
        patch.syspath_prepend(ROOT / "bench")  # the scheduler is in this process
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=None
        ) as cluster:
            yield cluster.scheduler_address


def _verdicts(text: str) -> list[tuple[Any, ...]]:
    results = json.loads(text)["results"]
    return sorted(
        tuple(r[k] for k in ("part", "theorem", "subject", "obligation", "solver", "verdict"))
        for r in results
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_gives_the_same_verdicts(run: Run, scheduler: str) -> None:
    """`prove`, `check` and bench/mutants.py, here and on two Dask workers."""
    words: tuple[str, ...] = ("prove", "*wgmma.d", "--format", "json")
    here, there = run(*words), run(*words, "--scheduler", scheduler)
    assert here[0] == there[0] == 0
    assert _verdicts(here[1]) == _verdicts(there[1]) != []

    kernels = [str(KERNELS / name) for name in ("nvcc-two_accumulators.ptx", "nvcc-register_a.ptx")]
    words = ("check", *kernels, str(ROOT / "tests/check/unwaited.ptx"), "no such file.ptx", "--info")
    assert run(*words) == run(*words, "--scheduler", scheduler)

    with dask_cluster(scheduler) as executor, using(executor):
        # eval, since a worker dies of a function in a module that it cannot import, and this is one
        assert not set(over_jobs(["__import__('os').getpid()"] * 4, eval)) & {os.getpid()}

    bench = [sys.executable, str(ROOT / "bench" / "mutants.py"), kernels[0], "--list"]
    told = [
        subprocess.run([*bench, *more], capture_output=True, text=True)
        for more in (("--jobs", "2"), ("--scheduler", scheduler))
    ]
    assert [one.returncode for one in told] == [0, 0], told[1].stderr
    assert told[0].stdout == told[1].stdout and "mutants that behave differently" in told[0].stdout


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_that_loses_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("ptxmma.spec.workers._PATIENCE", 2)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=None
    ) as cluster:
        for ask in (lambda e: e.submit(time.sleep, 600).result(), lambda e: list(e.map(time.sleep, [600]))):
            cluster.scale(1)
            cluster.wait_for_workers(1)
            begun = time.monotonic()
            with (
                pytest.raises(Question, match="has lost its workers"),
                dask_cluster(cluster.scheduler_address) as executor,
            ):
                cluster.scale(0)
                ask(executor)
            assert time.monotonic() - begun < 300  # not the 600 of the work


@pytest.mark.slow
@pytest.mark.skipif(not available(), reason="no ptxas is here")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_assembles_the_same(run: Run, scheduler: str) -> None:
    newest = max(available(), key=lambda ptxas: ptxas.ptx).version
    words = ("assemble", "movmatrix", "--release", newest, "--format", "json")
    found = []
    for more in ((), ("--scheduler", scheduler)):
        code, out, _ = run(*words, *more)
        report = json.loads(out)
        report.pop("seconds", None)
        found.append((code, report))
    assert found[0] == found[1]

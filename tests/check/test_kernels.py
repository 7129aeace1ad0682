"""The kernels that compilers emitted: there are enough, with every feature, and the bench's walk traces them
rightly.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.formal.ordering.axioms import hazards
from ptxmma.spec.ordering import ordering

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests" / "kernels"


def bench(name: str) -> ModuleType:
    """A module of the benchmarks."""
    folders = [str(ROOT / "bench"), str(ROOT / "bench" / "corpus")]
    sys.path[:0] = folders
    try:
        return importlib.import_module(name)
    finally:
        for folder in folders:
            sys.path.remove(folder)


@pytest.fixture(scope="module")
def table() -> str:
    return (KERNELS / "FEATURES.md").read_text()


def test_the_written_header_of_the_corpus_is_up_to_date() -> None:
    script = ROOT / "bench" / "corpus" / "wrappers.py"
    written = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    assert written == (ROOT / "bench" / "corpus" / "cuda" / "wgmma.cuh").read_text()


def test_there_are_enough_kernels_and_every_feature_thrice(table: str) -> None:
    counts = {
        name: int(count)
        for name, count in re.findall(r"^\| \d+ \| ([^|]+) \| (\d+) \|$", table, re.MULTILINE)
    }
    total = re.search(r"^(\d+) kernels\.", table, re.MULTILINE)
    assert total is not None and int(total[1]) >= 100
    assert len(counts) == 34
    assert {name: count for name, count in counts.items() if count < 3} == {}


def test_the_table_names_the_files_that_are_there(table: str) -> None:
    listed = {line.split("|")[1].strip() for line in table.splitlines() if line.count("|") > 30}
    files = {path.stem for path in KERNELS.glob("*.ptx")}
    assert listed - {"File", "---"} == files


@pytest.mark.parametrize("name", ["nvcc-single_tile", "nvcc-register_a", "triton-3.9.0-gluon_specialised"])
def test_the_table_is_what_the_script_finds(name: str, table: str) -> None:
    features = bench("features")
    for (file, kernel), row in features.table([KERNELS / f"{name}.ptx"]).items():
        cells = " | ".join("x" if value else "" for value in row)
        assert f"| {file} | {kernel} | {cells} |" in table


def trace(file: str, kernel: str) -> object:
    walk = bench("kernel_trace")
    text = (KERNELS / f"{file}.ptx").read_text()
    return next(walk.program(found) for found in walk.kernels(text) if found.name == kernel)


def test_a_walk_of_a_pipeline() -> None:
    """Stage by stage: two copies ahead, one group in flight, the stage of the step before refilled."""
    mma = "mma m64n128k16.f32.f16.f16 r0"
    walked = str(trace("nvcc-pipelined", "pipelined"))
    assert walked.startswith("cp.async s0; cp.async s1; cp.async.commit; cp.async s2; cp.async s3")
    assert walked.count(mma) == 3
    assert walked.count("wait 1; barrier") == 3
    assert "proxy-fence; barrier; fence; mma" in walked


@pytest.mark.slow
def test_walks_have_the_hazards_that_were_found_by_hand() -> None:
    clean = (("nvcc-attention", "attention_overlapped"), ("nvcc-warp_specialised", "warp_specialised"))
    for file, kernel in clean:
        assert hazards(trace(file, kernel)) == ()  # type: ignore[arg-type]
    found = hazards(trace("nvcc-register_a", "register_a_prefetched"))  # type: ignore[arg-type]
    assert {hazard.rule for hazard in found} == {"a-written-in-flight"}
    either = ordering().readings({"proxy-fence-side": "either"})
    old, new = (trace(f"triton-{release}-matmul_fp16", "matmul") for release in ("3.7.0", "3.9.0"))
    assert "proxy-fence" in {hazard.rule for hazard in hazards(old, either)}  # type: ignore[arg-type]
    assert hazards(new, either) == ()  # type: ignore[arg-type]


def test_the_commit_of_no_copies_behind_the_last_is_missed() -> None:
    """The rounds that copy nothing commit, too: without that the wait of the last one covers too little."""
    text = (KERNELS / "nvcc-pipelined.ptx").read_text()
    first, last = text.index("$L__BB0_35:"), text.index("$L__BB0_52:")
    without = text[:first] + text[first:last].replace("cp.async.commit_group;", "") + text[last:]
    found = {
        (f.rule, f.tier) for f in check_text(without, "pipelined.ptx").findings if f.function == "pipelined"
    }
    assert ("copy-incomplete", "error") in found
    assert not [f for f in check_text(text, "pipelined.ptx").findings if f.tier in ("error", "likely")]


def test_what_the_threads_of_a_walk_store_is_known_byte_by_byte() -> None:
    """All that the threads store together is what the second product reads of A, and no more."""
    walked = trace("nvcc-chained_shared", "chained_shared")
    assert hazards(walked) == ()  # type: ignore[arg-type]
    words = str(walked).split("; ")
    reads = {word for line in words if line.startswith("mma") for word in line.split()[3:5]}
    assert {line.removeprefix("store ") for line in words if line.startswith("store")} <= reads


@pytest.mark.parametrize("kernel", ["matmul_gathered", "matmul_mixed", "attention_s8"])
def test_walks_come_to_the_products_and_leave_their_loops_when_nothing_is_under_way(kernel: str) -> None:
    """What a kernel reads from memory decides whether it multiplies; the last rounds copy nothing."""
    either = ordering().readings({"proxy-fence-side": "either"})
    walked = trace(f"triton-3.9.0-{kernel}", kernel)
    words = str(walked).split("; ")
    assert sum(line.startswith("mma") for line in words) >= 24
    assert hazards(walked, either) == ()  # type: ignore[arg-type]
    waits = [at for at, line in enumerate(words) if line == "cp.async.wait 0"]
    assert waits and not any(line.startswith("cp.async") for line in words[waits[-1] + 1 :])


def test_copies_of_one_tile_that_land_in_the_next_are_found() -> None:
    """The loop over the tiles is entered behind its head; it is walked round to the copies of a second tile."""
    text = (KERNELS / "triton-3.9.0-matmul_persistent.ptx").read_text()
    weaker = text.replace("cp.async.wait_group \t0;", "cp.async.wait_group \t1;")
    assert weaker != text
    found = {(f.rule, f.tier) for f in check_text(weaker, "persistent.ptx").findings}
    assert ("copy-incomplete", "likely") in found
    assert not [f for f in check_text(text, "persistent.ptx").findings if f.tier in ("error", "likely")]

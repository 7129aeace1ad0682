"""Emitted kernels: their index arithmetic on every thread, goldens, assembly, and suites on the stand-in."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ptxmma.assemblers.toolchains import locate
from ptxmma.gen.kernels.cuda_text import cuda_source
from ptxmma.gen.kernels.kernel_list import Kernel, choices, raw_kernels
from ptxmma.gen.kernels.modules import entry_text, modules
from ptxmma.gen.pairwise import Pairs, covering
from ptxmma.gen.suite.cases import cases_of
from ptxmma.gen.suite.files import emitted, suite_of
from ptxmma.spec.errors import Question
from ptxmma.spec.loading import load_files
from ptxmma.spec.read_before import forget_read
from ptxmma.spec.selection import select
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Variant

GOLDEN = Path(__file__).parent / "golden"
SAMPLE = (
    "wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16",
    "wgmma.mma_async.sp.sync.aligned.m64n16k64.s32.s8.u8",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m8n8k4.row.col.rp.f64.f64.f64.f64",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
    "wmma.mma.xor.popc*",
    "ldmatrix.sync.aligned.m8n8.x2.trans.b16",
    "stmatrix.sync.aligned.m8n8.x4.shared.b16",
    "movmatrix",
)


def chosen(specification: Specification, *patterns: str | None) -> list[Variant]:
    return [v for p in patterns for v in select(specification, p, None, "sm_90a") if emitted(v)]


def kernel_of(specification: Specification, mnemonic: str, form: str | None = None, **fixed: int) -> Kernel:
    variant = specification.find(mnemonic)
    for name, values in choices(variant):
        if form in (None, name) and fixed.items() <= values.items():
            return Kernel("value", variant, name, values)
    raise AssertionError(mnemonic)


# Texts.


def test_the_same_specification_gives_the_same_bytes(specification: Specification) -> None:
    forget_read()
    again = load_files()
    assert again is not specification
    first, second = (
        list(suite_of(s, chosen(s, *SAMPLE[1:4]), chosen(s, *SAMPLE[1:4]), "sm_90a").files())
        for s in (specification, again)
    )
    assert first == second


@pytest.mark.parametrize("name", ["movmatrix.ptx", "movmatrix.cu", "mma.ptx", "mma.cu", "raw.ptx"])
def test_kernels_are_as_they_were_reviewed(specification: Specification, name: str) -> None:
    stem, kind = name.split(".")
    mnemonic = {
        "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16",
        "mma": "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32",
        "raw": "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32",
    }[stem]
    kernel = kernel_of(specification, mnemonic)
    if stem == "raw":
        kernel = next(raw_kernels([specification.find(mnemonic)]))
    text = entry_text(kernel, specification) if kind == "ptx" else cuda_source([kernel], specification)
    if os.environ.get("PTXMMA_REFRESH"):
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()


@pytest.mark.slow
def test_every_name_is_an_entry_of_its_own(specification: Specification) -> None:
    variants = chosen(specification, "mma", "mma.sp", "ldmatrix", "wgmma*m64n8k*", "wgmma*m64n16k*")
    names = [kernel.name for kernel, _ in cases_of(specification, variants, variants).cases]
    names += [kernel.name for kernel in raw_kernels(variants)]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name, re.IGNORECASE) for name in names)


def test_every_pair_of_settings_meets(specification: Specification) -> None:
    variants = chosen(specification, "wgmma.mma_async.sp*.f32.tf32.tf32")
    found = cases_of(specification, variants, variants)
    (covered,) = found.coverage
    assert covered.pairs == covered.possible > 1000
    assert {kernel.variant.fields["n"] for kernel, _ in found.cases} == set(range(8, 257, 8))
    assert all(len(cases) >= 3 for _, cases in found.cases)
    smallest = [kernel for kernel, _ in found.cases if kernel.variant.fields["n"] == 8]
    assert len(smallest) == 16  # both forms, both selectors, both signs of A and of B
    descriptor = next(cases for kernel, cases in found.cases if kernel is smallest[0])
    met = {(c.settings["scale-d"], c.settings["swizzle-a"], c.settings["swizzle-b"]) for c in descriptor}
    assert len(met) == 32
    clauses = {clause for _, cases in found.cases for case in cases for clause in case.clauses}
    assert {"num.scale-d", "num.imm-scale", "num.sparse", "num.tf32.truncate"} <= clauses


def test_pairs_are_counted_once_and_covered_by_what_is_complete() -> None:
    worlds: list[dict[str, Sequence[int | str]]] = [
        {"a": (0, 1, 2), "b": ("x", "y")},
        {"a": (0, 1, 2), "c": (7, 8)},
    ]
    pairs = Pairs(worlds)
    assert pairs.total == pairs.left == 12
    while pairs.left:
        missing = pairs.any_missing()
        assert missing
        world = next(w for w in worlds if missing.keys() <= w.keys())
        combination = pairs.complete(world, missing)
        assert pairs.cover(combination) >= 1
    assert pairs.any_missing() is None


def test_a_covering_of_one_world_meets_every_pair_in_few_combinations() -> None:
    world = {"a": (0, 1, 2), "b": ("x", "y"), "c": (False, True), "d": (7,)}
    found = list(covering(world))
    for one, other in itertools.combinations(world, 2):
        met = {(combination[one], combination[other]) for combination in found}
        assert met == set(itertools.product(world[one], world[other])), (one, other)
    assert 6 <= len(found) < 12  # of 12
    assert list(covering({"a": (5, 6)})) == [{"a": 5}]
    assert list(covering({})) == [{}]


# Assemblers and compilers.


def assembler() -> str:
    try:
        return str(locate().path)
    except Question as question:
        pytest.skip(str(question))


def test_a_sample_of_kernels_assembles(specification: Specification, tmp_path: Path) -> None:
    ptxas = assembler()
    variants = chosen(specification, *SAMPLE)
    suite = suite_of(specification, variants, chosen(specification, None), "sm_90a")
    raw = modules(list(raw_kernels(variants))[::3], specification, "sm_90a")
    for module in (*suite.modules, *raw):
        file = tmp_path / f"{module.name}.ptx"
        file.write_text(module.text)
        done = subprocess.run(
            [ptxas, "-arch", "sm_90a", file, "-o", os.devnull], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_sample_of_cuda_compiles(specification: Specification, tmp_path: Path) -> None:
    if not shutil.which("nvcc"):
        pytest.skip("there is no nvcc here")
    variants = chosen(specification, *SAMPLE[:2], *SAMPLE[-3:])
    write(suite_of(specification, variants, variants, "sm_90a").files("cuda"), tmp_path)
    done = subprocess.run(["make", "-s", "cubin"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def write(files: Iterator[tuple[str, str]], folder: Path) -> None:
    for name, text in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


# The stand-in.


@pytest.fixture(scope="session")
def program(specification: Specification, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite with its host program built, of the smallest kernel."""
    if not shutil.which("g++") or not shutil.which("make"):
        pytest.skip("there is no C++ compiler here")
    folder = tmp_path_factory.mktemp("host")
    variants = chosen(specification, "movmatrix")
    write(suite_of(specification, variants, variants, "sm_90a").files(), folder)
    done = subprocess.run(["make", "-s", "CXXFLAGS=-O1 -Werror"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "conformance"


def stand_in(
    specification: Specification,
    program: Path,
    folder: Path,
    patterns: Sequence[str],
    spoil: Callable[[str], str] = lambda text: text,
) -> tuple[int, list[dict[str, Any]]]:
    """Run a suite on the stand-in, its CUDA text spoilt first; the exit code and the lines."""
    known = chosen(specification, None) if "wmma" in patterns[0] else chosen(specification, *patterns)
    write(suite_of(specification, chosen(specification, *patterns), known, "sm_90a").files("cuda"), folder)
    for source in (folder / "cuda").glob("*.cu"):
        text = source.read_text()
        source.write_text(spoil(text))
    built = subprocess.run(
        ["make", "-s", "stand-in", "CXXFLAGS=-O1"], cwd=folder, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program, ".", "--via", "stand-in"], cwd=folder, capture_output=True, text=True)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "patterns",
    [
        SAMPLE[1:2],
        SAMPLE[3:5],
        SAMPLE[5:6],
        SAMPLE[6:],
        ["mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16"],
        ["wgmma.mma_async.sync.aligned.m64n8k256*"],
    ],
)
def test_suites_pass_on_the_stand_in(
    specification: Specification, program: Path, tmp_path: Path, patterns: Sequence[str]
) -> None:
    code, lines = stand_in(specification, program, tmp_path, patterns)
    wrong = [line for line in lines if line.get("status", "passed") != "passed"]
    assert (code, wrong) == (0, [])
    assert lines[-1]["summary"]["passed"] == len(lines) - 1 > 0


def store(text: str) -> int:
    """Where the step that stores D begins."""
    return text.index(" store(const")


def once(old: str, new: str, after: Callable[[str], int] = lambda text: 0) -> Callable[[str], str]:
    def spoil(text: str) -> str:
        start = after(text)
        assert old in text[start:], old
        return text[:start] + text[start:].replace(old, new, 1)

    return spoil


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32"
FAULTS = {
    "swapped element": (MMA, once("2 * (t % 4) + i % 2", "2 * (t % 4) + (i + 1) % 2", store)),
    "unwritten element": (MMA, once("i < 4", "i < 3", store)),
    "every element one place on": (MMA, once("row * 8 + col", "row * 8 + col + 1", store)),
    "wrong selector": (SPARSE, once("t % 4 / 2 == 0", "t % 4 / 2 == 1")),
    "transposed tile": (MMA, once("(job.b, row * 8 + col)", "(job.b, col * 8 + row)")),
    "wrong map of A": (MMA, once("t / 4 + 8 * (i / 2 % 2)", "t / 4 + 8 * (i / 4)")),
    "wrong metadata": (SPARSE, once("slot = bit / 2 % 2", "slot = 1 - bit / 2 % 2")),
    "wrong swizzle": (SAMPLE[1], once("((linear >> 7)", "((linear >> 8)")),
    "wrong row of stmatrix": (SAMPLE[7], once("job.b, mine", "job.b, mine ^ 1")),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(
    specification: Specification, program: Path, tmp_path: Path, fault: str
) -> None:
    pattern, spoil = FAULTS[fault]
    code, lines = stand_in(specification, program, tmp_path, [pattern], spoil)
    failed = [line for line in lines if line.get("status") == "failed"]
    assert code == 1
    assert failed
    first = failed[0]["wrong"][0]
    located = {"row", "col", "expected", "got", *(() if "stmatrix" in fault else ("thread", "element"))}
    assert located <= first.keys()


def test_what_lies_around_d_is_watched(specification: Specification, program: Path, tmp_path: Path) -> None:
    """D is right, but the word in front of it is written too: for all but the first case, another's end."""
    stray = once("ptxmma::set", "static_cast<uint32_t*>(job.d)[-1] = 0;\n      ptxmma::set", store)
    code, lines = stand_in(specification, program, tmp_path, [MMA], stray)
    first, *others, last = (line.get("wrong") for line in lines[:-1])
    behind = {"behind": 31, "got": "0x0"}
    assert code == 1 and others
    assert first == [{"before": 1, "got": "0x0"}, behind]
    assert all(wrong == [behind] for wrong in others) and last is None


def test_what_cannot_be_run_is_an_error_and_never_passes(program: Path, tmp_path: Path) -> None:
    folder = program.parent
    done = subprocess.run([program, folder, "--via", "stand-in"], capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1  # the stand-in's libraries were not built
    count = len(lines) - 1
    assert done.stderr.splitlines()[-1] == (
        f"{count} cases: 0 passed, 0 failed, {count} errors; via stand-in, stand-in on the CPU"
    )
    assert {line["status"] for line in lines[:-1]} == {"error"}
    for words in (
        ["nowhere"],
        [str(folder), "--via", "guess"],
        [str(folder), "--device"],
        [str(folder), "--only", "x"],
        ["--guess"],
        ["-j"],
        [str(folder), "other"],
        [str(folder), "--batch", "0"],
        [str(folder), "--jobs", "-1"],
        [str(folder), "--limit", "5x"],
    ):
        done = subprocess.run([program, *words], capture_output=True, text=True)
        assert done.returncode == 2, words
        assert done.stderr.startswith("conformance: ") and done.stdout == ""
    nothing = tmp_path / "only"
    nothing.write_text("0123456789abcdef\n")
    done = subprocess.run([program, folder, "--only", nothing], capture_output=True, text=True)
    said = f"conformance: {nothing} names the case 0123456789abcdef, which this suite does not have\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_part_of_a_suite_is_not_taken_for_all(program: Path, tmp_path: Path) -> None:
    *lines, end = (program.parent / "suite.txt").read_text().splitlines(keepends=True)
    assert end == f"end {sum(line.startswith('case ') for line in lines)}\n"
    for text, said in (
        ("".join(lines), "is cut off: the line `end` is missing"),
        ("".join([*lines[:-1], end]), "has 2 of 3 cases"),
    ):
        (tmp_path / "suite.txt").write_text(text)
        done = subprocess.run([program, tmp_path, "--via", "stand-in"], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"conformance: {tmp_path}/suite.txt {said}\n"


def test_results_that_cannot_be_written_are_no_pass(
    specification: Specification, program: Path, tmp_path: Path
) -> None:
    code, _ = stand_in(specification, program, tmp_path, ["movmatrix"])
    assert code == 0
    for words, name in (([], "standard output"), (["--out", "/dev/full"], "/dev/full")):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [program, tmp_path, "--via", "stand-in", *words],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert done.returncode == 2, words
        last = done.stderr.splitlines()[-1]
        assert last == f"conformance: {name} cannot be written: No space left on device"


# The command.


def test_gen_writes_a_suite(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    out = tmp_path / "suite"
    code, said, _ = run("gen", "ldmatrix", "--ptx", "9.0", "--kind", "ptx", "--out", str(out))
    assert code == 0
    assert said.splitlines()[-2:] == [
        f"18 mnemonics, 18 kernels, 54 cases in {out}",
        "not run: 36 mnemonics that sm_90a does not have, 36 kernels",
    ]
    manifest = json.loads((out / "manifest.json").read_text())
    assert {kernel["row"] for kernel in manifest["kernels"]} == {"m8n8.b16", "m8n8.b16.trans"}
    assert {kernel["row"] for kernel in manifest["not run"]} == {
        "m16n16.b8",
        "m16n16.subbyte",
        "m8n16.subbyte",
    }
    cases = [case for kernel in manifest["kernels"] for case in kernel["cases"]]
    assert len({case["case"] for case in cases}) == len(cases) == 54
    assert all("num.matrix.moved" in case["clauses"] for case in cases)
    assert all(kernel["why"].startswith("it is for sm_100f, sm_100a") for kernel in manifest["not run"])
    assert {kernel["version"] for kernel in manifest["kernels"]} == {"8.0"}
    assert "--via cubin" not in (out / "README.md").read_text()
    assert not (out / "cuda").exists()
    assert run("gen", "ldmatrix", "--out", str(out))[0] == 2
    assert run("gen", "tcgen05.mma", "--out", str(tmp_path / "none"))[0] == 2


def test_what_no_kernel_of_the_target_is_of_is_still_emitted(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    code, said, _ = run("gen", "mma.sync*mxf4nvf4*2X*", "--out", str(tmp_path / "suite"))
    assert code == 0
    assert "not run: mma/m16n8k64.mxf4nvf4.2X: it is for sm_120f, sm_120a, sm_121f, sm_121a" in said
    assert said.splitlines()[-2].startswith("0 mnemonics, 0 kernels, 0 cases")
    assert [path.name for path in (tmp_path / "suite" / "elsewhere").iterdir()] == ["sm_120f"]


def test_the_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    """Hashes of words, and with them the order of a set, differ between processes."""
    folders = [tmp_path / seed for seed in "12"]
    for folder in folders:
        words = [
            sys.executable,
            "-m",
            "ptxmma",
            "gen",
            "--kind",
            "ptx",
            "wgmma.mma_async.sync*tf32*",
            "--out",
            str(folder),
        ]
        subprocess.run(
            words, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": folder.name}
        )
    first, second = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in folders
    )
    assert first == second


def test_the_host_program_helps(program: Path) -> None:
    """Every option that it takes, and every exit code, stands in its help."""
    source = (program.parent / "host" / "main.cpp").read_text()
    options = set(re.findall(r'"(--[a-z]+)"', source))
    for word in ("--help", "-h"):
        done = subprocess.run([program, word], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert options <= set(re.findall(r"--[a-z]+", done.stdout)) and len(options) == 9
        assert all(f"{code} " in done.stdout.split("Exit codes: ")[1] for code in range(5))
    done = subprocess.run([program, "--guess"], capture_output=True, text=True)
    assert "--help lists them" in done.stderr


def test_builds_use_all_processors(program: Path) -> None:
    for name in ("README.md", "Makefile"):
        text = (program.parent / name).read_text()
        assert "make -j$(nproc)" in text and "-j16" not in text

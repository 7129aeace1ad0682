"""A trial finds a chip that does what spec/arithmetic says, and one that does not, by drawn inputs alone.

The text that runs on a GPU is compiled as C here; numpy's reading of the model stands in for the chip.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ptxmma.cli.trial_running import TrialReport, as_json, print_report
from ptxmma.devices.raw_kernel import elements, words
from ptxmma.devices.trial import SumDifference, Trial, TrialCounts
from ptxmma.devices.trial_list import trials_of
from ptxmma.gen.arithmetic.compiled_sums import compiler
from ptxmma.gen.arithmetic.numpy_sums import NumpySums
from ptxmma.gen.trials.trial_text import DISTRIBUTIONS
from ptxmma.spec.chip_arithmetic import ChipArithmetic
from ptxmma.spec.dot_product import DotProduct, ElementCode
from ptxmma.spec.selection import select
from ptxmma.spec.specification import Specification

from ..answers import valid

WATCHES = ("spec/arithmetic/*.yaml", "spec/layouts/*.yaml")
TARGET = "sm_90a"
JOBS = 20
CC = compiler()
Run = Callable[..., tuple[int, str, str]]
NEEDS_C = pytest.mark.skipif(CC is None, reason="no C compiler")

# Registers, shared memory with metadata, four products at once, elements of four bits, opaque fragments.
KERNELS = (
    "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16",
    "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16",
    "mma.sync.aligned.m8n8k32.row.col.satfinite.s32.s4.u4.s32",
    "wmma.mma.sync.aligned.col.row.m8n32k16.f32.f16",
)


def trial_of(specification: Specification, mnemonic: str, invalid: bool = False) -> Trial:
    chosen = [v for v in select(specification, mnemonic, None, TARGET) if v.mnemonic == mnemonic]
    ((trial,), _) = trials_of(specification, chosen, TARGET, None, invalid)
    return trial


class Compiled:
    """A trial's text as a library, and the jobs that it filled."""

    def __init__(self, trial: Trial, folder: Path) -> None:
        self.trial, self.raw = trial, trial.raw
        source, library = folder / "trial.c", folder / "trial.so"
        source.write_text(trial.text.text)
        subprocess.run(
            [str(CC), "-O1", "-std=gnu11", "-w", "-shared", "-fPIC", "-o", str(library), str(source)],
            check=True,
        )
        self.library = ctypes.CDLL(str(library))
        self.tables = {name: np.ascontiguousarray(table) for name, table in trial.tables.items()}

    def _call(self, name: str, arrays: Sequence[NDArray[Any]], seed: int) -> None:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        getattr(self.library, name)(*pointers, *(ctypes.c_ulonglong(n) for n in (seed, 0, JOBS)))

    def filled(self, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        inputs = np.zeros((JOBS, self.raw.threads, self.trial.text.sizes["WORDS"]), np.uint32)
        images = np.zeros((JOBS, max(16, self.trial.image_bytes)), np.uint8)
        config = np.zeros((JOBS, len(self.tables["config"])), np.uint32)
        names = ("of_A", "of_B", "of_C", "columns", "metadata", "config")
        self._call("fill", (inputs, images, config, self.tables["sums"], *map(self.tables.get, names)), seed)  # type: ignore[arg-type]
        assert (config[:, -2] == np.arange(JOBS)).all()  # each job has inputs of its own
        return inputs, images

    def codes(self, part: str, inputs: NDArray[np.uint32], images: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """The elements of A, B or C by line and number along it."""
        letter = self.trial.accumulator if part == "C" else part
        if letter in self.raw.sources:
            held = np.ascontiguousarray(inputs[:, :, self.raw.place(letter)])
        else:
            start, count = (self.trial.text.sizes[f"{name}_{part}"] for name in ("FIRST", "WORDS"))
            held = np.ascontiguousarray(images[:, start : start + 4 * count]).view("<u4")
        return elements(held, self.raw.width(letter)).reshape(JOBS, -1)[:, self.tables[f"at_{part}"]]

    def outputs(
        self, arithmetic: ChipArithmetic, inputs: NDArray[np.uint32], images: NDArray[np.uint8]
    ) -> NDArray[np.uint32]:
        """What a chip with some arithmetic stores."""
        sizes = self.trial.text.sizes
        products, n, k, count = sizes["PRODUCTS"], sizes["WIDTH"], sizes["DEPTH"], sizes["COUNT"]
        m = sizes["ROWS"] // products
        a = self.codes("A", inputs, images).reshape(JOBS, products, m, 1, count)
        b = self.codes("B", inputs, images).reshape(JOBS, products, 1, n, k)
        if sizes["SPARSE"]:
            known = self.tables["metadata"].tolist()
            code = [known.index(word) for word in inputs[:, 0, self.raw.place("metadata")][:, 0]]
            at = self.tables["columns"][code].astype(np.int64)[:, None, None, None, :]
            if sizes["PIECES"] == 2:  # halves of 32-bit elements, the low one first
                b = np.ascontiguousarray(b.astype("<u4")).view("<u2")
            b = np.take_along_axis(b, at, axis=4)
            if sizes["PIECES"] == 2:
                b = np.ascontiguousarray(b).view("<u4").astype(np.uint64)
        shape = JOBS, products, m, n, count
        a, b = (np.broadcast_to(codes, shape).reshape(-1, count) for codes in (a, b))
        sums = NumpySums(self.trial.specification, arithmetic)
        d = sums.codes(a, b, self.codes("C", inputs, images).reshape(-1)).reshape(JOBS, -1)
        placed = np.zeros_like(d)
        placed[:, self.tables["at_D"]] = d
        return np.ascontiguousarray(words(placed.reshape(JOBS, self.raw.threads, -1), self.raw.width("D")))

    def compared(
        self, inputs: NDArray[np.uint32], images: NDArray[np.uint8], outputs: NDArray[np.uint32], seed: int
    ) -> TrialCounts:
        counts = np.zeros(self.trial.counted_words, np.uint64)
        differences = np.zeros(self.trial.difference_words, np.uint64)
        places = (self.tables[name] for name in ("at_A", "at_B", "at_C", "at_D", "columns"))
        given: list[NDArray[Any]] = [
            inputs,
            images,
            outputs,
            self.tables["sums"],
            *places,
            counts,
            differences,
        ]
        self._call("compare", given, seed)
        return self.trial.outcome(counts, differences)


def slipped(arithmetic: ChipArithmetic) -> ChipArithmetic:
    """A chip whose last block has one integer changed."""
    *before, last = arithmetic.blocks
    name = next(iter(last.integers))
    changed = 1 - last.integers[name] if last.integers[name] < 2 else last.integers[name] - 1
    return replace(arithmetic, blocks=(*before, replace(last, integers={**last.integers, name: changed})))


@NEEDS_C
@pytest.mark.parametrize("mnemonic", KERNELS)
def test_a_trial_tells_chips_apart(specification: Specification, mnemonic: str, tmp_path: Path) -> None:
    trial = trial_of(specification, mnemonic)
    found = Compiled(trial, tmp_path)
    inputs, images = found.filled(seed=7)
    outputs = found.outputs(trial.arithmetic, inputs, images)
    right = found.compared(inputs, images, outputs, 7)
    assert right.total == JOBS * trial.sums and right.misses == 0 and right.differences == ()
    assert set(right.compared) == set(trial.distributions) and min(right.compared.values()) > 0

    outputs[3, 0, 0] ^= 1  # one sum of tile 3
    (one,) = found.compared(inputs, images, outputs, 7).differences
    assert one.tile == 3 and one.got == one.expected ^ 1
    dot = DotProduct(specification, trial.arithmetic)
    a, b = ([ElementCode(code) for code in codes] for codes in (one.a, one.b))
    assert dot.code(a, b, one.c) == one.expected  # the definition, from the inputs that came back


@NEEDS_C
@pytest.mark.parametrize(
    ("mnemonic", "codes"),
    [
        (KERNELS[1], [0, 1, 2, 3, 5, 6, 7, 10, 11, 15]),
        ("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", [*range(4), *range(5, 14), 15]),
    ],
)
def test_invalid_codes_are_tried(
    specification: Specification, mnemonic: str, codes: list[int], tmp_path: Path
) -> None:
    trial = trial_of(specification, mnemonic, invalid=True)
    assert list(trial.codes) == codes
    found = Compiled(trial, tmp_path)
    inputs, images = found.filled(seed=7)
    right = found.compared(inputs, images, found.outputs(trial.arithmetic, inputs, images), 7)
    assert right.total == JOBS * trial.sums and right.misses == 0
    met = found.tables["columns"]
    found.tables["columns"] = met[::-1].copy()
    outputs = found.outputs(trial.arithmetic, inputs, images)  # of a chip on which codes do something else
    found.tables["columns"] = met
    assert found.compared(inputs, images, outputs, 7).misses > 0
    assert not trials_of(
        specification, [trial_of(specification, KERNELS[0]).kernel.variant], TARGET, None, True
    )[0]


@NEEDS_C
def test_a_chip_with_another_arithmetic_is_found(specification: Specification, tmp_path: Path) -> None:
    trial = trial_of(specification, KERNELS[0])
    found = Compiled(trial, tmp_path)
    inputs, images = found.filled(seed=1)
    other = found.compared(inputs, images, found.outputs(slipped(trial.arithmetic), inputs, images), 1)
    assert 0 < other.misses < other.total and other.different["gaps"] > 0
    assert len(other.differences) == 8 and all(one.got != one.expected for one in other.differences)


@NEEDS_C
def test_a_seed_says_what_is_drawn(specification: Specification, tmp_path: Path) -> None:
    found = Compiled(trial_of(specification, KERNELS[0]), tmp_path)
    first, _ = found.filled(seed=1)
    assert (found.filled(seed=1)[0] == first).all()
    assert (found.filled(seed=2)[0] != first).mean() > 0.9
    codes = found.codes("A", *found.filled(seed=1))[DISTRIBUTIONS.index("special")]
    exponents = codes >> np.uint64(7) & np.uint64(0xFF)
    assert (codes & np.uint64(0x7FFF) == 0).any() and (exponents == 127).any()


def test_a_difference_is_told_with_its_steps(
    specification: Specification, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = trial_of(specification, KERNELS[0])
    one = SumDifference(3, 0, 1, 0x3F800000, 0x40000001, 0x40000000, (0x3F80, *[0] * 7), (0x3F80, *[0] * 7))
    counts = TrialCounts({"gaps": 1280}, {"gaps": 1}, (one,))
    report = TrialReport("NVIDIA X1", 7, [(trial, 10, counts, 0.5)], {"x": "x is opaque", "y": "y is opaque"})
    found = as_json(specification, report)
    valid("run-arithmetic", found)
    (steps,) = found["trials"][0]["first"][0]["steps"]
    assert steps["code"] == one.expected  # 1 * 1 + 1
    print_report(specification, report)
    shown = capsys.readouterr().out
    assert "tile 3, row 0, column 1: the chip gives 0x40000001, the model 0x40000000" in shown
    assert "x and 1 more: it is opaque" in shown and "1,280 sums, 1 differ" in shown


def test_every_element_has_one_place(specification: Specification) -> None:
    for mnemonic in KERNELS:
        tables = trial_of(specification, mnemonic).tables
        for part in "ABCD":
            places = tables[f"at_{part}"]
            assert sorted(places.tolist()) == list(range(len(places)))
            assert len(set(tables[f"of_{part}"].tolist())) == len(places)


def test_what_is_tried(specification: Specification) -> None:
    """Every kind of sum that sm_90a has is tried."""
    trials, why = trials_of(specification, select(specification, None, None, TARGET), TARGET, None)
    assert len(trials) == 377 and not why
    assert {trial.kernel.instruction.instruction for trial in trials} == {
        "mma",
        "mma.sp",
        "wgmma.mma_async",
        "wgmma.mma_async.sp",
        "wmma.mma",
    }
    late = trials_of(
        specification, select(specification, "mma.sp", None, TARGET), TARGET, specification.isa.version("8.4")
    )
    assert any("it needs PTX ISA 8.5; the driver reads 8.4" in said for said in late[1].values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--count", "5"), "--count, --seed and --invalid-codes go with --arithmetic"),
        (("--arithmetic", "--measure"), "--arithmetic runs no suite"),
        (("--arithmetic", "--count", "1.5"), "1.5 is not a whole number"),
        (("--arithmetic", "nosuch"), "nothing matches 'nosuch'"),
    ],
)
def test_what_does_not_go_together(run: Run, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run("run", *arguments)
    assert (code, out) == (2, "") and said in err

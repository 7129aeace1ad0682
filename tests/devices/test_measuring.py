"""Measuring: the probes find an instruction's map, right or wrong; verdicts; the arithmetic is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ptxmma.devices.gpu import configuration
from ptxmma.devices.probes.arithmetic_probe import Dot
from ptxmma.devices.probes.arithmetic_summary import kept, summary
from ptxmma.devices.probes.arithmetic_tests import first_tests, second_tests
from ptxmma.devices.probes.codes import decode, encode
from ptxmma.devices.probes.measurements import MeasuredKernel, measure, survey
from ptxmma.devices.probes.products import NoProduct, factor
from ptxmma.devices.raw_kernel import Batch, of_kernel
from ptxmma.devices.stand_in import StandIn
from ptxmma.devices.suite_runs import CaseResult
from ptxmma.gen.kernels.raw_ptx import CONFIG
from ptxmma.ledger.device_observations import Work, measurable, newest, observe
from ptxmma.ledger.measured_points import judge
from ptxmma.ledger.silicon_record import DeviceRecord, Silicon, load_silicon, write_silicon
from ptxmma.ledger.silicon_verdicts import silicon_verdicts
from ptxmma.spec.errors import Place, Question
from ptxmma.spec.expressions import parse
from ptxmma.spec.maps import LayoutMap
from ptxmma.spec.nodes import Formula
from ptxmma.spec.selection import select
from ptxmma.spec.specification import Specification

DENSE = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
QUADS = "mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f16"
PAIRS = "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WORDS = "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
GROUP = "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32"
NOWHERE = Place("", 0, 0)


@pytest.fixture(scope="module")
def subjects(specification: Specification) -> tuple[MeasuredKernel, ...]:
    return survey(specification)


def find(subjects: tuple[MeasuredKernel, ...], what: str, mnemonic: str, *settings: str) -> MeasuredKernel:
    return next(
        s
        for s in subjects
        if s.what == what and s.kernel.variant.mnemonic == mnemonic and {*settings} <= {*s.id.split()}
    )


def changed(specification: Specification, identifier: str, **texts: str) -> dict[str, LayoutMap]:
    """A layout with another formula for some of its outputs (or its condition, `where`)."""
    layout = specification.layouts[identifier].layout
    formulas = {name: Formula(text, parse(text), NOWHERE) for name, text in texts.items()}
    where = formulas.pop("where", layout.where)
    return {identifier: LayoutMap(replace(layout, map={**layout.map, **formulas}, where=where))}


def faults_of(
    specification: Specification, subject: MeasuredKernel, layouts: dict[str, LayoutMap] | None = None
) -> tuple[int, list[str]]:
    """How many points of a subject are compared, and what differs, on a stand-in that has these layouts."""
    ((_, values),) = measure(specification, StandIn(specification, layouts or {}), [subject])
    return judge(specification, subject.kernel.variant, subject.what, subject.id, values)


def product(rows: int, columns: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The meetings of a product whose elements are anywhere, and where."""
    rng = np.random.default_rng(3)
    a, b, d = (rng.permutation(count) for count in (rows * k, k * columns, rows * columns))
    element = np.empty(k * columns, int)
    element[b] = np.arange(k * columns)
    there = element[(a % k)[:, None] * columns + (d % columns)[None, :]]
    return np.where((a // k)[:, None] == (d // columns)[None, :], there, -1), a, b, d


def test_a_product_is_factored_up_to_names() -> None:
    meets, a, b, d = product(6, 4, 5)
    found = factor(meets, 20)
    assert found.shape == (6, 4, 5)
    pairs = [
        (found.a[:, 0], a // 5),
        (found.d[:, 0], d // 4),
        (found.d[:, 1], d % 4),
        (found.b[:, 1], b % 4),
        (found.b[:, 0], b // 4),
        (found.met[found.a[:, 1]], found.b[:, 0][np.argsort(b)][(a % 5) * 4]),
    ]
    for measured, real in pairs:
        assert len({*zip(measured.tolist(), real.tolist(), strict=True)}) == len({*real.tolist()})


@pytest.mark.parametrize("place", [0, 7])
def test_what_is_no_product_is_not_factored(place: int) -> None:
    meets, *_ = product(6, 4, 5)
    at = np.flatnonzero(meets[place] >= 0)
    meets[place, at[0]], meets[place, at[1]] = meets[place, at[1]], meets[place, at[0]]
    with pytest.raises(NoProduct):
        factor(meets, 20)


@pytest.mark.parametrize("mnemonic", [DENSE, QUADS])
def test_maps_are_recovered(
    specification: Specification, subjects: tuple[MeasuredKernel, ...], mnemonic: str
) -> None:
    points, faults = faults_of(specification, find(subjects, "maps", mnemonic))
    assert points >= 448 and not faults


@pytest.mark.parametrize(
    ("identifier", "output", "text", "thread"),
    [
        ("mma.m16n8k8.a.16b", "row", "groupID + 8*where(t == 9, 1 - i // 2, i // 2)", "A: thread 9 "),
        ("mma.m16n8k8.b.16b", "col", "where(groupID < 2, 1 - groupID, groupID)", "B: thread 0 "),
        ("mma.m16n8.c", "col", "2*threadID_in_group + where(t == 30, 1 - i % 2, i % 2)", "thread 30 "),
    ],
)
def test_another_bijection_is_found(
    specification: Specification,
    subjects: tuple[MeasuredKernel, ...],
    identifier: str,
    output: str,
    text: str,
    thread: str,
) -> None:
    lets = specification.layouts[identifier].layout.let
    for name, formula in lets.items():
        text = text.replace(name, f"({formula.text})")
    wrong = changed(specification, identifier, **{output: text})
    _, faults = faults_of(specification, find(subjects, "maps", DENSE), wrong)
    assert any(thread.split(": ")[-1] in fault or fault.startswith(thread) for fault in faults)


def test_addresses_name_the_rows_of_wgmma(
    specification: Specification, subjects: tuple[MeasuredKernel, ...]
) -> None:
    subject = find(subjects, "maps", GROUP, "register-scale")
    points, faults = faults_of(specification, subject)
    assert points == 1026 and not faults  # and the two patterns that multiply as 1
    jointly = {
        **changed(specification, "wgmma.d", row="63 - (16*(t // 32) + t % 32 // 4 + 8*(i // 2 % 2))"),
        **changed(specification, "wgmma.a.tf32", row="63 - (16*(t // 32) + t % 32 // 4 + 8*(i % 2))"),
    }
    _, faults = faults_of(specification, subject, jointly)
    assert len(faults) == 1024  # of mma, which has no addresses, such a renaming could not be seen


def test_metadata_is_measured_for_every_selector(
    specification: Specification, subjects: tuple[MeasuredKernel, ...]
) -> None:
    for selector in range(4):
        points, faults = faults_of(specification, find(subjects, "metadata", WORDS, f"f={selector}"))
        assert points >= 256 and not faults


@pytest.mark.parametrize(
    ("mnemonic", "identifier", "output", "text"),
    [
        (PAIRS, "mma.sp.metadata.16b.one", "where", "t % 4 == 3 - s"),
        (PAIRS, "mma.sp.metadata.16b.one", "index_bit", "1 - bit % 2"),
        (PAIRS, "mma.sp.metadata.16b.one", "row", "t // 4 + 8*(1 - bit // 16)"),
        (WORDS, "mma.sp.metadata.tf32.one", "index_bit", "bit % 4 ^ 2"),
    ],
)
def test_other_metadata_is_found(
    specification: Specification,
    subjects: tuple[MeasuredKernel, ...],
    mnemonic: str,
    identifier: str,
    output: str,
    text: str,
) -> None:
    wrong = changed(specification, identifier, **{output: text})
    _, faults = faults_of(specification, find(subjects, "metadata", mnemonic, "f=1"), wrong)
    assert faults


def test_addresses_are_measured(specification: Specification, subjects: tuple[MeasuredKernel, ...]) -> None:
    subject = find(subjects, "memory A", GROUP)
    ((_, values),) = measure(specification, StandIn(specification), [subject])
    points, faults = judge(specification, subject.kernel.variant, subject.what, subject.id, values)
    assert len(values["words"]) == 48 and values["words"][1] == "0x0000004900810001"
    turned = len(values["turned words"])
    assert 200 < turned < 4 * 64 and points == (48 + turned) * 64 * 8 and not faults


@pytest.mark.parametrize("wanted", ["ldmatrix.sync.aligned.m8n8.x2.trans.b16", "movmatrix"])
def test_matrices_are_measured(
    specification: Specification, subjects: tuple[MeasuredKernel, ...], wanted: str
) -> None:
    subject = next(s for s in subjects if s.id.startswith(wanted))
    points, faults = faults_of(specification, subject)
    assert points and not faults
    wrong = changed(specification, "matrix.m8n8.trans", col="t // 4 ^ 1")
    _, faults = faults_of(specification, subject, wrong)
    assert len(faults) == points


def test_observations_are_recorded_and_judged(
    specification: Specification, subjects: tuple[MeasuredKernel, ...], tmp_path: Path
) -> None:
    chosen = [find(subjects, "maps", DENSE), find(subjects, "metadata", WORDS, "f=0")]
    work = Work(specification, "sm_90a", chosen)
    silicon = Silicon(DeviceRecord("A Chip", "sm_90a", "CUDA 13.0", "none", "2026-11-21"))
    silicon.subjects, silicon.arithmetic = observe(work, StandIn(specification))
    silicon.keep("ptx", [CaseResult("00" * 8, "passed"), CaseResult("ab" * 8, "failed", count=1)])
    path = write_silicon(silicon, tmp_path)
    assert path.name == "silicon-a-chip-sm_90a.json"
    (again,) = load_silicon(tmp_path)
    assert again.passed("ptx") == {"00" * 8} and again.passed("cubin") == frozenset()
    assert again.arithmetic.keys() == silicon.arithmetic.keys() == {DENSE}
    cases = {name: one.case for name, one in again.subjects.items()}
    assert [v.state for v in silicon_verdicts(specification, again, cases)] == ["agrees", "agrees"]
    first, second = cases
    states = [
        v.state for v in silicon_verdicts(specification, again, {first: "other", second: cases[second]})
    ]
    assert states == ["stale", "agrees"]
    del again.subjects[second]
    assert [v.state for v in silicon_verdicts(specification, again, cases)] == ["agrees", "unseen"]
    spoilt = np.array(again.subjects[first].values["A"])
    spoilt[0] = spoilt[2]
    observed = again.subjects[first]
    again.subjects[first] = replace(observed, values={**observed.values, "A": spoilt})
    verdict = next(silicon_verdicts(specification, again, cases))
    assert verdict.state == "differs" and "thread 0 element 0" in verdict.first[0]


def test_a_changed_layout_is_judged(
    specification: Specification, subjects: tuple[MeasuredKernel, ...]
) -> None:
    subject = find(subjects, "maps", DENSE)
    work = Work(specification, "sm_90a", [subject])
    silicon = Silicon(DeviceRecord("A Chip", "sm_90a", "CUDA 13.0", "none", "2026-11-21"))
    silicon.subjects, _ = observe(work, StandIn(specification))
    cases = {name: one.case for name, one in silicon.subjects.items()}
    other = changed(specification, "mma.m16n8k8.a.16b", row="t // 4 + 8*(1 - i // 2)")
    today = replace(specification, layouts={**specification.layouts, **other})
    (verdict,) = silicon_verdicts(today, silicon, cases)
    assert verdict.state == "differs" and verdict.differing == 128


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": 2}', r"silicon-x\.json is not a record of observations"),
        ('{"format": 1}', r"silicon-x\.json is not a record of observations of format 2, but of format 1"),
        ('{"format": 2,\n', r"silicon-x\.json:2:1 is not a record of observations: not JSON"),
    ],
)
def test_garbage_is_no_record(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "silicon-x.json").write_text(text)
    with pytest.raises(Question, match=said):
        load_silicon(tmp_path)


def test_a_driver_reads_what_its_toolkit_reads(specification: Specification) -> None:
    assert str(newest(specification, "13.0")) == "9.0"
    assert str(newest(specification, "580.159.04, CUDA 13.0")) == "9.0"
    assert str(newest(specification, "12.8")) == "8.7"
    can, cannot = measurable(specification, "sm_90a", "9.0")
    assert {s.kernel.variant.mnemonic.split(".")[0] for s in cannot} == {"ldmatrix"}
    assert len(can) == 427
    rows = {variant.row.id for variant in select(specification, "mma.sp*", None, "sm_90a")}
    part, _ = measurable(specification, "sm_90a", "9.0", rows)
    assert {s.what for s in part} == {"maps", "metadata"}
    assert {s.kernel.variant.row.id for s in part} == rows


@pytest.mark.parametrize(
    ("element", "number", "code"),
    [
        ("f16", 1.0, 0x3C00),
        ("f16", -(2.0**-24), 0x8001),
        ("bf16", 1.5, 0x3FC0),
        ("tf32", 1.0, 0x3F800000),
        ("e4m3", 448.0, 0x7E),
        ("e4m3", 2.0**-9, 0x01),
        ("e5m2", -2.0, 0xC0),
        ("f32", -0.0, 0x80000000),
        ("f64", 1.0, 0x3FF0000000000000),
        ("s8", -1.0, 0xFF),
        ("u4", 15.0, 0xF),
    ],
)
def test_codes(specification: Specification, element: str, number: float, code: int) -> None:
    assert encode(specification, element, number) == code
    assert decode(specification, element, np.array([code], np.uint64))[0] == number


def test_what_a_type_does_not_hold_is_refused(specification: Specification) -> None:
    with pytest.raises(Question, match=r"1000\.0 is not a number of \.e4m3"):
        encode(specification, "e4m3", 1000.0)


def truncating(bits: int, block: int):  # type: ignore[no-untyped-def]
    """Sums of blocks: every term aligned to the greatest, the bits behind `bits` dropped."""

    def sums(products: np.ndarray, c: np.ndarray) -> np.ndarray:
        total = c
        for start in range(0, products.shape[3], block):
            part = products[:, :, :, start : start + block]
            terms = np.concatenate([part, total[:, :, :, None]], axis=3)
            greatest = np.abs(terms).max(axis=3, keepdims=True)
            unit = np.exp2(np.floor(np.log2(np.where(greatest > 0, greatest, 1.0))) - bits)
            total = (np.trunc(terms / unit) * unit).sum(axis=3)
        return total

    return sums


@pytest.mark.parametrize(("bits", "block"), [(25, 8), (13, 4)])
def test_the_arithmetic_of_a_chip_is_read(
    specification: Specification, subjects: tuple[MeasuredKernel, ...], bits: int, block: int
) -> None:
    kernel = find(subjects, "maps", DENSE).kernel
    dot = Dot(specification, kernel, StandIn(specification, sums=truncating(bits, block)))
    finite = [test for test in first_tests(dot) if "nan" not in test.name and "inf" not in test.name]
    patterns = dot.run(finite)
    assert kept(dot, patterns, "block") == bits
    patterns |= dot.run(list(second_tests(dot, bits)))
    found = summary(dot, patterns)
    assert (found.bits, found.bits_c, found.bits_small_c, found.all) == (bits, bits, bits, False)
    assert (found.dropped, found.halves, found.block) == ("toward zero", "each dropped", str(block))


def test_exact_sums_lose_nothing(specification: Specification, subjects: tuple[MeasuredKernel, ...]) -> None:
    dot = Dot(specification, find(subjects, "maps", DENSE).kernel, StandIn(specification))
    found = summary(dot, dot.run(list(first_tests(dot))))
    assert found.all and found.bits == 57 and found.rounding_c == "to nearest even"
    assert found.specials["+0 + -0"] == "0x00000000" and found.specials["inf * 0"][-7] in "7f"


def test_every_job_has_its_configuration(subjects: tuple[MeasuredKernel, ...]) -> None:
    """Descriptors in two words; what loads or stores keeps an image of its own for every job."""
    kernel = next(s.kernel for s in subjects if s.kernel.variant.mnemonic.startswith("wgmma"))
    inputs = np.zeros((2, 1, 1), np.uint32)
    batch = Batch.of(inputs, np.zeros((3, 64), np.uint8), image=[2, 1], a=[0x1_0000_0002, 3], b=1 << 62)
    rows = [
        dict(zip(CONFIG, row, strict=True)) for row in configuration(of_kernel(kernel), batch, 64).tolist()
    ]
    assert [(row["A.low"], row["A.high"]) for row in rows] == [(2, 1), (3, 0)]
    assert {row["B.high"] for row in rows} == {1 << 30} and {row["B.low"] for row in rows} == {0}
    assert [(row["input"], row["image"]) for row in rows] == [(0, 2), (1, 1)]
    assert {(row["image-bytes"], row["scale-d"]) for row in rows} == {(64, 1)}
    mover = next(s.kernel for s in subjects if s.kernel.variant.mnemonic.startswith("stmatrix"))
    stored = configuration(of_kernel(mover), batch, 64)
    assert stored[:, CONFIG.index("image")].tolist() == [0, 1]

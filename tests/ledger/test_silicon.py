"""What chips showed, held against slips in the YAML: by raw words, not by hashes; and two chips side by side."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.devices.gpu import DeviceFault
from ptxmma.devices.probes.measurements import measure, survey
from ptxmma.devices.stand_in import StandIn
from ptxmma.ledger.chips import common_ground
from ptxmma.ledger.device_observations import current_cases, current_suite
from ptxmma.ledger.measured_points import judge
from ptxmma.ledger.register_faults import RegisterFaults
from ptxmma.ledger.silicon_record import Silicon, load_silicon
from ptxmma.ledger.silicon_verdicts import Judged, SiliconVerdict, by_mnemonic, silicon_verdicts
from ptxmma.ledger.strided_places import strided_verdicts
from ptxmma.spec.api import load
from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import ROOT, load_files
from ptxmma.spec.memory_records import Descriptor
from ptxmma.spec.specification import Specification

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
KIND = "wgmma"


@pytest.fixture(scope="module")
def recorded() -> tuple[Silicon, ...]:
    return load_silicon()


def slipped(specification: Specification, field: str, **slip: object) -> Specification:
    """The specification with another value in one field of the descriptor."""
    old = specification.descriptors[KIND]
    fields = {name: replace(one, **slip) if name == field else one for name, one in old.fields.items()}  # type: ignore[arg-type]
    new: Descriptor = replace(old, fields=fields)
    return replace(specification, descriptors={**specification.descriptors, KIND: new})


START, LEADING, STRIDE = "start-address", "leading-dimension-byte-offset", "stride-dimension-byte-offset"
BASE, MODE = "base-offset", "swizzle-mode"
SLIPS = [
    (START, {"low": 1}),
    (START, {"high": 12}),
    (START, {"high": 14}),
    (START, {"unit": 8}),
    (LEADING, {"low": 15}),
    (LEADING, {"low": 17}),
    (LEADING, {"high": 28}),
    (LEADING, {"high": 30}),
    (LEADING, {"unit": 32}),
    (STRIDE, {"low": 31}),
    (STRIDE, {"low": 33}),
    (STRIDE, {"high": 44}),
    (STRIDE, {"high": 46}),
    (STRIDE, {"unit": 1}),
    (BASE, {"low": 48}),
    (BASE, {"low": 50}),
    (BASE, {"high": 50}),
    (BASE, {"unit": 2}),
    (BASE, {"part": None}),
    (MODE, {"low": 61}),
    (MODE, {"low": 63}),
    (MODE, {"high": 62}),
    (MODE, {"unit": 2}),
    (MODE, {"values": {"none": 0, "128B": 2, "64B": 1, "32B": 3}}),
    (MODE, {"values": {"none": 0, "128B": 1, "64B": 2}}),
]


@pytest.mark.parametrize(("field", "slip"), SLIPS, ids=str)
def test_a_slip_of_a_descriptor_contradicts_recorded_words(
    specification: Specification, recorded: tuple[Silicon, ...], field: str, slip: dict[str, object]
) -> None:
    """Of every chip; the kernels are the same, so nothing is stale."""
    wrong, known = slipped(specification, field, **slip), by_mnemonic(specification)
    for silicon in recorded:
        named = [
            (n, o) for n, o in silicon.subjects.items() if n.startswith("memory A: wgmma.mma_async.sync")
        ]
        assert any(
            judge(wrong, known[o.kernel.split()[0]], n.split(": ")[0], o.kernel, o.values)[1]
            for n, o in named
        )


@pytest.mark.parametrize(
    ("field", "slip"),
    [
        (START, {"high": 12}),
        (LEADING, {"low": 17}),
        (STRIDE, {"high": 44}),
        (MODE, {"values": {"none": 0, "128B": 1, "64B": 2}}),
    ],
    ids=str,
)
def test_recording_again_under_a_slip_contradicts_it(
    specification: Specification, field: str, slip: dict[str, object]
) -> None:
    wrong = slipped(specification, field, **slip)
    subject = next(
        s
        for s in survey(wrong, "sm_90a", ["wgmma.mma_async"])
        if s.what == "memory A" and "m64n8k8.f32.tf32" in s.id
    )
    chip = StandIn(specification)
    try:
        ((_, values),) = measure(wrong, chip, [subject])
    except DeviceFault:
        return  # the chip stopped where the slip claims memory: the record says that it failed
    assert judge(wrong, subject.kernel.variant, subject.what, subject.id, values)[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("low: 0, high: 13", "low: 0, high: 14"),
        ("low: 16, high: 29", "low: 16, high: 30"),
        ("low: 32, high: 45", "low: 32, high: 46"),
        ("low: 49, high: 51", "low: 49, high: 52"),  # a base offset of 8 does what 0 does
    ],
)
def test_a_field_that_is_too_wide_is_refused(files: Path, old: str, new: str) -> None:
    """No chip can be asked of it: the words that would tell name memory that it does not have."""
    with pytest.raises(SpecError, match=r"descriptors\.yaml:\d+:\d+: the field .* holds at most"):
        edited(files, "spec/descriptors.yaml", old, new)


def edited(files: Path, name: str, old: str, new: str) -> Specification:
    text = (files / name).read_text()
    assert old in text
    (files / name).write_text(text.replace(old, new, 1))
    return load_files(files)


def verdicts(
    specification: Specification, silicon: Silicon, rows: set[str] | None = None
) -> list[SiliconVerdict]:
    current = current_cases(specification, silicon.device, rows)
    return list(silicon_verdicts(specification, silicon, current, rows))


@pytest.mark.parametrize("bias", [14, 16])
def test_a_slip_of_a_bias_contradicts_what_multiplied_as_one(
    specification: Specification, recorded: tuple[Silicon, ...], bias: int
) -> None:
    formats = {**specification.formats, "f16": replace(specification.formats["f16"], bias=bias)}
    wrong = replace(specification, formats=formats)
    rows = {"mma/m16n8k8.f16"}
    assert [v.state for v in verdicts(specification, recorded[-1], rows)] == ["agrees", "agrees"]
    for verdict in verdicts(wrong, recorded[-1], rows):
        assert verdict.differing == 2 and "A: 0x3c00 multiplies as 1" in verdict.first[0]


@pytest.mark.parametrize(
    ("name", "old", "new", "row", "first"),
    [
        (
            "spec/layouts/wgmma.yaml",
            'row: "16*warp + groupID + 8*(bit // 16)"',
            'row: "16*warp + groupID + 8*(bit // 16) + 64"',
            "wgmma.mma_async.sp/f16",
            "thread 0 bit 0 is claimed to govern row 64, packed column 0, index bit 0, outside the matrix",
        ),
        ("spec/layouts/matrix.yaml", "8*matrix + groupID", "8*matrix + groupID + 8", "movmatrix/m8n8.b16", "thread 0 half"),
        ("spec/layouts/matrix.yaml", "8*matrix + groupID", "8*matrix + groupID + 8", "ldmatrix/m8n8.b16", "thread 0 element"),
    ],
)  # fmt: skip
def test_a_place_outside_the_matrix_is_a_difference(
    files: Path, recorded: tuple[Silicon, ...], name: str, old: str, new: str, row: str, first: str
) -> None:
    found = verdicts(edited(files, name, old, new), recorded[-1], {row})
    assert any(first in fault for one in found for fault in one.first)


def test_a_measured_selector_that_is_not_claimed_is_a_difference(
    files: Path, recorded: tuple[Silicon, ...]
) -> None:
    name, row = "spec/layouts/mma.sp.yaml", {"mma.sp/m16n8k16.f16"}
    found = verdicts(
        edited(files, name, "params: {s: [0, 1, 2, 3]}", "params: {s: [0, 1, 2, 4]}"), recorded[-1], row
    )
    assert any("the sparsity selector is 3" in fault for one in found for fault in one.first)


ROWS = {"wgmma.mma_async/tf32", "wgmma.mma_async.sp/tf32"}
SAME = [
    # (file, old, new): what says the same, and no measurement may be stale
    ("spec/instructions/wgmma.mma_async.yaml", 'source: {section: "', 'source: {section: "1.'),
    ("spec/layouts/wgmma.yaml", 'section: "9.7.15', 'section: "9.7.16'),
    ("spec/sparsity.yaml", 'section: "', 'section: "1.'),
    (
        "spec/addresses.yaml",
        "linear ^ (((linear >> 7) + 8 - base & W // 16 - 1) << 4)",
        "linear ^ 16 * ((8 + linear // 128 - base) % (W // 16))",
    ),
]


@pytest.mark.parametrize(("name", "old", "new"), SAME)
def test_what_says_the_same_is_no_alarm(
    files: Path, recorded: tuple[Silicon, ...], name: str, old: str, new: str
) -> None:
    found = verdicts(edited(files, name, old, new), recorded[-1], ROWS)
    assert len(found) == 10 and {v.state for v in found} == {"agrees"}


def test_what_is_no_longer_claimed_is_told(files: Path, recorded: tuple[Silicon, ...]) -> None:
    """The layouts of a row turned opaque: its measurements are recorded, and nothing speaks of them."""
    name = "spec/instructions/movmatrix.yaml"
    text = (files / name).read_text()
    assert "matrix.m8n8" in text
    import re

    (files / name).write_text(re.sub(r"layouts: \{[^}]*\}", "layouts: {A: opaque, D: opaque}", text, count=1))
    specification = load_files(files)
    rows = {"movmatrix/m8n8.b16"}
    for chosen in (rows, None):
        found = [v for v in verdicts(specification, recorded[-1], chosen) if v.state != "agrees"]
        assert [(v.state, v.what, v.row) for v in found] == [("unclaimed", "matrices", "movmatrix/m8n8.b16")]


@pytest.mark.parametrize(
    ("new", "state"),
    [
        ("col * 1 + stride * row", "agrees"),
        ("row * stride + col + 1", "differs"),
        ("col * stride + row", "differs"),
    ],
)
def test_formulas_of_strided_matrices_are_judged(
    files: Path, recorded: tuple[Silicon, ...], new: str, state: str
) -> None:
    name = "spec/instructions/wmma.load.multiplicand.yaml"
    specification = edited(files, name, 'row: "row * stride + col"', f'row: "{new}"')
    for silicon in recorded:
        found = {v.kernel: v.state for v in strided_verdicts(specification, silicon)}
        assert found["wmma.load.a row 16x16"] == found["wmma.load.b row 16x16"] == state
        assert found["wmma.load.a col 16x16"] == found["wmma.load.c row 16x16"] == "agrees"
    silent = replace(recorded[-1], placed={})
    assert {v.state for v in strided_verdicts(specification, silent)} == {"unseen"}


def test_the_two_chips_showed_the_same(recorded: tuple[Silicon, ...]) -> None:
    found = {one.what: (len(one.alike), one.different, one.alone) for one in common_ground(recorded)}
    assert found == {
        "measurements": (427, (), ()),
        "kernels' sums and special values": (59, (), ()),
        "results of cases via ptx": (28262, (), ()),
        "results of cases via cubin": (28262, (), ()),
    }
    assert common_ground(recorded[:1]) == ()


@pytest.mark.parametrize("page", ["README.md", "docs/cookbook.md"])
def test_pages_count_the_cases_that_chips_passed(recorded: tuple[Silicon, ...], page: str) -> None:
    passed = {len(one.alike) for one in common_ground(recorded) if one.what.startswith("results of cases")}
    text = (ROOT / page).read_text(encoding="utf-8")
    counts = re.findall(r"(\d+,\d+) cases", text)
    assert counts and {int(count.replace(",", "")) for count in counts} == passed


def other_chip(silicon: Silicon) -> Silicon:
    """A chip that shows something else: one sum, and of one kernel nothing."""
    first, *_ = silicon.arithmetic
    arithmetic = {**silicon.arithmetic, first: replace(silicon.arithmetic[first], shown="another")}
    del arithmetic[list(arithmetic)[-1]]
    return replace(silicon, device=replace(silicon.device, name="Other"), arithmetic=arithmetic)


@pytest.mark.slow
def test_a_difference_between_chips_is_a_finding(
    run: Run, recorded: tuple[Silicon, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = (recorded[-1], other_chip(recorded[-1]))
    monkeypatch.setattr("ptxmma.cli.silicon_report.load_silicon", lambda: both)
    monkeypatch.setattr(RegisterFaults, "every", lambda _: iter(()))  # the register has tests of its own
    for other in ("verdicts", "peers_now", "needless_peers"):  # and so have assemblers and peers
        monkeypatch.setattr(f"ptxmma.cli.evidence_answers.{other}", lambda *_: ())
    judged: dict[tuple[str, str], Judged] = {}  # a measurement is judged once, as for two devices of one call
    monkeypatch.setattr(
        "ptxmma.cli.silicon_report.silicon_verdicts",
        lambda *given, **named: silicon_verdicts(*given, **{**named, "judged": judged}),
    )
    first = next(iter(recorded[-1].arithmetic))
    code, out, _ = run("evidence")
    assert code == 0
    assert (
        "NVIDIA H200 and Other: 57 of 58 kernels' sums and special values are the same; 1 of only one" in out
    )
    assert f"NOT THE SAME: kernels' sums and special values: {first}" in out
    code, out, _ = run("evidence", "--format", "json")
    assert code == 0
    found = json.loads(out)
    valid("evidence", found)
    (sums,) = (entry for entry in found if entry["claim"] == "alike: kernels' sums and special values")
    assert (sums["release"], sums["state"]) == ("NVIDIA H200, Other", "differs")
    assert (sums["points"], sums["differing"], sums["unregistered"]) == (58, 1, 0)
    failed = {"ptx": {"count": 0, "passed": "", "others": {"00" * 8: ["failed", "", 1, []]}}}
    monkeypatch.setattr(
        "ptxmma.cli.silicon_report.load_silicon", lambda: (replace(recorded[-1], cases=failed),)
    )
    assert run("evidence")[0] == 1


@pytest.mark.slow
def test_chips_of_one_row_are_compared(
    run: Run, recorded: tuple[Silicon, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "maps: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
    observed = recorded[-1].subjects[name]
    subjects = {**recorded[-1].subjects, name: replace(observed, shown="another")}
    other = replace(recorded[-1], device=replace(recorded[-1].device, name="Other"), subjects=subjects)
    monkeypatch.setattr("ptxmma.cli.evidence_answers.load_silicon", lambda: recorded[-1:])
    alone = run("evidence", "mma/m16n8k8.f16")[0]
    monkeypatch.setattr("ptxmma.cli.evidence_answers.load_silicon", lambda: (recorded[-1], other))
    code, out, _ = run("evidence", "mma/m16n8k8.f16")
    assert code == alone and "2 devices: maps: " in out
    assert "row mma/m16n8k8.f16: NVIDIA H200 and Other: 1 of 2 measurements are the same" in out
    assert f"NOT THE SAME: measurements: {name}" in out
    code, out, _ = run("evidence", "mma/m16n8k8.f16", "--format", "json")
    row = json.loads(out)[0]
    assert code == alone and row["alike"][0] == {
        "what": "measurements",
        "devices": ["NVIDIA H200", "Other"],
        "alike": 1,
        "different": [name],
        "alone": [],
    }


def test_cases_of_what_ships_are_kept_and_those_of_a_changed_specification_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    specification = load()
    device, rows = load_silicon()[0].device, {"movmatrix/m8n8.b16"}
    made = current_suite(specification, device, rows)
    (kept,) = (tmp_path / "ptxmma").glob("suite-*.pickle")
    assert current_suite(specification, device, rows) == made != {}
    kept.write_bytes(pickle.dumps({"movmatrix/m8n8.b16": ["of the cache"]}))
    assert current_suite(specification, device, rows) == {"movmatrix/m8n8.b16": ["of the cache"]}
    assert current_suite(replace(specification), device, rows) == made

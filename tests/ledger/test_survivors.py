"""Measurements (here of a stand-in for a device) refute maps that the proofs do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptxmma.devices.probes.measurements import survey
from ptxmma.devices.stand_in import StandIn
from ptxmma.formal.mutation.mutants import Mutant, Mutation, subjects
from ptxmma.ledger.device_observations import Work, observe
from ptxmma.ledger.silicon_record import DeviceRecord, Silicon, load_silicon
from ptxmma.ledger.survivors import Witness, exchanges
from ptxmma.spec.expressions import source
from ptxmma.spec.specification import Specification

WANTED = (
    "maps: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
    "maps: mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "metadata: mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "matrices: ldmatrix.sync.aligned.m8n8.x1.b16",
)


@pytest.fixture(scope="module")
def silicon(specification: Specification) -> Silicon:
    chosen = [s for s in survey(specification) if f"{s.what}: {s.id}".startswith(WANTED)]
    seen, _ = observe(Work(specification, "sm_90a", chosen), StandIn(specification))
    return Silicon(DeviceRecord("a stand-in", "sm_90a", "CUDA 13.0", "none", "never"), seen)


def mutants(specification: Specification, subject: str) -> list[Mutant]:
    (found,) = (s for s in subjects(specification) if s.name == subject)
    return list(Mutation(specification).mutants(found))


def test_another_selector_is_refuted(specification: Specification, silicon: Silicon) -> None:
    witness = Witness(specification, silicon)
    (mutant,) = (
        m
        for m in mutants(specification, "mma.sp.metadata.tf32.one")
        if m.field == "where" and source(m.new) == "threadID_in_group != s"
    )
    refutation, why = witness.judge(mutant)
    assert refutation is not None and not why
    assert refutation.differing
    assert "governs; claimed: thread" in str(refutation)


def test_what_was_not_measured_is_said(specification: Specification, silicon: Silicon) -> None:
    witness = Witness(specification, silicon)
    mutant = mutants(specification, "mma.scale-a.1X")[0]
    refutation, why = witness.judge(mutant)
    assert refutation is None
    assert "mma/m16n8k32.mxf8f6f4: it is for sm_120f, sm_120a, sm_121f, sm_121a" in why
    assert witness.silent("mma.m16n8k8.a.16b") == ""
    assert witness.silent("wgmma.d") == "rows that use it run there, and it was not measured"
    assert witness.silent("matrix.m8n16").endswith("and the driver reads 9.0")
    assert witness.exchanged("wgmma.d").tried == 0


def test_every_exchange_is_refuted(specification: Specification, silicon: Silicon) -> None:
    found = [Witness(specification, silicon).exchanged(name) for name in specification.layouts]
    assert sum(one.tried for one in found) > 50
    assert not any(one.standing for one in found)
    assert {one.layout for one in found if one.tried} >= {"mma.m16n8k8.a.16b", "mma.m16n8.c"}


def test_an_exchange_is_another_bijection(specification: Specification) -> None:
    layout = specification.layouts["mma.m16n8.c"]
    found = list(exchanges(layout, {}))
    assert len(found) == 21  # 7 bits: any two
    images = {point[2:] for point in layout.points({})}
    for exchange in found:
        other = exchange.put(specification).layouts["mma.m16n8.c"]
        assert {point[2:] for point in other.points({})} == images
        assert other.points({}) != layout.points({})


def test_disagreeing_measurements_refute_nothing(specification: Specification, silicon: Silicon) -> None:
    failed = {name: replace(o, values={"failed": "a hang"}) for name, o in silicon.subjects.items()}
    witness = Witness(specification, Silicon(silicon.device, failed))
    assert witness.exchanged("mma.m16n8.c").tried == 0


@pytest.mark.parametrize(
    ("subject", "mutant", "kind"),
    [  # what the mutation run lets live, of what an H200 has
        ("wgmma.sp.metadata.16b", "threadID_in_group // 2 != s", "metadata"),
        ("wgmma.sp.metadata.tf32", "threadID_in_group // 2 != s", "metadata"),
        ("swizzle", "linear ^ ((linear >> 7) + 8 + base & W // 16 - 1) << 4", "memory"),
        ("swizzle", "linear ^ (((linear >> 7) + 8 ^ base) & W // 16 - 1) << 4", "memory"),
        ("swizzle", "linear ^ ((linear >> 7) + 9 - base & W // 16 - 1) << 4", "memory"),
        ("swizzle", "linear ^ ((linear >> 7) + 7 - base & W // 16 - 1) << 4", "memory"),
    ],
)
def test_the_h200_refutes_the_survivors(
    specification: Specification, subject: str, mutant: str, kind: str
) -> None:
    recorded = load_silicon()[-1]
    assert recorded.device.name == "NVIDIA H200"
    named = {n: o for n, o in recorded.subjects.items() if n.startswith(kind) and "wgmma.mma_async.sp" in n}
    witness = Witness(specification, Silicon(recorded.device, named))
    (found,) = (m for m in mutants(specification, subject) if source(m.new) == mutant)
    refutation, why = witness.judge(found)
    assert refutation is not None, why

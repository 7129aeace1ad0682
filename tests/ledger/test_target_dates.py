"""Since when targets are taken: the dates of specs.yaml against the recorded settings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptxmma.ledger.assembler_record import load_records
from ptxmma.ledger.contradictions import register
from ptxmma.ledger.target_dates import target_faults
from ptxmma.spec.nodes import Version
from ptxmma.spec.specification import Specification


def dated(specification: Specification, target: str, since: str) -> Specification:
    """The specification with another date of one target."""
    version = specification.isa.version(since)
    targets = {**specification.index.targets}
    targets[target] = replace(targets[target], since=version)
    index = replace(specification.index, targets=targets)
    return replace(specification, index=index)


def test_every_target_is_taken_since_when_the_index_says(specification: Specification) -> None:
    assert len(load_records()) > 10
    assert not list(target_faults(specification.isa, load_records(), register()))


@pytest.mark.parametrize(
    ("target", "since", "said"),
    [
        ("sm_80", "6.5", "ptxas 11.7.99 refuses .target sm_80 under 6.5; specs.yaml says since 6.5"),
        ("sm_80", "7.1", "ptxas 11.7.99 takes .target sm_80 under 7.0; specs.yaml says since 7.1"),
        ("sm_90a", "7.8", "ptxas 12.0.140 refuses .target sm_90a under 7.8; specs.yaml says since 7.8"),
        ("sm_121f", "9.0", "ptxas 12.9.86 takes .target sm_121f under 8.8; specs.yaml says since 9.0"),
        ("sm_35", "3.2", "ptxas 11.7.99 takes .target sm_35 under 3.1; specs.yaml says since 3.2"),
    ],
)
def test_another_date_is_contradicted(
    specification: Specification, target: str, since: str, said: str
) -> None:
    changed = dated(specification, target, since)
    assert said in map(str, target_faults(changed.isa, load_records(), register()))


def test_what_is_registered_is_registered_for_one_assembler(specification: Specification) -> None:
    early = register().takes_early
    assert early("13.0.88", Version(7, 3), "sm_88", Version(9, 0))
    assert early("12.9.86", Version(5, 1), "sm_70", Version(6, 0))
    assert not early("12.9.86", Version(5, 1), "sm_70", Version(6, 1))
    assert not early("13.1.115", Version(7, 3), "sm_88", Version(9, 0))
    assert not early("13.0.88", Version(7, 3), "sm_89", Version(7, 8))

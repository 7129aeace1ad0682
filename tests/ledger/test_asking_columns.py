"""Which settings an assembler is asked in, when its verdicts on rows are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ptxmma.assemblers.assembler_settings import Column
from ptxmma.assemblers.outcomes import AskedBefore, StatementOutcome
from ptxmma.assemblers.toolchains import Ptxas
from ptxmma.ledger import assembler_observation
from ptxmma.spec.nodes import Version


def test_what_is_older_than_a_version_without_the_target_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Below the version that specs.yaml dates a target from; above it, a gap would be seen."""
    taken, asked = {"5.1", "7.0", "8.0"}, []

    class OneSession:
        def __init__(self, _: Ptxas, ptx: Version, target: str, memory: AskedBefore) -> None:
            self.ptx = str(ptx)
            asked.append(self.ptx)

        def answers(self, statements: Sequence[str]) -> list[StatementOutcome] | None:
            return [StatementOutcome("refused") for _ in statements] if self.ptx in taken else None

    monkeypatch.setattr(assembler_observation, "Session", OneSession)
    versions = tuple(map(Version.of, ("8.0", "7.1", "7.0", "5.1", "5.0", "4.3")))
    column = Column(Ptxas(Path("ptxas"), "12.0", versions[0]), "sm_70", versions, Version.of("6.0"))
    found = assembler_observation._accepted((), frozenset(), column)
    assert [str(setting.ptx) for setting in found] == ["8.0", "7.0", "5.1"]
    assert asked == ["8.0", "7.1", "7.0", "5.1", "5.0"]

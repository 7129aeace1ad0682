"""Small kernels judged by the text before any tool ran: `check` says what their verdicts say.

`cases/verdicts.yaml` has the verdicts. A kernel with an error must get one; a wrong one gets that or a likely
finding. A clean one must get neither of them. A kernel on which the text can be read both ways must not get an
error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import ptxmma
from ptxmma.formal.ordering.notation import parse
from ptxmma.formal.ordering.verdicts import judge
from ptxmma.spec.ordering import ordering

CASES = Path(__file__).parent / "cases"
VERDICTS: dict[str, dict[str, str]] = yaml.safe_load((CASES / "verdicts.yaml").read_text())
PASSES = {  # by verdict, the highest tier that a kernel's findings may have and must reach
    "error": frozenset({"error"}),
    "wrong": frozenset({"error", "likely"}),
    "clean": frozenset({"none"}),
    "open": frozenset({"none", "likely"}),
}
# Kernels that `check` does not judge rightly yet. The test fails on a name that passes: remove it then.
NOT_YET = frozenset(
    line for line in (CASES / "not_yet.txt").read_text().splitlines() if not line.startswith("#")
)


def highest(path: Path) -> str:
    """The highest tier among the findings: error, likely, or none."""
    tiers = {finding.tier for finding in ptxmma.check(path).findings}
    return next((tier for tier in ("error", "likely") if tier in tiers), "none")


def cases() -> list[Any]:
    """Every kernel; one that is not judged rightly yet must fail."""
    marked = pytest.mark.xfail(strict=True, reason="not judged rightly yet")
    return [pytest.param(name, marks=marked if name in NOT_YET else ()) for name in sorted(VERDICTS)]


@pytest.mark.parametrize("name", cases())
def test_a_judged_kernel(name: str) -> None:
    verdict = VERDICTS[name]
    assert highest(CASES / f"{name}.ptx") in PASSES[verdict["verdict"]], verdict["why"]


@pytest.mark.parametrize(("scope", "broken"), [("warp", ("shared-overwritten",)), ("warpgroup", ())])
def test_a_refill_behind_the_own_wait_is_a_matter_of_reading(scope: str, broken: tuple[str, ...]) -> None:
    """What not_yet.txt says of e99_ring_rem_nobar, by both models."""
    mma = "mma m64n8k16.f32.f16.f16 r0"
    program = parse(f"fence; {mma} s0 s0; commit; barrier; {mma} s1 s1; commit; wait 1; cp.async s0")
    verdict = judge(program, ordering().readings({"wait-scope": scope}))
    assert verdict.rules == broken and verdict.disagreement is None
    assert (verdict.schedules is None) == (not broken)


def test_every_kernel_has_a_verdict() -> None:
    assert {path.stem for path in CASES.glob("*.ptx")} == set(VERDICTS)
    assert set(VERDICTS) >= NOT_YET

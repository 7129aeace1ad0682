"""Probe gates from both sides, and check the reason of each refusal.

A representative of every row and gate must be accepted from the version that the gate says, on every
target that it lists, and refused just below and on every other target in words that name the version, the
feature or the target: a refusal for another reason says nothing about the gate. A gate that cannot be probed
has one of the reasons of UNPROBED.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..spec.gates import EffectiveGate, Isa
from ..spec.nodes import Version
from ..spec.variants import Family
from .assembler_settings import AssemblerSetting, Job, ask, targets_known
from .outcomes import StatementOutcome
from .toolchains import Ptxas
from .universe import Universe
from .universe_points import UniversePoint

__all__ = ["UNPROBED", "Probe", "Probed", "probe"]

ProbeSide = Literal["since", "below", "removed", "target", "release", "release before"]
UNPROBED = {
    "target begins": "the target itself is not known below that version",
    "no setting": "no release here accepts that version with that target",
    "no release": "that version has no release of its own here",
    "oldest release": "there is no earlier release here",
}
_REASON = re.compile(r"\.(version|target)\b|Feature|PTX ISA|modifier required")


@dataclass(frozen=True)
class Probe:
    """One question about a gate: a statement in a setting, and the outcome that it must have."""

    row: str
    gate: EffectiveGate
    side: ProbeSide
    setting: AssemblerSetting
    point: UniversePoint

    @property
    def accepts(self) -> bool:
        """Whether the statement must be accepted."""
        return self.side in ("since", "release")


@dataclass
class Probed:
    """The results of the probes: passed by side, failures with what ptxas said, unprobed by reason."""

    passed: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[Probe, StatementOutcome]] = field(default_factory=list)
    elsewhere: list[tuple[Probe, StatementOutcome]] = field(default_factory=list)
    unprobed: Counter[str] = field(default_factory=Counter)
    gates: int = 0
    both_sides: int = 0


def representatives(universe: Universe, families: Sequence[Family]) -> Iterator[tuple[str, UniversePoint]]:
    """For every row and gate, the first legal statement that has them."""
    seen: set[tuple[str, EffectiveGate]] = set()
    for family in families:
        for variant, form in universe.legal(family):
            key = variant.row.id, variant.gate
            if key not in seen:
                seen.add(key)
                text = universe.write(variant, form).text
                yield variant.row.id, UniversePoint(family.instruction.instruction, text, variant.gate)


def probe(universe: Universe, families: Sequence[Family], releases: Sequence[Ptxas]) -> Probed:
    """Ask about every gate of some instructions; releases oldest first."""
    isa = universe.specification.isa
    found = Probed()
    knowing = targets_known(isa, releases)
    probes: list[Probe] = []
    for row, point in representatives(universe, families):
        found.gates += 1
        probes += _probes(isa, row, point, releases, knowing, found.unprobed)
    settled: dict[tuple[str, EffectiveGate], set[str]] = defaultdict(set)
    for one, outcome in _asked(probes):
        if outcome is None:
            found.unprobed["no setting"] += 1
        elif (outcome.verdict == "accepted") != one.accepts or outcome.verdict == "died":
            found.failed.append((one, outcome))
        elif not one.accepts and one.side != "release before" and not _REASON.search(outcome.words):
            found.elsewhere.append((one, outcome))
        else:
            found.passed[one.side] += 1
            settled[one.row, one.gate].add("open" if one.accepts else "shut")
    found.both_sides = sum(sides == {"open", "shut"} for sides in settled.values())
    return found


def _probes(
    isa: Isa,
    row: str,
    point: UniversePoint,
    releases: Sequence[Ptxas],
    knowing: Mapping[str, list[Ptxas]],
    unprobed: Counter[str],
) -> Iterator[Probe]:
    gate = point.gate
    assert gate is not None
    for target, since in gate.targets:
        able = [ptxas for ptxas in knowing[target] if ptxas.ptx >= since]
        if not able:
            unprobed["no setting"] += 1
            continue
        newest = able[-1]
        yield Probe(row, gate, "since", AssemblerSetting(newest, since, target), point)
        below = max(known for known in isa.versions if known < since)
        if below < isa.index.targets[target].since:
            unprobed["target begins"] += 1
        else:
            yield Probe(row, gate, "below", AssemblerSetting(newest, below, target), point)
        if gate.removed and newest.ptx >= gate.removed:
            yield Probe(row, gate, "removed", AssemblerSetting(newest, gate.removed, target), point)
        yield from _contemporary(row, point, gate, target, since, releases, knowing, unprobed)
    if gate.removed is None:
        for target in isa.index.targets:
            if target not in dict(gate.targets) and knowing[target]:
                newest = knowing[target][-1]
                if newest.ptx < gate.since:
                    unprobed["no setting"] += 1
                else:
                    yield Probe(row, gate, "target", AssemblerSetting(newest, newest.ptx, target), point)


def _contemporary(
    row: str,
    point: UniversePoint,
    gate: EffectiveGate,
    target: str,
    since: Version,
    releases: Sequence[Ptxas],
    knowing: Mapping[str, list[Ptxas]],
    unprobed: Counter[str],
) -> Iterator[Probe]:
    """Probe that the release which introduced a version accepts, and the release before refuses."""
    own = [ptxas for ptxas in knowing[target] if ptxas.ptx == since]
    if not own:
        unprobed["no release"] += 1
        return
    yield Probe(row, gate, "release", AssemblerSetting(own[0], since, target), point)
    before = [ptxas for ptxas in releases if ptxas.ptx < since]
    if not before:
        unprobed["oldest release"] += 1
    elif before[-1] not in knowing[target]:
        unprobed["target begins"] += 1
    else:
        yield Probe(row, gate, "release before", AssemblerSetting(before[-1], before[-1].ptx, target), point)


def _asked(probes: Sequence[Probe]) -> Iterator[tuple[Probe, StatementOutcome | None]]:
    """Every probe with its outcome; None where the setting itself is refused."""
    by_setting: dict[AssemblerSetting, list[Probe]] = defaultdict(list)
    for one in probes:
        by_setting[one.setting].append(one)
    jobs = [Job(setting, [one.point for one in asked]) for setting, asked in by_setting.items()]
    for asked, answer in zip(by_setting.values(), ask(jobs), strict=True):
        for place, one in enumerate(asked):
            yield one, None if isinstance(answer, str) else answer[place]

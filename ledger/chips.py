"""Where several devices showed the same, and where not: a difference is a finding, not an error."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .silicon_record import Observed, Silicon

__all__ = ["CommonGround", "common_ground"]


@dataclass(frozen=True)
class CommonGround:
    """What several devices were all asked: where they showed the same, bit for bit, and where not.

    `alone` has what only one of them was asked.
    """

    what: str
    devices: tuple[str, ...]
    alike: tuple[str, ...]
    different: tuple[str, ...]
    alone: tuple[str, ...]

    def __str__(self) -> str:
        """In a sentence."""
        compared = len(self.alike) + len(self.different)
        alone = f"; {len(self.alone)} of only one of them" if self.alone else ""
        names = " and ".join(self.devices)
        return f"{names}: {len(self.alike)} of {compared} {self.what} are the same{alone}"


def common_ground(
    silicon: Sequence[Silicon], rows: Collection[str] | None = None
) -> tuple[CommonGround, ...]:
    """Measurements, arithmetic and cases of all devices, of some rows or of all; nothing for one device."""
    if len(silicon) < 2:
        return ()
    devices = tuple(one.device.name for one in silicon)
    sums = [_shown(one.arithmetic, rows) for one in silicon]
    found = [
        _compared("measurements", devices, [_shown(one.subjects, rows) for one in silicon]),
        _compared("kernels' sums and special values", devices, sums),
    ]
    if rows is None:
        ways = dict.fromkeys(via for one in silicon for via in one.cases)
        found += [
            _compared(f"results of cases via {via}", devices, [_results(one, via) for one in silicon])
            for via in ways
        ]
    return tuple(one for one in found if one.alike or one.different or one.alone)


def _shown(observed: Mapping[str, Observed], rows: Collection[str] | None) -> dict[str, str]:
    """By name, the kernel and what it showed."""
    return {
        name: f"{one.case} {one.shown}" for name, one in observed.items() if rows is None or one.row in rows
    }


def _results(silicon: Silicon, via: str) -> dict[str, str]:
    """By case, its status."""
    others = silicon.cases[via]["others"] if via in silicon.cases else {}
    return dict.fromkeys(silicon.passed(via), "passed") | {case: str(one) for case, one in others.items()}


def _compared(what: str, devices: tuple[str, ...], shown: Sequence[Mapping[str, str]]) -> CommonGround:
    names = dict.fromkeys(name for one in shown for name in one)
    alike: list[str] = []
    different: list[str] = []
    alone: list[str] = []
    for name in names:
        values = [one[name] for one in shown if name in one]
        (alone if len(values) < 2 else alike if len(set(values)) == 1 else different).append(name)
    return CommonGround(what, devices, tuple(alike), tuple(different), tuple(alone))

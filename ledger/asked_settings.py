"""What a release did with the statements of the register's record, as bitmaps of settings by statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..spec.gates import EffectiveGate
from ..spec.nodes import Version
from ..spec.specification import Specification
from .pointed import Pointed
from .register_record import ReleaseObservations

__all__ = ["AskedRelease", "asked_release"]


@dataclass(frozen=True)
class AskedRelease:
    """One release's settings, and in which of them it did what with each statement, as bitmaps."""

    release: str
    settings: tuple[tuple[Version, str], ...]
    accepted: Mapping[str, Sequence[int]]
    died: Mapping[str, Sequence[int]]
    known: dict[object, int] = field(default_factory=dict, compare=False)

    def where(self, key: object, holds: Iterable[bool]) -> int:
        """The bitmap of the settings for which something holds, remembered by a key."""
        if key not in self.known:
            self.known[key] = sum(1 << place for place, one in enumerate(holds) if one)
        return self.known[key]

    def opened(
        self, gate: EffectiveGate | None, since: Version | None = None, like: str | None = None
    ) -> int:
        """The settings in which a gate is open, under another version or on another target."""
        if gate is None:
            return 0
        key = gate, since, like
        return self.where(key, (gate.opens(since or ptx, like or target) for ptx, target in self.settings))

    def reached(self, pointed: Pointed, since: Version | None = None, like: str | None = None) -> int:
        """The settings that points are about, under another version or on another target."""
        if self.release not in pointed.releases:
            return 0
        key = pointed.versions, pointed.targets, since, like
        return self.where(
            key,
            (
                (since or ptx) in pointed.versions and (like or target) in pointed.targets
                for ptx, target in self.settings
            ),
        )

    def covered(self, chain: Sequence[Pointed], gate: EffectiveGate) -> int:
        """The settings that several points are about, one after another, and in which a gate is then open."""
        since, like, region = None, None, -1
        for pointed in chain:
            region &= self.reached(pointed, since, like)
            since, like = pointed.points.since or since, pointed.points.like or like
        return region & self.opened(gate, since, like)


def asked_release(specification: Specification, observed: ReleaseObservations) -> AskedRelease:
    """What was observed of one release, in the settings whose version the specification has."""
    versions = {str(version): version for version in specification.isa.versions}
    known = [place for place, (ptx, _) in enumerate(observed.settings) if ptx in versions]
    settings = tuple((versions[observed.settings[p][0]], observed.settings[p][1]) for p in known)
    accepted, died = (
        {
            name: _turned([observed.of(bitmaps, name)[place] for place in known], count)
            for name, count in observed.asked.items()
        }
        for bitmaps in (observed.accepted, observed.died)
    )
    return AskedRelease(observed.release, settings, accepted, died)


def _turned(bitmaps: Sequence[int], count: int) -> list[int]:
    """Bitmaps of statements by setting, as bitmaps of settings by statement."""
    if not bitmaps or not count:
        return [0] * count
    size = (count + 7) // 8
    packed = np.frombuffer(b"".join(one.to_bytes(size, "little") for one in bitmaps), np.uint8)
    bits = np.unpackbits(packed.reshape(len(bitmaps), size), axis=1, count=count, bitorder="little")
    turned = np.packbits(bits.T, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in turned]

"""What the wheels are that carry ptxas, as pip brought them, and where specs.yaml says otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..spec.errors import Place
from ..spec.index import Assembler, Index
from .records import FOLDER, put, read

__all__ = ["RecordedWheel", "WheelFault", "Wheels", "load_wheels", "wheel_faults", "write_wheels"]

_FORMAT = 1
_NAME = "wheels"


@dataclass(frozen=True)
class RecordedWheel:
    """A wheel as it was measured: its SHA-256 and size, the SHA-256 of the ptxas in it, and the day."""

    sha256: str
    bytes: int
    ptxas: str
    date: str


Wheels = Mapping[tuple[str, str], Mapping[str, RecordedWheel]]
"""By package and version, the wheels by platform."""


@dataclass(frozen=True)
class WheelFault:
    """Something that specs.yaml says of a wheel otherwise than it was measured."""

    place: Place
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


def load_wheels(folder: Path = FOLDER) -> Wheels:
    """The record; empty where there is none. Raises Question for any other file."""
    found = read(folder, f"{_NAME}.json", _FORMAT, _wheels)
    return found[0] if found else {}


def write_wheels(wheels: Wheels, folder: Path = FOLDER) -> Path:
    """Write the record to its file."""
    listed = [
        {"package": package, "version": version, "platform": platform, **asdict(wheel)}
        for (package, version), some in wheels.items()
        for platform, wheel in some.items()
    ]
    return put(folder, _NAME, json.dumps({"format": _FORMAT, "wheels": listed}, indent=1) + "\n")


def _wheels(value: Any) -> Wheels:
    found: dict[tuple[str, str], dict[str, RecordedWheel]] = {}
    for one in value["wheels"]:
        wheel = RecordedWheel(one["sha256"], one["bytes"], one["ptxas"], one["date"])
        found.setdefault((one["package"], one["version"]), {})[one["platform"]] = wheel
    return found


def wheel_faults(index: Index, wheels: Wheels) -> Iterator[WheelFault]:
    """Where a build is not what was measured, and where one was measured that specs.yaml lacks."""
    listed = [one for release in index.releases for one in release.assemblers]
    for assembler in listed:
        yield from _of_assembler(assembler, wheels.get((assembler.package, assembler.version), {}))
    known = {(one.package, one.version) for one in listed}
    for package, version in wheels:
        if (package, version) not in known:
            yield WheelFault(Place("specs.yaml", 1, 1), f"{package} {version} is recorded, and not listed")


def _of_assembler(assembler: Assembler, measured: Mapping[str, RecordedWheel]) -> Iterator[WheelFault]:
    name = f"{assembler.package} {assembler.version}"
    for platform in dict.fromkeys((*assembler.builds, *measured)):
        build, wheel = assembler.builds.get(platform), measured.get(platform)
        if build is None or wheel is None:
            what = "measured, and not listed" if wheel else "listed, and was never measured"
            yield WheelFault(assembler.place, f"{name} for {platform} is {what}")
            continue
        for field, says, is_ in (
            ("the wheel has the SHA-256", build.wheel, wheel.sha256),
            ("the wheel has so many bytes:", build.bytes, wheel.bytes),
            ("its ptxas has the SHA-256", build.ptxas, wheel.ptxas),
        ):
            if says != is_:
                yield WheelFault(assembler.place, f"{name} for {platform}: {field} {is_}, not {says}")

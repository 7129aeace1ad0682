"""Raw observations of a device as a file, the large arrays once each and compressed."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..devices.suite_runs import CaseResult
from ..spec.errors import Question
from .asked_names import SILICON_FORMAT
from .records import FOLDER, put, read

__all__ = ["DeviceRecord", "Observed", "Silicon", "StridedPlaces", "load_silicon", "write_silicon"]

_FILTERS = [{"id": lzma.FILTER_DELTA, "dist": 4}, {"id": lzma.FILTER_LZMA2, "preset": 9}]
_TYPE = "<i4"
_HASH = 16  # digits of a case's hash


@dataclass(frozen=True)
class DeviceRecord:
    """The device of a record, with its driver and assembler, and the date."""

    name: str
    target: str
    driver: str
    assembler: str
    date: str


@dataclass(frozen=True)
class Observed:
    """One kernel's observations: its row then, the hash of its code, the values by name, and their hash."""

    kernel: str
    row: str
    case: str
    values: Mapping[str, Any]
    shown: str = ""


@dataclass(frozen=True)
class StridedPlaces:
    """How many elements behind the first each element lay: (strides, rows, columns)."""

    strides: tuple[int, ...]
    offsets: NDArray[np.int32]


@dataclass
class Silicon:
    """All that one device showed. `subjects` has measurements by kind and kernel; `cases` has results of
    conformance cases by hash; `placed` has, by instruction and layout, where memory held the elements of
    strided matrices in the cases that passed.
    """

    device: DeviceRecord
    subjects: dict[str, Observed] = field(default_factory=dict)
    arithmetic: dict[str, Observed] = field(default_factory=dict)
    cases: dict[str, Any] = field(default_factory=dict)
    placed: dict[str, StridedPlaces] = field(default_factory=dict)

    def keep(self, via: str, results: Iterable[CaseResult]) -> None:
        """Record the results of cases: the hashes of those that passed as one text, and the others."""
        listed = list(results)
        passed = sorted(result.case for result in listed if result.status == "passed")
        others = {
            result.case: [result.status, result.why, result.count, list(result.wrong)]
            for result in listed
            if result.status != "passed"
        }
        packed = base64.b85encode(bytes.fromhex("".join(passed))).decode()
        self.cases[via] = {"count": len(passed), "passed": packed, "others": others}

    def passed(self, via: str) -> frozenset[str]:
        """The hashes of the cases that passed in a way."""
        if via not in self.cases:
            return frozenset()
        whole = base64.b85decode(self.cases[via]["passed"]).hex()
        return frozenset(whole[at : at + _HASH] for at in range(0, len(whole), _HASH))


def _packed(array: NDArray[np.integer]) -> dict[str, Any]:
    """An array as text: differences of neighbours compress well."""
    flat = np.ascontiguousarray(array, _TYPE)
    data = lzma.compress(flat.tobytes(), format=lzma.FORMAT_RAW, filters=_FILTERS)
    return {"shape": list(flat.shape), "data": base64.b85encode(data).decode()}


def _unpacked(value: Mapping[str, Any]) -> NDArray[np.int32]:
    data = lzma.decompress(base64.b85decode(value["data"]), format=lzma.FORMAT_RAW, filters=_FILTERS)
    return np.frombuffer(data, _TYPE).reshape(value["shape"])


class _Arrays:
    """Arrays by the hash of what they hold."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}

    def text(self, value: Any) -> Any:
        """A value as JSON has it, arrays by name."""
        if not isinstance(value, np.ndarray):
            return value
        flat = np.ascontiguousarray(value, _TYPE)
        name = hashlib.sha256(repr(flat.shape).encode() + flat.tobytes()).hexdigest()[:16]
        if name not in self.kept:
            self.kept[name] = _packed(flat)
        return {"array": name}


def write_silicon(silicon: Silicon, folder: Path = FOLDER) -> Path:
    """Write the observations to their file."""
    arrays = _Arrays()

    def plain(observed: Mapping[str, Observed]) -> dict[str, Any]:
        return {
            name: {
                "kernel": one.kernel,
                "row": one.row,
                "case": one.case,
                "values": {key: arrays.text(value) for key, value in one.values.items()},
            }
            for name, one in observed.items()
        }

    value = {
        "format": SILICON_FORMAT,
        "device": vars(silicon.device),
        "subjects": plain(silicon.subjects),
        "arithmetic": plain(silicon.arithmetic),
        "cases": silicon.cases,
        "placed": {
            name: {"strides": list(one.strides), "offsets": arrays.text(one.offsets)}
            for name, one in silicon.placed.items()
        },
        "arrays": arrays.kept,
    }
    slug = silicon.device.name.lower().replace("nvidia ", "").replace(" ", "-")
    return put(folder, f"silicon-{slug}-{silicon.device.target}", _lines(value))


def _lines(value: Mapping[str, Any]) -> str:
    """JSON with one line an entry, so that differences can be read."""
    parts = []
    for name, inner in value.items():
        if isinstance(inner, Mapping) and name != "device":
            entries = [f"  {json.dumps(key)}: {json.dumps(one)}" for key, one in inner.items()]
            body = "{\n" + ",\n".join(entries) + "\n }" if entries else "{}"
        else:
            body = json.dumps(inner)
        parts.append(f" {json.dumps(name)}: {body}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


class _Unpacked:
    """The arrays of a file, each unpacked when it is first asked for."""

    def __init__(self, packed: Mapping[str, Mapping[str, Any]]) -> None:
        self._packed = packed
        self._arrays: dict[str, NDArray[np.int32]] = {}
        for one in packed.values():
            int(one["shape"][0]), str(one["data"])  # what is not a record is refused at once

    def __getitem__(self, name: str) -> NDArray[np.int32]:
        if name not in self._arrays:
            try:
                self._arrays[name] = _unpacked(self._packed[name])
            except (lzma.LZMAError, ValueError) as error:
                raise Question(f"array {name} of a record of a device cannot be read: {error}") from None
        return self._arrays[name]


class _Values(Mapping[str, Any]):
    """The values of one observation, arrays among them."""

    def __init__(self, values: Mapping[str, Any], arrays: _Unpacked) -> None:
        self._values, self._arrays = values, arrays

    def __getitem__(self, name: str) -> Any:
        one = self._values[name]
        return self._arrays[one["array"]] if isinstance(one, Mapping) and "array" in one else one

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _silicon(value: Any) -> Silicon:
    arrays = _Unpacked(value["arrays"])
    return Silicon(
        DeviceRecord(**value["device"]),
        _observed(value["subjects"], arrays),
        _observed(value["arithmetic"], arrays),
        value["cases"],
        {
            name: StridedPlaces(tuple(one["strides"]), arrays[one["offsets"]["array"]])
            for name, one in value["placed"].items()
        },
    )


def load_silicon(folder: Path = FOLDER) -> tuple[Silicon, ...]:
    """Every device's observations; raises Question for any other file."""
    return tuple(read(folder, "silicon-*.json", SILICON_FORMAT, _silicon))


def _observed(entries: Mapping[str, Any], arrays: _Unpacked) -> dict[str, Observed]:
    return {
        name: Observed(
            entry["kernel"],
            entry["row"],
            entry["case"],
            _Values(entry["values"], arrays),
            hashlib.sha256(json.dumps(entry["values"], sort_keys=True).encode()).hexdigest(),
        )
        for name, entry in entries.items()
    }

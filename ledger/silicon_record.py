"""Raw observations of a device as a file, the large arrays once each and compressed."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..devices.suite_runs import CaseResult
from .records import FOLDER, put, read

__all__ = ["DeviceRecord", "Observed", "Silicon", "load_silicon", "write_silicon"]

_FORMAT = 1
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
    """One kernel's observations: the emitted text and the claims by hash, and the values by name."""

    kernel: str
    case: str
    claims: Mapping[str, str]
    values: Mapping[str, Any]


@dataclass
class Silicon:
    """All that one device showed. `subjects` has measurements by kind and kernel; `cases` has results of
    conformance cases by hash.
    """

    device: DeviceRecord
    subjects: dict[str, Observed] = field(default_factory=dict)
    arithmetic: dict[str, Observed] = field(default_factory=dict)
    cases: dict[str, Any] = field(default_factory=dict)

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
                "case": one.case,
                "claims": dict(one.claims),
                "values": {key: arrays.text(value) for key, value in one.values.items()},
            }
            for name, one in observed.items()
        }

    value = {
        "format": _FORMAT,
        "device": vars(silicon.device),
        "subjects": plain(silicon.subjects),
        "arithmetic": plain(silicon.arithmetic),
        "cases": silicon.cases,
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


def _silicon(value: Any) -> Silicon:
    arrays = {name: _unpacked(packed) for name, packed in value["arrays"].items()}
    return Silicon(
        DeviceRecord(**value["device"]),
        _observed(value["subjects"], arrays),
        _observed(value["arithmetic"], arrays),
        value["cases"],
    )


def load_silicon(folder: Path = FOLDER) -> tuple[Silicon, ...]:
    """Every device's observations; raises Question for any other file."""
    return tuple(read(folder, "silicon-*.json", _FORMAT, _silicon))


def _observed(entries: Mapping[str, Any], arrays: Mapping[str, NDArray[np.int32]]) -> dict[str, Observed]:
    def value(one: Any) -> Any:
        return arrays[one["array"]] if isinstance(one, Mapping) and "array" in one else one

    return {
        name: Observed(
            entry["kernel"],
            entry["case"],
            entry["claims"],
            {key: value(one) for key, one in entry["values"].items()},
        )
        for name, entry in entries.items()
    }

"""Measure moves of matrices: the address and half word of each element."""

from __future__ import annotations

import numpy as np

from ..arrays import Ints
from ..raw_kernel import Batch, Launcher, Raw
from .products import NoProduct

__all__ = ["loaded", "moved", "stored"]

_LANES = 32
_ROW = 16  # bytes at one address
_BYTES = 8192  # of the image: rows enough for every lane's address, far apart


def _addresses(seed: int, jobs: int) -> Ints:
    """A different row offset for every lane of every job."""
    random = np.random.default_rng(seed)
    return np.stack([random.permutation(_BYTES // _ROW)[:_LANES] * _ROW for _ in range(jobs)])


def loaded(kernel: Raw, launcher: Launcher, seed: int = 1, jobs: int = 8) -> Ints:
    """(lane, half word of the registers) to (lane that gave the address, half word of the row).

    Raises NoProduct when the jobs, with other addresses each, do not agree.
    """
    given = _addresses(seed, jobs)
    inputs = given[:, :, None].astype(np.uint32)
    image = np.arange(_BYTES // 2, dtype="<u2").view(np.uint8)[None, :]
    seen = launcher.launch(kernel, Batch.of(inputs, image))
    halves = np.ascontiguousarray(seen, "<u4").view("<u2").reshape(jobs, -1).astype(np.int64)
    found = np.empty((jobs, halves.shape[1], 2), np.int64)
    for job in range(jobs):
        lane = np.full(_BYTES // _ROW, -1, np.int64)
        lane[given[job] // _ROW] = np.arange(_LANES)
        found[job] = np.stack([lane[halves[job] // (_ROW // 2)], halves[job] % (_ROW // 2)], axis=1)
    if not (found == found[0]).all() or (found[0] < 0).any():
        raise NoProduct("a half word comes from no row whose address was given")
    where: Ints = found[0]
    return where


def stored(kernel: Raw, launcher: Launcher, seed: int = 1, jobs: int = 8) -> Ints:
    """The same for a store: where each half word of the registers goes.

    Raises NoProduct when anything else in memory changed.
    """
    given = _addresses(seed, jobs)
    count = kernel.words - 1
    inputs = np.zeros((jobs, _LANES, kernel.words), np.uint32)
    codes = np.arange(1, _LANES * count * 2 + 1, dtype="<u2")
    inputs[:, :, kernel.place("address")] = given[:, :, None]
    inputs[:, :, _registers(kernel)] = codes.view("<u4").reshape(_LANES, count)
    image = np.zeros((1, _BYTES), np.uint8)
    seen = launcher.launch(kernel, Batch.of(inputs, image))
    memory = np.ascontiguousarray(seen, "<u4").view("<u2").reshape(jobs, -1, _ROW // 2)
    found = np.full((jobs, len(codes), 2), -1, np.int64)
    for job in range(jobs):
        lane = np.full(_BYTES // _ROW, -1, np.int64)
        lane[given[job] // _ROW] = np.arange(_LANES)
        row, half = np.nonzero(memory[job])
        code = memory[job][row, half].astype(np.int64) - 1
        if len(code) != len(codes) or len({*code}) != len(codes) or (lane[row] < 0).any():
            raise NoProduct("the instruction wrote elsewhere than to the rows whose addresses were given")
        found[job, code] = np.stack([lane[row], half], axis=1)
    if not (found == found[0]).all():
        raise NoProduct("which half word goes where depends on the addresses")
    where: Ints = found[0]
    return where


def _registers(kernel: Raw) -> slice:
    """The register operand."""
    (name,) = [name for name in kernel.sources if name != "address"]
    return kernel.place(name)


def moved(kernel: Raw, launcher: Launcher) -> Ints:
    """(lane, half word) of the result to (lane, half word) of the source, of a move between registers."""
    codes = np.arange(_LANES * kernel.words * 2, dtype="<u2").view("<u4").reshape(1, _LANES, kernel.words)
    seen = launcher.launch(kernel, Batch.of(codes.astype(np.uint32)))
    halves = np.ascontiguousarray(seen, "<u4").view("<u2").reshape(-1).astype(np.int64)
    per = kernel.words * 2
    return np.stack([halves // per, halves % per], axis=1)

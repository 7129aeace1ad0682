"""The metadata probe: which bit of which thread sets which index bit of which row and packed column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints
from ..raw_kernel import chunks
from .fragment_probe import coded
from .probe_bench import Bench
from .products import NoProduct, ProductMap

__all__ = ["Metadata", "Reader", "metadata"]

_BITS = 32  # of a metadata word
_JOBS = 1 << 13
# The halves of two neighbouring 32-bit elements: as the high half of a product each is told from the
# others, and as the low half too, of which three bits remain (9.7.15.6.3: the low 13 are truncated).
_HALVES = (0x6000, 0x3F80, 0xA000, 0x4080)


@dataclass(frozen=True)
class Metadata:
    """The measurements of one selector of one sparse kernel.

    `owner` is (rows, packed columns, index bits): 32 * thread + bit. `ks` is (indices, packed columns): the
    k that each index of a column names (for 32-bit elements, those of the first and the last valid code).
    `codes` is (16, packed columns): the index that every code, in all threads, makes of a column, in row 0;
    `alike` whether all rows agree. Jobs of valid codes, with garbage in every bit that governs nothing, left
    `wrong` elements elsewhere than `owner` says, of `checked`.
    """

    owner: Ints
    ks: Ints
    codes: Ints
    alike: bool
    valid: tuple[int, ...]
    jobs: int
    checked: int
    wrong: int


class Reader:
    """Reads which k each packed element meets, for any metadata."""

    def __init__(self, bench: Bench, found: ProductMap) -> None:
        self.bench, self.found = bench, found
        self.rows = int(found.a[:, 0].max()) + 1
        self.columns = int(found.a[:, 1].max()) + 1
        self.halves = bench.kernel.width("A") == _BITS
        k, column = found.b.T
        count = int(k.max()) + 1
        bits = coded(count)[:, np.maximum(k, 0)]
        width = int(column.max()) + 1
        if len(bits) > width:
            raise NoProduct(f"{width} columns are too few to tell {count} values of k apart")
        chosen = np.where(column < len(bits), bits[np.minimum(column, len(bits) - 1), np.arange(len(k))], 0)
        self.b = (np.where(k >= 0, chosen, 0) * bench.one("B"))[None, :]
        self.places = np.full((self.rows, len(bits)), -1, np.int64)
        row, column = found.d.T
        inside = column < len(bits)
        self.places[row[inside], column[inside]] = np.flatnonzero(inside)

    def _run(self, metadata: NDArray[np.integer], b: Ints) -> tuple[NDArray[np.uint32], int]:
        """Every metadata with every packed column alone one, in all rows."""
        one = (self.found.a[:, 1][None, :] == np.arange(self.columns)[:, None]) * self.bench.one("A")
        a = np.tile(one, (len(metadata), 1))
        words = np.repeat(metadata, self.columns, axis=0)
        return self.bench.launch(a, b, metadata=words), self.columns

    def ks(self, metadata: NDArray[np.integer]) -> Ints:
        """The k of every (job, row, packed column); −1 where no product shows."""
        parts = []
        for part in chunks(len(metadata), max(1, _JOBS // self.columns)):
            words, columns = self._run(metadata[part], self.b)
            shown = self.bench.values(words)[:, self.places]
            if not np.isin(shown, (0, 1)).all():
                raise NoProduct("a packed element meets more than one element of B")
            powers = np.int64(1) << np.arange(shown.shape[2] - 1)
            k = np.where(shown[:, :, 0] != 0, (shown[:, :, 1:] != 0) @ powers, -1)
            parts.append(k.reshape(-1, columns, self.rows).transpose(0, 2, 1))
        return np.concatenate(parts)

    def pairs(self, metadata: NDArray[np.integer], first: NDArray[np.bool_]) -> Ints:
        """For 32-bit elements, the 4-bit index of every (job, row, packed column), from the halves of B
        that a product is made of; `first` says which k is the lower of its chunk."""
        k, column = self.found.b.T
        low, high = (np.array(_HALVES[i::2], np.int64) for i in (0, 1))
        later = np.where(first[np.maximum(k, 0)], 0, 1)
        b = np.where((k >= 0) & (column == 0), high[later] << 16 | low[later], 0)[None, :]
        mask = np.int64(0xE000)
        made = {int(_HALVES[i] << 16 | (_HALVES[j] & mask)): i << 2 | j for i in range(4) for j in range(4)}
        keys = np.array(sorted(made))
        indices = np.array([made[int(key)] for key in keys])
        parts = []
        for part in chunks(len(metadata), max(1, _JOBS // self.columns)):
            words, columns = self._run(metadata[part], b)
            shown = self.bench.patterns(words)[:, self.places[:, 0]].astype(np.int64)
            at = np.minimum(np.searchsorted(keys, shown), len(keys) - 1)
            index = np.where(keys[at] == shown, indices[at], -1)
            parts.append(index.reshape(-1, columns, self.rows).transpose(0, 2, 1))
        return np.concatenate(parts)


def metadata(bench: Bench, found: ProductMap, met: Ints, codes: tuple[int, ...], seed: int = 1) -> Metadata:
    """Measure the metadata of a kernel whose maps are known. `met` says which k each packed column meets
    under each of the first two valid `codes`. Raises NoProduct where a bit governs more than one thing."""
    reader = Reader(bench, found)
    threads = bench.kernel.threads
    word = 0x1111_1111
    uniform = np.array([[code * word] * threads for code in range(16)], np.uint32)
    if reader.halves:
        first = np.zeros(int(found.b[:, 0].max()) + 1, bool)
        first[met[0]] = True
        width, base = 4, codes[0]
        k_of = np.stack([met[0], met[1]])

        def read(words: NDArray[np.integer]) -> Ints:
            return reader.pairs(words, first)

        observed = read(uniform)
    else:
        width, base = 2, codes[0]
        k_of, observed = _indices(reader.ks(uniform))

        def read(words: NDArray[np.integer]) -> Ints:
            ks = reader.ks(words)
            index = np.full(ks.shape, -1, np.int64)
            for value, ks_of in enumerate(k_of):
                index[ks == ks_of] = value
            return index

    owner = _owners(read, threads, base, observed[base], width)
    jobs = _valid_jobs(owner, codes, width, threads, seed)
    seen = read(jobs.words)
    wrong = int((seen != jobs.expected).sum())
    alike = bool((observed == observed[:, :1]).all())
    return Metadata(owner, k_of, observed[:, 0], alike, codes, len(jobs.words), int(seen.size), wrong)


def _indices(ks: Ints) -> tuple[Ints, Ints]:
    """From the k under each of the 16 uniform codes: the k of every index of every column, and the index
    that each code makes. An index is the code's that has it in every slot."""
    same = np.stack([ks[value * 0b0101] for value in range(4)])
    if not (same == same[:, :1]).all():
        raise NoProduct("rows differ in the k that a uniform code makes of a packed column")
    k_of = same[:, 0]
    index = np.full(ks.shape, -1, np.int64)
    for value, ks_of in enumerate(k_of):
        index[ks == ks_of[None, None, :]] = value
    return k_of, index


def _owners(
    read: Callable[[NDArray[np.integer]], Ints], threads: int, base: int, before: Ints, width: int
) -> Ints:
    """(rows, packed columns, index bits): 32 * thread + bit of the metadata bit that turns it."""
    total = threads * _BITS
    flips = coded(total)
    places = np.int64(1) << np.arange(_BITS)
    turned = (flips.reshape(len(flips), threads, _BITS) * places).sum(axis=2)
    words = (turned ^ (base * 0x1111_1111)).astype(np.uint32)
    seen = read(words)
    if (seen < 0).any():
        raise NoProduct("an index cannot be read")
    changed = seen ^ before[None]
    bits = (changed[..., None] >> np.arange(width)) & 1
    powers = np.int64(1) << np.arange(len(flips) - 1)
    owner = (bits[1:] * powers[:, None, None, None]).sum(axis=0)
    owner = np.where(bits[0] == 1, owner, -1)
    if (owner < 0).any():
        raise NoProduct("an index bit is governed by no bit of the metadata")
    return owner


@dataclass(frozen=True)
class _Jobs:
    words: NDArray[np.uint32]
    expected: Ints


def _valid_jobs(owner: Ints, codes: tuple[int, ...], width: int, threads: int, seed: int) -> _Jobs:
    """Jobs of valid codes only: first every code in every chunk, then random ones; garbage elsewhere."""
    random = np.random.default_rng(seed)
    rows, columns, _ = owner.shape
    slots = 4 // width
    chunk, slot = _slots(owner, slots)
    many = len(codes) + 32
    words = random.integers(0, 1 << _BITS, (many, threads), dtype=np.uint32)
    expected = np.empty((many, rows, columns), np.int64)
    chosen = np.array(codes)
    for job in range(many):
        if job < len(codes):
            which = (np.arange(rows)[:, None] + np.arange(chunk.max() + 1)[None, :] + job) % len(codes)
        else:
            which = random.integers(0, len(codes), (rows, int(chunk.max()) + 1))
        code = chosen[which][:, chunk]
        index = code >> (slot * width)[None, :] & ((1 << width) - 1)
        expected[job] = index
        for bit in range(width):
            thread, place = np.divmod(owner[:, :, bit], _BITS)
            value = (index >> bit & 1).astype(np.uint32)
            mask = (np.uint32(1) << place.astype(np.uint32)).astype(np.uint32)
            for t, m, v in zip(thread.ravel(), mask.ravel(), value.ravel(), strict=True):
                words[job, t] = (words[job, t] & ~m) | (m if v else np.uint32(0))
    return _Jobs(words, expected)


def _slots(owner: Ints, slots: int) -> tuple[Ints, Ints]:
    """The chunk and the slot of every packed column: a chunk's bits are one nibble of row 0's words."""
    lowest = owner[0, :, 0]
    nibbles = lowest // 4
    chunk = np.unique(nibbles, return_inverse=True)[1].reshape(-1)
    return chunk, (lowest % 4) // (4 // slots)

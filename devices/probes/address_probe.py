"""Where an instruction finds the elements of A and B in shared memory, measured for many descriptors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...spec.memory_records import Descriptor
from ..arrays import Ints
from ..raw_kernel import Batch, MemoryElements, chunks, words
from .fragment_probe import coded
from .probe_bench import Bench
from .products import ProductMap

__all__ = ["WIDE", "WINDOW", "DescriptorSetting", "addresses", "settings", "turned"]

WINDOW = 72 << 10  # bytes in which the elements are looked for
WIDE = 208 << 10  # the same for words of any bits: nearly all of shared memory
_JOBS = 1 << 11
_DESCRIPTOR = 64  # bits


DescriptorSetting = Mapping[str, int]  # every field of a descriptor by name, in the order of the YAML


def settings(
    descriptor: Descriptor, strides: Sequence[tuple[int, int]], many: bool
) -> tuple[DescriptorSetting, ...]:
    """Every mode of a descriptor with every pair of strides and several starts and base offsets."""
    starts = [(0, 0), (16, 0), (48, 0), (128, 1), (528, 0), (1024, 5)] if many else [(32, 0), (256, 3)]
    start, base, mode = (descriptor.field_of(part) for part in ("start", "base", "mode"))
    free = [name for name, field in descriptor.fields.items() if field.part is None]
    codes = list(descriptor.fields[mode].values.values()) if mode else [0]
    found = []
    for code in codes:
        for pair in strides:
            for first, offset in starts:
                if offset and base is None:
                    continue
                given: dict[str | None, int] = {start: first, base: offset, mode: code}
                given.update(zip(free, pair, strict=False))
                found.append({name: given.get(name, 0) for name in descriptor.fields})
    return tuple(found)


def turned(words: Sequence[int]) -> list[int]:
    """Every word with each of its bits turned, one at a time: bits of fields, and those between them."""
    return list(dict.fromkeys(word ^ 1 << bit for word in words for bit in range(_DESCRIPTOR)))


def addresses(
    bench: Bench,
    operand: str,
    words_of: Sequence[int],
    found: ProductMap,
    met: Ints,
    codes: Sequence[int],
    window: int = WINDOW,
) -> Ints:
    """For every descriptor, the address of every element (x, k) of A or B, in bits, from the image's start.

    x is a row of A or a column of B; `found` names the elements of the other multiplicand, whose memory
    (or registers) is as the bench has it. `met` is the k of every packed column under each of `codes`.
    An element that is not among the first `window` bytes is at −1.
    """
    kernel = bench.kernel
    width = (bench.a or bench.b or MemoryElements(0, 1)).width
    content = coded(window * 8 // width)
    one = bench.one(operand)
    images = np.zeros((len(content), window + bench.size), np.uint8)
    for number, row in enumerate(content):
        region = np.ascontiguousarray(words(row[None, :] * one, width), "<u4").view(np.uint8)
        images[number, :window] = region
    results = []
    ways = list(_ways(bench, operand, found, met))
    for codes_of_other, read in ways:
        placed = images
        registers = np.zeros((1, kernel.threads, kernel.words), np.uint32)
        a_descriptor, b_descriptor = bench.a_descriptor, bench.b_descriptor
        if operand == "A" and bench.b is not None:
            placed = _beside(images, bench.b, codes_of_other, window)
            b_descriptor += window >> 4
        elif bench.a is not None:
            placed = _beside(images, bench.a, codes_of_other, window)
            a_descriptor += window >> 4
        else:
            own = words(codes_of_other.reshape(1, kernel.threads, -1), kernel.width("A"))
            registers[:, :, kernel.place("A")] = own
        if bench.sparse:
            code = codes[read.code]
            registers[:, :, kernel.place("metadata")] = np.uint32(code * 0x1111_1111)
        descriptors = np.array(words_of, np.uint64)
        pairs = list(itertools.product(range(len(words_of)), range(len(content))))
        parts = []
        for part in chunks(len(pairs), _JOBS // len(content) * len(content)):
            which, image = np.array(pairs[part]).T
            mine = descriptors[which]
            batch = Batch.of(
                registers,
                placed,
                input=np.zeros(len(which), np.int64),
                image=image,
                a=mine if operand == "A" else a_descriptor,
                b=mine if operand == "B" else b_descriptor,
            )
            shown = bench.values(bench.launcher.launch(kernel, batch)) != 0
            grouped = shown.reshape(-1, len(content), shown.shape[1])
            powers = np.int64(1) << np.arange(len(content) - 1)
            at = np.einsum("jbd,b->jd", grouped[:, 1:].astype(np.int64), powers)
            parts.append(np.where(grouped[:, 0], at, -1)[:, read.places])
        results.append(np.concatenate(parts))
    whole = _assembled(results, [read for _, read in ways])
    return np.where(whole < 0, -1, whole * width)


def _beside(images: NDArray[np.uint8], memory: MemoryElements, codes: Ints, window: int) -> NDArray[np.uint8]:
    """Images with the other multiplicand stored behind the window."""
    placed = images.copy()
    region = memory.image(codes[None, :])[0]
    start = window + memory.start
    placed[:, start : start + len(region)] = region
    return placed


@dataclass(frozen=True)
class _Read:
    """Which element of D shows which (x, k): positions of D by (x, one of `ks`), under one of the codes."""

    places: Ints
    ks: Ints
    code: int


def _ways(bench: Bench, operand: str, found: ProductMap, met: Ints) -> Iterator[tuple[Ints, _Read]]:
    """The other multiplicand's contents that make each element of D show one element, and which one."""
    rows, columns = int(found.d[:, 0].max()) + 1, int(found.d[:, 1].max()) + 1
    places = np.empty((rows, columns), np.int64)
    places[found.d[:, 0], found.d[:, 1]] = np.arange(len(found.d))
    row, packed = found.a.T
    k, column = found.b.T
    width = met.shape[1]
    if operand == "A":  # column n of B is one at the k that packed column n meets
        ones = np.zeros(len(k), np.int64)
        for n, target in enumerate(met[0]):
            ones |= (column == n) & (k == target)
        yield ones * bench.one("B"), _Read(places[:, :width], np.arange(width), 0)
        return
    for code, ks in enumerate(met):
        for first in range(0, width, rows):  # row r of A is one at packed column first + r
            ones = (packed - first == row).astype(np.int64)
            count = min(rows, width - first)
            yield ones * bench.one("A"), _Read(places[:count].T, ks[first : first + count], code)


def _assembled(results: Sequence[Ints], reads: Sequence[_Read]) -> Ints:
    """Join the parts to an array (settings, x, k)."""
    count = max(int(read.ks.max()) for read in reads) + 1
    x = reads[0].places.shape[0]
    whole = np.full((len(results[0]), x, count), -1, np.int64)
    for result, read in zip(results, reads, strict=True):
        whole[:, :, read.ks] = result
    return whole

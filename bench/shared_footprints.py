"""The granules of shared memory that a wgmma reads through a matrix descriptor, according to the
specification.
"""

from __future__ import annotations

from functools import cache, lru_cache

from ptxmma.spec.addresses import DescribedMatrix
from ptxmma.spec.descriptor import decode
from ptxmma.spec.loading import load_files

__all__ = ["GRANULE", "Granules", "matrix"]

GRANULE = 16
Granules = frozenset[int]
_known = lru_cache(load_files)
_PATTERN = 1024  # bytes after which every swizzle repeats


@cache
def matrix(word: int | None, rows: int, depth: int, kind: str, turned: bool) -> Granules | None:
    """The matrix that a descriptor names: rows of A or columns of B, `depth` bytes of K; None for an unknown
    one.
    """
    if word is None:
        return None
    start = decode(_known().descriptors["wgmma"], word)["start-address"]
    base = start // _PATTERN * _PATTERN
    low = word - (base >> 4)
    return frozenset(base // GRANULE + granule for granule in _near(low, rows, depth, kind, turned))


@cache
def _near(word: int, rows: int, depth: int, kind: str, turned: bool) -> Granules:
    known = _known()
    size = {"f16": 2, "bf16": 2, "tf32": 4}.get(kind, 1)
    found = DescribedMatrix.of(
        known.addresses.addresses,
        known.layouts,
        known.addresses.swizzle,
        known.descriptors["wgmma"],
        decode(known.descriptors["wgmma"], word),
        "MN" if turned else "K",
        size,
    )
    if turned:
        places = ((x, k) for x in range(0, rows, GRANULE // size) for k in range(depth // size))
    else:
        places = ((x, k) for x in range(rows) for k in range(0, depth // size, GRANULE // size))
    return frozenset(found.address(x, k) // GRANULE for x, k in places)

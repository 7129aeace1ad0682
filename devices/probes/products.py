"""Maps recovered without any layout: rows, columns and k from the table of elements that meet in a product.

With one non-zero element of A and one of B, D is non-zero at most in one element: they meet there. The
table of all meetings says which elements of A share a row, which share a k, and so on. A matrix product
has only one such assignment, up to the names of its rows, columns and k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints

__all__ = ["NoProduct", "ProductMap", "factor", "merge"]


class NoProduct(Exception):
    """The table of meetings does not belong to a matrix product."""


@dataclass(frozen=True)
class ProductMap:
    """For every element of A its row and its column, and so on; −1: it meets nothing.

    Rows and columns of A are numbered by their first appearance among the elements of A; k and the
    columns of D by theirs among the elements of B. `met` is the k of B that a column of A meets.
    """

    a: Ints  # (elements of A, 2): row, column of A
    b: Ints  # (elements of B, 2): k, column
    d: Ints  # (elements of D, 2): row, column
    met: Ints  # (columns of A): k

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and k that were met."""
        return int(self.d[:, 0].max()) + 1, int(self.d[:, 1].max()) + 1, len(self.met)


def _classes(keys: NDArray[np.integer] | NDArray[np.bool_]) -> Ints:
    """The class of every key, numbered by first appearance."""
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    classes: Ints = rank[which.reshape(-1)]
    return classes


def factor(meets: NDArray[np.integer], count: int) -> ProductMap:
    """The rows, columns and k behind a table: `meets[a, d]` is the element of B, of `count`, that element
    a of A meets in element d of D, −1 where there is none. Raises NoProduct when nothing explains it."""
    seen = meets >= 0
    a = np.full((len(meets), 2), -1, np.int64)
    b = np.full((count, 2), -1, np.int64)
    d = np.full((meets.shape[1], 2), -1, np.int64)
    used, shown = seen.any(axis=1), seen.any(axis=0)
    if not used.any() or len({*seen[used].sum(axis=1)}) > 1 or len({*seen[:, shown].sum(axis=0)}) > 1:
        raise NoProduct("elements meet differently many others")
    a[used, 0] = _classes(seen[used])
    first = np.argmax(seen, axis=0)
    d[shown, 0] = a[first[shown], 0]
    columns = _sorted(meets[used])
    a[used, 1] = _classes(columns)
    rows = _sorted(meets.T[shown])
    by_column = _by_first(rows)
    d[shown, 1] = by_column
    by_k = _by_first(columns)
    for number, members in zip(by_k, columns, strict=True):
        b[members, 0] = number
    for number, members in zip(by_column, rows, strict=True):
        b[members, 1] = number
    met = np.full(int(a[:, 1].max()) + 1, -1, np.int64)
    met[a[used, 1]] = by_k
    result = ProductMap(a, b, d, met)
    _check(result, meets)
    return result


def _sorted(table: NDArray[np.integer]) -> Ints:
    """The elements met, in order: what is −1 sorts first, and is cut off."""
    ordered = np.sort(table, axis=1)
    width = int((ordered[0] >= 0).sum())
    return ordered[:, -width:].astype(np.int64)


def _by_first(groups: Ints) -> Ints:
    """Groups of elements numbered by their least element."""
    return np.unique(groups[:, 0], return_inverse=True)[1].reshape(-1).astype(np.int64)


def _check(found: ProductMap, meets: NDArray[np.integer]) -> None:
    """That the table is exactly the product's: a meets b in d where row, column and k fit."""
    where = {}
    for element, (k, column) in enumerate(found.b):
        if k >= 0:
            if (int(k), int(column)) in where:
                raise NoProduct(f"two elements of B have k {k} and column {column}")
            where[int(k), int(column)] = element
    table = np.full((int(found.b[:, 0].max()) + 1, int(found.b[:, 1].max()) + 1), -1, np.int64)
    for (k, column), element in where.items():
        table[k, column] = element
    if found.met.max() >= len(table) or found.d[:, 1].max() >= table.shape[1]:
        raise NoProduct("elements of B that share a k, or a column, overlap")
    used = found.a[:, 0] >= 0
    same = found.a[:, :1] == found.d[:, 0][None, :]
    same &= used[:, None]
    ks = np.where(used, found.met[found.a[:, 1]], 0)
    expected = np.where(same, table[ks[:, None], found.d[:, 1][None, :]], -1)
    wrong = np.argwhere(expected != meets)
    if len(wrong):
        element, result = wrong[0]
        raise NoProduct(f"{len(wrong)} meetings do not fit, first: A element {element} in D element {result}")


def merge(tables: Sequence[NDArray[np.integer]], count: int) -> tuple[ProductMap, Ints]:
    """The maps behind several tables of one sparse product, under several codes; and (codes, columns of A)
    the k that each packed column meets under each. Packed columns are numbered by the k that they meet
    under the first. Raises NoProduct when the tables do not agree."""
    parts = [factor(table, count) for table in tables]
    first = parts[0]
    least: dict[int, int] = {}
    groups: dict[int, NDArray[np.bool_]] = {}
    for part in parts:
        if not (np.array_equal(part.a, first.a) and np.array_equal(part.d, first.d)):
            raise NoProduct("the maps of A and D depend on the metadata")
        for k in range(int(part.b[:, 0].max()) + 1):
            members = part.b[:, 0] == k
            key = int(np.argmax(members))
            if key in groups and not np.array_equal(groups[key], members):
                raise NoProduct("which elements of B share a k depends on the metadata")
            groups[key] = members
    for number, key in enumerate(sorted(groups)):
        least[key] = number
    b = np.full((count, 2), -1, np.int64)
    met = np.empty((len(parts), len(first.met)), np.int64)
    for number, part in enumerate(parts):
        for k in range(int(part.b[:, 0].max()) + 1):
            members = part.b[:, 0] == k
            b[members, 0] = least[int(np.argmax(members))]
        known = part.b[:, 1] >= 0
        b[known, 1] = part.b[known, 1]
        firsts = np.array([np.argmax(part.b[:, 0] == k) for k in part.met])
        met[number] = [least[int(at)] for at in firsts]
    order = np.argsort(np.argsort(met[0]))
    a = first.a.copy()
    a[:, 1] = np.where(a[:, 1] >= 0, order[a[:, 1]], -1)
    sorted_met = np.empty_like(met)
    sorted_met[:, order] = met
    return ProductMap(a, b, first.d, sorted_met[0]), sorted_met

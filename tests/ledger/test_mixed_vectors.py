"""Runs of a vector whose registers have several types, and classes of literals."""

from __future__ import annotations

import pytest

from ptxmma.ledger.literal_classes import in_class, is_class, members, without_class
from ptxmma.ledger.mixed_vectors import in_runs, mixed_places, mixtures

SIMILAR = {"b32": (("u32", "s32"), ("f32",), ("f16x2",), ("pred",))}
NAMES = {
    "b": "b32",
    "u": "u32",
    "s": "s32",
    "f": "f32",
    "h": "f16x2",
    "p": "pred",
    "_": "_",
    "0": "literal integer",
}


@pytest.mark.parametrize(
    ("types", "runs", "listed", "places"),
    [
        ("bf", (0,), "f", {1}),
        ("ff", (0,), "f", set()),  # one type: as it is
        ("us", (0,), "us", {0, 1}),  # two similar types, and none that goes with all
        ("us", (0,), "u", {0}),
        ("uf", (0,), "uf", set()),  # unlike neighbours
        ("ubf", (0,), "uf", {0, 2}),
        ("bfff", (2, 2), "f", {1}),  # the second run has one type
        ("bffb", (2, 2), "f", {1, 2}),
        ("bffb", (1, 1, 1, 1), "f", set()),
        ("bfsb", (2, 2), "fs", set()),  # neighbours in two runs
        ("bbff", (2,), "f", {2, 3}),  # behind the last run
        ("bpbb", (2,), "p", {1}),
        ("bp", (0,), "f", set()),  # not listed
        ("s_s_", (0,), "s", set()),  # a sink has no type
        ("s0b", (0,), "s", {0}),
    ],
)
def test_mixed_places(types: str, runs: tuple[int, ...], listed: str, places: set[int]) -> None:
    wanted = [NAMES[one] for one in listed]
    assert mixed_places([NAMES[one] for one in types], runs, wanted, SIMILAR) == places


def test_runs_end_where_they_are_full() -> None:
    assert [list(run) for run in in_runs(5, (2, 0))] == [[0, 1], [2, 3, 4]]
    assert [list(run) for run in in_runs(3, (2, 2))] == [[0, 1], [2]]


def test_mixtures_show_where_runs_end() -> None:
    found = {"".join(one) for one in mixtures("bbbb", ("s", "u"), (2, 2))}
    assert found == {"bsbb", "bubb", "sbbb", "bbbs", "ssbb", "bbss", "susu", "ssss", "uuuu"}
    assert {"".join(one) for one in mixtures("bbbb", ("f",), (0,))} == {"bbbf", "fbbb", "ffff"}
    assert ("b", "b", "b", "f") in set(mixtures("bbbb", ("f",), (1, 1)))  # behind the runs


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("<integer>", (0, -1, 1 << 40), ()),
        ("<32 bits>", (1 << 32, -(1 << 31) - 1), (0, -1, (1 << 32) - 1, -(1 << 31))),
        ("<multiple of 32>", (32, 65536, -32, 4294967264), (0, 16, 33, -31, 1 << 32)),
        ("3", (), (3,)),
    ],
)
def test_classes_of_literals(text: str, inside: tuple[int, ...], outside: tuple[int, ...]) -> None:
    assert all(in_class(text, value) for value in inside)
    assert not any(in_class(text, value) for value in outside)
    assert is_class(text) == (text != "3")


def test_what_stands_for_a_literal_of_a_class() -> None:
    assert without_class("<32 bits>", (1 << 32) + 64, "32") == "64"
    assert without_class("<32 bits>", -(1 << 32) + 1, "0") == "1"
    assert without_class("<multiple of 32>", 65536, "%b0") == "%b0"
    assert members("<32 bits>", "32") == ("4294967328", "-4294967264")
    assert members("%p0", "32") == ("%p0",)
    assert members("0f00000000", "32") == ("0f00000000", "0f3f800000", "0fff800000")

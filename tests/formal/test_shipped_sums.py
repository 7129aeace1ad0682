"""What rows compute, from the cache: the same as made anew, and only for the specification that ships."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.formal import shipped_sums
from ptxmma.formal.exact_sums import planned_sums
from ptxmma.formal.shipped_sums import all_computations, planned_of, sums_of
from ptxmma.formal.sum_shapes import family_sums
from ptxmma.spec.api import load
from ptxmma.spec.arithmetic import arithmetic


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache on disk, read at each call."""
    monkeypatch.setattr("ptxmma.spec.cache.cache_folder", lambda: tmp_path)
    monkeypatch.setattr(shipped_sums, "_shipped", shipped_sums._shipped.__wrapped__)  # type: ignore[attr-defined]
    return tmp_path


def test_what_the_cache_has_is_what_is_made_anew(cold: Path) -> None:
    first = all_computations(load())
    assert any(name.startswith("f16 x f16 + f32 -> f32, 16 products") for name in first)
    assert len(list(cold.glob("sums-*.pickle"))) == 1
    again = all_computations(load())
    assert again is not first and again == first == shipped_sums._computed(load())
    for family in arithmetic().families:
        assert sums_of(load(), family) == family_sums(load(), family)
        assert planned_of(load(), family) == planned_sums(load(), family)


def test_another_specification_is_never_in_the_cache(cold: Path) -> None:
    some = {name: one for name, one in load().instructions.items() if name.startswith("wgmma")}
    other = replace(load(), instructions=some)
    assert 0 < len(all_computations(other)) < len(all_computations(load()))
    chips = arithmetic().families[0]
    changed = replace(chips, family="other")
    assert sums_of(load(), changed) == family_sums(load(), changed)
    assert planned_of(load(), changed) == planned_sums(load(), changed)
    assert planned_of(other, chips) == planned_sums(other, chips) != planned_sums(load(), chips)


def test_what_is_read_in_place_of_a_file_counts(cold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = all_computations(load())
    chips = arithmetic()
    some = {name: one for name, one in load().instructions.items() if name.startswith("wgmma")}
    other = replace(load(), instructions=some)
    monkeypatch.setattr(shipped_sums, "load", lambda: other)
    monkeypatch.setattr("ptxmma.spec.cache.reads_instead", lambda: True)
    assert all_computations(other) == shipped_sums._computed(other) != shipped
    assert sums_of(other, chips.families[0]) == family_sums(other, chips.families[0])
    assert planned_of(other, chips.families[0]) == planned_sums(other, chips.families[0])

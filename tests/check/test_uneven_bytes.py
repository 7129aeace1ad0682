"""A phase that expects a number of bytes to which whole rows of the matrices that its tensor copies fill do not come."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import Finding

CASES = Path(__file__).resolve().parent / "cases"
TEXT = (CASES / "d96_elect.ptx").read_text()  # one phase, and two maps: nothing else says how much they bring


def found(expected: int, text: str = TEXT) -> list[Finding]:
    assert ",9216;" in text
    report = check_text(text.replace(",9216;", f",{expected};"), "k.ptx")
    assert not report.faults
    return [one for one in report.findings if one.tier != "info"]


@pytest.mark.parametrize("expected", [9200, 9232, 9217, 9216 + 64])
def test_parts_of_rows_are_likely_wrong(expected: int) -> None:
    (finding,) = found(expected)
    assert (finding.tier, finding.rule) == ("likely", "barrier-stuck")
    assert f"{expected} bytes of tensor copies" in finding.message and "rows of 128 bytes" in finding.message


@pytest.mark.parametrize("expected", [9216, 9216 + 128, 9216 - 128])
def test_whole_rows_may_be_what_the_maps_say(expected: int) -> None:
    assert found(expected) == []


def test_rows_are_as_wide_as_the_swizzle_says() -> None:
    """Swizzles of 64 bytes: the descriptors' highest bits are 2."""
    narrow = TEXT.replace("0x4000004000010000", "0x8000002000010000")
    assert narrow != TEXT
    assert found(9216 + 64, narrow) == []
    assert [one.rule for one in found(9216 + 32, narrow)] == ["barrier-stuck"]


def test_a_copy_that_no_product_reads_may_bring_anything() -> None:
    """The second copy goes behind the matrices."""
    assert found(9232) != []
    first = TEXT.index("cp.async.bulk.tensor")
    second = TEXT.index("[%r41]", first)
    apart = TEXT[:second] + "[%r41+16384]" + TEXT[second + len("[%r41]") :]
    assert "barrier-stuck" not in [one.rule for one in found(9232, apart)]

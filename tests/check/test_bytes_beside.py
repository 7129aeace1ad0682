"""Copies of known size beside tensor copies, in one phase: the phase expects the bytes of all of them.

What must be found was written down before the checker ran. Products read all that the tensor copies bring, 9216
bytes; nothing but these says how much that is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text

CASES = Path(__file__).resolve().parent / "cases"
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;\n"
NEXT = "add.s64 %d0,%d0,2; add.s64 %d1,%d1,2;\n"
TENSOR = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
SCALES = f"{COPY} [%r2+16384],[%d3],256,[%r30];\n"
MORE = f"{COPY} [%r2+20480],[%d3],128,[%r30];\n"
APART = f"mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r31],256;\n{SCALES.replace('%r30', '%r31')}"
READ = "ld.shared.f32 %f4,[%r2+16384]; add.f32 %f0,%f0,%f4;\n"


def found(expected: int, copies: str, *replaced: tuple[str, str]) -> list[tuple[str, str]]:
    text = (CASES / "d96_elect.ptx").read_text()
    assert text.count(PRODUCT) == text.count(TENSOR + " [%r41]") == text.count(",9216;") == 1
    text = text.replace(PRODUCT, NEXT.join([PRODUCT] * 4)).replace(
        "st.global.f32 [%d2+0]", READ + "st.global.f32 [%d2+0]"
    )
    text = text.replace(",9216;", f",{expected};").replace(f"{TENSOR} [%r41]", f"{copies}{TENSOR} [%r41]")
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    report = check_text(text, "k.ptx")
    assert not report.faults
    return [(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")]


@pytest.mark.parametrize(
    ("expected", "copies"),
    [
        pytest.param(9216 + 256, SCALES, id="scales"),
        pytest.param(9216 + 256 + 128, SCALES + MORE, id="and more"),
        pytest.param(9216 + 1024 + 256, SCALES, id="boxes may be larger than what products read"),
    ],
)
def test_a_phase_expects_the_bytes_of_all_its_copies(expected: int, copies: str) -> None:
    assert found(expected, copies) == []


@pytest.mark.parametrize(
    ("expected", "copies"),
    [
        pytest.param(9216, SCALES, id="scales"),
        pytest.param(9216 + 256, SCALES + MORE, id="the smaller one"),
        pytest.param(9216 + 128, SCALES + MORE, id="the larger one"),
        pytest.param(9216, SCALES + MORE, id="both"),
    ],
)
def test_a_copy_that_is_left_out_is_likely_incomplete(expected: int, copies: str) -> None:
    assert ("likely", "copy-incomplete") in found(expected, copies)


def test_bytes_that_no_copies_come_to_are_not_judged() -> None:
    """Here, boxes are smaller than the matrices, or their rows are not read; who knows."""
    assert found(9216 + 64, SCALES) == []


def test_a_copy_for_another_phase_is_not_left_out() -> None:
    wait = "SP2: mbarrier.try_wait.parity.shared::cta.b64 %p3,[%r31],0;\n@!%p3 bra SP2;\n"
    assert found(9216, APART, ("wgmma.fence", wait + "wgmma.fence")) == []


def test_a_copy_of_known_size_may_bring_a_matrix() -> None:
    matrix = (f"{TENSOR} [%r2],[%d30,{{%r40,%r40}}],[%r30];\n", f"{COPY} [%r2],[%d3],8192,[%r30];\n")
    assert found(9216, "", matrix) == []
    assert found(9216 + 256, SCALES, matrix) == []

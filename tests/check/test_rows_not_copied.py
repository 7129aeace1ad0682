"""Phases whose tensor copies bring fewer rows of A than a product has: a decoder's query has 8 rows, wgmma has 64.

The PTX does not show how many bytes a tensor copy brings. Rows of A that nobody copies are multiplied, and nobody
stores what comes of them: that is right. B has as many columns as the product, so a phase that expects no more than
the bytes of B leaves none for A, and ends before the copies of one of them. What must be found was written down before
the checker ran. A has 64 rows of 128 bytes, B 8 columns of as many; one mbarrier counts both, or each its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text

CASES = Path(__file__).resolve().parent / "cases"
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;\n"
STEP = "add.s64 %d0,%d0,2; add.s64 %d1,%d1,2;\n"  # to the next 16 columns, of 64
FAR = "add.s64 %d0,%d0,1018; add.s64 %d1,%d1,1018;\n"  # to the next box of 64 columns, 16384 bytes further
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r30],9216;\n"
TENSOR = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
A = f"{TENSOR} [%r2],[%d30,{{%r40,%r40}}],[%r30];\n"
B = f"{TENSOR} [%r41],[%d31,{{%r40,%r40}}],[%r30];\n"
A_AGAIN = f"add.u32 %r42,%r2,16384; {A.replace('[%r2]', '[%r42]')}"
B_AGAIN = f"add.u32 %r43,%r2,24576; {B.replace('[%r41]', '[%r43]')}"
WAIT = "SP:\nmbarrier.try_wait.parity.shared::cta.b64 %p3,[%r30],0;\n@!%p3 bra SP;\n"
SHORT = ["copy-incomplete"]


def expecting(bytes_: int, barrier: str = "%r30") -> str:
    return EXPECT.replace("9216", str(bytes_)).replace("%r30", barrier)


def found(*replaced: tuple[str, str]) -> list[str]:
    text = (CASES / "d96_elect.ptx").read_text()
    for old, new in ((PRODUCT, STEP.join([PRODUCT] * 4)), *replaced):
        assert text.count(old) >= 1
        text = text.replace(old, new)
    report = check_text(text, "k.ptx")
    assert not report.faults
    return [one.rule for one in report.findings if one.tier in ("error", "likely")]


@pytest.mark.parametrize(
    ("bytes_", "rules"),
    [
        pytest.param(9216, [], id="64 rows"),
        pytest.param(1024 + 32 * 128, [], id="32 rows"),
        pytest.param(1024 + 8 * 128, [], id="8 rows"),
        pytest.param(1024 + 128, [], id="one row"),
        pytest.param(8192, SHORT, id="64 rows and no B, more likely than 56 rows"),
        pytest.param(1024, SHORT, id="none"),
        pytest.param(512, SHORT, id="half of B"),
    ],
)
def test_a_phase_of_both_matrices(bytes_: int, rules: list[str]) -> None:
    assert found((EXPECT, expecting(bytes_))) == rules


@pytest.mark.parametrize(
    ("bytes_", "rules"),
    [
        pytest.param(2 * 9216, [], id="64 rows"),
        pytest.param(2 * (1024 + 8 * 128), [], id="8 rows"),
        pytest.param(2 * 1024, SHORT, id="none"),
    ],
)
def test_each_matrix_has_two_boxes(bytes_: int, rules: list[str]) -> None:
    more = (PRODUCT + STEP) * 3 + PRODUCT + FAR + (PRODUCT + STEP) * 3 + PRODUCT
    copies = expecting(bytes_), A + A_AGAIN, B + B_AGAIN
    whole = STEP.join([PRODUCT] * 4)
    assert found((EXPECT, copies[0]), (A, copies[1]), (B, copies[2]), (whole, more)) == rules


@pytest.mark.parametrize("rows", [64, 8])
def test_a_has_a_phase_of_its_own(rows: int) -> None:
    wait = WAIT.replace("SP", "SP2").replace("%r30", "%r31")
    copies = (EXPECT, expecting(rows * 128) + expecting(1024, "%r31")), (B, B.replace("%r30", "%r31"))
    assert found(*copies, (WAIT, WAIT + wait)) == []


@pytest.mark.parametrize("rows", [128, 16])
def test_two_boxes_of_a_have_a_phase_of_their_own(rows: int) -> None:
    more = (PRODUCT + STEP) * 3 + PRODUCT + FAR + (PRODUCT + STEP) * 3 + PRODUCT
    whole = STEP.join([PRODUCT] * 4)
    wait = WAIT.replace("SP", "SP2").replace("%r30", "%r31")
    own = (B + B_AGAIN).replace("[%r30]", "[%r31]")
    copies = (EXPECT, expecting(rows * 128) + expecting(2048, "%r31")), (A, A + A_AGAIN), (B, own)
    assert found(*copies, (WAIT, WAIT + wait), (whole, more)) == []


def test_two_boxes_of_b_are_whole() -> None:
    """Its phase expects the bytes of one: it ends before the other one has come."""
    more = (PRODUCT + STEP) * 3 + PRODUCT + FAR + (PRODUCT + STEP) * 3 + PRODUCT
    whole = STEP.join([PRODUCT] * 4)
    wait = WAIT.replace("SP", "SP2").replace("%r30", "%r31")
    own = (B + B_AGAIN).replace("[%r30]", "[%r31]")
    copies = (EXPECT, expecting(2 * 8192) + expecting(1024, "%r31")), (A, A + A_AGAIN), (B, own)
    assert found(*copies, (WAIT, WAIT + wait), (whole, more)) == SHORT

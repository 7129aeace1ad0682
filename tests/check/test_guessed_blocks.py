"""Barriers with phases of kernels that do not say how many threads a block has."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .test_phases import ELECTED, RING, tiers


def unsized(text: str) -> str:
    """The kernel without .reqntid."""
    return "".join(line for line in text.splitlines(True) if not line.startswith(".reqntid"))


@pytest.mark.parametrize("kernel", [RING, ELECTED])
def test_a_usual_number_of_threads_clears_a_right_kernel(kernel: str) -> None:
    assert tiers(unsized(kernel)) == set()


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("b64 [%r30],1;", "b64 [%r30],2;", "barrier-stuck"),
        ("mbarrier.init.shared::cta.b64 [%r31],128;\n", "", "barrier-uninitialised"),
        ("xor.b32 %r14,%r12,1;", "mov.b32 %r14,%r12;", "barrier-stuck"),
    ],
)
def test_what_every_number_of_threads_leaves_is_likely(old: str, new: str, rule: str) -> None:
    text = unsized(RING)
    assert text.count(old) == 1
    found = check_text(text.replace(old, new), "k.ptx").findings
    assert (rule, "likely") in {(one.rule, one.tier) for one in found}
    assert all("no usual number of threads" in one.message for one in found if one.tier == "likely")

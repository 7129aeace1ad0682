"""The frame of examples in CUDA C++ is a function that a compiler reads, with the operands of a product."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from ptxmma.check.rule_texts import rule_texts

WATCHES = ("check/rules.yaml",)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_the_frame_of_examples_in_cuda_has_the_operands_of_a_product() -> None:
    """Registers of mma.m16n8k16 in f16: four of D, four of C, four of A, two of B."""
    sizes = "".join(
        f"static_assert(sizeof({name}) == {size});\n"
        for name, size in zip("dcab", (16, 16, 16, 8), strict=True)
    )
    text = rule_texts().cuda_frame.replace("BODY", f'{sizes}asm volatile("" :: "r"(address));')
    for arch, given in ((800, text), (700, text.replace("address)", "nothing)", 1))):
        assert compiles(given, arch), given


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_the_device_compiles_the_body_where_the_product_is() -> None:
    """mma of f16 needs sm_80; the host compiles no body."""
    frame = rule_texts().cuda_frame
    assert frame.startswith("__device__ void ")
    wrong = frame.replace("BODY", "static_assert(false);")
    assert [compiles(wrong, arch) for arch in (700, 799, 800, 900)] == [True, True, False, False]


def compiles(text: str, arch: int) -> bool:
    words = ["g++", "-std=c++17", "-fsyntax-only", "-D__device__=", f"-D__CUDA_ARCH__={arch}", "-xc++", "-"]
    return subprocess.run(words, input=text, text=True, check=False, capture_output=True).returncode == 0

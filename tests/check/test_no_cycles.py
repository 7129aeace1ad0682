"""What `check` makes of a file is freed once it is judged: commands collect no garbage, so nothing may be a cycle."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text

TESTS = Path(__file__).resolve().parents[1]
KERNELS = {
    path.stem: path for folder in ("kernels", "check/cases") for path in (TESTS / folder).glob("*.ptx")
}
NAMES = [
    "cutlass-67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling",
    "fla-3.9.0-fla_chunk_gla_bwd_kernel_inter",
    "triton-3.9.0-attention_descriptor",
    "triton-3.9.0-sm80-matmul_bf16",
    "nvcc-cluster",
    "k08_remote_release",
    "n01_tensor_ok",
]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_behind(name: str) -> None:
    path = KERNELS[name]
    check_text(path.read_text(), path.name)  # what is remembered for later files
    gc.collect()
    check_text(path.read_text(), path.name)
    assert gc.collect() < 20  # a few patterns and generators of the libraries

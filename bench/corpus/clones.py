"""Compile kernels of public repositories that no package brings; they are judged, and none is kept here.

`python bench/corpus/build.py FOLDER clones` clones each into FOLDER/.packages, unless it lies there already.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

_K, _MN = "cute::UMMA::Major::K", "cute::UMMA::Major::MN"
_GEMM = "GemmType::Normal"
_FAST = """#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda/barrier>
#include <cassert>
#include <cstdio>
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
#define CEIL_DIV(M, N) (((M) + (N) - 1) / (N))
#define cudaCheck(error) (void)(error)
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
#include "examples/matmul/matmul_{}.cuh"
"""
_DEEP = """#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cutlass/numeric_types.h>
#include <deep_gemm/impls/{0}.cuh>
using namespace deep_gemm;
void instantiate() {{ auto kernel = reinterpret_cast<void *>(&{2}{1}); (void)kernel; }}
"""
_DEEP_KERNELS = {
    "bf16_128x128": (
        "sm90_bf16_gemm",
        f"_impl<{_K},{_K},0,4096,4096,1,128,128,64,128,128,128,6,128,256,1,false,132,{_GEMM},false,"
        "cutlass::bfloat16_t>",
    ),
    "bf16_64x256_mc": (
        "sm90_bf16_gemm",
        f"_impl<{_K},{_K},0,4096,4096,1,128,256,64,128,128,128,4,128,256,2,true,132,{_GEMM},false,"
        "cutlass::bfloat16_t>",
    ),
    "bf16_mn_acc": (
        "sm90_bf16_gemm",
        f"_impl<{_MN},{_MN},0,4096,0,1,128,128,64,128,128,0,6,128,256,1,false,132,{_GEMM},true,float>",
    ),
    "bf16_grouped": (
        "sm90_bf16_gemm",
        f"_impl<{_K},{_K},0,4096,4096,8,128,128,64,128,128,128,6,128,256,2,false,132,"
        "GemmType::MGroupedContiguous,false,cutlass::bfloat16_t>",
    ),
    "fp8_1d2d": (
        "sm90_fp8_gemm_1d2d",
        f"_impl<{_K},0,4096,7168,1,128,128,128,128,128,128,5,128,256,2,false,132,{_GEMM},"
        "cutlass::bfloat16_t,epilogue::transform::EpilogueIdentity>",
    ),
    "fp8_1d2d_n112": (
        "sm90_fp8_gemm_1d2d",
        f"_impl<{_K},0,2112,7168,4,64,112,128,128,128,32,6,128,128,1,false,132,GemmType::MGroupedMasked,"
        "cutlass::bfloat16_t,epilogue::transform::EpilogueIdentity>",
    ),
    "fp8_1d1d": (
        "sm90_fp8_gemm_1d1d",
        f"_impl<0,4096,7168,1,128,128,128,128,128,4,128,256,1,false,132,{_GEMM},float>",
    ),
    "fp8_1d1d_k": (
        "sm90_fp8_gemm_1d1d",
        "_impl<4096,4096,0,4,128,128,128,128,128,4,128,256,2,false,132,GemmType::KGroupedContiguous,float>",
    ),
    "tf32_hc": ("sm90_tf32_hc_prenorm_gemm", "_impl<32,7168,64,32,64,8,128,8,128,128>"),
    "mqa_logits": ("sm90_fp8_mqa_logits", "<64,128,false,4,256,3,3,132,128,512,float>"),
    "paged_mqa": ("sm90_fp8_paged_mqa_logits", "<1,64,128,64,false,false,3,3,256,128,512,float>"),
}
_BLACKWELL = {
    "bf16": (
        "sm100_bf16_gemm",
        f"_impl<{_K},{_K},0,4096,4096,128,128,64,1,128,128,128,6,128,128,1,false,148,128,false,false,{_GEMM},"
        "false,cutlass::bfloat16_t,100>",
    ),
    "bf16_two_ctas_mn": (
        "sm100_bf16_gemm",
        f"_impl<{_MN},{_MN},0,4096,4096,128,224,64,1,128,64,128,4,128,128,2,false,148,128,false,false,{_GEMM},"
        "true,float,100>",
    ),
    "bf16_swapped": (
        "sm100_bf16_gemm",
        f"_impl<{_K},{_K},0,4096,4096,48,128,64,8,128,128,128,6,128,128,2,true,148,16,true,true,"
        "GemmType::MGroupedContiguous,false,cutlass::bfloat16_t,100>",
    ),
    "fp8_1d1d": (
        "sm100_fp8_fp4_gemm_1d1d",
        f"_impl<{_K},{_K},32,32,128,0,4096,7168,128,128,128,1,128,128,128,5,128,128,1,false,148,false,false,"
        f"{_GEMM},false,cutlass::float_e4m3_t,cutlass::float_e4m3_t,cutlass::bfloat16_t,"
        "epilogue::transform::EpilogueIdentity>",
    ),
    "fp8_fp4_1d1d": (
        "sm100_fp8_fp4_gemm_1d1d",
        f"_impl<{_K},{_K},128,32,128,0,4096,7168,128,192,128,1,128,128,128,4,128,128,2,false,148,false,false,"
        f"{_GEMM},false,cutlass::float_e4m3_t,cutlass::detail::float_e2m1_unpacksmem_t,"
        "cutlass::bfloat16_t,epilogue::transform::EpilogueIdentity>",
    ),
    "bmk_bnk_mn": ("sm100_bmk_bnk_mn", "<128,128,4096,128,128,64,4,128,128,4,128>"),
    "tf32_hc": ("sm100_tf32_hc_prenorm_gemm", "_impl<32,7168,64,32,64,8,128,8,128,128>"),
    "mqa_logits_fp8": ("sm100_mqa_logits", "<false,64,128,false,2,256,3,5,148,128,256,float>"),
    "mqa_logits_fp4": ("sm100_mqa_logits", "<true,32,64,false,4,256,3,10,148,128,256,float>"),
}
_NAMES = {"sm100_bmk_bnk_mn": "sm100_bmn_bnk_mn_gemm_impl"}  # kernels that are not named as their headers
_KITTENS = (
    *(f"kernels/gemm/educational_h100/level_0{level}.cu" for level in range(2, 9)),
    *("kernels/gemm/bf16_h100/bf16_h100_gemm.cu", "kernels/gemm/fp8_h100/fp8_h100_gemm.cu"),
    *("kernels/attention/mha_h100/mha_h100.cu", "kernels/attention/mha_h100_lcf/mha_h100_lcf.cu"),
    *("kernels/linear_attention/linear_attention.cu", "kernels/based/linear_attn.cu"),
    *("kernels/mamba2/mamba2.cu", "kernels/hedgehog/hedgehog.cu", "kernels/flux/flux_gelu.cu"),
    "kernels/gemm/fp8_h100_scaled/fp8_h100_gemm_scaled.cu",
)
_MLA = "csrc/sm90/decode/sparse_fp8/instantiations/v32_persistent_h64.cu"


@dataclass(frozen=True)
class Clone:
    """A repository: its files to compile (or texts of our own that instantiate its templates), and how."""

    address: str
    includes: tuple[str, ...]
    files: tuple[str, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    arch: str = "sm_90a"

    @property
    def folder(self) -> str:
        """The name of its folder in FOLDER/.packages."""
        return Path(self.address).name.lower()


def _instantiated(kernels: dict[str, tuple[str, str]]) -> dict[str, str]:
    """DeepGEMM's kernels: each header, and the arguments of its template."""
    return {
        name: _DEEP.format(header, rest, _NAMES.get(header, header))
        for name, (header, rest) in kernels.items()
    }


CLONES = {
    "fast.cu": Clone(
        "https://github.com/pranjalssh/fast.cu",
        (".",),
        texts={f"matmul_{number}": _FAST.format(number) for number in range(2, 13)},
    ),
    "thunderkittens": Clone(
        "https://github.com/HazyResearch/ThunderKittens",
        ("include", "prototype"),
        _KITTENS,
        options=("-DKITTENS_HOPPER", "-DKITTENS_SM90", "--use_fast_math", "-include", "chrono"),
    ),
    "deepgemm": Clone(
        "https://github.com/deepseek-ai/DeepGEMM",
        ("deep_gemm/include",),
        texts=_instantiated(_DEEP_KERNELS),
    ),
    "deepgemm-sm100": Clone(
        "https://github.com/deepseek-ai/DeepGEMM",
        ("deep_gemm/include",),
        texts=_instantiated(_BLACKWELL),
        arch="sm_100a",
    ),
    "flashmla": Clone(
        "https://github.com/deepseek-ai/FlashMLA",
        ("csrc", "csrc/kerutils/include"),
        ("csrc/sm90/prefill/sparse/instantiations/phase1_k576.cu", _MLA),
        options=("--use_fast_math",),
    ),
}


def cloned(folder: Path, name: str) -> Path | None:
    """A clone; None, said aloud, where it cannot be had."""
    to = folder / ".packages" / CLONES[name].folder
    if not to.exists():
        done = subprocess.run(("git", "clone", "-q", "--depth", "1", CLONES[name].address, str(to)))
        if done.returncode:
            print(f"{name}: {CLONES[name].address} cannot be cloned", flush=True)
            return None
    return to


def sources(folder: Path, name: str) -> list[Path]:
    """The files of a clone to compile; those that are texts are written beside it."""
    root = folder / ".packages" / CLONES[name].folder
    found = [root / file for file in CLONES[name].files]
    for stem, text in CLONES[name].texts.items():
        path = folder / ".packages" / f"{name}-instances" / f"{stem}.cu"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        found.append(path)
    return found

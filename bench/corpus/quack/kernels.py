"""Kernels of QuACK, compiled by CuTe DSL without a GPU: python kernels.py FOLDER.

CuTe DSL, QuACK and the folder of stand_in.py are on PYTHONPATH. QuACK compiles from types and layouts alone,
so a stand-in of torch is enough. Its multiply for sm_80 is not written yet (0.6.5).
PTXMMA_CAPABILITY=100 in the environment compiles for sm_100a instead of sm_90a.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import stand_in  # isort: skip

stand_in.install("torch", "einops", "torch_c_dlpack_ext", "triton")

# The package without its __init__.py, which runs decorators of torch.
found = importlib.util.find_spec("quack")
assert found is not None and found.submodule_search_locations is not None
package = ModuleType("quack")
package.__path__ = list(found.submodule_search_locations)
sys.modules["quack"] = package
kept = TemporaryDirectory()
CAPABILITY = int(os.environ.get("PTXMMA_CAPABILITY", "90"))
os.environ |= {"CUTE_DSL_ARCH": f"sm_{CAPABILITY}a", "QUACK_ARCH": f"sm_{CAPABILITY}"}
os.environ["QUACK_CACHE_ENABLED"] = "0"
os.environ |= {"CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": kept.name}

from cutlass import (  # noqa: E402
    BFloat16,
    Float4E2M1FN,
    Float8E4M3FN,
    Float8E8M0FNU,
    Float16,
    Float32,
)
from quack import gemm  # noqa: E402
from quack.gemm_config import SplitKMode  # noqa: E402

# What _compile_gemm is asked for, where a kernel below asks for nothing else.
USUAL: dict[str, Any] = {
    "a_dtype": Float16,
    "b_dtype": Float16,
    "d_dtype": Float16,
    "c_dtype": None,
    "a_major": "k",
    "b_major": "k",
    "d_major": "n",
    "c_major": None,
    "tile_shape_mn": (128, 192),
    "cluster_shape_mnk": (1, 1, 1),
    "pingpong": False,
    "persistent": True,
    "is_dynamic_persistent": False,
    "rowvec_dtype": None,
    "colvec_dtype": None,
    "colvec_ndim": 0,
    "alpha_mode": 0,
    "beta_mode": 0,
    "add_to_output": False,
    "concat_layout": None,
    "varlen_m": False,
    "varlen_k": False,
    "gather_A": False,
    "use_tma_gather": False,
    "has_batch_idx_permute": False,
    "device_capacity": divmod(CAPABILITY, 10),
    "rounding_mode": gemm.RoundingMode.RN,
    "sr_seed_mode": 0,
    "num_warps": None,
}
BF16 = {"a_dtype": BFloat16, "b_dtype": BFloat16, "d_dtype": BFloat16}
TRANSPOSED = {"a_major": "m", "b_major": "n"}
KERNELS: dict[str, dict[str, Any]] = {
    "gemm": {},
    "gemm_cluster": {"cluster_shape_mnk": (2, 1, 1)},
    "gemm_pingpong": {"tile_shape_mn": (64, 128), "pingpong": True},
    "gemm_pingpong_bf16": BF16
    | {"tile_shape_mn": (128, 128), "pingpong": True, "cluster_shape_mnk": (1, 2, 1)},
    "gemm_plain": {"persistent": False},
    "gemm_wide": {"tile_shape_mn": (256, 128)},
    "gemm_bf16": BF16 | {"tile_shape_mn": (128, 256), "cluster_shape_mnk": (2, 1, 1)},
    "gemm_a_transposed": {"a_major": "m"},
    "gemm_both_transposed": BF16 | TRANSPOSED,
    "gemm_out_transposed": {"d_major": "m"},
    "gemm_added": {"c_dtype": Float16, "c_major": "n", "beta_mode": 1, "alpha_mode": 2},
    "gemm_bias": {"rowvec_dtype": Float16, "colvec_dtype": Float32, "colvec_ndim": 2},
    "gemm_fp32_out": {"d_dtype": Float32},
    "gemm_accumulated": {"d_dtype": Float32, "add_to_output": True},
    "gemm_varlen_m": {"varlen_m": True},
    "gemm_gather": {"varlen_m": True, "gather_A": True},
    "gemm_varlen_k": TRANSPOSED | {"varlen_k": True},
    "gemm_gather_k": TRANSPOSED | {"varlen_k": True, "gather_A": True},
    "gemm_split_k": {"split_k": 4},
    "gemm_split_parallel": {"split_k": 4, "split_k_mode": SplitKMode.PARALLEL},
    "gemm_dynamic": {"is_dynamic_persistent": True},
    "gemm_fp8": {"a_dtype": Float8E4M3FN, "b_dtype": Float8E4M3FN, "d_dtype": BFloat16},
}
FP8 = {"a_dtype": Float8E4M3FN, "b_dtype": Float8E4M3FN, "d_dtype": BFloat16}
FP4 = {"a_dtype": Float4E2M1FN, "b_dtype": Float4E2M1FN, "d_dtype": BFloat16}
TWO_CTAS: dict[str, Any] = {"tile_shape_mn": (256, 256), "cluster_shape_mnk": (2, 1, 1)}
BLACKWELL: dict[str, dict[str, Any]] = {
    "gemm": {"tile_shape_mn": (128, 128)},
    "gemm_narrow": {"tile_shape_mn": (64, 64)},
    "gemm_two_ctas": BF16 | TWO_CTAS,
    "gemm_two_ctas_transposed": BF16 | TRANSPOSED | TWO_CTAS,
    "gemm_tf32": {"a_dtype": Float32, "b_dtype": Float32, "d_dtype": Float32, "tile_shape_mn": (128, 128)},
    "gemm_fp8": FP8 | {"tile_shape_mn": (128, 256)},
    "gemm_fp8_two_ctas": FP8 | TWO_CTAS,
    "gemm_mxfp8": FP8 | {"tile_shape_mn": (128, 128), "sf_dtype": Float8E8M0FNU, "sf_vec_size": 32},
    "gemm_mxfp8_two_ctas": FP8 | TWO_CTAS | {"sf_dtype": Float8E8M0FNU, "sf_vec_size": 32},
    "gemm_mxfp4": FP4 | {"tile_shape_mn": (128, 128), "sf_dtype": Float8E8M0FNU, "sf_vec_size": 32},
    "gemm_nvfp4": FP4 | {"tile_shape_mn": (128, 128), "sf_dtype": Float8E4M3FN, "sf_vec_size": 16},
    "gemm_nvfp4_two_ctas": FP4 | TWO_CTAS | {"sf_dtype": Float8E4M3FN, "sf_vec_size": 16},
    "gemm_gather": {"tile_shape_mn": (128, 128), "varlen_m": True, "gather_A": True},
    "gemm_varlen_k": TRANSPOSED | {"tile_shape_mn": (128, 192), "varlen_k": True},
    "gemm_added": {"tile_shape_mn": (128, 160), "c_dtype": Float16, "c_major": "n", "beta_mode": 1},
    "gemm_dynamic": {"tile_shape_mn": (128, 224), "is_dynamic_persistent": True},
}


def main(folder: Path) -> None:
    """Write each kernel's PTX; say which ones do not compile."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in (BLACKWELL if CAPABILITY == 100 else KERNELS).items():
        to = folder / f"{name}.ptx"
        if to.exists():
            continue
        try:
            gemm._compile_gemm.__wrapped__(**USUAL | words)  # behind its cache of object files
        except Exception as error:  # the compiler may raise anything for what it does not support
            print(f"{name}: {type(error).__name__}: {str(error)[:150]}", flush=True)
        for made in Path(kept.name).glob("*.ptx"):
            to.write_text(made.read_text())
            made.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Copy a representative part of a compiled corpus to tests/kernels: python bench/corpus/choose.py FOLDER.

All of this project's CUDA kernels, all Triton kernels of the newest release for sm_90a, some of older ones
and for sm_80, the smaller kernels of CUTLASS, and some of each package.
"""

from __future__ import annotations

import sys
from pathlib import Path

KERNELS = Path(__file__).parents[2] / "tests" / "kernels"
NEWEST = "triton-3.9.0"
OLDER = {
    "3.0.0": ("matmul_fp16", "matmul_mixed", "matmul_old_descriptor", "attention", "chained", "matmul_s8"),
    "3.2.0": ("matmul_computed", "linear_attention", "matmul_tf32"),
    "3.3.1": ("matmul_mixed", "attention_queries"),
    "3.4.0": ("matmul_descriptor", "matmul_e4m3", "attention_paged"),
    "3.5.1": ("matmul_host_descriptor", "matmul_bf16_transposed"),
    "3.7.0": ("matmul_fp16", "matmul_mixed", "attention", "attention_descriptor", "linear_attention"),
    "3.7.1": ("matmul_fp16", "matmul_mixed"),
    "3.8.0": ("matmul_mixed",),
}
LARGEST = {"fla-3.7.0": 34_000, "cutlass": 245_000}
RENAMED = {"fla-3.7.0": "packages"}
# Some kernels of a folder: short ones, those with a finding, those that were accused wrongly.
SOME = {
    "fla-3.9.0": ("fla_chunk_cyfa_bwd_dqk_kernel", "fla_chunk_gla_bwd_kernel_inter"),
    "fla-3.9.0-sm80": (
        "fla_chunk_gla_fwd_A_kernel_intra_sub_inter",
        "fla_chunk_abc_bwd_kernel_rcum_intra",
        "fla_chunk_fwd_kernel_h_parallel",
        "fla_chunk_bwd_kernel_dh_parallel",
    ),
    "mamba_ssm-3.9.0": ("mamba_ssm_chunk_scan_bwd_dstates_kernel", "mamba_ssm_chunk_state_fwd_kernel"),
    "mamba_ssm-3.9.0-sm80": ("mamba_ssm_chunk_scan_bwd_dstates_kernel", "mamba_ssm_chunk_state_fwd_kernel"),
    "liger_kernel-3.9.0": ("liger_fused_neighborhood_attention_av_kernel",),
    "liger_kernel-3.9.0-sm80": ("liger_fused_neighborhood_attention_qk_kernel",),
    "triton-3.9.0-sm80": (
        *("matmul_small", "matmul_f64", "matmul_m64_n16", "attention_paged_m16", "matmul_bf16"),
        "attention_four_stages",
    ),
    "tilelang/sm_90a": ("matmul_unpipelined", "matmul_256_threads", "matmul_fp16_accumulator", "attention"),
    "tilelang/sm_80": ("matmul_small", "matmul_unpipelined", "matmul_two_stages", "attention"),
    "flashinfer-kda": ("flashkda_decode_d128_t2_precomputed_split4",),
    "flashinfer-sm90": ("cake_vsa_sm90_d017790969e7c56b43e2_kernel",),
}


def write(source: Path, name: str) -> None:
    """Copy a file without the lines that only say where the code came from."""
    text = source.read_text()
    cut = text.find("\t.section\t.debug")
    lines = [
        line
        for line in text[: cut if cut > 0 else None].splitlines()
        if not line.lstrip().startswith((".loc", ".file"))
    ]
    (KERNELS / name).write_text("\n".join(lines).rstrip("\n\0") + "\n")


def main(folder: Path) -> None:
    """Copy the part."""
    KERNELS.mkdir(exist_ok=True)
    for old in KERNELS.glob("*.ptx"):
        old.unlink()
    for source in sorted((folder / "nvcc").glob("*.ptx")):
        write(source, f"nvcc-{source.name}")
    for source in sorted((folder / NEWEST).glob("*.ptx")):
        write(source, f"{NEWEST}-{source.name}")
    for release, names in OLDER.items():
        for name in names:
            write(folder / f"triton-{release}" / f"{name}.ptx", f"triton-{release}-{name}.ptx")
    for part, largest in LARGEST.items():
        for source in sorted((folder / part).glob("*.ptx")):
            if source.stat().st_size < largest and "mma" in source.read_text():
                write(source, f"{RENAMED.get(part, part)}-{source.name}")
    for part, names in SOME.items():
        for name in names:
            write(folder / part / f"{name}.ptx", f"{part.replace('/', '-')}-{name}.ptx")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Which files of packages the corpus compiles for sm_100a."""

from __future__ import annotations

from pathlib import Path

TARGET, CAPABILITY = "sm_100a", 100
RELEASES = ("3.4.0", "3.9.0")  # of Triton; the newest compiles blackwell.py, too
# Examples of CUTLASS.
EXAMPLES = (
    *(
        f"cute/tutorial/blackwell/{name}_sm100.cu"
        for name in ("01_mma", "02_mma_tma", "03_mma_tma_multicast", "04_mma_tma_2sm", "05_mma_tma_epi")
    ),
    "70_blackwell_gemm/70_blackwell_fp16_gemm.cu",
    "72_blackwell_narrow_precision_gemm/72b_blackwell_nvfp4_nvfp4_gemm.cu",
    "76_blackwell_conv/76_blackwell_conv_fprop.cu",
    "77_blackwell_fmha/77_blackwell_mla.cu",
    "78_blackwell_emulated_bf16x9_gemm/78_blackwell_emulated_bf16x9_gemm.cu",
    "81_blackwell_gemm_blockwise/81_blackwell_gemm_blockwise.cu",
    "83_blackwell_sparse_gemm/83_blackwell_sparse_gemm.cu",
    "84_blackwell_narrow_precision_sparse_gemm/84a_blackwell_nvfp4_bf16_sparse_gemm.cu",
    "86_blackwell_mixed_dtype_gemm/86_blackwell_mixed_dtype_gemm.cu",
)
_OTHER_CHIPS = ("sm_103", "sm103", "sm_120", "sm120", "binding")
_PER_FOLDER, _LINES = 2, 3000


def generated(csrc: Path) -> list[Path]:
    """FlashInfer's generated kernels that use tensor memory: the shortest ones of each folder."""
    folders: dict[Path, list[tuple[int, Path]]] = {}
    for path in csrc.rglob("*.cu"):
        text = path.read_text(errors="replace")
        if "tcgen05" in text and not any(word in str(path.relative_to(csrc)) for word in _OTHER_CHIPS):
            folders.setdefault(path.parent, []).append((text.count("\n"), path))
    shortest = [found for files in folders.values() for found in sorted(files)[:_PER_FOLDER]]
    return [path for lines, path in sorted(shortest) if lines <= _LINES]


def stem(path: Path, csrc: Path) -> str:
    """The name of one of those files' PTX; its folders are part of it, because many are named alike."""
    return "-".join(path.relative_to(csrc).with_suffix("").parts)[-90:]

"""Which files of packages the corpus compiles for sm_100a."""

from __future__ import annotations

from pathlib import Path

TARGET, CAPABILITY = "sm_100a", 100
RELEASES = ("3.4.0", "3.9.0")  # of Triton; the newest compiles blackwell.py, too
# Examples of CUTLASS; the last two take minutes each, as further ones would.
EXAMPLES = (
    *(
        f"cute/tutorial/blackwell/{name}_sm100.cu"
        for name in ("01_mma", "02_mma_tma", "03_mma_tma_multicast", "04_mma_tma_2sm", "05_mma_tma_epi")
    ),
    "70_blackwell_gemm/70_blackwell_fp16_gemm.cu",
    "83_blackwell_sparse_gemm/83_blackwell_sparse_gemm.cu",
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

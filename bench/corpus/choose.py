"""Copy a representative part of a compiled corpus to tests/kernels: python bench/corpus/choose.py FOLDER.

All of this project's CUDA kernels, all Triton kernels of the newest release, some of every older release,
and the smaller kernels of packages and of CUTLASS.
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
LARGEST = {"packages": 34_000, "cutlass": 245_000}


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
                write(source, f"{part}-{source.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

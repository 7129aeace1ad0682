"""Compile the corpus: python bench/corpus/build.py FOLDER [nvcc] [cutlass] [triton] [packages].

Packages come from PyPI into FOLDER/.packages and stay there. The PTX of each source goes to a folder of
its own: FOLDER/nvcc, FOLDER/cutlass, FOLDER/triton-RELEASE, FOLDER/packages. It needs nvcc 13.0, but no GPU.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
RELEASES = ("3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.0", "3.7.1", "3.8.0", "3.9.0")
COMPILE = ("nvcc", "-std=c++17", "-O3", "-DNDEBUG", "-arch=sm_90a", "-ptx")
CUTLASS = ("nvidia-cutlass==4.2.0.0", "nvidia-curand==10.4.5.25")
TRITON_PACKAGES = {
    "fla-core==0.6.0": "fla.ops",
    "sageattention==1.0.6": "sageattention",
    "conch-triton-kernels==1.3": "conch",
    "liger-kernel==0.8.5": "liger_kernel",
}
EXAMPLES = (
    "cute/tutorial/hopper/wgmma_sm90.cu",
    "cute/tutorial/hopper/wgmma_tma_sm90.cu",
    "13_two_tensor_op_fusion/fused_two_gemms_f16_sm80_rf.cu",
    "15_ampere_sparse_tensorop_gemm/ampere_sparse_tensorop_gemm.cu",
    "48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm.cu",
    "52_hopper_gather_scatter_fusion/52_hopper_gather_scatter_fusion.cu",
    "54_hopper_fp8_warp_specialized_gemm/54_hopper_fp8_warp_specialized_gemm.cu",
    "55_hopper_mixed_dtype_gemm/55_hopper_int4_fp8_gemm.cu",
    "57_hopper_grouped_gemm/57_hopper_grouped_gemm.cu",
    "61_hopper_gemm_with_topk_and_softmax/61_hopper_gemm_with_topk_and_softmax.cu",
    "62_hopper_sparse_gemm/62_hopper_sparse_gemm.cu",
    "63_hopper_gemm_with_weight_prefetch/63_hopper_gemm_with_weight_prefetch.cu",
    "67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling/"
    "67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling.cu",
)


def installed(folder: Path, *packages: str) -> Path:
    """A folder with some packages of PyPI, without what they depend on."""
    target = folder / ".packages" / "+".join(packages).replace("==", "-")
    if not target.exists():
        pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target))
        subprocess.run((*pip, *packages), check=True)
    return target


def nvcc(source: Path, to: Path, *options: str) -> None:
    """Compile one CUDA file."""
    to.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run((*COMPILE, *options, "-o", str(to), str(source)), capture_output=True, text=True)
    if done.returncode:
        print(f"{source.name}: {done.stderr.strip().splitlines()[-1][:200]}", flush=True)


def own(folder: Path) -> None:
    """The CUDA kernels of this directory."""
    for source in sorted((HERE / "cuda").glob("*.cu")):
        nvcc(source, folder / "nvcc" / f"{source.stem}.ptx")


def cutlass(folder: Path) -> None:
    """Examples of CUTLASS, with the headers of its package."""
    packages = installed(folder, *CUTLASS)
    source = packages / "cutlass_library" / "source"
    curand = next(packages.rglob("curand_kernel.h")).parent
    includes = (curand, source / "include", source / "tools/util/include", source / "examples/common")
    options = ["-w", "--expt-relaxed-constexpr", "-DCUTLASS_ARCH_MMA_SM90_SUPPORTED"]
    for name in EXAMPLES:
        path = source / "examples" / name
        nvcc(
            path,
            folder / "cutlass" / f"{path.stem}.ptx",
            *options,
            *(f"-I{i}" for i in (*includes, path.parent)),
        )


def python(paths: Sequence[Path], script: str, *words: str) -> None:
    """Run a script with some folders on its path; it prints what it cannot compile."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, paths)))
    subprocess.run((sys.executable, "-W", "ignore", str(HERE / "triton" / script), *words), env=environment)


def triton(folder: Path) -> None:
    """The Triton kernels of this directory under every release, and the Gluon ones under the newest."""
    for release in RELEASES:
        paths = [installed(folder, f"triton=={release}", "filelock", "setuptools")]
        for script in ("matmul.py", "attention.py", *(("gluon.py",) if release == RELEASES[-1] else ())):
            python(paths, script, str(folder / f"triton-{release}"))


def packages(folder: Path) -> None:
    """The Triton kernels of packages that have some."""
    paths = [
        installed(folder, "triton==3.7.0", "filelock", "setuptools"),
        *(installed(folder, p) for p in TRITON_PACKAGES),
    ]
    for name in TRITON_PACKAGES.values():
        python(paths, "packages.py", str(folder / "packages"), name)


PARTS = {"nvcc": own, "cutlass": cutlass, "triton": triton, "packages": packages}


def main() -> None:
    """Compile the parts that are asked for, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        PARTS[part](arguments.folder.absolute())


if __name__ == "__main__":
    main()

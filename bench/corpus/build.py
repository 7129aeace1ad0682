"""Compile the corpus, check it, and print what was found: python bench/corpus/build.py FOLDER [PART…].

Packages come from PyPI into FOLDER/.packages and stay there. The PTX of each source goes to a folder of its
own (FOLDER/nvcc, FOLDER/triton-3.9.0-sm80, …); what is there already is not compiled again. FOLDER/TABLE.md
has the kernels, their sources and their verdicts. It needs nvcc 13.0, but no GPU.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory

import blackwell
import clones
import verdicts

HERE = Path(__file__).parent
RELEASES = ("3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.0", "3.7.1", "3.8.0", "3.9.0")
COMPILE = ("nvcc", "-O3", "-DNDEBUG", "-ptx", "-lineinfo", "-w")
CUTLASS = ("nvidia-cutlass==4.2.0.0", "nvidia-curand==10.4.5.25")
TRITON_PACKAGES = {
    "fla-core==0.6.0": "fla.ops",
    "sageattention==1.0.6": "sageattention",
    "liger-kernel==0.8.5": "liger_kernel",
    "stanford-stk==0.7.1": "stk",
}
TRITON_SOURCES = {"mamba-ssm==2.3.2.post1": "mamba_ssm"}  # packages without a wheel
PACKAGE_RELEASES = (
    "3.7.0",
    "3.9.0",
)  # releases of Triton that compile the packages; the newest for sm_80, too
FLASHINFER = "flashinfer-python==0.7.2.post1"
FLASH_ATTENTION = "flash-attn==2.8.3.post2"
TILELANG = (
    *("tilelang==0.1.15", "apache-tvm-ffi==0.1.12", "cloudpickle", "psutil", "tqdm", "z3-solver==4.15.4.0"),
    *("ml-dtypes", "typing-extensions"),
)
CUTE_DSL = (
    *(f"nvidia-cutlass-dsl{part}==4.8.1" for part in ("", "-libs-base", "-libs-core", "-libs-cu13")),
    *("typing-extensions", "cuda-bindings", "cuda-pathfinder"),
)
QUACK = "quack-kernels==0.6.5"
VLLM = "vllm==0.33.0"
LLAMA_CPP = "llama-cpp-python==0.3.36"
LLAMA_CPP_KERNELS = {
    "sm_80": (
        *("mmf-instance-ncols_16", "mmf-instance-ncols_8", "mmq-instance-q4_0", "mmq-instance-q8_0"),
        *("mmq-instance-q4_k", "mmq-instance-mxfp4", "fattn-mma-f16-instance-ncols1_8-ncols2_4"),
        "fattn-mma-f16-instance-ncols1_16-ncols2_1",
    ),
    "sm_120a": ("mmq-instance-nvfp4", "mmq-instance-mxfp4"),
}
BITSANDBYTES, CUOBJDUMP = "bitsandbytes==0.50.2", "nvidia-cuda-cuobjdump==13.5.37"
# Generated kernels of FlashInfer: folder, target, which of its files, and at most so many of them.
GENERATED = (
    ("flashinfer-sm90", "sm_90a", "cake_vsa_sm90/*_kernel.cu", 14),
    ("flashinfer-kda", "sm_90a", "kda/flashkda_decode*.cu", 20),
    ("flashinfer-kda", "sm_100a", "kda/cake_kda_packed_t1_cpasync*.cu", 8),
    ("flashinfer-kda", "sm_100a", "kda/cake_fused_kda_decode_*_kernel.cu", 16),
    ("flashinfer-sm120", "sm_120a", "cake_sage_block_sparse_attention/sm_120a/*_kernel.cu", 8),
    ("flashinfer-sm120", "sm_120a", "cake_bf16_bmm/*_kernel.cu", 8),
    ("flashinfer-sm120", "sm_120a", "blackwell_bf16_fp4/*_kernel.cu", 8),
    ("flashinfer-sm120", "sm_120a", "cake_dsv4/sm_120a/*.cu", 22),
)
# Templates of FlashInfer that files of cuda/flashinfer instantiate.
INSTANTIATED = {
    "sm_80": ("single_prefill", "paged_prefill", "mla"),
    "sm_90a": ("mla_hopper", "hopper_prefill", "hopper_prefill_paged", "hopper_prefill_fp8"),
}
XQA = (
    *("-DBEAM_WIDTH=1", "-DUSE_INPUT_KV=0", "-DUSE_CUSTOM_BARRIER=1", "-DINPUT_FP16=1", "-DDTYPE=__half"),
    *("-DTOKENS_PER_PAGE=16", "-DHEAD_ELEMS=128", "-DHEAD_GRP_SIZE=8", "-DSLIDING_WINDOW=0"),
    *("-DLOW_PREC_OUTPUT=0", "-DSPEC_DEC=0", "-DMLA_WRAPPER=0"),
)
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


def unpacked(folder: Path, package: str) -> Path:
    """A package's source; its setup need not run, so pip may stop behind unpacking it."""
    target = folder / ".packages" / package.replace("==", "-")
    if not target.exists():
        (folder / ".packages").mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder / ".packages") as made:
            words = (
                "download",
                "-q",
                "--no-clean",
                "--no-deps",
                "--no-binary",
                ":all:",
                "--no-build-isolation",
            )
            pip = (sys.executable, "-m", "pip", *words, "-d", made, package)
            subprocess.run(pip, capture_output=True, env=dict(os.environ, TMPDIR=made))
            (found,) = Path(made).glob(f"*/{package.split('==')[0]}_*/")
            found.rename(target)
    return target


def nvcc(source: Path, to: Path, arch: str, *options: str) -> None:
    """Compile one CUDA file, unless it was compiled."""
    if to.exists():
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    standard = () if any(word.startswith("-std=") for word in options) else ("-std=c++17",)
    words = (*COMPILE, *standard, f"-arch={arch}", *options, "-o", str(to), str(source))
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        print(f"{source.name}: {done.stderr.strip().splitlines()[-1][:200]}", flush=True)
        to.unlink(missing_ok=True)


def own(folder: Path) -> None:
    """The CUDA kernels of this directory."""
    for source in sorted((HERE / "cuda").glob("*.cu")):
        nvcc(source, folder / "nvcc" / f"{source.stem}.ptx", "sm_90a")


def cutlass(folder: Path) -> None:
    """Examples of CUTLASS, with the headers of its package."""
    examples(folder, "cutlass", "sm_90a", EXAMPLES)


def examples(folder: Path, to: str, arch: str, names: Sequence[str]) -> None:
    """Some examples of CUTLASS for one target."""
    packages = installed(folder, *CUTLASS)
    source = packages / "cutlass_library" / "source"
    curand = next(packages.rglob("curand_kernel.h")).parent
    includes = (curand, source / "include", source / "tools/util/include", source / "examples/common")
    options = [
        "--expt-relaxed-constexpr",
        f"-DCUTLASS_ARCH_MMA_{arch[:-1].upper().replace('_', '')}_SUPPORTED",
    ]
    for name in names:
        path = source / "examples" / name
        paths = (f"-I{include}" for include in (*includes, path.parent))
        nvcc(path, folder / to / f"{path.stem}.ptx", arch, *options, *paths)


def python(paths: Sequence[Path], script: str, *words: str, capability: int = 90) -> None:
    """Run a script with some folders and `absent` on its path; it prints what it cannot compile."""
    found = {
        "PYTHONPATH": os.pathsep.join(map(str, (*paths, HERE / "absent"))),
        "PTXMMA_CAPABILITY": str(capability),
    }
    subprocess.run((sys.executable, "-W", "ignore", str(HERE / script), *words), env={**os.environ, **found})


def triton_of(folder: Path, release: str) -> Path:
    """A release of Triton."""
    return installed(folder, f"triton=={release}", "filelock", "setuptools")


def triton(folder: Path) -> None:
    """The Triton kernels of this directory under every release; the Gluon ones under the newest."""
    for release in RELEASES:
        paths = [triton_of(folder, release)]
        for script in ("matmul.py", "attention.py", *(("gluon.py",) if release == RELEASES[-1] else ())):
            python(paths, f"triton/{script}", str(folder / f"triton-{release}"))
            if release in PACKAGE_RELEASES and script != "gluon.py":
                python(paths, f"triton/{script}", str(folder / f"triton-{release}-sm80"), capability=80)


def packages(folder: Path) -> None:
    """The Triton kernels of packages that have some."""
    known = {installed(folder, p): name for p, name in TRITON_PACKAGES.items()}
    known |= {unpacked(folder, p): name for p, name in TRITON_SOURCES.items()}
    for release in PACKAGE_RELEASES:
        for path, name in known.items():
            paths = [triton_of(folder, release), path]
            short = f"{name.split('.')[0]}-{release}"
            python(paths, "triton/packages.py", str(folder / short), name)
            if release == PACKAGE_RELEASES[-1]:
                python(paths, "triton/packages.py", str(folder / f"{short}-sm80"), name, capability=80)


def flashinfer_sources(folder: Path) -> tuple[Path, list[str]]:
    """FlashInfer's folder of CUDA, and nvcc's options for it."""
    data = installed(folder, FLASHINFER) / "flashinfer" / "data"
    curand = next(installed(folder, *CUTLASS).rglob("curand_kernel.h")).parent
    folders = ("cccl/libcudacxx/include", "cccl/cub", "cccl/thrust", "include", "csrc", "cutlass/include")
    includes = [*(data / name for name in (*folders, "cutlass/tools/util/include", "spdlog/include")), curand]
    return data, ["--expt-relaxed-constexpr", *(f"-I{include}" for include in includes)]


def flashinfer(folder: Path) -> None:
    """FlashInfer: kernels that it ships as PTX or as generated CUDA, and some of its templates."""
    data, options = flashinfer_sources(folder)
    for name, arch, pattern, most in GENERATED:
        files = sorted(path for path in (data / "csrc").glob(pattern) if "binding" not in path.name)
        for path in files[:most]:
            nvcc(path, folder / name / f"{path.stem[-60:]}.ptx", arch, *options)
    for arch, names in INSTANTIATED.items():
        for name in names:
            to = folder / f"flashinfer-templates-{arch}" / f"{name}.ptx"
            nvcc(HERE / "cuda" / "flashinfer" / f"{name}.cu", to, arch, *options)
    xqa = data / "csrc" / "xqa"
    nvcc(xqa / "mha.cu", folder / "xqa" / "mha.ptx", "sm_80", *options, *XQA, "-DCACHE_ELEM_ENUM=0")
    nvcc(
        xqa / "mha_sm90.cu", folder / "xqa" / "mha_sm90.ptx", "sm_90a", *options, *XQA, "-DCACHE_ELEM_ENUM=2"
    )
    shipped = folder / "flashinfer-ptx"
    shipped.mkdir(exist_ok=True)
    for path in (data / "csrc" / "kda" / "ptx").glob("*.ptx"):
        copy(path, shipped)


def flash_attention(folder: Path) -> None:
    """Kernels of FlashAttention-2."""
    source = unpacked(folder, FLASH_ATTENTION) / "csrc"
    here = HERE / "cuda" / "flash_attn"
    includes = (here / "stubs", source / "flash_attn" / "src", source / "cutlass" / "include")
    options = ["--expt-relaxed-constexpr", "--expt-extended-lambda", "--use_fast_math"]
    for path in sorted(here.glob("*.cu")):
        to = folder / "flash-attn" / f"{path.stem}.ptx"
        nvcc(path, to, "sm_80", *options, *(f"-I{include}" for include in includes))


def tilelang(folder: Path) -> None:
    """The TileLang kernels of this directory."""
    python([installed(folder, *TILELANG)], "tilelang/kernels.py", str(folder / "tilelang"))


def bitsandbytes(folder: Path) -> None:
    """The PTX inside the libraries of bitsandbytes."""
    tool = next(installed(folder, CUOBJDUMP).rglob("cuobjdump"))
    tool.chmod(0o755)
    to = folder / "bitsandbytes"
    to.mkdir(exist_ok=True)
    for library in installed(folder, BITSANDBYTES).rglob("libbitsandbytes_cuda1[23][60].so"):
        subprocess.run((tool, "-all", "-xptx", "all", str(library)), cwd=to, capture_output=True)


def quack(folder: Path, to: str = "quack", capability: int = 90) -> None:
    """Kernels of QuACK, by CuTe DSL."""
    dsl = installed(folder, *CUTE_DSL)
    compiler = (dsl, dsl / "nvidia_cutlass_dsl" / "dsl_packages", dsl / "nvidia_cutlass_dsl")
    paths = (*compiler, installed(folder, QUACK), installed(folder, *TILELANG))  # the last for its tvm_ffi
    python(paths, "quack/kernels.py", str(folder / to), capability=capability)


def vllm(folder: Path) -> None:
    """Kernels of vLLM's Marlin."""
    source, here = unpacked(folder, VLLM) / "csrc", HERE / "cuda" / "vllm"
    includes = (here / "stubs", source, source / "quantization" / "marlin")
    options = (
        "--expt-relaxed-constexpr",
        "-static-global-template-stub=false",
        *(f"-I{i}" for i in includes),
    )
    nvcc(here / "marlin.cu", folder / "vllm" / "marlin.ptx", "sm_80", *options)


def llama_cpp(folder: Path) -> None:
    """Products and attention of llama.cpp, which its Python package brings."""
    source = unpacked(folder, LLAMA_CPP) / "vendor" / "llama.cpp" / "ggml"
    kernels = source / "src" / "ggml-cuda"
    includes = (HERE / "cuda" / "llama_cpp" / "stubs", source / "src", source / "include", kernels)
    options = ("-use_fast_math", "-extended-lambda", *(f"-I{include}" for include in includes))
    for arch, names in LLAMA_CPP_KERNELS.items():
        for name in names:
            to = folder / f"llama.cpp-{arch}" / f"{name}.ptx"
            nvcc(kernels / "template-instances" / f"{name}.cu", to, arch, *options)


def of_clones(folder: Path) -> None:
    """Kernels of repositories that no package brings."""
    cutlass_headers = installed(folder, FLASHINFER) / "flashinfer" / "data" / "cutlass"
    shared = ("--expt-relaxed-constexpr", "--expt-extended-lambda", "-std=c++20")
    for name, clone in clones.CLONES.items():
        root = clones.cloned(folder, name)
        if root is None:
            continue
        includes = (*(root / include for include in clone.includes), cutlass_headers / "include")
        options = (*shared, *clone.options, *(f"-I{include}" for include in includes))
        for source in clones.sources(folder, name):
            nvcc(source, folder / name / f"{source.stem}.ptx", clone.arch, *options)


def of_blackwell(folder: Path) -> None:
    """Kernels for sm_100a; TileLang's and DeepGEMM's are compiled by the parts tilelang and clones."""
    for release in blackwell.RELEASES:
        newest = ("blackwell.py",) if release == RELEASES[-1] else ()
        for script in ("matmul.py", "attention.py", *newest):
            to = str(folder / f"triton-{release}-sm100")
            python([triton_of(folder, release)], f"triton/{script}", to, capability=blackwell.CAPABILITY)
    quack(folder, "quack-sm100", blackwell.CAPABILITY)
    examples(folder, "cutlass-sm100", blackwell.TARGET, blackwell.EXAMPLES)
    cute = installed(folder, *CUTLASS) / "cutlass_library" / "source" / "include"
    atoms = HERE / "cuda" / "cutlass" / "atoms.cu"
    words = ("-std=c++20", "--expt-relaxed-constexpr", f"-I{cute}")
    nvcc(atoms, folder / "cutlass-sm100" / "atoms.ptx", blackwell.TARGET, *words)
    data, options = flashinfer_sources(folder)
    csrc = (data / "csrc").resolve()
    for path in blackwell.generated(csrc):
        to_file = folder / "flashinfer-sm100" / f"{blackwell.stem(path, csrc)}.ptx"
        nvcc(path, to_file, blackwell.TARGET, *options)


PARTS = {
    "nvcc": own,
    "cutlass": cutlass,
    "triton": triton,
    "packages": packages,
    "flashinfer": flashinfer,
    "flash-attn": flash_attention,
    "tilelang": tilelang,
    "bitsandbytes": bitsandbytes,
    "quack": quack,
    "vllm": vllm,
    "llama.cpp": llama_cpp,
    "clones": of_clones,
    "blackwell": of_blackwell,
}


def main() -> None:
    """Compile the parts that are asked for, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        PARTS[part](arguments.folder.absolute())
    verdicts.write(arguments.folder)


if __name__ == "__main__":
    main()

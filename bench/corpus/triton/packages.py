"""Compile the Triton kernels of packages: python packages.py FOLDER PACKAGE….

Triton, the packages and the folder of stand_in.py are on PYTHONPATH.

Nothing is run, so torch stands in as a module whose every name exists. Types and constants go by the
names of a kernel's parameters; a kernel that they do not fit is reported and left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import stand_in

stand_in.install(
    *("torch", "einops", "transformers", "numpy", "packaging", "tvm_ffi", "envs", "hqq", "unsloth_zoo"),
    *("accelerate", "peft", "trl", "vllm", "tqdm", "huggingface_hub", "datasets", "bitsandbytes"),
    "causal_conv1d",
)

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from source import Kernel, write  # noqa: E402
from triton.runtime.jit import JITFunction  # noqa: E402

# Values of constexpr parameters by name; the rest are False where a flag is meant, and 64 otherwise.
CONSTANTS: dict[str, Any] = {
    "H": 8,
    "HV": 8,
    "HQ": 8,
    "G": 1,
    "K": 128,
    "V": 128,
    "D": 128,
    "BT": 64,
    "BC": 16,
    "BK": 64,
    "BV": 64,
    "BS": 64,
    "NC": 4,
    "STATE_V_FIRST": False,
    "HEAD_DIM": 128,
    "head_dim": 128,
    "num_kv_groups": 1,
    "STAGE": 3,
    "BLOCK_M": 128,
    "BLOCK_N": 64,
    "num_heads": 8,
    "DOT_PRECISION": "tf32",
    "SOLVE_TRIL_DOT_PRECISION": "tf32",
    "ACTIVATION": "silu",
    "B": 1,
    "NT": 8,
    "S": 16,
    "NV": 2,
    "NK": 2,
    "RCP_LN2": 1.4426950408889634,
    "BD": 64,
    "BTL": 64,
    "BTS": 32,
    "NS": 4,
    "NG": 1,
    "ACC_TYPE": tl.float32,
    "GROUP_M": 8,
}
FLAGS = re.compile(
    r"^(USE|IS|HAS|STORE|SAVE|WITH|REVERSE|OUTPUT|STATIC|TRANS|LOAD|MULTI|CAUSAL|HEAD_FIRST|ALLOW|SPLIT)"
)
# What pointers point to, and what stands for a parameter that may be left out: nothing, or a pointer.
GUESSES: tuple[tuple[str, str, str | None], ...] = (
    ("bf16", "fp32", None),
    ("bf16", "bf16", None),
    ("fp32", "fp32", None),
    ("bf16", "fp32", "*i32"),
    ("bf16", "bf16", "*i32"),
    ("fp16", "fp32", None),
    ("fp16", "fp32", "*i32"),
)
INTEGER = re.compile(
    r"^(T|N|M|B|NT|H|seq.*|.*_len|len.*|n_.*|num_.*|stride.*|.*_stride|M_.*|.*size.*|layer.*|all)$"
)
FLOAT = re.compile(
    r"^(scale|.*_scale_?value|eps|sm_scale|softcap|beta_scale|lower_bound|qk_scale|logit_.*|norm.*eps)$"
)
FLOAT_POINTER = re.compile(
    r"^(g|gk|gv|gc|A.*|dA.*|.*_fp32|ds?g.*|dg.*|lse|L|M|delta|.*_scale|scale_.*|z|dz|beta|db.*|logsum.*|w_lse)$"
)


def constant(name: str) -> Any:
    """The value of one constexpr parameter."""
    if name in CONSTANTS:
        return CONSTANTS[name]
    return False if FLAGS.match(name) else 64


def guess(
    function: JITFunction[Any], half: str, single: str, optional: str | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Types and constants of a kernel's parameters, by their names; pointers are to `half` or `single`."""
    types: dict[str, str] = {}
    constants: dict[str, Any] = {}
    names = {parameter.name for parameter in function.params}
    named = any(parameter.name.endswith("_ptr") for parameter in function.params)
    for parameter in function.params:
        name = parameter.name
        if parameter.is_constexpr:
            constants[name] = constant(name)
        elif re.search(
            r"cu_?seqlens|indices|offsets|split|g_gamma|^h0$|^dh0$|^ht$|^dht$|initial|bias|gk$|gv$", name
        ):
            if optional is None:
                constants[name] = None
            else:
                types[name] = optional
        elif FLOAT.match(name):
            types[name] = "fp32"
        elif {"A", "B", "C"} <= names and name in "ABC":
            types[name] = f"*{half}"
        elif INTEGER.match(name) or (named and not name.endswith("ptr")):
            types[name] = "i32:16"
        elif FLOAT_POINTER.match(name):
            types[name] = f"*{single}"
        else:
            types[name] = f"*{half}"
    return types, constants


def modules(package: str) -> list[str]:
    """The names of a package's modules whose text has a product, also below folders without __init__.py."""
    root = importlib.util.find_spec(package)
    assert root is not None and root.submodule_search_locations is not None
    found = []
    for folder in map(Path, root.submodule_search_locations):
        for path in sorted(folder.rglob("*.py")):
            words = path.relative_to(folder).with_suffix("").parts
            if any(part in word for word in words for part in ("ascend", "amd", "test", "benchmark", "npu")):
                continue
            if "tl.dot(" in path.read_text(errors="replace"):
                found.append(".".join((package, *words)).removesuffix(".__init__"))
    return found


def functions(package: str) -> dict[str, JITFunction[Any]]:
    """Every jitted kernel with a product in it that a package's modules define, by name."""
    found: dict[str, JITFunction[Any]] = {}
    for name in modules(package):
        try:
            module = importlib.import_module(name)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:100]}", flush=True)
            continue
        inner = re.findall(
            r"^def (\w+)\((?:(?!^def )[\s\S])*?tl\.dot\(", inspect.getsource(module), re.MULTILINE
        )
        for value in list(vars(module).values()):
            while (
                not isinstance(value, JITFunction)
                and hasattr(value, "fn")
                and not isinstance(value, stand_in.Anything)
            ):
                value = value.fn
            if (
                isinstance(value, JITFunction)
                and value.fn.__module__ == name
                and ("tl.dot(" in value.src or any(f"{called}(" in value.src for called in inner))
            ):
                last = package.split(".")[0].replace("_kernel", "")
                kernel = value.fn.__name__.strip("_")
                taken = found.setdefault(f"{last}_{kernel}", value)
                if taken is not value:
                    found.setdefault(f"{last}_{name.split('.')[-1]}_{kernel}", value)
    return found


def main(folder: Path, packages: list[str]) -> None:
    """Write what compiles of each package, with the first guess of its types that fits."""
    print(f"Triton {triton.__version__}")
    for package in packages:
        known = functions(package)
        print(f"{package}: {len(known)} kernels", flush=True)
        for name, function in sorted(known.items()):
            if (folder / f"{name}.ptx").exists():
                continue
            for half, single, optional in GUESSES:
                types, constants = guess(function, half, single, optional)
                options = {"num_warps": 4, "num_stages": 2}
                if not write((Kernel(name, function, types, constants, options),), folder):
                    break


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

"""Compile Triton kernels to PTX for sm_90a without a GPU, under any release from 3.0 on.

PTXMMA_CAPABILITY=80 in the environment compiles for sm_80 instead.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

RELEASE = tuple(int(part) for part in triton.__version__.split("+")[0].split(".")[:2])
TARGET = GPUTarget("cuda", int(os.environ.get("PTXMMA_CAPABILITY", "90")), 32)  # 80: sm_80


@dataclass(frozen=True)
class Kernel:
    """One kernel with its arguments.

    Types go by name ("*fp16", "i32"; "i32:16" is divisible by 16).
    """

    name: str
    function: Any
    types: Mapping[str, str]
    constants: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    since: tuple[int, int] = (3, 0)


def specialised(kernel: Kernel) -> ASTSource:
    """The kernel as this release's source: pointers are divisible by 16, and so are types that say so."""
    names = list(kernel.function.arg_names)
    types = {name: kernel.types[name].split(":")[0] for name in names if name in kernel.types}
    aligned = [
        index
        for index, name in enumerate(names)
        if name in types and (types[name].startswith("*") or kernel.types[name].endswith(":16"))
    ]
    if missing := set(names) - set(types) - set(kernel.constants):
        raise ValueError(f"{kernel.name} has neither a type nor a value for {', '.join(sorted(missing))}.")
    constants = {name: value for name, value in kernel.constants.items() if name in names}
    if RELEASE < (3, 2):
        from triton.compiler.compiler import AttrsDescriptor

        return ASTSource(
            kernel.function,
            {names.index(name): text for name, text in types.items()},
            {names.index(name): value for name, value in constants.items()},
            AttrsDescriptor(divisible_by_16=set(aligned), equal_to_1=set()),
        )
    if RELEASE < (3, 3):
        from triton.backends.compiler import AttrsDescriptor

        attributes = AttrsDescriptor.from_dict(
            {"arg_properties": {"tt.divisibility": aligned, "tt.equal_to": []}, "cls": "AttrsDescriptor"}
        )
        return ASTSource(kernel.function, types, constants, attributes)
    signature = {name: types.get(name, "constexpr") for name in names}
    attributes = {(index,): [["tt.divisibility", 16]] for index in aligned}
    kind = ASTSource
    if "gluon" in type(kernel.function).__module__ or "Gluon" in type(kernel.function).__name__:
        from triton.experimental.gluon._runtime import GluonASTSource

        kind = GluonASTSource
    if len(inspect.signature(kind).parameters) < 4:
        raise ValueError("This release's Gluon takes no attributes.")
    return kind(kernel.function, signature, constants, attributes)


def write(kernels: tuple[Kernel, ...], folder: Path) -> list[str]:
    """Write each kernel's PTX to `FOLDER/NAME.ptx`; return, and say, what this release cannot compile."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for kernel in kernels:
        if kernel.since > RELEASE:
            continue
        try:
            options = dict(kernel.options)
            compiled = triton.compile(specialised(kernel), target=TARGET, options=options)
        except Exception as error:  # a release may raise anything for a kernel that it does not support
            lines = str(error).strip().splitlines() or [""]
            print(f"{kernel.name}: {type(error).__name__}: {lines[-1][:150]}", flush=True)
            failed.append(kernel.name)
            continue
        (folder / f"{kernel.name}.ptx").write_text(compiled.asm["ptx"])
    return failed

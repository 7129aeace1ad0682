"""Write cuda/wgmma.cuh: one C++ function an instruction variant that the kernels use.

python bench/corpus/wrappers.py > bench/corpus/cuda/wgmma.cuh
"""

from __future__ import annotations

# name, D type, A and B type, N, K, A in registers, scale-d a register, sparse
VARIANTS = (
    ("f16", "f32", "f16", 64, 16, False, True, False),
    ("f16", "f32", "f16", 128, 16, False, True, False),
    ("f16", "f32", "f16", 256, 16, False, True, False),
    ("f16_one", "f32", "f16", 64, 16, False, False, False),
    ("f16_a", "f32", "f16", 64, 16, True, True, False),
    ("f16_a", "f32", "f16", 128, 16, True, True, False),
    ("f16_acc16", "f16", "f16", 128, 16, False, True, False),
    ("bf16", "f32", "bf16", 128, 16, False, True, False),
    ("bf16_a", "f32", "bf16", 128, 16, True, True, False),
    ("tf32", "f32", "tf32", 64, 8, False, True, False),
    ("e4m3", "f32", "e4m3", 128, 32, False, True, False),
    ("s8", "s32", "s8", 64, 32, False, True, False),
    ("sp_f16", "f32", "f16", 64, 32, False, True, True),
    ("sp_s8", "s32", "s8", 64, 64, False, True, True),
)


def function(
    name: str, d: str, ab: str, n: int, k: int, registers: bool, predicate: bool, sparse: bool
) -> str:
    """The wrapper of one variant: `wgmma_NAME_nN(d, a, b, …)`."""
    count = n // 4 if d == "f16" else n // 2
    kind, letter = {"f32": ("float", "f"), "f16": ("uint32_t", "r"), "s32": ("int32_t", "r")}[d]
    next_ = count
    if registers:
        a_text = "{" + ", ".join(f"%{next_ + i}" for i in range(4)) + "}"
        next_ += 4
    else:
        a_text = f"%{next_}"
        next_ += 1
    b_text = f"%{next_}"
    next_ += 1
    extra = ""
    if sparse:
        extra = f", %{next_}, 0"
        next_ += 1
    transposes = "" if ab not in ("f16", "bf16") else ", 0" if registers else ", 0, 0"
    scales = "" if d == "s32" else ", 1, 1"
    shape = f"wgmma.mma_async{'.sp' if sparse else ''}.sync.aligned.m64n{n}k{k}.{d}.{ab}.{ab}"
    scale_d = "p" if predicate else "1"
    statement = (
        f"{shape} {{{', '.join(f'%{i}' for i in range(count))}}}, "
        f"{a_text}, {b_text}{extra}, {scale_d}{scales}{transposes};"
    )
    lines = [statement]
    if predicate:
        lines = ["{", ".reg .pred p;", f"setp.ne.b32 p, %{next_}, 0;", statement, "}"]
    body = "\n".join(f'        "{line}\\n"' for line in lines)
    outputs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(count))
    inputs = ", ".join(f'"r"(a[{i}])' for i in range(4)) if registers else '"l"(a)'
    inputs += ', "l"(b)' + (', "r"(e)' if sparse else "") + (', "r"(scale_d)' if predicate else "")
    arguments = f"{kind} (&d)[{count}], " + ("const uint32_t (&a)[4]" if registers else "uint64_t a")
    arguments += ", uint64_t b" + (", uint32_t e" if sparse else "") + (", int scale_d" if predicate else "")
    return (
        f"__device__ inline void wgmma_{name}_n{n}({arguments}) {{\n    asm volatile(\n{body}\n"
        f"        : {outputs}\n        : {inputs});\n}}\n"
    )


if __name__ == "__main__":
    print("// Written by bench/corpus/wrappers.py.\n#pragma once\n#include <stdint.h>\n")
    print("\n".join(function(*variant) for variant in VARIANTS), end="")

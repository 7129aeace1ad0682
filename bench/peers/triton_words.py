"""The words of descriptors that Triton writes into the PTX of products: triton_layouts.py calls this.

Kernels of one product are compiled for sm_100a; which shape, types and majorness each word stands for is
known, since the kernel asks for them.
"""

from __future__ import annotations

import re
from typing import Any

import triton
import triton.language as tl
from peer_file import Observations
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

__all__ = ["record_words"]

PRODUCT = re.compile(r"tcgen05\.mma\.cta_group::1\.kind::(\w+)[\w:.]* \[[^]]*\], (%rd\d+), %rd\d+, (%r\d+)")
CONSTANT = re.compile(r"mov\.b32\s+(%r\d+), (-?\d+);")
PAIR = re.compile(r"mov\.b64\s+(%rd\d+), \{(%r\d+), (%r\d+)\};")
FIELD = re.compile(r"bfe\.u32\s+(%r\d+), %r\d+, (\d+), (\d+);")
TYPES = {"fp16": "f16", "bf16": "bf16", "fp32": "tf32", "fp8e4nv": "e4m3", "fp8e5": "e5m2", "i8": "s8"}
DTYPES: dict[Any, str] = {tl.float32: "f32", tl.float16: "f16", tl.int32: "s32"}
SIZES = {"fp16": 2, "bf16": 2, "fp32": 4, "fp8e4nv": 1, "fp8e5": 1, "i8": 1}
# The type of A and B, M, N, K of a tile, whether A and B are M-major and N-major, and the type of D.
PLAIN: tuple[tuple[str, int, int, int, int, int, Any], ...] = (
    ("fp16", 128, 64, 64, 0, 0, tl.float32),
    ("fp16", 128, 64, 64, 1, 0, tl.float32),
    ("fp16", 128, 64, 64, 0, 1, tl.float32),
    ("fp16", 64, 256, 32, 0, 0, tl.float32),
    ("fp16", 128, 128, 16, 0, 0, tl.float16),
    ("bf16", 128, 32, 64, 0, 0, tl.float32),
    ("fp32", 128, 64, 32, 0, 0, tl.float32),
    ("fp32", 64, 128, 32, 0, 0, tl.float32),
    ("fp8e4nv", 128, 64, 64, 0, 0, tl.float32),
    ("fp8e5", 128, 128, 64, 1, 1, tl.float32),
    ("i8", 128, 64, 64, 0, 0, tl.int32),
)
# The formats of A and B, how many elements a byte of each has, the elements of a block, the type of a scale.
SCALED = (
    ("mxf8f6f4", "e4m3", "e5m2", 1, 1, 32, "u8", "ue8m0"),
    ("mxf8f6f4", "e5m2", "e4m3", 1, 1, 32, "u8", "ue8m0"),
    ("mxf8f6f4", "e4m3", "e2m1", 1, 2, 32, "u8", "ue8m0"),
    ("mxf4", "e2m1", "e2m1", 2, 2, 32, "u8", "ue8m0"),
    ("mxf4nvf4", "e2m1", "e2m1", 2, 2, 16, "fp8e4nv", "ue4m3"),
)
STORED = {"e4m3": "fp8e4nv", "e5m2": "fp8e5", "e2m1": "u8"}


@triton.jit
def plain(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr, D: tl.constexpr):  # type: ignore[no-untyped-def] # fmt: skip # noqa: E501
    """A tile of a product."""
    if TA:
        left = tl.make_tensor_descriptor(a, [K, M], [M, 1], [BK, BM])
    else:
        left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    if TB:
        right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    else:
        right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    result = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    total = tl.zeros((BM, BN), dtype=D)
    for k in range(0, K, BK):
        x = left.load([k, 0]).T if TA else left.load([0, k])
        y = right.load([k, 0]) if TB else right.load([0, k]).T
        total = tl.dot(x, y, total, out_dtype=D)
    result.store([0, 0], total.to(tl.float16))


@triton.jit
def scaled(a, b, p, q, c, M, N, K, V: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr):  # type: ignore[no-untyped-def] # fmt: skip # noqa: E501
    """A tile of a block-scaled product, with M = N = K = 128."""
    left = tl.make_tensor_descriptor(a, [M, K // PA], [K // PA, 1], [128, 128 // PA])
    right = tl.make_tensor_descriptor(b, [N, K // PB], [K // PB, 1], [128, 128 // PB])
    result = tl.make_tensor_descriptor(c, [M, N], [N, 1], [128, 128])
    rows, along = tl.arange(0, 128), tl.arange(0, 128 // V)
    total = tl.zeros((128, 128), dtype=tl.float32)
    for k in range(0, K, 128):
        x, y = left.load([0, k // PA]), right.load([0, k // PB])
        s = tl.load(p + rows[:, None] * (K // V) + (k // V + along)[None, :])
        t = tl.load(q + rows[:, None] * (K // V) + (k // V + along)[None, :])
        total = tl.dot_scaled(x, s, FA, y.T, t, FB, total)
    result.store([0, 0], total.to(tl.float16))


def compiled(function: Any, types: dict[str, str], constants: dict[str, Any]) -> str:
    """The PTX of a kernel for sm_100a."""
    signature = {**types, **dict.fromkeys(("M", "N", "K"), "i32"), **dict.fromkeys(constants, "constexpr")}
    source = ASTSource(function, signature, constants)
    return str(
        triton.compile(source, target=GPUTarget("cuda", 100, 32), options={"num_stages": 2}).asm["ptx"]
    )


def words_of(ptx: str) -> tuple[set[str], list[int], list[tuple[int, int, int]]]:
    """The kinds of a kernel's products, and their instruction descriptors in order; of A's descriptors the
    first bit and the width of the address, and the upper half.
    """
    constants = {name: int(value) & 0xFFFFFFFF for name, value in CONSTANT.findall(ptx)}
    pairs = {name: (low, high) for name, low, high in PAIR.findall(ptx)}
    parts = {name: (int(first), int(width)) for name, first, width in FIELD.findall(ptx)}
    products = PRODUCT.findall(ptx)
    instructions = list(dict.fromkeys(constants[word] for _, _, word in products))
    halves = [
        (*parts[pairs[a][0]], constants[pairs[a][1]])
        for _, a, _ in products
        if a in pairs and pairs[a][0] in parts and pairs[a][1] in constants
    ]
    return {kind for kind, _, _ in products}, instructions, halves


def record_plain(seen: Observations) -> None:
    """Words of products without scale factors; a K-major A is swizzled by the length of its rows."""
    lengths: set[int] = set()
    for name, m, n, k, a, b, dtype in PLAIN:
        constants = {"BM": m, "BN": n, "BK": k, "TA": a, "TB": b, "D": dtype}
        ptx = compiled(plain, {"a": f"*{name}", "b": f"*{name}", "c": "*fp16"}, constants)
        (kind,), (word,), halves = words_of(ptx)
        types = {"dtype": DTYPES[dtype], "atype": TYPES[name], "btype": TYPES[name]}
        fields = {**types, "M": m, "N": n, "transpose-A": a, "transpose-B": b}
        function = f"tl.dot of {name}, ({m}, {n})"
        seen.add_word(f"tcgen05.{kind}", function, fields, word)
        row = k * SIZES[name]
        if not a and halves and row not in lengths:
            lengths.add(row)
            first, width, upper = halves[0]
            shared = {"fixed": 1, "swizzle-mode": f"{row}B", "stride-dimension-byte-offset": 8 * row}
            seen.add_word("tcgen05.shared", f"{function}, rows of {row} bytes", shared, upper << 32)
            for address, field in ((0x3FFF0, "start-address"), (0x40000, "start-address-top")):
                low = (address >> first) & (1 << width) - 1
                placed = {**shared, field: address}
                seen.add_word(
                    "tcgen05.shared", f"{function}, address {address:#x}", placed, upper << 32 | low
                )


def record_scaled(seen: Observations) -> None:
    """Words of block-scaled products: a word of tensor memory has the factors of one or more of them."""
    for kind, a, b, in_a, in_b, block, stored, scale in SCALED:
        constants = {"V": block, "FA": a, "FB": b, "PA": in_a, "PB": in_b}
        types = {
            "a": f"*{STORED[a]}",
            "b": f"*{STORED[b]}",
            "p": f"*{stored}",
            "q": f"*{stored}",
            "c": "*fp16",
        }
        kinds, words, _ = words_of(compiled(scaled, types, constants))
        if kinds != {kind}:
            raise ValueError(f"{kinds} is not {kind}")
        step = 4 // len(words)
        for place, word in enumerate(words):
            ids = {"scale-id-A": place * step, "scale-id-B": place * step}
            fields = {"atype": a, "btype": b, "scale-type": scale, "M": 128, "N": 128, **ids}
            seen.add_word(f"tcgen05.{kind}", f"tl.dot_scaled of {a} and {b}, product {place}", fields, word)


def record_words(seen: Observations) -> None:
    """Record every word."""
    record_plain(seen)
    record_scaled(seen)

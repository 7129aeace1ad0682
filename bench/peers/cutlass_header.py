"""Compile the bit fields of CUTLASS's mma_sm100_desc.hpp, set each alone, and record the words; layouts too.

git clone CUTLASS; python bench/peers/cutlass_header.py CUTLASS VERSION CUDA/include

The unions and the codes of types are read from the header when it is asked; a C++ compiler on the host lays
the bits as nvcc does. cutlass_layouts.py records the layouts. All is in evidence/peers-cutlass.json.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cutlass_layouts import record_layouts
from peer_file import Observations

DESCRIPTORS = "include/cute/arch/mma_sm100_desc.hpp"
HEADER = Path(sys.argv[1], DESCRIPTORS).read_text(encoding="utf-8") if len(sys.argv) > 1 else ""
seen = Observations("CUTLASS", "NVIDIA/cutlass", "cutlass", version=sys.argv[2] if len(sys.argv) > 2 else "")

# By union: its descriptors, and by member what the specification calls it with the unit of a step.
PLAIN = {
    "sparse_id2_": ("sparsity-selector", 1),
    "sparse_flag_": ("sparse", 1),
    "saturate_": ("saturate", 1),
    "c_format_": ("dtype", 0),
    "a_format_": ("atype", 0),
    "b_format_": ("btype", 0),
    "a_negate_": ("negate-A", 1),
    "b_negate_": ("negate-B", 1),
    "a_major_": ("transpose-A", 1),
    "b_major_": ("transpose-B", 1),
    "n_dim_": ("N", 8),
    "m_dim_": ("M", 16),
    "max_shift_": ("max-shift", 1),
}
SCALED = {
    **{
        name: PLAIN[name]
        for name in PLAIN
        if name not in ("sparse_id2_", "saturate_", "c_format_", "max_shift_")
    },
    "b_sf_id_": ("scale-id-B", 1),
    "a_sf_id_": ("scale-id-A", 1),
    "scale_format_": ("scale-type", 1),
    "k_size_": ("K", 1),
}
SHARED = {
    "start_address_": ("start-address", 16),
    "leading_byte_offset_": ("leading-dimension-byte-offset", 16),
    "stride_byte_offset_": ("stride-dimension-byte-offset", 16),
    "base_offset_": ("base-offset", 1),
    "lbo_mode_": ("leading-mode", 1),
    "layout_type_": ("swizzle-mode", 0),
}
MASK = {
    **{f"start_count_[{i}]": (f"start-count-{i}", 1) for i in range(4)},
    "nzm_": ("non-zero-mask", 1),
    "skip_span_": ("skip-span", 1),
    "use_span_": ("use-span", 1),
    "shift_": ("column-shift", 1),
}
# By descriptor: the enumerations whose codes its types have.
TYPES = {
    "tcgen05.f16": ("F16F32Format", ("F16", "BF16"), ("F16", "F32")),
    "tcgen05.tf32": ("F16F32Format", ("TF32",), ("F32",)),
    "tcgen05.f8f6f4": ("MXF8F6F4Format", ("E4M3", "E5M2", "E2M3", "E3M2", "E2M1"), ("F16", "F32")),
    "tcgen05.i8": ("S8Format", ("UINT8", "INT8"), ("S32",)),
    "tcgen05.mxf8f6f4": ("MXF8F6F4Format", ("E4M3", "E5M2", "E2M3", "E3M2", "E2M1"), ()),
    "tcgen05.mxf4": ("MXF4Format", ("E2M1",), ()),
    "tcgen05.mxf4nvf4": ("MXF4Format", ("E2M1",), ()),
}
NAMES = {"UINT8": "u8", "INT8": "s8"}
SWIZZLES = {
    "SWIZZLE_NONE": "none",
    "SWIZZLE_128B_BASE32B": "128B-atom32",
    "SWIZZLE_128B": "128B",
    "SWIZZLE_64B": "64B",
    "SWIZZLE_32B": "32B",
}

Setting = tuple[str, str, dict[str, int | str], dict[str, int]]


def codes(name: str) -> dict[str, int]:
    """The codes of an enumeration of the header."""
    body = re.search(rf"enum class {name} : uint8_t \{{(.*?)\}};", HEADER, re.DOTALL)
    if body is None:
        raise ValueError(f"the header has no {name}")
    return {word: int(code) for word, code in re.findall(r"(\w+)\s*=\s*(\d+)", body[1])}


def union(name: str) -> str:
    """The text of a union of the header."""
    body = re.search(rf"^union {name}\n\{{.*?^\}};", HEADER, re.DOTALL | re.MULTILINE)
    if body is None:
        raise ValueError(f"the header has no {name}")
    return body[0]


def settings() -> list[Setting]:
    """Each union and descriptor with fields as the specification writes them, and the members to set."""
    found: list[Setting] = []
    for kind, (formats, types, accumulators) in TYPES.items():
        scaled = kind.startswith("tcgen05.mx")
        name = "InstrDescriptorBlockScaled" if scaled else "InstrDescriptor"
        for member, (field, unit) in (SCALED if scaled else PLAIN).items():
            if unit == 0:
                known = codes("CFormat" if field == "dtype" else formats)
                for word in accumulators if field == "dtype" else types:
                    value = NAMES.get(word, word.lower())
                    found.append((name, kind, {field: value}, {member: known[word]}))
                continue
            for code in {"M": (8, 16) if scaled else (4, 8, 16), "N": (1, 32)}.get(field, (1,)):
                found.append((name, kind, {field: code * unit}, {member: code}))
    fixed = {"fixed": 1}
    for member, (field, unit) in SHARED.items():
        if unit:
            code = 0x2345 & 0x3FFF if unit == 16 else 1
            found.append(
                (
                    "SmemDescriptor",
                    "tcgen05.shared",
                    {**fixed, field: code * unit},
                    {"version_": 1, member: code},
                )
            )
    for word, value in SWIZZLES.items():
        members = {"version_": 1, "layout_type_": codes("LayoutType")[word]}
        found.append(("SmemDescriptor", "tcgen05.shared", {**fixed, "swizzle-mode": value}, members))
    for member, (field, unit) in MASK.items():
        for code in (1,) if member == "nzm_" else (1, 33):
            found.append(("MaskAndShiftB", "tcgen05.zero-columns", {field: code * unit}, {member: code}))
    for span in range(4):
        fields: dict[str, int | str] = {f"first-span-{span}": "zeroed"}
        found.append(("MaskAndShiftB", "tcgen05.zero-columns", fields, {"first_span_": 1 << span}))
    return found


def main() -> None:
    """Compile a program that sets the members and prints the words, and run it."""
    listed = settings()
    lines = ["#include <cstdint>", "#include <cstdio>", "#include <cstring>", "#define CUTE_HOST_DEVICE"]
    lines += [union(name) for name in dict.fromkeys(one[0] for one in listed)]
    lines.append("int main() {")
    for name, _, _, members in listed:
        sets = " ".join(f"d.{member} = {code};" for member, code in members.items())
        lines.append(
            f"  {{ {name} d; std::memset(&d, 0, sizeof d); {sets} unsigned long long w = 0; "
            'std::memcpy(&w, &d, sizeof d); std::printf("%llu\\n", w); }'
        )
    lines.append("}")
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "words.cpp"), Path(folder, "words")
        source.write_text("\n".join(lines), encoding="utf-8")
        subprocess.run(["c++", "-std=c++17", "-w", "-o", program, source], check=True)
        said = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    for (name, kind, fields, members), word in zip(listed, said, strict=True):
        seen.add_word(kind, f"{name}: {', '.join(members)}", fields, int(word))
    record_layouts(seen, Path(sys.argv[1]), Path(sys.argv[3]))
    seen.write()


if __name__ == "__main__":
    main()

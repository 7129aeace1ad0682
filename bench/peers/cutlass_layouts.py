"""What CUTLASS's C++ layouts map: scale factors, metadata, copies into tensor memory, shared memory.

cutlass_layouts.cpp is compiled on the host against CUTLASS's headers and CUDA's. It prints what each layout
maps every coordinate to; here each number becomes a place in the words of the specification.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from peer_file import Observations, bases_of

__all__ = ["record_layouts"]

Numbers = Mapping[str, Sequence[int]]
Place = tuple[int, ...]
WORD = {"lane": 128, "column": 2, "bit": 32}  # of metadata: two columns


def printed(cutlass: Path, cuda: Path) -> Numbers:
    """What the program prints: the numbers of each layout by name."""
    source = Path(__file__).with_suffix(".cpp")
    places = (cutlass / "include", cuda, cuda / "cccl")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "layouts")
        words = ["c++", "-std=c++17", "-w", *(f"-I{place}" for place in places), "-o", program, source]
        subprocess.run(list(map(str, words)), check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    return {words[0]: tuple(map(int, words[1:])) for words in (line.split() for line in lines)}


def _byte(of: Sequence[int], swapped: bool, rows: int, scales: int, copy: int, row: int, col: int) -> Place:
    """The lane, column and byte of a scale factor."""
    index, factor = (col, row) if swapped else (row, col)
    number = of[(copy * rows + index) * scales + factor]
    return number >> 18, number >> 2 & 0xFFFF, number & 3


def scale_factors(seen: Observations, numbers: Numbers) -> None:
    """Rows of A and columns of B, in copies, to bytes of tensor memory; the byte ids are 0."""
    for kind, vector, scales in (("1X", 32, 1), ("2X", 32, 2), ("4X", 16, 4), ("4X.B", 16, 4)):
        for side, rows in (("a", 128), ("b", 128), ("b", 256)):
            name = f"scale-{side}.{kind}.{rows}"
            if name not in numbers:
                continue
            copies = 2 if kind == "4X.B" else 4
            mode = "ScaleFactorDuplicated2by2" if kind == "4X.B" else "ScaleFactorDuplicated4by1"

            place = partial(_byte, numbers[name], side == "b", rows, scales)
            shape = {"row": rows, "col": scales} if side == "a" else {"row": scales, "col": rows}
            inputs = {"copy": copies, **shape}
            columns = rows // 64 if kind == "4X.B" else rows // 32
            given = {"m" if side == "a" else "n": rows, **({"id": 0} if kind in ("1X", "2X") else {})}
            seen.add_map(
                f"tcgen05.scale-{side}.{kind}",
                f"UMMA::tmem_sf_frg<uint8_t, {vector}, …, {mode}>",
                inputs,
                {"lane": 128, "column": columns, "byte": 4},
                bases_of(inputs, place),
                **given,
            )


def in_words(number: int, bits: int) -> Place:
    """The lane, column and bit of an address in units of so many bits."""
    number *= bits
    return number >> 21, (number & 0x1FFFFF) >> 5, number & 31


def metadata(seen: Observations, numbers: Numbers) -> None:
    """Index bits of tensor memory: a chunk has 4, of four elements with 1 each, or of two with 2 each."""
    for kind, chunks, slots in (("16b", 8, 2), ("tf32", 8, 1), ("8b", 16, 2)):
        for rows in (128, 64, 32):
            name = f"metadata.{kind}" + ("" if rows == 128 else f".ws.{rows}")
            wide = 2 if slots == 1 else 1
            k = 4 * chunks // wide

            def place(
                row: int,
                chunk: int,
                slot: int,
                index_bit: int,
                copy: int = 0,
                of: Sequence[int] = numbers[name],
                each: tuple[int, int, int] = (rows, k, wide),
            ) -> Place:
                bit = 4 * chunk + 2 * slot + index_bit
                number = of[(copy * each[0] + row) * each[1] + bit // each[2]]
                lane, column, low = in_words(number, each[2])
                return lane, column, low + bit % each[2]

            inputs = {"row": rows, "chunk": chunks, "slot": slots, "index_bit": 4 // slots}
            copies = {} if rows == 128 else {"copy": 128 // rows}
            given = {**({} if rows == 128 else {"m": rows}), **({} if kind == "8b" else {"s": 0})}
            seen.add_map(
                f"tcgen05.metadata.{kind}{'' if rows == 128 else '.ws'}",
                f"UMMA::tmem_e_frg{'' if rows == 128 else '_ws'}",
                {**inputs, **copies},
                WORD,
                bases_of({**inputs, **copies}, place),
                **given,
            )


def copies_into_tensor_memory(seen: Observations, numbers: Numbers) -> None:
    """Where tcgen05.cp puts each byte of each row of the source."""
    for shape, rows, offsets, copies in (
        ("128x256b", 128, 32, 1),
        ("128x128b", 128, 16, 1),
        ("4x256b", 4, 32, 1),
        ("64x128b.02_13", 64, 16, 2),
        ("64x128b.01_23", 64, 16, 2),
        ("32x128b", 32, 16, 4),
    ):
        at: dict[Place, list[Place]] = {}
        step = 32 if shape == "4x256b" else 1  # its source is numbered by the rows that it refreshes
        tall = 128 if shape == "4x256b" else rows
        for to, source in zip(numbers[f"cp.{shape}"], numbers[f"cp.{shape}_from"], strict=True):
            lane, column, bit = in_words(to, 1)
            if shape == "64x128b.01_23":  # its source is numbered by halves of 32 rows
                half, rest = divmod(source, 32 * 128)
                row, along = rest % 32 + 32 * half, rest // 32
            else:
                row, along = source % tall // step, source // tall
            if bit % 8 == 0:
                at.setdefault((row, along // 8), []).append((lane, column, bit // 8))

        def place(row: int, offset: int, copy: int = 0, found: Mapping[Place, list[Place]] = at) -> Place:
            return found[row, offset][copy]

        inputs = {"row": rows, "offset": offsets, **({"copy": copies} if copies > 1 else {})}
        outputs = {"lane": 128, "column": offsets // 4, "byte": 4}
        function = "Copy_Traits<SM100_UTCCP_…_1cta>"
        seen.add_map(f"tcgen05.cp.{shape}", function, inputs, outputs, bases_of(inputs, place))


def _thread(of: Sequence[int], swapped: bool, k: int, vector: int, row: int, col: int) -> Place:
    """The first thread that holds a scale factor, and which of its factors that is."""
    index, factor = (col, row) if swapped else (row, col)
    wanted = index + (8 if swapped else 16) * factor * vector
    return next(t for t in range(32) if of[t * k + factor * vector] == wanted), factor


def fragments(seen: Observations, numbers: Numbers) -> None:
    """Metadata and scale factors in registers of wgmma, and of mma of sm_120."""
    for name, layout, function, threads, rows, chunks, slots in (
        ("wgmma.metadata.16b", "wgmma.sp.metadata.16b", "SM90::GMMA::ELayout_64x32", 128, 64, 8, 2),
        ("wgmma.metadata.tf32", "wgmma.sp.metadata.tf32", "SM90::GMMA::ELayout_64x16", 128, 64, 8, 1),
        ("wgmma.metadata.8b", "wgmma.sp.metadata.8b", "SM90::GMMA::ELayout_64x64", 128, 64, 16, 2),
        ("mma.metadata.narrow.all", "mma.sp.metadata.narrow.all", "SM120_SPARSE_16x8x64_TN", 32, 16, 16, 2),
    ):
        wide = 2 if slots == 1 else 1

        def cell(
            t: int,
            bit: int,
            of: Sequence[int] = numbers[name],
            each: tuple[int, int, int] = (rows, wide, slots),
        ) -> Place:
            tall, bits, parts = each
            number = of[t * (32 // bits) + bit // bits]
            along = number // tall * bits + bit % bits
            return number % tall, along // 4, along % 4 // 2 if parts == 2 else 0, along % (4 // parts)

        inputs = {"t": threads, "bit": 32}
        outputs = {"row": rows, "chunk": chunks, "slot": slots, "index_bit": 4 // slots}
        given = {} if chunks == 16 else {"s": 0}
        seen.add_map(layout, function, inputs, outputs, bases_of(inputs, cell), **given)
    for kind, k, vector in (("1X", 32, 32), ("2X", 64, 32), ("4X", 64, 16)):
        for side, rows in (("a", 16), ("b", 8)):
            of = numbers[f"mma.scale-{side}.{k}"]

            thread = partial(_thread, of, side == "b", k, vector)
            scales = k // vector
            inputs = {"row": rows, "col": scales} if side == "a" else {"row": scales, "col": rows}
            given = {"thread_id": 0, **({} if kind == "4X" else {"byte_id": 0})}
            function = f"MMA_Traits<SM120_16x8x{k}_TN_VS<…, {vector}>>::SF{side.upper()}Layout"
            outputs = {"t": 32, "i": 4}
            layout = f"mma.scale-{side}.{kind}"
            seen.add_map(layout, function, inputs, outputs, bases_of(inputs, thread), **given)


def shared_memory(seen: Observations, numbers: Numbers) -> None:
    """Which atom a byte of a matrix is in, and where in the atom; atoms are numbered along x first."""
    names = {
        "smem.mn.16": ("smem.tcgen05.mn-major.none", "UMMA::Layout_MN_INTER_Atom"),
        "smem.mn": ("smem.tcgen05.mn-major", "UMMA::Layout_MN_SW{0}_Atom"),
        "smem.atom32": ("smem.tcgen05.mn-major.atom32", "UMMA::Layout_MN_SW128_32B_Atom"),
        "smem.wgmma.mn.16": ("smem.mn-major.none", "GMMA::Layout_MN_INTER_Atom"),
        "smem.wgmma.mn": ("smem.mn-major", "GMMA::Layout_MN_SW{0}_Atom"),
        "smem.k": ("smem.k-major", "GMMA::Layout_K_SW{0}_Atom"),
    }
    for name, of in numbers.items():
        if not name.startswith("smem."):
            continue
        *_, width, size = (128, 4) if name == "smem.atom32" else map(int, name.split(".")[-2:])
        stem = name if name == "smem.atom32" else name.rsplit(".", 2)[0]
        layout, function = names.get(f"{stem}.{width}", names[stem])
        depth = len(of) // 256
        major_k = layout == "smem.k-major"
        atom = width * (4 if size == 4 else 8)
        blocks = 32 if major_k else 256 * size // width

        def at(
            x: int,
            k: int,
            byte: int,
            held: Sequence[int] = of,
            each: tuple[int, int, int, int] = (depth, size, atom, blocks),
        ) -> Place:
            deep, wide, whole, across = each
            number, offset = divmod(held[x * deep + k] * wide + byte, whole)
            return number % across, number // across, offset

        inputs = {"x": 256, "k": depth, "byte": size}
        columns = 256 * depth * size // (atom * blocks)
        outputs = {"block": blocks, "column": columns, "offset": atom}
        function = function.format({16: "INTER"}.get(width, width)).replace("SWINTER", "INTER")
        given = {"W": width, "bytes": size}
        seen.add_map(layout, f"{function}, tile_to_shape", inputs, outputs, bases_of(inputs, at), **given)


def record_layouts(seen: Observations, cutlass: Path, cuda: Path) -> None:
    """Record every layout that the program prints."""
    numbers = printed(cutlass, cuda)
    steps: tuple[Callable[[Observations, Numbers], None], ...] = (
        scale_factors,
        metadata,
        copies_into_tensor_memory,
        fragments,
        shared_memory,
    )
    for step in steps:
        step(seen, numbers)

"""The index arithmetic of emitted PTX, run on every thread by a tiny machine, against the layouts' points."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ptxmma.gen.kernels.kernel_list import Kernel, choices
from ptxmma.gen.kernels.modules import entry_text
from ptxmma.gen.kernels.operations import config_of, matrices, parameters_of
from ptxmma.gen.suite.cases import cases_of
from ptxmma.spec.addresses import DescribedMatrix
from ptxmma.spec.fragments import packing
from ptxmma.spec.sparse import metadata_words
from ptxmma.spec.specification import Specification

_MASK = {"b32": (1 << 32) - 1, "u32": (1 << 32) - 1, "b64": (1 << 64) - 1, "u64": (1 << 64) - 1}
_TWO: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "rem": lambda a, b: a % b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
}
SHARED = 1024


class Thread:
    """One thread of a kernel; `stops` are the mnemonics at which it waits for the others."""

    def __init__(self, text: str, number: int, parameters: dict[str, int], memory: dict[int, int]) -> None:
        self.lines = [
            line.strip() for line in text.split("\n") if line.strip() and not line.strip().startswith(".reg")
        ]
        self.number = number
        self.parameters = parameters
        self.memory = memory  # bytes
        self.registers: dict[str, int] = {}
        self.at = 0

    def value(self, word: str) -> int:
        if word.startswith("%tid"):
            return self.number
        if word.startswith("%ctaid"):
            return 0
        if word.startswith("%"):
            return self.registers[word]
        return SHARED if word == "shared_memory" else int(word)

    def run(self, stops: tuple[str, ...]) -> str | None:
        """Go on to the next statement that is one of `stops`; gives it, or None at the end."""
        while True:
            line = self.lines[self.at]
            self.at += 1
            if line.endswith(":"):
                continue
            guard = re.match(r"@(!?)(%p\d+) (.*)", line)
            if guard:
                if bool(self.registers[guard[2]]) == bool(guard[1]):
                    continue
                line = guard[3]
            if line.startswith("ret"):
                return None
            if line.startswith(stops):
                return line
            self.step(line.rstrip(";"))

    def step(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        words = [word.strip() for word in re.split(r",(?![^{]*\})", rest)]
        parts = name.split(".")
        if parts[0] == "bra":
            self.at = self.lines.index(f"{words[0]}:")
        elif parts[:2] == ["ld", "param"]:
            self.registers[words[0]] = self.parameters[words[1].strip("[]")]
        elif parts[0] == "ld":
            size = int(parts[-1][1:]) // 8
            first = self.place(words[1], parts[1])
            self.registers[words[0]] = sum(self.memory[first + i] << 8 * i for i in range(size))
        elif parts[0] == "st":
            value, first = self.value(words[1]), self.place(words[0], parts[1])
            for i in range(int(parts[-1][1:]) // 8):
                self.memory[first + i] = value >> 8 * i & 255
        elif parts[0] == "mad":
            a, b, c = map(self.value, words[1:])
            self.registers[words[0]] = a * b + c
        elif parts[0] == "setp":
            self.registers[words[0]] = int(_COMPARE[parts[1]](*map(self.value, words[1:])))
        elif parts[0] == "selp":
            a, b, p = map(self.value, words[1:])
            self.registers[words[0]] = a if p else b
        elif parts[0] == "bfi":
            a, b, low, width = map(self.value, words[1:])
            mask = (1 << width) - 1 << low
            self.registers[words[0]] = (b & ~mask) | (a << low & mask)
        elif parts[0] == "bfe":
            a, low, width = map(self.value, words[1:])
            self.registers[words[0]] = a >> low & (1 << width) - 1
        elif parts[0] in ("mov", "cvt", "cvta"):
            self.registers[words[0]] = self.value(words[1])
        elif parts[-1] == "pred" and parts[0] in ("and", "or"):
            self.registers[words[0]] = _TWO[parts[0]](*map(self.value, words[1:]))
        elif parts[0] in _TWO:
            self.registers[words[0]] = _TWO[parts[0]](*map(self.value, words[1:])) & _MASK[parts[-1]]
        else:
            raise AssertionError(f"the machine has no {line}")

    def place(self, word: str, space: str) -> int:
        base, _, offset = word.strip("[]").partition("+")
        return self.value(base) + int(offset or 0) + (1 << 40 if space == "shared" else 0)


def together(
    text: str, threads: int, parameters: dict[str, int], memory: dict[int, int], stop: str
) -> list[Any]:
    """Run a block of threads up to a statement, barrier by barrier; gives the threads and the statement."""
    all_threads = [Thread(text, number, parameters, memory) for number in range(threads)]
    while True:
        met = {thread.run((stop, "bar.sync", "fence", "wgmma.fence")) for thread in all_threads}
        assert len(met) == 1, met
        (statement,) = met
        if statement is None or statement.startswith(stop):
            return [all_threads, statement]


def kernel_of(specification: Specification, mnemonic: str, form: str | None = None, **fixed: int) -> Kernel:
    variant = specification.find(mnemonic)
    for name, values in choices(variant):
        if form in (None, name) and fixed.items() <= values.items():
            return Kernel("value", variant, name, values)
    raise AssertionError(mnemonic)


A, B, C, D, META, CONFIG = (n << 32 for n in range(1, 7))
PARAMETERS = {"a": A, "b": B, "c": C, "d": D, "meta": META, "config": CONFIG}


def words(memory: dict[int, int], first: int, values: Sequence[int], size: int = 4) -> None:
    for place, value in enumerate(values):
        for i in range(size):
            memory[first + size * place + i] = value >> 8 * i & 255


def registers(
    specification: Specification, kernel: Kernel, part: str, tile: Sequence[int]
) -> list[list[int]]:
    """What the registers of a fragment must be, from the layout's points alone."""
    layout = specification.layout_of(kernel.variant, part)
    parameters = parameters_of(kernel, specification, part)
    shape, packed = layout.shape(parameters), packing(kernel.variant, part)
    domain = layout.domain(parameters)
    found = [[0] * (domain["i"] * packed.width // packed.word) for _ in range(domain["t"])]
    for t, i, row, col, *product in layout.points(parameters):
        index = (product[0] if product else 0) * shape["row"] * shape["col"] + row * shape["col"] + col
        place, bit = packed.place(i)
        found[t][place] |= tile[index] << bit
    return found


REGISTERS = [
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {}),
    ("mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f16", {}),
    ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", {}),
    ("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", {}),
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", {}),
    *(("mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", {"f": f}) for f in range(4)),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", {"f": 1}),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.s32.u4.s4.s32", {}),
]


@pytest.mark.parametrize(("mnemonic", "fixed"), REGISTERS)
def test_ptx_fills_and_empties_the_registers_as_the_layouts_say(
    specification: Specification, mnemonic: str, fixed: dict[str, int]
) -> None:
    kernel = kernel_of(specification, mnemonic, None, **fixed)
    held = matrices(kernel, specification)
    numbers = random.Random(mnemonic)
    memory: dict[int, int] = {}
    tiles = {}
    for letter, first in zip("ABC", (A, B, C), strict=True):
        matrix = held[letter]
        tiles[letter] = [numbers.getrandbits(matrix.bits) for _ in range(matrix.count)]
        words(memory, first, tiles[letter], matrix.size)
    meta, garbage = [], []
    if "metadata" in held:
        meta = [numbers.getrandbits(4) for _ in range(held["metadata"].offsets["garbage"])]
        garbage = [numbers.getrandbits(32) for _ in range(32)]
        words(memory, META, [*meta, *garbage])
    words(memory, CONFIG, [1] * len(config_of(specification)))
    text = entry_text(kernel, specification).split("{", 1)[1].rsplit("}", 1)[0]
    threads, statement = together(text, 32, PARAMETERS, memory, "mma.")
    vectors = [re.findall(r"%\w+", part) for part in re.findall(r"\{([^}]*)\}", statement)]
    for letter, vector in zip("DABC", vectors, strict=False):
        if letter != "D":
            expected = registers(specification, kernel, letter, tiles[letter])
            assert [[t.registers[r] for r in vector] for t in threads] == expected, letter
    if meta:
        sparsity = specification.sparsity_of(kernel.variant)
        layout = specification.layout_of(kernel.variant, "metadata")
        parameters = parameters_of(kernel, specification, "metadata")
        chunks = layout.shape(parameters)["chunk"]
        codes = [meta[start : start + chunks] for start in range(0, len(meta), chunks)]
        taking = {t for t, *_ in layout.points(parameters)}
        right = metadata_words(sparsity, layout, parameters, codes)
        (register,) = re.findall(r"\}, (%r\d+), \d+;", statement)
        expected_words = [right[t] if t in taking else garbage[t] for t in range(32)]
        assert [t.registers[register] for t in threads] == expected_words
    matrix = held["D"]
    tile = [numbers.getrandbits(matrix.bits) for _ in range(matrix.count)]
    for thread, values in zip(threads, registers(specification, kernel, "D", tile), strict=True):
        thread.registers |= dict(zip(vectors[0], values, strict=True))
        assert thread.run(("none",)) is None
    size = matrix.size
    got = [sum(memory[D + size * n + i] << 8 * i for i in range(size)) for n in range(matrix.count)]
    assert got == tile
    assert max(place for place in memory if D <= place < META) < D + size * matrix.count


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize(
    ("mnemonic", "fixed"),
    [
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", {"imm-trans-a": 1, "imm-trans-b": 0}),
        ("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16", {"imm-trans-a": 0, "imm-trans-b": 1}),
        ("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc", {}),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32", {}),
    ],
)
def test_ptx_places_matrices_behind_descriptors_as_the_addresses_say(
    specification: Specification, mnemonic: str, fixed: dict[str, int], mode: str
) -> None:
    kernel = kernel_of(specification, mnemonic, None, **fixed)
    held = matrices(kernel, specification)
    found = cases_of(specification, [kernel.variant], [kernel.variant])
    case = next(
        case
        for other, cases in found.cases
        for case in cases
        if other.name == kernel.name and case.settings.get("swizzle-a") == mode == case.settings["swizzle-b"]
    )
    numbers = random.Random(mode)
    memory: dict[int, int] = {}
    for letter, first in zip("ABC", (A, B, C), strict=True):
        words(memory, first, [numbers.getrandbits(held[letter].bits) for _ in range(held[letter].count)])
    if "metadata" in held:
        words(memory, META, [0] * held["metadata"].count)
    words(memory, CONFIG, list(case.config.values()))
    text = entry_text(kernel, specification).split("{", 1)[1].rsplit("}", 1)[0]
    threads, statement = together(text, 128, PARAMETERS, memory, "wgmma.mma_async")
    descriptors = re.findall(r"(%d\d+)", statement)
    for letter, register in zip("AB", descriptors, strict=True):
        matrix, stem = held[letter], letter.lower()
        fields = {n: case.config[f"{stem}.{n}"] for n in specification.descriptors["wgmma"].fields}
        fields["start-address"] += SHARED
        word = sum(
            fields[name] // field.unit % (1 << field.high - field.low + 1) << field.low
            for name, field in specification.descriptors["wgmma"].fields.items()
        )
        assert {t.registers[register] for t in threads} == {word}
        rules = specification.addresses
        size, together_ = max(matrix.bits // 8, 1), max(8 // matrix.bits, 1)
        lies = DescribedMatrix.of(
            rules.addresses,
            specification.layouts,
            rules.swizzle,
            specification.descriptors["wgmma"],
            fields,
            "MN" if kernel.value(f"transpose-{letter}") else "K",
            size,
        )
        first = {"A": A, "B": B}[letter]
        for row in range(matrix.rows):
            for col in range(matrix.cols):
                x, k = (row, col) if letter == "A" else (col, row)
                index = first + 4 * (row * matrix.cols + col)
                expected = sum(memory[index + i] << 8 * i for i in range(size))
                there = (1 << 40) + lies.address(x, k // together_)
                got = sum(memory[there + i] << 8 * i for i in range(size))
                assert got >> k % together_ * matrix.bits & (1 << matrix.bits) - 1 == expected, (
                    letter,
                    row,
                    col,
                )

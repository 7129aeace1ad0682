"""Where the matrices of a case lie in shared memory: start, strides and base offset for each of its modes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import lru_cache

from ...spec.addresses import permutes, rule_for
from ...spec.expressions import compiled
from ...spec.specification import Specification
from ..pairwise import FactorValue
from .kernel_list import Kernel
from .operations import ADDRESS, BASE, MODE, PADS, START, JobMatrix, LayoutUse, config_of, quantum, regions

__all__ = ["SPACINGS", "placements"]

# How atoms lie: packed with blocks first, or columns first; with gaps; or shifted from the natural boundary
# of the swizzling pattern by the base offset.
SPACINGS = ("tight", "crossed", "gaps", "shifted")
_BOUNDARY = 1024  # bytes: every swizzling pattern has this period


def placements(
    specification: Specification,
    kernel: Kernel,
    held: Mapping[str, JobMatrix],
    settings: Mapping[str, FactorValue],
    seed: int,
) -> dict[str, int]:
    """The configuration words of a case by name; unused words are 0. `held` are the kernel's matrices."""
    config = dict.fromkeys(config_of(specification), 0)
    config["scale-d"] = int(settings.get("scale-d", 1))
    numbers = random.Random(f"{seed} {sorted(settings.items())}")
    config["filler"] = numbers.getrandbits(32) | 0x7F7F7F7F  # in most types a NaN or a large number
    end = 0
    for letter in "AB":
        if f"swizzle-{letter.lower()}" in settings:
            end = _place(specification, kernel, held[letter], settings, letter, end, config, numbers)
    if kernel.accesses:
        for part, (first, size) in regions(held).items():
            stem, matrix = part.lower(), held[part]
            natural = max(matrix.rows, matrix.cols)
            config[f"{stem}.{START}"] = first
            config[f"{stem}.stride"] = natural + numbers.randrange(PADS + 1) * quantum(matrix)
            end = first + size
    elif "B" in held and held["B"].type == ADDRESS:
        end = 16 * held["B"].count * 4
    config["shared-bytes"] = -(-end // 16) * 16 if kernel.shared else 0
    return config


def _place(
    specification: Specification,
    kernel: Kernel,
    matrix: JobMatrix,
    settings: Mapping[str, FactorValue],
    letter: str,
    free: int,
    config: dict[str, int],
    numbers: random.Random,
) -> int:
    """Place one matrix at the first free byte or later; return the first byte behind it."""
    stem = letter.lower()
    mode, spacing = str(settings[f"swizzle-{stem}"]), settings["spacing"]
    name = str(kernel.descriptor(letter))
    descriptor = specification.descriptors[name]
    rule = rule_for(specification.rules_of(name), "MN" if kernel.value(f"transpose-{letter}") else "K", mode)
    width = rule.widths[mode]
    size, together = max(matrix.bits // 8, 1), max(8 // matrix.bits, 1)
    use = LayoutUse(specification, rule.layout, {"W": width, "bytes": size})
    rows, along = (matrix.rows, matrix.cols) if letter == "A" else (matrix.cols, matrix.rows)
    corner = rows - 1, along // together - 1, size - 1
    atom, *steps = _extent(use, tuple(rule.strides), corner)
    last = dict(zip(rule.strides, steps, strict=True))
    inner, outer = list(rule.strides)[::-1] if spacing != "crossed" else list(rule.strides)
    gap = {"tight": 0, "crossed": 0, "gaps": 16 * numbers.randrange(1, 16), "shifted": _BOUNDARY}[
        str(spacing)
    ]
    strides = {inner: atom + gap}
    strides[outer] = strides[inner] * last[inner] + gap
    start = -(-free // _BOUNDARY) * _BOUNDARY
    if spacing == "shifted":
        shift = 128 * numbers.randrange(1, 8)
        if descriptor.field_of("base"):  # without it nothing could tell where the pattern starts
            start += shift
            config[f"{stem}.{BASE}"] = start >> 7 & 7
    elif spacing == "gaps" and not permutes(specification.addresses.swizzle, width):
        start += 16 * numbers.randrange(1, 16)
    config[f"{stem}.{START}"] = start
    if field := descriptor.field_of("mode"):
        config[f"{stem}.{MODE}"] = descriptor.fields[field].values[mode]
    config[f"{stem}.W"] = width
    for name, stride in rule.strides.items():
        unit = descriptor.fields[stride].unit
        config[f"{stem}.{stride}"] = strides[name] if last[name] > 1 else unit * numbers.randrange(1 << 10)
    end = start + sum((last[name] - 1) * strides[name] for name in strides) + atom
    return -(-end // 128) * 128


@lru_cache(maxsize=4096)
def _extent(use: LayoutUse, strides: tuple[str, ...], corner: tuple[int, int, int]) -> tuple[int, ...]:
    """The size of an atom, then how many steps of each stride a matrix takes up to its last element."""
    trees = use.at.trees
    steps = (compiled(trees[name], ("x", "k", "byte"))(*corner) + 1 for name in strides)
    return use.at.shape(use.parameters)["offset"], *steps

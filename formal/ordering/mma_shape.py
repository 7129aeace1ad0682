"""The shape and the types of a wgmma, by which the rules tell accumulators apart (9.7.15.7)."""

from __future__ import annotations

import re

from ...spec.lazy_dataclass import dataclass

__all__ = ["MmaShape"]


@dataclass(frozen=True, slots=True)
class MmaShape:
    """The shape and the types of a wgmma: m64n8k16 and f32.f16.f16 (D, A, B)."""

    m: int
    n: int
    k: int
    types: str

    def __str__(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}.{self.types}"

    @classmethod
    def of(cls, text: str) -> MmaShape:
        """Read what str() writes; raises ValueError for anything else."""
        found = _SHAPE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not a shape with types, such as m64n8k16.f32.f16.f16")
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4])


_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)\.(\w+\.\w+\.\w+)")

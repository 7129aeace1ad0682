"""The C of a chip's sums, compiled by the machine's compiler: the bits of numpy, several times as fast."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...spec.cache import cache_folder
from ...spec.chip_arithmetic import ChipArithmetic
from ...spec.specification import Specification
from ...spec.workers import cores, in_threads
from .lane_text import lane_text
from .sum_text import SumText

__all__ = ["CompiledSums", "compiler"]

_FLAGS = ("-O3", "-std=gnu11", "-fPIC", "-shared", "-w")
_NATIVE = "-march=native"  # not every compiler knows it
_SECONDS = 60


@cache
def compiler() -> str | None:
    """The path of a C compiler: the one that CC names, or cc; None where there is none."""
    return shutil.which(os.environ.get("CC", "").strip() or "cc")


@cache
def _processor() -> str:
    """What the processor can do: a library for one may not run on another that sees the same cache."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    able = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {platform.node()} {able}"


@dataclass(frozen=True)
class CompiledSums:
    """One variant's elements of D on a chip, by compiled C. `compiler` must be the path of a C compiler."""

    specification: Specification
    arithmetic: ChipArithmetic
    compiler: str

    @cached_property
    def _text(self) -> str:
        lanes = lane_text(self.specification, self.arithmetic)
        return SumText(self.specification, self.arithmetic).many(lanes)

    @cached_property
    def path(self) -> Path:
        """Where the library lies once it is compiled: its name is the hash of the text and the compiler."""
        words = "\0".join((self._text, self.compiler, *_FLAGS, _NATIVE, _processor()))
        return cache_folder() / f"sums-{hashlib.sha256(words.encode()).hexdigest()[:32]}.so"

    @cached_property
    def _library(self) -> ctypes.CDLL | None:
        """The library, compiled where none lies in the cache; None where the compiler fails."""
        try:
            if found := self._loaded():
                return found
            self._compile()
        except (OSError, subprocess.SubprocessError):
            return None
        return self._loaded()

    def _loaded(self) -> ctypes.CDLL | None:
        """What lies in the cache, if it is a library with the function."""
        try:
            found = ctypes.CDLL(str(self.path))
        except OSError:
            return None
        return found if hasattr(found, "sums_of_products") else None

    def _compile(self) -> None:
        """Compile beside, then rename: half a library is never seen."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=".sums-") as folder:
            source, library = Path(folder) / "sums.c", Path(folder) / "sums.so"
            source.write_text(self._text, encoding="utf-8")
            command = [self.compiler, *_FLAGS, "-o", str(library), str(source)]
            if subprocess.run([*command, _NATIVE], capture_output=True, timeout=_SECONDS).returncode:
                subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
            os.replace(library, self.path)

    def codes(
        self,
        a: NDArray[np.integer],
        b: NDArray[np.integer],
        c: NDArray[np.integer],
        negated: tuple[bool, bool] = (False, False),
        threads: int | None = None,
    ) -> NDArray[np.uint64] | None:
        """The bit patterns of D: of a and b (jobs, products) and c (jobs,); None if not compiled."""
        if self._library is None:
            return None
        given = [
            np.ascontiguousarray(codes, self._type(part))
            for part, codes in zip("ABC", (a, b, c), strict=True)
        ]
        found = np.empty(len(c), self._type("D"))
        function = self._library.sums_of_products
        function.restype = None

        def part(rows: slice) -> None:
            pointers = [ctypes.c_void_p(array[rows].ctypes.data) for array in (*given, found)]
            count = ctypes.c_ulonglong(len(found[rows]))
            function(*pointers, count, ctypes.c_uint(negated[0]), ctypes.c_uint(negated[1]))

        threads = threads or cores()
        step = max(1, -(-len(c) // threads))
        parts = [slice(start, start + step) for start in range(0, len(c), step)]
        in_threads(part, parts, threads)
        return found.astype(np.uint64)

    def _type(self, part: str) -> str:
        bits = self.specification.index.types[self.arithmetic.types[part]].bits
        return f"u{max(1, 1 << ((bits + 7) // 8 - 1).bit_length())}"

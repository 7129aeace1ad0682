"""Trials on a GPU: inputs are drawn there, the raw kernel runs on them, and its sums are compared there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gen.kernels.modules import KernelModule
from ..gen.kernels.raw_ptx import CONFIG
from ..spec.errors import Question
from .gpu import Device, DeviceFault, Gpu
from .trial import Trial, TrialCounts

__all__ = ["TrialDevice", "compiled"]

_BYTES = 1 << 29  # of inputs and outputs at once
_THREADS = 256  # of a block that draws or compares
_BLOCKS = 132 * 16
_POISON = 0xA5
_FUNCTIONS = ("fill", "compare")


def compiled(text: str, gpu: Gpu) -> bytes:
    """The binary of a trial's text for a GPU, made by NVRTC; raises Question where that cannot be."""
    try:
        from cuda.bindings import nvrtc

        error, program = nvrtc.nvrtcCreateProgram(text.encode(), b"trial.cu", 0, [], [])
    except (ImportError, RuntimeError):
        raise Question("a trial needs NVRTC: pip install 'ptxmma[device]' nvidia-cuda-nvrtc") from None
    architecture = f"--gpu-architecture=sm_{gpu.capability[0]}{gpu.capability[1]}"
    options = [architecture.encode(), b"--device-int128", b"--std=c++17", b"-w"]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if error:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = bytearray(size)
        nvrtc.nvrtcGetProgramLog(program, log)
        said = bytes(log).split(b"\0")[0].decode(errors="replace")
        first = next((line for line in said.splitlines() if "error" in line), str(error))
        raise Question(f"NVRTC does not compile the trial: {first}")
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    binary = bytearray(size)
    nvrtc.nvrtcGetCUBIN(program, binary)
    nvrtc.nvrtcDestroyProgram(program)
    return bytes(binary)


class TrialDevice(Device):
    """A GPU that runs trials."""

    def trial(
        self,
        trial: Trial,
        module: KernelModule,
        binary: bytes,
        seed: int,
        first: int,
        jobs: int,
        heard: Callable[[], None] = lambda: None,
    ) -> TrialCounts:
        """Compare the sums of `jobs` tiles from number `first` on; call `heard` when a part of them is done.

        Raises DeviceFault when the device fails.
        """
        self.load(module)
        cuda = self._cuda
        loaded = self._check(*cuda.cuModuleLoadData(binary))
        functions = {
            name: self._check(*cuda.cuModuleGetFunction(loaded, name.encode())) for name in _FUNCTIONS
        }
        buffers: list[Any] = []
        try:
            return self._run(trial, functions, buffers, seed, first, jobs, heard)
        finally:
            for buffer in buffers:
                cuda.cuMemFree(buffer)
            cuda.cuModuleUnload(loaded)

    def _run(
        self,
        trial: Trial,
        functions: Mapping[str, Any],
        buffers: list[Any],
        seed: int,
        first: int,
        jobs: int,
        heard: Callable[[], None],
    ) -> TrialCounts:
        raw, image = trial.raw, trial.image_bytes
        sizes = {
            "inputs": 4 * raw.threads * trial.text.sizes["WORDS"],
            "images": max(image, 16),
            "outputs": 4 * raw.threads * raw.results,
            "config": 4 * len(CONFIG),
        }
        at_once = max(1, min(jobs, _BYTES // sum(sizes.values())))
        at = {name: self._allocated(buffers, size * at_once) for name, size in sizes.items()}
        tables = {name: self._up(buffers, table) for name, table in trial.tables.items()}
        counts = np.zeros(trial.counted_words, np.uint64)
        differences = np.zeros(trial.difference_words, np.uint64)
        counted, kept = self._up(buffers, counts), self._up(buffers, differences)
        shared = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        function = self._functions[raw.entry]
        self._check(*self._cuda.cuFuncSetAttribute(function, shared, max(image, 16)))
        drawn = ("of_A", "of_B", "of_C", "columns", "metadata", "config")
        places = ("at_A", "at_B", "at_C", "at_D", "columns")
        for start in range(0, jobs, at_once):
            count = min(at_once, jobs - start)
            numbers = (seed, first + start, count)
            self._check(*self._cuda.cuMemsetD8(at["outputs"], _POISON, sizes["outputs"] * count))
            self._start(
                functions["fill"],
                (
                    at["inputs"],
                    at["images"],
                    at["config"],
                    tables["sums"],
                    *(tables[n] for n in drawn),
                    *numbers,
                ),
                (_BLOCKS, _THREADS, 0),
            )
            self._start(
                function,
                (at["inputs"], at["images"], at["outputs"], at["config"]),
                (count, raw.threads, max(image, 16)),
            )
            self._start(
                functions["compare"],
                (
                    *(at[name] for name in ("inputs", "images", "outputs")),
                    tables["sums"],
                    *(tables[name] for name in places),
                    counted,
                    kept,
                    *numbers,
                ),
                (_BLOCKS, _THREADS, 0),
            )
            self._check(*self._cuda.cuCtxSynchronize())
            heard()
        for array, buffer in ((counts, counted), (differences, kept)):
            self._check(*self._cuda.cuMemcpyDtoH(array.ctypes.data, buffer, array.nbytes))
        found = trial.outcome(counts, differences)
        if found.total != trial.sums * jobs:
            raise DeviceFault(f"{raw.entry}: {found.total} sums were compared, not {trial.sums * jobs}")
        return found

    def _allocated(self, buffers: list[Any], size: int) -> Any:
        pointer = self._check(*self._cuda.cuMemAlloc(size))
        buffers.append(pointer)
        return pointer

    def _start(self, function: Any, values: tuple[Any, ...], grid: tuple[int, int, int]) -> None:
        """Launch a function; every argument has 64 bits."""
        arguments = np.array([int(value) for value in values], np.uint64)
        addresses: NDArray[np.uint64] = arguments.ctypes.data + 8 * np.arange(len(values), dtype=np.uint64)
        blocks, threads, shared = grid
        launched = self._cuda.cuLaunchKernel(
            function, blocks, 1, 1, threads, 1, 1, shared, 0, addresses.ctypes.data, 0
        )
        self._check(*launched)

"""A GPU through the CUDA driver: it runs raw kernels from PTX, with poisoned and guarded outputs."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gen.kernels.modules import KernelModule
from ..gen.kernels.raw_ptx import CONFIG
from ..spec.errors import Question
from ..spec.gates import Isa
from .raw_kernel import Batch, Raw

__all__ = ["Device", "DeviceFault", "Gpu", "bindings", "configuration", "describe", "find_gpu"]

_POISON = 0xA5
_GUARD = 4096  # bytes on either side of the output
_LOG = 1 << 14
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR


class DeviceFault(Exception):
    """What the driver refused or the device did wrong; the context is lost where `lost` is true."""

    def __init__(self, message: str, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


def bindings() -> Any:
    """The driver's bindings; raises Question where there are none."""
    try:
        from cuda.bindings import driver
    except ImportError:
        raise Question("measuring needs cuda-bindings: pip install 'ptxmma[device]'") from None
    return driver


class Device:
    """One GPU, open as a context manager. Raises Question where there is no driver or no such GPU."""

    def __init__(self, number: int = 0) -> None:
        self._cuda = bindings()
        try:
            (error,) = self._cuda.cuInit(0)
        except RuntimeError:
            raise Question("there is no NVIDIA driver on this machine") from None
        if error:
            raise Question(f"the NVIDIA driver finds no GPU: {self._name(error)}")
        error, count = self._cuda.cuDeviceGetCount()
        if error or number >= count:
            raise Question(f"there is no GPU {number}; there are {count}")
        self._device = self._check(*self._cuda.cuDeviceGet(number))
        self._functions: dict[str, Any] = {}
        self._modules: list[Any] = []

    def __enter__(self) -> Device:
        self._context = self._check(*self._cuda.cuDevicePrimaryCtxRetain(self._device))
        self._check(*self._cuda.cuCtxSetCurrent(self._context))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cuda.cuDevicePrimaryCtxRelease(self._device)

    @property
    def name(self) -> str:
        """The GPU's name."""
        text = self._check(*self._cuda.cuDeviceGetName(64, self._device))
        return bytes(text).split(b"\0")[0].decode()

    @property
    def driver(self) -> str:
        """The version of CUDA that the driver is for."""
        version = int(self._check(*self._cuda.cuDriverGetVersion()))
        return f"{version // 1000}.{version % 1000 // 10}"

    def load(self, module: KernelModule) -> None:
        """Load a PTX file; raises DeviceFault with the message of the driver's assembler."""
        cuda = self._cuda
        log = bytearray(_LOG)
        options = [
            cuda.CUjit_option.CU_JIT_ERROR_LOG_BUFFER,
            cuda.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ]
        text = module.text.encode() + b"\0"
        error, loaded = cuda.cuModuleLoadDataEx(text, len(options), options, [log, _LOG])
        if error:
            said = bytes(log).split(b"\0")[0].decode(errors="replace").strip()
            raise DeviceFault(f"{module.name}.ptx: {self._name(error)}: {said}")
        self._modules.append(loaded)
        for kernel in module.kernels:
            function = self._check(*cuda.cuModuleGetFunction(loaded, kernel.name.encode()))
            self._functions[kernel.name] = function

    def launch(self, kernel: Raw, batch: Batch) -> NDArray[np.uint32]:
        """The registers of D of every job; the images of shared memory for a kernel without D.

        Raises DeviceFault when the device fails, or when it writes elsewhere or not everywhere.
        """
        cuda = self._cuda
        function = self._functions[kernel.entry]
        jobs = len(batch)
        own = batch.images[batch.image] if not kernel.results else batch.images
        size = own.shape[1]
        config = configuration(kernel, batch, size)
        out = np.empty((jobs, kernel.threads, kernel.results), np.uint32)
        buffers: list[Any] = []
        try:
            given = self._up(buffers, batch.inputs)
            image = self._up(buffers, own)
            configured = self._up(buffers, config)
            whole = self._check(*cuda.cuMemAlloc(out.nbytes + 2 * _GUARD))
            buffers.append(whole)
            self._check(*cuda.cuMemsetD8(whole, _POISON, out.nbytes + 2 * _GUARD))
            shared = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._check(*cuda.cuFuncSetAttribute(function, shared, size))
            pointers = [int(given), int(image), int(whole) + _GUARD, int(configured)]
            arguments = np.array(pointers, np.uint64)
            addresses = np.array([arguments.ctypes.data + 8 * i for i in range(4)], np.uint64)
            self._check(
                *cuda.cuLaunchKernel(
                    function, jobs, 1, 1, kernel.threads, 1, 1, size, 0, addresses.ctypes.data, 0
                )
            )
            self._check(*cuda.cuCtxSynchronize())
            surrounded = np.empty(out.nbytes + 2 * _GUARD, np.uint8)
            self._check(*cuda.cuMemcpyDtoH(surrounded.ctypes.data, whole, surrounded.nbytes))
            if not kernel.results:
                stored = np.empty_like(own)
                self._check(*cuda.cuMemcpyDtoH(stored.ctypes.data, image, stored.nbytes))
                return stored.view("<u4").reshape(jobs, 1, -1).astype(np.uint32)
        finally:
            for buffer in buffers:
                cuda.cuMemFree(buffer)
        guards = np.concatenate([surrounded[:_GUARD], surrounded[-_GUARD:]])
        if (guards != _POISON).any():
            raise DeviceFault(f"{kernel.entry} wrote outside of its output")
        out = surrounded[_GUARD:-_GUARD].view("<u4").reshape(out.shape).astype(np.uint32)
        if (out == np.uint32(_POISON * 0x0101_0101)).all(axis=(1, 2)).any():
            raise DeviceFault(f"{kernel.entry} did not write the output of every job")
        return out

    def _up(self, buffers: list[Any], array: NDArray[Any]) -> Any:
        """A copy on the device."""
        whole = np.ascontiguousarray(array)
        pointer = self._check(*self._cuda.cuMemAlloc(max(whole.nbytes, 16)))
        buffers.append(pointer)
        if whole.nbytes:
            self._check(*self._cuda.cuMemcpyHtoD(pointer, whole.ctypes.data, whole.nbytes))
        return pointer

    def _name(self, error: Any) -> str:
        _, text = self._cuda.cuGetErrorName(error)
        return bytes(text).decode() if text else str(error)

    def _check(self, error: Any, *results: Any) -> Any:
        if error:
            raise DeviceFault(f"the driver says {self._name(error)}", lost=True)
        return results[0] if results else None


@dataclass(frozen=True)
class Gpu:
    """A GPU's compute capability, and the version of CUDA that its driver is for."""

    number: int
    capability: tuple[int, int]
    driver: str

    def fits(self, isa: Isa, target: str) -> bool:
        """Whether the GPU has the features of a target: its own target is that one, or includes it."""
        plain = f"sm_{self.capability[0]}{self.capability[1]}"
        own = f"{plain}a" if f"{plain}a" in isa.index.targets else plain
        return own in isa.including[target]

    def __str__(self) -> str:
        return f"GPU {self.number} is of compute capability {self.capability[0]}.{self.capability[1]}"


def configuration(kernel: Raw, batch: Batch, size: int) -> NDArray[np.uint32]:
    """The configuration words of every job, whose image has `size` bytes."""
    config = np.zeros((len(batch), len(CONFIG)), np.uint32)
    columns: dict[str, NDArray[Any] | int] = {
        "image-bytes": size,
        "scale-d": batch.scale,
        "A.low": batch.a & np.uint64(0xFFFF_FFFF),
        "A.high": batch.a >> np.uint64(32),
        "B.low": batch.b & np.uint64(0xFFFF_FFFF),
        "B.high": batch.b >> np.uint64(32),
        "input": batch.input,
        "image": batch.image if kernel.results else np.arange(len(batch)),
    }
    for name, value in columns.items():
        config[:, CONFIG.index(name)] = value
    return config


def find_gpu(number: int) -> Gpu:
    """The GPU of that number; raises Question where the driver or the GPU is missing.

    It asks libcuda through ctypes, so that the answer needs no other package.
    """
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise Question("there is no CUDA driver here (libcuda.so.1 cannot be opened)") from None
    error = library.cuInit(0)
    count, version = ctypes.c_int(), ctypes.c_int()
    if error or library.cuDeviceGetCount(ctypes.byref(count)):
        raise Question(f"the CUDA driver finds no GPU (error {error})")
    if not 0 <= number < count.value:
        raise Question(f"there is no GPU {number}; there are {count.value}")
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    answers = (
        library.cuDriverGetVersion(ctypes.byref(version)),
        library.cuDeviceGet(ctypes.byref(device), number),
        library.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device),
        library.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device),
    )
    if any(answers):
        raise Question(f"the CUDA driver says nothing of GPU {number} (error {max(answers)})")
    cuda = f"{version.value // 1000}.{version.value % 1000 // 10}"
    return Gpu(number, (major.value, minor.value), cuda)


def describe(number: int) -> tuple[str, str]:
    """A GPU's name, and its driver: the version of CUDA and, where it can be read, its own."""
    with Device(number) as device:
        name, version = device.name, device.driver
    own = Path("/proc/driver/nvidia/version")
    found = re.search(r"\b\d+\.\d+\.\d+\b", own.read_text()) if own.exists() else None
    return name, f"{found[0]}, CUDA {version}" if found else f"CUDA {version}"

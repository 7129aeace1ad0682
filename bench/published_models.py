"""What others publish of the tensor core's sums: their code where it is installed, their models written down.

A published model and the chip differ in few numbers, so all of them are one function with parameters. Where
the authors' own code is installed, arithmetic_peers.py holds the parameters against it.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint64]
Values = NDArray[np.float64]
_NEVER = -(10**6)  # the exponent of what takes no part
LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126, "e4m3": -6, "e5m2": -14}  # normal exponents
GREATEST = {"f16": 15, "f32": 127}


class Form(NamedTuple):
    """A form of an instruction: its mnemonic, its products and the types of A, B, C and D."""

    mnemonic: str
    products: int
    a: str
    b: str
    c: str
    d: str

    @property
    def instruction(self) -> str:
        return self.mnemonic.partition(".")[0]

    @property
    def quad(self) -> bool:
        """Whether it is Volta's form, of which nobody has a model on Hopper."""
        return ".m8n8k4." in self.mnemonic and self.a == "f16"

    @property
    def narrow(self) -> bool:
        return self.a in ("e4m3", "e5m2")


@dataclass(frozen=True)
class PublishedSum:
    """One sum as a publication has it; exponents are those of numbers, without bias.

    `window`: places below the greatest exponent that a term keeps. `floor`: where the window begins at least.
    `zero`: the exponent with which a zero takes part; None: not at all. `least_c`: the least exponent of C.
    `digits`: places of D. `nearest`: to nearest even, else toward zero. `signed`: a negative sum that is too
    small for D is -0. `late`: C is added to the rounded sum of the products, as IEEE 754 has it.
    """

    window: int
    floor: int | None
    zero: int | None
    least_c: int
    digits: int
    nearest: bool
    signed: bool
    late: bool = False

    def codes(self, form: Form, a: Values, b: Values, c: Values) -> Codes:
        """The bit patterns of D, of values (jobs, products) and (jobs,)."""
        with np.errstate(all="ignore"):
            products = a * b
            exact = products.sum(axis=1) + c
            of_products = self._exponents(a, LEAST[form.a]) + self._exponents(b, LEAST[form.b])
            if self.zero is None:
                of_products = np.where(products == 0, _NEVER, of_products)
            early = np.zeros_like(c) if self.late else c
            top = np.maximum(of_products.max(axis=1), self._exponents(early, self.least_c))
            top = np.maximum(top, _NEVER if self.floor is None else self.floor)
            kept = np.trunc(np.ldexp(products, self.window - top[:, None])).sum(axis=1)
            kept += np.trunc(np.ldexp(early, self.window - top))
            found = self._rounded(form.d, np.ldexp(kept, np.where(kept == 0, 0, top - self.window)))
            if self.late:
                found = (found.astype(np.float32) + c.astype(np.float32)).astype(np.float64)
            return _patterns(form.d, np.where(np.isfinite(exact), found, exact))

    def _exponents(self, values: Values, least: int) -> NDArray[np.int64]:
        found = np.maximum(np.frexp(values)[1].astype(np.int64) - 1, least)
        return np.where(values == 0, _NEVER if self.zero is None else self.zero, found)

    def _rounded(self, d: str, total: Values) -> Values:
        last = np.maximum(np.frexp(total)[1] - 1, LEAST[d]) - self.digits
        places = np.ldexp(total, -last)
        found = np.ldexp(np.rint(places) if self.nearest else np.trunc(places), last)
        found = np.where(np.abs(found) >= 2.0 ** (GREATEST[d] + 1), np.copysign(np.inf, total), found)
        return np.where(found == 0, np.copysign(0.0, total) if self.signed else 0.0, found)


def _patterns(d: str, values: Values) -> Codes:
    """Bit patterns of values that the type has; a NaN is the one that the chip gives."""
    if d == "f16":
        return np.where(np.isnan(values), 0x7FFF, values.astype(np.float16).view(np.uint16)).astype(np.uint64)
    return np.where(np.isnan(values), 0x7FFFFFFF, values.astype(np.float32).view(np.uint32)).astype(np.uint64)


@dataclass(frozen=True)
class Peer:
    """A publication: which forms it has, its model written down, and its own code.

    `written` gives None for a form that is not written down. `own` gives None where the code is not installed
    or has no such form, else a function of codes.
    """

    name: str
    where: str
    written: Callable[[Form], PublishedSum | None]
    own: Callable[[Form], Callable[[Codes, Codes, Codes], Codes] | None]


def _mma_sim(form: Form) -> PublishedSum | None:
    """Xie, Wang, Yang, Yang: every zero takes part, as 2^-126; there is no floor beside that."""
    if form.d not in GREATEST or form.quad or (form.narrow and form.instruction != "wgmma"):
        return None
    narrow = form.narrow
    digits = 10 if form.d == "f16" else 13 if narrow else 23
    return PublishedSum(
        13 if narrow else 25, None, -126, LEAST[form.d], digits, form.d == "f16", signed=False
    )


def _toolbox(form: Form) -> PublishedSum | None:
    """Khattak, Mikaitis, H100TC.m: C is a number of f32, also where its type is f16; -0 comes out.

    For an f16 result of 8-bit elements, ten of its ten places are taken away; that is not written down here.
    """
    if form.d not in GREATEST or form.quad:
        return None
    if form.narrow and (form.d == "f16" or form.instruction != "wgmma"):
        return None
    digits = 10 if form.d == "f16" else 13 if form.narrow else 23
    floor = -21 if form.d == "f16" else -133
    return PublishedSum(
        13 if form.narrow else 25, floor, None, LEAST["f32"], digits, form.d == "f16", signed=True
    )


def _mmaemu(form: Form) -> PublishedSum | None:
    """Ding, preset hopper: 8-bit elements, f32 results, cuBLAS's kernels (wgmma)."""
    if not form.narrow or form.d != "f32" or form.instruction != "wgmma":
        return None
    return PublishedSum(13, -132, None, _NEVER + 1, 13, nearest=False, signed=False)


def _rewritten(form: Form) -> PublishedSum | None:
    """Ding, preset b200_mma_sync: mma of 8-bit elements, which ptxas rewrites as mma of f16."""
    if not form.narrow or form.d != "f32" or form.instruction != "mma" or form.products != 32:
        return None
    return PublishedSum(25, -133, None, _NEVER + 1, 23, nearest=False, signed=True, late=True)


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_VIEWS = {"e4m3": np.uint8, "e5m2": np.uint8, "f16": np.int16, "bf16": np.int16, "f64": np.int64}


def _tensor(torch: Any, element: str, codes: Codes) -> Any:
    kinds = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "f16": torch.float16}
    kinds |= {"bf16": torch.bfloat16, "f64": torch.float64}
    integers = codes.astype(np.uint64).astype(_VIEWS.get(element, np.int32))
    return torch.from_numpy(integers).view(kinds.get(element, torch.float32))


def _own_mma_sim(form: Form) -> Callable[[Codes, Codes, Codes], Codes] | None:
    torch, module = _installed("torch"), _installed("mmasim.simulator.nv_ptx")
    words = form.mnemonic.split(".")
    if torch is None or module is None or {"rz", "rm", "rp"} & {*words}:
        return None
    shape = next(word for word in words if word.startswith("m") and word[1:2].isdigit())
    types = [form.d, form.a, form.b] + ([form.c] if form.instruction == "mma" else [])
    try:
        one = getattr(module, form.instruction)("Hopper", ".".join([shape, *types]))
    except (AssertionError, AttributeError):
        return None
    one.m = one.n = 1  # one element of D at a time
    size = {"f16": np.uint16, "f64": np.uint64}.get(form.d, np.uint32)

    def codes(a: Codes, b: Codes, c: Codes) -> Codes:
        left, right = _tensor(torch, form.a, a), _tensor(torch, form.b, b)
        added = _tensor(torch, form.c, c)
        jobs = range(len(c))
        found = [one(left[j : j + 1], right[j][:, None], added[j].reshape(1, 1)).numpy() for j in jobs]
        return np.concatenate(found).reshape(-1).view(size).astype(np.uint64)

    return codes


def _own_mmaemu(preset: str, form: Form) -> Callable[[Codes, Codes, Codes], Codes] | None:
    torch, module = _installed("torch"), _installed("mmaemu.model.chain")
    written = _mmaemu(form) if preset == "hopper" else _rewritten(form)
    if torch is None or module is None or written is None:
        return None

    def codes(a: Codes, b: Codes, c: Codes) -> Codes:
        left, right = _tensor(torch, form.a, a), _tensor(torch, form.b, b)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a preset is experimental
            found = module.dot(left, right, _tensor(torch, form.c, c), preset=preset)
        return np.asarray(found.numpy()).view(np.uint32).astype(np.uint64)

    return codes


PEERS = (
    Peer("MMA-Sim", "github.com/microsoft/MMA-Sim, with torch", _mma_sim, _own_mma_sim),
    Peer("MATLAB tensor core", "MATLAB: its model H100TC is written down", _toolbox, lambda form: None),
    Peer("mmaemu", "pip install mmaemu, with torch", _mmaemu, partial(_own_mmaemu, "hopper")),
    Peer("mmaemu b200_mma_sync", "the same", _rewritten, partial(_own_mmaemu, "b200_mma_sync")),
)

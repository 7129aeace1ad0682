"""Published models, written down for a bench, give on the least cases of docs/arithmetic.md what others print.

The results are those of the own code of MMA-Sim (c785138) and mmaemu (0.1.0), and what the toolbox's H100TC.m
(b12b5a7) comes to by hand.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
F16 = "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16"
BF16 = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"
TF32 = "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32"
SIM, TOOLBOX, REWRITTEN = "MMA-Sim", "MATLAB tensor core", "mmaemu b200_mma_sync"
E4M3 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
# Mnemonic, products, types of A and D; factors and C; and what those give that have the form.
CASES: list[tuple[Any, ...]] = [
    ((TF32, 4, "tf32", "f32"), [(0.0, 2.0**125)], 2.0**-100, {SIM: 0, TOOLBOX: 0x0D800000}),
    ((BF16, 16, "bf16", "f32"), [(2.0**-77, 2.0**-76)] * 16, 0.0, {SIM: 0, TOOLBOX: 1}),
    ((F16, 16, "f16", "f16"), [(2.0**-12, 2.0**-13), (2.0**-24, 2.0**-24)], 0.0, {SIM: 1, TOOLBOX: 0}),
    ((F16, 16, "f16", "f16"), [(2.0**-13, 2.0**-12), (2.0**-22, 2.0**-22)], 2.0**-21, {SIM: 8, TOOLBOX: 9}),
    ((F16, 16, "f16", "f16"), [(-(2.0**-13), 2.0**-13)], 0.0, {SIM: 0, TOOLBOX: 0x8000}),
    ((E4M3, 32, "e4m3", "f32"), [(256.0, 256.0), (-256.0, 256.0), (2.0**-9, 2.0**-9)], 0.0, {REWRITTEN: 0}),
]


@pytest.mark.parametrize(("form", "products", "c", "given"), CASES)
def test_the_least_cases_of_the_page(
    monkeypatch: pytest.MonkeyPatch,
    form: tuple[str, int, str, str],
    products: list[tuple[float, float]],
    c: float,
    given: dict[str, int],
) -> None:
    monkeypatch.syspath_prepend(ROOT / "bench")
    models: Any = importlib.import_module("published_models")
    mnemonic, count, element, d = form
    asked = models.Form(mnemonic, count, element, element, d, d)
    pairs = np.array([*products, *[(0.0, 0.0)] * (count - len(products))])
    found = {peer.name: peer.written(asked) for peer in models.PEERS}
    assert given == {
        name: int(model.codes(asked, pairs[None, :, 0], pairs[None, :, 1], np.array([c]))[0])
        for name, model in found.items()
        if model is not None
    }

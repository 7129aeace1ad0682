"""`ptxmma.matmul` and `ptxmma compute`: whole matrices, held against chains of single sums."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptxmma
from ptxmma.gen.arithmetic.dot_products import sums_of
from ptxmma.gen.arithmetic.matrix_products import MatrixProduct
from ptxmma.spec.errors import Question
from ptxmma.spec.loading import ROOT

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32"
FP8 = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2"
S8 = "mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32"
RANDOM = np.random.default_rng(7)
api: Any = ptxmma


def drawn(shape: tuple[int, int], dtype: Any) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32).astype(dtype)


def test_a_chain_along_k() -> None:
    a, b, c = drawn((32, 48), np.float16), drawn((48, 16), np.float16), drawn((32, 16), np.float32)
    found = ptxmma.matmul(MMA, a, b, c)
    assert found.dtype == np.float32
    for row, column in ((0, 0), (5, 11), (31, 15)):
        code = c.view(np.uint32)[row, column]
        for k in range(0, 48, 16):
            x, y = a.view(np.uint16)[row, k : k + 16], b.view(np.uint16)[k : k + 16, column]
            (code,) = ptxmma.dot(MMA, [x], [y], [code])
        assert found.view(np.uint32)[row, column] == code
    coded = ptxmma.matmul(MMA, a.view(np.uint16), b.view(np.uint16), c.view(np.uint32))
    assert coded.dtype == np.uint32 and (coded == found.view(np.uint32)).all()


def test_sparse_is_dense_where_nothing_is_rounded() -> None:
    a = np.zeros((16, 64), ml_dtypes.bfloat16)
    a[:, ::4], a[:, 3::4] = 3, RANDOM.integers(1, 9, (16, 16)).astype(ml_dtypes.bfloat16)
    b = RANDOM.integers(-8, 9, (64, 8)).astype(ml_dtypes.bfloat16)
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    assert (ptxmma.matmul(SPARSE, a, b) == wanted).all()
    packed = ptxmma.compress(SPARSE, a, selector=1)
    again = ptxmma.matmul(SPARSE, packed.packed, b, metadata=packed.metadata, selector=1)
    assert (again == wanted).all()
    with pytest.raises(Question, match="needs selector="):
        ptxmma.matmul(SPARSE, packed.packed, b, metadata=packed.metadata)


def test_a_second_accumulator() -> None:
    """DeepGEMM's: what 14 digits lose in one chain is kept."""
    a, b = np.ones((64, 256), ml_dtypes.float8_e4m3fn), np.ones((256, 8), ml_dtypes.float8_e5m2)
    a[:, 1:] = 0.0625
    c = np.full((64, 8), 1 << 14, np.float32)
    assert ptxmma.matmul(FP8, a, b, c)[0, 0] == 1 << 14
    assert ptxmma.matmul(FP8, a, b, c, accumulate=128)[0, 0] == (1 << 14) + 1 + 255 / 16
    with pytest.raises(Question, match="a multiple of 32"):
        ptxmma.matmul(FP8, a, b, accumulate=16)


def test_integers() -> None:
    a, b = RANDOM.integers(-128, 128, (16, 32), np.int8), RANDOM.integers(0, 256, (32, 8), np.uint8)
    found = ptxmma.matmul(S8, a, b, np.full((16, 8), -5, np.int32))
    assert found.dtype == np.int32
    assert (found == a.astype(np.int64) @ b.astype(np.int64) - 5).all()


def test_arrays_of_every_order_are_the_same_numbers() -> None:
    """Bytes the other way round, columns first, every second element, backwards."""
    a, b, c = drawn((16, 32), np.float16), drawn((32, 8), np.float16), drawn((16, 8), np.float32)
    wanted = ptxmma.matmul(MMA, a, b, c).view(np.uint32)
    swapped = [one.astype(one.dtype.newbyteorder(">")) for one in (a, b, c)]
    columns = [np.asfortranarray(one) for one in (a, b, c)]
    second = [np.repeat(one, 2, 1)[:, ::2] for one in (a, b, c)]
    backwards = [one[::-1].copy()[::-1] for one in (a, b, c)]
    for given in (swapped, columns, second, backwards):
        assert (ptxmma.matmul(MMA, *given).view(np.uint32) == wanted).all()
    codes = [one.view(f"u{one.itemsize}") for one in (a, b, c)]
    assert (ptxmma.matmul(MMA, *(one.astype(one.dtype.newbyteorder(">")) for one in codes)) == wanted).all()
    packed = ptxmma.compress(SPARSE, np.eye(16, 32).astype(">u2"), selector=0)
    assert packed.packed.dtype == np.uint16 and packed.packed.max() == 1


def test_integers_of_ml_dtypes() -> None:
    s4 = "mma.sync.aligned.m16n8k32.row.col.s32.s4.u4.s32"
    a, b = RANDOM.integers(-8, 8, (16, 32)), RANDOM.integers(0, 16, (32, 8))
    assert (ptxmma.matmul(s4, a.astype(ml_dtypes.int4), b.astype(ml_dtypes.uint4)) == a @ b).all()


HALF = np.ones((16, 16), np.float16)


@pytest.mark.parametrize(
    ("words", "options", "why"),
    [
        ((HALF[:, :8], HALF[:, :8]), {}, "A is 16 x 8; it must be a multiple of 16 x 16"),
        ((HALF, HALF[:8, :8]), {}, "B is 8 x 8; it must be a multiple of 16 x 8"),
        ((HALF, np.ones((32, 8), np.float16)), {}, "A has 16 columns .*, and B 32 rows"),
        ((HALF, HALF, HALF), {}, "C holds float16; .f32 needs"),
        ((HALF, HALF, np.ones((1, 1), np.float32)), {}, r"C has the shape \(1, 1\); it must be \(16, 16\)"),
        ((HALF.astype(np.float32), HALF), {}, "A holds float32; .f16 needs"),
        ((HALF[0], HALF), {}, "A has the shape"),
        ((HALF, HALF), {"metadata": [1]}, "not sparse"),
        ((HALF, HALF), {"selector": 1}, "a selector goes with metadata"),
        ((HALF, HALF), {"accumulate": 1.5}, "accumulate must be an integer"),
        ((HALF, HALF), {"target": "sm_80"}, "not measured"),
        ((np.full((16, 16), 65536), HALF), {}, "A holds 65536; .f16 has 0 to 65535"),
        ((np.ma.masked_equal(HALF, 0), HALF), {}, r"a is a masked array; \.filled\(0\)"),
        ((HALF.astype(object), HALF), {}, "a holds Python objects"),
        (([[2**70] * 16] * 16, HALF), {}, "a holds Python objects or longer integers"),
        ((np.zeros((16, 16), "V2"), HALF), {}, "A holds .V2: a .npy file keeps no type of ml_dtypes"),
    ],
)
def test_what_is_refused(words: tuple[Any, ...], options: dict[str, Any], why: str) -> None:
    with pytest.raises(Question, match=why):
        api.matmul(MMA, *words, **options)


def test_compute(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    names = {name: str(tmp_path / f"{name}.npy") for name in "ABCD"}
    np.save(names["A"], HALF)
    np.save(names["B"], HALF[:, :8])
    np.save(names["C"], np.full((16, 8), 0.5, np.float32))
    code, out, _ = run("compute", MMA, names["A"], names["B"], names["C"], "--out", names["D"])
    assert (code, out) == (0, f"{names['D']}: 16x8 float32\n")
    assert (np.load(names["D"]) == 16.5).all()
    for words, why in (
        ((names["A"], names["B"], "--out", names["A"]), "is named twice"),
        ((names["A"], "nosuch.npy", "--out", names["D"]), "nosuch.npy"),
        ((names["B"], names["B"], "--out", names["D"]), "must be a multiple"),
    ):
        code, out, told = run("compute", MMA, *words)
        assert (code, out) == (2, "") and why in told and told.count("\n") == 1


def test_a_chain_along_k_whatever_a_sum_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of which nothing is known but its elements: every element of D is the chain of its steps."""
    numbers: dict[tuple[bytes, bytes, int], int] = {}

    fresh = itertools.count(1 << 20)

    def free(a: Any, b: Any, c: Any, negated: tuple[bool, bool], **_: object) -> Any:
        assert negated == (False, False)
        keys = [(x.tobytes(), y.tobytes(), int(z)) for x, y, z in zip(a, b, c, strict=True)]
        return np.array([numbers.setdefault(key, next(fresh)) for key in keys], np.uint32)

    sums = sums_of(MMA, "sm_90a")
    monkeypatch.setattr(sums, "results", free)
    a = np.arange(32 * 48, dtype=np.uint16).reshape(32, 48)  # no two elements are the same
    b = np.arange(32 * 48, 32 * 48 + 48 * 16, dtype=np.uint16).reshape(48, 16)
    c = np.arange(32 * 16, dtype=np.uint32).reshape(32, 16)
    found = MatrixProduct(sums, (False, False)).codes(a, b, c, None, 0, None)
    for row in range(32):
        for column in range(16):
            chain = int(c[row, column])
            for k in range(0, 48, 16):
                met = a[row, k : k + 16].tobytes(), b[k : k + 16, column].tobytes()
                chain = numbers[*met, chain]
            assert found[row, column] == chain
    assert len(numbers) == 3 * 32 * 16


@pytest.mark.parametrize("kind", range(6))
def test_real_products_are_what_matmul_says(monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    """The bench of real kernels adds step by step with `dot`; and in parts, as `accumulate` does."""
    monkeypatch.syspath_prepend(ROOT / "bench")
    bench: Any = importlib.import_module("real_products")
    assert len(bench.TRITON) == 6
    *_, step, mnemonic = bench.TRITON[kind]
    bits = {8: 32, 16: 16, 32: 8}[step]
    codes = np.random.default_rng(kind).integers(0, 1 << bits, (2, 64, 4 * step)).astype(f"u{bits // 8}")
    codes &= (1 << bits) - 1 - (1 << bits - 2)  # no infinity and no NaN
    a, b = codes
    whole = bench.chain(mnemonic, step, a, b)
    assert np.array_equal(whole, matmul_codes(mnemonic, a, b)) and len(np.unique(whole)) > 99
    if not kind % 5:
        parts = bench.added(mnemonic, step, a, b, 2 * step).view(np.uint32)
        assert np.array_equal(parts, matmul_codes(mnemonic, a, b, accumulate=2 * step))


def matmul_codes(mnemonic: str, a: Any, b: Any, accumulate: int | None = None) -> Any:
    """The codes of the product of a and of b (N, K)."""
    return ptxmma.matmul(mnemonic, a, np.ascontiguousarray(b.T), accumulate=accumulate)

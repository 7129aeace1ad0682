"""Where the parts of tcgen05.mma lie: by mnemonic, by descriptor word, by m, n and k; against tables typed here."""

from __future__ import annotations

import pytest

from ptxmma.spec.described_products import described_product, placed_part
from ptxmma.spec.errors import Question
from ptxmma.spec.parts import placed_parts, stated_parameters
from ptxmma.spec.specification import Specification

WATCHES = ("spec/descriptors.yaml", "spec/layouts/tcgen05*.yaml", "spec/instructions/tcgen05.*.yaml")

# 9.7.16.10.5: by .ws, .sp, cta_group and M, the data path of D; A is in tensor memory on A to D and F only.
PATHS = {
    ("", "", 1): {64: "F", 128: "D"},
    ("", ".sp", 1): {64: "F", 128: "D"},
    ("", "", 2): {128: "B", 256: "A"},
    ("", ".sp", 2): {128: "C", 256: "A"},
    (".ws", "", 1): {32: "G", 64: "E", 128: "D"},
    (".ws", ".sp", 1): {32: "G", 64: "E", 128: "D"},
}
# 9.7.16.2.1, Table 39: K of a dense A, and the bits that an element of A takes in tensor memory (9.7.16.10.4).
KINDS = {"f16": (16, 16), "tf32": (8, 32), "f8f6f4": (32, 8), "i8": (32, 8)}
# Table 57: by kind, block and K of a dense A, how many scale factors a row has.
SCALES = {
    ("mxf8f6f4", ".block32"): {32: 1},
    ("mxf4", ".block32"): {64: 2, 96: 3},
    ("mxf4nvf4", ".block32"): {64: 2, 96: 3},
    ("mxf4nvf4", ".block16"): {64: 4, 96: 6},
}
METADATA = {16: "16b", 32: "tf32", 8: "8b", 4: "8b"}


def _place(
    specification: Specification, mnemonic: str, part: str, **given: int
) -> tuple[str, dict[str, int]]:
    found = described_product(specification, specification.find(mnemonic)).placed(part, given)
    return found.layout.removeprefix("tcgen05."), dict(found.parameters)


@pytest.mark.parametrize("kind", KINDS)
def test_plain_kinds(specification: Specification, kind: str) -> None:
    dense, width = KINDS[kind]
    for (ws, sp, group), by_rows in PATHS.items():
        mnemonic = f"tcgen05.mma{ws}{sp}.cta_group::{group}.kind::{kind}"
        k = dense * (2 if sp else 1)
        for m, path in by_rows.items():
            half = {"half": 1} if path in "CF" else {}
            assert _place(specification, mnemonic, "D", m=m, n=64, k=k, **half) == (
                f"d.{path}",
                {"n": 64, **half},
            )
            if path in "EG":
                with pytest.raises(Question, match=f"no layout of A in tensor memory is known with .*m {m}"):
                    _place(specification, mnemonic, "A", m=m)
            else:
                columns = {} if half else {"bytes": 32}
                wanted = (f"a.{path}", {**columns, "width": width, **half})
                assert _place(specification, mnemonic, "A", m=m, k=k, **half) == wanted
            if not sp:
                assert "metadata" not in placed_parts(specification.layouts, specification.find(mnemonic))
                continue
            selector = {} if METADATA[width] == "8b" else {"s": 1}
            which = ".ws" if ws and m < 128 else ".m64" if path in "CF" else ""
            more = {"m": m} if which == ".ws" else half
            given = {"m": m, "k": k, **selector, **half}
            wanted = (f"metadata.{METADATA[width]}{which}", {**more, **selector})
            assert _place(specification, mnemonic, "metadata", **given) == wanted


@pytest.mark.parametrize(("kind", "block"), SCALES)
@pytest.mark.parametrize("sp", ["", ".sp"])
def test_scaled_kinds(specification: Specification, kind: str, block: str, sp: str) -> None:
    for k, count in SCALES[kind, block].items():
        if sp and k == 96:
            continue
        for group, m in ((1, 128), (2, 256)):
            mnemonic = f"tcgen05.mma{sp}.cta_group::{group}.kind::{kind}.block_scale{block}"
            told = {"m": m, "k": k * (2 if sp else 1)}
            ids = {} if count == 4 else {"id": 2}
            rows = {} if k == 96 else {"m": 128}
            assert _place(specification, mnemonic, "scale-a", **told, **ids) == (
                f"scale-a.{count}X",
                {**rows, **ids},
            )
            columns = {"n": 64, **ids}
            assert _place(specification, mnemonic, "scale-b", **told, **columns) == (
                f"scale-b.{count}X",
                columns,
            )
            a = {"bytes": 48 if k == 96 else 32, "width": 8 if kind == "mxf8f6f4" else 4}
            assert _place(specification, mnemonic, "A", **told) == ("a.A" if group == 2 else "a.D", a)
            if sp:
                assert _place(specification, mnemonic, "metadata", **told) == ("metadata.8b", {})


def test_scale_factors_of_64_rows_of_each_cta(specification: Specification) -> None:
    mnemonic = "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale"
    assert _place(specification, mnemonic, "scale-a", m=128, k=32, id=3) == ("scale-a.1X", {"m": 64, "id": 3})


def test_a_word_says_it_all(specification: Specification) -> None:
    """Words put together by hand from Tables 42 and 44: N >> 3 from bit 17 on, M >> 4 from 24, M >> 7 from 27."""
    plain = specification.find("tcgen05.mma.sp.cta_group::1.kind::f16")
    word = 1 | 1 << 2 | 1 << 4 | (96 >> 3) << 17 | (128 >> 4) << 24  # selector 1, sparse, D of f32
    product = described_product(specification, plain, word)
    assert product.placed("D", {}).parameters == {"n": 96}
    assert product.placed("metadata", {}) == product.placed("metadata", {"s": 1})
    assert product.placed("metadata", {}).parameters == {"s": 1}
    with pytest.raises(Question, match="s is 0; it must be 1"):
        product.placed("metadata", {"s": 0})
    with pytest.raises(Question, match="m with this instruction descriptor is 64; it must be 128"):
        product.placed("D", {"m": 64})
    scaled = specification.find("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16")
    word = 2 << 4 | 1 << 7 | 1 << 10 | (48 >> 3) << 17 | 1 << 27 | 1 << 31  # id of B 2, e2m1, ue4m3, K = 96
    product = described_product(specification, scaled, word)
    assert product.placed("scale-a", {}).layout == "tcgen05.scale-a.6X"
    assert product.placed("scale-a", {}).parameters == {"id": 0}
    assert product.placed("scale-b", {}).parameters == {"n": 48, "id": 2}
    word = 1 << 3 | 1 << 7 | 1 << 10 | 1 << 12 | (48 >> 3) << 17 | 1 << 27  # K = 128, a version of sm_107
    product = described_product(specification, scaled, word)
    assert product.placed("scale-a", {}).layout == "tcgen05.scale-a.8X"
    assert product.placed("scale-b", {}).layout == "tcgen05.scale-b.8X"
    assert product.placed("scale-b", {}).parameters == {"n": 48}


@pytest.mark.parametrize(
    ("mnemonic", "part", "told"),
    [
        ("tcgen05.mma.sp.cta_group::1.kind::f8f6f4", "metadata", {"m": 128, "k": 128}),
        ("tcgen05.mma.ws.sp.cta_group::1.kind::f8f6f4", "metadata", {"m": 64, "k": 128}),
        ("tcgen05.mma.sp.cta_group::1.kind::f8f6f4", "A", {"m": 64, "k": 128}),
        ("tcgen05.mma.sp.cta_group::2.kind::f8f6f4", "A", {"m": 128, "k": 128}),
        ("tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale", "metadata", {"m": 128, "k": 192}),
    ],
)
def test_what_a_longer_k_moves_elsewhere(
    specification: Specification, mnemonic: str, part: str, told: dict[str, int]
) -> None:
    """On sm_107: twice the metadata of 9.7.16.10.8.4.6, and 64 bytes of A where each row has 32 in all figures."""
    with pytest.raises(Question, match=f"no layout of {part} in tensor memory is known with"):
        _place(specification, mnemonic, part, **told)


def test_rows_of_64_bytes(specification: Specification) -> None:
    """CuTe's SM107 products with A in tensor memory: (128,64):(1 lane,1 byte)."""
    for group, path, m in ((1, "D", 128), (2, "A", 256)):
        mnemonic = f"tcgen05.mma.cta_group::{group}.kind::f8f6f4"
        wanted = (f"a.{path}", {"bytes": 64, "width": 8})
        assert _place(specification, mnemonic, "A", m=m, k=64) == wanted


def test_version_1_of_the_sparse_coding_has_no_known_metadata(specification: Specification) -> None:
    scaled = specification.find("tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale")
    word = 1 << 2 | 1 << 7 | 1 << 10 | (64 >> 3) << 17 | 1 << 23 | 1 << 27
    assert (
        described_product(specification, scaled, word).placed("metadata", {}).layout == "tcgen05.metadata.8b"
    )
    with pytest.raises(Question, match="no layout of metadata in tensor memory is known"):
        described_product(specification, scaled, word | 1 << 12).placed("metadata", {})


def test_scale_factors_in_128_lanes_have_no_known_layout(specification: Specification) -> None:
    scaled = specification.find("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale")
    word = (64 >> 3) << 17 | 1 << 23 | 1 << 27
    assert described_product(specification, scaled, word).placed("scale-a", {}).layout == "tcgen05.scale-a.1X"
    with pytest.raises(Question, match="no layout of scale-a in tensor memory is known"):
        described_product(specification, scaled, word | 1 << 26).placed("scale-a", {})


@pytest.mark.parametrize(
    ("part", "given", "why"),
    [
        ("D", {}, "lies depends on m, which its instruction descriptor has; m must be given: 64 or 128"),
        ("D", {"m": 128}, "n must be given: 8 to 256 in steps of 8"),
        ("D", {"m": 64, "n": 8}, "needs half: one of 0, 1"),
        ("D", {"m": 32}, "m of tcgen05.mma.cta_group::1.kind::f16 is 32; it must be 64 or 128"),
        ("D", {"m": 128, "n": 12}, "n of .* is 12; it must be 8 to 256 in steps of 8"),
        ("D", {"m": 128, "n": 8, "q": 1}, "has no q; it has m, n, k, width, bytes"),
        ("A", {"m": 128, "width": 8}, "width of .* is 8; it must be 16"),
        ("D", {"m": 64, "n": 8, "half": 2}, "half is 2; it must be 0 or 1"),
    ],
)
def test_what_is_missing_or_wrong(
    specification: Specification, part: str, given: dict[str, int], why: str
) -> None:
    with pytest.raises(Question, match=why):
        _place(specification, "tcgen05.mma.cta_group::1.kind::f16", part, **given)


def test_two_things_may_be_missing(specification: Specification) -> None:
    with pytest.raises(Question, match="m must be given: 128 or 256, and k must be given: 64 or 96 or 128"):
        _place(specification, "tcgen05.mma.cta_group::2.kind::mxf4.block_scale", "scale-a")


def test_a_product_without_a_known_descriptor(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ptxmma.spec.described_products.descriptor_of", lambda *_: None)
    with pytest.raises(Question, match="is not known, so where its matrices lie is not"):
        described_product(specification, specification.find("tcgen05.mma.cta_group::1.kind::f16"))


def test_what_is_no_such_product(specification: Specification) -> None:
    product = specification.find("tcgen05.mma.cta_group::1.kind::f16")
    with pytest.raises(Question, match="takes no instruction descriptor"):
        described_product(specification, specification.find("tcgen05.shift.cta_group::1.down"))
    with pytest.raises(
        Question, match=r"0xffffffff is not an instruction descriptor of .* \(and 9 reasons more\)"
    ):
        described_product(specification, product, 0xFFFFFFFF)
    named = {"D": "D", "d-tmem": "D", "a-tmem": "A", "a-desc": None, "B": None, "idesc": None}
    assert {name: placed_part(specification, product, name) for name in named} == named


def test_all_layouts_that_may_apply(specification: Specification) -> None:
    product = described_product(specification, specification.find("tcgen05.mma.ws.sp.cta_group::1.kind::i8"))
    assert product.possible("metadata") == {
        "tcgen05.metadata.8b.ws": {"m": (32, 64)},
        "tcgen05.metadata.8b": {"m": (128,)},
    }


# By shape, the greatest .num.
SHAPES = {"32x32b": 128, "16x64b": 128, "16x128b": 64, "16x256b": 32, "16x32bx2": 128}
# By what stands behind the CTA group, the layout of tcgen05.cp.
COPIES = {
    "128x256b": "128x256b",
    "4x256b": "4x256b",
    "128x128b": "128x128b",
    "64x128b.warpx2::02_13": "64x128b.02_13",
    "64x128b.warpx2::01_23": "64x128b.01_23",
    "32x128b.warpx4": "32x128b",
}


def _stated(specification: Specification, mnemonic: str) -> dict[str, tuple[str, dict[str, int]]]:
    variant = specification.find(mnemonic)
    return {
        name: (found, stated_parameters(specification.layouts[found], variant))
        for name, found in variant.layouts.items()
    }


def test_layouts_of_what_moves(specification: Specification) -> None:
    seen = set()
    for shape, most in SHAPES.items():
        for num in (2**power for power in range(most.bit_length())):
            for packed in (False, True):
                wanted = f"tcgen05.ld.{shape}{'.packed' * packed}", {"num": num}
                for way, qualifier in (("ld", ".pack::16b"), ("st", ".unpack::16b")):
                    mnemonic = f"tcgen05.{way}.sync.aligned.{shape}.x{num}{qualifier * packed}.b32"
                    seen.add(mnemonic)
                    assert _stated(specification, mnemonic) == {"data": wanted}
            if shape in ("32x32b", "16x32bx2") and num > 1:
                mnemonic = f"tcgen05.ld.red.sync.aligned.{shape}.x{num}.max.u32"
                assert _stated(specification, mnemonic) == {"data": (f"tcgen05.ld.{shape}", {"num": num})}
    own = (specification.families[f"tcgen05.{way}"].variants() for way in ("ld", "st"))
    assert seen == {variant.mnemonic for some in own for variant in some}
    for group in (1, 2):
        for written, layout in COPIES.items():
            placed: dict[str, tuple[str, dict[str, int]]] = {"taddr": (f"tcgen05.cp.{layout}", {})}
            mnemonic = f"tcgen05.cp.cta_group::{group}.{written}"
            assert _stated(specification, mnemonic) == placed
            for form in ("b6x16_p32", "b4x16_p64"):
                coded = {**placed, "s-desc": (f"tcgen05.cp.{form}", {})}
                assert _stated(specification, f"{mnemonic}.b8x16.{form}") == coded
        mnemonic = f"tcgen05.shift.cta_group::{group}.down"
        assert _stated(specification, mnemonic) == {"taddr": ("tcgen05.shift", {})}


# From where a layout of tensor memory takes what it depends on: the fields of the instruction descriptor that name
# the scale factors of A and of B (9.7.16.4.2, Tables 43 and 44), a block's share of M, the sparsity selector.
SHARE, ID_A, ID_B = "m // cta_group", "scale_id_A", "scale_id_B"
ARGUMENTS = {
    "scale-a.1X": {"m": SHARE, "id": ID_A}, "scale-a.2X": {"m": SHARE, "id": ID_A}, "scale-a.4X": {"m": SHARE},
    "scale-a.3X": {"id": ID_A}, "scale-a.6X": {"id": ID_A},
    "scale-b.1X": {"id": ID_B}, "scale-b.2X": {"id": ID_B}, "scale-b.3X": {"id": ID_B}, "scale-b.6X": {"id": ID_B},
    **{f"metadata.{kind}{form}": {"s": "sparsity_selector"} for kind in ("16b", "tf32") for form in ("", ".m64", ".ws")},
}  # fmt: skip


def test_what_layouts_take_from_the_statement(specification: Specification) -> None:
    found = {
        name.removeprefix("tcgen05."): {one: formula.text for one, formula in layout.layout.arguments.items()}
        for name, layout in specification.layouts.items()
        if name.startswith(("tcgen05.scale", "tcgen05.metadata")) and layout.layout.arguments
    }
    assert found == ARGUMENTS

"""Dot products in scripts: the text of `ptxmma explain`, for every set of types, and its refusals."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from typing import Any
from urllib.parse import parse_qsl

import pytest

from ptxmma.atlas.files import Atlas, AtlasPage
from ptxmma.atlas.sections import arithmetic as section
from ptxmma.atlas.sections import instructions
from ptxmma.atlas.sums_data import sums_data
from ptxmma.gen.arithmetic.explained_elements import explained_element
from ptxmma.spec.api import find, load
from ptxmma.spec.errors import Question

from .conftest import Open
from .in_node import in_node

Run = Callable[..., tuple[int, str, str]]
TARGET = "sm_90a"
SCRIPTS = ("element_codes", "sums", "explained")
NAMES = {"a": "--a", "b": "--b", "c": "--c"}
FLOATS = (
    "1",
    "-1.5",
    "0.1",
    "-0",
    "inf",
    "-inf",
    "nan",
    "0x1p-14",
    "3e-7",
    "-2.5*3",
    ".5",
    "57344",
    "0x1.8p3",
)
INTEGERS = ("0", "1", "1*5", "+1", "7", "3*4")
MNEMONIC = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
# What is asked of a script: a mnemonic, the elements as written, and the scales of A and B.
Asked = tuple[str, dict[str, str], list[int]]


@cache
def data() -> dict[str, Any]:
    return sums_data(load(), TARGET)


def drawn(draw: random.Random, element: str) -> str:
    """An element as people write it: a number, or any pattern, those of NaNs and subnormal numbers among them."""
    kind, form = load().index.types[element], load().formats.get(element)
    if form is None:
        return draw.choice(
            (f"0x{draw.getrandbits(kind.bits):x}", "1" if kind.bits == 1 else draw.choice(INTEGERS))
        )
    if draw.random() < 0.4:
        return f"0x{draw.getrandbits(kind.bits):x}"
    if draw.random() < 0.2:  # a subnormal number, or nearly one
        return f"0x{draw.getrandbits(form.fraction + 1) << form.ignored:x}"
    return draw.choice(
        [one for one in FLOATS if form.specials == "ieee" or "inf" not in one][: 8 + 5 * (kind.bits > 8)]
    )


def row(draw: random.Random, element: str, products: int) -> str:
    few = draw.random() < 0.5
    count = draw.randint(1, 3 if few else max(1, products // 3))
    return ",".join(drawn(draw, element) for _ in range(min(count, products)))


def sampled(times: int) -> Iterator[Asked]:
    """Samples of every set of types."""
    draw = random.Random(19)
    for one in data()["sets"]:
        for _ in range(times):
            negatable, mnemonics = draw.choice(list(one["mnemonics"].items()))
            types = one["types"]
            written = {
                "a": row(draw, types["A"], one["products"]),
                "b": row(draw, types["B"], one["products"]),
                "c": drawn(draw, types["C"]).split("*")[0],
            }
            scales = [draw.choice((1, -1)) if part in negatable else 1 for part in "AB"]
            yield draw.choice(mnemonics), written, scales


def answered(mnemonic: str, written: dict[str, str], scales: list[int], target: str = TARGET) -> str:
    """What the CLI says, a refusal too."""
    named = {NAMES[part]: text for part, text in written.items()}
    try:
        return str(explained_element(load(), find(mnemonic), target, named, (scales[0], scales[1])))
    except Question as refusal:
        return str(refusal)


def in_scripts(asked: list[Asked], changed: dict[str, Any] | None = None, target: str = TARGET) -> list[str]:
    body = (
        "return given.asked.map(([mnemonic, written, scales]) => {"
        " const said = ptxmma.explained.explain(ptxmma.data.sums, mnemonic, written, given.names, scales, given.target);"
        " return said.text ?? said.why; });"
    )
    found: list[str] = in_node(
        SCRIPTS, {"sums": changed or data()}, {"asked": asked, "names": NAMES, "target": target}, body
    )
    return found


def test_scripts_explain_as_the_command_does() -> None:
    asked = list(sampled(2))
    wanted = [answered(*one) for one in asked]
    assert [pair for pair in zip(asked, in_scripts(asked), wanted, strict=True) if pair[1] != pair[2]][
        :1
    ] == []
    # The samples are worth their name: every row, and numbers, infinities, NaNs, cuts, and both kinds of ends.
    assert {text.split("\n")[1].split(":")[0] for text in wanted if "\n" in text} == {
        f"row {one['row']}" for one in data()["sets"]
    }
    for said in (
        "nan",
        "= inf",
        "= -inf",
        "kept",
        "products are 0",
        "exact: the same",
        "D - exact",
        "sum 4:",
    ):
        assert any(said in text for text in wanted), said
    assert sum("\n" in text for text in wanted) > 200


def test_the_pages_of_instructions_lead_to_their_own_sums() -> None:
    pages = {one.path: one for one in instructions.made(Atlas(load())) if isinstance(one, AtlasPage)}
    asked: list[Asked] = []
    for path, page in pages.items():
        for link in re.findall(r'href="../arithmetic.html#([^"]+)"', page.body):
            state = dict(parse_qsl(unescape(link)))
            assert find(state["m"]).row.family.instruction.instruction == page.title, path
            asked.append((state["m"], {part: state[part] for part in "abc"}, [1, 1]))
    assert {mnemonic.split(".sync")[0] for mnemonic, _, _ in asked} >= {"mma", "mma.sp", "wgmma.mma_async"}
    said = in_scripts(asked)
    assert all("D - exact" in text or "exact: the same" in text for text in said), said


def test_the_table_has_the_bounds_that_numerics_prints(run: Run) -> None:
    (page,) = (one for one in section.made(Atlas(load())) if isinstance(one, AtlasPage))
    printed = json.loads(run("numerics", "--format", "json")[1])["sums"]
    shown = re.findall(r"<code>([^<]*u\d+[^<]*)</code></td>", page.body)
    assert "7 * 2^(e - 25) + u24" in shown and len(shown) > 20
    units = {f"u{one['digits']}" for sum_ in printed for step in sum_["steps"] for one in step["bounds"]}
    assert set(re.findall(r"u\d+", " ".join(shown))) == units


def test_a_wrong_formula_is_seen() -> None:
    asked = list(sampled(1))
    spoilt = sums_data(load(), TARGET)
    for stage in spoilt["models"]["window"]["stages"]:
        if "below" in stage["let"]:
            stage["let"]["below"] += " + 1n"
    assert in_scripts(asked, spoilt) != [answered(*one) for one in asked]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"a": "1*17", "b": "1", "c": "0"}, "--a has more than the 16 elements of a product"),
        ({"a": "x", "b": "1", "c": "0"}, "--a: 'x' is not an element; write 1.5"),
        ({"a": "1*y", "b": "1", "c": "0"}, "--a: '1*y' is not an element; write VALUE*COUNT"),
        (
            {"a": "1", "b": "70000", "c": "0"},
            "--b: 70000 is not an element of .f16, whose greatest number is 65504",
        ),
        ({"a": "1", "b": "1", "c": "0x123456789"}, "--c: 0x123456789 has more than the 32 bits of .f32"),
        ({"a": "", "b": "1", "c": "0"}, "--a: '' is not an element"),
    ],
)
def test_refusals_are_those_of_the_command(written: dict[str, str], said: str) -> None:
    asked: Asked = MNEMONIC, written, [1, 1]
    assert answered(*asked).startswith(said)
    assert in_scripts([asked]) == [answered(*asked)]


def test_other_refusals_are_those_of_the_command() -> None:
    sparse = "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32"
    integers = "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"
    asked: list[Asked] = [
        (MNEMONIC, {"a": "1", "b": "1", "c": "0"}, [-1, 1]),
        (sparse, {"a": "inf", "b": "1", "c": "0"}, [1, 1]),
        (sparse, {"a": "1", "b": "1e9", "c": "0"}, [1, 1]),
        (integers, {"a": "128", "b": "1", "c": "0"}, [1, 1]),
        (integers, {"a": "1", "b": "-1", "c": "0"}, [1, 1]),
        (integers, {"a": "1", "b": "0.5", "c": "0"}, [1, 1]),
    ]
    wanted = [answered(*one) for one in asked]
    assert all("\n" not in text for text in wanted)
    assert in_scripts(asked) == wanted


@pytest.mark.parametrize("target", ["sm_70", "sm_80", "sm_90", "sm_100a", "sm_120"])
def test_other_targets_are_answered_as_by_the_command(target: str) -> None:
    fp8 = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"
    double = "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"
    written = {"a": "1", "b": "1", "c": "0"}
    asked: list[Asked] = [(one, written, [1, 1]) for one in (MNEMONIC, fp8, double)]
    wanted = [answered(*one, target) for one in asked]
    assert in_scripts(asked, target=target) == wanted
    assert wanted[1] == f"{fp8} is not legal on {target}"
    assert ("\n" in wanted[0]) == (target == "sm_90")
    assert in_scripts([("mma.nothing", written, [1, 1])], target=target) == [
        "mma.nothing is not a whole mnemonic that adds products on sm_90"
        if target == "sm_90"
        else f"no sums are known on {target}: not measured"
    ]


def test_the_page_compares_two_instructions(open_page: Open, run: Run) -> None:
    page = open_page("arithmetic.html")
    first, second = page.locator("#steps pre").all_inner_texts()
    assert "kept 0" in first and "kept" not in second
    assert page.locator("#verdict").inner_text() == "D differs: the first minus the second is -1."
    page.locator("#mnemonic-0").fill(MNEMONIC.upper() + ";")
    page.locator("#mnemonic-1").fill("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
    page.locator("#a").fill("1,0x1p-14")
    page.locator("#b").fill("1,0x1p-12")
    page.locator("#c").fill("-1")
    code, said, _ = run("explain", MNEMONIC, "--a", "1,0x1p-14", "--b", "1,0x1p-12", "--c", "-1")
    assert code == 0 and page.locator("#steps pre").first.text_content() == said.rstrip("\n")
    assert page.locator("#verdict").inner_text() == "D is the same number by both."
    page.locator("#sa").select_option("-1")
    assert page.locator("#steps .bad").inner_text().startswith(f"First: {MNEMONIC} cannot negate A")
    page.locator("#target").select_option("sm_80")
    assert (
        page.locator("#steps .bad").first.inner_text()
        == f"First: no model of {MNEMONIC} on sm_80: not measured."
    )
    shown = page.locator("#steps").inner_text()
    again = open_page("arithmetic.html#" + page.url.partition("#")[2])
    assert again.locator("#steps").inner_text() == shown


def test_the_page_answers_at_once(open_page: Open) -> None:
    page = open_page("arithmetic.html")
    longest = max(data()["sets"], key=lambda one: int(one["products"]))
    products = longest["products"]
    page.locator("#mnemonic-0").fill(next(iter(longest["mnemonics"].values()))[0])
    page.locator("#b").fill(f"1*{products}")
    least = page.evaluate(
        """count => {
          const a = document.getElementById("a");
          const taken = [...Array(5).keys()].map((n) => {
            a.value = `1*${count - n}`;
            const begin = performance.now();
            a.dispatchEvent(new Event("input", { bubbles: true }));
            return performance.now() - begin;
          });
          return Math.min(...taken);
        }""",
        products,
    )
    assert f"k 0..{products - 5}" in page.locator("#steps pre").first.inner_text()
    assert least <= 50


def test_the_table_says_what_sums_lose(open_page: Open) -> None:
    page = open_page("arithmetic.html")
    lines = {tuple(line.locator("th, td").all_inner_texts()) for line in page.locator("tbody tr").all()}
    for fp8, factor in (("e4m3 x e4m3, e4m3 x e5m2, e5m2 x e4m3", "31.5"), ("e5m2 x e5m2", "30")):
        error = f"{factor} * 2^(e - 13) + u14"
        assert (fp8, "f32", "f32", "32", "13", "14 digits, directed", error, "2^14") in lines
    assert (
        "f16 x f16",
        "f16",
        "f16",
        "16",
        "25",
        "11 digits, to nearest",
        "16 * 2^(e - 25) + u11/2",
        "2^11",
    ) in lines
    assert ("b1 x b1", "s32", "s32", "128", "exact", "exact", "0", "1 * 1 is 0") in lines
    page.get_by_role("link", name="tf32 x tf32").first.click()
    assert "row wgmma.float" in page.locator("#steps").inner_text()

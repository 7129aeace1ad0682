"""Descriptors in scripts: the words, fields, reasons and addresses that `ptxmma descriptor` gives."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from ptxmma.atlas.descriptor_data import descriptor_data
from ptxmma.atlas.layout_data import layout_data
from ptxmma.spec.api import load
from ptxmma.spec.column_masks import zeroed_columns
from ptxmma.spec.descriptor import encode, limit
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification

from .conftest import Open
from .in_node import in_node

Run = Callable[..., tuple[int, str, str]]
SCRIPTS = ("layout_maps", "descriptor_words", "shared_memory")


@cache
def data() -> dict[str, Any]:
    return descriptor_data(load())


def words(specification: Specification, draw: random.Random, name: str) -> list[int]:
    """Words of a descriptor: legal ones, ones with a wrong value, and any."""
    descriptor = specification.descriptors[name]
    found = [draw.getrandbits(descriptor.bits), 0]
    for _ in range(3):
        word = 0
        for field in descriptor.fields.values():
            coded = draw.choice([*field.values.values(), field.constant or 0])
            word |= (
                coded if field.values or field.constant else draw.randrange(1 << field.high - field.low + 1)
            ) << field.low
        found.append(word)
    return found


JUDGED = """const all = ptxmma.data.descriptors;
return given.map(([name, word, settings, version, target]) => {
  const own = ptxmma.descriptors;
  const descriptor = all.descriptors[name];
  const found = own.judge(all, descriptor, BigInt(word), settings, version, target);
  if (found.why) return { why: found.why };
  return { word: own.hex(descriptor, found.word), fields: found.fields,
    ...(descriptor.rules.length ? { legal: !found.reasons.length, settings: found.settings, reasons: found.reasons.map(({ code, message }) => ({ code, message })) } : {}) };
});"""


def test_words_are_judged_as_the_command_judges_them(specification: Specification, run: Run) -> None:
    draw = random.Random(11)
    asked, wanted = [], []
    for name, descriptor in specification.descriptors.items():
        for word in [*words(specification, draw, name), 1 << descriptor.bits]:
            settings = {
                key: draw.choice(scalars.values)
                for key, scalars in descriptor.settings.items()
                if draw.random() < 0.5
            }
            version, target = draw.choice(
                [("9.5", ""), ("8.8", "sm_103a"), ("9.4", "sm_107a"), ("8.7", "sm_100a")]
            )
            options = [f"--ptx={version}", *([f"--target={target}"] if target else [])]
            _, out, err = run(
                "descriptor", "decode", str(word), *(f"{k}={v}" for k, v in settings.items()),
                f"--kind={name}", "--format=json", *options,
            )  # fmt: skip
            asked.append([name, str(word), settings, version, target])
            wanted.append(json.loads(out) if out else err)
    assert len(wanted) > 60
    said = in_node(SCRIPTS, {"descriptors": data()}, asked, JUDGED)
    assert sum("legal" in one and one["legal"] for one in said) > 5
    for one, right in zip(said, wanted, strict=True):
        if isinstance(right, str):
            assert one["why"] in right
        else:
            assert one == {key: right[key] for key in one}


def test_fields_are_encoded_as_the_command_encodes_them(specification: Specification) -> None:
    draw = random.Random(13)
    asked: list[Any] = []
    wanted: list[str] = []
    for name, descriptor in specification.descriptors.items():
        for key, field in descriptor.fields.items():
            values: tuple[int | str, ...] = (
                draw.randrange(limit(field) + 1), limit(field) // field.unit * field.unit, limit(field) + 1,
                "nosuch", *list(field.values)[:1],
            )  # fmt: skip
            for value in values:
                asked.append([name, {key: value}])
                try:
                    wanted.append(str(encode(descriptor, {key: value})))
                except Question as question:
                    wanted.append(str(question))
    body = """return given.map(([name, fields]) => {
      const found = ptxmma.descriptors.encode(ptxmma.data.descriptors.descriptors[name], fields);
      return found.why || String(found.word);
    });"""
    assert in_node(SCRIPTS, {"descriptors": data()}, asked, body) == wanted


def test_masks_zero_the_same_columns(specification: Specification) -> None:
    draw = random.Random(17)
    asked, wanted = [], []
    for name, descriptor in specification.descriptors.items():
        if descriptor.columns is None:
            continue
        for _ in range(12):
            word = draw.getrandbits(64)
            settings = {key: int(draw.choice(one.values)) for key, one in descriptor.settings.items()}
            count = int(draw.choice(descriptor.columns.counts.values))
            asked.append([name, str(word), count, settings])
            wanted.append(list(zeroed_columns(descriptor, word, count, settings)))
    body = """const own = ptxmma.descriptors;
    return given.map(([name, word, count, settings]) => {
      const descriptor = ptxmma.data.descriptors.descriptors[name];
      return own.zeroed(descriptor, own.fields(descriptor, BigInt(word)), count, settings);
    });"""
    assert wanted and in_node(SCRIPTS, {"descriptors": data()}, asked, body) == wanted


def test_elements_lie_where_the_command_says(specification: Specification, run: Run) -> None:
    draw = random.Random(19)
    asked, wanted = [], []
    for name, descriptor in specification.descriptors.items():
        if not descriptor.addresses:
            continue
        for _ in range(30):
            word = 0
            for field in descriptor.fields.values():
                coded = draw.choice([*field.values.values()] or [draw.randrange(64)])
                word |= (coded if field.constant is None else field.constant) % (
                    1 << field.high - field.low + 1
                ) << field.low
            major, size = draw.choice(["K", "MN"]), draw.choice([1, 2, 4])
            x, k = draw.randrange(256), draw.randrange(32)
            _, out, err = run(
                "descriptor", "address", str(word), f"--kind={name}", f"--major={major}", f"--bytes={size}",
                f"--row={x}", f"--k={k}",
            )  # fmt: skip
            asked.append([name, str(word), major, size, x, k])
            wanted.append((out or err).strip())
    body = """const all = ptxmma.data.descriptors;
    return given.map(([name, word, major, size, x, k]) => {
      const descriptor = all.descriptors[name];
      const one = ptxmma.shared.matrix(all, ptxmma.data.layouts.layouts, descriptor, ptxmma.descriptors.fields(descriptor, BigInt(word)), major, size);
      return one.why || ptxmma.shared.sentence(one, x, k);
    });"""
    said = in_node(SCRIPTS, {"descriptors": data(), "layouts": layout_data(specification)}, asked, body)
    assert sum(" lies at " in one for one in said) > 10
    for one, right in zip(said, wanted, strict=True):
        assert one in right


def test_swizzling_spares_turns(specification: Specification) -> None:
    """Eight rows of 128 bytes: as they stand all of them ask the same banks; swizzled, each asks its own."""
    descriptor = specification.descriptors["wgmma"]
    modes = descriptor.fields[str(descriptor.field_of("mode"))].values
    strides = {"leading-dimension-byte-offset": 16, "stride-dimension-byte-offset": 1024}
    swizzled = encode(descriptor, {**strides, str(descriptor.field_of("mode")): modes["128B"]})
    body = """const all = ptxmma.data.descriptors;
    const descriptor = all.descriptors.wgmma;
    const one = ptxmma.shared.matrix(all, ptxmma.data.layouts.layouts, descriptor, ptxmma.descriptors.fields(descriptor, BigInt(given)), "K", 2);
    const plain = { ...one, address: (x, k, byte = 0) => 128 * x + 2 * k + byte };
    return [ptxmma.shared.turns(one, ptxmma.shared.reads(one, 0, 0)), ptxmma.shared.turns(plain, ptxmma.shared.reads(plain, 0, 0))];"""
    made = {"descriptors": data(), "layouts": layout_data(specification)}
    assert in_node(SCRIPTS, made, str(swizzled), body) == [1, 8]


@pytest.mark.slow
def test_a_field_changes_the_word_and_back(open_page: Open) -> None:
    page = open_page("descriptors.html#descriptor=wgmma")
    field = page.locator('[data-field="start-address"]')
    field.fill("1024")
    field.blur()
    assert page.locator("#word").input_value() == "0x0000000000000040"
    page.locator("#word").fill("0x80")
    assert page.locator('[data-field="start-address"]').input_value() == "2048"
    page.locator("#word").fill("x")
    assert "is not an integer" in page.locator("#answer").inner_text()
    page.go_back()  # what was typed is one step
    assert page.locator("#word").input_value() == "0x0000000000000040"


@pytest.mark.slow
def test_the_examples_are_legal(open_page: Open) -> None:
    page = open_page("descriptors.html")
    assert "mode 128B" in page.inner_text("#place")
    for link in page.locator("#start a").all():
        link.evaluate("one => one.click()")  # the list folds when one is chosen
        page.wait_for_function("word => document.getElementById('word').value === word", arg=re.findall(
            "word=(\\w+)", str(link.get_attribute("href")))[0])  # fmt: skip
        assert page.locator("#answer .good").count() == 1


@pytest.mark.slow
def test_an_address_says_all_that_is_chosen(open_page: Open) -> None:
    page = open_page("descriptors.html#descriptor=wgmma")
    page.select_option("#major", "MN")
    page.select_option("#bytes", "4")
    page.select_option("#target", "sm_90a")
    assert page.inner_text("#place") == "MN-major elements have 2 bytes, not 4"
    page.select_option("#descriptor", "tcgen05.shared")
    assert page.input_value("#major") == "K" and page.input_value("#target") == "sm_90a"
    shown = page.inner_text("#place")
    assert " lies at " in shown
    again = open_page("descriptors.html#" + page.url.partition("#")[2])
    assert again.inner_text("#place") == shown and again.input_value("#target") == "sm_90a"

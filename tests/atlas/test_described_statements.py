"""A statement with the word of its instruction descriptor: the scripts say what `ptxmma legal --idesc` says."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from ptxmma.assemblers.universe import Universe
from ptxmma.atlas.descriptor_data import descriptor_data
from ptxmma.atlas.legality_data import legality_data
from ptxmma.atlas.sections.home import DESCRIBED, JUDGE
from ptxmma.spec.described_operands import descriptor_of
from ptxmma.spec.specification import Specification

from .conftest import Open
from .in_node import in_node

Run = Callable[..., tuple[int, str, str]]

STATEMENT = "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, %r1, %p0;"
LEGAL = "0x08200010"  # D in 32 bits, 128 rows and 128 columns
SETTINGS = (("", ""), ("9.5", "sm_100a"), ("8.8", "sm_103a"), ("9.4", "sm_107a"), ("8.6", "sm_90a"))
KEPT = ("verdict", "reasons", "notes", "ptx", "row", "since", "operands", "nearest")

_BODY = """
const specification = new ptxmma.legality.Specification(ptxmma.data.legality);
return given.map(([text, word, ptx, target]) => {
  const found = ptxmma.described.answer(specification.judge(ptx, target), ptxmma.data.descriptors, text, word, ptx, target);
  if (found.idesc) found.idesc = { descriptor: found.idesc.name, settings: found.idesc.settings, fields: found.idesc.fields };
  return found;
});
"""


def asked(specification: Specification) -> list[tuple[str, str, str, str]]:
    """Statements of every instruction that takes a descriptor, with words near legal ones and any others."""
    chance = random.Random(5)
    made = Universe(specification)
    found = []
    for family in specification.families.values():
        words = [one.word for one in family.instruction.operands.values() if one.word]
        if not words:
            continue
        legal = list(made.legal(family))
        for variant, form in chance.sample(legal, 25):
            operand = next(o for o in variant.instruction.operands.values() if o.word)
            name = descriptor_of(operand, variant)
            fields = specification.descriptors[name].fields.values() if name else ()
            word = (
                sum(
                    (
                        chance.choice([*f.values.values(), f.constant or 0])
                        if f.values or f.constant
                        else chance.choice([2, 4, 8])
                    )
                    << f.low
                    for f in fields
                )
                & 0xFFFFFFFF
            )
            text = made.write(variant, form)
            written = f"{text.mnemonic} {text.operands};"
            found.append((written, hex(word), *chance.choice(SETTINGS)))
            found.append((written, str(chance.getrandbits(32)), *chance.choice(SETTINGS)))
    return [
        *found,
        *((STATEMENT, LEGAL, *setting) for setting in SETTINGS),
        (STATEMENT, "0x100000000", "", ""), (STATEMENT, "-0x1", "", ""), (STATEMENT, "1_0", "", ""), (STATEMENT, "1__0", "", ""),
        (STATEMENT, "word", "", ""), ("nosuch;", "word", "", ""), ("wgmma.fence.sync.aligned;", "0", "", ""), ("nosuch;", "0", "", ""),
        (STATEMENT.replace("%p0", "7"), "0", "", ""),
    ]  # fmt: skip


def test_the_browser_judges_words_as_the_command_does(specification: Specification, run: Run) -> None:
    questions = asked(specification)
    data = {"legality": legality_data(specification), "descriptors": descriptor_data(specification)}
    answers: list[dict[str, Any]] = in_node((*JUDGE, *DESCRIBED), data, questions, _BODY)
    verdicts = set()
    for question, mine in zip(questions, answers, strict=True):
        text, word, ptx, target = question
        options = [*([f"--ptx={ptx}"] if ptx else []), *([f"--target={target}"] if target else [])]
        _, out, err = run("legal", text, f"--idesc={word}", "--format=json", *options)
        if not out:
            assert err.removeprefix("ptxmma: ").strip() == mine["why"], question
            continue
        said = json.loads(out)
        assert {name: mine[name] for name in KEPT} == {name: said[name] for name in KEPT}, question
        assert ("idesc" in said) == ("idesc" in mine), question
        if "idesc" in said:
            for part in ("fields", "settings"):
                assert mine["idesc"][part] == said["idesc"][part], question
            verdicts.add((said["verdict"], bool(said["idesc"]["reasons"])))
    assert {("legal", False), ("illegal", True), ("illegal", False)} <= verdicts


@pytest.mark.slow
def test_the_first_page_has_a_field_for_the_word(open_page: Open, run: Run) -> None:
    page = open_page("index.html")
    page.fill("#statement", "wgmma.fence.sync.aligned;")
    page.wait_for_selector("#answer h2")
    assert not page.locator("#idesc").is_visible()
    page.fill("#statement", STATEMENT)
    page.wait_for_selector("#idesc")
    page.fill("#idesc", "0x1")
    page.wait_for_selector("#answer li")
    _, said, _ = run("legal", STATEMENT, "--idesc=0x1", "--format=json")
    shown = page.inner_text("#answer")
    assert all(f"{one['code']}: {one['message']}" in shown for one in json.loads(said)["reasons"])
    assert shown.startswith("illegal")
    page.fill("#idesc", LEGAL)
    page.wait_for_selector("#answer .good")
    assert "m = 128" in page.inner_text("#answer")
    page.reload()
    page.wait_for_selector("#answer .good")
    with page.expect_navigation():
        page.locator("#answer a", has_text="tcgen05.f16").click()
    assert page.locator("#word").input_value() == LEGAL
    assert page.locator("#answer").inner_text().startswith("legal")


@pytest.mark.slow
def test_an_instruction_leads_to_its_descriptors_and_operands(open_page: Open) -> None:
    page = open_page("instructions/tcgen05.mma.html")
    with page.expect_navigation():
        page.locator("#chosen a", has_text="idesc: tcgen05.").click()
    assert page.locator("#descriptor").input_value().startswith("tcgen05.")
    page.go_back()
    with page.expect_navigation():
        page.locator("#chosen a", has_text="In tensor memory").click()
    assert page.locator("#mnemonic").input_value().startswith("tcgen05.mma.")
    assert page.locator("#idesc").is_visible() and page.locator("#picture").is_visible()
    page = open_page("instructions/wgmma.mma_async.sp.html")
    page.locator("#rows ~ details summary").first.click()
    with page.expect_navigation():
        page.locator("details a", has_text="metadata: ").first.click()
    assert page.locator("#operand").input_value() == "metadata" and page.locator("#picture").is_visible()

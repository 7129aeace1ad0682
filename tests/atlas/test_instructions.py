"""The page of an instruction: what it builds is legal, and what it says of assemblers is what is recorded."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ptxmma
from ptxmma.atlas.asked_data import asked_data, releases_data
from ptxmma.atlas.legality_data import legality_data, page_of
from ptxmma.atlas.sections.home import JUDGE
from ptxmma.ledger.assembler_record import claims, load_records
from ptxmma.spec.specification import Specification

from .conftest import Open
from .in_node import in_node

_PASTED = """
const specification = new ptxmma.legality.Specification(ptxmma.data.legality);
const made = [];
for (const family of specification.families) for (const variant of family.listed()) for (const form of variant.forms) {
  const text = ptxmma.paste.ptx(variant, form);
  const { verdict, reasons, ptx, operands } = specification.judge("", "").answer(text);
  const same = ptx === variant.mnemonic && JSON.stringify(operands) === JSON.stringify(form.operands);
  made.push({ mnemonic: variant.mnemonic, text, cuda: ptxmma.paste.cuda(variant, form), verdict, reasons, same });
}
return made;
"""


@pytest.fixture(scope="module")
def pasted(specification: Specification) -> list[dict[str, Any]]:
    """Every form of every mnemonic, to paste."""
    data = {"legality": legality_data(specification)}
    made: list[dict[str, Any]] = in_node((*JUDGE, "paste"), data, None, _PASTED)
    return made


def test_every_form_to_paste_is_legal(specification: Specification, pasted: list[dict[str, Any]]) -> None:
    forms = sum(len(v.row.row.forms) for family in specification.families.values() for v in family.listed())
    assert len(pasted) == forms
    # What a version has removed is not legal under the newest.
    wrong = [
        one
        for one in pasted
        if {reason["code"] for reason in one["reasons"]} - {"gate.removed"} or not one["same"]
    ]
    assert wrong[:3] == []
    for one in random.Random(5).sample(pasted, 100):
        assert ptxmma.legal(one["text"]).verdict == one["verdict"]


def test_inline_assembly_to_paste_is_read_and_legal(
    pasted: list[dict[str, Any]], run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    draw = random.Random(8)
    legal = [one for one in pasted if not one["reasons"]]
    taken = {one["mnemonic"].partition(".m")[0]: one for one in draw.sample(legal, len(legal))}
    taken |= {one["mnemonic"]: one for one in legal if "::2:4" in one["mnemonic"]}
    source = tmp_path / "pasted.cu"
    body = "\n".join("{" + one["cuda"] + "}" for one in taken.values())
    source.write_text(f"__device__ void f() {{\n{body}\n}}\n", encoding="utf-8")
    code, said, _ = run("check", "--cuda", str(source))
    assert code == 0 and f"{len(taken)} asm statements, {len(taken)} of the specification" in said
    assert f"{len(taken)} legal" in said, said


def test_inline_assembly_numbers_each_operand_once(pasted: list[dict[str, Any]]) -> None:
    for one in pasted:
        text, constraints = one["cuda"].split("\n    : ", 1)
        numbers = [int(word) for word in _numbers(text)]
        assert sorted(numbers) == list(range(constraints.count('"(')))


def _numbers(text: str) -> list[str]:
    return re.findall(r"%(\d+)", text)


def test_what_assemblers_said_is_what_is_recorded(specification: Specification) -> None:
    records = load_records()
    asked = [claim for claim in claims(specification) if claim.view.family.instruction.name == "mma"]
    chance = random.Random(7)
    rows = [
        (claim, chance.randrange(len(claim.forms))) for claim in asked if claim.view.row.tolerated is None
    ]
    data = {
        "legality": legality_data(specification),
        "assemblers": releases_data(records),
        "asked": {claim.id: asked_data([claim], records) for claim, _ in rows},
    }
    given = [
        (claim.id, claim.forms[number][0].mnemonic, list(claim.forms[number][1].operands))
        for claim, number in rows
    ]
    body = """
    const specification = new ptxmma.legality.Specification(ptxmma.data.legality);
    return given.map(([id, mnemonic, operands]) => {
      const variant = specification.variantOf(mnemonic);
      const form = variant.forms.find((one) => JSON.stringify(one.operands) === JSON.stringify(operands));
      return ptxmma.asked.answers(ptxmma.data.assemblers, ptxmma.data.asked[id], variant, form);
    });
    """
    found = in_node((*JUDGE, "asked"), data, given, body)
    isa = specification.isa
    for (claim, number), answers in zip(rows, found, strict=True):
        for record, answer in zip(records, answers, strict=True):
            assert claim is not None
            seen = record.seen(claim)
            assert seen is not None
            expected = [
                {
                    "ptx": ptx,
                    "target": target,
                    "accepted": bool(bitmap >> number & 1),
                    "legal": bool(claim.legal(isa.version(ptx), target) >> number & 1),
                }
                for (ptx, target), bitmap in zip(record.settings, seen, strict=True)
            ]
            assert answer == {"release": record.release, "settings": expected}


_BUILT = """
const specification = new ptxmma.legality.Specification(ptxmma.data.legality);
return given.map(([id, ptx, target]) => {
  const builder = new ptxmma.builder.Builder(specification, id);
  const judge = specification.judge(ptx, target);
  const variant = builder.first(judge);
  return builder.slots.flatMap(({ name, options }) => options.map((option) => ({
    mnemonic: builder.changed(variant, name, option),
    open: builder.with(judge, variant, name, option) !== null,
    why: builder.why(judge, variant, name, option),
    near: builder.nearest(judge, variant, name, option)?.mnemonic ?? null,
  })));
});
"""


@pytest.mark.parametrize(("ptx", "target"), [("", ""), ("8.3", "sm_90a"), ("8.6", "sm_100a")])
def test_what_the_builder_greys_is_illegal(specification: Specification, ptx: str, target: str) -> None:
    data = {"legality": legality_data(specification)}
    given = [(name, ptx, target) for name in specification.families]
    judge = ptxmma.spec.api.judge(ptx or None, target or None)
    for (name, *_), built in zip(given, in_node((*JUDGE, "builder"), data, given, _BUILT), strict=True):
        for one in built:
            named = judge.judge_mnemonic(one["mnemonic"])
            mine = named.variant is not None and named.variant.instruction.instruction == name
            canonical = mine and named.variant is not None and named.variant.mnemonic == one["mnemonic"]
            assert one["open"] == (named.verdict == "legal" and canonical), one
            assert one["open"] != bool(one["why"]), one
            if one["near"] is not None:
                assert judge.judge_mnemonic(one["near"]).verdict == "legal"


@pytest.mark.slow
def test_the_form_builder_greys_what_is_impossible_and_says_why(open_page: Open) -> None:
    page = open_page(
        f"{page_of('wgmma.mma_async')}#mnemonic=wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
    )
    assert page.inner_text("#mnemonic") == "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
    other = page.locator('[data-slot="btype"][data-option="bf16"]')
    other.hover()
    assert (
        other.get_attribute("title") == "btype is .bf16; allowed: .f16"
        and other.get_attribute("class") == "impossible"
    )
    other.click()
    assert "does not go with the others" in page.inner_text("#said")
    assert page.inner_text("#mnemonic") == "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
    assert page.evaluate("ptxmma.state.read().mnemonic").endswith(".f32.bf16.bf16")
    assert ptxmma.legal(page.inner_text("#paste-PTX"))
    page.select_option("#target", "sm_80")
    assert "gate.target" in page.inner_text("#chosen")
    table = page.inner_text("#verdicts")
    assert "sm_90a" in table and "13.5.37" in table


@pytest.mark.slow
def test_a_choice_is_answered_at_once(open_page: Open) -> None:
    page = open_page(page_of("mma"))
    took = page.evaluate(
        """() => {
            const times = [];
            for (const button of [...document.querySelectorAll("#slots button")].map((one) => [one.dataset.slot, one.dataset.option])) {
                const now = document.querySelector(`[data-slot="${button[0]}"][data-option="${button[1]}"]`);
                const begun = performance.now();
                now.click();
                times.push(performance.now() - begun);
            }
            return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
        }"""
    )
    assert took < 200, took  # 50 ms on a machine that does nothing else

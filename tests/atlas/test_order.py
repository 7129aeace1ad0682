"""The page of litmus tests says what `ptxmma litmus` prints, and steps through both schedules."""

from __future__ import annotations

import json
import re

import pytest

from ptxmma.check.rules import rules
from ptxmma.cli.main import main

from .conftest import Open


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wait-before-commit", "text-fence-1", "other-bulk-mma-2-without-barrier"])
def test_a_litmus_test_as_the_command_prints_it(
    open_page: Open, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["litmus", name, "--format", "json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    page = open_page(f"order.html#test={name}")
    page.wait_for_selector("#test:not([hidden])")
    assert page.locator("#test-verdict").inner_text() == f"{record['verdict']}: {record['why']}"
    assert page.locator("#test-steps li").all_inner_texts() == record["program"]
    assert page.locator("#test-title a").count() == len(re.findall(r"9\.7\.[\d.]+", record["source"]))
    for number, schedule in enumerate(record["schedules"]):
        assert page.locator("ol.schedule").nth(number).locator("li").all_inner_texts() == schedule
    hazards = [f"{one['rule']} at {', '.join(map(str, one['steps']))}" for one in record["hazards"]]
    shown = page.locator("#test-hazards li").all_inner_texts()
    assert [text.split(":")[0] for text in shown] == hazards
    under = [f"{setting}: {', '.join(broken) or 'defined'}" for setting, broken in record["under"].items()]
    assert page.locator("#test-under li").all_inner_texts() == (under or ["every other setting: the same"])


@pytest.mark.slow
def test_the_stepper_goes_through_both(open_page: Open) -> None:
    page = open_page("order.html#test=wait-before-commit")
    page.wait_for_selector(".stepper")
    now = page.locator("li.now")
    assert now.all_inner_texts() == ["the first value of r0 takes effect"] * 2
    page.get_by_text("to the first difference").click()
    mma = "step 1 (mma m64n8k16.f32.f16.f16 r0 s0 s0) of the warp takes effect"
    assert now.all_inner_texts() == [mma, "step 2 (wait 0) of the warp is issued"]
    page.locator(".stepper").press("ArrowLeft")
    assert len(set(now.all_inner_texts())) == 1


@pytest.mark.slow
def test_tests_are_found_by_rule_and_word(open_page: Open) -> None:
    page = open_page("order.html")
    page.fill("#words", "register-fence")
    page.wait_for_function("document.getElementById('count').textContent.includes('that match')")
    assert page.locator("#count").inner_text().startswith("13 of 13 that match")
    page.locator("#tests a").first.click()
    page.wait_for_selector("#test:not([hidden])")
    page.go_back()  # the test is gone, the words stay
    page.wait_for_selector("#test", state="hidden")
    assert page.input_value("#words") == "register-fence"
    page.fill("#words", "barrier-overrun ring")  # a rule of barriers with phases
    page.wait_for_function("document.getElementById('tests').textContent.includes('ring-empty-not-awaited')")
    page.locator("#tests a").first.click()
    assert page.locator("#phase-ring-empty-not-awaited").evaluate("one => one.open")
    page.fill("#words", "no such test")
    page.wait_for_function("document.getElementById('count').textContent.startsWith('0 of 0')")
    page.fill("#words", "")
    page.wait_for_function("document.querySelector('#tests li').textContent.startsWith('text-fence-1')")


@pytest.mark.slow
def test_a_finding_has_a_page_at_its_address(open_page: Open) -> None:
    for name in ("first-fence", "legality.gate.since"):
        assert rules()[name].address.endswith(f"/rules/{name}.html")
        page = open_page(f"rules/{name}.html")
        text = page.locator("main").inner_text()
        assert rules()[name].says in text and rules()[name].mend[1:] in text

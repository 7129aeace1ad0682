"""What changed, and the register: the pages say what `ptxmma diff` and `ptxmma contradictions` print."""

from __future__ import annotations

import json

import pytest

from ptxmma.cli.main import main

from .conftest import Open


@pytest.mark.slow
def test_versions_between_are_shown_alone(open_page: Open) -> None:
    page = open_page("changes.html#from=8.3&to=8.5")
    shown = page.locator("section.version:not([hidden])")
    assert shown.evaluate_all("parts => parts.map(part => part.dataset.version)") == ["8.4", "8.5"]
    assert page.locator("#between").inner_text() == "From 8.3 to 8.5, by the versions between: 8.4, 8.5."
    page.select_option("#from", "8.4")
    assert page.url.endswith("#from=8.4&to=8.5")
    assert shown.count() == 1
    page.select_option("#to", "8.4")
    assert (shown.count(), page.locator("#between").inner_text()) == (0, "One version: no difference.")
    page.go_back()
    assert page.url.endswith("#from=8.4&to=8.5") and shown.count() == 1


@pytest.mark.slow
def test_a_change_is_shown_to_begin_with(open_page: Open) -> None:
    page = open_page("changes.html")
    shown = page.locator("section.version:not([hidden])")
    assert "No difference." not in shown.first.inner_text()
    assert page.input_value("#to") == page.locator("#to option").last.inner_text()


@pytest.mark.slow
def test_a_version_says_what_diff_prints(open_page: Open, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "8.3", "8.4", "--format", "json"]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    text = open_page("changes.html#ptx-8.4").locator("#ptx-8\\.4").inner_text()
    for change in changes:
        assert all(words in text for words in (*change["why"], *(p["pattern"] for p in change["patterns"])))
    assert "8.3 by ptxas 12.3.107, sm_90a: refuses 144 of 144" in text


@pytest.mark.slow
def test_the_register_by_who_disagrees(open_page: Open, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contradictions", "--format", "json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    page = open_page("register.html")
    shown = page.locator("details.entry:not([hidden])")
    assert shown.evaluate_all("all => all.map(one => one.id)") == [entry["id"] for entry in entries]
    page.check("input[value=silicon]")
    wanted = [e["id"] for e in entries if "silicon" in {p["who"] for p in (*e["parties"], e["witness"])}]
    assert shown.evaluate_all("all => all.map(one => one.id)") == wanted != []
    page.fill("#words", "no such words")
    assert page.locator("#count").inner_text() == f"0 of {len(entries)} entries"
    page.go_back()
    assert (page.input_value("#words"), page.is_checked("input[value=silicon]")) == ("", True)
    assert shown.count() == len(wanted)


@pytest.mark.slow
def test_an_entry_has_an_address(open_page: Open) -> None:
    page = open_page("register.html#text-mma-m8n84")
    entry = page.locator("#text-mma-m8n84")
    assert entry.evaluate("one => one.open") and "m8n84" in entry.inner_text()

"""Spoilt YAML: each fault is an error at file:line:column, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmma.spec import api
from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import load_files

SP = "spec/instructions/wgmma.mma_async.sp.yaml"
WGMMA = "spec/layouts/wgmma.yaml"

FAULTS = [
    (SP, "title:", "titel:", "unknown key 'titel'"),
    (SP, "  - id: bf16", "  - id: bf16\n    id: bf17", "stands twice"),
    (
        SP,
        ", deprecated: null, removed: null, targets: [sm_90a]}\nscope",
        ", targets: [sm_90a]}\nscope",
        "'deprecated' is missing",
    ),
    (SP, "count: 256", "count: 255", "has 256 mnemonics, not 255"),
    (SP, 'since: "8.2"', "since: 8.2", "is not quoted"),
    (SP, "scope: warpgroup", "scope: 3", "not allowed here"),
    (SP, "count: 64", "count: many", "where an integer belongs"),
    (SP, "atype == s8", "atipe == s8", "'atipe' is not bound"),
    (
        SP,
        "removed: null, targets: [sm_90a]}\nscope",
        'removed: "8.1", targets: [sm_90a]}\nscope',
        "nothing satisfies the gates",
    ),
    (SP, "targets: [sm_90a]}\nscope", "targets: [sm_91a]}\nscope", "unknown target 'sm_91a'"),
    (SP, "dtype: f32, atype: bf16, btype: bf16", "dtype: f32, atype: f16, btype: f16", "both spell"),
    (SP, "num.order", "num.odor", "no clause 'num.odor'"),
    (SP, "D: wgmma.d,", "D: wgmma.e,", "no layout 'wgmma.e'"),
    (WGMMA, "8*(i // 2 % 2)", "8*(i // 2 % n2)", "'n2' is not bound"),
    (WGMMA, "8*(i // 2 % 2)", "8*(i // (t % 2))", "can be 0"),
    (WGMMA, "8*(i // 4) + 2", "8*(i - 4) + 2", "can be -4"),
    (WGMMA, "i // 4", "i / 4", "not part of the expression language"),
    (WGMMA, "range(8, 257, 8)", "range(8, 8, 8)", "is empty"),
    (
        "spec/instructions/mma.yaml",
        "k: 16, dtype: [f16, f32], atype: f16, btype: f16",
        "k: 16, dtype: [f16, f32, f64], atype: f16, btype: f16",
        "the value f64 of dtype is in no mnemonic",
    ),
    ("specs.yaml", "sm_72: {", "sm_72: [", "not YAML"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "message"), FAULTS)
def test_a_fault_is_named_where_it_is(files: Path, name: str, right: str, wrong: str, message: str) -> None:
    path = files / name
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    with pytest.raises(SpecError) as caught:
        load_files(files)
    shown = str(caught.value)
    assert message in shown
    where = shown.split(": ", 1)[0].rsplit(":", 2)
    assert where[0].endswith(".yaml")
    assert all(part.isdigit() for part in where[1:])


def test_the_copied_files_are_right(files: Path) -> None:
    assert len(load_files(files).instructions) == len(api.load().instructions)


def test_a_command_says_so_and_exits_with_2(
    files: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "specs.yaml").write_text("isa: 9.5\n")
    monkeypatch.setattr(api, "load_cached", lambda: load_files(files))
    api.load.cache_clear()
    try:
        code, out, err = run("list")
    finally:
        api.load.cache_clear()
    assert (code, out) == (2, "")
    assert err.startswith("ptxmma: specs.yaml:1:")

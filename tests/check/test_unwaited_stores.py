"""Bulk stores that a kernel does not wait for before it ends: by which paths, and under which reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.findings import Finding
from ptxmma.check.paths.path_question import PathAnswer, PathQuestion
from ptxmma.check.paths.path_search import PathSearch

KERNELS = sorted((Path(__file__).resolve().parents[1] / "kernels").glob("*.ptx"))
HEAD = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[8192];
.visible .entry k(.param .u64 out, .param .u32 many)
.reqntid 128, 1, 1
{
.reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<8>;
mov.u32 %r1,%tid.x; mov.u32 %r3,tile; ld.param.u64 %rd1,[out]; ld.param.u32 %r4,[many];
setp.eq.u32 %p1,%r1,0; setp.lt.u32 %p2,%r1,32;
"""
STORE = "cp.async.bulk.global.shared::cta.bulk_group [%rd1],[%r3],4096;\n"
SECOND = "cp.async.bulk.global.shared::cta.bulk_group [%rd1],[%r3+4096],4096;\n"
COMMIT = "cp.async.bulk.commit_group;\n"
READ = "cp.async.bulk.wait_group.read 0;\n"
ADD = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1],[%r3],4096;\n"
IF_FIRST, END_IF = "@!%p1 bra NO;\n", "NO:\n"


def unwaited(body: str, readings: dict[str, str] | None = None) -> Iterator[Finding]:
    """The findings of the rule in a kernel."""
    report = check_text(f"{HEAD}{body}ret;\n}}\n", "k.ptx", readings=readings)
    assert not report.faults
    return (one for one in report.findings if one.rule == "bulk-store-unwaited")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (STORE + COMMIT + READ, False),
        (STORE + COMMIT + "cp.async.bulk.wait_group 0;\n", False),
        (STORE + COMMIT, True),
        (STORE, True),
        (STORE + READ, True),  # what is in no group is not waited for
        (ADD + COMMIT, True),
        (STORE + COMMIT + "cp.async.bulk.wait_group.read 1;\n", True),
        (STORE + COMMIT + SECOND + COMMIT + "cp.async.bulk.wait_group.read 1;\n", True),
        (STORE + COMMIT + COMMIT + "cp.async.bulk.wait_group.read 1;\n", False),  # an empty group counts
        (STORE + COMMIT + READ + SECOND + COMMIT, True),
        (IF_FIRST + STORE + COMMIT + READ + END_IF, False),
        (IF_FIRST + STORE + COMMIT + END_IF + READ, False),
        (IF_FIRST + STORE + COMMIT + END_IF + "@%p1 " + READ, False),  # who stores waits
        (IF_FIRST + STORE + COMMIT + END_IF + "@!%p1 " + READ, True),  # others wait, for nothing
        (IF_FIRST + STORE + COMMIT + END_IF + "setp.gt.u32 %p3,%r4,7;\n@%p3 " + READ, True),
        ("L:\n" + STORE + COMMIT + READ + "sub.u32 %r4,%r4,1;\nsetp.ne.u32 %p4,%r4,0;\n@%p4 bra L;\n", False),
        ("L:\n" + READ + STORE + COMMIT + "sub.u32 %r4,%r4,1;\nsetp.ne.u32 %p4,%r4,0;\n@%p4 bra L;\n", True),
        (IF_FIRST + STORE + COMMIT + "trap;\n" + END_IF, False),  # nobody asks what a trap leaves
    ],
)  # fmt: skip
def test_paths_from_a_bulk_store_to_the_end(body: str, found: bool) -> None:
    assert bool(list(unwaited(body))) is found


@pytest.mark.parametrize(("lanes", "found"), [("-1", False), ("65535", True)])
def test_of_the_same_lanes_the_same_one_is_elected(lanes: str, found: bool) -> None:
    """elect.sync: "the same leader thread is elected for the same membermask every time"."""
    begin = f"@!%p2 bra NO;\nelect.sync %r5|%p5,-1;\n@%p5 {STORE}@%p5 {COMMIT}"
    assert bool(list(unwaited(f"{begin}elect.sync %r6|%p6,{lanes};\n@%p6 {READ}{END_IF}"))) is found


def test_it_is_a_matter_of_reading() -> None:
    (finding,) = unwaited(STORE + COMMIT)
    assert (finding.tier, finding.readings) == ("reading", ((("unwaited-store", "must"),),))
    assert [moment.says for moment in finding.witness] == [
        "starts a bulk store",
        "commits a group",
        "ends the thread",
    ]
    assert not list(unwaited(STORE + COMMIT, {"unwaited-store": "free"}))
    assert next(unwaited(STORE + COMMIT, {"unwaited-store": "must"})).tier == "error"


def test_a_function_may_leave_the_wait_to_its_caller() -> None:
    text = HEAD.replace(".visible .entry k(.param .u64 out, .param .u32 many)\n.reqntid 128, 1, 1",
                        ".func k(.param .u64 out, .param .u32 many)")  # fmt: skip
    assert not [
        f for f in check_text(f"{text}{STORE}{COMMIT}ret;\n}}\n", "f.ptx").findings if f.tier == "reading"
    ]


def test_kernels_of_compilers_wait() -> None:
    """CUTLASS, Triton and Gluon wait before the end; with the wait deleted, each is told."""
    stores = {path: path.read_text() for path in KERNELS if "bulk.wait_group" in path.read_text()}
    assert len(stores) > 8
    small = {path: text for path, text in stores.items() if len(text) < 60_000}
    assert len(small) > 3
    for path, text in small.items():
        assert "bulk-store-unwaited" not in {f.rule for f in check_text(text, path.name).findings}, path.name
        spoilt = text.replace("cp.async.bulk.wait_group", "// cp.async.bulk.wait_group")
        assert "bulk-store-unwaited" in {f.rule for f in check_text(spoilt, path.name).findings}, path.name


@pytest.mark.parametrize(
    ("body", "searched"),
    [
        (IF_FIRST + STORE + COMMIT + END_IF + READ, False),
        ("L:\n" + STORE + COMMIT + READ + "setp.ne.u32 %p4,%r4,0;\n@%p4 bra L;\n", False),
        ("L:\n" + READ + STORE + COMMIT + "setp.ne.u32 %p4,%r4,0;\n@%p4 bra L;\n" + READ, False),
        ("@%p1 " + STORE + "@%p1 " + COMMIT + "@%p1 " + READ, True),  # numbers show that who stores waits
        (STORE + COMMIT, True),
    ],
)
def test_paths_are_searched_only_where_one_may_be_found(
    body: str, searched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    find = PathSearch.find

    def noted(search: PathSearch[Any], question: PathQuestion[Any]) -> PathAnswer:
        asked.append(question)
        return find(search, question)

    monkeypatch.setattr(PathSearch, "find", noted)
    assert bool(list(unwaited(body))) is (body == STORE + COMMIT)
    assert bool(asked) is searched

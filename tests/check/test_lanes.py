"""Values by thread, and branches that divide a warp or a warpgroup: hand-made kernels with 256 threads along
x.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxmma.check.values.divergence import Divergence, Parting, divergence_findings
from ptxmma.check.values.reaching_threads import ReachingThreads
from ptxmma.check.values.register_threads import RegisterThreads
from ptxmma.check.values.thread_value import UNIFORM, UNKNOWN, ThreadValue

TID = "mov.u32 %r1, %tid.x;\n"
LANE = "mov.u32 %r1, %laneid;\n"


def held(kernel: Any, body: str, register: str = "%r2", **more: str) -> ThreadValue:
    return RegisterThreads(kernel(body + "\nret;", **more).code).operand(register, 0)


@pytest.mark.parametrize(
    ("body", "thread", "number"),
    [
        (f"{TID}mov.u32 %r2, %r1;", 200, 200),
        (f"{LANE}mov.u32 %r2, %r1;", 200, 8),
        (f"{TID}shr.u32 %r2, %r1, 5;", 200, 6),
        (f"{TID}and.b32 %r2, %r1, 31;", 200, 8),
        (f"{TID}sub.s32 %r2, %r1, 201;", 200, 0xFFFFFFFF),
        (f"{TID}mad.lo.u32 %r2, %r1, 3, 1;", 200, 601),
        (f"{TID}bfe.u32 %r2, %r1, 5, 2;", 200, 2),
        (f"{TID}rem.u32 %r2, %r1, 7;", 200, 4),
        (f"{TID}setp.lt.u32 %p1, %r1, 9;\nselp.b32 %r2, 5, %r1, %p1;", 8, 5),
        (f"{TID}setp.lt.u32 %p1, %r1, 9;\nselp.b32 %r2, 5, %r1, %p1;", 9, 9),
        (f"{TID}shfl.sync.idx.b32 %r2, %r1, 3, 31, -1;", 200, 195),
        ("mov.u32 %r2, %tid.y;", 200, 0),
        ("elect.sync _|%p1, -1;\nselp.b32 %r2, 1, 0, %p1;", 64, 1),
        ("elect.sync _|%p1, -1;\nselp.b32 %r2, 1, 0, %p1;", 65, 0),
        ("mov.b32 %r3, -1;\nelect.sync _|%p1, %r3;\nselp.b32 %r2, 1, 0, %p1;", 65, 0),
    ],
)
def test_numbers_by_thread(kernel: Any, body: str, thread: int, number: int) -> None:
    values = held(kernel, body).values
    assert values is not None and len(values) == 256
    assert values[thread] == number


@pytest.mark.parametrize(
    "body",
    [
        "mov.u32 %r2, %ctaid.x;",
        "ld.param.u32 %r2, [count];",
        "ld.param.u32 %r1, [count];\nadd.u32 %r2, %r1, 1;",
        "mov.u32 %r2, tile;",
        "mov.u32 %r2, 0;\nL: add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 9;\n@%p1 bra L;",
        "mov.u32 %r2, 4;\nld.param.u32 %r1, [count];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 mov.u32 %r2, 5;",
    ],
)
def test_what_is_the_same_in_all_threads(kernel: Any, body: str) -> None:
    found = held(kernel, body)
    assert found.is_uniform and not found.is_unknown


@pytest.mark.parametrize(
    "body",
    [
        "ld.global.u32 %r2, [%rd1];",
        "mov.u32 %r2, %warpid;",
        "add.u32 %r2, %r9, 1;",
        f"{TID}ld.param.u32 %r3, [count];\nadd.u32 %r2, %r1, %r3;",
        f"{TID}mov.u32 %r2, 4;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 mov.u32 %r2, 5;",
        f"{TID}mov.u32 %r2, %r1;\nL: add.u32 %r2, %r2, 1;\n@%p1 bra L;",
        "vote.sync.any.pred %p1, %p2, -1;\nselp.b32 %r2, 1, 0, %p1;",
    ],
)
def test_what_is_not_known(kernel: Any, body: str) -> None:
    assert held(kernel, body).is_unknown


@pytest.mark.parametrize(
    ("threads", "axis", "expected"),
    [
        (".reqntid 8, 4, 2", "x", [0, 7, 0, 3]),
        (".reqntid 8, 4, 2", "y", [0, 0, 1, 1]),
        (".reqntid 8, 4, 8", "z", [0, 0, 0, 1]),
    ],
)
def test_threads_lie_along_x_first(kernel: Any, threads: str, axis: str, expected: list[int]) -> None:
    found = held(kernel, f"mov.u32 %r2, %tid.{axis};", threads=threads)
    at = (0, 7, 8, 43 if axis != "y" else 15)
    assert found.values is not None and [found.values[t] for t in at] == expected


def test_a_block_of_unknown_shape_is_assumed_to_lie_along_x(kernel: Any) -> None:
    found = held(kernel, "mov.u32 %r2, %tid.x;", threads="")
    assert found.assumed and found.values is not None and found.values[127] == 127
    assert held(kernel, "mov.u32 %r2, %tid.y;", threads="").is_unknown


# Which branches part threads


@pytest.mark.parametrize(
    ("test", "warp", "shown"),
    [
        (f"{TID}setp.eq.u32 %p1, %r1, 0;", True, "%p1 holds in thread 0 of threads 0..31"),
        (f"{TID}setp.lt.u32 %p1, %r1, 16;", True, "%p1 holds in threads 0..15 of threads 0..31"),
        (f"{TID}setp.lt.u32 %p1, %r1, 40;", True, "%p1 holds in threads 32..39 of threads 32..63"),
        (
            f"{TID}and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;",
            True,
            "%p1 holds in 16 threads of threads 0..31",
        ),
        (f"{TID}setp.lt.u32 %p1, %r1, 32;", False, "%p1 holds in warp 0 of the warpgroup alone"),
        (
            f"{TID}shr.u32 %r2, %r1, 5;\nsetp.ge.u32 %p1, %r2, 6;",
            False,
            "%p1 holds in warps 6, 7 of the warpgroup alone",
        ),
    ],
)
def test_a_guard_that_parts_threads(kernel: Any, test: str, warp: bool, shown: str) -> None:
    found = parting(kernel, f"{test}\n@%p1 bra L;\nL: ret;")
    assert isinstance(found, Parting)
    assert (found.warp, found.shown, found.assumed) == (warp, shown, False)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (f"{TID}setp.lt.u32 %p1, %r1, 128;", False),  # whole warpgroups
        (f"{TID}setp.lt.u32 %p1, %r1, 999;", False),  # all
        ("ld.param.u32 %r1, [count];\nsetp.eq.u32 %p1, %r1, 0;", False),
        ("ld.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;", True),  # not known
    ],
)
def test_a_guard_that_parts_none_or_nobody_knows(kernel: Any, test: str, expected: bool) -> None:
    assert parting(kernel, f"{test}\n@%p1 bra L;\nL: ret;") is expected


def parting(kernel: Any, body: str) -> Parting | bool:
    made = kernel(body)
    found = Divergence(ReachingThreads(made.code, made.flow, RegisterThreads(made.code)))
    (guard,) = found.guards
    return found.parting(guard)


def test_the_region_of_a_branch_ends_where_its_sides_join(kernel: Any) -> None:
    made = kernel(
        f"{TID}setp.eq.u32 %p1, %r1, 0;\n@%p1 bra ELSE;\nadd.u32 %r2, %r2, 1;\nbra END;\n"
        "ELSE: add.u32 %r2, %r2, 2;\nEND: ret;"
    )  # blocks: 0 the test, 1 then, 2 else, 3 the end
    assert Divergence(ReachingThreads(made.code, made.flow, RegisterThreads(made.code))).region(2) == {1, 2}


FENCE = "wgmma.fence.sync.aligned;"


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        (f"{TID}setp.lt.u32 %p1, %r1, 32;\n@%p1 bra END;\n{FENCE}\nEND: ret;", ["aligned-divergent"]),
        (f"{TID}setp.lt.u32 %p1, %r1, 32;\n@%p1 ret;\n{FENCE}\nret;", ["aligned-exited"]),
        (f"{TID}setp.lt.u32 %p1, %r1, 32;\n@%p1 bra END;\nEND: {FENCE}\nret;", []),
        (f"{TID}setp.lt.u32 %p1, %r1, 128;\n@%p1 bra END;\n{FENCE}\nEND: ret;", []),
        (
            f"ld.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\n{FENCE}\nEND: ret;",
            ["aligned-unknown"],
        ),
        (
            f"{TID}setp.lt.u32 %p1, %r1, 32;\n@%p1 bra END;\n"
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [tile];\nEND: ret;",
            [],  # whole warps execute it
        ),
    ],
)
def test_findings(kernel: Any, body: str, rules: list[str]) -> None:
    made = kernel(body)
    held_here = [i for i, s in enumerate(made.code.function.statements) if ".aligned" in s.opcode]
    reaching = ReachingThreads(made.code, made.flow, RegisterThreads(made.code))
    found = divergence_findings(made.module, reaching, held_here)
    assert [finding.rule for finding in found] == rules


# The laws of the value

VALUES = st.sampled_from((UNIFORM, UNKNOWN)) | st.builds(
    ThreadValue,
    st.lists(st.integers(0, 2), min_size=4, max_size=4).map(tuple),
    st.just(False),
    st.booleans(),
)


@given(VALUES, VALUES, VALUES)
def test_joining_is_commutative_associative_and_idempotent(
    a: ThreadValue, b: ThreadValue, c: ThreadValue
) -> None:
    assert a.join(b) == b.join(a)
    assert a.join(b).join(c) == a.join(b.join(c))
    assert a.join(a) == a


@given(VALUES, VALUES)
def test_a_join_is_above_both_and_uniform_only_of_uniform_ones(a: ThreadValue, b: ThreadValue) -> None:
    assert a <= a.join(b) <= UNKNOWN and b <= a.join(b)
    assert a.join(b).is_uniform == (a.is_uniform and b.is_uniform) or a == b


@pytest.mark.parametrize(
    ("values", "size", "expected"),
    [((1, 1, 1, 1), 2, None), ((1, 1, 2, 2), 2, None), ((1, 1, 2, 3), 2, 2), ((1, 1, 2, 2), 4, 0)],
)
def test_the_first_group_that_differs_in_itself(
    values: tuple[int, ...], size: int, expected: int | None
) -> None:
    assert ThreadValue(values).first_split(size) == expected
    assert UNIFORM.first_split(size) is None and UNKNOWN.first_split(size) is None

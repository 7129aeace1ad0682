"""Paths that cannot happen accuse nobody, and those that can do: each kernel beside one that is a slip away."""

from __future__ import annotations

from random import Random

import pytest
import z3

from ptxmma.check.check_file import check_text
from ptxmma.check.paths.path_numbers import hold_together
from ptxmma.check.paths.path_solver import refuted, translated
from ptxmma.check.paths.path_terms import PathTerm, PathTerms
from ptxmma.check.values.arithmetic import computed

WATCHES = ("check/paths",)

FENCE = "wgmma.fence.sync.aligned;"
MMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;"
COMMIT = "wgmma.commit_group.sync.aligned;"
WAIT = "wgmma.wait_group.sync.aligned 0;"
ISSUE = f"{FENCE}\n{MMA}\n{COMMIT}\n"
USE = "st.global.f32 [%d2],%f0;\n"
HEAD = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out,.param .u64 dA,.param .u64 dB,.param .u32 n,.param .u32 m)
.maxntid 128, 1, 1
{
.reg .f32 %f<64>; .reg .b64 %d<16>; .reg .pred %p<16>; .reg .b32 %r<64>; .reg .b16 %h<16>;
ld.param.u64 %d0,[dA]; ld.param.u64 %d1,[dB]; ld.param.u64 %d2,[out]; ld.param.u32 %r0,[n]; ld.param.u32 %r1,[m];
"""
FAR = "".join(f"@%p{i} bra L{i};\nmov.u32 %r{10 + i},1;\nL{i}:\n" for i in range(8, 14))


def found(body: str) -> list[tuple[str, str]]:
    report = check_text(f"{HEAD}{body}\nret;\n}}\n", "k.ptx")
    assert not report.faults
    return [(f.tier, f.rule) for f in report.findings if f.tier in ("error", "likely")]


def branches(first: str, between: str, second: str) -> str:
    """Issue under a condition, and wait under one."""
    return f"{first}\n@!%p1 bra A;\n{ISSUE}A:\n{between}\n{second}\n@!%p2 bra B;\n{WAIT}\nB:\n{USE}"


SAME = "setp.gt.u32 %p1,%r0,3;"
PAIRS = {
    "two branches on one predicate": (
        branches(SAME, "", "mov.pred %p2,%p1;"),
        branches(SAME, "", "not.pred %p2,%p1;"),
    ),
    "a predicate computed again": (
        branches(SAME, "", "setp.gt.u32 %p2,%r0,3;"),
        branches(SAME, "add.u32 %r0,%r0,1;", "setp.lt.u32 %p2,%r0,3;"),
    ),
    "the complement of a comparison": (
        branches(SAME, "", "setp.le.u32 %p3,%r0,3; not.pred %p2,%p3;"),
        branches(SAME, "", "setp.ge.u32 %p3,%r0,3; not.pred %p2,%p3;"),
    ),
    "a comparison that the other implies": (
        branches("setp.gt.u32 %p1,%r0,5;", "", "setp.gt.u32 %p2,%r0,3;"),
        branches("setp.gt.u32 %p1,%r0,3;", "", "setp.gt.u32 %p2,%r0,5;"),
    ),
    "arithmetic that only the solver sees": (
        branches("setp.gt.s32 %p1,%r0,7;", "shl.b32 %r5,%r0,1; and.b32 %r6,%r5,1;", "setp.eq.u32 %p2,%r6,0;"),
        branches("setp.gt.s32 %p1,%r0,7;", "shr.u32 %r5,%r0,1; and.b32 %r6,%r5,1;", "setp.eq.u32 %p2,%r6,0;"),
    ),
    "a flag that selp makes": (
        branches(SAME, "selp.u16 %h1,1,0,%p1; and.b16 %h2,%h1,255;", "setp.ne.s16 %p2,%h2,0;"),
        branches(SAME, "selp.u16 %h1,1,0,%p1; and.b16 %h2,%h1,254;", "setp.ne.s16 %p2,%h2,0;"),
    ),
    "a flag that is set where something is pending": (
        f"mov.u32 %r9,0;\n{SAME}\n@!%p1 bra A;\n{ISSUE}mov.u32 %r9,1;\nA:\nsetp.eq.u32 %p2,%r9,0;\n@%p2 bra B;\n{WAIT}\nB:\n{USE}",
        f"mov.u32 %r9,0;\n{SAME}\n@!%p1 bra A;\n{ISSUE}mov.u32 %r9,2;\nA:\nsetp.ne.u32 %p2,%r9,1;\n@%p2 bra B;\n{WAIT}\nB:\n{USE}",
    ),
    "a guard beside a branch": (
        f"{SAME}\n@!%p1 bra A;\n{ISSUE}A:\n@%p1 {WAIT}\n{USE}",
        f"{SAME}\n@!%p1 bra A;\n{ISSUE}A:\n@!%p1 {WAIT}\n{USE}",
    ),
    "guards alone": (
        f"{SAME}\n{FENCE}\n@%p1 {MMA}\n@%p1 {COMMIT}\n@%p1 {WAIT}\n{USE}",
        f"{SAME}\n{FENCE}\n@%p1 {MMA}\n@%p3 {COMMIT}\n@%p1 {WAIT}\n{USE}",
    ),
    "a fence on either side of a guard": (
        f"{SAME}\n@%p1 {FENCE}\n@!%p1 {FENCE}\n{MMA}\n{COMMIT}\n{WAIT}\n{USE}",
        f"{SAME}\n@%p1 {FENCE}\n@%p1 {FENCE}\n{MMA}\n{COMMIT}\n{WAIT}\n{USE}",
    ),
    "a constant guard": (
        f"mov.u32 %r9,4; setp.gt.u32 %p1,%r9,3;\n{ISSUE}@%p1 {WAIT}\n{USE}",
        f"mov.u32 %r9,3; setp.gt.u32 %p1,%r9,3;\n{ISSUE}@%p1 {WAIT}\n{USE}",
    ),
    "the last of four rounds waits": (
        f"mov.u32 %r9,0;\nA:\n{ISSUE}setp.eq.u32 %p1,%r9,3;\n@%p1 {WAIT}\nadd.u32 %r9,%r9,1;\nsetp.lt.u32 %p2,%r9,4;\n@%p2 bra A;\n{USE}",
        f"mov.u32 %r9,0;\nA:\n{ISSUE}setp.eq.u32 %p1,%r9,2;\n@%p1 {WAIT}\nadd.u32 %r9,%r9,1;\nsetp.lt.u32 %p2,%r9,4;\n@%p2 bra A;\n{USE}",
    ),
    "the last of a hundred rounds waits": (
        f"mov.u32 %r9,100;\nA:\n{ISSUE}setp.eq.u32 %p1,%r9,1;\n@%p1 {WAIT}\nadd.u32 %r9,%r9,-1;\nsetp.ne.u32 %p2,%r9,0;\n@%p2 bra A;\n{USE}",
        f"mov.u32 %r9,100;\nA:\n{ISSUE}setp.eq.u32 %p1,%r9,0;\n@%p1 {WAIT}\nadd.u32 %r9,%r9,-1;\nsetp.ne.u32 %p2,%r9,0;\n@%p2 bra A;\n{USE}",
    ),
    "a loop that runs at least once": (
        f"mov.u32 %r9,0;\n{ISSUE}A:\nsetp.ge.u32 %p1,%r9,2;\n@%p1 bra B;\n{WAIT}\nadd.u32 %r9,%r9,1;\nbra A;\nB:\n{USE}",
        f"mov.u32 %r9,2;\n{ISSUE}A:\nsetp.ge.u32 %p1,%r9,2;\n@%p1 bra B;\n{WAIT}\nadd.u32 %r9,%r9,1;\nbra A;\nB:\n{USE}",
    ),
    "a condition from before a loop of unknown length": (
        f"{SAME}\n@!%p1 bra C;\n{ISSUE}C:\nmov.u32 %r9,0;\nA:\n@%p1 {COMMIT}\nadd.u32 %r9,%r9,1;\nsetp.lt.u32 %p2,%r9,%r1;\n@%p2 bra A;\n@%p1 {WAIT}\n{USE}",
        f"{SAME}\n@!%p1 bra C;\n{ISSUE}C:\nmov.u32 %r9,0;\nA:\n@%p1 {COMMIT}\nadd.u32 %r9,%r9,1;\nsetp.lt.u32 %p2,%r9,%r1;\n@%p2 bra A;\n@%p2 {WAIT}\n{USE}",
    ),
    "an exit under the condition": (
        f"{SAME}\n@!%p1 exit;\n{ISSUE}@%p1 {WAIT}\n{USE}",
        f"{SAME}\n@!%p1 exit;\n{ISSUE}@!%p1 {WAIT}\n{USE}",
    ),
    "a float compared twice": (
        f"setp.lt.f32 %p1,%f9,%f8;\n@!%p1 bra A;\n{ISSUE}A:\nsetp.geu.f32 %p2,%f9,%f8;\n@!%p2 {WAIT}\n{USE}",
        f"setp.lt.f32 %p1,%f9,%f8;\n@!%p1 bra A;\n{ISSUE}A:\nsetp.gt.f32 %p2,%f9,%f8;\n@!%p2 {WAIT}\n{USE}",
    ),
    "a conjunction": (
        branches(SAME, "setp.ne.u32 %p3,%r1,0; and.pred %p4,%p1,%p3;", "or.pred %p2,%p1,%p4;"),
        branches(SAME, "setp.ne.u32 %p3,%r1,0;", "and.pred %p2,%p1,%p3;"),
    ),
    "branches that do not matter, between": (
        branches(SAME, FAR, "mov.pred %p2,%p1;"),
        branches(SAME, FAR, "mov.pred %p2,%p8;"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_path_that_cannot_happen_and_one_that_can(name: str) -> None:
    right, wrong = PAIRS[name]
    assert found(right) == []
    assert [tier for tier, _ in found(wrong)] == ["error"]


def test_the_search_goes_on_past_the_first_path_that_cannot_happen() -> None:
    """The short way round the wait needs both sides of one predicate; a longer one does not."""
    other = f"setp.eq.u32 %p5,%r1,7;\n@%p5 bra B;\n{WAIT}\nB:\n{USE}"
    body = f"{SAME}\n@!%p1 bra A;\n{ISSUE}A:\n@!%p1 bra C;\n{other}ret;\nC:\n{USE}"
    (one,) = found(body)
    assert one == ("error", "accumulator-in-flight")


def test_a_long_path_is_no_reason_to_doubt() -> None:
    body = ISSUE + "".join(
        f"{FENCE}\n{MMA.replace('%f0,%f1,%f2,%f3', '%f4,%f5,%f6,%f7')}\n{COMMIT}\n" for _ in range(40)
    )
    assert found(body + USE) == [("error", "accumulator-in-flight")]
    assert found(body + WAIT + USE) == []


def test_a_guarded_commit_commits_nothing_where_it_is_not_executed() -> None:
    body = f"{FENCE}\n{MMA}\n@%p7 {COMMIT}\n{WAIT}\n{USE}"
    assert [tier for tier, _ in found(body)] == ["error"]


def test_what_z3_is_told_is_what_ptx_computes() -> None:
    """Every translated instruction, on random and on extreme numbers."""
    random = Random(7)
    edges = (0, 1, 2, 31, 32, 63, 64, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 63, (1 << 64) - 1)
    tried = 0
    for text, count in (
        *((f"{head}.{kind}", 2) for head in ("add", "sub", "min", "max") for kind in ("u32", "s32", "u64", "s64")),
        *((f"setp.{one}.{kind}", 2) for one in ("eq", "lt") for kind in ("u32", "s32", "b64", "s16")),
        *((f"{head}.b{bits}", 2) for head in ("and", "or", "xor", "shl") for bits in (16, 32, 64)),
        *((f"shr.{kind}", 2) for kind in ("u32", "s32", "u64", "s64")),
        *((f"not.b{bits}", 1) for bits in (16, 32, 64)),
        ("neg.s32", 1), ("mul.lo.u32", 2), ("mul.wide.u32", 2), ("mul.wide.s32", 2), ("mad.lo.s32", 3),
        ("cvt.u64.u32", 1), ("cvt.s64.s32", 1), ("cvt.u32.u64", 1), ("cvt.u32.u16", 1), ("selp.b32", 3),
    ):  # fmt: skip
        words = tuple(text.split("."))
        for _ in range(12):
            bits = 32 if words[-1][1:] == "32" else 16 if words[-1][1:] == "16" else 64
            numbers = [random.choice((random.choice(edges), random.getrandbits(64))) for _ in range(count)]
            numbers = [number & (1 << bits) - 1 for number in numbers]
            if words[0] == "selp":
                numbers[2] &= 1
            if words[0] in ("shl", "shr"):
                numbers[1] &= (1 << 32) - 1
            term = translated(words, tuple(z3.BitVecVal(number, 64) for number in numbers))
            assert term is not None, text
            assert z3.simplify(term).as_long() == computed(words, numbers), (text, numbers)
            tried += 1
    assert tried > 400


def test_terms_are_simplified_soundly() -> None:
    """For every number that a comparison's inputs can be, its term says what the comparison says."""
    random = Random(11)
    for _ in range(400):
        operator = random.choice(("eq", "ne", "lt", "le", "gt", "ge", "lo", "hs"))
        kind = "u32" if operator in ("lo", "hs") else random.choice(("u32", "s32"))
        number, flag = random.choice((0, 1, 5, 0xFFFFFFFF)), random.choice((0, 1))
        terms = PathTerms()
        words = ("setp", operator, kind)
        chosen = terms.apply(("selp", "b32"), (3, number, terms.leaf("p")))
        value = terms.apply(words, (chosen, number) if flag else (number, chosen))
        for holds in (0, 1):
            inputs = 3 if holds else number
            wanted = computed(words, (inputs, number) if flag else (number, inputs))
            assert terms.truth(value, {terms.leaf("p"): bool(holds)}) == bool(wanted)


def test_numbers_that_are_guessed_satisfy_z3() -> None:
    """Of random conditions, none that z3 refutes is said to hold; of those that it allows, most are."""
    random = Random(5)
    counts = {True: 0, False: 0}
    guessed = 0
    for _ in range(80):
        terms = PathTerms()
        leaves = [terms.leaf(("name", name, name)) for name in ("n", "m", "%tid.x")]
        values = [
            *leaves,
            terms.apply(("add", "s32"), (leaves[0], 64)),
            terms.apply(("shr", "u32"), (leaves[2], 5)),
        ]
        literals: dict[PathTerm, bool] = {}
        for _ in range(random.randint(2, 4)):
            sides = random.choice(values), random.choice((*values, 3, 63, 128))
            condition = terms.apply(
                ("setp", random.choice(("eq", "lt")), random.choice(("u32", "s32"))), sides
            )
            if isinstance(condition, PathTerm):
                literals[condition] = random.choice((True, False))
        holds = refuted(literals, (128, 1, 1)) is None
        counts[holds] += 1
        guess = hold_together(literals, (128, 1, 1))
        assert holds or not guess, literals
        guessed += guess
    assert counts[False] > 10
    assert counts[True] >= guessed > counts[True] // 2


SHARED = (
    "mov.u32 %r20,smem; shr.u32 %r21,%r20,4; cvt.u64.u32 %d9,%r21; or.b64 %d10,%d9,0x4000004000010000;\n"
    "mov.u64 %d11,%d10; mov.u32 %r22,%tid.x; shl.b32 %r24,%r22,4; add.u32 %r23,%r20,%r24;\n"
)
WRITE, PROXY, MEET = "st.shared.b32 [%r23],%r22;", "fence.proxy.async.shared::cta;", "bar.sync 0;"
WRITES = {
    "a fence under the condition of the write": (
        f"{SAME}\n@!%p1 bra A;\n{WRITE}\nA:\n@%p1 {PROXY}\n{MEET}",
        f"{SAME}\n@!%p1 bra A;\n{WRITE}\nA:\n@!%p1 {PROXY}\n{MEET}",
    ),
    "a fence by the threads that write": (
        f"setp.lt.u32 %p1,%r22,64;\n@%p1 {WRITE}\n@%p1 {PROXY}\n{MEET}",
        f"setp.lt.u32 %p1,%r22,64;\n@%p1 {WRITE}\n@!%p1 {PROXY}\n{MEET}",
    ),
    "a fence on either side": (
        f"{WRITE}\n{SAME}\n@%p1 {PROXY}\n@!%p1 {PROXY}\n{MEET}",
        f"{WRITE}\n{SAME}\n@%p1 {PROXY}\n@%p1 {PROXY}\n{MEET}",
    ),
    "a write where nothing is multiplied": (
        f"{SAME}\n@!%p1 bra A;\n{WRITE}\n{MEET}\nA:\n@%p1 ret;",
        f"{SAME}\n@!%p1 bra A;\n{WRITE}\n{MEET}\nA:\n@!%p1 ret;",
    ),
    "a product by other threads than those that write": (
        f"setp.lt.u32 %p1,%r22,128;\n@!%p1 bra A;\n{WRITE}\n{PROXY}\nA:\n{MEET}\n@%p1 ret;",
        f"setp.lt.u32 %p1,%r22,128;\n@!%p1 bra A;\n{WRITE}\nA:\n{MEET}\n@%p1 ret;",
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_of_shared_memory_on_paths_that_can_happen(name: str) -> None:
    head = HEAD.replace(".visible", ".extern .shared .align 1024 .b8 smem[];\n.visible").replace(
        "128, 1", "256, 1"
    )
    issue = ISSUE.replace("%d0,%d1", "%d10,%d11")
    for body, wanted in zip(WRITES[name], (set(), {"proxy-fence"}), strict=True):
        report = check_text(f"{head}{SHARED}{body}\n{issue}{WAIT}\nret;\n}}\n", "k.ptx")
        assert not report.faults
        assert {f.rule for f in report.findings if f.tier in ("error", "likely")} == wanted, body

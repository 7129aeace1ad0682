"""Calls: what a body in the file does is seen where it is called; what no body shows is likely at most."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import FileReport, check_text
from ptxmma.check.ptx.inlining import Inlining
from ptxmma.check.ptx.operation import Operations
from ptxmma.check.ptx.reader import read_module
from ptxmma.spec.api import load

WATCHES = ("check/ptx/inlining.py",)

HEAD = """.version 8.3
.target sm_90a
.address_size 64
"""
ENTRY = """.visible .entry k(.param .u64 out,.param .u64 dA,.param .u64 dB,.param .u32 n)
.maxntid 128, 1, 1
{
.reg .f32 %f<16>; .reg .b64 %d<16>; .reg .pred %p<8>; .reg .b32 %r<16>;
ld.param.u64 %d0,[dA]; ld.param.u64 %d1,[dB]; ld.param.u64 %d2,[out]; ld.param.u32 %r0,[n];
BODY
ret;
}
"""
FENCE = "wgmma.fence.sync.aligned;"
MMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;"
COMMIT = "wgmma.commit_group.sync.aligned;"
WAIT = "wgmma.wait_group.sync.aligned 0;"
USE = "st.global.f32 [%d2],%f0;"


def report(functions: str, body: str) -> FileReport:
    found = check_text(HEAD + functions + ENTRY.replace("BODY", body), "k.ptx")
    assert not found.faults
    return found


def found(functions: str, body: str) -> list[tuple[str, str]]:
    return [(f.tier, f.rule) for f in report(functions, body).findings if f.tier in ("error", "likely")]


def function(body: str, name: str = "f", parameters: str = "") -> str:
    return f".func {name}({parameters})\n{{\n.reg .pred %p<4>; .reg .b32 %r<8>;\n{body}\nret;\n}}\n"


CALLED = f"{FENCE} {MMA} {COMMIT} call.uni f; {USE}"
CASES = {
    "a wait": (function(WAIT), function("wgmma.wait_group.sync.aligned 1;"), CALLED),
    "a wait in both arms": (
        function(f"setp.eq.u32 %p1,%r1,0;\n@%p1 bra A;\n{WAIT}\nret;\nA:\n{WAIT}\n"),
        function(f"setp.eq.u32 %p1,%r1,0;\n@%p1 bra A;\n{WAIT}\nret;\nA:\n"),
        CALLED,
    ),
    "a wait in the callee of a callee": (
        function(WAIT, "g") + function("call g;"),
        function(COMMIT, "g") + function("call g;"),
        CALLED,
    ),
    "a commit": (function(COMMIT), function(""), f"{FENCE} {MMA} call f; {WAIT} {USE}"),
    "a fence": (function(FENCE), function(COMMIT), f"call f; {MMA} {COMMIT} {WAIT} {USE}"),
    "groups in flight from a loop of the callee": (
        function(f"mov.u32 %r1,0;\nA:\n{COMMIT}\nadd.u32 %r1,%r1,1;\nsetp.lt.u32 %p1,%r1,2;\n@%p1 bra A;"),
        function(f"mov.u32 %r1,0;\nA:\n{COMMIT}\nadd.u32 %r1,%r1,1;\nsetp.lt.u32 %p1,%r1,1;\n@%p1 bra A;"),
        f"{FENCE} {MMA} call f; wgmma.wait_group.sync.aligned 1; {USE}",
    ),
    "a flag that is passed": (
        function(
            f"ld.param.b32 %r1,[x];\nsetp.eq.u32 %p1,%r1,0;\n@%p1 bra A;\n{WAIT}\nA:\n",
            parameters=".param .b32 x",
        ),
        function(
            f"ld.param.b32 %r1,[x];\nsetp.ne.u32 %p1,%r1,0;\n@%p1 bra A;\n{WAIT}\nA:\n",
            parameters=".param .b32 x",
        ),
        f"{FENCE} {MMA} {COMMIT} {{ .param .b32 p0; mov.u32 %r3,1; st.param.b32 [p0],%r3; call f,(p0); }} {USE}",
    ),
    "a guarded call": (
        function(WAIT),
        function(WAIT),
        f"setp.eq.u32 %p1,%r0,0; {FENCE} @%p1 {MMA} @%p1 {COMMIT} @%p1 call f; {USE}",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_body_does_is_seen_where_it_is_called(name: str) -> None:
    right, wrong, body = CASES[name]
    assert found(right, body) == []
    if right == wrong:
        body = body.replace("@%p1 call", "@!%p1 call")
    assert [tier for tier, _ in found(wrong, body)] == ["error"]


def test_a_call_without_a_body_is_doubt_and_says_so() -> None:
    (finding,) = (f for f in report(".extern .func f();\n", CALLED).findings if f.tier != "info")
    assert finding.tier == "likely"
    assert "it calls f, whose body the file does not hold" in finding.message


def test_a_path_round_the_call_leaves_no_doubt() -> None:
    body = f"setp.eq.u32 %p1,%r0,0; {FENCE} {MMA} {COMMIT} @%p1 bra A; call f;\nA:\n{USE}"
    assert [tier for tier, _ in found(".extern .func f();\n", body)] == ["error"]


def test_a_call_behind_the_wait_is_no_doubt() -> None:
    assert found(".extern .func f();\n", f"{FENCE} {MMA} {COMMIT} {WAIT} call f; {USE}") == []


def test_a_function_that_calls_itself() -> None:
    again = function(f"setp.eq.u32 %p1,%r1,0;\n@%p1 bra A;\ncall f;\nA:\n{WAIT}")
    assert found(again, CALLED) == []
    assert [tier for tier, _ in found(function("call f;"), CALLED)] == ["likely"]


def test_a_fault_in_a_body_is_told_once() -> None:
    """Two kernels call it; nothing is reported of the body alone."""
    faulty = (
        f".func f(.param .b64 x)\n{{\n.reg .f32 %f<4>; .reg .b64 %d<4>;\nld.param.b64 %d0,[x]; ld.param.b64 %d1,[x];\n"
        f"{FENCE} {MMA} {COMMIT} add.f32 %f0,%f0,%f0; {WAIT}\nret;\n}}\n"
    )
    call = "{ .param .b64 p0; st.param.b64 [p0],%d0; call f,(p0); }"
    both = HEAD + faulty + ENTRY.replace("BODY", call) + ENTRY.replace("BODY", call).replace(" k(", " k2(")
    (finding,) = (f for f in check_text(both, "k.ptx").findings if f.tier == "error")
    assert (finding.rule, finding.function, finding.more) == ("accumulator-in-flight", "k", 3)
    assert "add.f32" in finding.statement


def test_a_function_that_nobody_calls_may_have_been_fenced_by_its_caller() -> None:
    lonely = (
        f".visible .func f(.param .b64 x)\n{{\n.reg .f32 %f<4>; .reg .b64 %d<4>;\nld.param.b64 %d0,[x];\n"
        f"ld.param.b64 %d1,[x];\n{MMA} {COMMIT} {WAIT}\nret;\n}}\n"
    )
    (finding,) = (f for f in check_text(HEAD + lonely, "k.ptx").findings if f.tier != "info")
    assert (finding.tier, finding.rule) == ("likely", "first-fence")


def test_parameters_become_moves() -> None:
    """A vector, part by part, and what is returned; two calls keep their registers apart."""
    text = (
        HEAD
        + ".func (.param .b32 q) f(.param .align 8 .b8 x[8])\n{\n.reg .b32 %r<4>;\n"
        + "ld.param.v2.u32 {%r0,%r1},[x];\nadd.u32 %r2,%r0,%r1;\nst.param.b32 [q],%r2;\nret;\n}\n"
        + ENTRY.replace(
            "BODY",
            "{ .param .align 8 .b8 p0[8]; .param .b32 q0;\nst.param.b32 [p0],%r0;\nst.param.b32 [p0+4],%r1;\n"
            "call (q0), f, (p0);\nld.param.b32 %r2,[q0]; }\n" * 2,
        )
    )
    module = read_module(text, "k.ptx")
    operations = Operations(load().judge("8.3", "sm_90a"))
    inlining = Inlining(module, operations)
    whole = inlining.whole(module.functions[1])
    words = [f"{s.opcode} {s.operands}" for s in whole.statements]
    assert inlining.placed == {"f"}
    assert [w for w in words if "param" in w or w.startswith("call")] == [
        w for w in words if (w.startswith("ld.param") and "[d" in w) or "[out" in w or "[n" in w
    ]
    assert "mov.u32 f$x$4, p0$4" in words and "mov.u32 %r1, f$x$4" in words and "mov.b32 %r2, q0$0" in words
    assert len({whole.register("f$x$4", s.scope) for s in whole.statements if "f$x$4" in s.operands}) == 2


SHARED = (
    "mov.u32 %r10,smem; shr.u32 %r11,%r10,4; cvt.u64.u32 %d9,%r11; or.b64 %d10,%d9,0x4000004000010000;\n"
    "mov.u32 %r12,%tid.x; shl.b32 %r13,%r12,4; add.u32 %r14,%r10,%r13;\n"
)
STORE, PROXY = "st.shared.b32 [%r14],%r12;", "fence.proxy.async.shared::cta;"


@pytest.mark.parametrize(
    ("order", "tier"),
    [
        (("call f;", STORE, "bar.sync 0;"), "error"),
        ((STORE, "call f;", "bar.sync 0;"), "likely"),
        ((STORE, PROXY, "call f;", "bar.sync 0;"), None),
    ],
)
def test_a_call_without_a_body_may_fence_the_proxies(order: tuple[str, ...], tier: str | None) -> None:
    functions = ".extern .func f();\n.extern .shared .align 1024 .b8 smem[];\n"
    product = MMA.replace("%d0,%d1", "%d10,%d10")
    body = f"{SHARED}{' '.join(order)} {FENCE} {product} {COMMIT} {WAIT} {USE}"
    failing = [f for f in report(functions, body).findings if f.tier in ("error", "likely")]
    assert [(f.tier, f.rule) for f in failing] == ([(tier, "proxy-fence")] if tier else [])
    assert all(("whose body the file does not hold" in f.message) == (tier == "likely") for f in failing)


def test_what_a_callee_stores_and_fences_counts_where_it_is_called() -> None:
    shared = ".extern .shared .align 1024 .b8 smem[];\n"
    parts = "ld.param.b32 %r1,[x]; mov.u32 %r2,%tid.x; shl.b32 %r3,%r2,4; add.u32 %r4,%r1,%r3; st.shared.b32 [%r4],%r2;"
    call = "{ .param .b32 p0; st.param.b32 [p0],%r10; call f,(p0); }"
    product = MMA.replace("%d0,%d1", "%d10,%d10")
    body = f"{SHARED}{call} bar.sync 0; {FENCE} {product} {COMMIT} {WAIT} {USE}"
    bare, fenced = (function(parts + more, parameters=".param .b32 x") for more in ("", PROXY))
    assert found(shared + bare, body) == [("error", "proxy-fence")]
    assert found(shared + fenced, body) == []

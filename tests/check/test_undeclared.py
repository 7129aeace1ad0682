"""Names that a file does not declare, as every ptxas sees them: Unknown symbol."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

HEAD = """.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.entry k(.param .u64 matrix)
{
.reg .b32 %r<4>;
.reg .pred p;
.reg .b64 %rd;
.shared .align 16 .b8 tile[1024];
"""
LD = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"


def undeclared(statements: str) -> list[tuple[str, int, int]]:
    """By name: the line behind the head where it is first used, and how many statements use it."""
    report = check_text(f"{HEAD}{statements}\nret;\n}}\n", "k.ptx")
    found = [one for one in report.not_judged if "does not declare" in one.why]
    return [(one.instruction, one.place.line - HEAD.count("\n"), one.statements) for one in found]


@pytest.mark.parametrize(
    ("statements", "names"),
    [
        (f"{LD} {{%r0, %r3}}, [tile+16];", []),
        (f"{LD} {{%r0, %r3}}, [dynamic];", []),
        (f"@!p {LD} {{%r0, %r3}}, [%rd+0x10];", []),
        (f"{LD} {{%r0, %r4}}, [tile];", [("%r4", 1, 1)]),
        (f"{LD} {{%r0, %q}}, [%q];\n{LD} {{%r0, %q}}, [tile];", [("%q", 1, 2)]),
        (f"\n@none {LD} {{%r0, %r1}}, [lost+16];", [("lost", 2, 1), ("none", 2, 1)]),
        (f"{{ .reg .b32 inner; {LD} {{%r0, inner}}, [tile]; }}", []),
        (f"{{ .reg .b32 inner; }}\n{LD} {{%r0, inner}}, [tile];", [("inner", 2, 1)]),
        ("mov.b32 %r0, %unknown;", []),  # not an instruction of the specification
        (f"@%is_explicit_cluster {LD} {{%r0, %r1}}, [tile];", []),
    ],
)
def test_undeclared_names_are_said_aloud(statements: str, names: list[tuple[str, int, int]]) -> None:
    assert undeclared(statements) == names


def test_a_file_that_is_read_in_part_may_declare_them() -> None:
    assert undeclared(f".reg %broken;\n{LD} {{%r0, %q}}, [tile];") == []

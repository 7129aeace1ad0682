"""The C of lanes makes of any elements the very D that the definition gives; `test_array_operations.py` proves
that each of its functions means its operation.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from ptxmma.gen.arithmetic import array_programs, lane_text
from ptxmma.gen.arithmetic.compiled_sums import compiler
from ptxmma.gen.arithmetic.type_sets import type_sets
from ptxmma.spec.arithmetic import arithmetic, arithmetic_of
from ptxmma.spec.arithmetic_checks import sums_of
from ptxmma.spec.chip_arithmetic import ChipArithmetic
from ptxmma.spec.specification import Specification

from .symbolic_sums import MEANINGS, Node, define_by_nodes, defined, element, lifted

TARGET = "sm_90a"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
F16 = "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16"
OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "and": "&",
    "or": "|",
    "differ": "^",
    "shift_left": "<<",
    "shift_right": ">>",
    "equal": "==",
    "unequal": "!=",
    "less": "<",
    "at_most": "<=",
    "more": ">",
    "at_least": ">=",
    "bits": "bits",
}
SAME = ("mask64", "as128", "as64")  # the value stays; its words are others
ALL = r"ALL\(N\((\d+)\)\)"
GIVEN = re.compile(rf"\(pair\)\{{{ALL}, {ALL}\}}|{ALL}|(\w+)")
CHAIN = re.compile(r"FUNCTION lanes (chain_\d+)\((.*)\) \{")
STEP = re.compile(r"  const (lanes|pair) (s\d+) = (lanes|wide)_(\w+)\((.*)\);")
LOADED = re.compile(r"    (\w+)\[i\] = ([abc])\[(?:(\d+) \* i \+ (\d+)|i)\];")
CALLED = re.compile(r"  const lanes (sum_\d+) = (chain_\d+)\((.*)\);")
STORED = re.compile(r"    d\[i\] = \(unsigned [a-z ]+\)(sum_\d+)\[i\];")
EACH = "  for (int i = 0; i < LANES; i++)"


@pytest.fixture(autouse=True)
def symbolic(monkeypatch: pytest.MonkeyPatch) -> None:
    define_by_nodes(monkeypatch)


def operands(text: str, scope: Mapping[str, Node]) -> list[Node]:
    """What a function gets: numbers and names."""
    assert GIVEN.sub("", text).strip(", ") == "", text
    found = []
    for high, low, number, name in GIVEN.findall(text):
        found.append(scope[name] if name else lifted(int(number or low) + (int(high or 0) << 64)))
    return found


def chained(body: Sequence[str], scope: dict[str, Node], word: int) -> Node:
    """What the steps of a block come to; a lane holds each value, or a pair of them does."""
    for line in body[:-1]:
        step = STEP.fullmatch(line)
        assert step and step[2] not in scope, line
        kind, name, _, operation, given = step.groups()
        cells = operands(given, scope)
        make: Callable[..., Node]
        make = MEANINGS.get(operation) or partial(Node.of, OPERATORS.get(operation, operation))
        scope[name] = cells[0] if operation in SAME else make(*cells)
        bits = 64 if kind == "lanes" else 128
        assert bits == word or scope[name].span[1] >> bits == 0, line
    (found,) = operands(body[-1].removeprefix("  return ").removesuffix(";"), scope)
    return found


def computed(text: str, known: ChipArithmetic) -> Node:
    """D of one job, by the C."""
    word = max(block.step.word for block in known.blocks)
    lines = iter(text[text.index("FUNCTION lanes chain_") :].splitlines())
    chains: dict[str, tuple[list[str], list[str]]] = {}
    scope: dict[str, Node] = {}
    found = None
    for line in lines:
        if head := CHAIN.fullmatch(line):
            body = list(iter(partial(next, lines), "}"))
            chains[head[1]] = [one.removeprefix("lanes ") for one in head[2].split(", ")], body
        elif loaded := LOADED.fullmatch(line):
            name, part, count, at = loaded.groups()
            assert int(count or 1) == (1 if part == "c" else known.products), line
            scope[name] = element(part, int(at or 0), known)
        elif called := CALLED.fullmatch(line):
            names, body = chains[called[2]]
            given = dict(zip(names, operands(called[3], scope), strict=True))
            scope[called[1]] = chained(body, given, word)
        elif stored := STORED.fullmatch(line):
            found = scope[stored[1]]
        else:
            known_line = line in ("", EACH, "}", "#endif") or line.startswith("FUNCTION void sums_of_lanes(")
            assert known_line or re.fullmatch(r"  lanes \w+;", line), line
    assert found is not None
    return found


def listed(specification: Specification) -> dict[str, ChipArithmetic]:
    """By its C, each arithmetic of which there is one."""
    (family,) = arithmetic().families
    every = [one.arithmetic for one in type_sets(specification, sums_of(specification, family), TARGET)]
    found = {lane_text.lane_text(specification, known): known for known in every}
    found.pop("")
    return found


def test_every_sum_of_lanes_is_that_of_the_definition(specification: Specification) -> None:
    texts = listed(specification)
    assert {known.row.id for known in texts.values()} == {"f64", "mma.m8n8k4.f32", "mma.m8n8k4.f16"}
    for text, known in texts.items():
        Node.made.clear()
        assert computed(text, known) is defined(specification, known), (known.row.id, known.types)


def differs(text: str, known: ChipArithmetic, wanted: Node) -> bool:
    """Whether D is another value, or one that a lane does not hold."""
    try:
        return computed(text, known) is not wanted
    except AssertionError:
        return True


@pytest.mark.parametrize(
    ("mnemonic", "right", "slip"),
    [
        (F64, "a_0[i] = a[4 * i + 0]", "a_0[i] = b[4 * i + 0]"),
        (F64, "b_1[i] = b[4 * i + 1]", "b_1[i] = b[4 * i + 0]"),
        (F64, "chain_0(a_1, b_1, sum_0)", "chain_0(a_1, b_1, c_codes)"),
        (F64, "lanes_add(", "lanes_or("),
        (F64, "wide_shift_right(", "wide_shift_left("),
        (F64, "ALL(N(52))", "ALL(N(51))"),
        (F16, "d[i] = (unsigned short)sum_6", "d[i] = (unsigned short)sum_5"),
    ],
)
def test_a_slip_of_the_c_is_another_value(
    specification: Specification, mnemonic: str, right: str, slip: str
) -> None:
    known = arithmetic_of(specification.find(mnemonic), TARGET)
    text = lane_text.lane_text(specification, known)
    wanted = defined(specification, known)
    assert computed(text, known) is wanted
    start = text.index("FUNCTION lanes chain_")
    assert right in text[start:]
    assert differs(text[:start] + text[start:].replace(right, slip, 1), known, wanted)


def test_a_value_that_a_lane_does_not_hold_is_noticed(specification: Specification) -> None:
    known = arithmetic_of(specification.find(F64), TARGET)
    text = lane_text.lane_text(specification, known)
    right = re.search(r"const pair (s\d+) = wide_multiply", text)
    assert right
    with pytest.raises(AssertionError, match="wide_multiply"):
        computed(text.replace(right[0], right[0].replace("pair", "lanes")), known)


def test_sums_of_many_products_have_no_lanes(specification: Specification) -> None:
    known = arithmetic_of(specification.find("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"), TARGET)
    assert lane_text.lane_text(specification, known) == ""


COMPILED = """\
typedef unsigned long long word64;
#define FUNCTION static inline
#define N(value) (value##ull)
#if defined(__AVX512F__) && defined(__AVX512DQ__)
{head}
void compute(const word64 *a, const word64 *b, word64 *found) {{
  lanes x, y;
  for (int i = 0; i < LANES; i++) x[i] = a[i], y[i] = b[i];
  const lanes results[] = {{left(x, y), right(x, y), greater(x, y), lesser(x, y), ALL(N(7)),
    (lanes)__builtin_convertvector(x, doubles)}};
  for (int n = 0; n < 6; n++) for (int i = 0; i < LANES; i++) found[LANES * n + i] = results[n][i];
}}
#endif
"""


@pytest.mark.skipif(compiler() is None, reason="no compiler")
def test_what_lanes_do(tmp_path: Path) -> None:
    """The functions that C lacks, on a processor that has such vectors."""
    head = resources.files(array_programs.__package__).joinpath("lanes.h").read_text(encoding="utf-8")
    source, library = tmp_path / "lanes.c", tmp_path / "lanes.so"
    source.write_text(COMPILED.format(head=head), encoding="utf-8")
    command = [
        compiler() or "",
        "-O2",
        "-march=native",
        "-fPIC",
        "-shared",
        "-w",
        "-o",
        str(library),
        str(source),
    ]
    subprocess.run(command, check=True)
    compute: Any = getattr(ctypes.CDLL(str(library)), "compute", None)
    if compute is None:
        pytest.skip("no AVX-512")
    most = (1 << 64) - 1
    words = (0, 1, 2, 63, 64, 65, 1 << 32, 1 << 63, most, 0x0123456789ABCDEF)
    pairs = [(x, y) for x in words for y in words]
    pairs += [(0, 0)] * (-len(pairs) % 8)
    for start in range(0, len(pairs), 8):
        part = pairs[start : start + 8]
        a, b = ((ctypes.c_ulonglong * 8)(*column) for column in zip(*part, strict=True))
        found = (ctypes.c_ulonglong * 48)()
        compute(a, b, found)
        rows = [list(found[8 * n : 8 * n + 8]) for n in range(6)]
        assert rows[0] == [x << y & most if y < 64 else 0 for x, y in part]
        assert rows[1] == [x >> y if y < 64 else 0 for x, y in part]
        assert rows[2] == [max(pair) for pair in part]
        assert rows[3] == [min(pair) for pair in part]
        assert rows[4] == [7] * 8
        numbers = (ctypes.c_double * 8)(*(float(x) for x, _ in part))
        assert bytes(numbers) == b"".join(row.to_bytes(8, "little") for row in rows[5])

"""Constant expressions and signs between them: typed from sections 4.1 to 4.5, and as ptxas reads them."""

from __future__ import annotations

import random
import re

import pytest

from ptxmma.assemblers.asking import Asking
from ptxmma.assemblers.toolchains import available
from ptxmma.spec.constants import SyntaxFault, constant_of
from ptxmma.spec.nodes import Version
from ptxmma.spec.specification import Specification

ASSEMBLERS = [one for one in available() if one.ptx >= Version(8, 0)]
needs_ptxas = pytest.mark.skipif(not ASSEMBLERS, reason="no ptxas is here")
TOP = 1 << 63

VALUES = {
    "2+3*4": 14, "(2+3)*4": 20, "9-2-3": 4, "1<<1+1": 4, "1|2^3&1": 3, "017": 15, "0x1fU": 31, "0b101": 5, "08/1": None,
    "5&&3": 1, "0||0": 0, "!0": 1, "!!3": 1, "~-4": 3, "- -3": 3, "+ +3": 3, "1?2:3?4:5": 2, "0?2:0?4:5": 5, "5==5==1": 1,
    "1<2<3": 1, "3!=3": 0, "2>=3": 0, "-7/2": -3, "7/-2": -3, "-8>>1": -4, "-8U>>1": TOP - 4, "-1<2": 1, "-1<2U": 0,
    "-7 % 4": 1, "7 % 4": 3, "(.u64)-8>>1": TOP - 4, "( .s64 ) 8": 8, "(.s64)(8U-16)>>1": -4, "9223372036854775808>>63": 1,
    "9223372036854775807+1": -TOP, "1<<63": -TOP, "WARP_SZ/8": 4, "18446744073709551615": -1, "1<<-1": -TOP,
    "7%4": None, "7 %4": None, "7%(4)": 3, "1/0": None, "1 % 0": None, "1||1/0": None, "1_0": None, "0o7": None, "not 1": None,
    "3**1": None, "7//2": None, "1 # c": None, "": None, "()": None, "(3": None, "3)": None, "3 4": None, "3+": None, "*3": None,
    "1?2": None, "1?2:": None, "3u": None, "100 U": None, "1.5": None, "1.5>1": None, "True": None, "(.u32)3": None,
    "WARP_SZ2": None, "18446744073709551616": None, "0xfffffffffffffffff": None, "1" * 5000: None,
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES, ids=lambda text: text[:20] or "nothing")
def test_values(text: str) -> None:
    if VALUES[text] is None:
        with pytest.raises(SyntaxFault):
            constant_of(text)
    else:
        assert constant_of(text) == VALUES[text]


def test_expressions_inside_one_another() -> None:
    between = "1||1&&1|1^1&1==1<1<<1+1*("
    assert constant_of("(" * 40 + "7" + ")" * 40) == 7
    assert constant_of("-~" * 2000 + "7") == 2007
    for depth in (51, 100_000):
        with pytest.raises(SyntaxFault):
            constant_of(between * depth + "1" + ")" * depth)


LITERALS = (
    "0", "1", "2", "3", "7", "8", "63", "64", "65", "0x10", "0b11", "017", "5U", "0x1fU", "4294967296", "WARP_SZ",
    "9223372036854775807", "9223372036854775808", "0x8000000000000000", "18446744073709551615",
)  # fmt: skip
UNARY = ("-", "+", "~", "!", "(.s64)", "(.u64)", "- ~")
BINARY = ("+", "-", "*", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||")
_SAID = re.compile(r"unexpected value '(-\d+)'")


def _drawn(chance: random.Random, depth: int) -> str:
    """An expression; by literals alone it divides, since ptxas falls where a quotient is 2 to the 63rd."""
    kind = chance.random()
    if not depth or kind < 0.15:
        return chance.choice(LITERALS)
    inner = _drawn(chance, depth - 1)
    if kind < 0.35:
        return chance.choice(UNARY) + inner
    if kind < 0.5:
        return f"({inner})"
    if kind < 0.6:
        return f"{inner} ? {_drawn(chance, depth - 1)}:{chance.choice(LITERALS)}"
    if kind < 0.7:
        return f"{inner}{chance.choice(('/', ' % '))}{chance.choice(LITERALS[1:])}"
    return f"{inner}{chance.choice(BINARY)}{_drawn(chance, depth - 1)}"


@needs_ptxas
def test_values_by_ptxas() -> None:
    """ptxas prints a negative number that wait_group does not take: the low 63 bits, then the highest one."""
    chance = random.Random(45)
    drawn = [_drawn(chance, 1 + number % 4) for number in range(300)]
    texts = [text for text in drawn if "% 0" not in text]
    asked = [
        f"wgmma.wait_group.sync.aligned {one};"
        for text in texts
        for one in (f"(.s64)(({text})|9223372036854775808U)", f"(((.u64)({text}))>>63)-5")
    ]
    for ptxas in (ASSEMBLERS[0], ASSEMBLERS[-1]):
        answer = Asking(ptxas, Version(8, 0), "sm_90a").ask(asked)
        said = [_SAID.search(" ".join(answer.faults[number])) for number in range(len(asked))]
        printed = [int(one[1]) if one else None for one in said]
        bits = [constant_of(text) & (1 << 64) - 1 for text in texts]
        expected = [number for one in bits for number in ((one | TOP) - (1 << 64), (one >> 63) - 5)]
        assert printed == expected


MOVE = "movmatrix.sync.aligned.m8n8.trans.b16 %b0, %b1;"
# Whether it is legal, by what stands where.
SIGNS = {
    MOVE: True, f"{MOVE} // é": True, f"/* é */{MOVE}": True, f"{MOVE}\u2003": False, f"{MOVE}\v": False, f"{MOVE}\f\r\n\t": True,
    MOVE.replace(".trans", " .trans"): True, MOVE.replace(".trans", "/**/.trans"): True, MOVE.replace(".trans", ". trans"): False,
    MOVE.replace(".trans", ".\ttrans"): False, MOVE.replace(".trans", "./**/trans"): False, MOVE.replace(",", ",\x1c"): False,
    MOVE.replace(" %b0", "%b0"): True, f"a:{MOVE}": True, f"a: $b : %4:{MOVE}": True, f"4:{MOVE}": False, f"_:{MOVE}": False,
    f"$:{MOVE}": False, f"@%p0/**/{MOVE}": True, f"@ ! %p0\n{MOVE}": True, f"@%p0{MOVE}": False, f"@_ {MOVE}": False,
    f".reg .b32 %4; {MOVE.replace('%b1', '%4')}": True, f".reg .b32 a$b; {MOVE.replace('%b1', 'a$b')}": True,
    f".reg .b32 4a; {MOVE}": False, f".reg .b32 $; {MOVE}": False, f".reg .b32 a%b; {MOVE}": False,
    "wgmma.wait_group.sync.aligned 1<2;": True, "wgmma.wait_group.sync.aligned 7%4;": False,
    "wgmma.wait_group.sync.aligned WARP_SZ-31;": True, "wgmma.wait_group.sync.aligned 1?2:-3;": True,
    "wgmma.wait_group.sync.aligned 0?2:-3;": False,
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b0}, [%b1+WARP_SZ*(1<2)];": True,
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b0}, [%b1-4];": False,
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b0}, [%tid.x];": False,
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b0}, [%b1.x+4];": False,
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b0}, [_];": False,
    "ldmatrix.sync.aligned.m8n8.x1.shared ::cta.b16 {%b0}, [%b1];": False,
}  # fmt: skip


@pytest.mark.parametrize("text", SIGNS, ids=[repr(text)[-40:] for text in SIGNS])
def test_signs(specification: Specification, text: str) -> None:
    declared = ".reg .b32 %b<8>; .reg .pred %p<8>; "
    given = f"{declared}{text}" if ".reg" in text else text
    assert (specification.judge("9.3", "sm_90a").judge(given).verdict == "legal") == SIGNS[text]


@needs_ptxas
def test_signs_by_ptxas() -> None:
    asking = Asking(ASSEMBLERS[-1], Version(8, 0), "sm_90a")
    head = ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { .reg .b32 %b<8>; .reg .pred %p<8>;"
    found = {text: asking.assemble(f"{head}\n{text}\nret; }}\n")[0] == 0 for text in SIGNS}
    assert found == SIGNS

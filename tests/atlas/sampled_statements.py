"""Statements of the universe, and texts that are hardly statements, drawn by number."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ptxmma.assemblers.asking import REGISTERS
from ptxmma.assemblers.neighbours import Neighbours
from ptxmma.assemblers.universe import Universe
from ptxmma.assemblers.universe_points import WrittenStatement, domain
from ptxmma.spec.model import Form
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Family, Variant

__all__ = ["drawn"]

_DECLARED = " ".join(f".reg .{kind} {name}<{count}>;" for kind, (name, count) in REGISTERS.items())
_BEFORE = (
    "@%p1 ",
    "@!%p0 ",
    "@%b1 ",
    "@ ! %p1\t",
    "label: ",
    "$L_1:@p ",
    "// words; words\n",
    "/* a */",
    "/* ",
    "é ",
    "\t\n",
)
_BEHIND = ("", " ", ";", " ;", "\n", "\n\n", " // words", "/**/", "\u2003", ",", ";;")
_CONSTANTS = (
    "1+1", "0x10", "0b11", "017", "08", "1U", "0x1fU", "-1", "~0", "!0", "!!3", "1<<3", "1<<70", "1>>-1", "(1)", "((2)", "7/2",
    "-7/2", "-7%4", "7%0", "1.5", "0f3f800000", "1e3", ".5", "- 1.0", "1e400", "-(0f3f800000)", "1.0*(2.0+.5)",
    "1e", "_", "%p1", "!%p1", "! %p1", "%b1.x", "a.b", "0 1", "2*(3+4)", "5//2",
    "1 if 1 else 2", "True", "1_000", "1&6|1", "6^3&1", "18446744073709551615", "18446744073709551616", "1 # c", "2**3", "1<2",
    "%laneid", "%tid", "%tid.x", "%laneid.x", "!%is_explicit_cluster", "%clock64", "%b1+1", "%laneid + 4", "%p1+0", "%b1.x+1", "a+b",
    "[%laneid]", "[%tid]", "{%laneid}", "{%tid.y, a}", "{!%p1, a}", "{%b1+1}", "1" * 30, "1" * 5000, "00", "0o7", "+ 3", "- 3", "--3", "-~3", "[a+4]", "[a-4]", "[a + 1+1]", "[ %b1 ]", "[5]", "[_]", "[a,b]", "{}",
    "{a,}", "{1, 2}", "{_, _}", "{_, a}", "{0f00000000, 0f00000000}", "{1.5, a}", "{!a}", "é", "٣", "not 1", "1 not 2",
)  # fmt: skip
_SIGNS = " .;:,{}[]_%!@01amsxé/*\n\t-+\"'\\\x00\U0001f600"


def drawn(specification: Specification, count: int, seed: int) -> list[str]:
    """So many texts: a third are neighbours of legal statements, a third differ from a legal statement in some
    fields, and a third have odd syntax. Some stand behind the declarations of all registers, and some behind a
    guard.
    """
    chance = random.Random(seed)
    made = Universe(specification)
    families = list(specification.families.values())
    legal = {id(family): list(made.legal(family)) for family in families}
    near = [text for family in families for text in _neighbours(made, family, legal[id(family)], chance)]
    found = chance.sample(near, min(count // 3, len(near)))
    while len(found) < count:
        family = chance.choice(families)
        text = _spelled(made, family, chance.choice(legal[id(family)]), chance).text
        found.append(text if len(found) % 2 else _odd(text, chance))
    return [
        chance.choices(("", f"{_DECLARED} ", f"{_DECLARED} @%b1 "), (8, 2, 0.1))[0] + text for text in found
    ]


def _neighbours(
    made: Universe, family: Family, legal: Sequence[tuple[Variant, Form]], chance: random.Random
) -> Iterator[str]:
    """The neighbours of some of the legal statements of an instruction."""
    some = chance.sample(legal, min(len(legal), 4))
    for written in Neighbours(made.write, made.outside, made.foreign(family)).of(family, some):
        yield written.text


def _spelled(
    made: Universe, family: Family, legal: tuple[Variant, Form], chance: random.Random
) -> WrittenStatement:
    """A legal statement with none, one or several fields changed."""
    variant, form = legal
    fields = dict(variant.fields)
    for field in chance.sample(
        sorted(family.bound), min(len(family.bound), chance.choice((0, 0, 1, 1, 2, 3)))
    ):
        fields[field] = chance.choice((*domain(family, field), *made.outside(family, field)))
    mnemonic = ".".join(word for word in variant.row.spell(fields).split(".") if word)
    return WrittenStatement(mnemonic, made.write(variant, form).operands)


def _odd(text: str, chance: random.Random) -> str:
    """A statement with something odd: another order, other operands, signs that do not belong."""
    mnemonic, _, operands = text.removesuffix(";").partition(" ")
    for _ in range(chance.choice((1, 1, 2, 3))):
        match chance.randrange(15):
            case 0:
                words = mnemonic.split(".")
                mnemonic = ".".join([*words[:2], *chance.sample(words[2:], len(words[2:]))])
            case 1 if chance.random() < 0.3:
                mnemonic = mnemonic[: chance.randrange(len(mnemonic)) + 1]
            case 2:
                mnemonic = chance.choice(
                    (
                        mnemonic.upper(),
                        mnemonic.title(),
                        mnemonic.replace(".", " . "),
                        mnemonic.replace(".", " ."),
                        mnemonic.replace(".", " .", 1),
                        mnemonic.replace("::", " ::"),
                    )
                )
            case 3:
                mnemonic += (
                    f".{chance.choice(('m64n64k64', 'm8n8', 'f15', 'alinged', 'x' * 250, 'kind::f15'))}"
                )
            case 4:
                mnemonic = chance.choice(
                    ("", "wgma.fence", "mma", "mma.*.f32", "tcgen05", "mad.lo.s32", mnemonic[1:])
                )
            case 5 | 6 | 7 | 10 | 11 | 12:
                pieces = operands.split(", ")
                pieces[chance.randrange(len(pieces))] = chance.choice(_CONSTANTS)
                operands = ", ".join(pieces)
            case 13 if "{" in operands:
                vectors = [place for place, sign in enumerate(operands) if sign == "{"]
                place = chance.choice(vectors) + 1
                end = min(operands.find(sign, place) % len(operands) for sign in ",}")
                operands = operands[:place] + chance.choice(("_", "_", "0", "1.0", "-1")) + operands[end:]
            case 8:
                mnemonic = chance.choice(_BEFORE) + mnemonic
            case 9:
                mnemonic = f"{chance.choice((_DECLARED, '.reg .pred p, %p<4>;', '.reg .f32 a b;', '.reg .b64 %bd<2>;', '.reg .v4 .b32 a;', '.reg .v2.f32 a, %b1;'))} {mnemonic}"
            case _:
                place = chance.randrange(len(mnemonic) + 1)
                mnemonic = mnemonic[:place] + chance.choice(_SIGNS) + mnemonic[place + chance.randrange(2) :]
        mnemonic = mnemonic or "m"
    return f"{mnemonic} {operands}{chance.choice((';', ';', ';', ''))}{chance.choice(_BEHIND)}"

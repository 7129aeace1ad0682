"""ptxmma descriptor: encode and decode descriptors, every field named, and say which are legal."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from ..spec.addresses import DescribedMatrix
from ..spec.api import judge, load
from ..spec.column_masks import mask_of, shown_columns, zeroed_columns
from ..spec.described_operands import holding, legal_words
from ..spec.descriptor import decode, encode
from ..spec.descriptor_rules import WordVerdict, judge_word
from ..spec.errors import Question
from ..spec.memory_records import Descriptor
from ..spec.nodes import nearest

__all__ = ["add", "field_lines", "word_json"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="encode|decode|address")
    encoder = verbs.add_parser("encode", help="fields (FIELD=VALUE …) to a word, if it is legal")
    encoder.add_argument(
        "fields", nargs="+", metavar="FIELD=VALUE", help="a field as `decode` names it, or a setting"
    )
    decoder = verbs.add_parser("decode", help="a word to its fields, and whether it is legal")
    decoder.add_argument("word", help="decimal or 0x…")
    decoder.add_argument(
        "fields",
        nargs="*",
        metavar="SETTING=VALUE",
        help="what the statement says (default: any); N=… of a mask",
    )
    for verb in (encoder, decoder):
        verb.add_argument("--ptx", metavar="V", help="the PTX ISA version (default: the newest)")
        verb.add_argument("--target", metavar="T", help="the target (default: any)")
    locator = verbs.add_parser("address", help="the byte address of an element, or the element at an address")
    locator.add_argument("word", help="the descriptor, decimal or 0x…")
    locator.add_argument("--major", choices=("K", "MN"), default="K", help="K: not transposed")
    locator.add_argument("--bytes", type=int, default=2, help="bytes of an element (1, 2, 4)")
    locator.add_argument("--row", type=int, metavar="X", help="the row of A, or the column of B")
    locator.add_argument("--k", type=int, metavar="K", help="the element along K (packed if sparse)")
    locator.add_argument("--address", metavar="ADDRESS", help="a byte address: which element is there")
    for verb in (encoder, decoder, locator):
        verb.add_argument(
            "--kind", metavar="D", help="which descriptor (default: the first of the specification)"
        )
        verb.add_argument("--format", choices=("text", "json"), default="text")
        verb.set_defaults(run=run)


def _integer(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _kind(given: str | None) -> str:
    """The descriptor named on the command line; raises Question for an unknown name."""
    known = list(load().descriptors)
    if given is None:
        return known[0]
    if given not in known:
        raise Question(f"there is no descriptor {given!r}; there are: {', '.join(known)}")
    return given


def run(args: argparse.Namespace) -> int:
    """Encode or decode; both print the word and every field, and refuse a word that is not legal."""
    from .witness_lines import word_lines

    descriptor = load().descriptors[_kind(args.kind)]
    if args.verb == "address":
        return _locate(args, _word(args.word))
    given = _given(args.fields)
    columns = given.pop(_COLUMNS, None) if descriptor.columns and args.verb == "decode" else None
    settings: dict[str, int] = {}
    for name in [name for name in given if name in descriptor.settings]:
        value = given.pop(name)
        if isinstance(value, str):
            allowed = " or ".join(map(str, descriptor.settings[name].values))
            raise Question(f"{name}: {value!r} is not a value; it must be {allowed}")
        settings[name] = value
    if args.verb == "encode":
        word = encode(descriptor, given)
    else:
        word = _word(args.word)
        for name in given:
            known = ", ".join(descriptor.settings)
            guess = nearest(name, descriptor.settings)
            hint = f"did you mean {guess}?" if guess else f"it has {known}" if known else "it has none"
            raise Question(f"the descriptor has no setting {name!r}; {hint}")
    if not descriptor.rules:
        decode(descriptor, word)  # raises Question where a bit outside the fields is set
    holds = holding(judge(args.ptx, args.target))
    found = judge_word(descriptor, word, settings, holds)
    if args.verb == "encode" and not found:
        raise Question("; ".join(reason.message for reason in found.reasons))
    counts = list(legal_words(descriptor, settings, holds)) if descriptor.rules else []
    about, lines = word_json(descriptor, found, counts), field_lines(descriptor, found, counts)
    if columns is not None:
        zeroed, shortest = _zeroed(descriptor, word, columns, settings)
        about |= {"zeroed_columns": list(zeroed), "same_columns": f"{shortest:#018x}"}
        lines.append(
            f"zeroes the columns {shown_columns(zeroed)} of {columns}, from the first that is multiplied"
        )
        lines.append(f"  {shortest:#018x} zeroes the same, with the shortest spans and no shift")
    lines += word_lines(about["witnesses"])
    print(json.dumps(about, indent=1) if args.format == "json" else "\n".join(lines))
    return 0 if found else 1


_COLUMNS = "N"  # of how many columns a mask is, which is not a setting: no rule reads it


def _zeroed(
    descriptor: Descriptor, word: int, columns: int | str, settings: Mapping[str, int]
) -> tuple[tuple[int, ...], int]:
    """The columns that a mask zeroes, and the mask of them; raises Question where a setting is missing."""
    for name in descriptor.settings.keys() - settings.keys():
        raise Question(f"which columns are zeroed depends on {name}: give {name}=… too")
    if isinstance(columns, str):
        raise Question(f"{_COLUMNS}: {columns!r} is not an integer")
    zeroed = zeroed_columns(descriptor, word, columns, settings)
    return zeroed, mask_of(descriptor, zeroed, columns, settings)


def _given(items: list[str]) -> dict[str, int | str]:
    """What FIELD=VALUE says, by name; raises Question for another text."""
    given: dict[str, int | str] = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not sign or name in given:
            raise Question(f"{item!r}: write each field once, as FIELD=VALUE")
        number = _integer(value)
        given[name] = value if number is None else number
    return given


def _word(text: str) -> int:
    number = _integer(text)
    if number is None:
        raise Question(f"{text!r} is not an integer; write it in decimal or as 0x…")
    return number


def word_json(descriptor: Descriptor, found: WordVerdict, counts: list[int]) -> dict[str, Any]:
    """A word as the JSON output has it; what is about legality only where the descriptor has rules."""
    from .witness_lines import word_witnesses

    word = f"{found.word:#0{descriptor.bits // 4 + 2}x}"
    about: dict[str, Any] = {"word": word, "fields": dict(found.fields)}
    if descriptor.rules:
        about["legal"] = bool(found)
        about["settings"] = dict(found.settings)
        about["reasons"] = [{"code": r.code, "message": r.message} for r in found.reasons]
        about["legal_values"] = counts
    about["witnesses"] = word_witnesses(load(), descriptor, found)
    return about


def field_lines(descriptor: Descriptor, found: WordVerdict, counts: list[int]) -> list[str]:
    """A word for a person: its fields, and whether it is legal."""
    lines = [f"{found.word:#0{descriptor.bits // 4 + 2}x}"]
    for name, value in found.fields.items():
        field = descriptor.fields[name]
        named = next((key for key, code in field.values.items() if code == value), None)
        shown = f"{value} ({named})" if named else f"{value}"
        lines.append(f"  bits {field.low:>2}..{field.high:<2} {name:<30} {shown}")
    if not descriptor.rules:
        return lines
    said = _settings(found.settings)
    lines.append(f"{'legal' if found else 'illegal'}{f' with {said}' * bool(said)}")
    lines += [f"  {reason.code}: {reason.message}" for reason in found.reasons]
    if len(set(counts)) == 1:
        lines.append(f"  {counts[0]:,} of {1 << descriptor.bits:,} values are legal")
    elif counts:
        lines.append(
            f"  {min(counts):,} to {max(counts):,} of {1 << descriptor.bits:,} values are legal, by setting"
        )
    return lines


def _settings(settings: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in settings.items())


def _locate(args: argparse.Namespace, word: int) -> int:
    specification = load()
    kind = _kind(args.kind)
    descriptor = specification.descriptors[kind]
    rules = specification.addresses
    matrix = DescribedMatrix.of(
        specification.rules_of(kind),
        specification.layouts,
        rules.swizzle,
        descriptor,
        decode(descriptor, word),
        args.major,
        args.bytes,
    )
    if args.address is not None:
        wanted = _integer(args.address)
        if wanted is None:
            raise Question(f"{args.address!r} is not an integer; write it in decimal or as 0x…")
        x, k = matrix.element(wanted)
    elif args.row is not None and args.k is not None:
        x, k = args.row, args.k
        wanted = matrix.address(x, k)
    else:
        raise Question("give --row and --k, or --address")
    if args.format == "json":
        print(json.dumps({"address": wanted, "row": x, "k": k}))
    else:
        within = wanted - matrix.address(x, k)
        what = f"byte {within} of element" if within else "element"
        print(f"{what} ({x}, {k}) lies at {wanted:#x} ({matrix.rule.title}, mode {matrix.mode})")
    return 0

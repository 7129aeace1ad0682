"""ptxmma descriptor: encode and decode 64-bit matrix descriptors, every field named."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..spec.api import load
from ..spec.descriptor import decode, encode
from ..spec.errors import Question

__all__ = ["add"]


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("descriptor", help="encode or decode a matrix descriptor")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="encode|decode")
    encoder = verbs.add_parser("encode", help="fields (FIELD=VALUE …) to a 64-bit word")
    encoder.add_argument("fields", nargs="+", metavar="FIELD=VALUE")
    decoder = verbs.add_parser("decode", help="a 64-bit word to its fields")
    decoder.add_argument("word", help="decimal or 0x…")
    for verb in (encoder, decoder):
        verb.add_argument("--format", choices=("text", "json"), default="text")
        verb.set_defaults(run=run)


def _integer(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def run(args: argparse.Namespace) -> int:
    """Encode or decode; both print the word and every field."""
    (descriptor,) = load().descriptors.values()
    if args.verb == "encode":
        given: dict[str, int | str] = {}
        for item in args.fields:
            name, sign, value = item.partition("=")
            if not sign or name in given:
                raise Question(f"{item!r}: write each field once, as FIELD=VALUE")
            number = _integer(value)
            given[name] = value if number is None else number
        word = encode(descriptor, given)
    else:
        number = _integer(args.word)
        if number is None:
            raise Question(f"{args.word!r} is no integer")
        word = number
    values = decode(descriptor, word)
    if args.format == "json":
        print(json.dumps({"word": f"{word:#018x}", "fields": values}, indent=1))
        return 0
    print(f"{word:#018x}")
    for name, value in values.items():
        field = descriptor.fields[name]
        named = next((key for key, code in field.values.items() if code == value), None)
        shown = f"{value} ({named})" if named else f"{value}"
        print(f"  bits {field.low:>2}..{field.high:<2} {name:<30} {shown}")
    return 0

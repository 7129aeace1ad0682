"""ptxmma descriptor: encode and decode 64-bit matrix descriptors, every field named."""

from __future__ import annotations

import argparse
import json

from ..spec.addresses import DescribedMatrix
from ..spec.api import load
from ..spec.descriptor import decode, encode
from ..spec.errors import Question

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="encode|decode|address")
    encoder = verbs.add_parser("encode", help="fields (FIELD=VALUE …) to a 64-bit word")
    encoder.add_argument("fields", nargs="+", metavar="FIELD=VALUE", help="a field as `decode` names it")
    decoder = verbs.add_parser("decode", help="a 64-bit word to its fields")
    decoder.add_argument("word", help="decimal or 0x…")
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
    """Encode or decode; both print the word and every field."""
    descriptor = load().descriptors[_kind(args.kind)]
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
            raise Question(f"{args.word!r} is not an integer; write it in decimal or as 0x…")
        word = number
        if args.verb == "address":
            return _locate(args, word)
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

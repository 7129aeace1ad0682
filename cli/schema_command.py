"""ptxmma schema: the JSON Schema of the YAML files, derived from the typed model."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..ledger.contradiction_file import FILES
from ..spec.schema import schemas

__all__ = ["add"]


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("schema", help="the JSON Schema that editors use for the YAML")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the schema, as it is committed in spec/schema.json."""
    print(json.dumps(schemas(FILES), indent=1))
    return 0

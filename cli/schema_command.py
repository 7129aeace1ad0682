"""ptxmma schema: the JSON Schemas of the YAML files and of the answers, and the pages derived from code."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..check.rule_pages import as_page
from ..check.rule_texts import FILES as RULES
from ..ledger.contradiction_file import FILES as CONTRADICTIONS
from ..spec.errors import Question
from ..spec.schema import kinds, schemas
from ..spec.writing import write_folder
from ..spec.yaml_docs import markdown

__all__ = ["add"]

_MORE = {**CONTRADICTIONS, **RULES}  # kinds of files that no module of spec/ reads
_ANSWERS = Path(__file__).parent / "schemas" / "outputs.json"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "--markdown", action="store_true", help="the documentation of the YAML (docs/yaml.md)"
    )
    parser.add_argument(
        "--answers",
        nargs="?",
        const="",
        metavar="NAME",
        help="the schemas of the JSON that commands print; or the one of that name, such as legal",
    )
    parser.add_argument(
        "--write",
        metavar="FOLDER",
        help="write spec/schema.json, spec/schemas/ and the derived pages of docs/",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the schema, as committed in spec/schema.json; or print or write what the options ask for."""
    if args.write:
        _write(Path(args.write))
    elif args.answers is not None:
        print(_json(_answers(args.answers)), end="")
    else:
        print(markdown(_MORE) if args.markdown else _json(schemas(_MORE)), end="")
    return 0


def _answers(name: str) -> dict[str, Any]:
    """The schemas of what commands print, or one of them; raises Question for an unknown name."""
    every: dict[str, Any] = json.loads(_ANSWERS.read_text(encoding="utf-8"))
    if not name:
        return every
    if name not in every["$defs"]:
        raise Question(f"there is no schema {name!r}; there are: {', '.join(every['$defs'])}")
    return {**every, "title": f"what ptxmma prints: {name}", "$ref": f"#/$defs/{name}"}


def _write(folder: Path) -> None:
    """Write every file that is derived from code."""
    from .api_pages import api_pages
    from .command_page import command_page
    from .exit_codes import exit_codes

    texts = {
        **api_pages(),
        "docs/commands.md": command_page(),
        "docs/exit-codes.md": exit_codes(),
        "spec/schema.json": _json(schemas(_MORE)),
        "docs/yaml.md": markdown(_MORE),
        "docs/rules.md": as_page(),
        **{path: _json(schema) for path, schema in kinds(_MORE).items()},
    }
    write_folder(folder, texts.items())


def _json(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"

"""ptxmma schema: the JSON Schema and the documentation of the YAML files, derived from the typed model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..ledger.contradiction_file import FILES
from ..spec.errors import Question
from ..spec.schema import kinds, schemas
from ..spec.yaml_docs import markdown

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "--markdown", action="store_true", help="the documentation of the YAML (docs/yaml.md)"
    )
    parser.add_argument(
        "--write", metavar="FOLDER", help="write spec/schema.json, spec/schemas/ and docs/yaml.md"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the schema, as committed in spec/schema.json; or print or write what the options ask for."""
    if args.write:
        _write(Path(args.write))
    else:
        print(markdown(FILES) if args.markdown else _json(schemas(FILES)), end="")
    return 0


def _write(folder: Path) -> None:
    """Write every file that is derived from the typed model; raises Question when one cannot be written."""
    texts = {
        "spec/schema.json": _json(schemas(FILES)),
        "docs/yaml.md": markdown(FILES),
        **{path: _json(schema) for path, schema in kinds(FILES).items()},
    }
    try:
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Question(f"{error.filename} cannot be written: {error.strerror}") from None


def _json(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"

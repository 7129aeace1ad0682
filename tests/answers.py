"""Hold a command's JSON against the schema of its answer."""

from __future__ import annotations

import functools
import json

import jsonschema

from ptxmma.spec.loading import ROOT

__all__ = ["OUTPUTS", "valid", "validator"]

OUTPUTS = json.loads((ROOT / "cli" / "schemas" / "outputs.json").read_text())


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """The validator of one kind of answer. That the schemas are schemas is a test of its own."""
    return jsonschema.Draft202012Validator({**OUTPUTS, "$ref": f"#/$defs/{name}"})


def valid(name: str, answer: object) -> None:
    """Raise unless the answer follows the schema of its kind."""
    validator(name).validate(answer)

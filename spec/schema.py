"""The JSON Schema of every kind of YAML file, derived from the dataclasses that they are read into."""

from __future__ import annotations

import dataclasses
import posixpath
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from .arithmetic_records import ArithmeticFile
from .contract_records import ContractFile
from .effects import Effects
from .field_docs import field_docs, summary
from .index import Index
from .layout_records import BridgeFile, LayoutFile
from .memory_records import AddressFile, DescriptorFile
from .model import Around, ConditionalGate, Form, Instruction, Operand, Row, Tolerance
from .nodes import FileName, Formula, Scalars, Version, written_fields
from .numerics_records import NumericsFile
from .ordering_records import LitmusFile, PhaseFile, RuleFile, SynthesisedFile
from .sparsity_records import SparsityFile
from .switches import SwitchFile

__all__ = ["FILES", "kinds", "modeline", "schema_of", "schemas"]

FILES: Mapping[str, type] = {
    "specs.yaml": Index,
    "spec/instructions/*.yaml": Instruction,
    "spec/layouts/*.yaml": LayoutFile,
    "spec/layouts/bridges.yaml": BridgeFile,
    "spec/contracts.yaml": ContractFile,
    "spec/sparsity.yaml": SparsityFile,
    "spec/descriptors.yaml": DescriptorFile,
    "spec/addresses.yaml": AddressFile,
    "spec/numerics.yaml": NumericsFile,
    "spec/arithmetic/*.yaml": ArithmeticFile,
    "spec/effects.yaml": Effects,
    "spec/ordering/rules.yaml": RuleFile,
    "spec/ordering/switches.yaml": SwitchFile,
    "spec/ordering/litmus.yaml": LitmusFile,
    "spec/ordering/phases.yaml": PhaseFile,
    "spec/ordering/synthesised.yaml": SynthesisedFile,
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_FOLDER = "spec/schemas"
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    Version: {
        "type": "string",
        "pattern": r"^\d+\.\d+$",
        "description": "a PTX ISA version, quoted",
    },
    FileName: FileName.json_schema,
    Formula: Formula.json_schema,
    Scalars: Scalars.json_schema,
    types.NoneType: {"type": "null"},
}
# In a file that several instructions share, <name> may stand for any value of these records.
_SHARED = (Instruction, Operand, Form, Row, Tolerance, Around, ConditionalGate)
_PARAMETER = {"type": "string", "pattern": "^<[a-z]+>$"}


def schemas(more: Mapping[str, type] | None = None) -> dict[str, Any]:
    """One schema; each kind of file (and of `more`) is a property of it, named by where such files lie."""
    definitions: dict[str, Any] = {}
    files = {**FILES, **(more or {})}
    properties = {name: _schema(wanted, definitions) for name, wanted in files.items()}
    return {
        "$schema": _DIALECT,
        "title": "the files of the ptxmma specification",
        "type": "object",
        "properties": properties,
        "$defs": dict(sorted(definitions.items())),
    }


def kinds(more: Mapping[str, type] | None = None) -> dict[str, dict[str, Any]]:
    """The schema of each kind of file, by its path: what a file's first line names for editors."""
    return {
        schema_of(name): {
            "$schema": _DIALECT,
            "title": name,
            "$ref": f"../schema.json#/$defs/{record.__name__}",
        }
        for name, record in {**FILES, **(more or {})}.items()
    }


def schema_of(name: str) -> str:
    """The path of the schema of a kind of file."""
    stem = name.removeprefix("spec/").removesuffix(".yaml").removesuffix("/*").replace("/", ".")
    return f"{_FOLDER}/{stem}.json"


def modeline(name: str, kind: str) -> str:
    """The first line of a file, which tells editors where its schema lies."""
    way = posixpath.relpath(schema_of(kind), posixpath.dirname(name) or ".")
    return f"# yaml-language-server: $schema={way}"


def _schema(wanted: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if wanted in _PLAIN:
        return _PLAIN[wanted]
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(argument, definitions) for argument in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    return _record(wanted, definitions)


def _record(wanted: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    name = wanted.__name__
    if name not in definitions:
        definitions[name] = {}
        hints = typing.get_type_hints(wanted)
        definitions[name] = {
            "description": summary(wanted),
            "type": "object",
            "additionalProperties": False,
            "required": [
                field.name
                for field in written_fields(wanted).values()
                if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            ],
            "properties": {
                key: _property(wanted, key, hints[key], definitions) for key in written_fields(wanted)
            },
        }
    return {"$ref": f"#/$defs/{name}"}


def _property(record: type, name: str, wanted: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """A field's schema, with what its documentation says."""
    import yaml  # imported here, since other commands do not need it

    doc = field_docs(record)[name]
    schema = _schema(wanted, definitions)
    if record in _SHARED:
        schema = _or_parameter(schema)
    return {
        **schema,
        "description": f"{doc.meaning} Refuses {doc.refused} ({doc.why}).",
        "examples": [yaml.safe_load(doc.example)],
    }


def _or_parameter(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, and a parameter of the file in place of any of its values that is not text."""
    match schema:
        case {"enum": _} | {"type": "integer"}:
            return {"anyOf": [schema, _PARAMETER]}
        case {"anyOf": choices}:
            return {"anyOf": [*choices, _PARAMETER]}
        case {"type": "array", "items": items}:
            return {**schema, "items": _or_parameter(items)}
        case {"type": "object", "additionalProperties": dict(inner)}:
            return {**schema, "additionalProperties": _or_parameter(inner)}
    return schema

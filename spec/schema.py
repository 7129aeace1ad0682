"""The JSON Schema of every kind of YAML file, derived from the dataclasses that they are read into."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from .contract_records import ContractFile
from .index import Index
from .layout_records import BridgeFile, LayoutFile
from .memory_records import AddressFile, DescriptorFile
from .model import Instruction
from .nodes import Formula, Scalars, Version, written_fields
from .numerics_records import NumericsFile
from .ordering_records import LitmusFile, RuleFile, SynthesisedFile
from .sparsity_records import SparsityFile
from .switches import SwitchFile

__all__ = ["FILES", "schemas"]

FILES = {
    "specs.yaml": Index,
    "spec/instructions/*.yaml": Instruction,
    "spec/layouts/*.yaml": LayoutFile,
    "spec/layouts/bridges.yaml": BridgeFile,
    "spec/contracts.yaml": ContractFile,
    "spec/sparsity.yaml": SparsityFile,
    "spec/descriptors.yaml": DescriptorFile,
    "spec/addresses.yaml": AddressFile,
    "spec/numerics.yaml": NumericsFile,
    "spec/ordering/rules.yaml": RuleFile,
    "spec/ordering/switches.yaml": SwitchFile,
    "spec/ordering/litmus.yaml": LitmusFile,
    "spec/ordering/synthesised.yaml": SynthesisedFile,
}
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    Version: {
        "type": "string",
        "pattern": r"^\d+\.\d+$",
        "description": "a PTX ISA version, quoted",
    },
    Formula: Formula.json_schema,
    Scalars: Scalars.json_schema,
    types.NoneType: {"type": "null"},
}


def schemas(more: Mapping[str, type] | None = None) -> dict[str, Any]:
    """One schema; each kind of file (and of `more`) is a property of it, named by where such files lie."""
    definitions: dict[str, Any] = {}
    files = {**FILES, **(more or {})}
    properties = {name: _schema(wanted, definitions) for name, wanted in files.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "the files of the ptxmma specification",
        "type": "object",
        "properties": properties,
        "$defs": dict(sorted(definitions.items())),
    }


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
        fields = list(written_fields(wanted).values())
        definitions[name] = {
            "description": " ".join((wanted.__doc__ or "").split()),
            "type": "object",
            "additionalProperties": False,
            "required": [
                field.name
                for field in fields
                if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            ],
            "properties": {field.name: _schema(hints[field.name], definitions) for field in fields},
        }
    return {"$ref": f"#/$defs/{name}"}

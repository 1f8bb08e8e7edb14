"""The operations of the API in the order of the document: address, purpose, request and answers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.api_reference.fields import Field, Schema, Schemas

METHODS = ("get", "post", "put", "patch", "delete")
JSON = "application/json"
DEEPEST = 4
_OF_TYPE = {"string": "…", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}

Scopes = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Response:
    """A successful answer of an operation."""

    status: str
    fields: Sequence[Field]


@dataclass(frozen=True)
class Operation:
    """One operation of the API."""

    method: str
    path: str
    anchor: str
    text: str
    scope: str
    parameters: Sequence[Field]
    headers: Sequence[Field]
    body: Sequence[Field]
    responses: Sequence[Response]
    example: str


@dataclass(frozen=True)
class Section:
    """The operations of one noun."""

    name: str
    operations: Sequence[Operation]


def sections(document: Mapping[str, Any], scopes: Scopes, base: str) -> list[Section]:
    """Return every operation by its first tag; `base` is the address of this installation."""
    found: dict[str, list[Operation]] = {}
    schemas = Schemas(document)
    for path, methods in document.get("paths", {}).items():
        for method in (method for method in METHODS if method in methods):
            described = methods[method]
            tag = next(iter(described.get("tags", ())), "other")
            scope = scopes.get((method.upper(), path), "")
            found.setdefault(tag, []).append(_operation(schemas, path, method, described, scope, base))
    return [Section(name, operations) for name, operations in found.items()]


def _operation(
    schemas: Schemas, path: str, method: str, described: Mapping[str, Any], scope: str, base: str
) -> Operation:
    schema = _schema(described.get("requestBody", {}))
    document = None if schema is None else example_body(schemas, schema)
    return Operation(
        method=method.upper(),
        path=path,
        anchor=described.get("operationId", f"{method}-{path}"),
        text=described.get("description") or described.get("summary", ""),
        scope=scope,
        parameters=list(_parameters(schemas, described, {"path", "query"})),
        headers=list(_parameters(schemas, described, {"header"})),
        body=[] if schema is None else list(schemas.fields(schema)),
        responses=list(_responses(schemas, described)),
        example=curl(method.upper(), f"{base}{_address(path, described)}", document, has_body=bool(document)),
    )


def _address(path: str, described: Mapping[str, Any]) -> str:
    """Return the path with example values in place of its parameters."""
    for one in described.get("parameters", ()):
        if one["in"] == "path" and "example" in one:
            path = path.replace(f"{{{one['name']}}}", str(one["example"]))
    return path


def _parameters(schemas: Schemas, described: Mapping[str, Any], places: Collection[str]) -> Iterator[Field]:
    for one in described.get("parameters", ()):
        if one["in"] in places:
            text = {"description": one["description"]} if "description" in one else {}
            yield schemas.field(one["name"], {**one["schema"], **text}, required=one.get("required", False))


def _responses(schemas: Schemas, described: Mapping[str, Any]) -> Iterator[Response]:
    for status, response in described.get("responses", {}).items():
        if str(status).startswith("2"):
            schema = _schema(response)
            yield Response(str(status), [] if schema is None else list(schemas.fields(schema)))


def _schema(holder: Mapping[str, Any]) -> Mapping[str, Any] | None:
    schema: Mapping[str, Any] | None = holder.get("content", {}).get(JSON, {}).get("schema")
    return schema


def example_body(schemas: Schemas, schema: Schema, depth: int = 0) -> Any:
    """Return the required fields, and fields that have an example."""
    schema = schemas.resolved(schema)
    if "examples" in schema:
        return schema["examples"][0]
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return example_body(schemas, choices[0], depth)
    if "properties" in schema and depth < DEEPEST:
        required = set(schema.get("required", ()))
        shown = {
            name: one
            for name, one in schema["properties"].items()
            if name in required or "examples" in schemas.resolved(one)
        }
        return {name: example_body(schemas, one, depth + 1) for name, one in shown.items()}
    if schema.get("type") == "array":
        return [example_body(schemas, schema.get("items", {}), depth + 1)] if depth < DEEPEST else []
    if "enum" in schema:
        return schema["enum"][0]
    return schema.get("minimum", _OF_TYPE.get(schema.get("type", ""), "…"))


def curl(method: str, address: str, document: Any, *, has_body: bool) -> str:
    """Return the request as a shell command."""
    parts = ["curl", *(["-X", method] if method != "GET" else []), shlex.quote(address)]
    lines = [" ".join(parts), '-H "Authorization: Bearer $KEY"']
    if has_body:
        text = json.dumps(document, ensure_ascii=False)
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(text)}"]
    return " \\\n  ".join(lines)

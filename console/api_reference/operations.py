"""The calls of the API, in the order of the document: where, what for, what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.api_reference import examples
from console.api_reference.fields import Field, Schemas

METHODS = ("get", "post", "put", "patch", "delete")
JSON = "application/json"

Scopes = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Response:
    """One good answer."""

    status: str
    fields: Sequence[Field]


@dataclass(frozen=True)
class Operation:
    """One call."""

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
    """The calls of one noun."""

    name: str
    operations: Sequence[Operation]


def sections(document: Mapping[str, Any], scopes: Scopes, base: str) -> list[Section]:
    """Every call by its first tag; `base` is the address of this installation."""
    found: dict[str, list[Operation]] = {}
    schemas = Schemas(document)
    for path, method, described in _calls(document):
        tag = next(iter(described.get("tags", ())), "other")
        scope = scopes.get((method.upper(), path), "")
        found.setdefault(tag, []).append(_operation(schemas, path, method, described, scope, base))
    return [Section(name, operations) for name, operations in found.items()]


def _calls(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in document.get("paths", {}).items():
        for method in METHODS:
            if method in methods:
                yield path, method, methods[method]


def _operation(
    schemas: Schemas, path: str, method: str, described: Mapping[str, Any], scope: str, base: str
) -> Operation:
    schema = _schema(described.get("requestBody", {}))
    document = None if schema is None else examples.body(schemas, schema)
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
        example=examples.curl(method.upper(), f"{base}{path}", document, has_body=bool(document)),
    )


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

"""A request that could be sent, made from what a schema demands and from the examples that it has."""

from __future__ import annotations

import json
import shlex
from typing import Any

from console.api_reference.fields import Schema, Schemas

DEEPEST = 4
_OF_TYPE = {"string": "…", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}


def body(schemas: Schemas, schema: Schema, depth: int = 0) -> Any:
    """Required fields, and those that have an example."""
    schema = schemas.resolved(schema)
    if "examples" in schema:
        return schema["examples"][0]
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return body(schemas, choices[0], depth)
    if "properties" in schema and depth < DEEPEST:
        required = set(schema.get("required", ()))
        shown = {
            name: one
            for name, one in schema["properties"].items()
            if name in required or "examples" in schemas.resolved(one)
        }
        return {name: body(schemas, one, depth + 1) for name, one in shown.items()}
    if schema.get("type") == "array":
        return [body(schemas, schema.get("items", {}), depth + 1)] if depth < DEEPEST else []
    if "enum" in schema:
        return schema["enum"][0]
    return schema.get("minimum", _OF_TYPE.get(schema.get("type", ""), "…"))


def curl(method: str, address: str, document: Any, *, has_body: bool) -> str:
    """The request as a line for a shell."""
    parts = ["curl", *(["-X", method] if method != "GET" else []), shlex.quote(address)]
    lines = [" ".join(parts), '-H "Authorization: Bearer $KEY"']
    if has_body:
        text = json.dumps(document, ensure_ascii=False)
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(text)}"]
    return " \\\n  ".join(lines)

"""The fields of a schema as lines: name, type and meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEEPEST = 5

Schema = Mapping[str, Any]

_LENGTHS = (("minLength", "maxLength", "characters"), ("minItems", "maxItems", "of them"))


@dataclass(frozen=True)
class Field:
    """One field; `name` is its path, such as `messages[].body`."""

    name: str
    kind: str
    required: bool
    text: str
    default: str


class Schemas:
    """The schemas of one document, by reference."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._named: Mapping[str, Schema] = document.get("components", {}).get("schemas", {})

    def resolved(self, schema: Schema) -> Schema:
        """Return the schema that `$ref` names, with the other members of `schema` added; a plain schema unchanged."""
        reference = schema.get("$ref")
        if reference is None:
            return schema
        found = self._named[reference.rpartition("/")[2]]
        return {**found, **{name: value for name, value in schema.items() if name != "$ref"}}

    def fields(self, schema: Schema, prefix: str = "", depth: int = 0) -> Iterator[Field]:
        """Return every field of an object and of the objects within it."""
        schema = self._object(schema)
        required = set(schema.get("required", ()))
        for name, of_field in schema.get("properties", {}).items():
            field = self.field(f"{prefix}{name}", of_field, required=name in required)
            yield field
            if depth < DEEPEST:
                inner, mark = self._inner(of_field)
                yield from self.fields(inner, f"{field.name}{mark}.", depth + 1)

    def field(self, name: str, schema: Schema, *, required: bool) -> Field:
        """Return one field of a schema."""
        whole = self.resolved(schema)
        default = "" if required or whole.get("default") in (None, "") else str(whole["default"])
        return Field(name, self.kind(whole), required, whole.get("description", ""), default)

    def kind(self, schema: Schema) -> str:
        """Describe the type of a value in words."""
        schema = self.resolved(schema)
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            return " or ".join(dict.fromkeys(self.kind(one) for one in choices))
        if "const" in schema:
            return str(schema["const"])
        if "enum" in schema:
            return " | ".join(str(one) for one in schema["enum"])
        if schema.get("type") == "array":
            return ", ".join([f"list of {self.kind(schema.get('items', {}))}", *_bounds(schema)])
        return ", ".join([_TYPES.get(schema.get("type", ""), "any JSON"), *_bounds(schema)])

    def _object(self, schema: Schema) -> Schema:
        """Return the schema of an object: the first object in `anyOf`, unless `schema` has properties itself."""
        schema = self.resolved(schema)
        for one in () if "properties" in schema else schema.get("anyOf", ()):
            if "properties" in (found := self.resolved(one)):
                return found
        return schema

    def _inner(self, schema: Schema) -> tuple[Schema, str]:
        schema = self._object(schema)
        if schema.get("type") == "array":
            return self._object(schema.get("items", {})), "[]"
        return schema, ""


_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "null": "null",
}


def _bounds(schema: Schema) -> Sequence[str]:
    numbers = _span(schema.get("minimum"), schema.get("maximum"))
    lengths = [
        f"{words} {noun}"
        for least, most, noun in _LENGTHS
        if (words := _span(schema.get(least), schema.get(most), "at least", "at most"))
    ]
    return [numbers, *lengths] if numbers else lengths


def _span(least: float | None, most: float | None, above: str = "from", below: str = "to") -> str:
    if least is not None and most is not None:
        return f"{least:,} to {most:,}"
    if least is not None:
        return f"{above} {least:,}"
    return "" if most is None else f"{below} {most:,}"

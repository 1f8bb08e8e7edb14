"""The API explains itself: to people on a page, to programs as a document, each problem at its own address."""

from __future__ import annotations

import pytest

from console.api.core.problem_types import PROBLEM_TYPES
from console.api_reference import operations
from console.api_reference.fields import Schemas
from tests.console.api.routes import routes
from tests.console.browsers import Browser

DOCUMENT = {
    "components": {
        "schemas": {
            "Order": {
                "type": "object",
                "required": ["lines", "kind"],
                "properties": {
                    "kind": {"enum": ["new", "old"], "type": "string"},
                    "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Line"}},
                    "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}], "description": "Any."},
                },
            },
            "Line": {
                "type": "object",
                "required": ["sku"],
                "properties": {
                    "sku": {"type": "string", "examples": ["A-1"]},
                    "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
                    "part_of": {"$ref": "#/components/schemas/Order"},
                },
            },
        }
    }
}


@pytest.fixture
def anybody(commits: None) -> Browser:
    """Open the API reference without a login."""
    return Browser()


def test_every_call_is_on_the_page_with_its_scope(anybody: Browser) -> None:
    page = anybody.see("/v1/docs")

    headings = {one.text for one in page.all("h2")}
    for (method, path), scope in routes().items():
        pattern = path.split("{}")[0]
        assert any(one.startswith(f"{method} {pattern}") for one in headings), (method, path, scope)
    for section in page.all("section", class_="call"):
        assert "Scope" in section.text


def test_the_page_needs_no_script_and_nothing_from_elsewhere(anybody: Browser) -> None:
    answer = anybody.get("/v1/docs")

    assert "script-src 'self'" in answer["Content-Security-Policy"]
    page = anybody.see("/v1/docs")
    assert all(not one.attributes.get("src", "").startswith("http") for one in page.all("script"))
    assert not page.all("style")


def test_each_problem_has_a_page(anybody: Browser) -> None:
    links = {one.attributes["href"] for one in anybody.see("/v1/docs").all("a")}

    for slug, kind in PROBLEM_TYPES.items():
        assert f"/problems/{slug}" in links
        page = anybody.see(f"/problems/{slug}")
        assert kind.title in page.title
        assert str(kind.status) in page.text
    anybody.see("/problems/no-such-problem", status=404)


def test_people_find_it_from_every_page(viewer: Browser) -> None:
    assert viewer.see("/").link("HTTP API") == "/v1/docs"


def test_fields_are_described_with_their_values() -> None:
    fields = list(Schemas(DOCUMENT).fields({"$ref": "#/components/schemas/Order"}))[:5]

    assert [(one.name, one.kind, one.required, one.default) for one in fields] == [
        ("kind", "new | old", True, ""),
        ("lines", "list of object, at least 1 of them", True, ""),
        ("lines[].sku", "text", True, ""),
        ("lines[].count", "whole number, 1 to 9", False, "3"),
        ("lines[].part_of", "object", False, ""),
    ]


def test_a_schema_within_itself_ends() -> None:
    fields = list(Schemas(DOCUMENT).fields({"$ref": "#/components/schemas/Order"}))

    assert max(one.name.count(".") for one in fields) == 5


def test_an_example_has_what_is_required() -> None:
    made = operations.example_body(Schemas(DOCUMENT), {"$ref": "#/components/schemas/Order"})

    assert made == {"kind": "new", "lines": [{"sku": "A-1"}]}
    line = operations.curl("POST", "http://x/v1/a b", {"say": "it's"}, has_body=True)
    assert line.startswith("curl -X POST 'http://x/v1/a b' \\\n")
    assert """-d '{"say": "it'"'"'s"}'""" in line


def test_headers_are_listed_apart_from_the_address() -> None:
    parameters = [
        {"name": "job", "in": "path", "schema": {"type": "string"}, "example": "redrive_17", "required": True},
        {"name": "limit", "in": "query", "schema": {"type": "integer"}},
        {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}, "description": "Once."},
    ]
    document = {"paths": {"/v1/x/{job}": {"get": {"tags": ["x"], "parameters": parameters, "responses": {}}}}}

    [section] = operations.sections(document, {("GET", "/v1/x/{job}"): "read"}, "http://y")
    [call] = section.operations

    assert [one.name for one in call.parameters] == ["job", "limit"]
    assert [(one.name, one.text) for one in call.headers] == [("Idempotency-Key", "Once.")]
    assert (call.scope, call.example) == ("read", 'curl http://y/v1/x/redrive_17 \\\n  -H "Authorization: Bearer $KEY"')

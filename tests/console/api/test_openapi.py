"""The OpenAPI document has what generators and linters need: short names, plain bodies, no lists of fractions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from console.api.openapi import document


def operations() -> Iterator[dict[str, Any]]:
    for methods in document()["paths"].values():
        yield from methods.values()


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of the document, whatever it describes."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from schemas(one)


def test_every_operation_has_a_short_name_of_its_own() -> None:
    ids = [operation["operationId"] for operation in operations()]

    assert len(ids) > 25
    assert len(set(ids)) == len(ids)
    assert [one for one in ids if not re.fullmatch(r"[a-z][A-Za-z]{2,24}", one)] == []
    assert {"sendMessage", "receiveMessages", "ackMessage", "createQueue"} <= set(ids)


def test_a_body_that_may_be_left_out_is_a_plain_reference() -> None:
    bodies = [operation["requestBody"] for operation in operations() if "requestBody" in operation]
    optional = [body for body in bodies if not body["required"]]

    assert len(optional) >= 4
    assert [body for body in bodies if set(body["content"]["application/json"]["schema"]) != {"$ref"}] == []


def test_an_object_has_its_members_beside_no_alternatives() -> None:
    """Generators keep either the members or the alternatives."""
    assert [one for one in schemas(document()) if "properties" in one and {"anyOf", "oneOf"} & one.keys()] == []


def test_no_list_of_choices_has_a_fraction() -> None:
    choices = [one["enum"] for one in schemas(document()) if isinstance(one.get("enum"), list)]

    assert choices
    assert [one for one in choices if any(isinstance(choice, float) for choice in one)] == []


def test_the_document_names_its_server_its_licence_its_tags_and_no_unused_schema() -> None:
    described = document()
    tags = {tag for operation in operations() for tag in operation["tags"]}
    referred = set(re.findall(r"#/components/schemas/(\w+)", repr(described)))

    assert described["servers"][0]["url"] == "/"
    assert described["info"]["license"] == {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    assert {tag["name"] for tag in described["tags"]} == tags
    assert all(len(tag["description"]) > len(tag["name"]) + 1 for tag in described["tags"])
    assert set(described["components"]["schemas"]) == referred

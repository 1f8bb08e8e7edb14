"""Target of an erasure, by path and value: hostile values, numbers and strings, nested arrays."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from dlq.erasure.target import Target, Unreadable, read
from queues.errors import InvalidArgument
from tests.engine import Engine

HOSTILE = [
    "o'hara",
    'say "no"',
    "back\\slash",
    "100%",
    "under_score%",
    "ünïcode ☃ 😀",
    "tab\tand\nline",
    "\x01\x1f\x7f",
    "%(one)s %s {braces}",
    "'; drop table signalbox.message; --",
    '{"a": 1}',
    "[4711]",
    "4711abc",
    "<script>",
    "a/b",
    "é",  # two characters that look like one
]


def target(value: str, path: str = "customer.id") -> Target:
    return read("payload", path, value)


def holds(value: str, document: Any, path: str = "customer.id") -> bool:
    return target(value, path).holds(json.dumps(document))


@pytest.mark.parametrize("value", HOSTILE)
def test_a_string_means_itself_and_nothing_like_it(value: str) -> None:
    assert holds(value, {"customer": {"id": value}})
    assert not holds(value, {"customer": {"id": value + "x"}})
    assert not holds(value, {"customer": {"id": "x" + value}})
    assert not holds(value, {"customer": {"id": value.replace("%", "y").replace("_", "y") + "y"}})
    assert not holds(value, {"customer": {"name": value}, "id": value})


@pytest.mark.parametrize("value", HOSTILE)
def test_the_database_finds_what_may_hold_it(engine: Engine, value: str) -> None:
    """The document's text contains one of the needles, whatever form PostgreSQL gives it."""
    document = json.dumps({"customer": {"id": value}}).replace("\\u0000", "")

    found = engine.value(
        "select strpos(%s::jsonb::text, %s) > 0 or strpos(%s::jsonb::text, %s) > 0",
        *[argument for needle in target(value).needles for argument in (document, needle)],
    )

    assert found is True


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("4711", "4711"),
        ("4711", "4711.000"),
        ("4711", "4.711e3"),
        ("4711.50", "4711.5"),
        ("4711.5", "4711.50"),
        ("-7", "-7.0"),
        ("0", "-0.0"),
        ("0.1", "1e-1"),
        ("1e3", "1000"),
        ("12345678901234567890123", "12345678901234567890123"),
    ],
)
def test_a_number_is_the_same_however_it_is_written(engine: Engine, value: str, written: str) -> None:
    document = f'{{"customer": {{"id": {written}}}}}'
    stored = engine.value("select %s::jsonb::text", document)

    assert target(value).holds(document)
    assert target(value).holds(stored)
    assert any(needle in stored for needle in target(value).needles)
    assert not target(f'"{value}"').holds(document)


def test_without_quotes_a_number_is_the_string_too() -> None:
    assert holds("4711", {"customer": {"id": "4711"}})
    assert holds("4711", {"customer": {"id": 4711}})
    assert holds('"4711"', {"customer": {"id": "4711"}})
    assert not holds('"4711"', {"customer": {"id": 4711}})
    assert not holds("4711", {"customer": {"id": "4711.0"}})
    assert not holds("4711", {"customer": {"id": "04711"}})
    assert not holds("1", {"customer": {"id": True}})
    assert not holds("12345678901234567890", {"customer": {"id": 12345678901234567891}})


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("customer.id", {"customer": {"id": [1, 4711]}}),
        ("customer.id", {"customer": [{"id": 1}, {"id": 4711}]}),
        ("customer.id", [[{"customer": [[{"id": [[4711]]}]]}]]),
        ("lines[].sku", {"lines": [{"sku": 4711}]}),
        ("lines.0.sku", {"lines": [{"sku": 4711}]}),
        ("*.id", {"anybody": {"id": 4711}}),
        ("**.id", {"a": {"b": [{"c": {"id": 4711}}]}}),
        ("customer.**", {"customer": {"deep": {"down": [4711]}}}),
        ("Customer.ID", {"customer": {"id": 4711}}),
        ('"a.b"."c[]"', {"a.b": {"c[]": 4711}}),
    ],
)
def test_paths_lead_through_arrays(path: str, document: Any) -> None:
    assert holds("4711", document, path)


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("customer.id", {"customer": {"id": {"id": 4711}}}),
        ("customer.id", {"x": {"customer": {"id": 4711}}}),
        ("lines.1.sku", {"lines": [{"sku": 4711}]}),
        ("*.id", {"id": 4711}),
        ("customer", {"customer": {"id": 4711}}),
    ],
)
def test_what_lies_elsewhere_is_not_meant(path: str, document: Any) -> None:
    assert not holds("4711", document, path)


@pytest.mark.parametrize(
    ("value", "field"),
    [("", "value"), ("   ", "value"), ("true", "value"), ("null", "value"), ('""', "value"), ('"\\x"', "value"),
     ("a\x00b", "value"), ("x" * 501, "value"), ('"\\u0000"', "value")],
)  # fmt: skip
def test_a_value_that_identifies_no_person_is_refused(value: str, field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        read("payload", "customer.id", value)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("part", "path", "field"), [("body", "a", "part"), ("payload", "", "path"), ("payload", "a..b", "path")]
)
def test_a_path_that_leads_nowhere_is_refused(part: str, path: str, field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        read(part, path, "4711")
    assert refused.value.field == field


@pytest.mark.parametrize("document", [b"\xff\xfe", "{", "[" * 100_000, '{"a": 1e99999999999999999999}'])
def test_what_cannot_be_read_says_so(document: str | bytes) -> None:
    with pytest.raises(Unreadable):
        target("4711").holds(document)


def test_a_text_quotes_it_as_a_word_of_its_own() -> None:
    assert target("4711").quoted_in("KeyError: 4711")
    assert target("4711").quoted_in("customer=4711, x")
    assert not target("4711").quoted_in("line 14711 of 47110")
    assert target("o'hara").quoted_in("no o'hara here")


def test_the_digest_is_the_same_for_the_same_and_tells_nothing() -> None:
    assert target("4711").digest("k") == target("4711", "customer[].id").digest("k")
    assert (
        len(
            {
                target("4711").digest("k"),
                target("4712").digest("k"),
                target("4711").digest("l"),
                target('"4711"').digest("k"),
            }
        )
        == 4
    )
    assert "4711" not in target("4711").digest("k")


def test_a_number_is_no_float() -> None:
    assert target("0.1").number == Decimal("0.1")

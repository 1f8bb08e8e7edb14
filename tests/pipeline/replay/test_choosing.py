"""Filters without a meaning in the archive are refused by name; filters on documents work without Spark."""

from __future__ import annotations

import pytest

from dlq.filters import FilterError, parse
from pipeline.replay import choosing, regexes
from pipeline.replay.documents import asks, between, equal, matching, there


@pytest.mark.parametrize(
    ("text", "kinds", "token", "message"),
    [
        ("queue:a class:KeyError", ["settled"], "class:KeyError", "class: does not apply to archived settled messages"),
        ("fp:a", ["dead_letters", "settled"], "fp:a", "only with dead letters"),
        ("failed:<2026-01-02", ["dead_letters"], "failed:<2026-01-02", "failed: is not in the archive"),
        ("state:ready", ["settled"], "state:ready", "state:ready is not in the archive"),
        (r"group:/\w+/", ["settled"], r"/\w+/", "does not support this pattern"),
    ],
)
def test_what_the_archive_cannot_answer_is_refused_by_its_name(
    text: str, kinds: list[str], token: str, message: str
) -> None:
    with pytest.raises(FilterError) as refused:
        choosing.check(parse(text), kinds)

    assert refused.value.token == token
    assert message in str(refused.value)


@pytest.mark.parametrize("text", ["queue:a payload.x:>3 age:>2d", "state:completed", "state:dead", "id:7 -trace:*"])
def test_what_settled_messages_have_may_be_asked(text: str) -> None:
    choosing.check(parse(text), ["settled"])


@pytest.mark.parametrize(
    ("written", "java", "python"),
    [
        ("out( after)?$", r"(?s)out( after)?\z", r"out( after)?\Z"),
        (r"^\d{2}\.[^a\s]", r"(?s)^[0-9]{2}\.[^a \t\n\r\f\v]", r"^[0-9]{2}\.[^a \t\n\r\f\v]"),
        (r"a|b.\$", r"(?s)a|b.\$", r"a|b.\$"),
        ("(?:x)+", "(?s)(?:x)+", "(?:x)+"),
    ],
)
def test_a_pattern_is_written_for_java_and_python(written: str, java: str, python: str) -> None:
    [pattern] = parse(f"group:/{written}/").patterns

    assert (regexes.for_java(pattern), regexes.for_python(pattern)) == (java, python)


@pytest.mark.parametrize(
    "written",
    [r"\mword\M", r"\w", "(?=x)", "(?i)x", "[[:alpha:]]", "[a&&b]", "a{,3}", "a{", "a++", "*a", "(a", r"(a)\1", "[]a]"],
)
def test_a_pattern_of_which_dialects_differ_is_refused(written: str) -> None:
    [pattern] = parse(f"group:/{written}/").patterns

    with pytest.raises(FilterError, match="pattern"):
        regexes.for_java(pattern)


DOCUMENT = (
    '{"a": {"b": 5.0, "c": [1, {"d": "x"}], "big": 9007199254740993, "no": null, "yes": true, "text": "5"}, "": 1}'
)


@pytest.mark.parametrize(
    ("path", "asked", "holds"),
    [
        (("a", "b"), equal("5", "5"), True),
        (("a", "b"), equal("5"), False),
        (("a", "text"), equal("5", "5"), True),
        (("a", "text"), equal("5"), True),
        (("a", "big"), equal("9007199254740993", "9007199254740993"), True),
        (("a", "big"), equal("9007199254740992", "9007199254740992"), False),
        (("a", "big"), between((">", "9007199254740992"), ("<", "9007199254740994")), True),
        (("a", "yes"), equal("true", "true"), True),
        (("a", "yes"), equal("1", "1"), False),
        (("a", "no"), equal("null", "null"), True),
        (("a", "no"), there, True),
        (("a", "missing"), there, False),
        (("a", "c"), equal("1", "1"), False),
        (("a", "c", None), equal("1", "1"), True),
        (("a", "c", None, "d"), equal("x"), True),
        (("",), equal("1", "1"), True),
        (("a", "b"), matching(r"^5\.0\Z", False), True),
        (("a", "yes"), matching("^TR", True), True),
        (("a",), matching(".", False), False),
    ],
)
def test_documents_are_asked_as_postgresql_asks_them(path: tuple[str | None, ...], asked: object, holds: bool) -> None:
    assert asks(path, [asked])(DOCUMENT) is holds  # type: ignore[list-item]


@pytest.mark.parametrize("text", [None, "not json", "[" * 100_000])
def test_what_is_no_document_has_nothing(text: str | None) -> None:
    assert asks(("a",), [there])(text) is False

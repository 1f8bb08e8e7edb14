"""Payloads are written by anybody: shown as text, and never more than a page can hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.messages import payloads
from console.templatetags.console import class_name
from tests.console.browsers import Page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&"


@pytest.mark.parametrize("document", [HOSTILE, [HOSTILE], {HOSTILE: HOSTILE}, {"a": {HOSTILE: [HOSTILE]}}])
def test_nothing_in_a_document_is_markup(document: Any) -> None:
    page = Page(payloads.tree(document))

    assert {one.tag for one in page.elements} <= {"div", "details", "summary", "ul", "li", "span"}
    assert "alert(1)" in page.text


@pytest.mark.parametrize(
    ("document", "text"),
    [(None, "null"), (True, "true"), (0, "0"), (1.5, "1.5"), ("", '""'), ({}, "{}"), ([], "[]"), ("ü\n", '"ü\\n"')],
)
def test_scalars_look_like_json(document: Any, text: str) -> None:
    assert Page(payloads.tree(document)).text == text


def test_a_wide_document_is_drawn_in_part_and_says_so() -> None:
    html = payloads.tree(list(range(100_000)))

    assert len(html) < 400_000
    assert "see the text below" in html


def test_a_deep_document_ends_somewhere() -> None:
    document: Any = 1
    for _ in range(500):
        document = [document]

    assert "nested deeper than this page draws" in payloads.tree(document)


def test_an_excerpt_is_one_short_line() -> None:
    assert payloads.excerpt({"a": 1}) == '{"a": 1}'
    assert len(payloads.excerpt(json.dumps({"a": "x" * 5_000}))) == payloads.EXCERPT_CHARACTERS


def test_the_text_is_indented_json() -> None:
    assert payloads.pretty({"ü": [1]}) == '{\n  "ü": [\n    1\n  ]\n}'


@pytest.mark.parametrize(
    ("value", "html"),
    [
        (None, ""),
        ("KeyError", "Key<wbr>Error"),
        ("shop.pay.CardDeclined", '<span class="module">shop.<wbr>pay.</span><wbr>Card<wbr>Declined'),
        ("<i>.<b>", '<span class="module">&lt;i&gt;.</span><wbr>&lt;b&gt;'),
        ("ends.", "ends."),
    ],
)
def test_the_module_of_an_error_class_is_quiet(value: str | None, html: str) -> None:
    assert class_name(value) == html

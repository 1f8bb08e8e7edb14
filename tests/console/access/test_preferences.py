"""Preferences of a person: kept in cookies, applied by the server to the first byte."""

from __future__ import annotations

import pytest

from tests.console.browsers import Browser


@pytest.mark.parametrize(
    ("name", "value"), [("theme", "dark"), ("density", "compact"), ("zone", "local"), ("shortcuts", "off")]
)
def test_a_preference_is_in_the_next_page(viewer: Browser, name: str, value: str) -> None:
    page = viewer.submit("/preferences", **{name: value, "next": "/audit"})

    assert page.one("html").attributes[f"data-{name}"] == value
    assert page.title.endswith("Audit log · Signalbox")


def test_a_value_that_is_no_choice_is_ignored(viewer: Browser) -> None:
    page = viewer.submit("/preferences", theme='"><script>')

    assert page.one("html").attributes["data-theme"] == "auto"


def test_an_edited_cookie_falls_back_to_the_default(viewer: Browser) -> None:
    viewer.cookies["theme"] = '"><script>alert(1)</script>'

    assert viewer.see("/").one("html").attributes["data-theme"] == "auto"


def test_the_way_back_stays_on_this_site(viewer: Browser) -> None:
    assert viewer.post("/preferences", {"theme": "dark", "next": "https://evil.example/"})["Location"] == "/"


def test_htmx_stays_where_it_is(viewer: Browser) -> None:
    answer = viewer.post("/preferences", {"theme": "dark"}, headers={"HX-Request": "true"})

    assert (answer.status_code, answer.cookies["theme"].value) == (204, "dark")

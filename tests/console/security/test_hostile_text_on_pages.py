"""Hostile text stays text on every page: it makes no element, attribute or address.

Each page is read with an HTML parser while every field that takes any text has a hostile one. That the reading would
notice is proved by templates that let text through.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.template import engines
from django.test import RequestFactory

from tests.console.browsers import Browser, Page, readable
from tests.console.security.corpus import FOR_PAGES
from tests.console.security.scenes import Scene, routes

ADDRESSES = {"href", "src", "action", "formaction", "hx-get", "hx-post", "xlink:href", "poster", "data"}
SAFE_ADDRESS = re.compile(r"(https?://|/|\?|#|$)")
NEVER_HERE = {"img", "iframe", "object", "embed", "base", "video", "audio", "corpus-x"}


def wrongs(page: Page) -> list[str]:
    """Parts of a page that can only come from hostile text."""
    found = []
    for element in page.elements:
        attributes = element.attributes
        if element.tag in NEVER_HERE or (
            element.tag == "script" and not attributes.get("src", "").startswith("/static/")
        ):
            found.append(f"<{element.tag}>")
        found += [f"{name}=" for name in attributes if name.startswith(("on", "corpus")) or name in ("style", "srcdoc")]
        found += [
            f"{name}={value[:60]}"
            for name, value in attributes.items()
            if name in ADDRESSES and not SAFE_ADDRESS.match(value)
        ]
    return found


def reading(scene: Scene, browser: Browser) -> dict[str, Page]:
    """Every page that the scene has, whole and as htmx fetches it."""
    pages = {}
    for route in routes():
        if route.name in ("live", "logout") or route.name.startswith("export_"):
            continue
        for kind, headers in (("page", {}), ("fragment", {"HX-Request": "true"})):
            answer = browser.get(scene.path(route), headers=headers)
            assert answer.status_code < 500 or route.name == "healthz", route.name  # 503 is a report
            if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
                pages[f"{route.name} {kind}"] = Page(answer.content.decode())
    return pages


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=kind, marks=() if kind == "elements" else pytest.mark.proof)
        for kind, text in FOR_PAGES.items()
    ],
)
def test_no_page_takes_text_for_markup(
    scene_of: Callable[[str], Scene], sign_in: Callable[[str], Browser], text: str
) -> None:
    pages = reading(scene_of(text), sign_in("superuser"))

    assert {name: found for name, page in pages.items() if (found := wrongs(page))} == {}
    shown = [name for name, page in pages.items() if text[:40] in page.html or "alert(" in page.text]
    assert readable(text) in pages["message page"].text
    assert len(shown) > 40, "the text is hardly anywhere"


@pytest.mark.parametrize(
    "template",
    [
        "<p>{{ text|safe }}</p>",
        '{% autoescape off %}<i title="{{ text }}">x</i>{% endautoescape %}',
        "<i title={{ text }}>x</i>",
        '<a href="{{ text }}">x</a>',
    ],
)
def test_a_template_that_lets_text_through_is_noticed(template: str) -> None:
    drawn = engines["django"].from_string(template)

    pages = [Page(drawn.render({"text": text}, RequestFactory().get("/"))) for text in FOR_PAGES.values()]

    assert any(wrongs(page) for page in pages)

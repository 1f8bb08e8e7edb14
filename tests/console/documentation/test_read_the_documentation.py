"""Documentation in the console: every page of docs/ can be read, and its links lead on."""

from __future__ import annotations

import pytest
from django.conf import settings

from console.documentation import pages
from tests.console.browsers import Browser


def test_the_sidebar_leads_to_every_page(viewer: Browser) -> None:
    first = viewer.see(viewer.see("/").link("Docs"))

    assert first.one("h1").text == "Signalbox"
    filters = viewer.see(first.link("Filters"))
    assert filters.one("h1").text == "Filters"
    assert filters.link("Documentation") == "/docs"


def test_links_between_pages_lead_to_pages(viewer: Browser) -> None:
    for name in ("README", "operate/console", "start/first-look", "runbooks/SignalboxDeadLetters"):
        text = pages.read(name)
        assert text is not None
        html = pages.to_html(name, text)
        assert ".md)" not in html
        assert "<!--" not in html
        assert "![" not in html
    assert viewer.see("/docs?page=operate/console").link("message group") == "/docs?page=use%2Fmessage-groups"


@pytest.mark.parametrize("name", ["../manage", "../../etc/passwd", "/etc/passwd", "operate", "no/such", "<script>"])
def test_only_pages_of_the_documentation_can_be_read(viewer: Browser, name: str) -> None:
    page = viewer.see("/docs", status=404, page=name)

    assert "The documentation has no page" in page.text
    assert "<script>" not in page.html.partition("The documentation has no page")[2][:40]


def test_every_page_is_rendered(viewer: Browser) -> None:
    for path in (settings.BASE_DIR / "docs").rglob("*.md"):
        name = str(path.relative_to(settings.BASE_DIR / "docs").with_suffix(""))
        text = pages.read(name)
        assert text is not None, name
        assert pages.title_of(text), name
        assert pages.to_html(name, text).startswith("<"), name

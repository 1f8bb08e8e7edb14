"""Runbooks are pages of the console: every one can be read there, and what it links to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.alerts.runbooks import to_html
from tests.console.browsers import Browser, Page
from tests.engine import Engine

RUNBOOKS = sorted((Path(__file__).parents[3] / "docs" / "runbooks").glob("*.md"))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a `b <c>` **d** *e* & f", "<p>a <code>b &lt;c&gt;</code> <b>d</b> <i>e</i> &amp; f</p>"),
        ("# Name\nFirst\nline.\n\nSecond.", "<p>First line.</p>\n<p>Second.</p>"),
        ("## What", "<h2>What</h2>"),
        ("1. one\n   and more\n2. two", "<ol><li>one and more</li><li>two</li></ol>"),
        ("1. one\n   - a\n   - b", "<ol><li>one<br>- a<br>- b</li></ol>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("```\na < b\n\nc\n```", "<pre tabindex=0>a &lt; b\n\nc\n</pre>"),
        ("[other](Other.md) [page](/alerts) [doc](../x.md) [out](https://x.example)", None),
        ("[x](//evil.example) <script>", "<p>x &lt;script&gt;</p>"),
        ("`a *b* [c](D.md)`", "<p><code>a *b* [c](D.md)</code></p>"),
        ("rows `2 * 3 * 4` and 2 * 3 * 4", "<p>rows <code>2 * 3 * 4</code> and 2 * 3 * 4</p>"),
    ],
)
def test_the_little_markdown_of_runbooks(text: str, html: str | None) -> None:
    links = '<p><a href="/runbooks/Other">other</a> <a href="/alerts">page</a> doc out</p>'
    assert to_html(text) == (html or links)


def test_code_in_a_table_wraps_between_its_words() -> None:
    assert "<td><code>lock_<wbr>expired</code></td>" in to_html("| reason |\n|---|\n| `lock_expired` |")


def test_the_name_of_the_queue_is_filled_in_and_linked() -> None:
    text = "Open `/queues/<queue>/consumers`, then `manage.py worker QUEUE x`. See `<queue>`."

    assert to_html(text, "orders-dlq") == (
        '<p>Open <a href="/queues/orders-dlq/consumers">/queues/orders-dlq/consumers</a>, then'
        " <code>manage.py worker orders-dlq x</code>. See <code>orders-dlq</code>.</p>"
    )
    assert "<code>/queues/&lt;queue&gt;/consumers</code>" in to_html(text)


def test_a_runbook_without_a_queue_lets_the_reader_choose_one(viewer: Browser, engine: Engine) -> None:
    page = viewer.see("/runbooks/SignalboxNoConsumers")

    assert f'<option value="{engine.queue}">' in " ".join(page.html.split())
    assert 'name="queue"' in page.html
    assert 'name="queue"' not in viewer.see("/runbooks/SignalboxNoConsumers", queue=engine.queue).html
    assert 'name="queue"' not in viewer.see("/runbooks/SignalboxArchiveStale").html


@pytest.mark.parametrize("queue", ["$(reboot)", "a b", "<script>", "x](//evil.example)", "../..", "a\nb"])
def test_a_text_that_is_no_name_of_a_queue_stays_out_of_commands(viewer: Browser, queue: str) -> None:
    page = viewer.see("/runbooks/SignalboxNoConsumers", queue=queue)

    (section,) = page.all("section", id="results")
    assert "manage.py worker QUEUE" in section.text
    assert queue.strip() not in section.text
    assert "<script>" not in page.html.split("<main")[1]


def test_every_link_of_a_queues_runbook_leads_to_a_page(viewer: Browser, engine: Engine) -> None:
    links = set()
    for path in RUNBOOKS:
        page = viewer.see(f"/runbooks/{path.stem}", queue=engine.queue)
        links |= set(re.findall(r'href="(/[^"]*)"', page.html[page.html.index('id="results"') :]))
    ours = {link for link in links if engine.queue in link}

    assert f"/queues/{engine.queue}/consumers" in ours
    assert {link: viewer.get(link).status_code for link in ours} == dict.fromkeys(ours, 200)


def test_a_table() -> None:
    page = Page(to_html("| a | b |\n|---|---|\n| 1 | `2` |"))

    assert [cell.text for cell in page.all("th")] == ["a", "b"]
    assert [cell.text for cell in page.all("td")] == ["1", "2"]


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_every_runbook_can_be_read_and_leads_on(viewer: Browser, path: Path) -> None:
    page = viewer.see(f"/runbooks/{path.stem}")

    (section,) = page.all("section", id="results")
    assert "**" not in section.text
    assert "](" not in section.text
    headings = re.findall(r"^## (.*)$", path.read_text(), re.MULTILINE)
    assert [one.text for one in page.all("h2") if one.text in headings] == headings
    for link in re.findall(r'href="(/[^"]*)"', page.html[page.html.index('id="results"') :]):
        assert viewer.get(link).status_code == 200, link

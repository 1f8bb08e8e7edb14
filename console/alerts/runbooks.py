"""Runbooks of Signalbox's alerts as pages, with the name of the alert's queue filled in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from console.templatetags.console import breakable

_QUEUE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PLACEHOLDER = re.compile(r"<queue>|\bQUEUE\b")
_OURS = re.compile(r"docs/runbooks/([A-Za-z]{1,80})\.md")


def runbook_address(runbook_url: str, queue: str = "") -> str:
    """Return the address of an alert's runbook: a page for this queue, an address elsewhere, or empty for neither."""
    if found := _OURS.fullmatch(runbook_url):
        return _page(found[1], queue) if text_of(found[1]) is not None else ""
    return runbook_url if _is_web_address(runbook_url) else ""


def _page(name: str, queue: str) -> str:
    address = reverse("runbook", args=[name])
    return f"{address}?{urlencode({'queue': queue})}" if queue else address


def fill_in(text: str, queue: str) -> str:
    """Replace `<queue>` and `QUEUE` by the queue's name. A text that is no valid name of a queue changes nothing.

    People copy commands from a runbook, so text from an alert must not become part of a command.
    """
    return _PLACEHOLDER.sub(queue, text) if is_queue_name(queue) else text


def asks_for_queue(text: str, queue: str) -> bool:
    """Return whether a runbook has placeholders that the text, as a queue's name, does not fill in."""
    return not is_queue_name(queue) and _PLACEHOLDER.search(text) is not None


def is_queue_name(text: str) -> bool:
    """Return whether the text can be the name of a queue: letters, digits, dots, hyphens and underscores."""
    return _QUEUE_NAME.fullmatch(text) is not None


def text_of(name: str) -> str | None:
    """Return the runbook of this alert; None when there is none. `name` has only a-z and A-Z."""
    path = settings.BASE_DIR / "docs" / "runbooks" / f"{name}.md"
    return path.read_text() if path.is_file() else None


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


_ITEM = re.compile(r"(\d+\.|-) +(.*)")
_INLINE = (
    (re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])"), r"<i>\1</i>"),
)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_RUNBOOK = re.compile(r"([A-Za-z]+)\.md")
_PAGE_OF_QUEUE = re.compile(r"`(/[^\s`)<]*<queue>[^\s`)<]*)`")


def to_html(text: str, queue: str = "") -> SafeString:
    """Render a runbook for this queue, without its first heading, which the page shows."""
    blocks = list(_blocks(_linked(text, queue).splitlines()))
    if blocks and blocks[0][0].startswith("# "):
        blocks = blocks[1:]
    return mark_safe("\n".join(_render(block) for block in blocks))  # noqa: S308 - every line was escaped


def _linked(text: str, queue: str) -> str:
    """Fill in the queue's name, and turn each page of the queue into a link."""
    if not is_queue_name(queue):
        return text
    return fill_in(_PAGE_OF_QUEUE.sub(r"[\1](\1)", text), queue)


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Split lines into blocks: at blank lines, around headings, and at the end of code."""
    block: list[str] = []
    coded = False
    for line in lines:
        if line.startswith("```"):
            coded = not coded
        alone = not coded and (line.startswith("#") or not line.strip())
        if alone and block:
            yield block
            block = []
        if line.startswith("#") and not coded:
            yield [line]
        elif line.strip() or coded:
            block.append(line)
    if block:
        yield block


def _render(block: list[str]) -> str:
    first = block[0]
    if first.startswith("#"):
        return f"<h2>{_inline(first.lstrip('# '))}</h2>"
    if first.startswith("```"):
        return f"<pre tabindex=0>{escape(chr(10).join(block[1:]).removesuffix('```'))}</pre>"
    if first.startswith("|"):
        return _table(block)
    if _ITEM.match(first):
        return _list(block)
    return f"<p>{_inline(' '.join(block))}</p>"


def _list(block: list[str]) -> str:
    items: list[str] = []
    for line in block:
        if found := _ITEM.match(line):
            items.append(found[2])
        else:
            items[-1] += f"\n{line.strip()}" if line.strip().startswith("- ") else f" {line.strip()}"
    tag = "ol" if block[0][0].isdigit() else "ul"
    return f"<{tag}>{''.join(f'<li>{_broken(item)}</li>' for item in items)}</{tag}>"


def _broken(item: str) -> str:
    """Render an item; each item within it starts a line."""
    return _inline(item).replace("\n", "<br>")


def _table(block: list[str]) -> str:
    head, rows = block[0], block[2:]
    cells = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in _cells(head))
    body = "".join(
        f"<tr>{''.join(f'<td>{_inline(cell, breakable)}</td>' for cell in _cells(row))}</tr>" for row in rows
    )
    return (
        f'<div class="grid-wrap" tabindex="0"><table class="grid"><thead><tr>{cells}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _inline(text: str, escaped: Callable[[str], str] = escape) -> str:
    """Render links and emphasis, except between backticks: there the text is only escaped."""
    parts = text.split("`")
    return "".join(f"<code>{escaped(part)}</code>" if place % 2 else _words(part) for place, part in enumerate(parts))


def _words(text: str) -> str:
    html = _LINK.sub(_link, escape(text))
    for pattern, replacement in _INLINE:
        html = pattern.sub(replacement, html)
    return html


def _link(found: re.Match[str]) -> str:
    words, target = found[1], found[2]
    if name := _RUNBOOK.fullmatch(target):
        return f'<a href="{reverse("runbook", args=[name[1]])}">{words}</a>'
    if target.startswith("/") and not target.startswith("//"):
        return f'<a href="{target}">{words}</a>'
    return words

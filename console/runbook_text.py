"""Runbooks as pages: the little Markdown they are written in, and nothing else of it.

Headings, paragraphs, lists, tables and code blocks; within a line code, bold, emphasis and links. Everything is escaped
first. A link to another runbook leads to its page; other documents are not served, so their names stand as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

_ITEM = re.compile(r"(\d+\.|-) +(.*)")
_INLINE = (
    (re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])"), r"<i>\1</i>"),
)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_RUNBOOK = re.compile(r"([A-Za-z]+)\.md")


def to_html(text: str) -> SafeString:
    """The whole text but its first heading, which the page has already."""
    blocks = list(_blocks(text.splitlines()))
    if blocks and blocks[0][0].startswith("# "):
        blocks = blocks[1:]
    return mark_safe("\n".join(_render(block) for block in blocks))  # noqa: S308 - every line was escaped


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines that stand together: blank lines part them, headings stand alone, code goes to its end."""
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
    """Points within a point stand on lines of their own."""
    return _inline(item).replace("\n", "<br>")


def _table(block: list[str]) -> str:
    head, rows = block[0], block[2:]
    cells = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in _cells(head))
    body = "".join(f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in _cells(row))}</tr>" for row in rows)
    return (
        f'<div class="grid-wrap"><table class="grid"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _inline(text: str) -> str:
    """What is between backticks is left alone."""
    parts = text.split("`")
    return "".join(f"<code>{escape(part)}</code>" if place % 2 else _words(part) for place, part in enumerate(parts))


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

"""Rendering of JSON of messages: always as text, because it may be hostile, and at most what a page can show."""

from __future__ import annotations

import json
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from signalbox.unreadable import Unreadable

EXCERPT_CHARACTERS = 240  # of the at most 2 KB that a list carries, what one line can show
TREE_NODES = 2_000
OPEN_DEPTH = 2
DEEPEST = 40


def excerpt(document: Any) -> str:
    """Return the beginning of a document on one line; a string is JSON text that the database cut."""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return text if len(text) <= EXCERPT_CHARACTERS else text[: EXCERPT_CHARACTERS - 1] + "…"


def pretty(document: Any, *, sort_keys: bool = False) -> str:
    """Return the whole document, indented; on one line if it is nested too deeply."""
    if isinstance(document, Unreadable):
        return document.text
    try:
        return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=sort_keys)
    except RecursionError:
        return json.dumps(document, ensure_ascii=False, sort_keys=sort_keys)


def tree(document: Any) -> SafeString:
    """Render the document as nested lists that open and close; nodes beyond TREE_NODES are counted, not drawn."""
    if isinstance(document, Unreadable):
        return format_html(
            '<p class="quiet">{}. It is shown as it is stored.</p><pre tabindex="0">{}</pre>', document, document.text
        )
    return format_html('<div class="tree">{}</div>', _Tree().node(None, document, 0))


class _Tree:
    """A renderer of one document that counts its nodes."""

    left = TREE_NODES

    def node(self, key: str | None, value: Any, depth: int) -> SafeString:
        self.left -= 1
        label = format_html('<span class="key">{}</span>: ', key) if key is not None else mark_safe("")
        if isinstance(value, dict) and value:
            return self._branch(label, value.items(), "{", "}", depth)
        if isinstance(value, list) and value:
            return self._branch(label, ((str(index), one) for index, one in enumerate(value)), "[", "]", depth)
        is_literal = value is None or isinstance(value, bool)
        kind = "string" if isinstance(value, str) else "literal" if is_literal else "number"
        text = json.dumps(value, ensure_ascii=False)
        return format_html('<div class="leaf">{}<span class="{}">{}</span></div>', label, kind, text)

    def _branch(self, label: SafeString, items: Any, opening: str, closing: str, depth: int) -> SafeString:
        children = list(items)
        return format_html(
            '<details{}><summary>{}{} <span class="size">{}</span> {}</summary><ul>{}</ul></details>',
            mark_safe(" open") if depth < OPEN_DEPTH else "",
            label,
            opening,
            len(children),
            closing,
            self._children(children, depth),
        )

    def _children(self, children: list[tuple[str, Any]], depth: int) -> SafeString:
        if depth >= DEEPEST:
            return mark_safe('<li class="size">nested deeper than this page draws; see the text below</li>')
        drawn = []
        for key, value in children:
            if self.left <= 0:
                more = len(children) - len(drawn)
                drawn.append((format_html('<span class="size">{} more, see the text below</span>', more),))
                break
            drawn.append((self.node(key, value, depth + 1),))
        return format_html_join("", "<li>{}</li>", drawn)

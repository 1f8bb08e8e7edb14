"""Rendering of JSON of messages: always as text, because it may be hostile, and at most what a page can show."""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from signalbox.payloads import binary
from signalbox.payloads.unreadable import Unreadable

EXCERPT_CHARACTERS = 240  # what one line of a list can show; the list reads at most 2 KB of a payload
HEX_BYTES = 4_096
"""The bytes that a page shows as hex and as text; the whole payload can be downloaded."""
TREE_NODES = 2_000
OPEN_DEPTH = 2
DEEPEST = 40


def excerpt(document: Any) -> str:
    """Return the beginning of a document on one line. A string is JSON text, which the database may have cut."""
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


@dataclass(frozen=True)
class Bytes:
    """A binary payload on a page: its beginning as hex and, where it is text in UTF-8, as text."""

    content_type: str
    size: int
    hex: str
    text: str | None
    is_cut: bool


def bytes_of(payload: Any, attributes: Any) -> Bytes | None:
    """Describe a binary payload; None for a JSON payload."""
    content = binary.decoded(payload, attributes)
    if not isinstance(content, bytes):
        return None
    shown = content[:HEX_BYTES]
    content_type = binary.content_type_of(attributes) or binary.ANY_BYTES
    return Bytes(content_type, len(content), hex_dump(shown), _text(shown), len(shown) < len(content))


def hex_dump(content: bytes) -> str:
    """Write bytes as lines of an offset, sixteen bytes in hex, and their printable ASCII characters."""
    lines = []
    for start in range(0, len(content), 16):
        part = content[start : start + 16]
        printable = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{start:08x}  {part.hex(' '):<47}  {printable}")
    return "\n".join(lines)


def _text(content: bytes) -> str | None:
    """Decode bytes as UTF-8, where the last character may be cut; None if invalid or with control characters."""
    text = codecs.getincrementaldecoder("utf-8")()
    try:
        read = text.decode(content)
    except UnicodeDecodeError:
        return None
    return read if all(character.isprintable() or character in "\r\n\t" for character in read) else None


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

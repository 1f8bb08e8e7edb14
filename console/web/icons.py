"""The console's pictures: each state has its own shape, so that colour is never alone in telling it."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

# Drawn on 16 x 16.
SHAPES = {
    "breaching": '<path d="M8 1.5 15 14H1z"/>',
    "watch": '<rect x="2.5" y="2.5" width="11" height="11" rx="2"/>',
    "healthy": '<circle class="ring" cx="8" cy="8" r="5.5"/>',
    "paused": '<path d="M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z"/>',
    "closed": '<circle class="ring" cx="8" cy="8" r="5.5"/><path d="M4 7h8v2H4z"/>',
    "sent": '<circle cx="8" cy="8" r="4"/>',
    "scheduled": ('<circle class="ring" cx="8" cy="8" r="5.5"/><path d="M7.2 4.5h1.6v3.2l2.4 1.5-.8 1.3-3.2-2z"/>'),
    "leased": ('<path d="M3 8.8h7.2L7.5 11.5l1.1 1.1L13.2 8 8.6 3.4 7.5 4.5l2.7 2.7H3z"/>'),
    "failed": (
        '<path d="M4.1 2.9 8 6.8l3.9-3.9 1.2 1.2L9.2 8l3.9 3.9-1.2 1.2L8 9.2l-3.9 3.9-1.2-1.2L6.8 8 2.9 4.1z"/>'
    ),
    "dead": '<path d="M8 1 15 8l-7 7-7-7z"/>',
    "redriven": ('<path d="M8 3.2V1l4 3.2-4 3.2V5.1a3.7 3.7 0 1 0 3.6 4.6l1.9.4A5.6 5.6 0 1 1 8 3.2z"/>'),
    "done": '<path d="M6.3 12.6 2 8.3l1.4-1.4 2.9 2.9 6.3-6.3L14 4.9z"/>',
    "purged": '<path d="M5.5 2h5v1.5H14V5H2V3.5h3.5zM3.5 6h9l-.7 8.5H4.2z"/>',
    "running": '<path d="M4 2.5 13 8l-9 5.5z"/>',
    "cancelled": ('<circle class="ring" cx="8" cy="8" r="5.5"/><path d="m4.5 3.4 8.1 8.1-1.1 1.1-8.1-8.1z"/>'),
    "masked": ('<path d="M5 7V5a3 3 0 0 1 6 0v2h1.5v7h-9V7zm1.6 0h2.8V5a1.4 1.4 0 0 0-2.8 0z"/>'),
    "info": ('<circle class="ring" cx="8" cy="8" r="5.5"/><path d="M7.2 7h1.6v4.2H7.2zM7.2 4.5h1.6V6H7.2z"/>'),
}
# The tone of a shape when a template names none.
TONES = {
    "breaching": "bad",
    "watch": "warn",
    "healthy": "ok",
    "paused": "quiet",
    "closed": "quiet",
    "failed": "warn",
    "dead": "bad",
    "done": "ok",
    "redriven": "ok",
    "cancelled": "quiet",
    "masked": "quiet",
}


def draw(name: str, tone: str = "") -> SafeString:
    """The shape called `name` as inline SVG, hidden from those who hear the page."""
    return format_html(
        '<svg class="icon" data-tone="{}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">{}</svg>',
        tone or TONES.get(name, ""),
        mark_safe(SHAPES[name]),  # noqa: S308 - a constant of this file
    )

"""Pictures of states and pages. Each state has its own shape, so that colour is never the only sign of a state."""

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
# Lines that stand for the pages of the sidebar.
PLACES = {
    "queues": "M2.5 4.5h11M2.5 8h11M2.5 11.5h7",
    "fleet": "M2.5 2.5h4.5v4.5h-4.5zM9 2.5h4.5v4.5h-4.5zM2.5 9h4.5v4.5h-4.5zM9 9h4.5v4.5h-4.5z",
    "dead_letters": "M8 2.5 14 13.5H2zM8 6.7v3.1M8 11.6v.1",
    "alerts": "M8 2.2a4 4 0 0 0-4 4v3l-1.2 2.3h10.4L12 9.2v-3a4 4 0 0 0-4-4zM6.6 13.6h2.8",
    "streams": "M2 4.5c2-1.5 4 1.5 6 0s4-1.5 6 0M2 8c2-1.5 4 1.5 6 0s4-1.5 6 0M2 11.5c2-1.5 4 1.5 6 0s4-1.5 6 0",
    "subscriptions": "M2.5 8h4M6.5 8c3 0 2-4 5-4h2M6.5 8c3 0 2 4 5 4h2M11.8 2.3 13.5 4l-1.7 1.7",
    "consumers": (
        "M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6zM1.8 13.2c0-2.6 1.8-4 4.2-4s4.2 1.4 4.2 4"
        "M10.6 3.2a2.2 2.2 0 0 1 0 4.2M12 9.6c1.4.5 2.2 1.8 2.2 3.6"
    ),
    "metrics": "M2.5 2.5v11h11M5.5 11V8.5M8.5 11V5M11.5 11V7",
    "jobs": "M13 5.8A5.4 5.4 0 0 0 3.2 5M3 10.2a5.4 5.4 0 0 0 9.8.8M13.2 2.6v3.3H9.9M2.8 13.4v-3.3h3.3",
    "approvals": "M3 8.5 6.5 12 13 4.5",
    "trash": "M2.8 4.5h10.4M6.2 4.3V2.6h3.6v1.7M4.2 4.7l.6 8.8h6.4l.6-8.8M6.7 7v4M9.3 7v4",
    "rules": "M2.5 4.5 4 6l2.5-3M2.5 10.5 4 12l2.5-3M9 4.5h4.5M9 10.5h4.5",
    "schedules": "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.3l2.3 1.4",
    "runs": "M2.5 3h11v3h-11zM3.5 6.2v7h9v-7M6.5 8.8h3",
    "replay": "M2.8 3.5 8 8l-5.2 4.5zM8 3.5 13.2 8 8 12.5z",
    "analysis": "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.4 10.4l3.4 3.4",
    "tenants": "M3.5 13.5v-11h6v11M9.5 6.5h3v7M1.8 13.5h12.4M5.7 5h1.6M5.7 7.7h1.6M5.7 10.4h1.6",
    "people": "M5 9.8a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4zM7.6 7.1H14v2.6M11.4 7.1v2",
    "privacy": "M8 2 13 3.8v4c0 3-2 5-5 6.2-3-1.2-5-3.2-5-6.2v-4z",
    "maintenance": "M13.4 4.8a3.4 3.4 0 0 1-4.6 3.9l-4.5 4.5-1.6-1.6 4.5-4.5a3.4 3.4 0 0 1 4-4.5L9.3 4.5l.4 1.7 1.7.4z",
    "audit": "M3.5 2.5h9v11h-9zM6 5.5h4M6 8h4M6 10.5h2.5",
    "api": "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
    "docs": "M3 3h4.2c.5 0 .8.3.8.8V13c0-.4-.4-.8-.8-.8H3zM13 3H8.8c-.5 0-.8.3-.8.8V13c0-.4.4-.8.8-.8H13z",
    "shortcuts": "M1.8 4.5h12.4v7H1.8zM4.2 7h.1M6.7 7h.1M9.2 7h.1M11.7 7h.1M5 9.3h6",
    "display": "M2.5 5h6M12 5h1.5M10.2 3.4v3.2M2.5 11h1.5M7.5 11h6M5.8 9.4v3.2",
    "person": "M8 7.8a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4zM3 13.6c0-2.8 2-4.3 5-4.3s5 1.5 5 4.3",
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
    """Return the picture `name` as inline SVG, hidden from screen readers."""
    inside = SHAPES.get(name) or f'<path class="lines" d="{PLACES[name]}"/>'
    return format_html(
        '<svg class="icon" data-tone="{}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">{}</svg>',
        tone or TONES.get(name, ""),
        mark_safe(inside),  # noqa: S308 - a constant of this file
    )

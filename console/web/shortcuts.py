"""Keyboard shortcuts, declared once: the help lists them, and `shortcuts.js` reads its bindings from the help."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from console.web.sidebar import Item


@dataclass(frozen=True)
class Shortcut:
    """Keys that a person presses one after another, and the effect in words."""

    keys: tuple[str, ...]
    words: str
    action: str = ""
    """Name of the function in `shortcuts.js`. Empty: the browser or the focused element answers the key."""
    url: str = ""
    """Address of the page that the keys open."""

    @property
    def sequence(self) -> str:
        return " ".join(self.keys)


@dataclass(frozen=True)
class ShortcutSection:
    """Shortcuts that work in the same place."""

    title: str
    shortcuts: tuple[Shortcut, ...]


ANYWHERE = ShortcutSection(
    "Anywhere",
    (
        Shortcut(("Ctrl+K",), "Search queues, messages, failure groups, jobs and pages", "search"),
        Shortcut(("/",), "Go to the filter", "filter"),
        Shortcut(("a",), "Main action of the row, or of the page", "act"),
        Shortcut(("p",), "Pause or resume live updates", "pause"),
        Shortcut(("u",), "Show times in UTC, or in local time again", "zone"),
        Shortcut(("?",), "Show these shortcuts", "help"),
    ),
)
IN_A_LIST = ShortcutSection(
    "In a list",
    (
        Shortcut(("j",), "Next row", "next"),
        Shortcut(("k",), "Previous row", "previous"),
        Shortcut(("Enter",), "Open the row"),
        Shortcut(("x",), "Select the row", "select"),
        Shortcut(("]",), "Next page", "nextPage"),
        Shortcut(("[",), "Previous page", "previousPage"),
        Shortcut(("←", "→"), "Read a focused chart"),
    ),
)
GO = "g"
PLACES = {
    "overview": "o",
    "dead_letters": "d",
    "alerts": "a",
    "streams": "s",
    "consumers": "c",
    "history": "h",
    "redrives": "r",
    "approvals": "y",
    "trash": "t",
    "pipeline": "p",
    "tenants": "n",
    "audit": "l",
    "maintenance": "m",
    "people": "u",
}
"""The name of a page in the sidebar, and the key that opens the page after `GO`."""


def sections(items: Iterable[Item]) -> list[ShortcutSection]:
    """List the shortcuts of a person who sees these pages."""
    places = [Shortcut(keys, item.label, "go", item.url) for item in items if (keys := keys_of(item))]
    return [ANYWHERE, IN_A_LIST, *([ShortcutSection("Go to", tuple(places))] if places else [])]


def keys_of(item: Item) -> tuple[str, ...]:
    """Return the keys that open a page of the sidebar; none for a page without keys."""
    return (GO, PLACES[item.name]) if item.name in PLACES else ()

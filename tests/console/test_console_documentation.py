"""docs/operate/console.md and console-keyboard.md tell the truth about roles, filters and shortcuts."""

from __future__ import annotations

import re
from pathlib import Path

from django.urls import get_resolver

from console.access.roles import PERMISSIONS, ROLES
from console.administration.audit import KEYS as AUDIT_KEYS
from console.overview.views import KEYS as QUEUE_KEYS
from console.web import sidebar
from console.web.shortcuts import ANYWHERE, GO, IN_A_LIST, PLACES

ROOT = Path(__file__).parents[2]
PAGES = [(ROOT / f"docs/operate/{name}.md").read_text() for name in ("console", "console-keyboard")]


def section(title: str) -> str:
    [found] = [page.split(f"## {title}\n")[1] for page in PAGES if f"\n## {title}\n" in page]
    return found.split("\n## ")[0]


def test_every_role_has_its_permissions() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section("Roles"), re.MULTILINE))

    assert (rows.pop("admin"), ROLES["admin"]) == ("every permission", tuple(PERMISSIONS))
    assert {role: tuple(re.findall(r"`(\w+)`", permissions)) for role, permissions in rows.items()} == {
        role: permissions for role, permissions in ROLES.items() if role != "admin"
    }


def test_every_permission_is_explained() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", section("Permissions"), re.MULTILINE)

    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set(PERMISSIONS) - {"see_metadata"}


def test_every_key_of_the_small_filters_is_named() -> None:
    words = section("Filters")

    for keys in (QUEUE_KEYS, AUDIT_KEYS):
        for name, key in keys.items():
            assert f"`{name}:{','.join(key.choices)}`" in words


def test_every_shortcut_is_named() -> None:
    places = {f"`{GO}` `{key}`" for key in PLACES.values()}
    others = {
        " ".join(f"`{key}`" for key in shortcut.keys)
        for section in (ANYWHERE, IN_A_LIST)
        for shortcut in section.shortcuts
    }

    assert set(re.findall(r"^\| ((?:`\S+` ?)+) \|", section("Keyboard"), re.MULTILINE)) == places | others


def test_every_shortcut_has_its_function() -> None:
    module = (ROOT / "console/static/console/keyboard/shortcuts.js").read_text()
    functions = set(re.findall(r"^  (\w+)[:,]", module.split("const ACTIONS = {")[1].split("};")[0], re.MULTILINE))
    actions = {shortcut.action for section in (ANYWHERE, IN_A_LIST) for shortcut in section.shortcuts}

    assert functions == actions - {""} | {"go"}


def test_every_place_of_a_shortcut_is_a_page_of_the_sidebar() -> None:
    assert get_resolver().url_patterns  # the rooms register their pages when Django loads the addresses
    for name in PLACES:
        assert name in sidebar._items

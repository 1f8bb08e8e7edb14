"""docs/operate/console.md tells the truth about roles, filters and shortcuts."""

from __future__ import annotations

import re
from pathlib import Path

from console.access.roles import ROLES
from console.administration.audit import KEYS as AUDIT_KEYS
from console.overview.views import KEYS as QUEUE_KEYS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/operate/console.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def test_every_role_has_its_permissions() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section("Roles"), re.MULTILINE)

    assert {role: tuple(re.findall(r"`(\w+)`", permissions)) for role, permissions in rows} == ROLES


def test_every_key_of_the_small_filters_is_named() -> None:
    words = section("Filters")

    for keys in (QUEUE_KEYS, AUDIT_KEYS):
        for name, key in keys.items():
            assert f"`{name}:{','.join(key.choices)}`" in words


def test_every_shortcut_is_named() -> None:
    module = (ROOT / "console/static/console/shortcuts.js").read_text()
    keys = re.findall(r'^  "?(.)"?: \(\) =>', module, re.MULTILINE)

    assert keys
    assert set(re.findall(r"`(.)`", section("Shortcuts"))) == set(keys)


def test_every_shortcut_is_in_the_dialog() -> None:
    dialog = (ROOT / "templates/layout/_shortcuts.html").read_text()

    assert set(re.findall(r"`(.)`", section("Shortcuts"))) <= set(re.findall(r"<kbd>(.)</kbd>", dialog))

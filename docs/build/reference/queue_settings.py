"""The settings of a queue, from `queues/settings.py`."""

from __future__ import annotations

from docs.build.markdown import linked, table
from queues.settings import SETTINGS, Setting

FOLDER = "reference"


def table_of_settings() -> str:
    """Return the table of all settings."""
    return table(
        ("setting", "default", "allowed", "meaning"),
        (
            (f"`{setting.name}`", _shown(setting.default), _allowed(setting), linked(setting.help, FOLDER))
            for setting in SETTINGS.values()
        ),
    )


def _shown(value: float | bool | str | None) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return value if isinstance(value, str) else f"{value:g}"


def _allowed(setting: Setting) -> str:
    if setting.kind == "boolean":
        return "true, false"
    if setting.choices:
        return ", ".join(setting.choices) + (f" {setting.unit}" if setting.unit else "")
    if setting.minimum is None:
        return "a queue name"
    bounds = f"{_whole(setting.minimum)} to {_whole(setting.maximum)}"
    return bounds if setting.unit == bounds else f"{bounds} {setting.unit}".strip()


def _whole(value: float | None) -> str:
    return f"{value:.0f}" if value is not None and value == int(value) else f"{value}"

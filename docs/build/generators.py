"""List of the generators of whole pages, and of parts of pages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from docs.build import contents, rooms  # noqa: E402 - models are loaded
from docs.build.reference import (  # noqa: E402 - models are loaded
    alert_rules,
    capacity,
    commands,
    configuration,
    filter_fields,
    http_api,
    metrics,
    python_verbs,
    queue_settings,
    sql_functions,
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield (path from the root, text) of each generated page."""
    for generator in (sql_functions, commands, http_api, python_verbs, rooms):
        yield from generator.pages()


def blocks() -> Mapping[str, str]:
    """Return the text of generated parts of pages, by the name in their marker."""
    return {
        "commands": commands.index(),
        "http-calls": http_api.index(),
        "configuration": configuration.table_of_settings(),
        "queue-settings": queue_settings.table_of_settings(),
        "metrics": metrics.tables(),
        "python-verbs": python_verbs.index(),
        "alert-rules": alert_rules.table_of_rules(),
        "filter-fields": filter_fields.table_of_fields(),
        "filter-states": filter_fields.table_of_states(),
        "contents": contents.table_of_pages(),
        "decisions": contents.list_of_decisions(),
        "imports": rooms.table_of_imports(),
        **capacity.blocks(),
    }

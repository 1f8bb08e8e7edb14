"""A new setting of a queue is one line of `queues/settings.py` and a migration: everything else follows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from queues.settings import SETTINGS

PROJECT = Path(__file__).parents[3]

WITH_A_NEW_SETTING = """
import os
from queues import settings
new = settings.Setting("nap_seconds", "number", 1.5, "How long the queue naps.", unit="seconds", minimum=0, maximum=9)
settings.SETTINGS["nap_seconds"] = settings.HEADINGS["Delivery"]["nap_seconds"] = new
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
import django
django.setup()

from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.apps import apps
loader = MigrationLoader(None)
changes = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps)).changes(graph=loader.graph)
(migration,) = changes["queues"]
(operation,) = migration.operations
assert (operation.model_name, operation.name, operation.field.db_default) == ("queue", "nap_seconds", 1.5), operation

from queues.database.sql_scripts import scripts
assert "nap_seconds = v_queue.nap_seconds" in dict(scripts("queues"))["_configure_queue"]

from queues.database import grants
assert "nap_seconds" in grants._SETTINGS

from console.queues.forms import SettingsForm
field = SettingsForm().fields["nap_seconds"]
assert (field.unit, field.max_value) == ("seconds", 9)
assert "nap_seconds" in [field.name for group in SettingsForm().groups() for field in group.fields]

from console.api.queues import shapes
assert shapes.Changes.model_fields["nap_seconds"].description == "How long the queue naps."
"""


def test_columns_forms_rights_and_sql_follow_from_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITH_A_NEW_SETTING], cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_no_other_file_lists_the_settings() -> None:
    """A file that names more than half of them repeats the list; migrations and documents alone may."""
    files = [
        file
        for room in ("queues", "dlq", "metrics", "pipeline", "console", "templates", "signalbox")
        for file in (PROJECT / room).rglob("*")
        if file.suffix in (".py", ".sql", ".html") and "migrations" not in file.parts
    ]
    lists = [file for file in files if sum(name in file.read_text() for name in SETTINGS) > len(SETTINGS) / 2]

    assert [str(file.relative_to(PROJECT)) for file in lists] == ["queues/settings.py"]

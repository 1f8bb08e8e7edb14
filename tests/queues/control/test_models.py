"""The unmanaged models say what the tables say: nothing else would notice a column that was renamed or turned null."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db import models

from queues.data_plane import DataPlaneModel, ReadOnlyError, StoredJson
from queues.models import MessageStatus, Queue
from queues.settings import SETTINGS
from tests.engine import Engine

COLUMN_TYPES = {
    models.BigIntegerField: {"bigint"},
    models.SmallIntegerField: {"smallint"},
    models.IntegerField: {"integer"},
    models.FloatField: {"double precision"},
    models.TextField: {"text"},
    models.CharField: {"character varying", '"char"'},
    models.JSONField: {"jsonb"},
    StoredJson: {"jsonb"},
    models.DateTimeField: {"timestamp with time zone"},
    models.UUIDField: {"uuid"},
    models.BooleanField: {"boolean"},
    models.ForeignKey: {"integer"},
    models.AutoField: {"integer"},
}
"""What a field may be in the database."""

UNMANAGED = [model for model in apps.get_app_config("queues").get_models() if not model._meta.managed]
VIEWS = {MessageStatus}
"""Of a view PostgreSQL does not know which columns are never null."""


def columns(engine: Engine, table: str) -> dict[str, tuple[str, bool]]:
    """Column names with their types and whether they may be null."""
    rows = engine.rows(
        "select column_name, data_type, is_nullable = 'YES' from information_schema.columns"
        " where table_schema = 'signalbox' and table_name = %s",
        table,
    )
    return {row[0]: (row[1], row[2]) for row in rows}


def own_fields(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    return [field for field in model._meta.local_fields if not isinstance(field, models.CompositePrimaryKey)]


def test_every_model_of_the_data_plane_is_read_only() -> None:
    assert len(UNMANAGED) > 10
    assert all(issubclass(model, DataPlaneModel) for model in UNMANAGED)
    for model in UNMANAGED:
        with pytest.raises(ReadOnlyError):
            model().save()
        with pytest.raises(ReadOnlyError):
            model().delete()


@pytest.mark.parametrize("model", UNMANAGED, ids=lambda model: model.__name__)
def test_the_fields_of_a_model_are_columns_of_its_table(engine: Engine, model: type[models.Model]) -> None:
    found = columns(engine, model._meta.db_table)

    for field in own_fields(model):
        kind, nullable = found[field.column]
        assert kind in COLUMN_TYPES[type(field)], field
        if model not in VIEWS:
            assert nullable == field.null, field


def test_a_queue_has_a_column_for_every_setting(engine: Engine) -> None:
    found = columns(engine, Queue._meta.db_table)
    kinds = {
        "number": "double precision",
        "integer": "bigint",
        "boolean": "boolean",
        "text": "character varying",
        "choice": "character varying",
    }

    assert {name: found[name] for name in SETTINGS} == {
        name: (kinds[setting.kind], setting.default is None) for name, setting in SETTINGS.items()
    }


def test_the_words_of_the_status_view_are_those_of_the_model(engine: Engine) -> None:
    definition = engine.value("select pg_get_viewdef('signalbox.message_status'::regclass)")

    assert all(f"'{word}'" in definition for word in MessageStatus.Status.values)

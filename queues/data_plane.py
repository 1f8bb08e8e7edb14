"""The base of the models of the data plane, whose tables belong to the SQL verbs: rows are read here, never written."""

from __future__ import annotations

from typing import Any

from django.db import models

from signalbox.payloads.unreadable import decode


class ReadOnlyError(TypeError):
    """Data-plane rows change through the verbs only."""


class DataPlaneModel(models.Model):
    """Base of the unmanaged models: they can be read, never saved or deleted. `table` is the table of each."""

    class Meta:
        abstract = True

    def __init_subclass__(cls, table: str, **kwargs: Any) -> None:
        """Write the options of the model, which Django reads after this."""
        super().__init_subclass__(**kwargs)
        cls.Meta = type("Meta", (), {"managed": False, "db_table": table})  # type: ignore[assignment, misc]

    def save(self, *args: Any, **kwargs: Any) -> None:
        raise ReadOnlyError(ReadOnlyError.__doc__)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise ReadOnlyError(ReadOnlyError.__doc__)


class StoredJson(models.JSONField):
    """A column of JSON from senders: a value that Python cannot read becomes an `Unreadable` instead of an error."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """The value of the column, or an `Unreadable` in its place."""
        return decode(value, self.attname) if isinstance(value, str) else value

    def deconstruct(self) -> Any:
        """Deconstruct as Django's JSONField, which it is in the database."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

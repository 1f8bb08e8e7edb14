"""A column of JSON from senders: a value that Python cannot read becomes an `Unreadable` instead of an error."""

from __future__ import annotations

from typing import Any

from django.db import models

from signalbox.unreadable import decode


class StoredJson(models.JSONField):
    """A JSONField whose rows can all be read, whatever PostgreSQL has stored."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """The value of the column, or an `Unreadable` in its place."""
        return decode(value, self.attname) if isinstance(value, str) else value

    def deconstruct(self) -> Any:
        """Deconstruct as Django's JSONField, which it is in the database."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

"""A field of forms for dates and times, in one notation on all pages: that of the filter language."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms

from dlq.filters.readings import MisreadError, moment

EXAMPLE = "2026-01-31 10:30"


class MomentField(forms.CharField):
    """A field for a date or a time in UTC, such as 2026-01-31 or 2026-01-31 10:30. An empty field is None."""

    unit = "UTC"

    def __init__(self, **options: Any) -> None:
        widget = forms.TextInput({"placeholder": EXAMPLE, "autocomplete": "off", "spellcheck": "false", "data-utc": ""})
        super().__init__(**{"max_length": 40, "required": False, "widget": widget, **options})

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00")

    def clean(self, value: Any) -> datetime | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return moment(text).start
        except MisreadError:
            raise forms.ValidationError(
                f"“{text}” is not a date or time. Use a form such as 2026-01-31 or {EXAMPLE}."
            ) from None

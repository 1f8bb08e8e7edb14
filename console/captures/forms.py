"""Form of a new capture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from dlq.filters import FilterError, parse
from dlq.masking.rules import Masking

_PLAIN_TEXT = forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"})


class CaptureForm(forms.Form):
    """A table to capture, out of those that CAPTURE_TABLES allows for the tenant of the stream."""

    table = forms.ChoiceField(help_text="The setting CAPTURE_TABLES lists the tables that may be captured here.")
    columns = forms.CharField(
        required=False, max_length=2_000, help_text="Names separated by commas. Empty: all columns.", widget=_PLAIN_TEXT
    )
    filter = forms.CharField(
        required=False,
        max_length=2_000,
        empty_value="",
        help_text="Empty: every event. Examples: payload.after.status:paid, payload.op:delete.",
        widget=_PLAIN_TEXT,
    )
    backfill = forms.BooleanField(
        required=False, initial=True, help_text="Also append the existing rows, while live changes are captured."
    )

    def __init__(self, *arguments: Any, stream: str, tables: Sequence[str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.stream = stream
        self.fields["table"].choices = [(name, name) for name in tables]  # type: ignore[attr-defined]

    def clean_filter(self) -> str:
        """Refuse a filter that asks for masked values."""
        text: str = self.cleaned_data["filter"]
        try:
            Masking().check(parse(text), self.stream)
        except FilterError as error:
            raise forms.ValidationError(str(error)) from error
        return text

    def clean_columns(self) -> list[str] | None:
        """Return the names of the columns; None for all."""
        return [name.strip() for name in self.cleaned_data["columns"].split(",") if name.strip()] or None

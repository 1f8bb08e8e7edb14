"""The form of an erasure: what, where, and what becomes of messages under way."""

from __future__ import annotations

from typing import Any

from django import forms

from dlq.erasing.erasures import Wanted
from dlq.erasing.target import LONGEST_VALUE, PARTS
from dlq.erasure_models import MAX_ROWS_PER_SECOND, USUAL_ROWS_PER_SECOND

LIVE = [
    ("hold", "left until processed, and reported"),
    ("redact", "erased now: consumers get the marker"),
    ("delete", "removed from their queues for good"),
]


class ErasureForm(forms.Form):
    """Looked at first: what is erased is what the preview was of."""

    part = forms.ChoiceField(choices=[(part, part) for part in PARTS])
    path = forms.CharField(
        max_length=200, help_text='As in customer.id, **.email, lines[].sku; quotes hold dots: "a.b".c'
    )
    value = forms.CharField(
        max_length=LONGEST_VALUE + 2,
        strip=False,
        help_text='4711 is the number or the string, "4711" the string alone. It is kept until the job is over.',
    )
    live = forms.ChoiceField(label="Messages that wait", choices=LIVE)
    queues = forms.CharField(max_length=2_000, required=False, help_text="Names with commas between; empty: all.")
    tenant = forms.CharField(max_length=100, required=False, help_text="Or the queues of a tenant.")
    since = forms.DateTimeField(required=False, help_text="Sent from then on, in UTC, as 2026-01-31 10:30.")
    until = forms.DateTimeField(required=False, help_text="Sent before.")
    rows_per_second = forms.IntegerField(
        label="Pace", min_value=1, max_value=MAX_ROWS_PER_SECOND, initial=USUAL_ROWS_PER_SECOND
    )
    reason = forms.CharField(max_length=500, help_text="Whose request it is. Kept in the audit: not the value.")
    confirmation = forms.CharField(label="Type erase", max_length=20, required=False)
    previewed = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rows_per_second"].unit = "rows per second"  # type: ignore[attr-defined]
        for name in ("path", "value", "confirmation"):
            self.fields[name].widget.attrs |= {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}

    def wanted(self) -> Wanted:
        """Of a form that is valid."""
        given = self.cleaned_data
        names = [name.strip() for name in given["queues"].split(",") if name.strip()]
        same = {
            name: given[name]
            for name in ("path", "value", "part", "live", "tenant", "since", "until", "rows_per_second")
        }
        return Wanted(queues=names, **same)

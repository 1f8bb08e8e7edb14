"""The form of a new API key."""

from __future__ import annotations

from datetime import timedelta

from django import forms

from console.api_keys import ALL, SCOPES
from dlq.filters.readings import MisreadError, duration

CHOICES = [*SCOPES.items(), (ALL, "all of these, and what is added later")]


class ApiKeyForm(forms.Form):
    """A name, what its holder may do with which queues, and how long, fast and often."""

    name = forms.CharField(max_length=100, strip=True, help_text="Who holds it. The audit says key: and this name.")
    tenant = forms.CharField(max_length=100, required=False, strip=True, help_text="Empty: queues of every tenant.")
    prefix = forms.CharField(
        label="Queues that begin with", max_length=100, required=False, strip=True, help_text="Empty: any queue."
    )
    expires = forms.CharField(
        label="Works for",
        max_length=40,
        required=False,
        strip=True,
        initial="90d",
        help_text="Such as 12h, 90d or 52w. Empty: until it is revoked.",
    )
    rate = forms.FloatField(label="Requests per second", required=False, help_text="Empty: no limit.")
    connections = forms.IntegerField(
        label="Requests at once", required=False, help_text="Long polls included. Empty: no limit."
    )
    reason = forms.CharField(max_length=500, required=False, strip=True, help_text="Kept in the audit.")
    scopes = forms.MultipleChoiceField(
        choices=CHOICES, error_messages={"required": "Choose what the key may do."}, label="Scopes"
    )

    def clean_expires(self) -> timedelta | None:
        text = self.cleaned_data["expires"]
        if not text:
            return None
        try:
            return duration(text)
        except MisreadError as error:
            raise forms.ValidationError(f"This must be {error}.") from error

    @property
    def scope_choices(self) -> list[tuple[str, str, bool]]:
        """(name, what it allows, chosen) of each scope."""
        chosen = self["scopes"].value() or []
        return [(name, words, name in chosen) for name, words in CHOICES]

"""The form that begins maintenance."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import forms
from django.utils import timezone

# How long people are told that it takes -> minutes.
LENGTHS = {
    "15": "15 minutes",
    "30": "30 minutes",
    "60": "1 hour",
    "120": "2 hours",
    "240": "4 hours",
    "480": "8 hours",
    "1440": "1 day",
    "0": "nobody knows",
}


class MaintenanceForm(forms.Form):
    """Why, for how long, and what is held beside the console."""

    reason = forms.CharField(max_length=500, strip=True, help_text="Everybody reads it on every page.")
    minutes = forms.ChoiceField(
        label="Announced for",
        choices=list(LENGTHS.items()),
        initial="60",
        help_text="People and senders are told so. It ends when somebody ends it, and not before.",
    )
    holds_claims = forms.BooleanField(
        label="Hand out no messages",
        required=False,
        help_text="Workers finish what they have and get nothing more, of any queue.",
    )
    refuses_sends = forms.BooleanField(
        label="Refuse sends",
        required=False,
        help_text="Senders get an error and must send again. Leave it off where they cannot.",
    )

    def until(self) -> datetime | None:
        """When it is to end, as of now."""
        minutes = int(self.cleaned_data["minutes"])
        return timezone.now() + timedelta(minutes=minutes) if minutes else None

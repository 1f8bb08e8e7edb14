"""The form of a silence."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import forms
from django.utils import timezone

# How long -> hours; what LONGEST of metrics.alerts.silences allows.
LENGTHS = {
    "1": "1 hour",
    "4": "4 hours",
    "12": "12 hours",
    "24": "1 day",
    "72": "3 days",
    "168": "1 week",
    "720": "30 days",
}


class SilenceForm(forms.Form):
    """Which alerts, of which queues, for how long, and why."""

    alert = forms.CharField(
        max_length=200, required=False, help_text="A whole name; * is any text. Empty: every alert of the queue."
    )
    queue = forms.CharField(
        max_length=100, required=False, help_text="A whole name; * is any text. Empty: every queue."
    )
    hours = forms.ChoiceField(label="For", choices=list(LENGTHS.items()), initial="4")
    comment = forms.CharField(max_length=500, strip=True, help_text="Kept in the audit, and shown beside the alert.")

    def ends_at(self) -> datetime:
        """When it ends, as of now; a second early, so that the longest is allowed."""
        return timezone.now() + timedelta(hours=int(self.cleaned_data["hours"])) - timedelta(seconds=1)

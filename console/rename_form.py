"""The form of a rename: the new name, and how long the old one works on."""

from __future__ import annotations

from django import forms

from console.forms import REASON_CHARACTERS, PlainFloatField
from queues.renaming import GRACE_SECONDS

DAY_SECONDS = 86_400
LONGEST_DAYS = 365


class RenameForm(forms.Form):
    """Shown twice: to look at what would change, and to do it."""

    new_name = forms.RegexField(
        r"^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$",
        label="New name",
        max_length=90,
        help_text="1 to 90 letters, digits, dots, dashes and underscores.",
        error_messages={"invalid": "Letters, digits, dots, dashes and underscores; a letter or digit first."},
    )
    grace_days = PlainFloatField(
        label="The old name works for",
        min_value=0,
        max_value=LONGEST_DAYS,
        initial=GRACE_SECONDS / DAY_SECONDS,
        help_text="Sending and receiving by the old name go on for so long. Afterwards an error says the new one.",
    )
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False, help_text="Kept in the audit.")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["grace_days"].unit = "days"  # type: ignore[attr-defined]

    @property
    def grace_seconds(self) -> float:
        days: float = self.cleaned_data["grace_days"]
        return days * DAY_SECONDS

"""The forms of a queue: its settings, a group's limit, renaming and retiring."""

from __future__ import annotations

from typing import Any

from django import forms

from console.web.forms import REASON_CHARACTERS, PlainFloatField, measured, setting_field
from queues.control.renaming import GRACE_SECONDS
from queues.models import Queue
from queues.settings import HEADINGS, SETTINGS

DAY_SECONDS = 86_400
MAX_GRACE_DAYS = 365
# Set by verbs of their own.
NOT_IN_FORM = {"paused"}


def _queue_name(more_help: str = "", label: str | None = None) -> forms.RegexField:
    return forms.RegexField(
        r"^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$",
        label=label,
        max_length=90,
        help_text="1 to 90 letters, digits, dots, dashes and underscores." + more_help,
        error_messages={"invalid": "Letters, digits, dots, dashes and underscores; a letter or digit first."},
    )


class SettingsForm(forms.Form):
    """The settings of a queue; `changes()` gives what the verbs should set."""

    def __init__(self, data: Any = None, *, queue: Queue | None = None) -> None:
        initial = {name: getattr(queue, name) if queue else setting.default for name, setting in SETTINGS.items()}
        super().__init__(data, initial=initial)
        for name, setting in SETTINGS.items():
            if name not in NOT_IN_FORM:
                self.fields[name] = setting_field(setting)

    def changes(self) -> dict[str, Any]:
        """The settings that differ from what was shown; an empty text is null."""
        values = {name: self.cleaned_data[name] for name in self.changed_data if name in SETTINGS}
        return {name: None if value == "" else value for name, value in values.items()}

    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """List the settings under headings, but those that have verbs of their own."""
        return [
            (heading, [self[name] for name in group if name not in NOT_IN_FORM]) for heading, group in HEADINGS.items()
        ]


class NewQueueForm(SettingsForm):
    """A queue to be: its name, its tenant and its settings."""

    name = _queue_name(" Rename the queue later from its page.")
    tenant = forms.CharField(
        max_length=100, initial="default", help_text="The owner of the queue. A new name creates a tenant."
    )


class ConfigureForm(SettingsForm):
    """A queue's settings, and why they change."""

    reason = forms.CharField(
        max_length=REASON_CHARACTERS, required=False, help_text="Recorded in the audit with the changes."
    )


class LaneLimitForm(forms.Form):
    """A limit of its own for one group; empty takes it back."""

    group_id = forms.CharField(max_length=200, strip=False, label="Group")
    max_in_flight = forms.IntegerField(required=False, min_value=1, max_value=1000, label="Limit")
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False)


class RetireForm(forms.Form):
    """A queue about to be deleted, whose name is typed."""

    typed_name = forms.CharField(label="Name of the queue", max_length=100)
    reason = forms.CharField(max_length=REASON_CHARACTERS, help_text="Kept in the audit.")

    def __init__(self, data: Any = None, *, name: str) -> None:
        super().__init__(data)
        self._name = name

    def clean_typed_name(self) -> str:
        typed: str = self.cleaned_data["typed_name"]
        if typed != self._name:
            raise forms.ValidationError("This is not the name of the queue.")
        return typed


class RenameForm(forms.Form):
    """Shown twice: to look at what would change, and to do it."""

    new_name = _queue_name(label="New name")
    grace_days = measured(
        PlainFloatField(
            label="The old name works for",
            min_value=0,
            max_value=MAX_GRACE_DAYS,
            initial=GRACE_SECONDS / DAY_SECONDS,
            help_text="Sends and receives by the old name work for this time. Afterwards an error names the new name.",
        ),
        "days",
    )
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False, help_text="Kept in the audit.")

"""The forms of a queue: its settings, a group's limit, renaming and retiring."""

from __future__ import annotations

from typing import Any, NamedTuple

from django import forms

from console.web.forms.fields import (
    PlainFloatField,
    measured,
    number_field,
    reason_field,
    required_reason,
    seconds_field,
    setting_field,
)
from console.web.forms.reviews import ReviewedForm
from queues.control.renaming import GRACE_SECONDS
from queues.models import Queue
from queues.settings import HEADINGS, ORDERED, SETTINGS, broken

DAY_SECONDS = 86_400
MAX_GRACE_DAYS = 365
# These settings have their own verbs.
NOT_IN_FORM = {"paused"}


def _queue_name(more_help: str = "", label: str | None = None) -> forms.RegexField:
    return forms.RegexField(
        r"^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$",
        label=label,
        max_length=90,
        help_text="1 to 90 letters, digits, dots, dashes and underscores." + more_help,
        error_messages={
            "invalid": "Use letters, digits, dots, dashes and underscores. The first must be a letter or a digit."
        },
    )


class FieldGroup(NamedTuple):
    """The fields under one heading of a form."""

    heading: str
    fields: list[forms.BoundField]
    is_folded: bool


class SettingsForm(ReviewedForm):
    """A form for the settings of a queue."""

    settings = SETTINGS

    def __init__(self, data: Any = None, *, queue: Queue | None = None) -> None:
        self.queue = queue
        self.before = {name: getattr(queue, name) if queue else setting.default for name, setting in SETTINGS.items()}
        super().__init__(data, initial=self.before)
        for name, setting in SETTINGS.items():
            if name not in NOT_IN_FORM:
                self.fields[name] = setting_field(setting)
                self.fields[name].is_changed = self.before[name] != setting.default  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Check settings against each other: each broken rule is an error at a changed setting."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        self.in_broken_rules: set[str] = set()
        changed, values = self.changes(), {**self.before, **self.changes()}
        for rule in broken(ORDERED, values):
            if rule.smaller in changed or rule.larger in changed:
                self.in_broken_rules |= {rule.smaller, rule.larger}
                self.add_error(rule.smaller if rule.smaller in changed else rule.larger, rule.sentence(values))
        if changed.get("dead_letter_queue") and changed["dead_letter_queue"] == self.queue_name():
            self.add_error("dead_letter_queue", "A queue cannot be its own dead-letter queue. Name another queue.")
        return given

    def queue_name(self) -> str:
        """Return the name of the queue that has these settings."""
        return self.queue.name if self.queue else str(self.cleaned_data.get("name", ""))

    def groups(self) -> list[FieldGroup]:
        """List the settings under their headings, without those that have their own verbs.

        In a refused form, groups without an error or a change are closed.
        """
        groups = {heading: [name for name in names if name not in NOT_IN_FORM] for heading, names in HEADINGS.items()}
        touched = {*self.errors, *self.changed_data} if self.is_bound and self.errors else set(self.fields)
        return [
            FieldGroup(heading, [self[name] for name in names], touched.isdisjoint(names))
            for heading, names in groups.items()
        ]


class NewQueueForm(SettingsForm):
    """A form for a new queue: its name, its tenant and its settings."""

    name = _queue_name(" Rename the queue later from its page.")
    tenant = forms.CharField(
        max_length=100, initial="default", help_text="The owner of the queue. A new name creates a tenant."
    )


class ConfigureForm(SettingsForm):
    """A form that changes the settings of a queue, with a reason."""

    reason = reason_field("Recorded in the audit with the changes. Required to close the queue.")

    def clean(self) -> dict[str, Any]:
        """Ask for a reason to close the queue."""
        given = super().clean()
        if self.changes().get("closed") and not given.get("reason"):
            self.add_error("reason", "Give a reason: a closed queue refuses all sends.")
        return given


class LaneLimitForm(forms.Form):
    """A form for the limits of one message group. Without any, the limits of the queue apply again."""

    group_id = forms.CharField(max_length=200, strip=False, label="Group")
    max_in_flight = number_field(
        "Limit", "Maximum number of messages ready or in flight. Empty: the limit of the queue.", 1, 1000, "messages"
    )
    max_waiting = number_field(
        "Waiting limit",
        "Sends that would make more messages wait are refused. Empty: the limit of the queue.",
        1,
        1_000_000_000,
        "messages",
    )
    release_interval = seconds_field(
        "Interval", "Minimum time between two messages that become ready. Empty: that of the queue.", 86_400
    )
    reason = reason_field()


class CloseForm(forms.Form):
    """A form that closes a queue, with a reason."""

    reason = required_reason(widget=forms.TextInput({"id": "close-reason"}))


class RetireForm(forms.Form):
    """A form that deletes a queue after its name is typed."""

    typed_name = forms.CharField(label="Name of the queue", max_length=100)
    reason = required_reason()

    def __init__(self, data: Any = None, *, name: str) -> None:
        super().__init__(data)
        self._name = name

    def clean_typed_name(self) -> str:
        typed: str = self.cleaned_data["typed_name"]
        if typed != self._name:
            raise forms.ValidationError(f"This is not the name of the queue. Type {self._name}.")
        return typed


class RenameForm(forms.Form):
    """A form that previews a rename, and then renames the queue."""

    new_name = _queue_name(label="New name")
    grace_days = measured(
        PlainFloatField(
            label="Keep the old name as an alias for",
            min_value=0,
            max_value=MAX_GRACE_DAYS,
            initial=GRACE_SECONDS / DAY_SECONDS,
            help_text="Sends and receives by the old name work for this time. After it, the error names the new one.",
        ),
        "days",
    )
    reason = reason_field()

"""Forms of the triage of a failure group: notes, state, snooze, comments, merging and splitting."""

from __future__ import annotations

from typing import Any

from django import forms

from console.web.forms.fields import number_field, reason_field
from dlq.failure_groups.models import GroupNote
from dlq.failure_groups.notes import (
    COMMENT_CHARACTERS,
    MAX_SNOOZED_FAILURES,
    NOTE_CHARACTERS,
    OWNER_CHARACTERS,
    URL_CHARACTERS,
)


class CareForm(forms.Form):
    """Owner, note and runbook of a failure group, each with a hidden copy of the value that the page showed."""

    owner = forms.CharField(
        max_length=OWNER_CHARACTERS,
        required=False,
        show_hidden_initial=True,
        help_text="A person or a team.",
        widget=forms.TextInput(attrs={"list": "people", "autocomplete": "off"}),
    )
    runbook_url = forms.CharField(
        label="Runbook",
        max_length=URL_CHARACTERS,
        required=False,
        show_hidden_initial=True,
        help_text="Begins with https:// or http://.",
    )
    note = forms.CharField(
        max_length=NOTE_CHARACTERS,
        required=False,
        show_hidden_initial=True,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    assign_to_me = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """Add the values that the page showed; a program need not send them."""
        shown = {name: self.data.get(self.add_initial_prefix(name)) for name in ("owner", "runbook_url", "note")}
        return {**(super().clean() or {}), "shown": shown}


class StateForm(forms.Form):
    """State of a failure group, with a reason."""

    state = forms.ChoiceField(choices=[(state, state.capitalize()) for state in GroupNote.State.values])
    reason = reason_field()


class SnoozeForm(forms.Form):
    """The end of a snooze: a time, a number of further failures, or the first of both."""

    until = forms.DateTimeField(
        label="Until (UTC)",
        required=False,
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        error_messages={"invalid": "Enter a date and a time in UTC, such as 2026-01-31 10:30."},
    )
    failures = number_field("Or until it has", "", 1, MAX_SNOOZED_FAILURES, "more failures")
    reason = reason_field()

    def clean(self) -> dict[str, object]:
        """Refuse a snooze without an end, unless a mistake is reported already."""
        values = self.cleaned_data
        if not self.errors and not values["until"] and not values["failures"]:
            raise forms.ValidationError("Enter a time, a number of failures, or both.")
        return values


class EndSnoozeForm(forms.Form):
    """The reason to end a snooze early."""

    reason = reason_field()


class CommentForm(forms.Form):
    """One comment on a failure group."""

    text = forms.CharField(
        label="Comment", max_length=COMMENT_CHARACTERS, widget=forms.Textarea(attrs={"rows": 3, "id": "comment-text"})
    )


class DeleteCommentForm(forms.Form):
    """The number of the comment that its author deletes."""

    comment_id = forms.IntegerField(min_value=1, max_value=2**63 - 1)


class MergeForm(forms.Form):
    """The failure group into which another is merged."""

    into = forms.CharField(
        label="Fingerprint of the other failure group",
        max_length=200,
        help_text="As its page shows it, such as v2:0123456789abcdef.",
    )
    reason = reason_field()


class SplitForm(forms.Form):
    """The fingerprint that is split out of a merged group."""

    fingerprint = forms.CharField(max_length=400)
    reason = reason_field()

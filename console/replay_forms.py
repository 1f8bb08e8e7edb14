"""The form of a replay: what to choose from the archive, where it goes, how fast and how carefully."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms

from console.filterbar import LONGEST
from console.forms import REASON_CHARACTERS, RateForm
from dlq.filters.readings import MisreadError, moment
from dlq.plan_options import Options
from pipeline.replay.wanted import Wanted

KINDS = {"settled": ["settled"], "dead_letters": ["dead_letters"], "both": ["settled", "dead_letters"]}


class MomentField(forms.CharField):
    """A date or a time as filters write it, in UTC; None when it is empty."""

    def clean(self, value: Any) -> datetime | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return moment(text).start
        except MisreadError as error:
            raise forms.ValidationError(f"It must be {error}.") from None


class ReplayForm(RateForm):
    """A replay about to be staged."""

    filter_text = forms.CharField(label="Filter", required=False, max_length=LONGEST)
    kinds = forms.ChoiceField(
        label="Of",
        choices=[("settled", "settled messages"), ("dead_letters", "what died"), ("both", "both")],
        help_text="What a message died of can be asked of what died only.",
    )
    since = MomentField(required=False, max_length=40, help_text="Of what ended from then on, in UTC: 2026-01-31.")
    until = MomentField(required=False, max_length=40, help_text="And before then, in UTC: 2026-02-01T10:30.")
    target_queue = forms.CharField(
        label="Destination", max_length=100, help_text="They are sent there as new messages."
    )
    canary_messages = forms.IntegerField(
        label="Canary",
        required=False,
        min_value=1,
        max_value=10_000,
        help_text="So many go first; the rest waits for what becomes of them. Empty: all at once.",
    )
    reason = forms.CharField(max_length=REASON_CHARACTERS, help_text="Kept in the audit.")

    FIELDS = ("kinds", "since", "until", "target_queue", "rate_per_second", "canary_messages", "reason")
    INITIAL = {"kinds": "settled", "rate_per_second": 50}

    def chosen(self) -> list[forms.BoundField]:
        return [self[name] for name in self.FIELDS]

    def wanted(self) -> Wanted:
        data = self.cleaned_data
        options = Options(
            target_queue=data["target_queue"],
            rate_per_second=data["rate_per_second"],
            canary_messages=data["canary_messages"] or 0,
        )
        kinds = KINDS[data["kinds"]]
        return Wanted(data["filter_text"], options, kinds, data["since"], data["until"], data["reason"])

"""Forms of subscriptions of queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from console.web.forms.fields import seconds_field
from queues.settings import MAX_SECONDS


class SubscriptionForm(forms.Form):
    """A new subscription of a queue, or other settings of an existing one."""

    target = forms.ChoiceField(label="Target", help_text="The queue to which each message is also sent.")
    filter = forms.CharField(
        required=False,
        max_length=2_000,
        empty_value="",
        help_text="Empty: every message. Fields: payload, attr, group, priority, trace, as in payload.kind:refund.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}),
    )
    delay_seconds = seconds_field("Delay", "Empty: the delay of the target.", MAX_SECONDS)

    def __init__(self, *arguments: Any, targets: Sequence[str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["target"].choices = [(name, name) for name in targets]  # type: ignore[attr-defined]

"""The forms of a plan: what to select, where to, how fast and how carefully; and of running it."""

from __future__ import annotations

from django import forms

from console.filters.filter_bar import MAX_FILTER_CHARACTERS
from console.web.forms import REASON_CHARACTERS, JsonTextField, measured
from dlq.redrives.plan_options import MAX_RATE_PER_SECOND, MAX_REDRIVES, Options
from queues.errors import SignalboxError


def number_field(label: str, help_text: str, least: int, most: int, unit: str = "") -> forms.IntegerField:
    """Make a field for a whole number that may be left out."""
    field = forms.IntegerField(label=label, help_text=help_text, min_value=least, max_value=most, required=False)
    return measured(field, unit)


class RateForm(forms.Form):
    """The rate limit of a redrive."""

    rate_per_second = number_field(
        "Rate",
        "Empty: as fast as it goes. It can be changed while it runs.",
        1,
        MAX_RATE_PER_SECOND,
        "messages per second",
    )

    def refuse(self, error: SignalboxError) -> None:
        """Show a refusal at the field that it names; most name none, and are about the destination."""
        field = getattr(error, "field", None) or "target_queue"
        self.add_error(field if field in self.fields else None, str(error))


class PlanForm(RateForm):
    """A plan about to be made."""

    filter_text = forms.CharField(label="Filter", required=False, max_length=MAX_FILTER_CHARACTERS)
    target_queue = forms.CharField(
        label="Destination",
        required=False,
        empty_value=None,
        max_length=100,
        help_text="Empty: each to the queue it died in.",
    )
    max_redrives = number_field(
        "Leave out", "Messages that were redriven more often. Empty: none are left out.", 0, 1_000, "redrives"
    )
    canary_messages = number_field(
        "Canary",
        "Number of messages to send first. The others wait for their outcomes. Empty: all at once.",
        1,
        10_000,
        "messages",
    )
    canary_per_group = forms.BooleanField(label="One of each cause goes first", required=False)
    stop_failed_percent = number_field("Stop above", "The share of a step that fails again.", 0, 100, "percent")
    stop_failed_in_row = number_field("Stop after", "Failures in a row. Empty: no such limit.", 1, 10_000, "failures")
    slow_depth = number_field("Slow down above", "Messages waiting in a destination.", 1, 1_000_000_000, "messages")
    slow_age_seconds = number_field("Slow down when the oldest waits", "In a destination.", 1, 31_536_000, "seconds")
    slow_failed_percent = number_field("Slow down when more fail again", "Of what was sent lately.", 1, 100, "percent")
    patch_kind = forms.ChoiceField(
        label="Patch",
        required=False,
        choices=[("", "none"), ("merge", "JSON Merge Patch"), ("json", "JSON Patch")],
        help_text="Changes each payload on the way; what it was before is kept.",
    )
    patch = JsonTextField(
        required=False,
        max_length=65_536,
        label="Patch document",
        help_text='{"region": "eu"} or [{"op": "replace", "path": "/region", "value": "eu"}]',
    )
    reason = forms.CharField(max_length=REASON_CHARACTERS, help_text="Kept in the audit.")

    # How the form is laid out: what everybody chooses, and what the careful choose.
    MAIN = ("target_queue", "rate_per_second", "canary_messages", "reason")
    GROUPS = {
        "What goes first, and when it stops": ("canary_per_group", "stop_failed_percent", "stop_failed_in_row"),
        "Loop guard and adaptive rate": ("max_redrives", "slow_depth", "slow_age_seconds", "slow_failed_percent"),
        "Patch": ("patch_kind", "patch"),
    }

    INITIAL = {
        "rate_per_second": 50,
        "max_redrives": MAX_REDRIVES,
        "stop_failed_percent": Options.stop_failed_percent,
        "stop_failed_in_row": Options.stop_failed_in_row,
    }

    NO_LIMIT = {"canary_messages": 0, "stop_failed_percent": 100, "stop_failed_in_row": 0}

    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MAIN]

    def groups(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        """List (heading, fields, whether the group is shown open)."""
        groups = [(heading, [self[name] for name in names]) for heading, names in self.GROUPS.items()]
        return [(heading, fields, any(field.errors for field in fields)) for heading, fields in groups]

    def options(self) -> Options:
        """Return what was chosen; an empty number is no such limit."""
        chosen = {name: value for name, value in self.cleaned_data.items() if name not in {"filter_text", "reason"}}
        chosen |= {name: value for name, value in self.NO_LIMIT.items() if chosen[name] is None}
        return Options(**chosen)

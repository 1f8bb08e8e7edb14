"""The forms of a plan: what to select, where to, how fast and how carefully; and of running it."""

from __future__ import annotations

from typing import Any

from django import forms

from console.filterbar import LONGEST
from console.forms import REASON_CHARACTERS, JsonTextField, RateForm
from dlq.plan_options import MOST_REDRIVES, Options


def _number(label: str, help_text: str, least: int, most: int, unit: str = "", **options: Any) -> forms.IntegerField:
    field = forms.IntegerField(
        label=label, help_text=help_text, min_value=least, max_value=most, required=False, **options
    )
    field.unit = unit  # type: ignore[attr-defined]
    return field


class PlanForm(RateForm):
    """A plan about to be made."""

    filter_text = forms.CharField(label="Filter", required=False, max_length=LONGEST)
    target_queue = forms.CharField(
        label="Destination", required=False, max_length=100, help_text="Empty: each to the queue it died in."
    )
    most_redrives = _number(
        "Leave out", "Who was redriven more often comes back again. Empty: nobody is left out.", 0, 1_000, "redrives"
    )
    canary_messages = _number(
        "Canary",
        "So many go first; the rest waits for what becomes of them. Empty: all at once.",
        1,
        10_000,
        "messages",
    )
    canary_per_cluster = forms.BooleanField(label="One of each cause goes first", required=False)
    stop_failed_percent = _number("Stop above", "The share of a step that fails again.", 0, 100, "percent")
    stop_failed_in_row = _number("Stop after", "Failures in a row. Empty: no such limit.", 1, 10_000, "failures")
    slow_depth = _number("Slow down above", "Messages waiting in a destination.", 1, 1_000_000_000, "messages")
    slow_age_seconds = _number("Slow down when the oldest waits", "In a destination.", 1, 31_536_000, "seconds")
    slow_failed_percent = _number("Slow down when more fail again", "Of what was sent lately.", 1, 100, "percent")
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
        "What goes first, and when it stops": ("canary_per_cluster", "stop_failed_percent", "stop_failed_in_row"),
        "Loop guard and slowing down": ("most_redrives", "slow_depth", "slow_age_seconds", "slow_failed_percent"),
        "Patch": ("patch_kind", "patch"),
    }

    INITIAL = {
        "rate_per_second": 50,
        "most_redrives": MOST_REDRIVES,
        "stop_failed_percent": Options.stop_failed_percent,
        "stop_failed_in_row": Options.stop_failed_in_row,
    }

    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MAIN]

    def groups(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        """(heading, fields, whether to show it unfolded)."""
        groups = [(heading, [self[name] for name in names]) for heading, names in self.GROUPS.items()]
        return [(heading, fields, any(field.errors for field in fields)) for heading, fields in groups]

    def options(self) -> Options:
        """What was chosen; an empty number is no such limit."""
        data = self.cleaned_data
        return Options(
            target_queue=data["target_queue"] or None,
            rate_per_second=data["rate_per_second"],
            most_redrives=data["most_redrives"],
            canary_messages=data["canary_messages"] or 0,
            canary_per_cluster=data["canary_per_cluster"],
            stop_failed_percent=100 if data["stop_failed_percent"] is None else data["stop_failed_percent"],
            stop_failed_in_row=data["stop_failed_in_row"] or 0,
            slow_depth=data["slow_depth"],
            slow_age_seconds=data["slow_age_seconds"],
            slow_failed_percent=data["slow_failed_percent"],
            patch_kind=data["patch_kind"],
            patch=data["patch"],
        )


class RunForm(RateForm):
    """A plan about to be run: its pace may be another by now."""

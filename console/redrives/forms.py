"""Forms of redrives: the plan with its filter, destination, rate, canary and limits; and the run of a plan."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django import forms

from console.filters.filter_bar import MAX_FILTER_CHARACTERS
from console.web.forms.fields import JsonTextField, number_field, required_reason
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import CANARY_MESSAGES, MAX_RATE_PER_SECOND, MAX_REDRIVES, Options
from queues.errors import SignalboxError


class RateForm(forms.Form):
    """The rate limit of a redrive."""

    rate_per_second = number_field(
        "Rate",
        "Empty: unlimited. You can change it while the redrive runs.",
        1,
        MAX_RATE_PER_SECOND,
        "messages per second",
    )

    def refuse(self, error: SignalboxError) -> None:
        """Show a refusal at the field that it names; most name none, and are about the destination."""
        field = getattr(error, "field", None) or "target_queue"
        self.add_error(field if field in self.fields else None, str(error))


class RunForm(RateForm):
    """The run of a plan; a large one is confirmed by a typed word."""

    confirmation = forms.CharField(max_length=20, required=False)


class PlanForm(RateForm):
    """The options of a plan before it is made."""

    filter_text = forms.CharField(label="Filter", required=False, max_length=MAX_FILTER_CHARACTERS)
    target_queue = forms.CharField(
        label="Destination",
        required=False,
        empty_value=None,
        max_length=100,
        help_text="Empty: each message goes to its source queue.",
    )
    reason = required_reason()
    all_cells = forms.BooleanField(
        label="In all cells of the fleet", required=False, help_text="One redrive with a part in each cell."
    )
    canary_messages = number_field(
        "Canary", "Send this many first and wait for their outcomes. Empty: no canary.", 1, 10_000, "messages"
    )
    canary_per_group = forms.BooleanField(label="Include one message per failure group", required=False)
    stop_failed_percent = number_field("Stop if failure rate exceeds", "", 0, 100, "%")
    stop_failed_in_row = number_field("Stop after", "", 1, 10_000, "consecutive failures")
    max_redrives = number_field("Skip messages redriven more than", "", 0, 1_000, "times")
    slow_depth = number_field("Slow down if a destination has more than", "", 1, 1_000_000_000, "waiting messages")
    slow_age_seconds = number_field("Slow down if its oldest message waits longer than", "", 1, 31_536_000, "seconds")
    slow_failed_percent = number_field("Slow down if recent failure rate exceeds", "", 1, 100, "%")
    patch_kind = forms.ChoiceField(
        label="Patch",
        required=False,
        choices=[("", "none"), ("merge", "JSON Merge Patch"), ("json", "JSON Patch")],
        help_text="Edits each payload before it is sent. The original is kept.",
    )
    patch = JsonTextField(
        required=False,
        max_length=65_536,
        label="Patch document",
        help_text='{"region": "eu"} or [{"op": "replace", "path": "/region", "value": "eu"}]',
    )

    NO_OPTIONS = ("filter_text", "reason", "all_cells")
    MAIN = ("target_queue", "rate_per_second", "reason")
    CANARY = ("canary_messages", "canary_per_group")
    STOPS = ("stop_failed_percent", "stop_failed_in_row")
    LIMITS = ("max_redrives", "slow_depth", "slow_age_seconds", "slow_failed_percent")
    PATCH = ("patch_kind", "patch")

    INITIAL = {
        "rate_per_second": 50,
        "max_redrives": MAX_REDRIVES,
        "canary_messages": CANARY_MESSAGES,
        "canary_per_group": True,
        "stop_failed_percent": Options.stop_failed_percent,
        "stop_failed_in_row": Options.stop_failed_in_row,
    }

    NO_LIMIT = {"canary_messages": 0, "stop_failed_percent": 100, "stop_failed_in_row": 0}

    def stops(self) -> list[forms.BoundField]:
        """Return the fields of the stop rules."""
        return [self[name] for name in self.STOPS]

    def limits(self) -> list[forms.BoundField]:
        """Return the fields of the retry limit and of the adaptive rate."""
        return [self[name] for name in self.LIMITS]

    def patching(self) -> list[forms.BoundField]:
        """Return the fields of the patch."""
        return [self[name] for name in self.PATCH]

    def limits_open(self) -> bool:
        """Tell whether the section of the limits is open: a field in it has a mistake or a value."""
        return any(field.errors for field in self.limits()) or any(self[name].value() for name in self.LIMITS[1:])

    def patch_open(self) -> bool:
        """Tell whether the section of the patch is open."""
        return any(field.errors or field.value() for field in self.patching())

    def options(self) -> Options:
        """Return the chosen options; an empty number means that there is no such limit."""
        chosen = {name: value for name, value in self.cleaned_data.items() if name not in self.NO_OPTIONS}
        chosen |= {name: value for name, value in self.NO_LIMIT.items() if chosen[name] is None}
        return Options(**chosen | {"canary_per_group": chosen["canary_per_group"] and chosen["canary_messages"] > 0})


def initial_of(plan: Plan, *, with_patch: bool) -> dict[str, Any]:
    """Return the initial values with which the form repeats a plan."""
    values = asdict(plan.choices) | {"filter_text": plan.filter_text, "reason": plan.reason}
    # A plan without a limit has a number here; the form has an empty field.
    empty = {name: None for name, no_limit in PlanForm.NO_LIMIT.items() if values[name] == no_limit}
    shown = with_patch and plan.choices.patch_kind
    patch = {"patch": json.dumps(plan.choices.patch, indent=2)} if shown else {"patch": "", "patch_kind": ""}
    return values | empty | patch

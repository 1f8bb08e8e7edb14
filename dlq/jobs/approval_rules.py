"""Rules of approvals: the sizes above which a job awaits approval, and how long a job waits.

An environment variable that is set locks its rule. Otherwise the value that an administrator saved in the console
applies, and without one the default of the variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import models, transaction
from django.db.models.functions import Now

from queues import audit
from queues.errors import InvalidArgument
from queues.settings import Setting

MAX_MESSAGES = 1_000_000_000
VARIABLES = {
    "redrive_above": "APPROVAL_REDRIVE_MESSAGES",
    "purge_or_deletion_above": "APPROVAL_DELETE_MESSAGES",
    "undo_above": "APPROVAL_UNDO_MESSAGES",
    "operator_limit": "APPROVAL_OPERATOR_MESSAGES",
    "expiry": "APPROVAL_HOURS",
}
"""The environment variable of each rule."""


def _messages(name: str, text: str) -> Setting:
    return Setting(name, "integer", 0, text, unit="messages", minimum=0, maximum=MAX_MESSAGES)


RULES = {
    rule.name: rule
    for rule in (
        _messages(
            "redrive_above",
            "A larger redrive, or a seek by which a group reads more messages again, waits for an approval."
            " 0: none waits.",
        ),
        _messages(
            "purge_or_deletion_above",
            "A larger purge or deletion waits for an approval, and so does what takes more messages from a stream or"
            " its groups. 0: none waits.",
        ),
        _messages("undo_above", "A larger undo waits for an approval. 0: none waits."),
        _messages(
            "operator_limit",
            "An operator's purge, deletion or undo of more messages waits for an approval; an admin's does not."
            " 0: no limit.",
        ),
        Setting(
            "expiry",
            "integer",
            24,
            "A job without a decision expires after this time.",
            unit="hours",
            minimum=1,
            maximum=720,
        ),
    )
}


class ApprovalRule(models.Model):
    """The value that an administrator saved for one rule."""

    name = models.CharField(max_length=40, primary_key=True)
    value = models.BigIntegerField()
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.CharField(max_length=150)

    class Meta:
        db_table = "approval_rule"

    def __str__(self) -> str:
        return f"{self.name} {self.value}"


@dataclass(frozen=True)
class RuleInForce:
    """A rule with the value that applies now, and where the value comes from."""

    setting: Setting
    value: int
    variable: str
    is_locked: bool
    changed_by: str = ""
    changed_at: datetime | None = None


def in_force() -> dict[str, RuleInForce]:
    """Return every rule as it applies now, by name. One query."""
    saved = {row.name: row for row in ApprovalRule.objects.all()}
    return {name: _in_force(setting, saved.get(name)) for name, setting in RULES.items()}


def values() -> dict[str, int]:
    """Return the value of every rule, by name. One query."""
    return {name: rule.value for name, rule in in_force().items()}


def _in_force(setting: Setting, row: ApprovalRule | None) -> RuleInForce:
    variable = VARIABLES[setting.name]
    is_locked = variable in settings.APPROVAL_RULES_LOCKED
    if row is None or is_locked:
        return RuleInForce(setting, int(getattr(settings, variable)), variable, is_locked)
    return RuleInForce(setting, row.value, variable, is_locked, row.changed_by, row.changed_at)


def save(changes: Mapping[str, int], seen: Mapping[str, int], *, actor: str, reason: str) -> None:
    """Save rules, with one audit row. `seen` has the values that the actor's page showed.

    Raises `InvalidArgument`, which names the rule, if a rule is locked or another person changed it in between.
    """
    if not changes:
        return
    with transaction.atomic():
        list(ApprovalRule.objects.select_for_update().order_by("name"))  # two saves run one after the other
        before = in_force()
        for name, value in changes.items():
            _check(before[name], value, seen[name])
            written = {"value": value, "changed_by": actor, "changed_at": Now()}
            ApprovalRule.objects.update_or_create(name=name, defaults=written)
        changed = {name: {"before": before[name].value, "after": value} for name, value in changes.items()}
        audit.record(actor, "approval_rules.change", reason=reason, details={"changes": changed})


def _check(rule: RuleInForce, value: int, seen: int) -> None:
    name, low, high = rule.setting.name, rule.setting.minimum or 0, rule.setting.maximum or MAX_MESSAGES
    if rule.is_locked:
        raise InvalidArgument(f"The environment variable {rule.variable} sets this value. Change it there.", name)
    if not low <= value <= high:
        raise InvalidArgument(f"{rule.setting.label} is {value}; allowed: {low:.0f} to {high:.0f}.", name)
    if rule.value != seen:
        who = rule.changed_by or "Another process"
        change = f"{who} changed this value from {seen} to {rule.value} while you edited the form."
        raise InvalidArgument(f"{change} Enter your value again.", name)

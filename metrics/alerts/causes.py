"""Causes: alerts of one queue that have the same reason, so that a page shows one row for them."""

from __future__ import annotations

from metrics.alerts.alert_list import Episode

DEAD_LETTERS = "dead letters"
BACKLOG = "backlog"

# Names of alerts without "Signalbox".
_FAMILIES = {
    DEAD_LETTERS: ("DeadLetters", "DeadLetterInflow", "DeadLettersNotEmpty"),
    BACKLOG: (
        *("OldestAgeHigh", "NoConsumers", "WillNotDrain", "NearExpiry", "QueuePaused"),
        *("WaitBudgetBurning", "WaitBudgetBurningFast", "WaitBudgetBurningSlowly", "WaitBudgetSpent"),
    ),
    "leases": ("LeaseHeldTooLong", "LeasesNotReclaimed", "RedeliveryStorm"),
}
FAMILY_OF = {f"Signalbox{name}": family for family, names in _FAMILIES.items() for name in names}
"""The family of each alert that shares its reason with others of the same queue."""


def cause_of(episode: Episode) -> tuple[object, ...]:
    """Identify the cause of an alert: its queue and family. Any other alert is a cause of its own."""
    family = FAMILY_OF.get(episode.name)
    if not family or not episode.queue_name:
        return (episode.name, episode.first.pk)
    return (family, episode.tenant_name, episode.queue_name)

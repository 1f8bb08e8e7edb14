"""Totals over many queues: of each tenant, and of the whole installation. Every queue counts, also beyond the cap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from queues.counters import QueueNumbers
from queues.durations import Durations


@dataclass
class Totals:
    """Sums over queues; a dead letter counts where it is held, as in the series of queues."""

    queues: int = 0
    messages: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("ready", "scheduled", "waiting", "leased", "dead"), 0)
    )
    oldest_visible_age_seconds: float = 0.0
    consumers: int = 0
    added: int = 0
    removed: int = 0
    dead_lettered: int = 0
    met: int = 0
    missed: int = 0

    def add(self, numbers: QueueNumbers, durations: Durations) -> None:
        self.queues += 1
        for state in ("ready", "scheduled", "waiting", "leased"):
            self.messages[state] += getattr(numbers, state)
        self.messages["dead"] += numbers.dead if numbers.is_dead_letter_queue else 0
        self.oldest_visible_age_seconds = max(self.oldest_visible_age_seconds, numbers.oldest_ready_age_seconds or 0.0)
        self.consumers += numbers.consumers
        self.added += numbers.added_total
        self.removed += numbers.removed_total
        self.dead_lettered += numbers.totals["dead_lettered"]
        self.met += durations.met
        self.missed += durations.missed


def totals(numbered: Iterable[tuple[QueueNumbers, Durations]]) -> tuple[Totals, dict[str, Totals]]:
    """Of the installation, and of each tenant by name."""
    fleet = Totals()
    tenants: dict[str, Totals] = {}
    for numbers, durations in numbered:
        fleet.add(numbers, durations)
        tenants.setdefault(numbers.tenant, Totals()).add(numbers, durations)
    return fleet, tenants

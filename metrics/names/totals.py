"""Totals over queues: of each tenant, and of the whole installation."""

from __future__ import annotations

from typing import Any

from metrics.names.metric import Metric, by, by_slo, counter, gauge, with_labels
from metrics.reading.fleet import Totals


def _totals(prefix: str, whose: str) -> tuple[Metric[Totals], ...]:
    def total(kind: Any, name: str, text: str) -> Metric[Totals]:
        """Make a metric whose value is the field of `Totals` with the same name."""
        made: Metric[Totals] = kind(f"{prefix}_{name}", text, lambda totals: getattr(totals, name))
        return made

    oldest_visible = f"Time since the oldest ready message of {whose} became ready; 0 when no message is ready."
    return (
        total(gauge, "queues", f"Queues of {whose}, dead-letter queues included."),
        gauge(
            f"{prefix}_messages",
            f"Messages of all queues of {whose}, by state; a dead letter counts once, where it is held.",
            lambda totals: by(totals.messages),
            "state",
        ),
        total(gauge, "oldest_visible_age_seconds", oldest_visible),
        total(gauge, "consumers", f"Consumers of the queues of {whose}; one that receives from two counts twice."),
        total(counter, "messages_added", f"Messages that entered any queue of {whose}."),
        total(counter, "messages_removed", f"Messages that left any queue of {whose}."),
        total(counter, "dead_lettered", f"Messages that became dead letters in any queue of {whose}."),
        counter(
            f"{prefix}_first_receives",
            f"First deliveries in the queues of {whose}, by slo: met or missed.",
            lambda totals: by_slo(totals.met, totals.missed),
            "slo",
        ),
    )


TENANT_TOTALS: tuple[Metric[Totals], ...] = with_labels(("tenant",), _totals("tenant", "the tenant"))
FLEET_TOTALS: tuple[Metric[Totals], ...] = _totals("fleet", "the installation")

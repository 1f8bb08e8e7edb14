"""Above which values a queue's alerts fire: its settings as (check, severity, value), for rules to join."""

from __future__ import annotations

from collections.abc import Iterator

from queues.counters import QueueNumbers

OF_EVERY_QUEUE = {"oldest_age_seconds": "critical"}
OF_DEAD_LETTER_QUEUES = {"dead_letters": "warning"}
OF_OTHERS = {
    "no_consumers_seconds": "critical",
    "dead_letters_per_minute": "warning",
    "drain_seconds": "warning",
    "lease_age_seconds": "warning",
    "redelivery_ratio": "warning",
}
"""A dead-letter queue needs no consumers, and nothing dies in it."""


def thresholds(numbers: QueueNumbers) -> Iterator[tuple[str, str, float]]:
    """Every threshold of a queue, defaults included. A check is the name of a setting without `alert_`."""
    own = OF_DEAD_LETTER_QUEUES if numbers.is_dead_letter_queue else OF_OTHERS
    for check, severity in (OF_EVERY_QUEUE | own).items():
        yield check, severity, getattr(numbers.queue, f"alert_{check}")

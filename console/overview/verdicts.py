"""Verdicts on a queue's numbers: its health, and sentences that name each limit that it exceeds.

`metrics.diagnosis` explains the causes. Every sentence follows from the numbers beside it on the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from console.web import wording
from queues.counters.queue_numbers import QueueNumbers

# Rates below this are noise of the last aggregation: they neither drain a backlog nor make it grow.
MOVING_PER_SECOND = 0.05
# Why a limit of the queue or its tenant refuses sends.
REFUSALS = {
    "age": "the oldest message exceeds the maximum age",
    "backlog": "the backlog exceeds its limit of messages",
    "bytes": "the backlog exceeds its limit of bytes",
    "rate": "sends exceed the rate limit",
    "lane": "a message group is full",
}
# A backlog that drains within this needs no attention.
SOON_SECONDS = 30.0


class Health(StrEnum):
    """The health of a queue; the value is what people read. Worst first."""

    BREACHING = "breaching"
    WATCH = "watch"
    PAUSED = "paused"
    HEALTHY = "healthy"

    @property
    def tone(self) -> str:
        return {"breaching": "bad", "watch": "warn", "paused": "quiet", "healthy": "ok"}[self.value]


@dataclass(frozen=True)
class Verdict:
    """The state of a queue as a judgement. `order` sorts worst first.

    `oldest_seconds` is None when nothing is visible.
    """

    health: Health
    sentence: str
    order: tuple[int, float, int, int, str]
    age_breached: bool
    dead_breached: bool
    oldest_seconds: float | None
    has_dead_letters: bool = False

    @property
    def icon(self) -> str:
        """Name the picture beside the sentence: green only where the queue has no dead letters."""
        return "info" if self.health is Health.HEALTHY and self.has_dead_letters else self.health.value

    @property
    def spark_tone(self) -> str:
        """The colour of the queue's sparkline; empty (quiet) unless the health is breaching or watch."""
        return self.health.tone if self.health in (Health.BREACHING, Health.WATCH) else ""


def judge(numbers: QueueNumbers) -> Verdict:
    """Return the verdict on one queue, from its numbers and settings alone."""
    age = numbers.oldest_ready_age_seconds or 0.0
    age_breached = age > numbers.alert_oldest_age_seconds
    dead_breached = numbers.dead > numbers.alert_dead_letters
    health = _health(numbers, age_breached, dead_breached)
    excess = age / numbers.alert_oldest_age_seconds if age_breached else 0.0
    return Verdict(
        health=health,
        sentence=_sentence(numbers, age_breached, dead_breached),
        order=(list(Health).index(health), -excess, -numbers.dead, -numbers.ready, numbers.name),
        age_breached=age_breached,
        dead_breached=dead_breached,
        oldest_seconds=(age or None) if not numbers.ready else age,
        has_dead_letters=bool(numbers.dead),
    )


def _health(numbers: QueueNumbers, age_breached: bool, dead_breached: bool) -> Health:
    if numbers.paused and not dead_breached:
        return Health.PAUSED
    if age_breached or dead_breached:
        return Health.BREACHING
    if numbers.ready and (not numbers.consumers or _stuck(numbers)):
        return Health.WATCH
    # Messages wait for their groups, and nothing is in flight that could make room.
    held_up = numbers.waiting and not numbers.ready and not numbers.leased
    return Health.WATCH if held_up or numbers.refusing else Health.HEALTHY


def _stuck(numbers: QueueNumbers) -> bool:
    """Return whether ready messages have waited for SOON_SECONDS, and the backlog will not drain that soon."""
    surplus = numbers.out_per_second - numbers.in_per_second
    if (numbers.oldest_ready_age_seconds or 0.0) < SOON_SECONDS:
        return False
    return surplus < MOVING_PER_SECOND or numbers.ready / surplus > SOON_SECONDS


def _sentence(numbers: QueueNumbers, age_breached: bool, dead_breached: bool) -> str:
    """Say every limit that the queue exceeds, the most urgent first."""
    sentences = []
    if numbers.paused:
        sentences.append(_paused(numbers))
    elif numbers.refusing:
        causes = " and ".join(REFUSALS[reason] for reason in numbers.refusing)
        sentences.append(f"Sends were refused in the last minute: {causes}.")
    if age_breached and not numbers.paused:
        age, allowed = wording.span(numbers.oldest_ready_age_seconds), wording.span(numbers.alert_oldest_age_seconds)
        sentences.append(f"Oldest ready message: {age} (limit {allowed}).")
    if dead_breached:
        sentences.append(f"{dead_letters(numbers)}.")
    if numbers.closed and not sentences:
        sentences.append("Closed: delivers its messages and accepts no new ones.")
    return " ".join(sentences)


def dead_letters(numbers: QueueNumbers) -> str:
    """Count the dead letters beside their limit: 75 dead letters (limit 25)."""
    return f"{wording.plural(numbers.dead, 'dead letter')} (limit {wording.number(numbers.alert_dead_letters)})"


def _paused(numbers: QueueNumbers) -> str:
    queue = numbers.queue
    if not queue.paused:
        return "Held by maintenance."
    words = "Paused"
    if queue.paused_by:
        words += f" by {queue.paused_by}"
    if queue.paused_at:
        words += f", {queue.paused_at:%d %b %H:%M} UTC"
    if queue.paused_reason:
        words += f": “{queue.paused_reason}”"
    return f"{words}."

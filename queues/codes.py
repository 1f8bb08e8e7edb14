"""Names of every code that the engine stores: events, claim floors, flags, outcomes, positions of durations.

Each code is declared here and nowhere else. SQL writes its name in braces (`database/sql_names.py`), Python imports it.
To add an event, add a line to `EVENTS`: totals grow by themselves, and an array stored before has 0 for the event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag, StrEnum

from queues.settings import DURATION_BOUNDS
from signalbox.arguments import MAX_PRIORITY as MAX_PRIORITY
from signalbox.fleet.map import PARTITIONS as PARTITIONS

STATES = ("ready", "scheduled", "waiting", "leased", "dead", "held")
"""The states in which messages are counted: a dead letter is `dead` where it died, `held` in its dead-letter queue."""
STATES_IN_QUEUE = tuple(state for state in STATES if state != "dead")
MIN_PRIORITY = 0


@dataclass(frozen=True)
class Event:
    """An event that counters count, and the states from and to which it takes a message. Numbers are never reused."""

    number: int
    name: str
    from_state: str | None
    to_state: str | None

    @property
    def is_correction(self) -> bool:
        return self.name.startswith("corrected_")


EVENTS: tuple[Event, ...] = (
    Event(1, "published", None, "ready"),
    Event(2, "published_scheduled", None, "scheduled"),
    Event(3, "delivered", "ready", "leased"),
    Event(4, "redelivered", None, None),
    Event(5, "acked", "leased", None),
    Event(6, "nacked_ready", "leased", "ready"),
    Event(7, "nacked_scheduled", "leased", "scheduled"),
    Event(8, "dead_rejected", "leased", "dead"),
    Event(9, "dead_runtime_error", "leased", "dead"),
    Event(10, "dead_lock_expired", "leased", "dead"),
    Event(11, "lease_expired", "leased", "ready"),
    Event(12, "promoted", "scheduled", "ready"),
    Event(13, "redriven", "dead", None),
    Event(14, "redriven_in", None, "ready"),
    Event(15, "purged_ready", "ready", None),
    Event(16, "purged_scheduled", "scheduled", None),
    Event(17, "purged_leased", "leased", None),
    Event(18, "purged_dead", "dead", None),
    Event(19, "expired_ready", "ready", None),
    Event(20, "expired_dead", "dead", None),
    Event(21, "deduplicated", None, None),
    Event(22, "held", None, "held"),
    Event(23, "released", "held", None),
    Event(24, "dead_received", "dead", None),
    Event(25, "returned", "leased", "ready"),
    Event(26, "purged_held", "held", None),
    Event(27, "expired_held", "held", None),
    Event(28, "corrected_ready", None, "ready"),
    Event(29, "corrected_scheduled", None, "scheduled"),
    Event(30, "corrected_leased", None, "leased"),
    Event(31, "corrected_dead", None, "dead"),
    Event(32, "corrected_held", None, "held"),
    Event(33, "published_waiting", None, "waiting"),
    Event(34, "purged_waiting", "waiting", None),
    Event(35, "released_from_lane", "waiting", "ready"),
    Event(36, "expired_waiting", "waiting", None),
    Event(37, "promoted_waiting", "scheduled", "waiting"),
    Event(38, "redriven_waiting", None, "waiting"),
    Event(39, "corrected_waiting", None, "waiting"),
    Event(40, "restored_ready", None, "ready"),
    Event(41, "restored_scheduled", None, "scheduled"),
    Event(42, "restored_waiting", None, "waiting"),
    Event(43, "restored_dead", None, "dead"),
    Event(44, "restored_held", None, "held"),
    Event(47, "aged", None, None),
    Event(48, "left_lane", None, None),
    Event(49, "deferred", "leased", "scheduled"),
    Event(50, "expired_scheduled", "scheduled", None),
    Event(51, "returned_to_lane", "ready", "waiting"),
    Event(52, "taken_back", "ready", "leased"),
)

DEAD_REASONS = ("rejected", "runtime_error", "lock_expired")

TOTALS: Mapping[str, tuple[str, ...]] = {
    "published": ("published", "published_scheduled", "published_waiting"),
    "delivered": ("delivered",),
    "redelivered": ("redelivered",),
    "acked": ("acked",),
    "nacked": ("nacked_ready", "nacked_scheduled", "dead_rejected", "dead_runtime_error"),
    "lease_expired": ("lease_expired", "dead_lock_expired"),
    "dead_lettered": tuple(f"dead_{reason}" for reason in DEAD_REASONS),
    "deduplicated": ("deduplicated",),
    "redriven": ("redriven",),
    # A dead letter counts as restored in its dead-letter queue, as for purged.
    "restored": ("restored_ready", "restored_scheduled", "restored_waiting", "restored_held"),
    "aged": ("aged",),
    "released_from_lane": ("released_from_lane",),
    # A dead letter counts as purged or expired in its dead-letter queue, not in the queue where it died.
    "purged": ("purged_ready", "purged_scheduled", "purged_waiting", "purged_leased", "purged_held"),
    "expired": ("expired_ready", "expired_scheduled", "expired_waiting", "expired_held"),
    "promoted": ("promoted", "promoted_waiting"),
    "returned": ("returned",),
    "deferred": ("deferred",),
}
"""Totals as people and metrics name them, each the sum of the engine's finer events."""


class Floor(IntEnum):
    """Codes of `claim_floor.kind`, one for each table with a floor. They are negative: a priority is 0 or more."""

    LEASE = -1
    SCHEDULED = -2
    LANE_HINT = -3
    WAITING = -4


class AdmissionFlag(IntFlag):
    """Bits of `queue.admission_flags`: checks that verbs make for this queue. Most queues have none."""

    LIMITS_SENDING = 1
    LIMITS_IN_FLIGHT = 2
    HOLDS_DEDUPLICATION_IDS = 4
    HOLDS_CLAIMS = 8
    REFUSES_SENDS = 16
    FEEDS_QUEUES = 32
    LIMITS_GROUPS = 64
    IS_PLACED = 128


class Outcome(StrEnum):
    """The codes of `settled.outcome`, one for each way in which a message ends."""

    ACKED = "a"
    PURGED = "p"
    EXPIRED = "e"


class RedriveOutcome(StrEnum):
    """The codes of `redriven.outcome`, one for each way in which a redriven message ends."""

    SUCCEEDED = "a"
    FAILED_SAME = "s"
    FAILED_NEW = "n"
    GONE = "g"


BUCKETS = len(DURATION_BOUNDS) + 1
"""Number of buckets of durations: one for each bound, and one without a bound."""


class DurationPlace(IntEnum):
    """Positions in an array of durations, from 1: the first buckets of waits and of work, then the sums."""

    WAITS = 1
    WORK = BUCKETS + 1
    WAIT_MS = 2 * BUCKETS + 1
    WORK_MS = 2 * BUCKETS + 2
    WITHIN_TARGET = 2 * BUCKETS + 3


def event_count() -> int:
    """Count the elements of an array of totals."""
    return max(event.number for event in EVENTS)


def into(*states: str) -> list[int]:
    """List the events that take a message into one of these states."""
    return [event.number for event in EVENTS if event.to_state in states]


def out_of(*states: str) -> list[int]:
    """List the events that take a message out of one of these states."""
    return [event.number for event in EVENTS if event.from_state in states]


def totals() -> dict[str, list[int]]:
    """List the events that each total counts: those of TOTALS, and the events that enter and leave the queue."""
    numbers = {event.name: event.number for event in EVENTS}
    entered, left = set(into(*STATES_IN_QUEUE)), set(out_of(*STATES_IN_QUEUE))
    named = {total: [numbers[name] for name in names] for total, names in TOTALS.items()}
    return {**named, "added": sorted(entered - left), "removed": sorted(left - entered)}


def claimable() -> list[int]:
    """List the events after which a message can be received, or may soon be: receivers are woken up."""
    corrections = {event.number for event in EVENTS if event.is_correction}
    return [number for number in into("ready", "waiting", "held") if number not in corrections]

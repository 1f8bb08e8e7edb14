"""The settings of a queue, each declared once: a line of a class below is the whole of a setting.

| what | how it follows |
|---|---|
| columns | `queues.models.Queue` has a field for each, and the migration adds it |
| checks of values | `sql_scripts.install` copies the list into `signalbox.setting_definition` |
| `configure_queue` | `queues.database.sql_names` puts the list in the place of `{settings.from:ROW}` |
| rights | `queues.database.grants` names each column |
| forms, API, command line, reference | each walks over `SETTINGS` or `HEADINGS` |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["number", "integer", "boolean", "text", "choice"]

DURATION_BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0, 86_400.0)
"""The upper bounds, in seconds, of the buckets in which the engine counts waits and work times."""

MAX_SECONDS = 31_536_000.0  # one year: longer delays are calendar entries, not messages


@dataclass(frozen=True)
class Setting:
    """One setting: its type, its default and its bounds."""

    name: str
    kind: Kind
    default: float | int | bool | str | None
    help: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name without its unit, which stands beside the field."""
        return self.name.removesuffix("_seconds").removesuffix("_bytes").replace("_", " ").capitalize()


def _setting(kind: Kind, default: float | bool | str | None, help_text: str, **bounds: Any) -> Any:
    """Declare a setting, which has the name of its attribute and the type of its value on a queue."""
    return Setting("", kind, default, help_text, **bounds)


def _number(unit: str, default: float, minimum: float, maximum: float, help_text: str) -> Any:
    return _setting("number", default, help_text, unit=unit, minimum=minimum, maximum=maximum)


def _seconds(default: float, minimum: float, maximum: float, help_text: str) -> Any:
    return _number("seconds", default, minimum, maximum, help_text)


def _integer(unit: str, default: int, minimum: int, maximum: float, help_text: str) -> Any:
    return _setting("integer", default, help_text, unit=unit, minimum=minimum, maximum=maximum)


def _limit(unit: str, maximum: float, help_text: str) -> Any:
    return _integer(unit, 0, 0, maximum, f"{help_text} 0 is no limit.")


class Delivery:
    """Settings of how messages are handed out."""

    mode: str = _setting(
        "choice",
        "standard",
        "How messages are handed out: standard means in about the order they were sent, to any consumer; fifo means in "
        "exactly the order they were sent within each group, one of a group at a time. It changes only while the queue "
        "is closed and empty.",
        choices=("standard", "fifo"),
    )
    visibility_timeout_seconds: float = _seconds(
        30.0, 0.1, 43_200.0, "How long a received message stays with its consumer before it is delivered again."
    )
    delay_seconds: float = _seconds(
        0.0, 0.0, MAX_SECONDS, "How long a message is scheduled after it is sent, unless its sender sets a delay."
    )
    aging_seconds: float = _seconds(
        60.0,
        0.0,
        MAX_SECONDS,
        "A wait of this length raises a message by one priority, so that none starves; 0 is strict priority.",
    )
    paused: bool = _setting("boolean", False, "A paused queue accepts messages and hands out none.")
    closed: bool = _setting("boolean", False, "A closed queue delivers its messages and accepts no new ones.")


class Failures:
    """Settings of retries and dead letters."""

    max_receives: int = _integer(
        "deliveries", 5, 1, 1000, "Deliveries after which a message that fails again becomes a dead letter."
    )
    backoff_base_seconds: float = _seconds(
        5.0, 0.0, 86_400.0, "Pause before the first retry; it doubles with each further one."
    )
    backoff_cap_seconds: float = _seconds(3_600.0, 0.0, 604_800.0, "Longest pause between two retries.")
    jitter: float = _number(
        "0 to 1", 0.2, 0.0, 1.0, "Share of each pause that is drawn at random, so that retries do not arrive together."
    )
    dead_letter_queue: str | None = _setting(
        "text",
        None,
        "The queue that keeps dead letters, created when it does not exist. It has mode standard and no group limits. "
        "Empty: a queue of this name with -dlq appended, or -dlq-NUMBER where that name is taken.",
    )


class Groups:
    """Settings of messages with a group id."""

    group_max_in_flight: int = _integer(
        "messages",
        0,
        0,
        1000,
        "How many messages of one group may be ready or in flight at once; the others wait for it, so "
        "that no group delays another. 0 is no limit. In a FIFO queue it is always 1.",
    )
    group_release_interval_seconds: float = _seconds(
        0.0, 0.0, 86_400.0, "Shortest pause between two messages of one group becoming ready; 0 is no pause."
    )
    group_max_waiting: int = _integer(
        "messages",
        0,
        0,
        100_000,
        "How many messages of one group may wait: a send beyond it is refused. 0 is no limit. Each send counts "
        "the waiting messages up to this number, so a large number makes sends slower.",
    )
    fifo_block_on_dead_letter: bool = _setting(
        "boolean",
        False,
        "In a FIFO queue: a dead letter holds its group until it is redriven, which delivers it first, deleted "
        "or purged. Otherwise the next message of the group is delivered.",
    )


class Limits:
    """Settings that refuse sends or hold back receives."""

    max_backlog_messages: int = _limit(
        "messages",
        1_000_000_000,
        "Sends are refused beyond this number of ready, scheduled, waiting and in-flight messages together.",
    )
    max_backlog_bytes: int = _limit(
        "bytes",
        1_000_000_000_000,
        "Sends are refused while the queue holds more bytes, estimated from the mean size of sent messages.",
    )
    max_oldest_age_seconds: float = _seconds(
        0.0, 0.0, MAX_SECONDS, "Sends are refused while the oldest visible message waits longer. 0 is no limit."
    )
    max_in_flight: int = _limit(
        "messages", 10_000, "Consumers receive no message while this number of the queue's messages is in flight."
    )
    publish_rate_per_second: float = _number(
        "messages/s",
        0.0,
        0.0,
        1_000_000.0,
        "Sends above this rate are refused; the messages of one second may come at once. 0 is no limit.",
    )


class Retention:
    """Settings of how long messages and deduplication ids are kept."""

    retention_seconds: float = _seconds(
        345_600.0,
        60.0,
        MAX_SECONDS,
        "How long a message may wait to be received before it expires; every return to the queue starts it again. "
        "In a dead-letter queue: how long a dead letter is kept.",
    )
    dedup_scope: str = _setting(
        "choice",
        "window",
        "How long a deduplication id blocks later messages with the same id: window means for dedup_window_seconds; "
        "in_flight means until its message is acknowledged, dead, purged or expired. A change forgets all ids.",
        choices=("window", "in_flight"),
    )
    dedup_window_seconds: float = _seconds(
        300.0, 1.0, 86_400.0, "How long a deduplication id blocks later messages with the same id."
    )
    max_payload_bytes: int = _integer("bytes", 262_144, 1, 262_144, "Largest payload that send accepts, as JSON text.")


class Alerts:
    """Settings of when alerts fire."""

    alert_oldest_age_seconds: float = _seconds(
        300.0, 1.0, MAX_SECONDS, "The alert on age fires when the oldest visible message waits longer than this."
    )
    alert_dead_letters: int = _integer(
        "messages",
        0,
        0,
        1_000_000_000,
        "The alert on dead letters fires above this number; the dead-letter queue that is created for this queue"
        " starts with the same value.",
    )
    alert_dead_letters_per_minute: float = _number(
        "messages/min",
        10.0,
        0.0,
        1_000_000.0,
        "The alert on dead-letter inflow fires when the queue gets more dead letters a minute, for five minutes.",
    )
    alert_no_consumers_seconds: float = _seconds(
        60.0,
        0.0,
        MAX_SECONDS,
        "The alert on missing consumers fires when none is seen and a message has been ready for longer than this.",
    )
    alert_backlog_eta_seconds: float = _seconds(
        3_600.0,
        1.0,
        MAX_SECONDS,
        "The alert on backlogs fires when the backlog would need longer than this to drain.",
    )
    alert_lease_age_seconds: float = _seconds(
        3_600.0,
        1.0,
        MAX_SECONDS,
        "The alert on long leases fires when a consumer holds a message for longer than this.",
    )
    alert_redelivery_ratio: float = _number(
        "0 to 1",
        0.5,
        0.0,
        1.0,
        "The alert on redeliveries fires when more than this share of all deliveries are repeated ones.",
    )
    warn_every_seconds: float = _seconds(
        600.0,
        0.0,
        86_400.0,
        "Shortest time between two lines in the database's log about the same problem of this queue: expired leases, "
        "dead letters, messages that wait too long. 0 is no line.",
    )


class ServiceLevel:
    """Settings of the target for waits."""

    wait_target_seconds: float = _setting(
        "number",
        60.0,
        "How long a message may wait, from becoming visible to its first delivery, to count as met. It is one of the "
        "bounds by which waits are counted; a change holds for deliveries from then on.",
        unit="seconds",
        minimum=0.005,
        maximum=86_400.0,
        choices=tuple(f"{bound:g}" for bound in DURATION_BOUNDS),
    )
    wait_target_ratio: float = _number(
        "0.5 to 0.9999",
        0.99,
        0.5,
        0.9999,
        "The share of first deliveries that should be within wait_target_seconds; alerts watch the rest.",
    )


class QueueSettings(Delivery, Failures, Groups, Limits, Retention, Alerts, ServiceLevel):
    """Every setting of a queue, as a typed attribute of its model."""


def _declared(group: type) -> dict[str, Setting]:
    return {name: replace(value, name=name) for name, value in vars(group).items() if isinstance(value, Setting)}


HEADINGS: dict[str, dict[str, Setting]] = {
    re.sub(r"\B[A-Z]", lambda letter: f" {letter[0].lower()}", group.__name__): _declared(group)
    for group in QueueSettings.__bases__
}
"""The settings under the headings of forms, which are the names of the classes."""

SETTINGS: dict[str, Setting] = {name: setting for group in HEADINGS.values() for name, setting in group.items()}
"""Every setting of a queue by name, in the order in which forms and documents show them."""


def _shared(setting: Any, help_text: str) -> Any:
    """Declare a quota over all queues of a tenant, with the bounds of the setting of one queue."""
    return _setting(setting.kind, 0, help_text, unit=setting.unit, minimum=0.0, maximum=setting.maximum)


class TenantQuotas:
    """Every quota of a tenant, as a typed attribute of its model."""

    max_backlog_messages: int = _shared(
        Limits.max_backlog_messages, "Messages that all queues together may hold. 0 is no limit."
    )
    max_backlog_bytes: int = _shared(
        Limits.max_backlog_bytes, "Bytes that all queues together may hold, as estimated. 0 is no limit."
    )
    max_oldest_age_seconds: float = _shared(
        Limits.max_oldest_age_seconds,
        "Sends are refused while the oldest message of any queue waits longer. 0 is no limit.",
    )
    max_in_flight: int = _shared(
        Limits.max_in_flight, "Messages of all queues together that may be in flight. 0 is no limit."
    )
    publish_rate_per_second: float = _shared(
        Limits.publish_rate_per_second, "Messages that all queues together accept each second. 0 is no limit."
    )
    max_queues: int = _limit("queues", 100_000, "Queues, without dead-letter queues.")
    max_retention_seconds: float = _seconds(
        0.0, 0.0, MAX_SECONDS, "The longest retention of a queue, also of new queues. 0 is no limit."
    )
    max_long_polls: int = _limit(
        "connections", 10_000, "Connections on which consumers wait for messages at the same time."
    )


QUOTAS: dict[str, Setting] = _declared(TenantQuotas)
"""Every quota of a tenant by name, in the order in which forms and documents show them."""

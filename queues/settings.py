"""The settings of a queue, each declared once: a line of a class below is the whole of a setting.

| what | how it follows |
|---|---|
| columns | `queues.models.Queue` has a field for each, and the migration adds it |
| checks of values | `sql_scripts.install` copies the list into `signalbox.setting_definition` |
| `configure_queue` | `queues.database.sql_names` puts the list in the place of `{settings.from:ROW}` |
| checks of two settings | `ORDERED`, which the engine enforces, and forms report before saving |
| rights | `queues.database.grants` names each column |
| forms, API, command line, reference | each walks over `SETTINGS` or `HEADINGS` |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["number", "integer", "boolean", "text", "choice"]

DURATION_BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0, 86_400.0)
"""The upper bounds, in seconds, of the buckets in which the engine counts waits and work times."""

NEXT_SEND = "Applies to new messages."
NEXT_FAILURE = "Applies when a delivery fails next."
MAX_SECONDS = 31_536_000.0  # one year: longer delays are calendar entries, not messages


_SPELLINGS = {
    "Dead letter queue": "Dead-letter queue",
    "Dedup": "Deduplication",
    "Fifo": "FIFO",
    "Max receives": "Max delivery attempts",
    "eta": "ETA",
}
_SINGULAR = {"seconds": "second", "messages": "message", "deliveries": "delivery", "bytes": "byte", "queues": "queue"}


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
    effect: str = "Applies from the next call on."
    """The time from which a change applies, and what it does to existing messages."""

    @property
    def label(self) -> str:
        """Return the name as pages show it, without its unit."""
        label = self.name.removesuffix("_seconds").removesuffix("_bytes").replace("_", " ").capitalize()
        for word, shown in _SPELLINGS.items():
            label = label.replace(word, shown)
        return label

    def shown(self, value: float | bool | str | None) -> str:
        """Return a value of the setting as pages and errors show it: with its unit, and a word for nothing."""
        if value in (None, ""):
            return "none"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return value
        number = f"{value:,.6g}" if value % 1 else f"{value:,.0f}"
        unit = _SINGULAR.get(self.unit, self.unit) if value == 1 else self.unit
        return number if self.is_ratio or not unit else f"{number} {unit}"

    @property
    def is_ratio(self) -> bool:
        """Return whether the unit is a range, as of a share, which is not said after a number."""
        return self.unit[:1].isdigit()


def _setting(kind: Kind, default: float | bool | str | None, help_text: str, **bounds: Any) -> Any:
    """Declare a setting, which has the name of its attribute and the type of its value on a queue."""
    return Setting("", kind, default, help_text, **bounds)


def _number(unit: str, default: float, minimum: float, maximum: float, help_text: str, **effect: str) -> Any:
    return _setting("number", default, help_text, unit=unit, minimum=minimum, maximum=maximum, **effect)


def _seconds(default: float, minimum: float, maximum: float, help_text: str, **effect: str) -> Any:
    return _number("seconds", default, minimum, maximum, help_text, **effect)


def _integer(unit: str, default: int, minimum: int, maximum: float, help_text: str, **effect: str) -> Any:
    return _setting("integer", default, help_text, unit=unit, minimum=minimum, maximum=maximum, **effect)


def _limit(unit: str, maximum: float, help_text: str) -> Any:
    return _integer(unit, 0, 0, maximum, f"{help_text} 0: no limit.")


class Delivery:
    """Settings of how messages are handed out."""

    mode: str = _setting(
        "choice",
        "standard",
        "Order of deliveries. standard: about the order of sends, to any consumer. fifo: exactly the order of sends "
        "within each message group, one message of a group at a time. The mode changes only while the queue is closed "
        "and empty.",
        choices=("standard", "fifo"),
    )
    visibility_timeout_seconds: float = _seconds(
        30.0,
        0.1,
        43_200.0,
        "Time that a consumer has to acknowledge a message or extend its lease before the message is delivered again.",
        effect="Applies to new deliveries. Messages in flight keep their deadline.",
    )
    delay_seconds: float = _seconds(
        0.0, 0.0, MAX_SECONDS, "Default delivery delay of a message. A send can name another.", effect=NEXT_SEND
    )
    aging_seconds: float = _seconds(
        60.0,
        0.0,
        MAX_SECONDS,
        "Waiting time that raises a message by one priority, so that none is left behind. 0: strict priority.",
    )
    receive_wait_seconds: float = _seconds(
        0.0,
        0.0,
        20.0,
        "Time that a receive over HTTP or SQS waits for a message if it names no wait. A receive by SQL never waits, "
        "and the clients name their wait, which is 0 by default.",
    )
    paused: bool = _setting("boolean", False, "A paused queue accepts messages and delivers none.")
    closed: bool = _setting(
        "boolean",
        False,
        "A closed queue delivers its messages and refuses sends.",
        effect="Applies to the next send.",
    )


class Failures:
    """Settings of retries and dead letters."""

    max_receives: int = _integer(
        "deliveries",
        5,
        1,
        1000,
        "Maximum number of deliveries. A message whose last delivery fails becomes a dead letter.",
        effect=NEXT_FAILURE,
    )
    backoff_base_seconds: float = _seconds(
        5.0, 0.0, 86_400.0, "Pause before the first retry. It doubles with each retry.", effect=NEXT_FAILURE
    )
    backoff_cap_seconds: float = _seconds(
        3_600.0, 0.0, 604_800.0, "Longest pause between two retries.", effect=NEXT_FAILURE
    )
    jitter: float = _number(
        "0 to 1", 0.2, 0.0, 1.0, "Random share of each pause, so that retries are spread.", effect=NEXT_FAILURE
    )
    dead_letter_queue: str | None = _setting(
        "text",
        None,
        "Queue that keeps the dead letters, created when it does not exist. Its mode is standard, without a group "
        "limit. Empty: the name of this queue with -dlq, or with -dlq-NUMBER if that name is taken.",
        effect="Applies to the next dead letter. Existing dead letters stay where they are.",
    )


class Groups:
    """Settings of messages with a group id."""

    group_max_in_flight: int = _integer(
        "messages",
        0,
        0,
        1000,
        "Messages of one group that may be ready or in flight at the same time. Further messages wait, so that no "
        "group delays another. 0: no limit. In a FIFO queue the limit is always 1.",
    )
    fair_groups: bool = _setting(
        "boolean",
        False,
        "yes: while messages of several groups wait, consumers get one of each group in turn, without a limit in "
        "flight. A FIFO queue and group_max_in_flight share by their limit instead. no: messages are delivered in the "
        "order of sends, whatever their group.",
        effect="Applies to new messages. Messages that wait in their groups are released.",
    )
    group_release_interval_seconds: float = _seconds(
        0.0, 0.0, 86_400.0, "Shortest time between two messages of one group becoming ready. 0: no pause."
    )
    group_max_waiting: int = _integer(
        "messages",
        0,
        0,
        100_000,
        "Messages of one group that may wait. Sends beyond this number are refused. 0: no limit. Each send counts the "
        "waiting messages up to this number, so a large number makes sends slower.",
    )
    fifo_block_on_dead_letter: bool = _setting(
        "boolean",
        False,
        "FIFO queues only. yes: a dead letter blocks its group until it is redriven, deleted or purged; a redrive "
        "delivers it first. no: the next message of the group is delivered.",
    )


class Limits:
    """Settings that refuse sends or hold back receives."""

    max_backlog_messages: int = _limit(
        "messages",
        1_000_000_000,
        "Maximum number of ready, scheduled, waiting and in-flight messages. Sends beyond it are refused.",
    )
    max_backlog_bytes: int = _limit(
        "bytes",
        1_000_000_000_000,
        "Maximum size of the queue, estimated from the mean size of sent messages. Sends beyond it are refused.",
    )
    max_oldest_age_seconds: float = _seconds(
        0.0, 0.0, MAX_SECONDS, "Sends are refused while the oldest ready message has waited longer. 0: no limit."
    )
    max_in_flight: int = _limit(
        "messages", 10_000, "Maximum number of messages in flight. Consumers receive no more while it is reached."
    )
    publish_rate_per_second: float = _number(
        "messages/s",
        0.0,
        0.0,
        1_000_000.0,
        "Maximum send rate, with bursts of one second. Faster sends are refused. 0: no limit.",
    )


class Retention:
    """Settings of how long messages and deduplication ids are kept."""

    retention_seconds: float = _seconds(
        345_600.0,
        60.0,
        MAX_SECONDS,
        "Time that a message may wait to be received before it expires. It starts again whenever the message returns "
        "to the queue. In a dead-letter queue: time that a dead letter is kept.",
    )
    dedup_scope: str = _setting(
        "choice",
        "window",
        "Deduplicates for a time window (window) or until the first message is completed, dead, purged or expired "
        "(in_flight).",
        choices=("window", "in_flight"),
        effect="Forgets all deduplication ids of the queue.",
    )
    dedup_window_seconds: float = _seconds(
        300.0, 1.0, 86_400.0, "Time window of deduplication, from the send of the first message.", effect=NEXT_SEND
    )
    max_payload_bytes: int = _integer(
        "bytes",
        262_144,
        1,
        262_144,
        "Maximum size of a payload as JSON text. The quotes and escapes of a payload that is a string do not count. A "
        "queue with a smaller maximum than the default takes no large bodies.",
        effect=NEXT_SEND,
    )
    max_large_body_bytes: int = _integer(
        "bytes",
        0,
        0,
        5_000_000_000,
        "Maximum size of a large body as JSON text, without the quotes around a string. 0: that of the installation.",
        effect=NEXT_SEND,
    )


class Alerts:
    """Settings of when alerts fire."""

    alert_oldest_age_seconds: float = _seconds(
        300.0, 1.0, MAX_SECONDS, "Alert if the oldest ready message has waited longer."
    )
    alert_dead_letters: int = _integer(
        "messages",
        0,
        0,
        1_000_000_000,
        "Alert if the queue has more dead letters. A dead-letter queue that Signalbox creates gets the same limit.",
    )
    alert_dead_letters_per_minute: float = _number(
        "messages/min",
        10.0,
        0.0,
        1_000_000.0,
        "Alert if the queue gets more dead letters each minute for five minutes.",
    )
    alert_no_consumers_seconds: float = _seconds(
        60.0,
        0.0,
        MAX_SECONDS,
        "Alert if a message has been ready for longer while no consumer receives.",
    )
    alert_backlog_eta_seconds: float = _seconds(
        3_600.0, 1.0, MAX_SECONDS, "Alert if the backlog would take longer than this to drain."
    )
    alert_lease_age_seconds: float = _seconds(
        3_600.0, 1.0, MAX_SECONDS, "Alert if a consumer has held a message for longer."
    )
    alert_redelivery_ratio: float = _number(
        "0 to 1",
        0.5,
        0.0,
        1.0,
        "Alert if a larger share of the deliveries are redeliveries.",
    )
    warn_every_seconds: float = _seconds(
        600.0,
        0.0,
        86_400.0,
        "Minimum time between two warnings in the database's log about the same problem of the queue: expired leases, "
        "dead letters, messages that wait too long. 0: no warnings.",
    )


class ServiceLevel:
    """Settings of the target for waits."""

    wait_target_seconds: float = _setting(
        "number",
        60.0,
        "Service level: target for the time between a message becoming ready and its first delivery. The choices are "
        "the bounds of the buckets in which Signalbox counts waits.",
        effect="Counts deliveries from now on.",
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
        "Service level: share of first deliveries within the wait target. Alerts watch the share that misses it.",
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


@dataclass(frozen=True)
class Ordered:
    """A rule about two settings of a queue: `smaller` is at most `larger`."""

    smaller: str
    larger: str
    consequence: str
    off: float | None = None
    """A value of `larger` that means no limit."""

    def is_broken(self, values: Mapping[str, Any]) -> bool:
        """Return whether these settings break the rule; a value that is missing or no number breaks none."""
        smaller, larger = values.get(self.smaller), values.get(self.larger)
        numbers = isinstance(smaller, int | float) and isinstance(larger, int | float)
        return numbers and larger != self.off and smaller > larger  # type: ignore[operator]

    def sentence(self, values: Mapping[str, Any]) -> str:
        """Say what is wrong with both values, and what follows."""
        smaller, larger = (
            f"{SETTINGS[name].label[0].lower()}{SETTINGS[name].label[1:]} ({SETTINGS[name].shown(values[name])})"
            for name in (self.smaller, self.larger)
        )
        return f"The {smaller} is above the {larger}. {self.consequence}"


ORDERED = (Ordered("backoff_base_seconds", "backoff_cap_seconds", "Lower the base or raise the cap."),)
"""Rules that the engine enforces: settings that break one are refused."""

ADVISED = (
    Ordered("alert_oldest_age_seconds", "retention_seconds", "Messages expire before this alert fires."),
    Ordered(
        "alert_oldest_age_seconds", "max_oldest_age_seconds", "Sends are refused before this alert fires.", off=0.0
    ),
    Ordered("visibility_timeout_seconds", "alert_lease_age_seconds", "The alert fires while deliveries are in time."),
)
"""Rules that sensible settings follow: the console warns of settings that break one."""


def broken(rules: tuple[Ordered, ...], values: Mapping[str, Any]) -> Iterator[Ordered]:
    """List the rules that these settings of a queue break."""
    return (rule for rule in rules if rule.is_broken(values))


def _together(setting: Any, help_text: str) -> Any:
    """A quota over all queues of a tenant, like the setting of one."""
    return _setting(setting.kind, 0, help_text, unit=setting.unit, minimum=0.0, maximum=setting.maximum)


class TenantQuotas:
    """Every quota of a tenant, as a typed attribute of its model."""

    max_backlog_messages: int = _together(
        Limits.max_backlog_messages, "Messages that all queues together may hold. 0: no limit."
    )
    max_backlog_bytes: int = _together(
        Limits.max_backlog_bytes, "Bytes that all queues together may hold, as estimated. 0: no limit."
    )
    max_oldest_age_seconds: float = _together(
        Limits.max_oldest_age_seconds,
        "All queues refuse sends while the oldest ready message of any queue has waited longer. 0: no limit.",
    )
    max_in_flight: int = _together(
        Limits.max_in_flight, "Messages of all queues together that may be in flight. 0: no limit."
    )
    publish_rate_per_second: float = _together(
        Limits.publish_rate_per_second, "Messages that all queues and streams together accept each second. 0: no limit."
    )
    max_queues: int = _limit("queues", 100_000, "Queues, not counting dead-letter queues.")
    max_streams: int = _limit("streams", 100_000, "Streams.")
    max_stream_bytes: int = _limit(
        "bytes",
        1_000_000_000_000_000,
        "Bytes that all streams together may have on disk. Appends beyond them are refused until retention makes room.",
    )
    max_retention_seconds: float = _seconds(
        0.0,
        0.0,
        MAX_SECONDS,
        "Longest retention of a queue or stream. New ones begin with at most this retention. 0: no limit.",
    )
    max_long_polls: int = _limit(
        "connections", 10_000, "Connections on which consumers may wait for messages at the same time."
    )


QUOTAS: dict[str, Setting] = _declared(TenantQuotas)
"""Every quota of a tenant by name, in the order in which forms and documents show them."""

"""The settings of a queue, each declared once.

Forms, the command line, the documentation and the SQL verbs all read this list: `sql_scripts.install` copies it into
`signalbox.setting_definition`, against which `create_queue` and `configure_queue` check what they are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "integer", "boolean", "text", "choice"]

DURATION_BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0, 86_400.0)
"""Up to which seconds the engine counts waits and work times, each in a bucket; one more is beyond the last."""

MAX_SECONDS = 31_536_000.0  # one year: longer delays are calendar entries, not messages


@dataclass(frozen=True)
class Setting:
    """One setting: its type, what it is when nobody sets it, and what it may be."""

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
        """The name as people read it: without its unit, which stands beside the field."""
        return self.name.removesuffix("_seconds").removesuffix("_bytes").replace("_", " ").capitalize()


def _seconds(name: str, default: float, minimum: float, maximum: float, help_text: str) -> Setting:
    return Setting(name, "number", default, help_text, unit="seconds", minimum=minimum, maximum=maximum)


def _limit(name: str, unit: str, maximum: float, help_text: str) -> Setting:
    return Setting(name, "integer", 0, f"{help_text} 0 is no limit.", unit=unit, minimum=0, maximum=maximum)


_ALL = (
    _seconds(
        "visibility_timeout_seconds",
        30.0,
        0.1,
        43_200.0,
        "How long a received message stays with its consumer before it is delivered again.",
    ),
    Setting(
        "max_receives",
        "integer",
        5,
        "Deliveries after which a message that fails again becomes a dead letter.",
        unit="deliveries",
        minimum=1,
        maximum=1000,
    ),
    Setting(
        "dead_letter_queue",
        "text",
        None,
        "Where dead letters go; it is made when it does not exist, and has mode standard and no limit of groups. "
        "Empty: a queue of this name with -dlq appended, or -dlq-NUMBER where that name is taken.",
    ),
    _seconds(
        "retention_seconds",
        345_600.0,
        60.0,
        MAX_SECONDS,
        "How long a message may wait to be received before it expires; every return to the queue starts it anew. "
        "In a dead-letter queue: how long a dead letter is kept.",
    ),
    _seconds(
        "delay_seconds",
        0.0,
        0.0,
        MAX_SECONDS,
        "How long a message rests after it is sent, unless its sender says.",
    ),
    Setting(
        "mode",
        "choice",
        "standard",
        "How messages are handed out: standard means in about the order they were sent, to any consumer; fifo means in "
        "exactly the order they were sent within each group, one of a group at a time. It changes only while the queue "
        "is closed and empty.",
        choices=("standard", "fifo"),
    ),
    Setting(
        "lane_max_in_flight",
        "integer",
        0,
        "How many messages of one group may be ready or in flight at once; the others wait in the group's lane, so "
        "that no group delays another. 0 is no limit. In a FIFO queue it is always 1.",
        unit="messages",
        minimum=0,
        maximum=1000,
    ),
    _seconds(
        "lane_release_interval_seconds",
        0.0,
        0.0,
        86_400.0,
        "Shortest pause between two messages of one group becoming ready; 0 is no pause.",
    ),
    Setting(
        "lane_max_waiting",
        "integer",
        0,
        "How many messages of one group may wait in its lane: a send that would make it more is refused. 0 is no "
        "limit. Each send counts what waits up to this number, so a large one costs it time.",
        unit="messages",
        minimum=0,
        maximum=100_000,
    ),
    Setting(
        "block_lane_on_dead",
        "boolean",
        False,
        "In a FIFO queue: a message that dies holds its group until it is redriven, which delivers it first, deleted "
        "or purged. Otherwise the next one goes.",
    ),
    _seconds(
        "backoff_base_seconds", 5.0, 0.0, 86_400.0, "Pause before the first retry; it doubles with each further one."
    ),
    _seconds("backoff_cap_seconds", 3_600.0, 0.0, 604_800.0, "Longest pause between two retries."),
    Setting(
        "jitter",
        "number",
        0.2,
        "Share of each pause that is drawn at random, so that retries do not arrive together.",
        unit="0 to 1",
        minimum=0.0,
        maximum=1.0,
    ),
    _seconds(
        "aging_seconds",
        60.0,
        0.0,
        MAX_SECONDS,
        "Waiting this long is worth one step of priority, so that nothing starves; 0 is strict priority.",
    ),
    _seconds(
        "dedup_window_seconds",
        300.0,
        1.0,
        86_400.0,
        "How long a deduplication id keeps later messages with it out.",
    ),
    Setting(
        "dedup_scope",
        "choice",
        "window",
        "What a deduplication id keeps later messages with it out of: window means the time of dedup_window_seconds; "
        "in_flight means until its message is acknowledged, dead, purged or expired. A change forgets all ids.",
        choices=("window", "in_flight"),
    ),
    Setting(
        "max_payload_bytes",
        "integer",
        262_144,
        "Largest payload that send accepts, as JSON text.",
        unit="bytes",
        minimum=1,
        maximum=262_144,
    ),
    _limit(
        "max_backlog_messages",
        "messages",
        1_000_000_000,
        "Sends are refused that would make the queue hold more: ready, delayed, waiting and in flight together.",
    ),
    _limit(
        "max_backlog_bytes",
        "bytes",
        1_000_000_000_000,
        "Sends are refused while all that the queue holds is larger, as estimated from the mean size of what was sent.",
    ),
    _seconds(
        "max_oldest_age_seconds",
        0.0,
        0.0,
        MAX_SECONDS,
        "Sends are refused while the oldest visible message waits longer. 0 is no limit.",
    ),
    _limit(
        "max_in_flight",
        "messages",
        10_000,
        "Receivers get no more while so many messages of the queue are in flight.",
    ),
    Setting(
        "publish_rate_per_second",
        "number",
        0.0,
        "Sends are refused that come faster; a second's worth may come at once. 0 is no limit.",
        unit="messages/s",
        minimum=0.0,
        maximum=1_000_000.0,
    ),
    Setting("paused", "boolean", False, "A paused queue accepts messages and hands out none."),
    Setting("closed", "boolean", False, "A closed queue hands out what it has and accepts no more."),
    _seconds(
        "alert_oldest_age_seconds",
        300.0,
        1.0,
        MAX_SECONDS,
        "The queue counts as breaching when its oldest visible message waits longer.",
    ),
    Setting(
        "alert_dead_letters",
        "integer",
        0,
        "The queue counts as breaching when it has more dead letters than this;"
        " the dead-letter queue that is made for it on first need begins with the same.",
        unit="messages",
        minimum=0,
        maximum=1_000_000_000,
    ),
    Setting(
        "alert_dead_letters_per_minute",
        "number",
        10.0,
        "The alert on dead-letter inflow fires when more messages of the queue die in a minute, for five minutes.",
        unit="messages/min",
        minimum=0.0,
        maximum=1_000_000.0,
    ),
    _seconds(
        "alert_no_consumers_seconds",
        60.0,
        0.0,
        MAX_SECONDS,
        "The alert on missing consumers fires when none is seen and a message has been ready for longer.",
    ),
    _seconds(
        "alert_drain_seconds",
        3_600.0,
        1.0,
        MAX_SECONDS,
        "The alert on backlogs fires when messages wait noticeably and this time would not do to work them off.",
    ),
    _seconds(
        "alert_lease_age_seconds",
        3_600.0,
        1.0,
        MAX_SECONDS,
        "The alert on long leases fires when a consumer has held a message for longer.",
    ),
    Setting(
        "alert_redelivery_ratio",
        "number",
        0.5,
        "The alert on redeliveries fires when more than this share of all deliveries are repeated ones.",
        unit="0 to 1",
        minimum=0.0,
        maximum=1.0,
    ),
    _seconds(
        "warn_every_seconds",
        600.0,
        0.0,
        86_400.0,
        "Shortest time between two lines in the database's log about the same trouble of this queue: expired leases, "
        "dead messages, messages unclaimed for too long. 0 is no line.",
    ),
    Setting(
        "wait_target_seconds",
        "number",
        60.0,
        "How long a message may wait, from becoming visible to its first delivery, to count as met. It is one of the "
        "bounds by which waits are counted; a change holds for deliveries from then on.",
        unit="seconds",
        minimum=0.005,
        maximum=86_400.0,
        choices=tuple(f"{bound:g}" for bound in DURATION_BOUNDS),
    ),
    Setting(
        "wait_target_ratio",
        "number",
        0.99,
        "The share of first deliveries that should be within wait_target_seconds; alerts burn what is left of it.",
        unit="0.5 to 0.9999",
        minimum=0.5,
        maximum=0.9999,
    ),
)

SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _ALL}
"""Every queue setting by name, in the order in which forms and documents show them."""

"""The whitelist of keys that a filter may use, with the kind of their values and the targets that answer them.

SQL identifiers come from this table and from nowhere else. A target answers a key when the key has columns for
the target, under the aliases that `Target` describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import LiteralString

from queues.codes import MAX_PRIORITY, Outcome


class Target(StrEnum):
    """The rows a filter chooses from; the query around a predicate provides the aliases.

    `d` is a dead letter. `m` is a message in the log. `t` is the row that is joined to it: its ticket, its
    lease, or one message of a row of `settled`, which is unnested by message id.
    """

    DEAD_LETTER = "dead_letter"  # d: signalbox.dead_letter
    READY = "ready"  # t: signalbox.ready, m
    SCHEDULED = "scheduled"  # t: signalbox.scheduled, m
    WAITING = "waiting"  # t: signalbox.waiting, m
    LEASE = "lease"  # t: signalbox.lease, m
    SETTLED = "settled"  # t: outcome, receive_count, consumer of one settled message, m
    MESSAGE = "message"  # m alone

    @property
    def phrase(self) -> str:
        """Return the words for these rows in a sentence, such as "dead letters"."""
        return _PHRASES[self]


_PHRASES = {
    Target.DEAD_LETTER: "dead letters",
    Target.READY: "ready messages",
    Target.SCHEDULED: "scheduled messages",
    Target.WAITING: "messages waiting for their group",
    Target.LEASE: "messages in flight",
    Target.SETTLED: "completed messages",
    Target.MESSAGE: "the message log",
}


class Kind(StrEnum):
    """Kind of a key: how its values are read and compared."""

    QUEUE = "queue"  # the name of a queue
    TENANT = "tenant"  # the name of a tenant
    STATE = "state"  # one of a few words, each a condition of its own
    CHOICE = "choice"  # one of a few words
    NAME = "name"  # exactly this text
    CLASS = "class"  # exactly this text, or the part of a dotted name behind its last dot
    SUBSTRING = "substring"  # text that contains this one, in either case
    WORDS = "words"  # text that contains this one, in any of several columns of several types
    WHOLE = "whole"  # a whole number
    AGE = "age"  # a duration up to now
    TIME = "time"  # a date or time
    JSON = "json"  # a scalar at a path of a document

    @property
    def ordered(self) -> bool:
        """Tell whether values compare by < and > and make ranges."""
        return self in {Kind.WHOLE, Kind.AGE, Kind.TIME, Kind.JSON}

    @property
    def matches(self) -> bool:
        """Tell whether values may be patterns, as in `/timed? out/`."""
        return self in {Kind.NAME, Kind.CLASS, Kind.SUBSTRING, Kind.WORDS, Kind.JSON}


Columns = tuple[LiteralString, ...]


@dataclass(frozen=True)
class Key:
    """One key. Of several columns one has to match. An `optional` value may be missing, so `key:*` is allowed."""

    name: str
    kind: Kind
    help: str
    example: str
    columns: Mapping[Target, Columns]
    optional: bool = False
    choices: tuple[str, ...] = ()
    largest: int | None = None
    """The largest whole number that any row has."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """Return the targets that answer this key, in the order of `Target`."""
        return tuple(target for target in Target if target in self.columns)

    @property
    def takes_path(self) -> bool:
        """Tell whether a path follows the key, as in `payload.order.id`."""
        return self.kind is Kind.JSON


_TICKETS = (Target.READY, Target.SCHEDULED, Target.WAITING, Target.LEASE, Target.SETTLED)
_MESSAGES = (*_TICKETS, Target.MESSAGE)


def _dead(*columns: LiteralString) -> dict[Target, Columns]:
    return {Target.DEAD_LETTER: columns}


def _both(column: LiteralString) -> dict[Target, Columns]:
    return _dead(f"d.{column}") | _message(f"m.{column}")


def _message(*columns: LiteralString) -> dict[Target, Columns]:
    return dict.fromkeys(_MESSAGES, columns)


_DEAD_NAMES: Columns = ("d.error_class", "d.source_queue_id", "d.queue_id", "d.message_id")
_MESSAGE_NAMES: Columns = ("m.queue_id", "m.message_id", "m.group_id")


# The words of `state:` that each target can have, with their conditions. Other words match no row of the target.
STATES: Mapping[Target, Mapping[str, LiteralString]] = {
    Target.DEAD_LETTER: {"dead": "true"},
    Target.READY: {"ready": "true", "pending": "true"},
    Target.SCHEDULED: {"scheduled": "true", "pending": "t.receive_count = 0", "failed": "t.receive_count > 0"},
    Target.WAITING: {"waiting": "true", "pending": "t.receive_count = 0", "failed": "t.receive_count > 0"},
    Target.LEASE: {"leased": "true", "processing": "true"},
    Target.SETTLED: {"completed": f"t.outcome = '{Outcome.ACKED}'"},
}
STATE_WORDS = ("ready", "scheduled", "waiting", "leased", "dead", "completed", "pending", "processing", "failed")
REASONS = ("rejected", "runtime_error", "lock_expired")

_KEYS = (
    Key(
        "queue",
        Kind.QUEUE,
        "Name of the queue; for a dead letter its source queue or the dead-letter queue that holds it.",
        "queue:orders,invoices",
        _dead("d.source_queue_id", "d.queue_id") | _message("m.queue_id"),
    ),
    Key(
        "tenant",
        Kind.TENANT,
        "Name of the tenant that owns the queue; for a dead letter the owner of its source queue.",
        "tenant:acme",
        _dead("d.source_queue_id") | _message("m.queue_id"),
    ),
    Key(
        "state",
        Kind.STATE,
        "State of the message.",
        "state:ready,scheduled",
        dict.fromkeys(STATES, ()),
        choices=STATE_WORDS,
    ),
    Key(
        "text",
        Kind.WORDS,
        "A word without a key: text within the class, the queue's name, the error or a value of the payload; or an id.",
        'text:CardDeclined,"timed out"',
        _dead(*_DEAD_NAMES, "d.error", "d.payload") | _message(*_MESSAGE_NAMES, "m.payload"),
    ),
    Key(
        "name",
        Kind.WORDS,
        "Text within the class, the queue's name or, if the message is not dead, the group id; or a message id.",
        "name:payments",
        _dead(*_DEAD_NAMES) | _message(*_MESSAGE_NAMES),
    ),
    Key(
        "error",
        Kind.SUBSTRING,
        "Text within the error, in either case.",
        'error:"timed out"',
        _dead("d.error"),
        optional=True,
    ),
    Key(
        "class",
        Kind.CLASS,
        "Class of the error: its full name, or the part behind the last dot.",
        "-class:TimeoutError",
        _dead("d.error_class"),
        optional=True,
    ),
    Key("reason", Kind.CHOICE, "Reason for the dead letter.", "reason:rejected", _dead("d.reason"), choices=REASONS),
    Key(
        "fp", Kind.NAME, "Fingerprint of the failure: the failure group.", "fp:9f86d081884c7d65", _dead("d.fingerprint")
    ),
    Key(
        "group",
        Kind.NAME,
        "Group id, the key within which order is kept.",
        "group:customer-17",
        _both("group_id"),
        optional=True,
    ),
    Key(
        "attempts",
        Kind.WHOLE,
        "How often the message was delivered.",
        "attempts:>3",
        _dead("d.receive_count") | dict.fromkeys(_TICKETS, ("t.receive_count",)),
    ),
    Key("redrives", Kind.WHOLE, "How often the message was redriven.", "redrives:1..3", _dead("d.redrive_count")),
    Key(
        "priority",
        Kind.WHOLE,
        "Priority, 0 to 32767.",
        "priority:>=5",
        _both("priority"),
        largest=MAX_PRIORITY,
    ),
    Key(
        "age",
        Kind.AGE,
        "Time since a message was sent; for a dead letter, since it became one.",
        "age:>1h",
        _dead("d.died_at") | _message("m.sent_at"),
    ),
    Key("dead", Kind.TIME, "When it became a dead letter.", "dead:2026-01-01..2026-01-02", _dead("d.died_at")),
    Key("sent", Kind.TIME, "When the message was sent.", "sent:>=2026-01-01T10:30", _both("sent_at")),
    Key("failed", Kind.TIME, "When the message last failed.", "failed:<2026-01-02", _dead("d.last_failed_at")),
    Key("trace", Kind.NAME, "Trace id.", "trace:4bf92f3577b34da6a3ce929d0e0e4736", _both("trace_id"), optional=True),
    Key("dedup", Kind.NAME, "Deduplication id.", "dedup:order-1042", _both("deduplication_id"), optional=True),
    Key(
        "consumer",
        Kind.NAME,
        "Consumer that holds, completed or last failed the message.",
        "consumer:worker-3",
        _dead("d.consumer") | dict.fromkeys((Target.LEASE, Target.SETTLED), ("t.consumer",)),
        optional=True,
    ),
    Key("id", Kind.WHOLE, "Message id.", "id:1042,1043", _both("message_id")),
    Key(
        "payload",
        Kind.JSON,
        "A value inside the payload, by its path.",
        'payload.order.status:"paid"',
        _both("payload"),
        optional=True,
    ),
    Key(
        "attr",
        Kind.JSON,
        "A value inside the attributes, by its path.",
        "attr.region:eu",
        _both("attributes"),
        optional=True,
    ),
)
KEYS: Mapping[str, Key] = {key.name: key for key in _KEYS}

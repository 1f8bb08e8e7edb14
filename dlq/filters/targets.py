"""What a filter can be asked of."""

from __future__ import annotations

from enum import StrEnum


class Target(StrEnum):
    """The rows a filter chooses from; the query around a predicate provides the aliases.

    `d` is a dead letter. `m` is a message in the log and `t` what stands beside it: its ticket, its lease, or
    one message of a settled row, which is `settled` unnested by message id.
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
        """These rows, as a sentence names them."""
        return _PHRASES[self]


_PHRASES = {
    Target.DEAD_LETTER: "dead letters",
    Target.READY: "ready messages",
    Target.SCHEDULED: "scheduled messages",
    Target.WAITING: "messages waiting in lanes",
    Target.LEASE: "leased messages",
    Target.SETTLED: "completed messages",
    Target.MESSAGE: "the message log",
}

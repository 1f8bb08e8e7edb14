"""The queue as a few lines of Python: where every message is, and what was counted. What the engine is compared with.

Nothing here knows of tables, locks or time: a lease is overdue, or a delay over, when a test says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

WAITING, RESTING, LEASED, DEAD = "ready", "scheduled", "leased", "dead"
LIVE = (WAITING, RESTING, LEASED, DEAD)
ACKED, PURGED, EXPIRED = "settled a", "settled p", "settled e"
TAKEN = "received from the dead-letter queue"


@dataclass
class Message:
    body: Any
    priority: int
    place: str
    since: int = 0
    receive_count: int = 0
    handle: str | None = None
    overdue: bool = False
    """Lease past its deadline, or delay over, before the engine has seen it."""
    letter: int = 0
    key: str | None = None


@dataclass
class Model:
    max_receives: int
    holds_keys: bool = False
    """A deduplication id is held by its message, and free when that is settled or dead."""
    messages: dict[int, Message] = field(default_factory=dict)
    keys: dict[str, tuple[int, Any]] = field(default_factory=dict)
    """The first message of every deduplication id, and what was sent."""
    counted: Counter[str] = field(default_factory=Counter)
    paused: bool = False
    closed: bool = False
    moment: int = 0

    def at(self, *places: str) -> list[int]:
        """The messages in these places, in order of sending."""
        return [message_id for message_id, message in self.messages.items() if message.place in places]

    def depth(self, place: str) -> int:
        return len(self.at(place))

    def holder(self, handle: str) -> int | None:
        """The message that this handle still holds."""
        message_id = int(handle.split(".")[1])
        return message_id if self.messages[message_id].handle == handle else None

    def send(self, message_id: int, body: Any, priority: int = 0, *, delayed: bool = False) -> None:
        self.messages[message_id] = Message(body, priority, "")
        self._move(message_id, RESTING if delayed else WAITING)
        self.counted["published_scheduled" if delayed else "published"] += 1

    def look_around(self) -> None:
        """Return overdue messages: leases first, each kind in order of sending."""
        for message_id in self._overdue(LEASED):
            if self.messages[message_id].receive_count >= self.max_receives:
                self.die(message_id, "dead_lock_expired")
            else:
                self.move(message_id, WAITING, "lease_expired")
        for message_id in self._overdue(RESTING):
            self.move(message_id, WAITING, "promoted")

    def next(self, count: int) -> list[int]:
        """Messages that a claim takes: the highest priority first, then the longest claimable."""
        waiting = self.at(WAITING)
        waiting.sort(key=lambda m: (-self.messages[m].priority, self.messages[m].since, m))
        return waiting[:count]

    def deliver(self, message_id: int, handle: str) -> None:
        message = self.messages[message_id]
        self.counted["redelivered"] += message.receive_count > 0
        message.receive_count += 1
        self.move(message_id, LEASED, "delivered")
        message.handle = handle

    def fail(self, message_id: int, reason: str, *, delayed: bool) -> str:
        message = self.messages[message_id]
        if reason == "rejected" or message.receive_count >= self.max_receives:
            self.die(message_id, f"dead_{reason}")
            return "dead"
        place = RESTING if delayed else WAITING
        self.move(message_id, place, f"nacked_{place}")
        return "retry"

    def die(self, message_id: int, event: str) -> None:
        self.move(message_id, DEAD, event)

    def may_be_redriven(self, message_ids: Iterable[int]) -> list[int]:
        """Dead letters of these whose id is free, in order of failure. They hold the id from now on."""
        chosen = []
        for message_id in message_ids:
            message = self.messages[message_id]
            if self.holds_keys and message.key is not None:
                if message.key in self.keys:
                    continue
                self.keys[message.key] = (message_id, (message.body, message.priority))
            chosen.append(message_id)
        return chosen

    def redrive(self, message_ids: Iterable[int]) -> None:
        together = self._tick()
        for message_id in message_ids:
            self.counted["redriven_in"] += 1
            self.move(message_id, WAITING, "redriven")
            self.messages[message_id].receive_count = 0
            self.messages[message_id].since = together

    def give_back(self, message_ids: Iterable[int]) -> None:
        together = self._tick()
        for message_id in message_ids:
            self.move(message_id, WAITING, "returned")
            self.messages[message_id].since = together

    def move(self, message_id: int, place: str, event: str) -> None:
        self.counted[event] += 1
        self._move(message_id, place)

    def _move(self, message_id: int, place: str) -> None:
        message = self.messages[message_id]
        if self.holds_keys and place not in (WAITING, RESTING, LEASED):
            self.keys = {key: held for key, held in self.keys.items() if held[0] != message_id}
        message.place, message.since = place, self._tick()
        message.handle, message.overdue = None, False

    def _overdue(self, place: str) -> list[int]:
        return [message_id for message_id in self.at(place) if self.messages[message_id].overdue]

    def _tick(self) -> int:
        self.moment += 1
        return self.moment

"""What a request may do whose key was good."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from queues.reach import Bounds, Reach

# Scope -> what it allows, as a sentence says it after "may".
SCOPES = {
    "send": "send messages",
    "receive": "receive messages, acknowledge and reject them, hold them longer, announce a consumer",
    "read": "see queues, their settings and numbers, and what became of a message",
    "peek": "read messages without taking them",
    "redrive": "send dead letters again, and steer that",
    "purge": "purge messages",
    "configure": "create, change and delete queues",
}
ALL = "*"
ACTOR_PREFIX = "key:"  # no person's name has a colon


@dataclass(frozen=True)
class Key:
    """One API key as requests see it: of `tenant` (None: any), for queues whose name begins with `prefix`.

    `rate` is in requests per second, `connections` how many requests may be under way at once; None is no limit.
    """

    key_id: int
    name: str
    scopes: frozenset[str]
    tenant: str | None
    prefix: str
    rate: float | None
    connections: int | None

    def may(self, scope: str) -> bool:
        """Whether the key has this scope."""
        return ALL in self.scopes or scope in self.scopes

    def reaches(self, queue_name: str, tenant: str) -> bool:
        """Whether a queue of this name and tenant exists for the key."""
        return self.reach.holds(queue_name, tenant)

    @cached_property
    def reach(self) -> Reach:
        """The queues that exist for the key."""
        return Reach((Bounds(self.tenant, self.prefix),))

    @property
    def is_limited(self) -> bool:
        """Whether there is anything to count."""
        return self.rate is not None or self.connections is not None

    @property
    def actor(self) -> str:
        """How the audit names it."""
        return f"{ACTOR_PREFIX}{self.name}"

"""One API key: its text, and the rights of a request that carries it."""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from dataclasses import dataclass
from functools import cached_property

from queues.reach import Bounds, Reach

# Scope -> what it allows, worded to follow "may" in a sentence.
SCOPES = {
    "send": "send messages",
    "receive": "receive messages, acknowledge and reject them, hold them longer, announce a consumer",
    "read": "see queues, their settings and numbers, and the outcome of a message",
    "peek": "read messages without taking them",
    "redrive": "send dead letters again, and steer that",
    "purge": "purge messages; a purge above the operator's limit waits for an approval",
    "purge_any": "purge any number of messages; needs the scope purge too",
    "configure": "create, change and delete queues",
}
SQS_SCOPES = ("send", "receive", "read", "redrive", "purge", "configure")
"""Scopes of the operations of the SQS endpoint."""
ALL = "*"
ACTOR_PREFIX = "key:"  # no person's name has a colon
IDENTIFIER_CHARACTERS = 12
SECRET_BYTES = 32
_TOKEN = re.compile(r"sbx_([a-z0-9]{12})\.([A-Za-z0-9_-]{43})")


class Unauthorized(Exception):  # noqa: N818 - named for the answer that it becomes
    """The request has no valid API key. The message says why, and is sent to the client."""


@dataclass(frozen=True)
class Token:
    """The two halves of a key: the identifier, and the hash of the secret."""

    identifier: str
    secret_hash: bytes


def make_token() -> tuple[str, Token]:
    """Create the text of a new key and its stored form. Secret scanners recognise the prefix `sbx_`."""
    identifier = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(IDENTIFIER_CHARACTERS))
    secret = secrets.token_urlsafe(SECRET_BYTES)
    return f"sbx_{identifier}.{secret}", Token(identifier, _hash(secret))


def read_token(authorization: str | None) -> Token:
    """Parse an Authorization header. Raises `Unauthorized` if it contains no key."""
    if not authorization:
        raise Unauthorized("There is no API key: send the header Authorization: Bearer KEY.")
    scheme, _, text = authorization.strip().partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthorized("The header Authorization must be Bearer, followed by an API key.")
    parts = _TOKEN.fullmatch(text.strip())
    if parts is None:
        raise Unauthorized("This is no API key: one is sbx_, twelve letters or digits, a dot, and 43 characters.")
    return Token(parts[1], _hash(parts[2]))


def _hash(secret: str) -> bytes:
    """Hash a secret. A fast hash is enough, because 256 random bits cannot be guessed."""
    return hashlib.sha256(secret.encode("ascii")).digest()


@dataclass(frozen=True)
class Key:
    """An API key as requests use it: for queues of `tenant` (None: any) whose names begin with `prefix`.

    `rate` is the limit of requests per second, `connections` the limit of concurrent requests; None is no limit.
    """

    key_id: int
    name: str
    scopes: frozenset[str]
    tenant: str | None
    prefix: str
    rate: float | None
    connections: int | None

    def may(self, scope: str) -> bool:
        """Return whether the key has this scope."""
        return ALL in self.scopes or scope in self.scopes

    def reaches(self, queue_name: str, tenant: str) -> bool:
        """Return whether the key reaches a queue of this name and tenant."""
        return self.reach.holds(queue_name, tenant)

    @cached_property
    def reach(self) -> Reach:
        """Return the queues that the key reaches."""
        return Reach((Bounds(self.tenant, self.prefix),))

    @property
    def is_limited(self) -> bool:
        """Return whether the key has a limit."""
        return self.rate is not None or self.connections is not None

    @property
    def actor(self) -> str:
        """Return the name of the key in the audit."""
        return f"{ACTOR_PREFIX}{self.name}"

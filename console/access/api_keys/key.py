"""One API key: its text, made here and read from a request's header, and the rights of a request with it."""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from dataclasses import dataclass
from functools import cached_property

from queues.reach import Bounds, Reach

# Scope -> what it allows, as a sentence says it after "may".
SCOPES = {
    "send": "send messages",
    "receive": "receive messages, acknowledge and reject them, hold them longer, announce a consumer",
    "read": "see queues, their settings and numbers, and the outcome of a message",
    "peek": "read messages without taking them",
    "redrive": "send dead letters again, and steer that",
    "purge": "purge messages",
    "configure": "create, change and delete queues",
}
ALL = "*"
ACTOR_PREFIX = "key:"  # no person's name has a colon
IDENTIFIER_CHARACTERS = 12
SECRET_BYTES = 32
_TOKEN = re.compile(r"sbx_([a-z0-9]{12})\.([A-Za-z0-9_-]{43})")


class Unauthorized(Exception):  # noqa: N818 - named for the answer that it becomes
    """The request has no API key that is good; the message says why, and is for its sender."""


@dataclass(frozen=True)
class Token:
    """A key's two halves; of the secret only what the database has."""

    identifier: str
    secret_hash: bytes


def make_token() -> tuple[str, Token]:
    """Make the text of a new key, and the part of it that is kept. By `sbx_` programs that look for secrets know it."""
    identifier = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(IDENTIFIER_CHARACTERS))
    secret = secrets.token_urlsafe(SECRET_BYTES)
    return f"sbx_{identifier}.{secret}", Token(identifier, _hash(secret))


def read_token(authorization: str | None) -> Token:
    """The key of an Authorization header; raises `Unauthorized` for what cannot be one."""
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
    """A secret of 256 random bits cannot be guessed, so a fast hash is enough."""
    return hashlib.sha256(secret.encode("ascii")).digest()


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
        """Return whether the key has this scope."""
        return ALL in self.scopes or scope in self.scopes

    def reaches(self, queue_name: str, tenant: str) -> bool:
        """Return whether a queue of this name and tenant exists for the key."""
        return self.reach.holds(queue_name, tenant)

    @cached_property
    def reach(self) -> Reach:
        """The queues that exist for the key."""
        return Reach((Bounds(self.tenant, self.prefix),))

    @property
    def is_limited(self) -> bool:
        """Return whether the key has a limit to count."""
        return self.rate is not None or self.connections is not None

    @property
    def actor(self) -> str:
        """The name of the key in the audit."""
        return f"{ACTOR_PREFIX}{self.name}"

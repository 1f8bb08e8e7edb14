"""The text of a key: made here, and read from a request's header."""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from dataclasses import dataclass

MARK = "sbx_"  # by which people, and programs that look for leaked secrets, know one
IDENTIFIER_CHARACTERS = 12
SECRET_BYTES = 32
_IDENTIFIER_ALPHABET = string.ascii_lowercase + string.digits
_TOKEN = re.compile(r"sbx_([a-z0-9]{12})\.([A-Za-z0-9_-]{43})")


class Unauthorized(Exception):  # noqa: N818 - named for the answer that it becomes
    """The request has no API key that is good; the message says why, and is for its sender."""


@dataclass(frozen=True)
class Token:
    """A key's two halves; of the secret only what the database has."""

    identifier: str
    secret_hash: bytes


def make() -> tuple[str, Token]:
    """The text of a new key, and what is kept of it."""
    identifier = "".join(secrets.choice(_IDENTIFIER_ALPHABET) for _ in range(IDENTIFIER_CHARACTERS))
    secret = secrets.token_urlsafe(SECRET_BYTES)
    return f"{MARK}{identifier}.{secret}", Token(identifier, _hash(secret))


def read(authorization: str | None) -> Token:
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

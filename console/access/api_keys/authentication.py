"""Authentication of API keys. Every request needs it, so it uses no thread, and memory rather than the database.

An answer of the database is used for `FRESH_SECONDS`: a key that another process revokes works for at most that long.
This process forgets a key that it revokes at once. Only keys with a right secret are remembered, so strangers fill no
memory. Concurrent requests with one key share one query.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from console.access.api_keys.key import Key, Token, Unauthorized, read_token
from console.access.api_keys.signing_secrets import opened
from console.api.core import database
from console.api.core.single_flight import SingleFlight
from signalbox.logs import in_brief

FRESH_SECONDS = 5.0
NOTE_USE_SECONDS = 60.0
MAX_REMEMBERED = 10_000
MAX_CLIENT_CHARACTERS = 200

LOOK_UP = """
select
  k.secret_hash,
  k.api_key_id,
  k.name,
  k.scopes,
  k.tenant_name,
  k.queue_prefix,
  k.rate_per_second,
  k.max_connections,
  k.revoked_at is not null as revoked,
  k.sqs_secret,
  extract(epoch from k.expires_at - clock_timestamp())::double precision as seconds_left
from signalbox.api_key k
where k.identifier = %s
"""
NOTE_USE = """
update signalbox.api_key
set last_used_at = clock_timestamp(), last_used_with = coalesce(%s, last_used_with)
where api_key_id = %s and (last_used_at is null or last_used_at < clock_timestamp() - make_interval(secs => %s))
"""

logger = logging.getLogger(__name__)

Connections = Callable[[], AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]]


@dataclass(frozen=True)
class Answer:
    """The database's answer about a key whose secret was right. Times come from this process's monotonic clock.

    `secret` is None unless the key also signs requests.
    """

    key: Key
    secret_hash: bytes
    secret: str | None
    revoked: bool
    expires_at: float
    stale_at: float


class Doorkeeper:
    """The keys that this process authenticated lately."""

    def __init__(self, connections: Connections, clock: Callable[[], float] = time.monotonic) -> None:
        self._connections = connections
        self._clock = clock
        self._answers: OrderedDict[Token | str, Answer] = OrderedDict()  # a key that signs is named by its identifier
        self._forgotten = 0  # calls of `forget`; an answer requested before such a call is not stored after the call
        self._lookups = SingleFlight(self._ask)
        self._signing_lookups = SingleFlight(self._look_up)
        self._uses_noted_at: dict[int, float] = {}
        self._noting: set[asyncio.Task[None]] = set()

    async def authenticate(self, authorization: str | None, client: str | None = None) -> Key:
        """Return the key in an Authorization header. Raises `Unauthorized`, which says why.

        `client` describes the protocol and the program; it is stored with the time of the last use.
        """
        token = read_token(authorization)
        answer = self._answers.get(token)
        if answer is None or answer.stale_at <= self._clock():
            answer = await self._lookups.ask(token)
        if answer is None:
            raise Unauthorized("This API key is not known.")
        return self._admitted(answer, client)

    async def authenticate_signer(
        self, identifier: str, has_signed: Callable[[str], bool], client: str | None = None
    ) -> Key | None:
        """Return the key of this identifier if its secret made the signature. Raises `Unauthorized`.

        Return None if another secret made the signature. `has_signed` is called with the secret and tells which.
        The answer is remembered only after a right signature.
        """
        answer, forgotten = self._answers.get(identifier), self._forgotten
        if answer is None or answer.stale_at <= self._clock():
            answer = await self._signing_lookups.ask(identifier)
        if answer is None or answer.secret is None:
            raise Unauthorized("This API key is not known, or was not made for signed requests.")
        if not has_signed(answer.secret):
            return None
        if forgotten == self._forgotten and self._answers.get(identifier) is not answer:
            self._remember(identifier, answer)
        return self._admitted(answer, client)

    def _admitted(self, answer: Answer, client: str | None) -> Key:
        if answer.revoked:
            raise Unauthorized(f"The API key {answer.key.name} is revoked.")
        if answer.expires_at <= self._clock():
            raise Unauthorized(f"The API key {answer.key.name} has expired.")
        self._note_use(answer.key, client)
        return answer.key

    def forget(self) -> None:
        """Ask the database again about every key from now on. Any thread can call this."""
        self._forgotten += 1
        self._answers.clear()

    async def _ask(self, token: Token) -> Answer | None:
        forgotten = self._forgotten
        answer = await self._look_up(token.identifier)
        if answer is None or not hmac.compare_digest(answer.secret_hash, token.secret_hash):
            return None
        if forgotten == self._forgotten:
            self._remember(token, answer)
        return answer

    async def _look_up(self, identifier: str) -> Answer | None:
        # Take the time before the query: the key may change before the answer arrives.
        asked_at = self._clock()
        async with self._connections() as connection:
            row = await (await connection.execute(LOOK_UP, [identifier])).fetchone()
        if row is None:
            return None
        secret_hash, key_id, name, scopes, tenant, prefix, rate, most, revoked, sealed, seconds_left = row
        return Answer(
            key=Key(key_id, name, frozenset(scopes), tenant, prefix, rate, most),
            secret_hash=bytes(secret_hash),
            secret=opened(sealed) if sealed else None,
            revoked=revoked,
            expires_at=float("inf") if seconds_left is None else asked_at + seconds_left,
            stale_at=asked_at + FRESH_SECONDS,
        )

    def _remember(self, token: Token | str, answer: Answer) -> None:
        """Store the newest answer. Another thread may forget all answers between any two of these steps."""
        self._answers.pop(token, None)
        self._answers[token] = answer
        with suppress(KeyError):
            while len(self._answers) > MAX_REMEMBERED:
                self._answers.popitem(last=False)

    def _note_use(self, key: Key, client: str | None) -> None:
        """Record the use of the key at most once a minute, without delaying the request."""
        now = self._clock()
        if now < self._uses_noted_at.get(key.key_id, -NOTE_USE_SECONDS) + NOTE_USE_SECONDS:
            return
        self._uses_noted_at[key.key_id] = now
        noting = asyncio.create_task(self._write_use(key.key_id, client))
        self._noting.add(noting)  # the event loop keeps only weak references to tasks
        noting.add_done_callback(self._noting.discard)

    async def _write_use(self, key_id: int, client: str | None) -> None:
        try:
            async with self._connections() as connection:
                await connection.execute(NOTE_USE, [_shown(client), key_id, NOTE_USE_SECONDS])
        except PoolClosed:
            pass  # the process is ending
        except (psycopg.Error, PoolTimeout) as error:
            self._uses_noted_at.pop(key_id, None)
            logger.warning("the use of an API key could not be noted: %s", in_brief(error))


def _shown(client: str | None) -> str | None:
    """Return the description of a client as it is stored: printable, and not too long."""
    if client is None:
        return None
    return "".join(character for character in client if character.isprintable())[:MAX_CLIENT_CHARACTERS]


doorkeeper = Doorkeeper(lambda: database.pool().connection())
authenticate = doorkeeper.authenticate
authenticate_signer = doorkeeper.authenticate_signer

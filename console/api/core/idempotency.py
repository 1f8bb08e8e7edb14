"""Idempotency keys: a repeated request takes effect once, and gets the answer of the first request.

The answer is stored in the transaction of the effect, so both commit or neither does. A refused request stores nothing
and can be tried again. If two requests with one key arrive at once, one is refused for now, so that neither waits on a
connection. Answers are kept for a day: each insert deletes up to two expired rows by index. A request without the
header costs nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from django.db import connection, transaction
from django.http import HttpResponse

from console.api.core import database
from console.api.core.problems import Problem
from queues import bodies
from signalbox import AsyncClient

HEADER = "Idempotency-Key"
KEPT_HEADERS = ("Location",)
RETRY_SECONDS = 1
MAX_CHARACTERS = 255

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Claim:
    """The identity of a request, by which a repetition is recognised."""

    api_key_id: int
    idempotency_key: str
    request_hash: bytes

    @property
    def named(self) -> dict[str, Any]:
        """Return the parameters of the statements below. `lock` is a 64-bit hash; keys with equal hashes take turns."""
        name = f"{self.api_key_id}:{self.idempotency_key}".encode()
        lock = int.from_bytes(hashlib.sha256(name).digest()[:8], signed=True)
        return {"api_key_id": self.api_key_id, "idempotency_key": self.idempotency_key, "lock": lock}

    def kept(self, response: HttpResponse) -> dict[str, Any]:
        """Return the parameters of the row that stores the answer."""
        headers = {name: response[name] for name in KEPT_HEADERS if name in response}
        return {
            **self.named,
            "request_hash": self.request_hash,
            "status": response.status_code,
            "headers": json.dumps(headers),
            "content": response.content,
        }

    def repeated(self, row: tuple[Any, ...]) -> HttpResponse:
        """Return the stored answer. Raises the problem `idempotency-key-reused` if it answered another request."""
        request_hash, status, headers, content = row
        if bytes(request_hash) != self.request_hash:
            raise Problem(
                "idempotency-key-reused",
                f"{HEADER} {self.idempotency_key!r} was used for another request.",
                errors=[(HEADER, f"{HEADER} was used for another request")],
            )
        again = {**json.loads(headers), "Idempotency-Replayed": "true"}
        return HttpResponse(bytes(content), content_type="application/json", status=status, headers=again)


async def once(request: Any, effect: Callable[[AsyncClient], Awaitable[HttpResponse]]) -> HttpResponse:
    """Call `effect` with a client and return its answer, or return the stored answer of the first request."""
    claim = _claim_of(request)
    if claim is None:
        return await effect(database.client())
    async with database.pool().connection() as borrowed, borrowed.transaction():
        if not await (await borrowed.execute(_TRY, claim.named)).fetchone() == (True,):
            raise _under_way(claim)
        if row := await (await borrowed.execute(_LOOK, claim.named)).fetchone():
            return claim.repeated(row)
        response = await effect(AsyncClient(borrowed, bodies=bodies.store()))
        await borrowed.execute(_KEEP, claim.kept(response))
        return response


async def once_in_thread(
    request: Any, respond: Callable[[T], HttpResponse], function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> HttpResponse:
    """Run `function` once in a thread with Django's connection; `respond` turns its result into the answer."""
    claim = _claim_of(request)
    if claim is None:
        return respond(await database.in_thread(function, *args, **kwargs))
    return await database.in_thread(_once, claim, lambda: respond(function(*args, **kwargs)))


def _once(claim: Claim, effect: Callable[[], HttpResponse]) -> HttpResponse:
    with transaction.atomic():
        ask = connection.connection.execute  # bypasses Django's cursor, which decodes JSON itself
        if ask(_TRY, claim.named).fetchone() != (True,):
            raise _under_way(claim)
        if row := ask(_LOOK, claim.named).fetchone():
            return claim.repeated(row)
        response = effect()
        ask(_KEEP, claim.kept(response))
        return response


def _claim_of(request: Any) -> Claim | None:
    given = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if given is None:
        return None
    if not (0 < len(given) <= MAX_CHARACTERS and given.isascii() and given.isprintable()):
        detail = f"{HEADER} must have from 1 to {MAX_CHARACTERS} printable characters of ASCII"
        raise Problem.of_field(HEADER, detail)
    said = b"\n".join([request.method.encode(), request.path.encode(), request.body])
    return Claim(request.auth.key_id, given, hashlib.sha256(said).digest())


def _under_way(claim: Claim) -> Problem:
    return Problem(
        "request-in-progress",
        f"A request with the {HEADER} {claim.idempotency_key!r} is under way.",
        retryAfter=RETRY_SECONDS,
    )


_TRY = "select pg_try_advisory_xact_lock(%(lock)s::bigint)"

# A separate statement after the lock, so that its snapshot has the row of the request before.
_LOOK = """
select r.request_hash, r.status, r.headers::text, r.content
from signalbox.idempotent_request r
where r.api_key_id = %(api_key_id)s and r.idempotency_key = %(idempotency_key)s
  and r.created_at > clock_timestamp() - interval '1 day'
"""

_KEEP = """
with over as (
  select r.ctid
  from signalbox.idempotent_request r
  where r.created_at <= clock_timestamp() - interval '1 day'
    and (r.api_key_id, r.idempotency_key) <> (%(api_key_id)s, %(idempotency_key)s)
  order by r.created_at
  limit 2
  for update skip locked
), gone as (
  delete from signalbox.idempotent_request r where r.ctid = any(array(select o.ctid from over o))
)
insert into signalbox.idempotent_request (
  api_key_id, idempotency_key, request_hash, status, headers, content, created_at
)
values (
  %(api_key_id)s, %(idempotency_key)s, %(request_hash)s, %(status)s, %(headers)s::jsonb, %(content)s, clock_timestamp()
)
on conflict (api_key_id, idempotency_key) do update
set request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers,
  content = excluded.content, created_at = excluded.created_at
"""

"""Creation and revocation of API keys, each with its audit row in one transaction."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from console.access.api_keys.authentication import doorkeeper
from console.access.api_keys.key import ALL, SCOPES, make_token
from console.access.api_keys.models import NAME_CHARACTERS, ApiKey
from console.access.api_keys.signing_secrets import sealed
from queues import audit
from queues.errors import InvalidArgument
from queues.reach import SYSTEM_TENANT

MAX_RATE_PER_SECOND = 100_000.0
MAX_CONNECTIONS = 100_000
MAX_LIFE = timedelta(days=3_660)

_PREFIX = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,99})?")
_BETWEEN_SCOPES = re.compile(r"[\s,]+")


@dataclass(frozen=True)
class NewKey:
    """A new key. `text` is the key itself, which cannot be read again."""

    row: ApiKey
    text: str

    @property
    def secret(self) -> str:
        """Return the secret half of the key. A key for signed requests signs with this secret."""
        return self.text.partition(".")[2]


def create(
    name: str,
    scopes: str | Iterable[str],
    *,
    actor: str,
    tenant: str | None = None,
    prefix: str = "",
    expires_in: timedelta | None = None,
    rate: float | None = None,
    connections: int | None = None,
    sqs: bool = False,
    reason: str = "",
) -> NewKey:
    """Create a key. Raises `InvalidArgument`, which names the field; then no key is created.

    With `sqs` the key can also sign requests to the SQS endpoint, so its secret is kept encrypted. The tenant need not
    exist yet, because a key with the scope to configure creates its first queue.
    """
    text, token = make_token()
    row = ApiKey(
        name=_checked_name(name),
        identifier=token.identifier,
        secret_hash=token.secret_hash,
        sqs_secret=sealed(text.partition(".")[2]) if sqs else None,
        scopes=read_scopes(scopes),
        tenant_name=checked_tenant(tenant),
        queue_prefix=checked_prefix(prefix),
        rate_per_second=_checked_number("rate", rate, MAX_RATE_PER_SECOND),
        max_connections=_checked_number("connections", connections, MAX_CONNECTIONS),
        expires_at=_expiry(expires_in),
        created_by=actor,
    )
    if connections is not None and connections != int(connections):
        raise InvalidArgument("connections must be a whole number", "connections")
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            audit.record(actor, "apikey.create", reason=reason, details=row.summary())
    except IntegrityError:
        raise InvalidArgument(f"name is {row.name!r}, as another key's is: revoke that one first", "name") from None
    return NewKey(row, text)


def revoke(key_id: int, *, actor: str, reason: str = "") -> bool:
    """Revoke a key permanently. Return False if it was revoked before or does not exist."""
    with transaction.atomic():
        row = ApiKey.objects.select_for_update().filter(pk=key_id, revoked_at=None).first()
        if row is None:
            return False
        row.revoked_at, row.revoked_by = timezone.now(), actor
        row.save(update_fields=["revoked_at", "revoked_by"])
        audit.record(actor, "apikey.revoke", reason=reason, details=row.summary())
        transaction.on_commit(doorkeeper.forget)
        return True


def find(name_or_id: str) -> ApiKey | None:
    """Return the active key of this name, else the key with this number."""
    named = ApiKey.objects.filter(name=name_or_id, revoked_at=None).first()
    if named is not None or not re.fullmatch(r"[0-9]{1,18}", name_or_id):
        return named
    return ApiKey.objects.filter(pk=int(name_or_id)).first()


def read_scopes(given: str | Iterable[str]) -> list[str]:
    """Parse scopes, separated by commas or blanks, in the order of `SCOPES`; `*` and `all` mean all."""
    text = given if isinstance(given, str) else ",".join(given)
    names = {name for name in _BETWEEN_SCOPES.split(text) if name}
    if names & {ALL, "all"}:
        names = names - {"all"} | {ALL}
    known = f"scopes are {', '.join(SCOPES)}, and {ALL} for all of them"
    if not names:
        raise InvalidArgument(f"scopes is empty: {known}", "scopes")
    if unknown := sorted(names - {*SCOPES, ALL}):
        raise InvalidArgument(f"scopes has {unknown[0][:40]!r}, which is none: {known}", "scopes")
    return [ALL] if ALL in names else [name for name in SCOPES if name in names]


def _checked_name(name: str) -> str:
    if not 1 <= len(name) <= NAME_CHARACTERS or not name.isprintable() or name != name.strip():
        raise InvalidArgument(
            f"name is {name[:120]!r}: it must have from 1 to {NAME_CHARACTERS} printable characters", "name"
        )
    if name.isdigit():
        raise InvalidArgument(f"name is {name}: it must not be a number, which would name a key by its id", "name")
    return name


def checked_tenant(tenant: str | None) -> str | None:
    """Return the tenant, or None for any tenant. Raises `InvalidArgument`."""
    if tenant and (len(tenant) > 100 or not tenant.isprintable()):
        raise InvalidArgument("tenant must have at most 100 printable characters", "tenant")
    if tenant == SYSTEM_TENANT:
        fault = "no key or grant reaches Signalbox's own queues; use another tenant"
        raise InvalidArgument(f"tenant is {tenant!r}: {fault}", "tenant")
    return tenant or None


def checked_prefix(prefix: str) -> str:
    """Return the prefix of queue names. Raises `InvalidArgument`."""
    if not _PREFIX.fullmatch(prefix):
        raise InvalidArgument(
            f"prefix is {prefix[:120]!r}: it must be the beginning of queue names: letters, digits, dot, dash, _",
            "prefix",
        )
    return prefix


def _expiry(expires_in: timedelta | None) -> datetime | None:
    if expires_in is None:
        return None
    if not timedelta(0) < expires_in <= MAX_LIFE:
        raise InvalidArgument(f"expires must be more than nothing, and at most {MAX_LIFE.days} days", "expires")
    return timezone.now() + expires_in


def _checked_number(field: str, number: float | None, most: float) -> float | None:
    if number is not None and not (math.isfinite(number) and 0 < number <= most):
        raise InvalidArgument(f"{field} is {number}: it must be above 0 and at most {most:.0f}", field)
    return number

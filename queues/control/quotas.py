"""The quotas of a tenant: limits for all of its queues together, and their present use.

The quotas are columns of the tenant. A trigger marks the queues that they concern, so that the verbs of other queues
read nothing more. In `queues/sql/`, `_admit`, `_free_in_flight`, `_set_admission_flags`,
`_set_stream_flags`, `_admit_stream_bytes` and `begin_long_poll` enforce
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from queues import audit
from queues.counters.queue_numbers import TenantNumbers, read_tenants
from queues.database.query import fetch, query_text
from queues.errors import InvalidArgument, TenantNotFound
from queues.models import Tenant
from queues.settings import QUOTAS
from queues.stream_models import Stream

SENDS_REFUSED = "existing messages are kept, new ones are refused."
CONSEQUENCES = {
    "max_backlog_messages": SENDS_REFUSED,
    "max_backlog_bytes": SENDS_REFUSED,
    "max_oldest_age_seconds": "sends are refused until the oldest message is received.",
    "max_in_flight": "messages in flight stay with their consumers, and receives wait.",
    "publish_rate_per_second": "faster sends are refused.",
    "max_queues": "existing queues are kept, new ones are refused.",
    "max_streams": "existing streams are kept, new ones are refused.",
    "max_stream_bytes": "existing messages are kept, and appends are refused until retention makes room.",
    "max_long_polls": "existing connections are kept, new ones are refused.",
}
"""The effect of each quota that is set below the present use of the tenant."""


@dataclass(frozen=True)
class TenantUse:
    """A tenant, and the present use of its quotas."""

    tenant: Tenant
    queues: int
    streams: int
    stream_bytes: int | None
    """Bytes of its streams on disk; None where no quota limits them."""
    messages: int
    """Ready, scheduled, waiting and in-flight messages."""
    bytes_held: int | None
    """Estimated size of its messages; None where no quota limits it."""
    in_flight: int
    in_per_second: float
    oldest_seconds: float | None
    long_polls: int
    refusing: int
    """Queues that have refused a send within the last minute."""


def get_tenant(name: str) -> Tenant:
    """Read the tenant of this name; raises TenantNotFound."""
    try:
        return Tenant.objects.get(name=name)
    except Tenant.DoesNotExist:
        raise TenantNotFound(f"tenant '{name}' does not exist") from None


def set_quota(tenant: str, quotas: Mapping[str, Any], *, actor: str, reason: str = "") -> Tenant:
    """Change the quotas that are named, leave the others, and record the value of each before and after.

    Raises `TenantNotFound`, and `InvalidArgument`, which names the quota at fault; then nothing is changed. What the
    tenant has above a new quota is left alone: nothing is deleted or shortened.
    """
    values = {name: _checked(name, value) for name, value in quotas.items()}
    with transaction.atomic():
        row = Tenant.objects.select_for_update(no_key=True).filter(name=tenant).first()
        if row is None:
            raise TenantNotFound(f"tenant '{tenant}' does not exist")
        changes = {
            name: {"before": getattr(row, name), "after": value}
            for name, value in values.items()
            if getattr(row, name) != value
        }
        for name, change in changes.items():
            setattr(row, name, change["after"])
        if changes:
            row.save(update_fields=list(changes))
            audit.record(actor, "tenant.quota", reason=reason, details={"tenant": tenant, "changes": changes})
        return row


def _checked(name: str, value: object) -> float | int:
    quota = QUOTAS.get(name)
    if quota is None:
        raise InvalidArgument(f"{name} is not a quota; quotas are {', '.join(QUOTAS)}", field=name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(f"{name} is {value!r}: it must be a number", field=name)
    if quota.kind == "integer" and value != int(value):
        raise InvalidArgument(f"{name} is {value}: it must be a whole number", field=name)
    if not (quota.minimum or 0) <= value <= (quota.maximum or 0):
        raise InvalidArgument(f"{name} is {value}: it must be from 0 to {quota.maximum:.0f}", field=name)
    return int(value) if quota.kind == "integer" else float(value)


def read_use() -> list[TenantUse]:
    """Read every tenant with the use of its quotas, by name. A fixed number of queries."""
    counters = {tenant_id: counted for tenant_id, *counted in fetch(_ADMISSION_COUNTERS)}
    numbers = {tenant.tenant: tenant for tenant in read_tenants()}
    own = Stream.objects.filter(tenant=OuterRef("pk")).values("tenant").annotate(number=Count("pk")).values("number")
    tenants = Tenant.objects.annotate(
        made=Count("queues", filter=Q(queues__is_dead_letter_queue=False)), made_streams=Coalesce(Subquery(own), 0)
    )
    return [
        _use(
            tenant, numbers.get(tenant.name) or TenantNumbers(tenant.name), *counters.get(tenant.pk, (None, None, None))
        )
        for tenant in tenants.order_by("name")
    ]


def _use(
    tenant: Any, numbers: TenantNumbers, bytes_held: int | None, long_polls: int | None, stream_bytes: int | None
) -> TenantUse:
    return TenantUse(
        tenant=tenant,
        queues=tenant.made,
        streams=tenant.made_streams,
        stream_bytes=stream_bytes,
        messages=numbers.depth + numbers.leased,
        bytes_held=bytes_held,
        in_flight=numbers.leased,
        in_per_second=numbers.in_per_second,
        oldest_seconds=numbers.oldest_ready_age_seconds,
        long_polls=long_polls or 0,
        refusing=numbers.refusing,
    )


_ADMISSION_COUNTERS = query_text("counters/tenant_use")

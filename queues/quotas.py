"""What a tenant's queues may do together, and what they use of it.

The limits are columns of the tenant; a trigger marks the queues that they concern, so that the verbs of all others look
at nothing more. What is enforced where is told in `queues/sql/`: `_admit.sql`, `_free_in_flight.sql`,
`_guard_queue.sql` and `begin_long_poll.sql`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Q

from queues import audit
from queues.counters import TenantNumbers, read_tenants
from queues.errors import InvalidArgument, TenantNotFound
from queues.models import Tenant
from queues.settings import MAX_SECONDS, SETTINGS, Setting


def _together(name: str, help_text: str, maximum: float | None = None) -> Setting:
    """The setting of a queue of this name, for all queues of a tenant."""
    one = SETTINGS[name]
    return Setting(name, one.kind, 0, help_text, one.unit, 0.0, maximum or one.maximum)


_ALL = (
    _together("max_backlog_messages", "Messages that all queues together may hold. 0 is no limit."),
    _together("max_backlog_bytes", "Bytes that all queues together may hold, as estimated. 0 is no limit."),
    _together("max_oldest_age_seconds", "No queue takes more while the oldest message of any waits longer. 0 is none."),
    _together("max_in_flight", "Messages of all queues together that may be in flight. 0 is no limit."),
    _together("publish_rate_per_second", "Messages that all queues together take each second. 0 is no limit."),
    Setting("max_queues", "integer", 0, "Queues, without dead-letter queues. 0 is no limit.", "queues", 0, 100_000),
    Setting(
        "max_retention_seconds",
        "number",
        0.0,
        "The longest retention that a queue may set; new queues begin with no more. 0 is no limit.",
        "seconds",
        0.0,
        MAX_SECONDS,
    ),
    Setting(
        "max_long_polls",
        "integer",
        0,
        "Connections on which consumers wait for news at the same time. 0 is no limit.",
        "connections",
        0,
        10_000,
    ),
)

QUOTAS: dict[str, Setting] = {quota.name: quota for quota in _ALL}
"""Every quota of a tenant by name, in the order in which forms and documents show them."""


@dataclass(frozen=True)
class TenantUse:
    """A tenant, and what its queues use at this moment."""

    tenant: Tenant
    queues: int
    messages: int
    """Ready, delayed, waiting in lanes and in flight."""
    bytes_held: int | None
    """Estimated; None where nothing limits them."""
    in_flight: int
    in_per_second: float
    oldest_seconds: float | None
    long_polls: int
    refusing: int
    """Queues that have refused a send within the last minute."""


def get_tenant(name: str) -> Tenant:
    """The tenant of this name; raises TenantNotFound."""
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
        found = Tenant.objects.select_for_update(no_key=True).filter(name=tenant).first()
        if found is None:
            raise TenantNotFound(f"tenant '{tenant}' does not exist")
        changes = {
            name: {"before": getattr(found, name), "after": value}
            for name, value in values.items()
            if getattr(found, name) != value
        }
        for name, change in changes.items():
            setattr(found, name, change["after"])
        if changes:
            found.save(update_fields=list(changes))
            audit.record(actor, "tenant.quota", reason=reason, details={"tenant": tenant, "changes": changes})
        return found


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
    """Every tenant with what it uses, by name. A few queries, however many tenants and queues there are."""
    held, polls = _gauges()
    numbers = {one.tenant: one for one in read_tenants()}
    tenants = Tenant.objects.annotate(made=Count("queues", filter=Q(queues__is_dead_letter_queue=False)))
    return [
        _use(tenant, numbers.get(tenant.name), held.get(tenant.tenant_id), polls.get(tenant.tenant_id, 0))
        for tenant in tenants.order_by("name")
    ]


def _use(tenant: Any, numbers: TenantNumbers | None, bytes_held: int | None, long_polls: int) -> TenantUse:
    return TenantUse(
        tenant=tenant,
        queues=tenant.made,
        messages=numbers.depth + numbers.leased if numbers else 0,
        bytes_held=bytes_held,
        in_flight=numbers.leased if numbers else 0,
        in_per_second=numbers.in_per_second if numbers else 0.0,
        oldest_seconds=numbers.oldest_ready_age_seconds if numbers else None,
        long_polls=long_polls,
        refusing=numbers.refusing if numbers else 0,
    )


def _gauges() -> tuple[dict[int, int], dict[int, int]]:
    """By tenant id: bytes held where they are limited, and long polls where those are."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select t.tenant_id, case when t.max_backlog_bytes > 0 then signalbox._register(g.bytes_held) end,"
            " case when t.max_long_polls > 0 then signalbox.long_polls(t.tenant_id) end"
            " from signalbox.tenant t left join signalbox.gauge g on g.tenant_id = t.tenant_id"
            " where t.max_backlog_bytes > 0 or t.max_long_polls > 0"
        )
        rows = cursor.fetchall()
    return {row[0]: row[1] for row in rows if row[1] is not None}, {row[0]: row[2] or 0 for row in rows}

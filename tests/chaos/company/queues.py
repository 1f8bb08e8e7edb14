"""The queues of a run: one for each way of sending and receiving, with leases short enough to be lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

VISIBILITY_SECONDS = 2.0
MORTAL = {
    "visibility_timeout_seconds": VISIBILITY_SECONDS,
    "backoff_base_seconds": 0.1,
    "backoff_cap_seconds": 1,
    "max_receives": 3,
}
LONG_LIVED = MORTAL | {"max_receives": 1000}


@dataclass(frozen=True)
class ChaosQueue:
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    effective: bool = False
    """Acked only in the transaction of an effect."""
    opaque: bool = False
    """Queues worked by processes of the product, whose claims are not recorded."""
    by_celery: bool = False
    """Queues without recorded deliveries: each execution leaves a row instead."""


QUEUES = (
    ChaosQueue("plain", LONG_LIVED),
    ChaosQueue("bulk", {**LONG_LIVED, "max_backlog_messages": 20_000}),
    ChaosQueue("orders", LONG_LIVED, effective=True),
    ChaosQueue("again", LONG_LIVED),
    ChaosQueue("keyed", LONG_LIVED),
    ChaosQueue("fifo", {**LONG_LIVED, "mode": "fifo"}),
    ChaosQueue("lanes", {**LONG_LIVED, "group_max_in_flight": 2}),
    ChaosQueue("mortal", MORTAL),
    ChaosQueue("work", LONG_LIVED, opaque=True),
    ChaosQueue("celery", LONG_LIVED, opaque=True, by_celery=True),
    ChaosQueue("probe", LONG_LIVED),
)

#: What the database has beside the queues: rows of the applications that send and receive.
TABLES = """
create table public.business (token bigint not null);
create table public.effect (message_id bigint not null);
create table public.rivals (place integer primary key, wins integer not null);
create table public.completion (queue text not null, work text not null, pid integer not null);
insert into public.rivals values (1, 0), (2, 0);
"""

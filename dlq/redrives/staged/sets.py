"""Sets of staged messages: filling, freezing and deleting them.

Tasks that fill a set may die, run twice, or wake up late. Each task writes its part in one transaction, with the token
of the set and a shared lock, and replaces an earlier version of its part. Freezing takes the lock exclusively and makes
the token invalid.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from dlq.jobs.models import Job, Redrive
from dlq.redrives.staged.models import StagedMessage, Staging
from queues.database.query import Query, database_now
from queues.dead_letters.redriving import DEALT_WITH
from queues.errors import InvalidArgument, SignalboxError

FILLING_HOURS = 24
"""The time in which a set must be filled; after it, the set is deleted."""
CLEARED_AT_ONCE = 10_000


class StagingLost(SignalboxError):  # noqa: N818 - as in queues.errors
    """The staged messages differ from the selected ones, so none of them is used."""


@dataclass(frozen=True)
class Frozen:
    """Contents of a frozen set."""

    staging: Staging
    lowest: int
    highest: int
    dealt_with: int
    """Dead letters that were removed from the set: they are still dead letters, or were redriven already."""


def begin(kinds: Sequence[str], since: datetime | None, until: datetime | None, run_id: int) -> Staging:
    """Make an empty set."""
    return Staging.objects.create(
        token=secrets.token_hex(8),
        kinds=list(kinds),
        since=since,
        until=until,
        run_id=run_id,
        expires_at=database_now() + timedelta(hours=FILLING_HOURS),
    )


def freeze(staging_id: int, token: str, rows: int) -> Frozen:
    """Freeze the set, in the transaction of the caller. Raises `StagingLost` when it does not have `rows` messages."""
    staging = Staging.objects.select_for_update().filter(pk=staging_id).first()
    if staging is None or staging.state != Staging.State.FILLING or staging.token != token:
        raise StagingLost
    # An exclusive lock: tasks that write hold a shared one (`pipeline.replay.staging_part`).
    Query("select pg_advisory_xact_lock(hashtext('signalbox.staging'), %s)::text", [staging_id]).rows()
    [(dealt_with,)] = Query(_LEAVE_OUT_WHAT_IS_DEALT_WITH, [staging_id]).rows()
    [(number, size, lowest, highest)] = Query(_TOTALS, [staging_id]).rows()
    if number + dealt_with != rows:
        raise StagingLost(
            f"{number + dealt_with:,} messages were staged, and {rows:,} were chosen; the set is discarded"
        )
    staging.state, staging.rows, staging.bytes = Staging.State.FROZEN, number, size
    staging.expires_at = database_now() + timedelta(hours=settings.REPLAY_KEEP_HOURS)
    staging.save()
    return Frozen(staging, lowest, highest, dealt_with)


_LEAVE_OUT_WHAT_IS_DEALT_WITH = f"""
with gone as (
  delete from signalbox.staged_message s
  where s.staging_id = %s and s.kind = 'dead_letters' and {DEALT_WITH}
  returning 1
)
select count(*) from gone
"""  # noqa: S608

_TOTALS = """
select count(*), coalesce(sum(octet_length(s.payload) + coalesce(octet_length(s.attributes), 0)), 0)::bigint,
  coalesce(min(s.message_id), 1), coalesce(max(s.message_id), 0)
from signalbox.staged_message s
where s.staging_id = %s
"""


def hold(staging_id: int) -> None:
    """Lock the set in the transaction that makes its job. Raises `InvalidArgument` when the set is gone."""
    staging = Staging.objects.select_for_update().get(pk=staging_id)
    if staging.state != Staging.State.FROZEN or (staging.expires_at and staging.expires_at <= database_now()):
        raise InvalidArgument("the staged messages of this plan have been deleted: make another replay", "plan_id")


def discard(staging_id: int) -> None:
    """Discard a set that is being filled: a sweep deletes it, and its writers are refused."""
    Staging.objects.filter(pk=staging_id, state=Staging.State.FILLING).update(state=Staging.State.CLEARING)


def clear(seconds: float) -> int:
    """Delete, for about `seconds`, sets that are done, expired or abandoned; return the number of deleted rows."""
    ends_at, cleared = time.monotonic() + seconds, 0
    _release_what_is_over()
    for staging_id in Staging.objects.filter(state=Staging.State.CLEARING).order_by("pk").values_list("pk", flat=True):
        while (some := _clear_some(staging_id)) and time.monotonic() < ends_at:
            cleared += some
        if not some:
            _end(staging_id)
    return cleared


_KEPT = (Staging.State.FILLING, Staging.State.FROZEN)


def _release_what_is_over() -> None:
    """Release sets whose job has ended and expired sets, but none whose job is active or awaits approval."""
    redrives = Redrive.objects.exclude(staging=None)
    over = Q(expires_at__lte=database_now()) | Q(pk__in=redrives.filter(state=Job.State.DONE).values("staging_id"))
    for staging_id in list(Staging.objects.filter(over, state__in=_KEPT).values_list("pk", flat=True)):
        with transaction.atomic():  # a transaction that makes its job holds the row
            held = Staging.objects.select_for_update(skip_locked=True).filter(pk=staging_id).exists()
            if held and not redrives.filter(staging_id=staging_id, state__in=Job.UNDECIDED_STATES).exists():
                Staging.objects.filter(pk=staging_id).update(state=Staging.State.CLEARING)


def _clear_some(staging_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_CLEAR, [staging_id, CLEARED_AT_ONCE])
        cleared: int = cursor.rowcount
        return cleared


_CLEAR = """
delete from signalbox.staged_message s
where s.ctid = any(array(
  select o.ctid from signalbox.staged_message o where o.staging_id = %s limit %s for update skip locked
))
"""


def _end(staging_id: int) -> None:
    """End an empty set, unless a task is still writing: then it is deleted again later."""
    with transaction.atomic():
        [(alone,)] = Query("select pg_try_advisory_xact_lock(hashtext('signalbox.staging'), %s)", [staging_id]).rows()
        if alone and not StagedMessage.objects.filter(staging_id=staging_id).exists():
            Staging.objects.filter(pk=staging_id).update(state=Staging.State.GONE)

"""Sets of archived messages that are to be sent again: who may fill one, when it is frozen, when it is cleared away.

Whoever fills a set does so in tasks that may die, come twice, or wake up late. Each writes its part in one transaction
that holds the set's lock, shared, shows the set's token, and puts the part in the place of what it had written before.
Freezing takes the lock alone, and from then on no token is good any more.
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

from dlq.finding import Query, database_now
from dlq.models import Job, Redrive, StagedMessage, Staging
from queues.errors import InvalidArgument, SignalboxError

FILLING_HOURS = 24
"""Nobody fills a set for longer; one that is left behind goes then, if whoever comes next has not cleared it away."""
CLEARED_AT_ONCE = 10_000


class StagingLost(SignalboxError):  # noqa: N818 - as in queues.errors
    """What was staged is not what was chosen: nothing of it counts."""


@dataclass(frozen=True)
class Frozen:
    """What a set holds, once nobody can add to it."""

    staging: Staging
    lowest: int
    highest: int
    dealt_with: int
    """Dead letters that it no longer holds: they are still dead here, or were sent again since they died."""


def begin(kinds: Sequence[str], since: datetime | None, until: datetime | None, run_id: int) -> Staging:
    """A set of nothing yet."""
    return Staging.objects.create(
        token=secrets.token_hex(8),
        kinds=list(kinds),
        since=since,
        until=until,
        run_id=run_id,
        expires_at=database_now() + timedelta(hours=FILLING_HOURS),
    )


def freeze(staging_id: int, token: str, rows: int) -> Frozen:
    """In the caller's transaction: from now on the set is what it is. Raises `StagingLost` when that is not `rows`."""
    staging = Staging.objects.select_for_update().filter(pk=staging_id).first()
    if staging is None or staging.state != Staging.State.FILLING or staging.token != token:
        raise StagingLost
    # Alone: those that write hold it shared (`pipeline.replay.staging_part`).
    Query("select pg_advisory_xact_lock(hashtext('signalbox.staging'), %s)::text", [staging_id]).rows()
    [(dealt_with,)] = Query(_LEAVE_OUT_WHAT_IS_DEALT_WITH, [staging_id]).rows()
    [(number, size, lowest, highest)] = Query(_TOTALS, [staging_id]).rows()
    if number + dealt_with != rows:
        raise StagingLost(
            f"{number + dealt_with:,} messages were staged, and {rows:,} were chosen: nothing of it counts"
        )
    staging.state, staging.rows, staging.bytes = Staging.State.FROZEN, number, size
    staging.expires_at = database_now() + timedelta(hours=settings.REPLAY_KEEP_HOURS)
    staging.save()
    return Frozen(staging, lowest, highest, dealt_with)


# Indexes: dead_letter_message_id_key, redriven_message.
_LEAVE_OUT_WHAT_IS_DEALT_WITH = """
with gone as (
  delete from signalbox.staged_message s
  where s.staging_id = %s and s.kind = 'dead_letters'
    and (
      exists (select from signalbox.dead_letter d where d.message_id = s.message_id)
      or exists (select from signalbox.redriven r where r.message_id = s.message_id and r.redriven_at >= s.ended_at)
    )
  returning 1
)
select count(*) from gone
"""

_TOTALS = """
select count(*), coalesce(sum(octet_length(s.payload) + coalesce(octet_length(s.attributes), 0)), 0)::bigint,
  coalesce(min(s.message_id), 1), coalesce(max(s.message_id), 0)
from signalbox.staged_message s
where s.staging_id = %s
"""


def hold(staging_id: int) -> None:
    """In the transaction that makes a job of it: it stays until that is over. Raises when it is gone."""
    staging = Staging.objects.select_for_update().get(pk=staging_id)
    if staging.state != Staging.State.FROZEN or (staging.expires_at and staging.expires_at <= database_now()):
        raise InvalidArgument(
            "what was staged for this plan has been cleared away: choose it from the archive again", "plan_id"
        )


def discard(staging_id: int) -> None:
    """Nothing will come of what was being filled: let it be cleared away, and whoever would write to it be refused."""
    Staging.objects.filter(pk=staging_id, state=Staging.State.FILLING).update(state=Staging.State.CLEARING)


def clear(seconds: float) -> int:
    """For about so long: what is done, expired or was left behind goes, in small transactions. How many rows went."""
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
    """Sets of jobs that came to their end, and of long ago; none whose job is under way or waits for approval."""
    redrives = Redrive.objects.exclude(staging=None)
    over = Q(expires_at__lte=database_now()) | Q(pk__in=redrives.filter(state=Job.State.DONE).values("staging_id"))
    for staging_id in list(Staging.objects.filter(over, state__in=_KEPT).values_list("pk", flat=True)):
        with transaction.atomic():  # whoever makes a job of it holds its row meanwhile
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
    """Unless somebody is still writing: then it is cleared again, later."""
    with transaction.atomic():
        [(alone,)] = Query("select pg_try_advisory_xact_lock(hashtext('signalbox.staging'), %s)", [staging_id]).rows()
        if alone and not StagedMessage.objects.filter(staging_id=staging_id).exists():
            Staging.objects.filter(pk=staging_id).update(state=Staging.State.GONE)

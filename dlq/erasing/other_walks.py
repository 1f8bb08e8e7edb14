"""Places whose rows are no messages of queues: streams, what was staged from the archive, and samples that causes keep.

What is found there is erased there, by its own key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import ProgrammingError, connection, transaction
from psycopg.errors import UndefinedTable

from dlq import verbs
from dlq.erasing.target import SHORTEST_QUOTED, Target
from dlq.erasing.walks import Cursor, Row, Scope, Slice, Table, read, rows_of
from dlq.finding import Query


@dataclass(frozen=True)
class Streams:
    """Streams, each by partition and position. They are of no queue: whoever names queues means none of them."""

    name: str = "streams"
    words: str = "streams"

    def slice(self, scope: Scope, after: Cursor, limit: int) -> Slice:
        stream_id, *rest = after or [-1]
        found = Query(
            "select s.stream_id from signalbox.stream s join signalbox.tenant o using (tenant_id)"
            " where s.stream_id >= %s and not %s and %s in ('', o.name) order by 1 limit 1",
            [stream_id, scope.names_queues, scope.tenant],
        ).rows()
        if not found:
            return Slice((), 0, None)
        at = int(found[0][0])
        part = self._stream(at, replace(scope, queue_ids=None), rest if at == stream_id else (), limit)
        rows = [replace(row, key=(at, *row.key)) for row in part.rows]
        return Slice(rows, part.looked, [at + 1] if part.after is None else [at, *part.after])

    def _stream(self, stream_id: int, scope: Scope, after: Cursor, limit: int) -> Slice:
        try:
            with transaction.atomic():
                return read(_STREAM, f"signalbox.stream_message_{stream_id:d}", scope, after, limit)
        except ProgrammingError as error:
            if isinstance(error.__cause__, UndefinedTable):
                return Slice((), 0, None)
            raise

    def estimate(self) -> int:
        return rows_of("signalbox.stream_message")

    def erase(self, erasure_id: int, target: Target, rows: Sequence[Row]) -> int:
        erased = 0
        for stream_id in sorted({int(row.key[0]) for row in rows}):
            keys = [row.key for row in rows if row.key[0] == stream_id]
            erased += verbs.erase_stream_messages(
                erasure_id, stream_id, [int(key[1]) for key in keys], [int(key[2]) for key in keys]
            )
        return erased


@dataclass(frozen=True)
class Staged(Table):
    """What was chosen from the archive and is not sent again yet."""

    def erase(self, erasure_id: int, target: Target, rows: Sequence[Row]) -> int:
        """One that is being sent is waited for: it is gone then, and its message is in its queue."""
        with connection.cursor() as cursor:
            cursor.execute(
                "update signalbox.staged_message t"
                " set payload = %s, attributes = null, body_sha256 = null, body_bytes = null"
                " from unnest(%s::bigint[], %s::bigint[]) g(staging_id, message_id)"
                " where t.staging_id = g.staging_id and t.message_id = g.message_id",
                [f'{{"erased": "{erasure_id}"}}', [row.key[0] for row in rows], [row.key[1] for row in rows]],
            )
            erased: int = cursor.rowcount
            return erased


@dataclass(frozen=True)
class Causes:
    """The sample of an error that each cause keeps; first those that are not folded yet."""

    name: str = "causes"
    words: str = "samples of errors that causes keep"

    def slice(self, scope: Scope, after: Cursor, limit: int) -> Slice:
        if len(scope.target.text) < SHORTEST_QUOTED:
            return Slice((), 0, None)
        unfolded = () if after else Query(_UNFOLDED, [scope.queue_ids, scope.queue_ids]).rows()
        folded = Query(_FOLDED, [after[0] if after else "", scope.queue_ids, scope.queue_ids, limit]).rows()
        samples = [(fingerprint, text) for fingerprint, text in [*unfolded, *folded] if text]
        rows = [Row(None, 0, text, None, (fingerprint,), plain=True) for fingerprint, text in samples]
        return Slice(rows, len(folded), [folded[-1][0]] if len(folded) == limit else None)

    def estimate(self) -> int:
        return rows_of("signalbox.failure_cluster")

    def erase(self, erasure_id: int, target: Target, rows: Sequence[Row]) -> int:
        fingerprints = sorted({str(row.key[0]) for row in rows})
        return verbs.erase_causes(erasure_id, fingerprints, [target.text, *target.needles])


_UNFOLDED = """
select d.fingerprint, d.error
from signalbox.cluster_delta d
where d.error is not null and (%s::int[] is null or d.queue_id = any(%s::int[]))
"""
_FOLDED = """
select c.fingerprint, c.error
from signalbox.failure_cluster c
where c.fingerprint > %s
  and (%s::int[] is null or exists (
    select from signalbox.failure_cluster_queue q where q.fingerprint = c.fingerprint and q.queue_id = any(%s::int[])
  ))
order by c.fingerprint
limit %s
"""
_STREAM = Table(
    name="streams",
    words="",
    table="signalbox.stream_message",
    keys=("t.partition", "t.position"),
    queue="null::int",
    message="t.position",
    payload="t.payload",
    attributes="t.attributes",
    body="null::bytea",
    sent_at="t.appended_at",
    bound="t.appended_at <= %(began)s",
)
STAGED = Staged(
    name="staged",
    words="staged replays: chosen from the archive, and not sent yet",
    table="signalbox.staged_message",
    keys=("t.staging_id", "t.message_id"),
    queue=(  # by the name that it had when it was archived
        "(select q.queue_id from signalbox.queue q where q.name = t.queue"
        " union all select a.queue_id from signalbox.queue_alias a where a.name = t.queue limit 1)"
    ),
    message="t.message_id",
    payload="t.payload",
    attributes="t.attributes",
    body="t.body_sha256",
    sent_at="t.sent_at",
)
STAGED_AGAIN = replace(
    STAGED, name="staged_again", words="staged replays once more: what was chosen before the archive was done"
)

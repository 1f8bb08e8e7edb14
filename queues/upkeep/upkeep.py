"""The engine's housekeeping. Several processes may run it: they share the steps, and one of them moves the floors.

No delivery depends on it. Without it claims look from the start, counters are read from more deltas, receivers poll
instead of being woken, and history stands still; but it alone feeds the queues of subscriptions. Each step is one small
transaction. The pulse (wake-ups, floors, counters) and the chores run on a thread and a connection each, so that no
chore delays a wake-up. No step waits long for a lock, and one that works on many queues passes over a queue that it
cannot work on (`_pass_over.sql`), so that no queue stops another.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from psycopg import sql

from queues import bodies
from queues.audit.pruning import prune
from queues.database.connections import UPKEEP, connect
from queues.database.failover import Sentinel
from queues.stopping import Stopping
from queues.upkeep.body_collection import collect, sweep
from queues.upkeep.claim_floors import FloorKeeper
from queues.upkeep.detaching import detach
from queues.upkeep.log_captures import LogCaptures
from queues.upkeep.stream_upkeep import StreamChores
from signalbox.connections import pooling
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

PULSE_SECONDS = 0.02  # longest time until a waiting receiver is notified of a message
APPENDS_SECONDS = 0.05  # the same for a reader of a stream
FLOOR_SECONDS = 0.1
ACTIVE_SECONDS = 10.0  # a queue is active for this long after its last change
RECONNECT_SECONDS = 1.0
BUCKET_SECONDS = 10  # of history
MAX_PAUSE_SECONDS = 32.0  # of a step that keeps failing
MAX_FLOOR_PAUSE_SECONDS = 1.0  # claims trust floors only if their clock is younger than ten seconds
PULSE_LOCK_TIMEOUT = "200ms"  # a step that waits for a lock delays every other step of the pulse
CHORES_LOCK_TIMEOUT = "2s"
PULSE_STATEMENT_TIMEOUT = "5min"  # the first aggregation after days without upkeep takes minutes
CHORES_STATEMENT_TIMEOUT = "1h"
RECORD_BEFORE_END = 1.0  # seconds; a chore may be late by one check and the time that other chores take


@dataclass
class Step:
    """One step of upkeep, its period, and when it is next due (`due_at`, in monotonic seconds)."""

    name: str
    every_seconds: float
    run: Callable[[], object]
    due_at: float = 0.0
    failures: int = 0
    """Failures in a row. Each doubles the pause, so that a failing step floods neither the database nor the log."""
    max_pause_seconds: float = MAX_PAUSE_SECONDS

    def postpone(self, now: float) -> None:
        """Make the step due after its period, or later when it keeps failing."""
        longer = min(2.0 ** min(self.failures, 6) / 2, self.max_pause_seconds)
        pause = max(self.every_seconds, longer) if self.failures else self.every_seconds
        self.due_at = now + pause


@dataclass
class Upkeep:
    """The upkeep of one process: it runs until `stop`, and reconnects after losing the database."""

    stopping: Stopping = field(default_factory=Stopping)

    def stop(self) -> None:
        """End both loops after the steps under way."""
        self.stopping.set()

    def run(self) -> None:
        """Do each step when it is due, until stopped."""
        chores = threading.Thread(target=self._keep, args=(Chores,), name="upkeep chores")
        sentinel = Sentinel(self.stopping)
        chores.start()
        sentinel.start()
        try:
            self._keep(Pulse)
        finally:
            self.stop()
            chores.join()
            sentinel.join()

    def _keep(self, kind: type[Rounds]) -> None:
        while not self.stopping.is_set():
            try:
                with connect(f"{UPKEEP} {kind.__name__.lower()}") as connection:
                    kind.limit_waits(connection)
                    self._loop(kind(connection))
            except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction) as error:
                log.warning("upkeep lost the database, trying again: %s", in_brief(error))
                self.stopping.wait(RECONNECT_SECONDS)

    def _loop(self, rounds: Rounds) -> None:
        while not self.stopping.is_set():
            started = time.monotonic()
            rounds.run_due(started)
            self.stopping.wait(max(0.0, rounds.beat_seconds - (time.monotonic() - started)))
        rounds.close()


@contextmanager
def storage_may_fail() -> Iterator[None]:
    """Log any error of the storage of large bodies: upkeep continues, and tries again when the step is next due."""
    try:
        yield
    except psycopg.Error:
        raise
    except Exception:
        log.exception("the storage of large bodies cannot be used")


class Rounds:
    """Steps over one connection, and what they remember between runs."""

    steps: list[Step]
    beat_seconds: float
    """Seconds between two checks for steps that are due."""
    lock_timeout: str
    statement_timeout: str

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    @classmethod
    def limit_waits(cls, connection: psycopg.Connection[Any]) -> None:
        """Set the timeouts of this session.

        Behind a pooler without a direct address no session is ours; there the functions of most steps set timeouts.
        """
        if pooling.has_sessions():
            connection.execute("select set_config('lock_timeout', %s, false)", [cls.lock_timeout])
            connection.execute("select set_config('statement_timeout', %s, false)", [cls.statement_timeout])

    def close(self) -> None:
        """Release what the steps hold in the database."""

    def run_due(self, now: float) -> None:
        """Run every step that is due. One that fails is logged and tried again when it is next due."""
        for step in self.steps:
            if step.due_at > now:
                continue
            try:
                step.run()
                step.failures = 0
            except psycopg.OperationalError as error:
                if self.connection.closed or self.connection.broken:
                    raise
                step.failures += 1
                log.warning("upkeep step %s: %s", step.name, in_brief(error))
            except psycopg.errors.ReadOnlySqlTransaction:
                raise  # a session stays read-only after the database has become writable
            except psycopg.Error as error:
                step.failures += 1
                log.error("upkeep step %s failed: %s", step.name, in_brief(error))
            step.postpone(now)

    def _call(self, step: str, *parameters: Any) -> Callable[[], object]:
        places = sql.SQL(", ").join([sql.Placeholder()] * len(parameters))
        statement = sql.SQL("select signalbox.{}({})").format(sql.Identifier(step), places)
        return lambda: self.connection.execute(statement, parameters).fetchone()

    def _value(self, statement: str, *parameters: Any) -> Any:
        row = self.connection.execute(statement, parameters).fetchone()
        return row[0] if row else None


class Pulse(Rounds):
    """The steps that senders and receivers wait for: wake-ups, claim floors, counters, due messages, segments."""

    beat_seconds = PULSE_SECONDS
    lock_timeout = PULSE_LOCK_TIMEOUT
    statement_timeout = PULSE_STATEMENT_TIMEOUT

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        super().__init__(connection)
        self.floors = FloorKeeper(connection)
        self.active: dict[int, float] = {}
        """Queue id -> when the queue last changed, in monotonic seconds."""
        self._announced = self._value("select pg_current_snapshot()::text")
        self._appended = "{}"
        self.steps = [
            Step("notice_promotion", 5.0, self.notice_promotion),
            Step("announce", PULSE_SECONDS, self.announce),
            Step("announce_appends", APPENDS_SECONDS, self.announce_appends),
            Step("floors", FLOOR_SECONDS, self.move_floors, max_pause_seconds=MAX_FLOOR_PAUSE_SECONDS),
            Step("aggregate_counters", 1.0, self.aggregate_counters),
            Step("return_and_promote", 1.0, self._call("return_and_promote", None)),
            Step("release_lanes", 0.05, self._call("release_lanes")),
            Step("hint_lanes", 30.0, self._call("hint_lanes")),
            Step("ensure_partitions", 1.0, self.ensure_log),
            Step("sweep_floors", 30.0, self.floors.sweep),
        ]

    def close(self) -> None:
        self.floors.resign()

    def notice_promotion(self) -> None:
        """Notice a promotion before every other step, so that few ids can come from both servers."""
        if epoch := self._value("select signalbox.notice_promotion()"):
            log.warning("this server has taken over as epoch %d: new ids are above those of the former primary", epoch)

    def announce(self) -> None:
        """Wake the receivers of queues that have something new since the last announcement."""
        self._announced = self._value("select signalbox.announce(%s::pg_snapshot)::text", self._announced)

    def announce_appends(self) -> None:
        """Wake the readers of streams that have something new."""
        self._appended = self._value("select signalbox.announce_appends(%s::jsonb)::text", self._appended)

    def aggregate_counters(self) -> None:
        """Add up the counter deltas; the queues that changed are the active ones."""
        changed = self._value("select signalbox.aggregate_counters()") or []
        self._value("select signalbox.summarize_history(recent => true)")
        now = time.monotonic()
        self.active.update(dict.fromkeys(changed, now))
        self.active = {queue_id: at for queue_id, at in self.active.items() if now - at < ACTIVE_SECONDS}

    def move_floors(self) -> None:
        """Move the claim floors of the active queues by one step."""
        self.floors.tick(time.monotonic(), list(self.active))

    def ensure_log(self) -> None:
        """Create segments and partitions ahead of need, then publish up to which id the log reaches."""
        self._value("select signalbox.ensure_partitions()")
        self._value("select signalbox.publish_log_end()")


class Chores(Rounds):
    """The steps that may take longer: retention, history, and deletion of old rows."""

    beat_seconds = 0.5
    lock_timeout = CHORES_LOCK_TIMEOUT
    statement_timeout = CHORES_STATEMENT_TIMEOUT

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        super().__init__(connection)
        self._bodies_after = b""
        """Hash of the large body at which the last collection ended."""
        self._recorded: int | None = None
        """The bucket of history that was recorded last."""
        streams = StreamChores(connection)
        self.steps = [
            Step("expire_messages", 10.0, self._call("expire_messages")),
            Step("empty_trash", 2.0, self._call("empty_trash")),
            Step("record_history", self.beat_seconds, self.record_history),
            Step("estimate_sizes", 1.0, self._call("estimate_sizes")),
            Step("log_warnings", 10.0, self._call("log_warnings")),
            Step("aggregate_failure_groups", 5.0, self._call("aggregate_failure_groups")),
            Step("empty_deltas", 15.0, self._call("empty_deltas")),
            Step("empty_failure_group_deltas", 15.0, self._call("empty_failure_group_deltas")),
            Step("forget_failure_groups", 60.0, self._call("forget_failure_groups")),
            Step("summarize_history", 20.0, self._call("summarize_history")),
            Step("clean_up", 60.0, self._call("clean_up")),
            Step("forget_lanes", 60.0, self._call("forget_lanes")),
            Step("drop_history", 60.0, self._call("drop_history")),
            Step("drop_segments", 600.0, self.drop_segments),
            Step("drop_kept", 3600.0, self._call("drop_kept")),
            Step("drop_lost_keys", 3600.0, self._call("drop_lost_keys")),
            Step("collect_bodies", 600.0, self.collect_bodies),
            Step("sweep_bodies", 86_400.0, self.sweep_bodies, due_at=time.monotonic() + 3600.0),
            Step("ensure_stream_segments", 10.0, streams.ensure),
            Step("feed_queues", self.beat_seconds, streams.feed),
            Step("follow_log_captures", 1.0, LogCaptures(connection).follow),
            Step("drop_stream_segments", 60.0, streams.drop),
            Step("record_group_history", 10.0, self._call("record_group_history")),
            Step("compact_streams", 0.5, self._call("compact_streams")),
            Step("clean_streams", 60.0, self._call("clean_streams")),
            Step("identify_tables", 60.0, self._call("identify_tables")),
            Step("prune_audit", 3600.0, self.prune_audit),
        ]

    def record_history(self) -> None:
        """Record history once for each bucket, near its end, so that each has the events of ten seconds."""
        bucket = int((time.time() + RECORD_BEFORE_END) // BUCKET_SECONDS)
        if bucket != self._recorded:
            self._value("select signalbox.record_history()")
            self._recorded = bucket

    def collect_bodies(self) -> None:
        """Remove large bodies that no message points to; a round continues where the last one ended."""
        with storage_may_fail():
            done = collect(self.connection, bodies.store(), settings.BODIES_GRACE_SECONDS, self._bodies_after)
            self._bodies_after = done.after
            if done.removed or done.failed:
                log.info("removed %d large bodies, %d could not be", done.removed, done.failed)

    def sweep_bodies(self) -> None:
        """Remove objects without a row from the storage of large bodies."""
        with storage_may_fail():
            done = sweep(self.connection, bodies.store())
            log.info("removed %d large bodies without a row", done.orphans)

    def prune_audit(self) -> None:
        """Export rows of the audit older than the retention, and delete them; at most a hundred thousand rows."""
        if not settings.AUDIT_RETENTION_DAYS:
            return
        before = datetime.now(UTC) - timedelta(days=settings.AUDIT_RETENTION_DAYS)
        try:
            folder = Path(settings.AUDIT_EXPORT_FOLDER)
            for path, batch in prune(self.connection, before, folder, actor="upkeep", batches=10):
                log.info("pruned the audit up to row %d; the rows are in %s", batch.last, path)
        except OSError:
            log.exception("cannot write to the folder of the audit's exports; no row was deleted")

    def drop_segments(self) -> None:
        """Drop expired segments of the log, and keep the bodies that live messages need."""
        for (number,) in self.connection.execute("select signalbox.expired_segments()").fetchall():
            self._value("select signalbox.keep_live_bodies(%s)", number)
            detach(self.connection, sql.Identifier("signalbox", "message"), f"message_{number}")
            self._value("select signalbox.drop_segment(%s)", number)
            log.info("dropped segment %d of the log", number)

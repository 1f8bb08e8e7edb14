"""Move the claim floors: where every claim begins to look, so that it never walks over consumed tickets.

A floor may rise to a time T only when no ticket older than T is left and none can still appear. The proof has two
steps: move the clock to T, then note which transactions hold a writer's lock on the tables of tickets (`mark_floor`);
any transaction that takes the lock later computes a later time. When all noted ones have ended, a fresh snapshot shows
the oldest ticket (`advance_floor`). Only the elected leader does this, and a claim trusts floors only while the clock
is fresh.

A transaction that stays open is passed after a while, since one forgotten session must not slow every queue; when it
ends, floors go back once below anything it may have written.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from queues.codes import Floor

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.0  # a writer open for longer is passed: while floors wait for it, each claim reads ever more
GROUP_PATIENCE_SECONDS = 5.0  # with message groups: the end of a passed writer costs a look at each of them
TTL_SECONDS = 5.0  # after which a silent leader is replaced
PREPARED = "prepared "


@dataclass
class _Mark:
    """A moment in the tickets' time (microseconds) and the writers that may still add tickets from before it."""

    time: int
    taken_at: float
    waiting_for: set[str]


@dataclass
class FloorKeeper:
    """The state of the process that moves the floors. Losing it with the process is safe (`take_lead.sql`)."""

    connection: psycopg.Connection[Any]
    ttl_seconds: float = TTL_SECONDS
    token: uuid.UUID = field(default_factory=uuid.uuid4)
    leading: bool = False
    passed: dict[str, int] = field(default_factory=dict)
    """Writers passed while still open, each with a time below all it may have written."""
    _mark: _Mark | None = None
    _previous_time: int = 0

    def tick(self, now: float, active_queue_ids: Sequence[int]) -> bool:
        """Do one step, about ten times a second; `now` is monotonic seconds. True when this process leads."""
        if not self._lead():
            return False
        self._ensure_floors(active_queue_ids)
        writers = set(self._run("select signalbox.ticket_writers()"))
        self._settle_passed(writers)
        if self._mark is not None and self._may_advance(self._mark, writers, now):
            self._run("select signalbox.advance_floor(%s, %s, %s)", self.token, self._mark.time, list(active_queue_ids))
            self._previous_time, self._mark = self._mark.time, None
        if self._mark is None:
            self._take_mark(now)
        return self.leading

    def sweep(self) -> int:
        """Look for tickets below every floor, and log an error for any. Skipped while a writer is passed."""
        if not self.leading or self.passed:
            return 0
        reset = int(self._run("select signalbox.sweep_floors(%s)", self.token) or 0)
        if reset:
            log.error("%d claim floors had passed a live ticket and were reset", reset)
        return reset

    def resign(self) -> None:
        """Let another process lead at once."""
        if self.leading:
            self._run("select signalbox.resign_lead(%s)", self.token)
            self.leading = False

    def _lead(self) -> bool:
        answer = self._run("select signalbox.take_lead(%s, %s)", self.token, self.ttl_seconds)
        # "following" forgets nothing: it may only mean that a rival was asking at that instant. A process that really
        # lost the lead has to be elected again, and then every floor is at its minimum.
        if answer == "elected":
            self._mark, self._previous_time, self.passed = None, 0, {}
        self.leading = answer != "following"
        return self.leading

    def _ensure_floors(self, active_queue_ids: Sequence[int]) -> None:
        # Asked for every active queue each time: a first message of a new priority adds a head.
        if active_queue_ids:
            self._run(
                "select signalbox.ensure_floors(%s, array(select distinct h.queue_id from signalbox.claim_floor h"
                " where h.queue_id = any(%s) and h.floor is null))",
                self.token,
                list(active_queue_ids),
            )

    def _settle_passed(self, writers: set[str]) -> None:
        """Lower the floors once, below the tickets of writers that were passed and have ended."""
        ended = {name: bound for name, bound in self.passed.items() if name not in writers}
        if not ended:
            return
        bound = min(ended.values())
        # PREPARE TRANSACTION renames a writer: unknown prepared ones may be those that seem to have ended.
        for name in writers - self.passed.keys():
            if name.startswith(PREPARED):
                self.passed[name] = bound
        if self._run("select signalbox.lower_floors(%s, %s)", self.token, bound):
            for name in ended:
                del self.passed[name]
            self._mark = None  # the mark was taken under the higher floors

    def _may_advance(self, mark: _Mark, writers: set[str], now: float) -> bool:
        unknown_prepared = {name for name in writers if name.startswith(PREPARED)}
        waiting_for = ((mark.waiting_for & writers) | unknown_prepared) - self.passed.keys()
        if waiting_for and self._is_out_of_patience(now - mark.taken_at):
            # They took their locks after the mark before this one was moved, or they would have been noted then.
            self.passed.update(dict.fromkeys(waiting_for, self._previous_time))
            log.info("passing %d transactions that stay open with unsent tickets", len(waiting_for))
            return True
        return not waiting_for

    def _is_out_of_patience(self, waited_seconds: float) -> bool:
        if waited_seconds < PATIENCE_SECONDS:
            return False
        groups = "select exists (select from signalbox.claim_floor where kind = %s)"
        return waited_seconds >= GROUP_PATIENCE_SECONDS or not self._run(groups, Floor.LANE_HINT)

    def _take_mark(self, now: float) -> None:
        row = self.connection.execute("select mark, holders from signalbox.mark_floor(%s)", [self.token]).fetchone()
        if row is None:
            self.leading = False
            return
        self._mark = _Mark(row[0], now, set(row[1]))

    def _run(self, statement: str, *parameters: Any) -> Any:
        row = self.connection.execute(statement, parameters).fetchone()
        return row[0] if row else None

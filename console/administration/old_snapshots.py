"""The page of old snapshots: the sessions that keep PostgreSQL from removing dead rows, with advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from psycopg import sql

from console.access.roles import may, requires
from console.web import wording
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange
from dlq.masking.masks import MASK
from dlq.masking.rules import Masking
from metrics.reading.xmin_holders import (
    BACKEND,
    CATALOG_SLOT,
    HIDDEN_BACKEND,
    PREPARED_TRANSACTION,
    REPLICATION_SLOT,
    STANDBY,
    YOUNG_SECONDS,
    Holder,
    read_holders,
)
from queues.database.connections import UPKEEP

MAX_HOLDERS = 100
EXACT = (BACKEND, PREPARED_TRANSACTION)
TITLES = {
    BACKEND: "Session",
    HIDDEN_BACKEND: "Session",
    PREPARED_TRANSACTION: "Prepared transaction",
    REPLICATION_SLOT: "Replication slot",
    CATALOG_SLOT: "Replication slot",
    STANDBY: "Standby",
}


COLUMNS: Columns[Holder] = {
    "holder": lambda one: one.name,
    "held": lambda one: one.age_seconds,
    "transactions": lambda one: one.age_transactions,
    "activity": lambda one: one.state,
}


@require_safe
@requires("see_metadata")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /old-snapshots: list the holders, oldest first. Masking rules hide statements, because they may quote
    payloads.
    """
    holders = read_holders()
    sees_queries = may(request.user, "see_payloads")
    masks = bool(Masking())
    listed = arrange(request, holders[:MAX_HOLDERS], COLUMNS)
    context = {
        "title": "Old snapshots",
        "rows": [Row(one, _query(one, masks=masks) if sees_queries else None) for one in listed.rows],
        "sort": listed.links,
        "count": len(holders),
        "old": sum(one.is_old for one in holders),
        "hidden": sum(one.kind == HIDDEN_BACKEND for one in holders),
        "young_seconds": YOUNG_SECONDS,
        "old_seconds": settings.OLD_SNAPSHOT_SECONDS,
    }
    return render_page(
        request, "administration/old_snapshots/browse.html", "administration/old_snapshots/_list.html", context
    )


def _query(holder: Holder, *, masks: bool) -> str | None:
    """Return the holder's statement, masked as a whole if any rule exists, because its queue is unknown."""
    return MASK if masks and holder.query else holder.query


@dataclass(frozen=True)
class Advice:
    """Advice, with an SQL statement to copy into psql if one applies."""

    words: str
    statement: str = ""


@dataclass(frozen=True)
class Row:
    """One holder of an old snapshot on the page."""

    holder: Holder
    query: str | None
    """None if the session has no statement, or if the console's role may not see the statement."""

    @property
    def title(self) -> str:
        return TITLES[self.holder.kind]

    @property
    def held_for(self) -> str:
        """Say how long the snapshot is held, and whether it may be longer."""
        age = wording.span(self.holder.age_seconds)
        return age if self.holder.age_seconds is None or self.holder.kind in EXACT else f"at least {age}"

    @property
    def facts(self) -> list[str]:
        """Return the known facts of the holder."""
        holder = self.holder
        known = {"": holder.application, "role": holder.user, "database": holder.database, "from": holder.client}
        named = holder.kind == STANDBY  # a standby's application name is its name
        return [f"{label} {value}".strip() for label, value in known.items() if value and not (named and not label)]

    @property
    def state(self) -> str:
        if self.holder.kind == HIDDEN_BACKEND:
            return "hidden from this role"
        state = self.holder.state or wording.NOTHING
        if self.holder.kind in (REPLICATION_SLOT, CATALOG_SLOT):
            return {"active": "in use", "inactive": "not in use"}.get(state, state)
        return state

    @property
    def advice(self) -> Advice:
        return advise(self.holder)


def warning(holders: Sequence[Holder]) -> str:
    """Return a sentence about the oldest snapshot above the limit, for the overview; empty if there is none."""
    old = [holder for holder in holders if holder.is_old]
    if not old:
        return ""
    row = Row(old[0], query=None)
    others = f" {wording.plural(len(old) - 1, 'other holder')} beside it." if len(old) > 1 else ""
    return f"{_who(row)} has kept PostgreSQL from removing dead rows for {row.held_for}.{others}"


def _who(row: Row) -> str:
    """Name a session, such as "Session 4711 of reporting (psql, idle in transaction)"."""
    holder = row.holder
    owner = f" of {holder.user}" if holder.user else ""
    application = holder.application if holder.kind in (BACKEND, HIDDEN_BACKEND) else None
    state = row.state if holder.kind != PREPARED_TRANSACTION else ""
    doing = ", ".join(filter(None, (application, state)))
    return f"{row.title} {holder.name}{owner}" + (f" ({doing})" if doing else "")


TERMINATE = "select pg_terminate_backend({pid});"
DROP_SLOT = "select pg_drop_replication_slot({name});"
NO_FEEDBACK = "alter system set hot_standby_feedback = off; select pg_reload_conf();"
OWN_UPKEEP = Advice(
    "Signalbox's own upkeep, in a step that takes too long. If you end the session, upkeep connects again and "
    "repeats the step.",
    TERMINATE,
)
# Advice by kind and by whether the session is active.
ADVICE = {
    (BACKEND, True): Advice(
        "A long statement is running: a report, a dump, or an index. Let it finish, or cancel it.",
        "select pg_cancel_backend({pid});",
    ),
    (BACKEND, False): Advice(
        "An idle open transaction. Commit or roll back in its program, or end the session, which rolls back its "
        "changes.",
        TERMINATE,
    ),
    (HIDDEN_BACKEND, False): Advice(
        "The console's role may not see this session's times and statement. The age is that of its transaction id; "
        "the session may be younger and wait for an older holder. To let the role see it:",
        "grant pg_read_all_stats to {reader};",
    ),
    (PREPARED_TRANSACTION, False): Advice(
        "A prepared transaction waits for its transaction manager. If that is gone, find out whether the other part "
        "was committed, and do the same in database {database} as {user}: commit prepared, or",
        "rollback prepared {name};",
    ),
    (REPLICATION_SLOT, True): Advice(
        "A long query runs on the standby that uses this slot. End the query, or, if the primary matters more, run "
        "on the standby:",
        NO_FEEDBACK,
    ),
    (REPLICATION_SLOT, False): Advice(
        "The standby of this slot is disconnected. Start it again, or, if it will not return, drop the slot, which "
        "also keeps WAL:",
        DROP_SLOT,
    ),
    (CATALOG_SLOT, True): Advice(
        "It keeps only rows of system catalogs and does not slow queues. Its consumer may lag behind."
    ),
    (CATALOG_SLOT, False): Advice(
        "It keeps only rows of system catalogs and does not slow queues. No client reads from it, and it keeps WAL. "
        "If its consumer will not return:",
        DROP_SLOT,
    ),
    (STANDBY, False): Advice(
        "A long query runs on this standby. End the query, or, if the primary matters more, run on the standby:",
        NO_FEEDBACK,
    ),
}


def advise(holder: Holder) -> Advice:
    """Return advice for a holder by its kind and state."""
    is_upkeep = holder.kind == BACKEND and (holder.application or "").startswith(UPKEEP)
    key = (holder.kind, holder.state == "active")
    advice = OWN_UPKEEP if is_upkeep else ADVICE.get(key, ADVICE[holder.kind, False])
    words = advice.words.format(database=holder.database, user=holder.user)
    name, reader = sql.Literal(holder.name).as_string(None).strip(), sql.Identifier(holder.reader).as_string(None)
    return Advice(words, advice.statement.format(pid=holder.pid, name=name, reader=reader))

"""Whoever keeps PostgreSQL from removing dead rows, in words: who it is, what it does, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from console import wording
from metrics.xmin_holders import (
    BACKEND,
    CATALOG_SLOT,
    HIDDEN_BACKEND,
    PREPARED_TRANSACTION,
    REPLICATION_SLOT,
    STANDBY,
    Holder,
)
from queues.connections import UPKEEP

EXACT = (BACKEND, PREPARED_TRANSACTION)
TITLES = {
    BACKEND: "Session",
    HIDDEN_BACKEND: "Session",
    PREPARED_TRANSACTION: "Prepared transaction",
    REPLICATION_SLOT: "Replication slot",
    CATALOG_SLOT: "Replication slot",
    STANDBY: "Standby",
}


@dataclass(frozen=True)
class Advice:
    """What to do, and the statement that does it, where there is one, ready to be copied into psql."""

    words: str
    statement: str = ""


@dataclass(frozen=True)
class Row:
    """One holder as the page shows it."""

    holder: Holder
    query: str | None
    """None when there is none or when the reader may not see it."""

    @property
    def title(self) -> str:
        return TITLES[self.holder.kind]

    @property
    def held_for(self) -> str:
        """How long it has held, saying when it may be longer."""
        age = wording.span(self.holder.age_seconds)
        return age if self.holder.age_seconds is None or self.holder.kind in EXACT else f"at least {age}"

    @property
    def facts(self) -> list[str]:
        """Who it is, as far as is known."""
        holder = self.holder
        known = {"": holder.application, "role": holder.user, "database": holder.database, "from": holder.client}
        named = holder.kind == STANDBY  # whose application is its name
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
    """One sentence about the oldest of those that are too old, for the overview; empty when there is none."""
    old = [holder for holder in holders if holder.is_old]
    if not old:
        return ""
    row = Row(old[0], query=None)
    others = f" {wording.plural(len(old) - 1, 'other holder')} beside it." if len(old) > 1 else ""
    return f"{_who(row)} has kept PostgreSQL from removing dead rows for {row.held_for}.{others}"


def _who(row: Row) -> str:
    """Session 4711 of reporting (psql, idle in transaction)."""
    holder = row.holder
    owner = f" of {holder.user}" if holder.user else ""
    application = holder.application if holder.kind in (BACKEND, HIDDEN_BACKEND) else None
    state = row.state if holder.kind != PREPARED_TRANSACTION else ""
    doing = ", ".join(filter(None, (application, state)))
    return f"{row.title} {holder.name}{owner}" + (f" ({doing})" if doing else "")


def advise(holder: Holder) -> Advice:
    """What to do about a holder, by its kind."""
    return {
        BACKEND: _about_session,
        HIDDEN_BACKEND: _about_hidden_session,
        PREPARED_TRANSACTION: _about_prepared_transaction,
        REPLICATION_SLOT: _about_slot,
        CATALOG_SLOT: _about_catalog_slot,
        STANDBY: _about_standby,
    }[holder.kind](holder)


def _about_session(holder: Holder) -> Advice:
    end = f"select pg_terminate_backend({holder.pid});"
    if (holder.application or "").startswith(UPKEEP):
        return Advice(
            "Our own upkeep, at a step that takes too long. Ended, it connects again and repeats the step.", end
        )
    if holder.state == "active":
        return Advice(
            "At work on a long statement: a report, a dump, an index. Let it finish, or cancel it.",
            f"select pg_cancel_backend({holder.pid});",
        )
    return Advice(
        "Its program began a transaction and does nothing in it. Commit or roll back there; or end the session, and"
        " what it has not committed is undone.",
        end,
    )


def _about_hidden_session(holder: Holder) -> Advice:
    return Advice(
        "Since when and why is hidden from the console's role. The age is that of its transaction id; the session may"
        " be young and only follow an older holder. To let the role look:",
        f"grant pg_read_all_stats to {_identifier(holder.reader)};",
    )


def _about_prepared_transaction(holder: Holder) -> Advice:
    return Advice(
        f"Its transaction manager has to decide. If that is gone, find out whether the other half was committed, and do"
        f" the same in database {holder.database} as {holder.user}: commit prepared, or",
        f"rollback prepared {_literal(holder.name)};",
    )


def _about_slot(holder: Holder) -> Advice:
    if holder.state == "active":
        return Advice(
            "A long query runs on the standby that uses it. End it there; or, where the primary matters more, on the"
            " standby:",
            "alter system set hot_standby_feedback = off; select pg_reload_conf();",
        )
    return Advice(
        "Its standby is away. Bring it back; or, if it will not return, drop the slot, which keeps WAL as well.",
        _dropping(holder),
    )


def _about_catalog_slot(holder: Holder) -> Advice:
    if holder.state == "active":
        return Advice("It keeps rows of system catalogs alone, and queues do not feel it. Its consumer may lag behind.")
    return Advice(
        "It keeps rows of system catalogs alone, and queues do not feel it; but nobody reads from it, and it keeps WAL."
        " If its consumer will not return:",
        _dropping(holder),
    )


def _about_standby(holder: Holder) -> Advice:
    return Advice(
        "A long query runs on this standby. End it there; or, where the primary matters more, on the standby:",
        "alter system set hot_standby_feedback = off; select pg_reload_conf();",
    )


def _dropping(holder: Holder) -> str:
    return f"select pg_drop_replication_slot({_literal(holder.name)});"


def _literal(text: str) -> str:
    return sql.Literal(text).as_string(None).strip()


def _identifier(text: str) -> str:
    return sql.Identifier(text).as_string(None)

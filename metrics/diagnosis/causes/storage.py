"""Causes in PostgreSQL: dead rows that every query has to skip."""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.suspects import Cause, Figure, Found, Page, Proof, percent, suspect
from metrics.diagnosis.thresholds import DEAD_ROWS, UNVACUUMED_SECONDS
from metrics.wording import number, span


@suspect(Cause.OLD_SNAPSHOT)
def old_snapshot(evidence: Evidence) -> Found | str:
    """Suspect an old snapshot: it keeps dead rows, and consumers get less done although their work is not slower."""
    holder = evidence.holder
    if holder is None:
        return "no old snapshot is held"
    held = span(holder.age_seconds)
    if not _does_less_for_no_other_reason(evidence):
        return f"an old snapshot is held for {held}, but {_done(evidence)}"
    return Found(
        sentence=f"An old snapshot, held for {held}: until it ends no dead row is removed, and {_done(evidence)}.",
        short=f"An old snapshot is held for {held}, and {_done(evidence)}.",
        figures=(
            Figure("held_seconds", holder.age_seconds, "held for", held),
            Figure("holder", holder.name, "by", f"{holder.kind.replace('_', ' ')} {holder.name}"),
            Figure("done_share", evidence.done_share, "share of earlier work", percent(evidence.done_share or 0.0)),
        ),
        proof=Proof(Page.OLD_SNAPSHOTS, "the holder of the snapshot"),
        advice="End the session or drop the slot that holds it: the page says how. Vacuum then catches up by itself.",
    )


@suspect(Cause.AUTOVACUUM_BEHIND)
def autovacuum_behind(evidence: Evidence) -> Found | str:
    """Suspect autovacuum: dead rows pile up although no snapshot holds them, and consumers get less done."""
    rows = evidence.dead_rows
    if rows is None or rows.dead < DEAD_ROWS or rows.dead < rows.live:
        return f"{number(rows.dead)} dead rows in {rows.table}" if rows is not None else "nothing is known of dead rows"
    if evidence.holder is not None:
        return "an old snapshot keeps vacuum from removing dead rows"
    if rows.vacuumed_seconds is not None and rows.vacuumed_seconds < UNVACUUMED_SECONDS:
        return f"{rows.table} was vacuumed {span(rows.vacuumed_seconds)} ago"
    dead = f"{number(rows.dead)} dead rows in {rows.table}, {number(rows.live)} live"
    if not _does_less_for_no_other_reason(evidence):
        return f"{dead}, but {_done(evidence)}"
    last = f"last vacuumed {span(rows.vacuumed_seconds)} ago" if rows.vacuumed_seconds is not None else "never vacuumed"
    return Found(
        sentence=f"Autovacuum is behind: {dead}, {last}, and {_done(evidence)}.",
        short=f"Autovacuum is behind: {dead}.",
        figures=(
            Figure("dead_rows", rows.dead, f"dead rows in {rows.table}", number(rows.dead)),
            Figure("live_rows", rows.live, "live rows", number(rows.live)),
            Figure("vacuumed_seconds", rows.vacuumed_seconds, "last vacuumed", last),
        ),
        proof=Proof(Page.OLD_SNAPSHOTS, "the empty list of old snapshots"),
        advice=f"Run vacuum signalbox.{rows.table}; then raise autovacuum_max_workers and"
        " autovacuum_vacuum_cost_limit, and remove any setting of the table that switches autovacuum off.",
    )


def _does_less_for_no_other_reason(evidence: Evidence) -> bool:
    """Tell whether consumers do much less although messages wait and their work takes no longer."""
    return bool(evidence.waiting and evidence.numbers.consumers and evidence.does_less and not evidence.work.slower)


def _done(evidence: Evidence) -> str:
    if evidence.done_share is None:
        return "what was done before is unknown"
    return f"{percent(evidence.done_share)} of what was done before is done now"

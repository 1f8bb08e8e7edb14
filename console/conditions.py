"""What everybody should know who looks at any page: the database takes no writes, or may lose what it has promised."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import connection

from metrics.wording import span
from queues.clock import TOLERATED_SECONDS
from queues.durability import MUST_BE_ON, READ_ONLY, Unsafe, judge
from queues.maintenance.models import Maintenance

_QUERY = """
select
  s.settings,
  m.started_by,
  m.started_at,
  m.reason,
  m.until,
  m.holds_claims,
  m.refuses_sends,
  signalbox.clock_ahead_seconds() as clock_ahead_seconds
from (select json_object_agg(p.name, p.setting) as settings from pg_settings p where p.name = any(%s)) s
left join signalbox.maintenance m on true
"""
_COLUMNS = ("started_by", "started_at", "reason", "until", "holds_claims", "refuses_sends")


@dataclass(frozen=True)
class Notice:
    """One sentence at the head of pages; `tone` is bad or warn."""

    title: str
    text: str
    tone: str


@dataclass(frozen=True)
class Conditions:
    """Those of one moment."""

    read_only: bool = False
    unsafe: Sequence[Unsafe] = ()
    maintenance: Maintenance | None = None
    clock_ahead_seconds: float = 0.0

    def notices(self, *, at_home: bool) -> Iterator[Notice]:
        """Those of every page; at home, the overview, also what is no news."""
        if self.maintenance is not None:
            yield _of_maintenance(self.maintenance)
        if self.read_only:
            yield Notice(
                "The database is read-only.",
                "It is a standby, or default_transaction_read_only is on. Nothing can be sent, received or changed."
                " What is shown is true.",
                "bad",
            )
        if at_home and self.clock_ahead_seconds > TOLERATED_SECONDS:
            yield Notice(
                f"The engine's clock is {span(self.clock_ahead_seconds)} ahead of the database server's.",
                "No lease, retry or delay ends before that time. If the server's clock is right again, run"
                " manage.py clock reset.",
                "bad",
            )
        if at_home and self.unsafe:
            yield Notice(
                "Messages that were acknowledged may be lost.",
                "; ".join(str(one) for one in self.unsafe) + ". Turn it on: manage.py check --database default.",
                "warn",
            )


def read() -> Conditions:
    """One query."""
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, [[*MUST_BE_ON, READ_ONLY]])
        settings, *row, ahead = cursor.fetchone()
    settings = json.loads(settings) if isinstance(settings, str) else settings
    held = Maintenance(**dict(zip(_COLUMNS, row, strict=True))) if row[0] else None
    return Conditions(settings.get(READ_ONLY) == "on", judge(settings), held, ahead)


def _of_maintenance(row: Maintenance) -> Notice:
    """Who, why, until when, and what goes on and what does not."""
    late = row.overdue()
    title = f"Maintenance by {row.started_by}, {until_when(row)}."
    effects = [*row.effects, "only administrators change anything"]
    words = f"“{row.reason}” Meanwhile {', '.join(effects)}."
    return Notice(title, words, "bad" if late else "warn")


def until_when(row: Maintenance) -> str:
    """When it ends, as far as anybody said."""
    if row.until is None:
        return "until it is ended"
    said = f"{row.until:%d %b %H:%M} UTC"
    return f"which was to end by {said}" if row.overdue() else f"until {said}"

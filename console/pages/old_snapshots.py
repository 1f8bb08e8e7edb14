"""Old snapshots: who keeps PostgreSQL from removing dead rows, and what to do about it."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.htmx import render_page
from console.old_snapshots import Row
from console.roles import may, requires
from dlq.masking import MASK
from dlq.masking_rules import Masking
from metrics.xmin_holders import HIDDEN_BACKEND, YOUNG_SECONDS, Holder, read_holders

MOST_HOLDERS = 100


@require_safe
@requires("see_metadata")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /old-snapshots: the holders, oldest first. Statements may quote payloads, so masking rules hide them."""
    holders = read_holders()
    sees_queries = may(request.user, "see_payloads")
    masks = bool(Masking())
    context = {
        "title": "Old snapshots",
        "rows": [Row(one, _query(one, masks=masks) if sees_queries else None) for one in holders[:MOST_HOLDERS]],
        "count": len(holders),
        "old": sum(one.is_old for one in holders),
        "hidden": sum(one.kind == HIDDEN_BACKEND for one in holders),
        "young_seconds": YOUNG_SECONDS,
        "old_seconds": settings.OLD_SNAPSHOT_SECONDS,
    }
    return render_page(request, "old_snapshots/browse.html", "old_snapshots/_list.html", context)


def _query(holder: Holder, *, masks: bool) -> str | None:
    """The holder's statement, masked as a whole if any rule exists: the queue of a statement is not known."""
    return MASK if masks and holder.query else holder.query

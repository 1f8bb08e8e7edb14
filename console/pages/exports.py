"""Files to take away: each list of messages, dead letters and actions, as it is filtered."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from console import exports, queue_head, reached_audit, roles
from console.filterbar import readable_filter, typed
from console.pages import audit
from console.roles import requires
from console.subjects import QUEUE
from dlq import export_rows
from dlq.browse import State
from dlq.exporting import Format
from dlq.filters import FilterError
from queues.models import AuditEvent


@require_GET
@requires("see_metadata", in_part=True)
def dead_letters(request: HttpRequest) -> HttpResponseBase:
    """GET /exports/dead-letters?q=&format=: every dead letter that the filter selects; a mistake leads to the list."""
    try:
        chosen = readable_filter(typed(request), request)
        source = export_rows.dead_letters(chosen, see_payloads=roles.may_here(request, "see_payloads"))
    except FilterError:
        return redirect(f"{reverse('dead_letters')}?{urlencode({'q': typed(request)})}")
    return exports.answer(request, source, _form(request), "dead-letters")


@require_GET
@requires("see_metadata", of=QUEUE)
def messages(request: HttpRequest, name: str) -> HttpResponseBase:
    """GET /exports/messages/<queue>?state=&q=&format=: the messages of one state that the filter selects."""
    head = queue_head.find(name)
    asked = request.GET.get("state", "")
    state = State(asked) if asked in set(State) else State.READY
    try:
        chosen = readable_filter(typed(request), request, name)
        see = roles.may_here(request, "see_payloads")
        source = export_rows.messages(head.queue, chosen, state, see_payloads=see)
    except FilterError:
        query = urlencode({"state": state.value, "q": typed(request)})
        return redirect(f"{reverse('queue_messages', args=[name])}?{query}")
    return exports.answer(request, source, _form(request), f"{name}-{state.value}")


@require_GET
@requires("see_metadata", in_part=True)
def audit_events(request: HttpRequest) -> HttpResponseBase:
    """GET /exports/audit?q=&format=: every action that the filter selects."""
    reach = roles.reach(request.user, "see_metadata")
    events, mistake = audit.select(reached_audit.within(AuditEvent.objects.all(), reach), typed(request))
    if mistake:
        return redirect(f"{reverse('audit')}?{urlencode({'q': typed(request)})}")
    return exports.answer(request, exports.audit_events(events, typed(request), reach), _form(request), "audit")


def _form(request: HttpRequest) -> Format:
    return Format.CSV if request.GET.get("format") == Format.CSV else Format.NDJSON

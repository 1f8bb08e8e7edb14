"""Pages of captures: the list of captured tables, a form for a new capture, and the end of a capture."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages as notices
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from console.access import roles
from console.access.roles import requires
from console.access.subjects import STREAM
from console.captures.forms import CaptureForm
from console.streams.views import find
from console.web.forms.fields import ReasonForm, refusals, tell
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange
from queues.control import captures
from queues.control.captures import Capture

COLUMNS: Columns[tuple[Capture, bool]] = {
    "table": lambda row: row[0].table,
    "stream": lambda row: row[0].stream,
    "backfill": lambda row: row[0].backfilled,
    "lag": lambda row: row[0].lag_messages,
    "lag_time": lambda row: row[0].lag_seconds,
}


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /captures: the captured tables, with the streams to which their changes go."""
    seen, held = (roles.reach(request.user, permission) for permission in ("see_metadata", "configure"))
    rows = [
        (one, held.holds(one.stream, one.tenant))
        for one in captures.read_captures()
        if seen.holds(one.stream, one.tenant)
    ]
    listed = arrange(request, rows, COLUMNS)
    context = {"title": "Captures", "rows": listed.rows, "sort": listed.links}
    return render_page(request, "captures/browse.html", "captures/_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def new(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /streams/<name>/new-capture: append the changes of a table to the stream."""
    stream = find(name)
    tables = settings.CAPTURE_TABLES.tables(stream.tenant.name)
    form = CaptureForm(request.POST if request.method == "POST" else None, stream=name, tables=tables)
    if form.is_valid():
        with refusals(form, table_name="table", stream="table"):
            made = captures.capture(stream=name, actor=request.user.get_username(), **form.cleaned_data)
            notices.success(request, f"Changes of {made.table} go to {name}.")
            return redirect("captures")
    context = {"title": f"Capture a table · {name}", "stream": stream, "tables": tables, "form": form}
    return render_form(request, "captures/new.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def end(request: HttpRequest, name: str, capture_id: int) -> HttpResponse:
    """GET /streams/<name>/captures/<id>/end: preview the end of a capture. POST: end it."""
    capture = captures.read_capture(name, capture_id)
    if capture is None:
        raise Http404(f"The stream {name} has no capture {capture_id}.")
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        actor, reason = request.user.get_username(), form.cleaned_data["reason"]
        ended = captures.end_capture(capture_id, actor=actor, reason=reason)
        tell(
            request, ended, f"Changes of {capture.table or 'the dropped table'} are no longer captured.", "it had ended"
        )
        return redirect("captures")
    context = {"title": f"End capture · {name}", "capture": capture, "form": form}
    return render_form(request, "captures/end.html", context)

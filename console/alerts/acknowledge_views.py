"""Acknowledgements: a person says that they work on the alerts of one cause."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from console.access import roles
from console.access.roles import requires
from console.alerts.lines import alerts_within
from console.web.wording import plural
from metrics.alerts import acknowledging

MAX_ID = 2**63 - 1


@require_POST
@requires("silence", in_part=True)
def acknowledge(request: HttpRequest) -> HttpResponse:
    """POST /alerts/acknowledge: note the person at these alerts; with `withdraw`, remove the note."""
    roles.check_here(request, "silence")
    alerts = alerts_within(roles.reach(request.user, "silence")).filter(pk__in=_ids(request))
    actor = request.user.get_username()
    if "withdraw" in request.POST:
        changed, done = acknowledging.withdraw(alerts, actor=actor), "no longer acknowledged"
    else:
        changed, done = acknowledging.acknowledge(alerts, actor=actor), f"acknowledged by {actor}"
    if changed:
        messages.success(request, f"{plural(changed, 'alert')} {done}.")
    else:
        messages.warning(request, "Nothing was changed: these alerts have ended, or another person changed them.")
    return redirect("alerts")


def _ids(request: HttpRequest) -> list[int]:
    """Read the numbers of the alerts; any other text names no alert."""
    given = request.POST.getlist("id")[: acknowledging.MAX_ALERTS]
    return [int(text) for text in given if text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= MAX_ID]

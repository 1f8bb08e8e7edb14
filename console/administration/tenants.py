"""Pages of tenants: their quotas, their present use, and a form that changes quotas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from console.access import roles
from console.access.reauthentication import confirms
from console.access.roles import requires
from console.access.subjects import TENANT
from console.overview import standings
from console.web.forms.fields import reason_field, refusals, setting_field
from console.web.forms.reviews import Review, ReviewedForm, review
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange
from console.web.wording import byte_size, number, plural, rate, span
from queues.control import quotas
from queues.control.quotas import TenantUse
from queues.models import AuditEvent, Tenant
from queues.settings import QUOTAS


@dataclass(frozen=True)
class Measure:
    """Presentation of one quota: its heading, the use that it limits, and the wording of a value."""

    heading: str
    used_by: Callable[[TenantUse], float | None]
    in_words: Callable[[Any], str] = number
    is_always_shown: bool = True


MEASURES = {
    "max_queues": Measure("Queues", lambda use: use.queues),
    "max_backlog_messages": Measure("Messages", lambda use: use.messages),
    "max_backlog_bytes": Measure("Bytes", lambda use: use.bytes_held, byte_size, is_always_shown=False),
    "max_in_flight": Measure("In flight", lambda use: use.in_flight),
    "publish_rate_per_second": Measure("Sent/s", lambda use: use.in_per_second, rate),
    "max_oldest_age_seconds": Measure("Oldest", lambda use: use.oldest_seconds, span),
    "max_streams": Measure("Streams", lambda use: use.streams, is_always_shown=False),
    "max_stream_bytes": Measure("Stream bytes", lambda use: use.stream_bytes, byte_size, is_always_shown=False),
    "max_retention_seconds": Measure("Retention", lambda use: None, span, is_always_shown=False),
    "max_long_polls": Measure("Long polls", lambda use: use.long_polls, is_always_shown=False),
}
"""Every quota that the list of tenants shows, in the order of its columns."""
COLUMNS: Columns[TenantUse] = {
    "tenant": lambda use: use.tenant.name,
    **{name: measure.used_by for name, measure in MEASURES.items()},
}
NEARLY_USED = 0.8


@dataclass(frozen=True)
class Usage:
    """One quota of one tenant and its present use; an empty text is not shown."""

    heading: str
    used: float | None
    limit: float
    used_words: str
    limit_words: str

    @property
    def is_above(self) -> bool:
        """Return whether more is used than the quota allows."""
        return bool(self.limit) and (self.used or 0) > self.limit

    @property
    def tone(self) -> str:
        """Return the colour of the bar: red at the quota, yellow near it."""
        share = (self.used or 0) / self.limit if self.limit else 0.0
        return "bad" if share >= 1 else "warn" if share >= NEARLY_USED else ""


def usage_of(use: TenantUse, name: str) -> Usage:
    """Return the use of one quota, in numbers and in words."""
    measure, limit = MEASURES[name], getattr(use.tenant, name)
    used = measure.used_by(use)
    is_shown = used is not None and (limit or measure.is_always_shown)
    words = measure.in_words(used) if is_shown else ""
    return Usage(measure.heading, used, limit, words, measure.in_words(limit) if limit else "")


class QuotaForm(ReviewedForm):
    """A form for the quotas of a tenant."""

    settings = QUOTAS

    def __init__(self, data: Any = None, *, use: TenantUse) -> None:
        self.before = quotas_of(use.tenant)
        super().__init__(data, initial=self.before)
        for name, quota in QUOTAS.items():
            self.fields[name] = setting_field(quota)
            if (used := MEASURES[name].used_by(use)) is not None:
                self.fields[name].help_text += f" In use: {MEASURES[name].in_words(used)}."
        self.fields["reason"] = reason_field("Recorded in the audit with the changes.")

    def quotas(self) -> list[forms.BoundField]:
        return [self[name] for name in QUOTAS]


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /tenants: show every tenant with its quotas and their use."""
    reach = roles.reach(request.user, "see_metadata")
    seen = [use for use in quotas.read_use() if reach.holds_tenant(use.tenant.name)]
    tenants = arrange(request, seen, COLUMNS)
    context = {
        "title": "Tenants & quotas",
        "headings": [(name, measure.heading) for name, measure in MEASURES.items()],
        "tenants": [(use, [usage_of(use, name) for name in MEASURES]) for use in tenants.rows],
        "sort": tenants.links,
    }
    return render_page(request, "administration/tenants/browse.html", "administration/tenants/_list.html", context)


@confirms
@require_http_methods(["GET", "HEAD", "POST"])
@requires("see_metadata", of=TENANT)
def edit(request: HttpRequest, tenant_id: int) -> HttpResponse:
    """GET, POST /tenants/<id>: show the quotas and their use, and change them with the permission `configure`."""
    use = next((one for one in quotas.read_use() if one.tenant.pk == tenant_id), None)
    if request.method == "POST":
        roles.check(request.user, "configure")  # a tenant cannot widen its own limits
    if use is None:
        raise Http404("There is no such tenant.")
    tenant = use.tenant
    form = QuotaForm(request.POST if request.method == "POST" else None, use=use)
    found = None
    if form.is_valid():
        with refusals(form):
            found = _save(request, use, form)
            if found is None:
                return redirect("tenant", tenant_id)
    context = {
        "title": f"Tenant {tenant.name}",
        "tenant": tenant,
        "form": form,
        "review": found,
        "mistake": found and found.mistake,
        "denied": roles.denial(request.user, "configure"),
    }
    return render_form(request, "administration/tenants/edit.html", context)


@transaction.atomic
def _save(request: HttpRequest, use: TenantUse, form: QuotaForm) -> Review | None:
    """Save quotas that the person has reviewed as they are. Return the review that is still to be confirmed."""
    locked = Tenant.objects.select_for_update(no_key=True).get(pk=use.tenant.pk)
    found = review(form, quotas_of(locked), AuditEvent.objects.filter(details__tenant=locked.name))
    if not found.is_confirmed(request.POST):
        return replace(found, warnings=list(_warnings(use, found))).after(request.POST)
    actor, reason = request.user.get_username(), form.cleaned_data["reason"]
    quotas.set_quota(locked.name, found.changes, actor=actor, reason=reason)
    standings.forget()
    changed = len(found.changes)
    done = f"Changed {plural(changed, 'quota')} of {locked.name}." if changed else "Nothing was changed."
    messages.success(request, done)
    return None


def _warnings(use: TenantUse, found: Review) -> Iterator[str]:
    """Say which new quotas are below the present use, and what that means."""
    after = replace(use, tenant=copy(use.tenant))
    for name, value in found.changes.items():
        setattr(after.tenant, name, value)
        usage = usage_of(after, name)
        if usage.is_above:
            words = f"{usage.used_words} in use, above the new quota of {usage.limit_words}"
            yield f"{usage.heading}: {words}: {quotas.CONSEQUENCES[name]}"


def quotas_of(tenant: Tenant) -> dict[str, Any]:
    """Return the value of each quota by name."""
    return {name: getattr(tenant, name) for name in QUOTAS}

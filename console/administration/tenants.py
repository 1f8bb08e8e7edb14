"""Pages of tenants: their quotas, their present use, and a form that changes quotas."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from console.access import roles
from console.access.reauthentication import confirms
from console.access.roles import requires
from console.access.subjects import TENANT
from console.overview import standings
from console.web.forms import REASON_CHARACTERS, refuse, setting_field
from console.web.htmx import render_form, render_page
from console.web.wording import plural
from queues.control import quotas
from queues.errors import SignalboxError
from queues.models import Tenant
from queues.settings import QUOTAS


class QuotaForm(forms.Form):
    """A form for the quotas of a tenant. `changes()` returns those that differ from the values shown."""

    def __init__(self, data: Any = None, *, tenant: Tenant) -> None:
        super().__init__(data, initial={name: getattr(tenant, name) for name in QUOTAS})
        for name, quota in QUOTAS.items():
            self.fields[name] = setting_field(quota)
        self.fields["reason"] = forms.CharField(
            max_length=REASON_CHARACTERS, required=False, help_text="Recorded in the audit with the changes."
        )

    def changes(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.changed_data if name in QUOTAS}

    def quotas(self) -> list[forms.BoundField]:
        return [self[name] for name in QUOTAS]


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /tenants: show every tenant with its quotas and their use."""
    reach = roles.reach(request.user, "see_metadata")
    context = {
        "title": "Tenants & quotas",
        "tenants": [use for use in quotas.read_use() if reach.holds_tenant(use.tenant.name)],
    }
    return render_page(request, "administration/tenants/browse.html", "administration/tenants/_list.html", context)


@confirms
@require_http_methods(["GET", "HEAD", "POST"])
@requires("see_metadata", of=TENANT)
def edit(request: HttpRequest, tenant_id: int) -> HttpResponse:
    """GET, POST /tenants/<id>: show the quotas, and change them with the permission `configure`."""
    tenant = Tenant.objects.filter(pk=tenant_id).first()
    if request.method == "POST":
        roles.check(request.user, "configure")  # a tenant cannot widen its own limits
    if tenant is None:
        raise Http404("There is no such tenant.")
    form = QuotaForm(request.POST if request.method == "POST" else None, tenant=tenant)
    if form.is_valid() and _change(request, tenant, form):
        return redirect("tenant", tenant_id)
    context = {
        "title": f"Tenant {tenant.name}",
        "tenant": tenant,
        "form": form,
        "denied": roles.denial(request.user, "configure"),
    }
    return render_form(request, "administration/tenants/edit.html", context)


def _change(request: HttpRequest, tenant: Tenant, form: QuotaForm) -> bool:
    """Change the quotas that differ from the values shown, and warn of quotas below the present use."""
    changed, reason = form.changes(), form.cleaned_data["reason"]
    try:
        quotas.set_quota(tenant.name, changed, actor=request.user.get_username(), reason=reason)
    except SignalboxError as error:
        refuse(form, error)
        return False
    standings.forget()
    done = f"Changed {plural(len(changed), 'quota')} of {tenant.name}." if changed else "Nothing was changed."
    messages.success(request, done)
    use = next((one for one in quotas.read_use() if one.tenant.pk == tenant.pk), None)
    for warning in quotas.exceeded(use, changed) if use else ():
        messages.warning(request, warning)
    return True

"""Tenants: what each may use, what it uses, and changing the former."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from console import fleet, roles
from console.confirming import confirms
from console.forms import QuotaForm
from console.frame import Frame
from console.htmx import render_page
from console.roles import requires
from console.subjects import TENANT
from console.wording import plural
from queues import quotas
from queues.errors import SignalboxError
from queues.models import Tenant


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /tenants: every tenant, its quotas and what it uses of them."""
    reach = roles.reach(request.user, "see_metadata")
    context = {"title": "Tenants", "tenants": [use for use in quotas.read_use() if reach.holds_tenant(use.tenant.name)]}
    return render_page(request, "tenants/browse.html", "tenants/_list.html", context)


@confirms
@require_http_methods(["GET", "HEAD", "POST"])
@requires("see_metadata", of=TENANT)
def edit(request: HttpRequest, tenant_id: int) -> HttpResponse:
    """GET, POST /tenants/<id>: everybody may look, who may configure can change."""
    tenant = Tenant.objects.filter(pk=tenant_id).first()
    if request.method == "POST":
        roles.check(request.user, "configure")  # nobody widens their own limits
    if tenant is None:
        raise Http404("There is no such tenant.")
    form = QuotaForm(request.POST if request.method == "POST" else None, tenant=tenant)
    if request.method == "POST" and form.is_valid() and _change(request, tenant, form):
        return redirect("tenant", tenant_id)
    context = {
        "title": f"Tenant {tenant.name}",
        "tenant": tenant,
        "form": form,
        "frame": Frame(request),
        "denied": roles.denial(request.user, "configure"),
    }
    return render(request, "tenants/edit.html", context, status=422 if form.errors else 200)


def _change(request: HttpRequest, tenant: Tenant, form: QuotaForm) -> bool:
    """Change what differs from what was shown; False, with the form saying why, when refused."""
    changed = form.changes()
    actor = request.user.get_username()
    try:
        quotas.set_quota(tenant.name, changed, actor=actor, reason=form.cleaned_data["reason"])
    except SignalboxError as error:
        field = getattr(error, "field", None)
        form.add_error(field if field in form.fields else None, str(error))
        return False
    fleet.forget()
    done = f"Changed {plural(len(changed), 'quota')} of {tenant.name}." if changed else "Nothing was changed."
    messages.success(request, done)
    return True

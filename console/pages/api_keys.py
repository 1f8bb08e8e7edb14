"""API keys: what programs may do. A key is shown once, in the answer to the form that made it."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from console import keyset
from console.api_key_form import ApiKeyForm
from console.api_keys import keeping
from console.api_keys.keeping import NewKey
from console.api_keys.models import ApiKey
from console.forms import ReasonForm
from console.htmx import render_page
from console.roles import requires
from console.wording import plural
from queues.errors import InvalidArgument
from queues.models import Tenant


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
@sensitive_variables("made")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /api-keys: those that are not revoked, or with ?show=revoked those that are. POST: one more, shown once."""
    form = ApiKeyForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        made = _create(request, form)
        if made is not None:
            return _show_once(request, made)
    revoked = request.GET.get("show") == "revoked"
    page = keyset.by_id(ApiKey.objects.filter(revoked_at__isnull=not revoked), "api_key_id", request)
    context = {
        "title": "API keys",
        "page": page,
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'key')} shown"),
        "revoked": revoked,
        "form": form,
    }
    status = 422 if form.errors else 200
    return render_page(request, "api_keys/browse.html", "api_keys/_list.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def revoke(request: HttpRequest, key_id: int) -> HttpResponse:
    """GET /api-keys/<id>/revoke: what it would end. POST: that, for good."""
    key = ApiKey.objects.filter(pk=key_id).first()
    if key is None:
        raise Http404("There is no such API key.")
    form = ReasonForm(request.POST if request.method == "POST" else None)
    form.fields["reason"].help_text = "Kept in the audit."
    if request.method == "POST" and form.is_valid():
        reason = form.cleaned_data["reason"]
        if keeping.revoke(key.pk, actor=request.user.get_username(), reason=reason):
            messages.success(request, f"The key {key.name} is revoked: within seconds it opens nothing any more.")
        else:
            messages.warning(request, f"Nothing was changed: the key {key.name} was revoked already.")
        return redirect("api_keys")
    context = {"title": f"Revoke {key.name}", "key": key, "form": form}
    status = 422 if form.errors else 200
    return render_page(request, "api_keys/revoke.html", "api_keys/_facts.html", context, status=status)


@sensitive_variables()
def _create(request: HttpRequest, form: ApiKeyForm) -> NewKey | None:
    """The key, or None with the mistake noted in the form."""
    given = form.cleaned_data
    try:
        return keeping.create(
            given["name"],
            given["scopes"],
            actor=request.user.get_username(),
            tenant=given["tenant"],
            prefix=given["prefix"],
            expires_in=given["expires"],
            rate=given["rate"],
            connections=given["connections"],
            reason=given["reason"],
        )
    except InvalidArgument as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return None


@sensitive_variables()
def _show_once(request: HttpRequest, made: NewKey) -> HttpResponse:
    """The only answer with the key in it; nothing stores it."""
    tenant = made.row.tenant_name
    context = {
        "title": f"Key {made.row.name}",
        "key": made.row,
        "text": made.text,
        "tenant_is_new": tenant is not None and not Tenant.objects.filter(name=tenant).exists(),
    }
    return render_page(request, "api_keys/made.html", "api_keys/_facts.html", context)

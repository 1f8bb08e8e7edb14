"""Pages of API keys. A new key is shown once, in the answer to its form."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from console.access import suggestions
from console.access.api_keys import ALL, SCOPES, keys
from console.access.api_keys.keys import NewKey
from console.access.api_keys.models import ApiKey
from console.access.roles import requires
from console.web import pagination
from console.web.forms.fields import ReasonForm, reason_field, refuse, suggest
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange_newest
from console.web.wording import plural
from dlq.filters.readings import MisreadError, duration
from queues.errors import InvalidArgument
from queues.models import Tenant

CHOICES = [*SCOPES.items(), (ALL, "all scopes, and scopes that are added later")]


class ApiKeyForm(forms.Form):
    """The name, scopes, queues, lifetime and limits of a new key."""

    name = forms.CharField(
        max_length=100, help_text="The program that uses the key. The audit shows key: and this name."
    )
    tenant = forms.CharField(max_length=100, required=False, help_text="Empty: queues of every tenant.")
    prefix = forms.CharField(
        label="Queue names begin with", max_length=100, required=False, help_text="Empty: any queue."
    )
    expires = forms.CharField(
        label="Expires after",
        max_length=40,
        required=False,
        initial="90d",
        help_text="For example 12h, 90d or 52w. Empty: never.",
    )
    rate = forms.FloatField(label="Requests per second", required=False, help_text="Empty: no limit.")
    connections = forms.IntegerField(
        label="Max concurrent requests", required=False, help_text="Long polls included. Empty: no limit."
    )
    reason = reason_field()
    sqs = forms.BooleanField(
        label="Also for the SQS endpoint",
        required=False,
        help_text="AWS's SDKs sign requests with its secret, which is therefore stored, encrypted.",
    )
    scopes = forms.MultipleChoiceField(
        choices=CHOICES, error_messages={"required": "Choose at least one scope."}, label="Scopes"
    )

    def clean_expires(self) -> timedelta | None:
        text = self.cleaned_data["expires"]
        if not text:
            return None
        try:
            return duration(text)
        except MisreadError as error:
            raise forms.ValidationError(f"This must be {error}.") from error

    @property
    def scope_choices(self) -> list[tuple[str, str, bool]]:
        """Return (name, permission, chosen) of each scope."""
        chosen = self["scopes"].value() or []
        return [(name, words, name in chosen) for name, words in CHOICES]


COLUMNS: Columns[ApiKey] = {
    "name": lambda key: key.name,
    "scopes": lambda key: " ".join(key.scopes),
    "queues": lambda key: f"{key.queue_prefix} {key.tenant_name or ''}",
    "limits": lambda key: key.rate_per_second,
    "used": lambda key: key.last_used_at,
    "ends": lambda key: key.revoked_at or key.expires_at,
}


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
@sensitive_variables("made")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /api-keys: list active keys, or revoked keys with ?show=revoked. POST: create a key and show it once."""
    form = ApiKeyForm(request.POST if request.method == "POST" else None)
    suggest(form, tenant=suggestions.tenant_names(request), prefix=suggestions.queue_names(request))
    if form.is_valid() and (made := _create(request, form)) is not None:
        return _show_once(request, made)
    revoked = request.GET.get("show") == "revoked"
    keys_now = ApiKey.objects.filter(revoked_at__isnull=not revoked)
    listed = arrange_newest(request, keys_now, "api_key_id", COLUMNS, time="created")
    shown = len(listed.page.rows)
    context = {
        "title": "API keys",
        "page": listed.page,
        "sort": listed.links,
        "pager": pagination.pager(request, listed.page, f"{plural(shown, 'key')} shown{listed.limits}"),
        "revoked": revoked,
        "form": form,
    }
    return render_page(request, "access/api_keys/browse.html", "access/api_keys/_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def revoke(request: HttpRequest, key_id: int) -> HttpResponse:
    """GET /api-keys/<id>/revoke: preview the revocation. POST: revoke the key permanently."""
    key = ApiKey.objects.filter(pk=key_id).first()
    if key is None:
        raise Http404("There is no such API key.")
    form = ReasonForm(request.POST if request.method == "POST" else None)
    form.fields["reason"].help_text = "Recorded in the audit."
    if form.is_valid():
        if keys.revoke(key.pk, actor=request.user.get_username(), reason=form.cleaned_data["reason"]):
            messages.success(request, f"The key {key.name} is revoked. Requests with it are refused within 5 seconds.")
        else:
            messages.warning(request, f"Nothing was changed: the key {key.name} was revoked already.")
        return redirect("api_keys")
    context = {"title": f"Revoke {key.name}", "key": key, "form": form}
    return render_page(request, "access/api_keys/revoke.html", "access/api_keys/_facts.html", context)


@sensitive_variables()
def _create(request: HttpRequest, form: ApiKeyForm) -> NewKey | None:
    """Return the new key, or None with the error in the form."""
    given = dict(form.cleaned_data)
    try:
        return keys.create(actor=request.user.get_username(), expires_in=given.pop("expires"), **given)
    except InvalidArgument as error:
        refuse(form, error)
        return None


@sensitive_variables()
def _show_once(request: HttpRequest, made: NewKey) -> HttpResponse:
    """Render the only page that contains the key. The key is not stored."""
    tenant = made.row.tenant_name
    context = {
        "title": f"Key {made.row.name}",
        "key": made.row,
        "text": made.text,
        "secret": made.secret if made.row.signs else "",
        "endpoint": settings.SQS_URL,
        "tenant_is_new": tenant is not None and not Tenant.objects.filter(name=tenant).exists(),
    }
    return render_page(request, "access/api_keys/made.html", "access/api_keys/_facts.html", context)

"""Alert channels: a page that lists them, a form for each kind, a test, and a page that removes one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.access import roles, suggestions
from console.access.roles import requires
from console.web.forms.fields import ReasonForm, refusals, suggest, tell
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange
from metrics.alerts import channels, notifications
from metrics.alerts.channels import MIN_SECRET_CHARACTERS, ChannelFields, Kind
from metrics.alerts.models import TEXT_CHARACTERS, AlertChannel

KINDS = {Kind.MAIL: "Mail", Kind.WEBHOOK: "Webhook", Kind.SLACK: "Slack-compatible"}
ADDRESSES = {
    Kind.MAIL: ("Mail addresses", "Separated by commas."),
    Kind.WEBHOOK: ("URL", "Gets each notification as a signed POST with a JSON body."),
    Kind.SLACK: ("URL", "An incoming webhook of Slack, Mattermost or another chat that accepts the same messages."),
}
SEVERITIES = {"critical,warning": "Critical and warning", "critical": "Critical only", "warning": "Warning only"}
COLUMNS: Columns[AlertChannel] = {
    "name": lambda channel: channel.name,
    "kind": lambda channel: channel.kind,
    "to": lambda channel: channel.shown,
    "gets": lambda channel: f"{channel.severities} {channel.queue_pattern}",
    "last": lambda channel: channel.last_sent_at,
}
KEEPS = "Leave empty to keep the present one, which is not shown again."


class ChannelForm(forms.Form):
    """The settings of a channel. Secrets are typed and never shown."""

    name = forms.CharField(max_length=100, strip=True, help_text="Shown in the list of notifications.")
    address = forms.CharField(max_length=TEXT_CHARACTERS, strip=True)
    secret = forms.CharField(
        max_length=channels.MAX_SECRET_CHARACTERS,
        strip=False,
        label="Signing secret",
        help_text=f"At least {MIN_SECRET_CHARACTERS} characters. Your receiver checks signatures with it.",
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )
    severities = forms.ChoiceField(choices=list(SEVERITIES.items()))
    queue = forms.CharField(
        max_length=100, required=False, help_text="Exact name or pattern (*). Empty: all queues and the installation."
    )
    tenant = forms.CharField(
        max_length=100, required=False, help_text="Exact name or pattern (*). Empty: every tenant."
    )
    enabled = forms.BooleanField(required=False, initial=True, label="On")
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, data: Any = None, *, kind: str, channel: AlertChannel | None = None) -> None:
        super().__init__(data, initial=_initial(channel))
        label, help_text = ADDRESSES[Kind(kind)]
        address, secret = self.fields["address"], self.fields["secret"]
        address.label, address.help_text = label, help_text
        if channel is not None:
            address.required = secret.required = False
            secret.help_text = KEEPS
            if kind == Kind.MAIL:
                address.initial = channel.shown
            else:
                address.help_text = f"Now {channel.shown}. {KEEPS}"
        if kind != Kind.WEBHOOK:
            del self.fields["secret"]

    def values(self) -> ChannelFields:
        """Return what the person typed."""
        given = {name: self.cleaned_data.get(name, "") for name in ("name", "address", "secret", "queue", "tenant")}
        severities = tuple(self.cleaned_data["severities"].split(","))
        return ChannelFields(**given, severities=severities, enabled=self.cleaned_data["enabled"])


def _initial(channel: AlertChannel | None) -> dict[str, Any]:
    if channel is None:
        return {}
    return {
        "name": channel.name,
        "severities": ",".join(channel.severities),
        "queue": channel.queue_pattern,
        "tenant": channel.tenant_pattern,
        "enabled": channel.enabled,
        "version": channel.version,
    }


@require_safe
@requires("see_metadata")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /alerts/channels: every channel, with its last delivery."""
    listed = arrange(request, AlertChannel.objects.order_by("name"), COLUMNS)
    context = {
        "title": "Alert channels",
        "channels": [(one, KINDS[Kind(one.kind)]) for one in listed.rows],
        "sort": listed.links,
        "by_environment": [(kind, channels.shown_address(kind, to)) for kind, to in notifications.set_by_environment()],
        "kinds": KINDS.items(),
        "denied": roles.denial_here(request, "administer"),
    }
    return render_page(request, "alerts/channels/browse.html", "alerts/channels/_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def new(request: HttpRequest, kind: str) -> HttpResponse:
    """GET /alerts/channels/new/<kind>: the form of a new channel. POST: create it."""
    if kind not in KINDS:
        raise Http404(f"There is no kind of channel called {kind[:40]}.")
    form = _form(request, kind=kind)
    if form.is_valid():
        with refusals(form):
            made = channels.create(kind, form.values(), actor=request.user.get_username())
            messages.success(request, f"Created the channel {made}. Send a test to see that it works.")
            return redirect("alert_channel", made.pk)
    return _shown(request, form, kind, f"New channel: {KINDS[Kind(kind)]}")


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def edit(request: HttpRequest, channel_id: int) -> HttpResponse:
    """GET /alerts/channels/<id>: the channel and its last delivery. POST: change it."""
    channel = _channel(channel_id)
    form = _form(request, kind=channel.kind, channel=channel)
    if form.is_valid():
        version = form.cleaned_data["version"] or 0
        with refusals(form):
            channels.change(channel_id, form.values(), version=version, actor=request.user.get_username())
            messages.success(request, f"Changed the channel {form.cleaned_data['name']}.")
            return redirect("alert_channel", channel_id)
    return _shown(request, form, channel.kind, channel.name, channel)


@require_POST
@requires("administer")
def test(request: HttpRequest, channel_id: int) -> HttpResponse:
    """POST /alerts/channels/<id>/test: send a test, and show the answer of the receiver."""
    attempt = notifications.send_test(_channel(channel_id), actor=request.user.get_username())
    if attempt.arrived:
        messages.success(request, f"The test arrived. {attempt.answer}.")
    else:
        messages.error(request, f"The test did not arrive. {attempt.answer}")
    return redirect("alert_channel", channel_id)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def remove(request: HttpRequest, channel_id: int) -> HttpResponse:
    """GET /alerts/channels/<id>/remove: ask for a reason. POST: remove the channel."""
    channel, form = _channel(channel_id), ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        actor, reason = request.user.get_username(), form.cleaned_data["reason"]
        removed = channels.remove(channel_id, actor=actor, reason=reason)
        tell(request, removed, f"Removed the channel {channel}.", "this channel was removed already")
        return redirect("alert_channels")
    context = {"title": "Remove a channel", "channel": channel, "kind": KINDS[Kind(channel.kind)], "form": form}
    return render_form(request, "alerts/channels/remove.html", context)


def _form(request: HttpRequest, **about: Any) -> ChannelForm:
    form = ChannelForm(request.POST if request.method == "POST" else None, **about)
    suggest(form, queue=suggestions.queue_names(request), tenant=suggestions.tenant_names(request))
    return form


def _shown(
    request: HttpRequest, form: ChannelForm, kind: str, title: str, channel: AlertChannel | None = None
) -> HttpResponse:
    context = {"title": title, "form": form, "kind": KINDS[Kind(kind)], "channel": channel}
    return render_form(request, "alerts/channels/edit.html", context)


def _channel(channel_id: int) -> AlertChannel:
    channel = AlertChannel.objects.filter(pk=channel_id).first()
    if channel is None:
        raise Http404("There is no such alert channel.")
    return channel

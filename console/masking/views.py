"""Pages of masking rules: list, add and remove rules."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from console.access import suggestions
from console.access.roles import requires
from console.web.forms.fields import ReasonForm, reason_field, refusals, suggest, tell
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange
from dlq.masking import rules as masking_rules
from dlq.masking.masks import MASK
from dlq.masking.rules import MaskingRule
from queues.stream_models import Stream

COLUMNS: Columns[MaskingRule] = {
    "field": str,
    "where": lambda rule: rule.queue_name or rule.tenant_name,
    "by": lambda rule: rule.created_by,
    "since": lambda rule: rule.created_at,
}


class MaskingForm(forms.Form):
    """A form for a masking rule: a path into the payload or the attributes, and its scope."""

    part = forms.ChoiceField(choices=[(part, part) for part in MaskingRule.Part.values])
    path = forms.CharField(
        max_length=200, help_text='Examples: card.number, *.email, **.iban. Quote keys with dots: "a.b".c', strip=True
    )
    queue = forms.CharField(
        max_length=100, required=False, label="Queue or stream", help_text="Empty: all queues and streams."
    )
    tenant = forms.CharField(
        max_length=100, required=False, help_text="All queues and streams of a tenant. Empty: see above."
    )
    reason = reason_field()


@require_http_methods(["GET", "HEAD", "POST"])
@requires("mask")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /masking: show the rules. POST: add a rule."""
    form = MaskingForm(request.POST if request.method == "POST" else None)
    suggest(form, queue=suggestions.queue_and_stream_names(request), tenant=suggestions.tenant_names(request))
    if form.is_valid():
        with refusals(form):
            rule = masking_rules.add(actor=request.user.get_username(), **form.cleaned_data)
            messages.success(request, f"{rule.part}.{rule.path} is masked from now on.")
            return redirect("masking")
    shown = arrange(request, MaskingRule.objects.all(), COLUMNS)
    streams = Stream.objects.filter(name__in={rule.queue_name for rule in shown.rows}).values_list("name", flat=True)
    listed = {"rules": shown.rows, "sort": shown.links, "streams": set(streams)}
    context = {"title": "Privacy", **listed, "form": form, "mask": MASK}
    return render_page(request, "masking/browse.html", "masking/_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("mask")
def remove(request: HttpRequest, rule_id: int) -> HttpResponse:
    """GET /masking/<id>/remove: ask for a reason. POST: remove the rule, so that the field is shown."""
    rule = MaskingRule.objects.filter(pk=rule_id).first()
    form = ReasonForm(request.POST if request.method == "POST" else None)
    removed = False
    if rule is not None and form.is_valid():
        reason = form.cleaned_data["reason"]
        removed = masking_rules.remove(rule_id, actor=request.user.get_username(), reason=reason)
    if rule is None or form.is_valid():
        tell(request, removed, f"{rule} is shown again.", "this masking rule was removed already")
        return redirect("masking")
    return render_form(request, "masking/remove.html", {"title": "Remove a masking rule", "rule": rule, "form": form})

"""The page of masking rules."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from console.access.roles import requires
from console.web.forms import refusals, tell
from console.web.htmx import render_page
from dlq.masking import rules as masking_rules
from dlq.masking.masks import MASK
from dlq.masking.rules import MaskingRule
from queues.stream_models import Stream


class MaskingForm(forms.Form):
    """A path, in which part of a message, and where."""

    part = forms.ChoiceField(choices=[(part, part) for part in MaskingRule.Part.values])
    path = forms.CharField(
        max_length=200, help_text='As in card.number, *.email, **.iban; quotes hold dots: "a.b".c', strip=True
    )
    queue = forms.CharField(max_length=100, required=False, label="Queue or stream", help_text="Empty: in all of them.")
    tenant = forms.CharField(max_length=100, required=False, help_text="Or in every queue and stream of a tenant.")
    reason = forms.CharField(max_length=500, required=False, help_text="Kept in the audit.")


@require_http_methods(["GET", "HEAD", "POST"])
@requires("mask")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /masking: the rules. POST: one more."""
    form = MaskingForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusals(form):
            rule = masking_rules.add(actor=request.user.get_username(), **form.cleaned_data)
            messages.success(request, f"{rule.part}.{rule.path} is masked from now on.")
            return redirect("masking")
    rules = list(MaskingRule.objects.all())
    streams = Stream.objects.filter(name__in={rule.queue_name for rule in rules}).values_list("name", flat=True)
    context = {"title": "Masking", "rules": rules, "streams": set(streams), "form": form, "mask": MASK}
    return render_page(request, "masking/browse.html", "masking/_list.html", context)


@require_POST
@requires("mask")
def remove(request: HttpRequest, rule_id: int) -> HttpResponse:
    """POST /masking/<id>/remove: the field is shown again."""
    removed = masking_rules.remove(rule_id, actor=request.user.get_username())
    tell(request, removed, "The rule is removed: what it masked is shown.", "there is no such rule")
    return redirect("masking")

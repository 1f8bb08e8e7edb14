"""Replays: chosen from the archive, staged by a worker, and then a plan like any other."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from console.access import roles
from console.access.roles import requires
from console.filters.filter_bar import MAX_FILTER_CHARACTERS, unmasked
from console.pipeline.views import say_asked
from console.redrives.forms import RateForm, number_field
from console.redrives.plan_views import destinations
from console.web.forms import REASON_CHARACTERS
from console.web.htmx import render_form
from dlq.filters import FilterError, parse
from dlq.filters.readings import MisreadError, moment
from dlq.masking.rules import Masking
from dlq.redrives.plan_options import Options
from dlq.redrives.staged import plans
from dlq.search.checked_filter import check_patterns
from pipeline.jobs import starting
from pipeline.models import ArchiveFile, Run
from pipeline.replay import choosing, replay_arguments
from pipeline.replay.replay_arguments import Wanted
from queues.errors import SignalboxError

KINDS = {"settled": ["settled"], "dead_letters": ["dead_letters"], "both": ["settled", "dead_letters"]}


class MomentField(forms.CharField):
    """A date or a time as filters write it, in UTC; None when it is empty."""

    def clean(self, value: Any) -> datetime | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return moment(text).start
        except MisreadError as error:
            raise forms.ValidationError(f"It must be {error}.") from None


class ReplayForm(RateForm):
    """A replay about to be staged."""

    filter_text = forms.CharField(label="Filter", required=False, max_length=MAX_FILTER_CHARACTERS)
    kinds = forms.ChoiceField(
        label="Of",
        choices=[("settled", "settled messages"), ("dead_letters", "what died"), ("both", "both")],
        help_text="What a message died of can be asked of what died only.",
    )
    since = MomentField(required=False, max_length=40, help_text="Of what ended from then on, in UTC: 2026-01-31.")
    until = MomentField(required=False, max_length=40, help_text="And before then, in UTC: 2026-02-01T10:30.")
    target_queue = forms.CharField(
        label="Destination", max_length=100, help_text="They are sent there as new messages."
    )
    canary_messages = number_field(
        "Canary", "Number of messages to send first. The others wait for their outcomes. Empty: all at once.", 1, 10_000
    )
    reason = forms.CharField(max_length=REASON_CHARACTERS, help_text="Kept in the audit.")

    FIELDS = ("kinds", "since", "until", "target_queue", "rate_per_second", "canary_messages", "reason")
    INITIAL = {"kinds": "settled", "rate_per_second": 50}

    def chosen(self) -> list[forms.BoundField]:
        return [self[name] for name in self.FIELDS]

    def wanted(self) -> Wanted:
        data = self.cleaned_data
        options = Options(
            target_queue=data["target_queue"],
            rate_per_second=data["rate_per_second"],
            canary_messages=data["canary_messages"] or 0,
        )
        return Wanted(data["filter_text"], options, KINDS[data["kinds"]], data["since"], data["until"], data["reason"])


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive")
def new(request: HttpRequest) -> HttpResponse:
    """GET /pipeline/replay?q=: what to choose. POST: a worker stages it, and its run leads to the plan."""
    initial = {**ReplayForm.INITIAL, "filter_text": request.GET.get("q", "")[:MAX_FILTER_CHARACTERS]}
    form, mistake = ReplayForm(request.POST or None, initial=initial), None
    if form.is_valid():
        try:
            wanted = form.wanted()
            _check(request, wanted)
            arguments, actor = replay_arguments.from_wanted(wanted), request.user.get_username()
            asked = starting.start("replay", actor=actor, reason=wanted.reason, arguments=arguments)
            return say_asked(
                request, asked, "Asked a worker to stage it. Its run is listed here, and leads to the plan."
            )
        except FilterError as error:
            mistake = error
        except SignalboxError as error:
            form.refuse(error)
    context = {
        "title": "Replay from the archive",
        "form": form,
        "mistake": mistake,
        "queues": destinations(request),
        "archived": ArchiveFile.objects.filter(kind__in=choosing.KINDS).exists(),
        "under_way": Run.objects.filter(kind=Run.Kind.REPLAY, state=Run.State.RUNNING).first(),
    }
    return render_form(request, "pipeline/replay.html", context)


def _check(request: HttpRequest, wanted: Wanted) -> None:
    """Refuse everything that can be refused before a worker is asked."""
    chosen = parse(wanted.filter_text)
    choosing.check(chosen, wanted.kinds)
    for asked in (chosen, chosen.without("queue")):  # archived queues may be gone, and their tenants unknown
        if unmasked(request, asked) != asked:
            word = next(term for term in chosen.terms if term.key == "text")
            raise word.error("text: looks into fields that are masked.", "name: for words in classes and queue names")
    check_patterns(chosen)
    options = plans.check(wanted.options)
    if options.target_queue is not None and not roles.may_here(request, "reveal"):
        masking = Masking()
        masking.check_destination(masking.everywhere(), options.target_queue)

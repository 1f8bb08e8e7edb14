"""Pages of replays: messages chosen from the archive, staged by a worker, and redriven by a plan."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from console.access import roles
from console.access.roles import requires
from console.filters.filter_bar import MAX_FILTER_CHARACTERS, unmasked
from console.filters.moments import MomentField
from console.pipeline.views import say_asked
from console.redrives.forms import RateForm
from console.redrives.plan_views import destinations
from console.web.forms.fields import number_field, required_reason
from console.web.htmx import render_form
from dlq.filters import FilterError, parse
from dlq.masking.rules import Masking
from dlq.redrives.plan_options import CANARY_MESSAGES, Options
from dlq.redrives.staged import plans
from dlq.search.checked_filter import check_patterns
from pipeline.jobs import starting
from pipeline.models import ArchiveFile, Run
from pipeline.replay import choosing, replay_arguments
from pipeline.replay.replay_arguments import ReplayRequest
from queues.errors import SignalboxError

KINDS = {"settled": ["settled"], "dead_letters": ["dead_letters"], "both": ["settled", "dead_letters"]}


class ReplayForm(RateForm):
    """The selection of a replay."""

    filter_text = forms.CharField(label="Filter", required=False, max_length=MAX_FILTER_CHARACTERS)
    kinds = forms.ChoiceField(
        label="Source",
        choices=[("settled", "completed messages"), ("dead_letters", "dead letters"), ("both", "both")],
        help_text="Error filters apply to dead letters only.",
    )
    since = MomentField(help_text="Messages that ended at or after this time.")
    until = MomentField(help_text="Messages that ended before this time.")
    target_queue = forms.CharField(
        label="Destination", max_length=100, help_text="The messages are sent to this queue as new messages."
    )
    canary_messages = number_field(
        "Canary", "Send this many first and wait for their outcomes. Empty: no canary.", 1, 10_000, "messages"
    )
    reason = required_reason()

    FIELDS = ("kinds", "since", "until", "target_queue", "rate_per_second", "canary_messages", "reason")
    INITIAL = {"kinds": "settled", "rate_per_second": 50, "canary_messages": CANARY_MESSAGES}

    def chosen(self) -> list[forms.BoundField]:
        return [self[name] for name in self.FIELDS]

    def wanted(self) -> ReplayRequest:
        data = self.cleaned_data
        options = Options(
            target_queue=data["target_queue"],
            rate_per_second=data["rate_per_second"],
            canary_messages=data["canary_messages"] or 0,
        )
        since, until = data["since"], data["until"]
        return ReplayRequest(data["filter_text"], options, KINDS[data["kinds"]], since, until, data["reason"])


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive")
def new(request: HttpRequest) -> HttpResponse:
    """GET /pipeline/replay?q=: the form. POST: ask a worker to stage the messages; its run leads to the plan."""
    initial = {**ReplayForm.INITIAL, "filter_text": request.GET.get("q", "")[:MAX_FILTER_CHARACTERS]}
    form, mistake = ReplayForm(request.POST or None, initial=initial), None
    if form.is_valid():
        try:
            wanted = form.wanted()
            _check(request, wanted)
            arguments, actor = replay_arguments.to_options(wanted), request.user.get_username()
            asked = starting.start("replay", actor=actor, reason=wanted.reason, arguments=arguments)
            return say_asked(
                request, asked, "A worker stages the messages. Its run is listed here and leads to the plan."
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


def _check(request: HttpRequest, wanted: ReplayRequest) -> None:
    """Refuse every invalid replay before a worker is asked."""
    chosen = parse(wanted.filter_text)
    choosing.check(chosen, wanted.kinds)
    # The second filter is for archived queues that may be deleted, so that their tenants are unknown.
    for asked in (chosen, chosen.without("queue")):
        if unmasked(request, asked) != asked:
            word = next(term for term in chosen.terms if term.key == "text")
            raise word.error("text: looks into fields that are masked.", "name: for words in classes and queue names")
    check_patterns(chosen)
    options = plans.check(wanted.options)
    if options.target_queue is not None and not roles.may_here(request, "reveal"):
        masking = Masking()
        masking.check_destination(masking.everywhere(), options.target_queue)

"""Replays: chosen from the archive, staged by a worker, and then a plan like any other."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console import masked
from console.filterbar import readable_filter
from console.frame import Frame
from console.replay_forms import ReplayForm
from console.roles import requires
from dlq import staged_plans
from dlq.filters import FilterError, parse
from dlq.masking_rules import Masking
from pipeline import starting
from pipeline.models import ArchiveFile, Run
from pipeline.replay import choosing, replay_arguments
from pipeline.replay.wanted import Wanted
from queues.errors import SignalboxError
from queues.models import Queue

MOST_QUEUES_OFFERED = 1_000


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive")
def new(request: HttpRequest) -> HttpResponse:
    """GET /pipeline/replay?q=: what to choose. POST: a worker stages it, and its run leads to the plan."""
    form, mistake = ReplayForm(request.POST or None, initial=_initial(request)), None
    if request.method == "POST" and form.is_valid():
        try:
            wanted = form.wanted()
            _check(request, wanted)
            return _ask(request, wanted)
        except FilterError as error:
            mistake = error
        except SignalboxError as error:
            field = getattr(error, "field", None) or "target_queue"
            form.add_error(field if field in form.fields else None, str(error))
    context = {
        "title": "Replay from the archive",
        "frame": Frame(request),
        "form": form,
        "mistake": mistake,
        "queues": _destinations(),
        "archived": ArchiveFile.objects.filter(kind__in=choosing.KINDS).exists(),
        "under_way": Run.objects.filter(kind=Run.Kind.REPLAY, state=Run.State.RUNNING).first(),
    }
    return render(request, "pipeline/replay.html", context, status=422 if mistake or form.errors else 200)


def _initial(request: HttpRequest) -> dict[str, object]:
    return {**ReplayForm.INITIAL, "filter_text": request.GET.get("q", "")[:2_000]}


def _check(request: HttpRequest, wanted: Wanted) -> None:
    """All that can be said no to before a worker is asked."""
    chosen = parse(wanted.filter_text)
    choosing.check(chosen, wanted.kinds)
    readable_filter(wanted.filter_text, request)
    readable_filter(str(chosen.without("queue")), request)  # archived queues may be gone, and their tenants unknown
    options = staged_plans.check(wanted.options)
    if options.target_queue is not None and not masked.may_reveal(request):
        masking = Masking()
        masking.check_destination(masking.everywhere(), options.target_queue)


def _ask(request: HttpRequest, wanted: Wanted) -> HttpResponse:
    arguments = replay_arguments.of(wanted)
    actor = request.user.get_username()
    if starting.start("replay", actor=actor, reason=wanted.reason, arguments=arguments):
        messages.success(request, "Asked a worker to stage it. Its run is listed here, and leads to the plan.")
    else:
        messages.error(request, "Nothing was started: Celery's broker cannot be reached, or takes no tasks.")
    return redirect("pipeline")


def _destinations() -> list[str]:
    names = Queue.objects.filter(is_dead_letter_queue=False, closed=False).order_by("name")
    return list(names.values_list("name", flat=True)[:MOST_QUEUES_OFFERED])

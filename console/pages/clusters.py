"""Clusters: dead letters by their cause; one cause with all that is known of it, and what people say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from console import charts, cluster_lists, failure_findings, masked, roles
from console.charts import Chart, Series
from console.cluster_forms import CareForm, MergeForm, SplitForm, StateForm
from console.filterbar import no_filter
from console.htmx import render_page
from console.pages.dead_letters import filter_bar, read_filter
from console.roles import requires
from dlq import browse as lists
from dlq.cluster_members import head_of
from dlq.clusters import Cluster, describe, merge, reached_ids, read_cluster, set_state, split
from dlq.clusters.reading import KEPT, read_courses
from dlq.masking_rules import Masking
from queues.errors import InvalidArgument, SignalboxError

CHART_STEP = timedelta(hours=4)
SAMPLES = 10


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /dead-letters/clusters: all of them, a page at a time."""
    chosen, mistake = read_filter(request)
    context = {
        "title": "Clusters",
        "bar": replace(filter_bar(request, mistake), action=reverse("clusters"), kept=_kept(request)),
        "clusters": cluster_lists.read(request, chosen),
        "alone": True,
    }
    return render_page(request, "clusters/browse.html", "clusters/_list.html", context)


def _kept(request: HttpRequest) -> list[tuple[str, str]]:
    """What another filter leaves as it is."""
    return [(name, request.GET[name]) for name in ("sort", "state") if name in request.GET]


@require_safe
@requires("see_metadata", in_part=True)
def show(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """GET /dead-letters/clusters/<fingerprint>: one cause; the address of one that was merged leads to the other."""
    cluster = _find(request, fingerprint)
    if (head := head_of(fingerprint)) != fingerprint:
        return redirect("cluster", head)
    chosen = no_filter(request).with_term("fp", fingerprint)
    see = roles.may_here(request, "see_payloads")
    care = cluster.care
    context = {
        "title": f"Cluster {cluster.words}",
        "cluster": masked.cluster(cluster, Masking()),
        "chart": _chart(request, cluster),
        "care_denied": _objection(request, cluster),
        "chosen": str(chosen),
        "samples": masked.letter_page(lists.dead_letters(chosen, size=SAMPLES, with_payloads=see)),
        "analysis": lambda: failure_findings.of_cluster([fingerprint, *cluster.members], request.user),
        "care_form": CareForm(initial={name: getattr(care, name) for name in CareForm.base_fields} if care else None),
        "state_form": StateForm(initial={"state": care.state if care else "open"}),
        "merge_form": MergeForm(),
    }
    return render_page(request, "clusters/show.html", "clusters/_cluster.html", context)


@require_POST
@requires("redrive", in_part=True)
def change(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """POST .../care: its owner, runbook and note."""

    def verb(values: dict[str, str], actor: str) -> str:
        changed = describe(fingerprint, actor=actor, **values)
        return "What is known of this cluster was saved." if changed else "Nothing was changed."

    return _done(request, fingerprint, CareForm, verb)


@require_POST
@requires("redrive", in_part=True)
def state(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """POST .../state: open, acknowledged or resolved."""

    def verb(values: dict[str, str], actor: str) -> str:
        changed = set_state(fingerprint, actor=actor, **values)
        return f"The cluster is {values['state']}." if changed else f"Nothing was changed: it is {values['state']}."

    return _done(request, fingerprint, StateForm, verb)


@require_POST
@requires("redrive", in_part=True)
def join(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """POST .../merge: it counts in another cluster from now on."""

    def verb(values: dict[str, str], actor: str) -> str:
        into = values["into"].strip()
        if not roles.reach(request.user, "redrive").is_everything and _objection(request, _find(request, into)):
            raise InvalidArgument(f"into is {into[:80]}: messages died of it in queues that your roles are not for")
        head = merge(fingerprint, into, actor=actor, reason=values["reason"])
        return f"{fingerprint} is part of {head} now."

    return _done(request, fingerprint, MergeForm, verb)


@require_POST
@requires("redrive", in_part=True)
def part(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """POST .../split: one of its members counts by itself again."""

    def verb(values: dict[str, str], actor: str) -> str:
        done = split(values["fingerprint"], actor=actor, reason=values["reason"])
        return f"{values['fingerprint']} counts by itself again." if done else "Nothing was changed: it was not merged."

    return _done(request, fingerprint, SplitForm, verb)


def _done(
    request: HttpRequest,
    fingerprint: str,
    kind: type[forms.Form],
    verb: Callable[[dict[str, str], str], str],
) -> HttpResponse:
    if objection := _objection(request, _find(request, fingerprint)):
        raise PermissionDenied(objection)
    form = kind(request.POST)
    if not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        label = form.fields[field].label or field.replace("_", " ").capitalize()
        messages.error(request, f"Nothing was changed: {label}: {errors[0]}")
        return redirect("cluster", fingerprint)
    try:
        messages.success(request, verb(form.cleaned_data, request.user.get_username()))
    except SignalboxError as error:
        messages.error(request, f"Nothing was changed: {error}.")
    return redirect("cluster", head_of(fingerprint))


def _objection(request: HttpRequest, cluster: Cluster) -> str:
    """Why this person may not say what concerns all of the cluster; empty when they may."""
    if reason := roles.denial_here(request, "redrive"):
        return reason
    held = roles.reach(request.user, "redrive")
    if held.is_everything:
        return ""
    if cluster.is_shared or not held.covers(roles.reach(request.user, "see_metadata")):
        return "Messages of this cause died in queues, too, that your roles are not for. Somebody who may there can."
    return ""


def _find(request: HttpRequest, fingerprint: str) -> Cluster:
    cluster = read_cluster(fingerprint, roles.reach(request.user, "see_metadata"))
    if cluster is None:
        raise Http404(f"There is no cluster {fingerprint[:80]}.")
    return cluster


def _chart(request: HttpRequest, cluster: Cluster) -> Chart:
    reached = reached_ids(roles.reach(request.user, "see_metadata"))
    course = read_courses([cluster.fingerprint], reached, CHART_STEP, KEPT)[cluster.fingerprint]
    deaths = Series("deaths", "dead", [float(count) for _, count in course], filled=True)
    return charts.draw("Deaths", [moment for moment, _ in course], [deaths], subtitle="in each four hours, two weeks")

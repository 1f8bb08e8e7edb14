"""Pages of subscriptions: the picture and the list of all, and the actions on one subscription of a queue."""

from __future__ import annotations

from django.contrib import messages as notices
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.access.subjects import QUEUE
from console.queues import head as queue_head
from console.streams.subscriptions import check_name
from console.subscriptions.forms import SubscriptionForm
from console.subscriptions.picture import draw
from console.web.forms.fields import ReasonForm, refusals, tell
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange
from queues.control import subscriptions
from queues.control.subscriptions import Feed
from queues.errors import QueueNotFound
from queues.reach import Reach

COLUMNS: Columns[Feed] = {
    "from": lambda feed: feed.source,
    "to": lambda feed: feed.target,
    "filter": lambda feed: feed.filter,
    "lag": lambda feed: feed.lag,
    "lag_time": lambda feed: feed.lag_seconds,
    "expired": lambda feed: feed.expired,
}


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /subscriptions: all subscriptions of queues and streams, as a picture and as a list."""
    seen, held = (roles.reach(request.user, permission) for permission in ("see_metadata", "configure"))
    feeds = [feed for feed in subscriptions.read_feeds() if _within(feed, seen)]
    listed = arrange(request, feeds, COLUMNS)
    context = {
        "title": "Subscriptions",
        "rows": [(feed, _within(feed, held)) for feed in listed.rows],
        "sort": listed.links,
        "picture": draw(feeds),
    }
    return render_page(request, "subscriptions/browse.html", "subscriptions/_list.html", context)


def _within(feed: Feed, reach: Reach) -> bool:
    """Return whether the reach covers both ends."""
    return reach.holds(feed.source, feed.tenant) and reach.holds(feed.target, feed.tenant)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=QUEUE)
def new(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /queues/<name>/new-subscription: send the messages of a queue to another too."""
    head = queue_head.find(name)
    held = roles.reach(request.user, "configure")
    tenant = head.queue.tenant.name
    targets = [target for target in subscriptions.names_of_tenant(head.queue) if held.holds(target, tenant)]
    form = SubscriptionForm(request.POST if request.method == "POST" else None, targets=targets)
    if form.is_valid():
        given = form.cleaned_data
        with refusals(form):
            subscriptions.subscribe(
                name,
                given["target"],
                filter_text=given["filter"],
                delay_seconds=given["delay_seconds"],
                actor=request.user.get_username(),
            )
            notices.success(request, f"{given['target']} is subscribed to {name}.")
            return redirect("subscriptions")
    context = {"title": f"New subscription · {name}", "head": head, "form": form}
    return render_form(request, "subscriptions/new.html", context)


@require_POST
@requires("configure", of=QUEUE)
def pause(request: HttpRequest, name: str, target: str) -> HttpResponse:
    """POST /queues/<name>/subscriptions/<target>/pause: hold copies."""
    _find(request, name, target)
    changed = subscriptions.pause(name, target, True, actor=request.user.get_username())
    tell(request, changed, f"Paused: copies for {target} are held.", "It was paused already")
    return redirect("subscriptions")


@require_POST
@requires("configure", of=QUEUE)
def resume(request: HttpRequest, name: str, target: str) -> HttpResponse:
    """POST /queues/<name>/subscriptions/<target>/resume: send held copies, and the next ones at once."""
    _find(request, name, target)
    changed = subscriptions.pause(name, target, False, actor=request.user.get_username())
    tell(request, changed, f"Resumed: {target} receives its copies.", "It was not paused")
    return redirect("subscriptions")


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=QUEUE)
def end(request: HttpRequest, name: str, target: str) -> HttpResponse:
    """GET /queues/<name>/subscriptions/<target>/end: preview the end of a subscription. POST: end it."""
    feed = _find(request, name, target)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        reason = form.cleaned_data["reason"]
        ended = subscriptions.unsubscribe(name, target, actor=request.user.get_username(), reason=reason)
        tell(request, ended, f"{target} is no longer subscribed to {name}.", "it was ended already")
        return redirect("subscriptions")
    context = {"title": f"End subscription · {name}", "feed": feed, "form": form}
    return render_form(request, "subscriptions/end.html", context)


def _find(request: HttpRequest, name: str, target: str) -> Feed:
    """Return the subscription of an address, whose target the person may configure too."""
    feed = subscriptions.read_feed(name, target)
    if feed is None:
        raise Http404(f"{target} is not subscribed to {name}.")
    try:
        check_name(request, target)
    except QueueNotFound as error:
        raise Http404(str(error)) from None
    return feed

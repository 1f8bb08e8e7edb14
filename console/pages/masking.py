"""Which fields of messages are masked, and revealing those of one message, which the audit keeps."""

from __future__ import annotations

from datetime import UTC, datetime

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from console import masked, message_life, message_story, payloads, queue_head, roles
from console.forms import ReasonForm
from console.htmx import render_page
from console.masking_form import MaskingForm
from console.roles import requires
from console.subjects import QUEUE
from dlq import masking_rules
from dlq.masking import MASK
from dlq.models import MaskingRule
from queues import audit
from queues.errors import InvalidArgument
from queues.stream_models import Stream


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /masking: the rules. POST: one more."""
    form = MaskingForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            rule = masking_rules.add(actor=request.user.get_username(), **form.cleaned_data)
        except InvalidArgument as error:
            form.add_error(error.field if error.field in form.fields else None, str(error))
        else:
            messages.success(request, f"{rule.part}.{rule.path} is masked from now on.")
            return redirect("masking")
    rules = list(MaskingRule.objects.all())
    streams = Stream.objects.filter(name__in={rule.queue_name for rule in rules}).values_list("name", flat=True)
    context = {"title": "Masking", "rules": rules, "streams": set(streams), "form": form, "mask": MASK}
    status = 422 if form.errors else 200
    return render_page(request, "masking/browse.html", "masking/_list.html", context, status=status)


@require_POST
@requires("administer")
def remove(request: HttpRequest, rule_id: int) -> HttpResponse:
    """POST /masking/<id>/remove: the field is shown again."""
    if masking_rules.remove(rule_id, actor=request.user.get_username()):
        messages.success(request, "The rule is removed: what it masked is shown.")
    else:
        messages.warning(request, "Nothing was changed: there is no such rule.")
    return redirect("masking")


@require_POST
@requires("reveal", of=QUEUE)
def reveal(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """POST /queues/<name>/messages/<id>/reveal: the message without the mask, in this answer only."""
    form = ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was revealed: say why.")
        return redirect("message", name, message_id)
    head = queue_head.find(name)
    story = message_story.tell(head.numbers, message_id, roles.reach(request.user, "reveal"))
    if not story.known:
        raise Http404(f"Message {message_id} is not known in {name}: it never was, or its retention is over.")
    fields = masked.hidden_fields(masked.rules_of(story), story.body)
    with transaction.atomic():  # no view without its row
        details = {"message_id": message_id, "fields": fields}
        audit.record(request.user.get_username(), "message.reveal", head.queue, form.cleaned_data["reason"], details)
    icon, sentence = message_life.place(story, datetime.now(UTC))
    context = {
        "title": f"Message {message_id}",
        "head": head,
        "story": story,
        "body": story.body,
        "payload_text": payloads.pretty(story.body.payload) if story.body else "",
        "place_icon": icon,
        "place": sentence,
        "events": message_life.timeline(story),
        "revealed": fields,
    }
    return render_page(request, "messages/show.html", "messages/_story.html", context)

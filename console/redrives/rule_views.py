"""Rules of approvals: the values that apply now, their sources, and the form in which administrators change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from console.access import roles
from console.access.reauthentication import confirms
from console.access.roles import requires
from console.web.forms.fields import refusals, required_reason, setting_field
from console.web.forms.reviews import Review, ReviewedForm, review
from console.web.htmx import render_form
from console.web.wording import plural
from dlq.jobs import approval_rules
from dlq.jobs.approval_rules import RULES, RuleInForce
from queues.models import AuditEvent


class RulesForm(ReviewedForm):
    """The rules as they apply now, and the reason of a change. A rule that the environment sets is disabled."""

    settings = RULES

    def __init__(self, data: Any = None, *, rules: Mapping[str, RuleInForce]) -> None:
        self.before = {name: rule.value for name, rule in rules.items()}
        super().__init__(data, initial=self.before)
        for name, rule in rules.items():
            self.fields[name] = setting_field(rule.setting)
            self.fields[name].disabled = rule.is_locked
        self.fields["reason"] = required_reason("Required. Recorded in the audit with the changes.")


@confirms
@require_http_methods(["GET", "HEAD", "POST"])
@requires("see_metadata", in_part=True)
def edit(request: HttpRequest) -> HttpResponse:
    """GET /approvals/rules: the rules that apply now. POST: change them, for administrators."""
    if request.method == "POST":
        roles.check(request.user, "administer")
    rules = approval_rules.in_force()
    form = RulesForm(request.POST if request.method == "POST" else None, rules=rules)
    found = None
    if form.is_valid():
        with refusals(form):
            found = _save(request, form)
            if found is None:
                return redirect("approvals_rules")
    context = {
        "title": "Approval rules",
        "rules": [(rule, _in_words(rule)) for rule in rules.values()],
        "form": form,
        "fields": [form[name] for name in rules],
        "review": found,
        "mistake": found and found.mistake,
        "denied": roles.denial(request.user, "administer"),
    }
    return render_form(request, "redrives/approvals/rules.html", context)


def _in_words(rule: RuleInForce) -> str:
    return plural(rule.value, rule.setting.unit.removesuffix("s")) if rule.value else "off"


def _save(request: HttpRequest, form: RulesForm) -> Review | None:
    """Save rules that the person has reviewed as they are. Return the review that is still to be confirmed."""
    found = review(form, form.before, AuditEvent.objects.filter(action="approval_rules.change"))
    if not found.is_confirmed(request.POST):
        return found.after(request.POST)
    changes, reason = found.changes, form.cleaned_data["reason"]
    approval_rules.save(changes, form.before, actor=request.user.get_username(), reason=reason)
    done = f"Changed {plural(len(changes), 'approval rule')}." if changes else "Nothing was changed."
    messages.success(request, done)
    return None

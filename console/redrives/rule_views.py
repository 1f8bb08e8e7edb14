"""Rules of approvals: the values that apply now, their sources, and the form in which administrators change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from console.access import roles
from console.access.reauthentication import confirms
from console.access.roles import requires
from console.web.forms import REASON_CHARACTERS, refusals, setting_field
from console.web.htmx import render_form
from console.web.wording import plural
from dlq.jobs import approval_rules
from dlq.jobs.approval_rules import RuleInForce


class RulesForm(forms.Form):
    """The rules as they apply now, and the reason of a change. A rule that the environment sets is disabled."""

    def __init__(self, data: Any = None, *, rules: Mapping[str, RuleInForce]) -> None:
        super().__init__(data, initial={name: rule.value for name, rule in rules.items()})
        self.rules = rules
        for name, rule in rules.items():
            self.fields[name] = setting_field(rule.setting)
            self.fields[name].disabled = rule.is_locked
        self.fields["reason"] = forms.CharField(
            max_length=REASON_CHARACTERS, help_text="Required. Recorded in the audit with the changes."
        )

    def changes(self) -> dict[str, int]:
        """Return the rules that the person changed on the page."""
        return {name: self.cleaned_data[name] for name in self.changed_data if name in self.rules}

    def seen(self) -> dict[str, int]:
        """Return the values that the page showed when it was opened."""
        return {name: self._seen(name) for name in self.rules}

    def _seen(self, name: str) -> int:
        try:
            shown = self.fields[name].to_python(self.data.get(self.add_initial_prefix(name)))
        except ValidationError:
            shown = None
        return self.rules[name].value if shown is None else int(shown)


@confirms
@require_http_methods(["GET", "HEAD", "POST"])
@requires("see_metadata", in_part=True)
def edit(request: HttpRequest) -> HttpResponse:
    """GET /approvals/rules: the rules that apply now. POST: change them, for administrators."""
    if request.method == "POST":
        roles.check(request.user, "administer")
    rules = approval_rules.in_force()
    form = RulesForm(request.POST if request.method == "POST" else None, rules=rules)
    if form.is_valid() and _save(request, form):
        return redirect("approvals_rules")
    context = {
        "title": "Approval rules",
        "rules": [(rule, _in_words(rule)) for rule in rules.values()],
        "form": form,
        "fields": [form[name] for name in rules],
        "denied": roles.denial(request.user, "administer"),
    }
    return render_form(request, "redrives/approvals/rules.html", context)


def _in_words(rule: RuleInForce) -> str:
    return plural(rule.value, rule.setting.unit.removesuffix("s")) if rule.value else "off"


def _save(request: HttpRequest, form: RulesForm) -> bool:
    """Save the changes; False, with the reason in the form, if they are refused."""
    changes, reason = form.changes(), form.cleaned_data["reason"]
    with refusals(form):
        approval_rules.save(changes, form.seen(), actor=request.user.get_username(), reason=reason)
        done = f"Changed {plural(len(changes), 'approval rule')}." if changes else "Nothing was changed."
        messages.success(request, done)
        return True
    return False

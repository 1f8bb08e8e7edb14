"""The review of changed settings before they are saved: old and new values, effects, and conflicts to decide.

A conflict is a setting that another person changed after the form was opened. Its line has both values, and nothing is
saved until one of them is chosen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import QuerySet

from console.web.wording import MINUTE, plural, span
from queues.models import AuditEvent
from queues.settings import Setting

MINE, THEIRS = "mine", "theirs"


class ReviewedForm(forms.Form):
    """A form of settings that is reviewed. Each field has a hidden copy of the value that the page showed."""

    settings: Mapping[str, Setting]
    before: Mapping[str, Any]
    """The present values of the settings."""

    def changes(self) -> dict[str, Any]:
        """Return the valid settings that differ from the values that were shown; an empty text is null."""
        names = [name for name in self.changed_data if name in self.settings and name in self.cleaned_data]
        return {name: self.cleaned_data[name] if self.cleaned_data[name] != "" else None for name in names}

    def shown(self, name: str) -> Any:
        """Return the value of a setting that the page showed; the present value if the form does not have it."""
        field = self.fields[name]
        text = field.hidden_widget().value_from_datadict(self.data, self.files, self.add_initial_prefix(name))
        try:
            value = self.before[name] if text is None else field.clean(text)
        except forms.ValidationError:
            return self.before[name]
        return None if value == "" else value

    def choice(self, name: str) -> str:
        """Return the side that the person chose in a conflict: `mine`, `theirs`, or an empty text."""
        chosen = str(self.data.get(f"choose-{name}", ""))
        return chosen if chosen in (MINE, THEIRS) else ""


@dataclass(frozen=True)
class Conflict:
    """A change by another person after the form was opened: in words, with its time if the audit has the change."""

    words: str
    at: datetime | None = None


@dataclass(frozen=True)
class Line:
    """One changed setting: its values in words, its effect, and a conflict with another person and its decision."""

    name: str
    label: str
    value: Any
    before: str
    after: str
    default: str
    effect: str
    conflict: Conflict | None
    choice: str

    @property
    def is_saved(self) -> bool:
        """Return whether the typed value is saved."""
        return self.conflict is None or self.choice == MINE

    @property
    def is_undecided(self) -> bool:
        """Return whether the person still has to choose a value."""
        return self.conflict is not None and not self.choice


@dataclass(frozen=True)
class Review:
    """All differences between a form and the present settings."""

    lines: list[Line]
    digest: str
    """Hash of the reviewed values. Other values, or a change by another person, need another review."""
    warnings: Iterable[str] = ()
    mistake: str = ""

    @property
    def title(self) -> str:
        return plural(len(self.lines), "change")

    @property
    def changes(self) -> dict[str, Any]:
        """Return what is saved: every change without a conflict, and the decided ones."""
        return {line.name: line.value for line in self.lines if line.is_saved}

    def is_confirmed(self, data: Mapping[str, Any]) -> bool:
        """Return whether the sent form confirms exactly these changes, with every conflict decided."""
        is_seen = data.get("reviewed") == self.digest
        return not self.lines or (is_seen and not any(line.is_undecided for line in self.lines))

    def after(self, data: Mapping[str, Any]) -> Review:
        """Return the review to show again if the form does not confirm it. Its `mistake` says what is missing."""
        labels = [line.label for line in self.lines if line.is_undecided]
        if data.get("reviewed") != self.digest or not labels:
            return self
        return replace(self, mistake=f"Choose the value to keep: {', '.join(labels)}.")


def review(form: ReviewedForm, now: Mapping[str, Any], events: QuerySet[AuditEvent]) -> Review:
    """Compare a valid form with the settings as they are now; a value that is saved already is not a change.

    `events` are the audit rows about these settings.
    """
    changes = {name: value for name, value in form.changes().items() if now[name] != value}
    lines = [_line(form, form.settings[name], now[name], value, events) for name, value in changes.items()]
    compared = json.dumps([[name, now[name], value] for name, value in changes.items()])
    return Review(lines, hashlib.sha256(compared.encode()).hexdigest())


def _line(form: ReviewedForm, setting: Setting, before: Any, after: Any, events: QuerySet[AuditEvent]) -> Line:
    words = [_in_words(setting, value) for value in (before, after, setting.default)]
    conflict = None if form.shown(setting.name) == before else _conflict(setting, before, events)
    return Line(setting.name, setting.label, after, *words, setting.effect, conflict, form.choice(setting.name))


def _in_words(setting: Setting, value: Any) -> str:
    """Return a value with its unit, and a long number of seconds also in larger units."""
    text = setting.shown(value)
    is_long = setting.unit == "seconds" and isinstance(value, int | float) and value >= 2 * MINUTE
    return f"{text} ({span(value)})" if is_long else text


def _conflict(setting: Setting, current: Any, events: QuerySet[AuditEvent]) -> Conflict:
    """Say who changed this setting after the form was opened."""
    event = events.filter(details__changes__has_key=setting.name).order_by("-pk").first()
    if event is None:
        return Conflict(f"It was changed to {setting.shown(current)}")
    change = event.details["changes"][setting.name]
    values = f"from {setting.shown(change['before'])} to {setting.shown(change['after'])}"
    return Conflict(f"{event.actor} changed it {values}", event.at)

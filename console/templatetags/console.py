"""Filters and tags of the templates: numbers, spans, moments, icons, sparklines."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django import template
from django.forms import BoundField
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console import audit_filter, chart_markup, icons, payloads, sparks, traces, wording
from console.charts import Chart
from dlq.filters.syntax import quote

register = template.Library()

register.filter("number", wording.number)
register.filter("rate", wording.rate)
register.filter("span", wording.span)
register.filter("byte_size", wording.byte_size)
register.filter("marks", traces.marks_of)
register.filter("quoted", quote)  # a value of the filter language, whatever it holds


@register.simple_tag
def ago(when: datetime | None) -> SafeString | str:
    """`when` as a distance from now, the moment itself in the title; the page keeps it counting."""
    if when is None:
        return wording.NOTHING
    return _time(when, wording.ago(when, datetime.now(UTC)), "ago")


@register.simple_tag
def at(when: datetime | None) -> SafeString | str:
    """`when` as a moment, in UTC or in the clock of the person."""
    return wording.NOTHING if when is None else _time(when, wording.clock(when.astimezone(UTC)), "at")


def _time(when: datetime, text: str, kind: str) -> SafeString:
    moment = when.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}" data-time="{}">{}</time>',
        moment.isoformat(timespec="milliseconds"),
        wording.clock(moment),
        kind,
        text,
    )


@register.simple_tag
def icon(name: str, tone: str = "") -> SafeString:
    """A small picture that never stands alone: words beside it say the same."""
    return icons.draw(name, tone)


@register.simple_tag
def sparkline(values: list[float], tone: str, words: str, least: float = 1) -> SafeString:
    """Sixty points without axes; its label says first, last and highest. Below `least` nothing is a mountain."""
    return sparks.sparkline(values, tone=tone, words=words, least=least)


@register.simple_tag
def chart_hits(chart: Chart) -> SafeString:
    """What a chart says of each of its points when that is pointed at."""
    return chart_markup.hits([(hit.x, hit.width, hit.words) for hit in chart.hits])


@register.simple_tag
def chart_rows(chart: Chart) -> SafeString:
    """A chart as the rows of a table, its moments in the clock of the person where it has no axis of its own."""
    return chart_markup.rows([(at(when) if isinstance(when, datetime) else when, said) for when, said in chart.rows])


@register.simple_tag
def share(part: float, whole: float, tone: str = "") -> SafeString:
    """A horizontal bar filled by part of whole."""
    return sparks.share_bar(part, whole, tone=tone)


@register.filter
def milliseconds(value: int | None) -> str:
    """A length of time given in milliseconds."""
    return wording.span(None if value is None else value / 1000)


@register.filter
def in_words(field: BoundField) -> str:
    """A long number of seconds as people say it: 345600 is 4 d."""
    value = field.value()
    long = field.field.unit == "seconds" and isinstance(value, int | float) and value >= 2 * wording.MINUTE
    return f", {wording.span(value)}" if long else ""


@register.filter
def class_name(value: str | None) -> SafeString | str:
    """An error class with its module kept quiet."""
    module, dot, name = (value or "").rpartition(".")
    return format_html('<span class="module">{}{}</span><wbr>{}', module, dot, name) if module and name else value or ""


@register.filter
def reason(value: str) -> str:
    """Why a delivery failed, in words."""
    return {"lock_expired": "timed out", "runtime_error": "failed"}.get(value, value)


@register.filter
def detail_lines(details: dict[str, Any]) -> list[str]:
    """What the audit keeps beside an action, a line for each fact."""
    changes = details.get("changes", {})
    lines = [f"{name}: {change['before']} → {change['after']}" for name, change in changes.items()]
    facts = details.get("settings", {}) | details
    rest = {name: value for name, value in facts.items() if name not in _SAID_ELSEWHERE}
    return lines + [f"{name}: {_fact(value)}" for name, value in rest.items() if value not in (None, "", {}, [])]


_SAID_ELSEWHERE = {"changes", "settings", "stopped_because", *audit_filter.LINKED}  # as changes, reason and links


def _fact(value: object) -> str:
    """Text as it is, everything else as JSON has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


register.filter("audit_links", audit_filter.links)


@register.filter
def tree(document: Any) -> SafeString:
    """A JSON document as a tree to fold."""
    return payloads.tree(document)


@register.filter
def excerpt(document: Any) -> str:
    """The beginning of a JSON document, on one line."""
    return payloads.excerpt(document)


@register.filter
def with_code(text: str) -> SafeString:
    """A sentence in which what stands between backticks is code."""
    parts = str(text).split("`")
    return format_html_join("", "{}", ((_code(part, index % 2 == 1),) for index, part in enumerate(parts)))


def _code(text: str, is_code: bool) -> SafeString | str:
    return format_html("<code>{}</code>", text) if is_code else text

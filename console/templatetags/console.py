"""Filters and tags of the templates: numbers, spans, moments, icons, sparklines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import template
from django.forms import BoundField
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.administration import audit
from console.charts import sparklines
from console.charts.drawing import Chart
from console.messages import payloads, traces
from console.web import icons, wording
from console.web.pagination import SortLink
from dlq.filters.syntax import quote

register = template.Library()

register.filter("number", wording.number)
register.filter("rate", wording.rate)
register.filter("span", wording.span)
register.filter("byte_size", wording.byte_size)
register.filter("marks", traces.marks_of)
register.filter("quoted", quote)  # quotes any text as a value of the filter language
register.filter("tree", payloads.tree)
register.filter("excerpt", payloads.excerpt)
register.filter("audit_links", audit.links)
register.simple_tag(icons.draw, name="icon")
register.simple_tag(sparklines.sparkline)
register.simple_tag(sparklines.share_bar, name="share")


@register.inclusion_tag("components/_heading.html")
def heading(links: Mapping[str, SortLink] | str, name: str, label: str, kind: str = "") -> dict[str, object]:
    """Draw the heading of a column; `kind` is its class, such as `n` for numbers.

    Without `links`, as where a page shows the newest rows of another list, the column does not sort.
    """
    return {"link": None if isinstance(links, str) else links.get(name), "label": label, "kind": kind}


@register.simple_tag
def ago(when: datetime | None) -> SafeString | str:
    """Show `when` as a distance from now, the moment itself in the title; the page keeps it counting."""
    if when is None:
        return wording.NOTHING
    return _time(when, wording.ago(when, datetime.now(UTC)), "ago")


@register.simple_tag
def at(when: datetime | None) -> SafeString | str:
    """Show `when` as a moment, in UTC or in the clock of the person."""
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
def chart_hits(chart: Chart) -> SafeString:
    """Draw the areas with the text for each point of a chart. In Python, because a template would be too slow."""
    areas = format_html_join("", "<rect x={} width={}><title>{}</title></rect>", chart.hits)
    return format_html("<g class=hits>{}</g>", areas)


@register.simple_tag
def chart_rows(chart: Chart) -> SafeString:
    """Draw a chart as the rows of a table. Moments are in the person's time zone if the chart has no axis."""
    rows = (
        (at(when) if isinstance(when, datetime) else when, ((value,) for value in said)) for when, said in chart.rows
    )
    cells = ((when, format_html_join("", "<td>{}</td>", values)) for when, values in rows)
    return format_html_join("", '<tr><th scope="row">{}</th>{}</tr>', cells)


@register.filter
def state_names(states: list[str]) -> str:
    """Join states of messages under their names on pages: `leased` is "in flight"."""
    return ", ".join("in flight" if state == "leased" else state for state in states)


@register.filter
def milliseconds(value: int | None) -> str:
    """Word a length of time that is given in milliseconds."""
    return wording.span(None if value is None else value / 1000)


@register.filter
def in_words(field: BoundField) -> str:
    """Word a long time of a field in seconds, after a comma: 345600 becomes ", 4 d". Other values: empty."""
    value = field.value()
    long = field.field.unit == "seconds" and isinstance(value, int | float) and value >= 2 * wording.MINUTE
    return f", {wording.span(value)}" if long else ""


@register.filter
def breakable(value: object) -> SafeString:
    """Let a long name wrap after a dot, a hyphen or a similar sign, and before a capital, rather than within a word."""
    return format_html_join(_WRAP, "{}", ((part,) for part in _BETWEEN_WORDS.split(str(value))))


_BETWEEN_WORDS = re.compile(r"(?<=[._/:@])(?=[\w{])|(?<=[a-z0-9])(?=[A-Z])")
_WRAP = SafeString("<wbr>")


@register.filter
def class_name(value: str | None) -> SafeString | str:
    """Show an error class with its module in quiet colour."""
    module, dot, name = (value or "").rpartition(".")
    if not (module and name):
        return breakable(value or "")
    return format_html('<span class="module">{}{}</span><wbr>{}', breakable(module), dot, breakable(name))


@register.filter
def error_template(value: str) -> SafeString:
    """Draw an error template, and mark the places of numbers, ids and quoted values."""
    pieces = value.split("*")
    slots = format_html_join("", '<span class="slot">&lt;n&gt;</span>{}', ((piece,) for piece in pieces[1:]))
    return format_html("{}{}", pieces[0], slots)


@register.filter
def reason(value: str) -> str:
    """Say why a delivery failed, in words."""
    return {"lock_expired": "timed out", "runtime_error": "failed"}.get(value, value)


@register.filter
def detail_lines(details: dict[str, Any]) -> list[str]:
    """List the details that the audit keeps beside an action, a line for each fact."""
    changes = details.get("changes", {})
    lines = [f"{name}: {change['before']} → {change['after']}" for name, change in changes.items()]
    facts = details.get("settings", {}) | details
    rest = {name: value for name, value in facts.items() if name not in _SAID_ELSEWHERE}
    return lines + [f"{name}: {_fact(value)}" for name, value in rest.items() if value not in (None, "", {}, [])]


_SAID_ELSEWHERE = {"changes", "settings", "stopped_because", *audit.LINKED}  # as changes, reason and links


def _fact(value: object) -> str:
    """Return text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@register.filter
def with_code(text: str) -> SafeString:
    """Draw a sentence, with the text between backticks as code."""
    parts = enumerate(str(text).split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if at % 2 else part,) for at, part in parts)
    )

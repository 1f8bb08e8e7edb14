"""The two parts of a chart that have a piece for each point, as markup: a template would take most of a page's time."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import format_html_join
from django.utils.safestring import SafeString


def hits(stretches: Sequence[tuple[float, float, str]]) -> SafeString:
    """Stretches of the plot (x, width, words) that say their words when they are pointed at."""
    return format_html_join("", '<rect class="hit" x="{}" width="{}"><title>{}</title></rect>', stretches)


def rows(table: Sequence[tuple[str | SafeString, Sequence[str]]]) -> SafeString:
    """The rows of a table: a moment, and what was at it."""
    return format_html_join(
        "",
        '<tr><th scope="row">{}</th>{}</tr>',
        ((moment, format_html_join("", "<td>{}</td>", ((value,) for value in values))) for moment, values in table),
    )

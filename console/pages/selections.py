"""What a person selected: rows by their boxes, or all that a filter selects; either way a filter."""

from __future__ import annotations

from django.http import HttpRequest

from console.filterbar import typed
from dlq.filters import Filter

MOST_IDS = 100  # of one term, and more than a page has rows


def chosen_text(request: HttpRequest) -> str:
    """The filter behind the address: of the boxes that are ticked, else the one that was typed."""
    ids = [value for value in request.GET.getlist("id") if value.isascii() and value.isdigit()][:MOST_IDS]
    return str(Filter().with_term("id", *ids)) if ids else typed(request)

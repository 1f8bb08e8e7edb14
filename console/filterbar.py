"""The bar above a list: what was typed, the keys one can ask for, and where a mistake stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.http import HttpRequest

from dlq.filters import FilterError

LONGEST = 2_000


@dataclass(frozen=True)
class Suggestion:
    """A key that a click puts into the bar."""

    insert: str
    help: str


@dataclass(frozen=True)
class FilterBar:
    """What `components/_filter.html` shows. `kept` are the other parameters of the address."""

    text: str
    label: str
    action: str
    placeholder: str
    keys: Sequence[Suggestion] = ()
    example: str = ""
    kept: Sequence[tuple[str, str]] = ()
    mistake: FilterError | None = None
    longest: int = field(default=LONGEST, init=False)

    @property
    def before(self) -> str:
        return self.text[: self.mistake.position] if self.mistake else ""

    @property
    def token(self) -> str:
        if not self.mistake:
            return ""
        return self.text[self.mistake.position : self.mistake.position + self.mistake.length]

    @property
    def after(self) -> str:
        return self.text[len(self.before) + len(self.token) :]


def typed(request: HttpRequest) -> str:
    """The filter in the address, cut at what a filter may be long."""
    return request.GET.get("q", "").strip()[:LONGEST]

"""Filters that people save under a name, for themselves or for all users.

A saved filter is text that is parsed at each use. When a key no longer exists, the filter shows the mistake like any
other filter. Only the owner changes a filter, or an administrator.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Now

from dlq.filters import KEYS, MAX_CHARACTERS, Filter, FilterError, Target, parse
from dlq.filters.scanner import Scanner
from queues import audit
from queues.errors import InvalidArgument

NAME_CHARACTERS = 80
MAX_OF_ONE_OWNER = 50  # on one page
MAX_SHARED = 200  # shown on one page


class SavedFilter(models.Model):
    """A filter with a name. The name is its owner's own: two people may use the same."""

    class Page(models.TextChoices):
        DEAD_LETTERS = "dead-letters"
        MESSAGES = "messages"

    saved_filter_id = models.BigAutoField(primary_key=True)
    page = models.CharField(max_length=20, choices=Page.choices)
    name = models.CharField(max_length=NAME_CHARACTERS)
    text = models.CharField(max_length=MAX_CHARACTERS)
    owner = models.CharField(max_length=150)
    shared = models.BooleanField(db_default=False)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "saved_filter"
        constraints = [models.UniqueConstraint(fields=["owner", "page", "name"], name="saved_filter_name")]
        indexes = [models.Index(fields=["page", "name"], name="saved_filter_page")]

    def __str__(self) -> str:
        return self.name

    @property
    def mistake(self) -> FilterError | None:
        """Return the error of the filter if it cannot be parsed any more."""
        try:
            parse(self.text)
        except FilterError as error:
            return error
        return None

    @property
    def keys(self) -> set[str]:
        """Return the keys of the filter; all keys when it cannot be parsed any more."""
        return set(KEYS) if self.mistake else {term.key for term in parse(self.text).terms}


def seen_by(person: str, page: str | None = None) -> list[SavedFilter]:
    """Return the filters of a person, then the shared ones of others, for one page or for all pages. One query."""
    found = SavedFilter.objects.filter(Q(owner=person) | Q(shared=True))
    if page is not None:
        found = found.filter(page=page)
    mine_first = models.Case(models.When(owner=person, then=0), default=1)
    return list(found.order_by(mine_first, "page", "name", "owner")[: MAX_OF_ONE_OWNER * 2 + MAX_SHARED])


def save(page: str, name: str, text: str, *, owner: str, shared: bool = False) -> SavedFilter:
    """Save a filter. Raises `FilterError`, and `InvalidArgument`, which names the wrong field."""
    if page not in SavedFilter.Page.values:
        raise InvalidArgument(f"page is '{page[:40]}'; allowed: {', '.join(SavedFilter.Page.values)}", "page")
    kept = SavedFilter(page=page, name=_name(name), text=_text(text, page), owner=owner, shared=shared)
    if SavedFilter.objects.filter(owner=owner, page=page).count() >= MAX_OF_ONE_OWNER:
        raise InvalidArgument(
            f"You already have {MAX_OF_ONE_OWNER} saved filters for this list. Delete one first.", "name"
        )
    with transaction.atomic():
        _write(kept, force_insert=True)
        audit.record(owner, "filter.save", details=_facts(kept))
    kept.refresh_from_db()
    return kept


def change(saved_filter_id: int, *, name: str, shared: bool, actor: str, administers: bool = False) -> SavedFilter:
    """Change the name or the readers. Raises `InvalidArgument`, and `DoesNotExist` for the filter of another person."""
    with transaction.atomic():
        kept = _theirs(saved_filter_id, actor, administers)
        before = {"name": kept.name, "shared": kept.shared}
        kept.name, kept.shared = _name(name), shared
        after = {"name": kept.name, "shared": kept.shared}
        changes = {
            field: {"before": before[field], "after": after[field]} for field in after if before[field] != after[field]
        }
        if changes:
            kept.updated_at = Now()
            _write(kept, update_fields=["name", "shared", "updated_at"])
            audit.record(actor, "filter.change", details={**_facts(kept), "changes": changes})
    return kept


def delete(saved_filter_id: int, *, actor: str, administers: bool = False) -> SavedFilter:
    """Delete a filter. Raises `SavedFilter.DoesNotExist` for the filter of another person."""
    with transaction.atomic():
        kept = _theirs(saved_filter_id, actor, administers)
        audit.record(actor, "filter.delete", details=_facts(kept))
        SavedFilter.objects.filter(pk=kept.pk).delete()
    return kept


def _theirs(saved_filter_id: int, actor: str, administers: bool) -> SavedFilter:
    changeable = SavedFilter.objects.select_for_update()
    # An administrator may change shared filters, and no private ones.
    mine = Q(owner=actor) | Q(shared=True) if administers else Q(owner=actor)
    return changeable.get(mine, pk=saved_filter_id)


def _write(kept: SavedFilter, **how: Any) -> None:
    try:
        with transaction.atomic():
            kept.save(**how)
    except IntegrityError:
        raise InvalidArgument(f"You already have a saved filter called '{kept.name}' for this list.", "name") from None


def _name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise InvalidArgument("Enter a name.", "name")
    if len(name) > NAME_CHARACTERS:
        raise InvalidArgument(f"The name has {len(name)} characters; allowed: {NAME_CHARACTERS}.", "name")
    try:
        Scanner(name)
    except FilterError as error:
        raise InvalidArgument("The name has a character that PostgreSQL cannot store.", "name") from error
    return name


def _text(text: str, page: str) -> str:
    filter = parse(text)
    if not filter:
        raise InvalidArgument("An empty filter selects everything. Enter a filter to save.", "text")
    _check_keys(filter, page)
    return str(filter)


def _check_keys(filter: Filter, page: str) -> None:
    """Refuse keys that none of the page's lists can answer."""
    places = {Target.DEAD_LETTER} if page == SavedFilter.Page.DEAD_LETTERS else set(Target) - {Target.DEAD_LETTER}
    for term in filter.terms:
        if not places & set(KEYS[term.key].targets):
            raise term.error(f"{term.key}: does not work on this page.", "a key of its list")


def _facts(kept: SavedFilter) -> dict[str, Any]:
    return {"name": kept.name, "page": kept.page, "filter": kept.text, "shared": kept.shared, "owner": kept.owner}

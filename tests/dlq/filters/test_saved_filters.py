"""Filters kept under a name: whose they are, what is refused, what the audit says."""

from __future__ import annotations

import itertools

import pytest

from dlq.filters import FilterError, parse
from dlq.search import saved_filters
from dlq.search.saved_filters import SavedFilter
from queues.errors import InvalidArgument
from queues.models import AuditEvent

_people = itertools.count(1)


@pytest.fixture
def ana(commits: None) -> str:
    """User without saved filters."""
    return f"ana-{next(_people)}-{id(object())}"


def names(person: str, page: str = "dead-letters") -> list[str]:
    return [one.name for one in saved_filters.seen_by(person, page) if one.owner.startswith("ana-")]


def test_a_filter_is_kept_in_canonical_text(ana: str) -> None:
    kept = saved_filters.save("dead-letters", "  Late \n ones ", 'CLASS:"TimeoutError"  age:>1h', owner=ana)

    assert (kept.name, kept.text) == ("Late ones", "class:TimeoutError age:>1h")
    event = AuditEvent.objects.filter(actor=ana).get()
    assert (event.action, event.details["filter"]) == ("filter.save", kept.text)


def test_others_see_what_is_shared_and_nothing_else(ana: str) -> None:
    saved_filters.save("dead-letters", f"mine {ana}", "age:>1h", owner=ana)
    saved_filters.save("dead-letters", f"ours {ana}", "age:>2h", owner=ana, shared=True)

    assert {f"mine {ana}", f"ours {ana}"} <= set(names(ana))
    assert f"ours {ana}" in names("ben")
    assert f"mine {ana}" not in names("ben")
    assert f"ours {ana}" not in names("ben", "messages")


@pytest.mark.parametrize(
    ("page", "name", "text", "field"),
    [
        ("overview", "x", "age:>1h", "page"),
        ("dead-letters", " \t", "age:>1h", "name"),
        ("dead-letters", "x" * 81, "age:>1h", "name"),
        ("dead-letters", "a\0b", "age:>1h", "name"),
        ("dead-letters", "a\ud800", "age:>1h", "name"),
        ("dead-letters", "x", "  ", "text"),
    ],
)
def test_what_cannot_be_kept_names_its_field(ana: str, page: str, name: str, text: str, field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        saved_filters.save(page, name, text, owner=ana)
    assert caught.value.field == field
    assert saved_filters.seen_by(ana) == [one for one in saved_filters.seen_by(ana) if one.owner != ana]


@pytest.mark.parametrize("text", ["age:old", "x" * 2_001, "\0"])
def test_a_mistake_is_not_kept(ana: str, text: str) -> None:
    with pytest.raises(FilterError):
        saved_filters.save("dead-letters", "x", text, owner=ana)


def test_a_key_of_another_list_is_a_mistake(ana: str) -> None:
    with pytest.raises(FilterError) as caught:
        saved_filters.save("messages", "x", "age:>1h class:KeyError", owner=ana)
    assert caught.value.token == "class:KeyError"


def test_a_name_is_given_once_for_each_owner_and_list(ana: str) -> None:
    saved_filters.save("dead-letters", "late", "age:>1h", owner=ana)
    saved_filters.save("messages", "late", "age:>1h", owner=ana)
    saved_filters.save("dead-letters", "late", "age:>1h", owner=f"{ana}-2")
    other = saved_filters.save("dead-letters", "other", "age:>1h", owner=ana)

    with pytest.raises(InvalidArgument, match="You already have a saved filter called 'late' for this list"):
        saved_filters.save("dead-letters", "late", "age:>2h", owner=ana)
    with pytest.raises(InvalidArgument, match="already"):
        saved_filters.change(other.pk, name="late", shared=False, actor=ana)
    other.refresh_from_db()
    assert other.name == "other"


def test_saved_filters_of_one_owner_are_limited(ana: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_filters, "MAX_OF_ONE_OWNER", 1)
    saved_filters.save("dead-letters", "one", "age:>1h", owner=ana)

    with pytest.raises(InvalidArgument, match="You already have 1 saved filters for this list"):
        saved_filters.save("dead-letters", "two", "age:>1h", owner=ana)


def test_only_the_owner_or_an_administrator_changes_it(ana: str) -> None:
    kept = saved_filters.save("dead-letters", "late", "age:>1h", owner=ana)

    for change in (
        lambda: saved_filters.change(kept.pk, name="x", shared=True, actor="ben"),
        lambda: saved_filters.delete(kept.pk, actor="ben"),
        lambda: saved_filters.delete(kept.pk, actor="ben", administers=True),  # not shared: none of their business
    ):
        with pytest.raises(SavedFilter.DoesNotExist):
            change()

    saved_filters.change(kept.pk, name="late ones", shared=True, actor=ana)
    saved_filters.change(kept.pk, name="late ones", shared=True, actor=ana)  # nothing changed, nothing is audited
    saved_filters.delete(kept.pk, actor="root", administers=True)

    assert not SavedFilter.objects.filter(pk=kept.pk).exists()
    events = AuditEvent.objects.filter(details__owner=ana).order_by("audit_event_id")
    assert [(event.actor, event.action) for event in events] == [
        (ana, "filter.save"),
        (ana, "filter.change"),
        ("root", "filter.delete"),
    ]
    assert events[1].details["changes"]["shared"] == {"before": False, "after": True}


@pytest.mark.parametrize(
    "text",
    [
        "class:KeyError age:>1h",
        'error:"/api/v1" -class:a,"/b",c',
        r'error:"/a\\d"',
        'error:"/x y" payload."a:/b".c:"/d"',
        'payload."a[0]".b:5 attr."c[]":x',
        'dead:>"2026-01-31 10:30" payload.n:1..2 class:Foo::/x',
    ],
)
def test_a_filter_that_was_written_out_is_read_as_it_was(text: str) -> None:
    assert str(parse(text)) == text
    assert not parse(text).patterns


def test_a_filter_whose_key_is_gone_shows_its_mistake(ana: str) -> None:
    kept = saved_filters.save("dead-letters", "late", "age:>1h", owner=ana)
    SavedFilter.objects.filter(pk=kept.pk).update(text="colour:red")

    [stale] = [one for one in saved_filters.seen_by(ana) if one.pk == kept.pk]

    assert stale.mistake is not None
    assert stale.mistake.token == "colour"

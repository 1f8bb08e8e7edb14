"""Lists that are read as a whole sort by every column that the page names, and by nothing else."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import RequestFactory
from django.utils import timezone

from console.web import sorting
from console.web.sorting import arrange
from dlq.masking import rules
from dlq.search import saved_filters
from metrics.alerts import channels, silences
from metrics.alerts.channels import ChannelFields
from metrics.alerts.models import AlertChannel, Silence
from queues import audit
from queues.control import queues, streams
from queues.models import Queue
from tests.console.browsers import Browser, Page
from tests.engine import Engine

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"name": "beta", "size": 2, "at": None},
    {"name": "Alpha", "size": 10, "at": NOON},
    {"name": "gamma", "size": None, "at": NOON - timedelta(days=1)},
    {"name": "alpha", "size": 2, "at": None},
]
COLUMNS = {name: (lambda row, name=name: row[name]) for name in ("name", "size", "at")}


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("", ["beta", "Alpha", "gamma", "alpha"]),
        ("name", ["Alpha", "alpha", "beta", "gamma"]),
        ("-name", ["gamma", "beta", "Alpha", "alpha"]),
        ("size", ["beta", "alpha", "Alpha", "gamma"]),
        ("-size", ["Alpha", "beta", "alpha", "gamma"]),
        ("-at", ["Alpha", "gamma", "beta", "alpha"]),
        ("__class__", ["beta", "Alpha", "gamma", "alpha"]),
        ("--name", ["beta", "Alpha", "gamma", "alpha"]),
    ],
)
def test_rows_without_a_value_come_last_and_equal_rows_stay(sort: str, names: list[str]) -> None:
    shown = arrange(RequestFactory().get("/x", {"sort": sort, "q": "a b", "from": "50"}), ROWS, COLUMNS)

    assert [row["name"] for row in shown.rows] == names
    assert shown.links["name"].url == f"/x?sort={'-' if sort == 'name' else ''}name&q=a+b"
    assert shown.links["size"].url == f"/x?sort={'' if sort == '-size' else '-'}size&q=a+b"
    assert [name for name, link in shown.links.items() if link.direction] == [
        sort.removeprefix("-") for _ in range(sort.removeprefix("-") in COLUMNS)
    ]


@pytest.fixture
def lists(engine: Engine, commits: None) -> Iterator[None]:
    """A row in every list."""
    at = timezone.now() + timedelta(hours=1)
    silences.create(alert="", queue=engine.queue, ends_at=at, comment="x", actor="ann")
    channels.create("mail", ChannelFields("sorted", "ann@example.org"), actor="ann")
    rule = rules.add(part="payload", path="card", queue=engine.queue, actor="ann")
    call_command("apikey", "create", "sorted", "--scopes", "send", stdout=io.StringIO())
    kept = saved_filters.save("dead-letters", "sorted", f"queue:{engine.queue}", owner="test-admin", shared=False)
    streams.create_stream(f"{engine.queue}-log", {}, actor="ann")
    yield
    Silence.objects.all().delete()
    AlertChannel.objects.all().delete()
    rule.delete()
    kept.delete()


def test_every_list_sorts_by_each_of_its_columns(admin: Browser, lists: None) -> None:
    for address in (
        "/",
        "/people",
        "/tenants",
        "/alerts/silences",
        "/alerts/channels",
        "/masking",
        "/saved-filters",
        "/streams",
        "/audit",
        "/api-keys",
    ):
        links = [one.attributes["href"] for one in admin.see(address).all("a", class_="sort")]
        assert len(links) >= 4, address
        for link in (links[0], links[-1]):
            page = admin.see(link)
            sorted_by = [one for one in page.all("th") if "aria-sort" in one.attributes]
            assert len(sorted_by) == 1, link


def test_the_order_goes_through_the_pages_and_stays_with_a_filter(viewer: Browser, engine: Engine) -> None:
    for number in range(30):
        queues.create_queue(f"{engine.queue}-many-{number:02}")

    first = viewer.see("/", q=f"{engine.queue}-many", sort="-queue", rows="25")
    second = viewer.see(first.link("Next page"))

    names = [row.split()[1] for page in (first, second) for row in page.rows()]
    assert names == sorted(names, reverse=True)
    assert (len(first.rows()), len(second.rows())) == (25, 5)
    assert second.one("th", aria_sort="descending").text == "Queue ↓"
    assert first.fields()["sort"] == "-queue"  # the filter bar keeps the order


def test_a_long_list_sorts_its_newest_rows_and_says_so(
    viewer: Browser, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time sorts the whole list, through the index of its ids; every other column sorts the newest rows."""
    queue = Queue.objects.get(pk=engine.queue_id)
    for number in range(60):
        audit.record(f"actor-{number * 7 % 60:02}", "test.note", queue)
    address = f"/queues/{engine.queue}/audit"

    oldest = viewer.see(address, sort="at", rows="25")
    newer = viewer.see(oldest.link("Next page"))
    assert "actor-00" in oldest.text
    assert "actor-53" not in oldest.text + newer.text  # the newest
    assert _actors(viewer.see(newer.link("Previous page"))) == _actors(oldest)

    monkeypatch.setattr(sorting, "MAX_SORTED", 40)
    first = viewer.see(address, sort="actor", rows="25")
    second = viewer.see(first.link("Next page"))
    actors = _actors(first) + _actors(second)
    assert actors == sorted(actors)
    assert len(actors) == 40
    assert "25 actions shown, sorted among the newest 40" in first.text
    assert _actors(viewer.see(second.link("Previous page"))) == _actors(first)


def _actors(page: Page) -> list[str]:
    return [row.split("actor-")[1][:2] for row in page.rows() if "actor-" in row]

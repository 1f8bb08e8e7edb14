"""The sidebar: four groups by what people do, the current place lit, and only what a person may open."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.console.browsers import Browser, Page
from tests.engine import Engine

MONITOR = ["Queues", "Dead letters", "Alerts", "Streams", "Subscriptions", "Consumers", "Metrics"]
OPERATE = ["Jobs", "Trash"]
ARCHIVE = ["Runs", "Replay", "Failure analysis", "Schedules"]
ADMIN = ["Tenants & quotas", "Users & access", "Approval rules", "Privacy", "Maintenance mode", "Audit log"]


@pytest.fixture(autouse=True)
def no_job_runs_or_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look away from the jobs of other tests."""
    monkeypatch.setattr("dlq.jobs.approvals.counts", lambda: (0, 0))


def labels(page: Page) -> list[str]:
    return [label.text for label in page.all("span", class_="nav-label")]


def lit(page: Page) -> list[str]:
    """The lines that are marked as the current page, in the groups and in the foot."""
    marked = [one for one in page.all("a", aria_current="page") if "data-goto" in one.attributes]
    return [label for one in marked for label in labels(page) if one.text.startswith(label)]


def open_groups(page: Page) -> list[str]:
    return [
        one.attributes["data-fold"] for one in page.all("details") if {"data-fold", "open"} <= one.attributes.keys()
    ]


def test_an_operator_sees_nine_lines_and_a_closed_archive(operator: Browser) -> None:
    page = operator.see("/")

    assert labels(page) == [*MONITOR, *OPERATE, *ARCHIVE]
    assert len([*MONITOR, *OPERATE]) == 9
    assert open_groups(page) == []  # so that nine lines are in sight


def test_an_admin_finds_administration_in_a_closed_group(admin: Browser) -> None:
    page = admin.see("/")

    assert labels(page)[-6:] == ADMIN
    assert open_groups(page) == []
    assert open_groups(admin.see("/audit")) == ["admin_group"]  # the current place is always in sight


def test_an_open_group_stays_open(admin: Browser) -> None:
    admin.post("/preferences", {"admin_group": "open"}, headers={"HX-Request": "true"})

    assert open_groups(admin.see("/")) == ["admin_group"]


def test_who_may_read_a_page_of_administration_sees_its_line_there(viewer: Browser) -> None:
    assert "Audit log" not in labels(viewer.see("/"))
    assert lit(viewer.see("/audit")) == ["Audit log"]


def test_what_awaits_approval_counts_beside_jobs(operator: Browser, settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.APPROVAL_DELETE_MESSAGES = 10
    monkeypatch.setattr("dlq.jobs.approvals.counts", lambda: (2, 1))

    page = operator.see("/approvals")

    assert len(labels(page)) == len([*MONITOR, *OPERATE, *ARCHIVE])
    assert lit(page) == ["Jobs"]
    assert "Jobs 3 (2 active redrives, 1 job awaiting approval)" in page.text


def test_every_page_lights_its_place(admin: Browser, engine: Engine) -> None:
    queue = reverse("queue", args=[engine.queue])
    places = {
        "Queues": [queue, f"{queue}/settings", f"{queue}/purge", f"{queue}/history", "/new-queue"],
        "Dead letters": ["/dead-letters", "/dead-letters/failure-groups", "/saved-filters"],
        "Alerts": ["/alerts/silences", "/alerts/notifications", "/runbooks/SignalboxDeadLetters"],
        "Streams": ["/new-stream", "/captures"],
        "Metrics": ["/history", "/old-snapshots"],
        "Jobs": ["/redrives/new", "/redrives/plans", "/purges", "/undos"],
        "Trash": ["/trash"],
        "Runs": ["/pipeline"],
        "Replay": ["/pipeline/replay"],
        "Failure analysis": ["/pipeline/failures"],
        "Schedules": ["/schedules"],
        "Tenants & quotas": ["/tenants/1", "/tenants/1/history"],
        "Users & access": ["/people", "/api-keys"],
        "Approval rules": ["/approvals/rules"],
        "Privacy": ["/masking", "/erasures", "/erasures/new"],
        "Maintenance mode": ["/maintenance"],
    }

    assert {path: lit(admin.see(path)) for paths in places.values() for path in paths} == {
        path: [place] for place, paths in places.items() for path in paths
    }


def test_the_account_and_the_api_are_lit_in_the_foot(viewer: Browser) -> None:
    for path, text in (("/account", viewer.name), ("/v1/docs", "HTTP API"), ("/docs?page=glossary", "Docs")):
        (marked,) = viewer.see(path).all("a", aria_current="page")
        assert marked.text.startswith(text), path


def test_a_message_lights_the_page_that_led_to_it(operator: Browser, engine: Engine) -> None:
    ready = reverse("message", args=[engine.queue, engine.send({"n": 1})])
    engine.die({"n": 2})
    [(number,)] = engine.rows(
        "select message_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
    )
    dead = reverse("message", args=[engine.queue, number])

    def led_by(path: str, message: str) -> list[str]:
        page = Page(operator.get(message, headers={"Referer": path}).content.decode())
        return lit(page)

    assert led_by("", ready) == ["Queues"]
    assert led_by("", dead) == ["Dead letters"]
    assert led_by("http://testserver/alerts?q=x", dead) == ["Alerts"]
    assert led_by("http://testserver/redrives/7/messages", ready) == ["Jobs"]
    assert led_by("http://testserver/account", ready) == ["Queues"]
    assert led_by(f"http://testserver{dead}", f"{dead}/edit") == ["Dead letters"]
    for elsewhere in (
        "https://evil.example/alerts",
        "http://testserver/no/such/page",
        "http://[::1",
        f"http://testserver{dead}",
    ):
        assert led_by(elsewhere, dead) == ["Dead letters"]


def test_live_updates_change_the_counts_and_leave_the_rest(viewer: Browser, engine: Engine) -> None:
    engine.die({"n": 1})

    fragment = viewer.fetch("/dead-letters")

    assert fragment.all("nav", id="sidebar-nav") == []  # it keeps its focus and its open groups
    badge = fragment.one("span", id="badge-dead_letters")
    assert badge.attributes["hx-swap-oob"] == "true"
    assert badge.text.startswith(viewer.see("/dead-letters").one("span", id="badge-dead_letters").text)


def test_only_three_lines_have_a_badge(admin: Browser, engine: Engine) -> None:
    engine.die({"n": 1})

    badges = [one.attributes["id"] for one in admin.see("/").all("span", class_="badge")]

    assert badges == ["badge-overview", "badge-dead_letters", "badge-alerts"]

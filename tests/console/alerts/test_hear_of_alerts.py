"""Alertmanager delivers alerts; a person on call sees what fires, where, since when, and what to do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from console.web import pagination
from metrics.alerts.models import Alert, Silence
from tests.console.browsers import Browser
from tests.engine import Engine
from tests.metrics.alertmanager import alert, message

TOKEN = "a token of this test"


@pytest.fixture(autouse=True)
def alertmanager_may_deliver(commits: None, settings: LazySettings) -> Iterator[None]:
    settings.ALERTMANAGER_TOKEN = TOKEN
    clean_up()
    yield
    clean_up()


def clean_up() -> None:
    for model in (Alert, Silence):
        model.objects.all().delete()


def delivered(body: Any, *, token: str = TOKEN, method: str = "post") -> HttpResponse:
    """The answer to a delivery by a client that has no session, and is checked for forgery as browsers are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    client = Client(enforce_csrf_checks=True)
    return getattr(client, method)("/alerts/webhook", data, content_type="application/json", headers=headers)  # type: ignore[no-any-return]


def test_an_alert_is_delivered_and_shown_with_its_queue(viewer: Browser, engine: Engine) -> None:
    engine.die()
    holder = f"{engine.queue}-dlq"

    answer = delivered(message(alert(queue=holder)))

    assert (answer.status_code, answer.json()) == (200, {"firing": 1, "resolved": 0})
    page = viewer.see("/alerts")
    assert "Firing 1" in page.text
    assert f"SignalboxDeadLetters of {holder} at length" in page.text
    assert page.link(holder) == f"/queues/{holder}"
    assert page.link("View errors") == f"/queues/{holder}#failure-groups"
    assert page.link("Runbook of SignalboxDeadLetters") == f"/runbooks/SignalboxDeadLetters?queue={holder}"
    assert "Mitigation" in viewer.see(page.link("Runbook of")).text


def test_errors_are_linked_for_that_queue_alone(viewer: Browser, make_engine: Callable[..., Engine]) -> None:
    """Failure groups know the source queue, not the dead-letter queue, which would show every error."""
    mine, other = make_engine(), make_engine()
    mine.die(error_class="CorruptImage")
    other.die(error_class="PartnerTimeout")
    delivered(message(alert(queue=f"{mine.queue}-dlq")))

    causes = viewer.see(viewer.see("/alerts").link("View errors"))

    assert "CorruptImage" in causes.text
    assert "PartnerTimeout" not in causes.text


def test_a_long_or_turned_text_leaves_the_page_readable(viewer: Browser, engine: Engine) -> None:
    told = alert("\u202eeslaF", queue=engine.queue)
    told["annotations"] = {"summary": "s" * 2_000, "description": "d" * 2_000}
    delivered(message(told))

    for path in ("/alerts", f"/queues/{engine.queue}"):
        page = viewer.see(path)
        assert ("s" if path == "/alerts" else "d") * 200 in page.text
        assert "s" * 300 not in page.text
        assert "d" * 500 not in page.text
        assert "<bdi>\u202eeslaF</bdi>" in page.html


def test_queue_overview_and_sidebar_show_a_firing_alert(viewer: Browser, engine: Engine) -> None:
    engine.die()
    delivered(message(alert(queue=f"{engine.queue}-dlq")))

    for path in (f"/queues/{engine.queue}", f"/queues/{engine.queue}-dlq"):
        text = viewer.see(path).text
        assert f"SignalboxDeadLetters of {engine.queue}-dlq at length" in text
        assert "SignalboxDeadLetters fired" in text
    overview = viewer.see("/")
    said = f"1 alert firing in {engine.queue}-dlq. SignalboxDeadLetters of {engine.queue}-dlq at length"
    assert said in overview.text
    assert "Alerts 1 (1 alert firing)" in overview.text


def test_resolved_alerts_sort_by_every_column(viewer: Browser, engine: Engine) -> None:
    for queue in ("b", "c", "a"):
        delivered(message(alert(queue=f"{queue}-{engine.queue}", status="resolved")))

    page = viewer.see("/alerts", q="state:resolved")
    links = {one.text: one.attributes["href"] for one in page.all("a", class_="sort")}
    assert list(links) == ["Alert", "Queue", "Source", "Fired ↓", "Resolved"]
    orders = {name: [row.split(engine.queue)[0][-2] for row in viewer.see(url).rows()] for name, url in links.items()}
    assert orders["Queue"] == ["a", "b", "c"]
    assert orders["Fired ↓"] == orders["Resolved"][::-1] == ["b", "c", "a"]


def test_a_resolved_alert_says_when(viewer: Browser, engine: Engine) -> None:
    delivered(message(alert(queue=engine.queue)))
    delivered(message(alert(queue=engine.queue, status="resolved")))

    page = viewer.see("/alerts")
    assert "No firing alerts" in page.text
    assert "2026-11-20 10:30:00 UTC" in page.html
    assert " fired " not in viewer.see(f"/queues/{engine.queue}").text


def test_what_ends_while_the_page_is_made_is_still_on_it(
    viewer: Browser, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivered(message(alert(queue=engine.queue)))
    read = pagination.by_id

    def read_and_end(*given: Any, **options: Any) -> Any:
        page = read(*given, **options)
        delivered(message(alert(queue=engine.queue, status="resolved")))
        return page

    monkeypatch.setattr(pagination, "by_id", read_and_end)

    assert "SignalboxDeadLetters" in viewer.see("/alerts").text


def test_the_list_is_filtered(viewer: Browser, engine: Engine) -> None:
    delivered(message(alert(queue=engine.queue), alert("SignalboxNoConsumers", queue=engine.queue, status="resolved")))

    firing = viewer.see("/alerts", q=f"queue:{engine.queue} state:firing").text
    assert ("SignalboxDeadLetters" in firing, "SignalboxNoConsumers" in firing) == (True, False)
    assert "SignalboxDeadLetters" not in viewer.see("/alerts", q="queue:elsewhere").text
    assert "state: does not take maybe." in viewer.see("/alerts", q="state:maybe").text
    assert "SignalboxNoConsumers" in viewer.fetch("/alerts", q="alert:consumers -state:firing").text
    page = viewer.see("/alerts", q=f"queue:{engine.queue} severity:critcal")
    assert "There is no severity critcal. Did you mean severity:critical ?" in page.text
    assert page.link("severity:critical") == f"/alerts?q=queue%3A{engine.queue}%20severity%3Acritical"


def test_foreign_content_is_escaped(viewer: Browser, engine: Engine) -> None:
    told = alert("<script>alert(1)</script>", queue="no/such queue")
    told["annotations"] |= {"runbook_url": "javascript:alert(1)", "description": "<img src=x onerror=alert(1)>"}
    delivered(message(told))

    page = viewer.see("/alerts")
    assert "<img src=x" not in page.html
    assert "<script>alert" not in page.html
    assert "javascript:" not in page.html
    assert "<img src=x onerror=alert(1)>" in page.text


def test_a_runbook_elsewhere_is_linked(viewer: Browser) -> None:
    told = alert("TheirAlert")
    told["annotations"]["runbook_url"] = "https://wiki.example/runbooks/TheirAlert"
    delivered(message(told))

    assert viewer.see("/alerts").link("Runbook") == "https://wiki.example/runbooks/TheirAlert"


@pytest.mark.parametrize("name", ["Nothing", "../configuration", "SignalboxDeadLetters.md"])
def test_only_runbooks_are_read(viewer: Browser, name: str) -> None:
    assert viewer.get(f"/runbooks/{name}").status_code == 404


@pytest.mark.parametrize(("token", "status"), [("", 401), ("wrong", 401), ("caf\u00e9", 401)])
def test_a_stranger_delivers_nothing(token: str, status: int) -> None:
    answer = delivered(message(alert("SignalboxFromAStranger")), token=token)

    assert (answer.status_code, answer["WWW-Authenticate"]) == (status, "Bearer")
    assert not Alert.objects.filter(name="SignalboxFromAStranger").exists()


def test_without_a_token_alerts_are_refused(settings: LazySettings) -> None:
    settings.ALERTMANAGER_TOKEN = ""

    answer = delivered(message(alert("SignalboxFromAStranger")), token="")

    assert answer.status_code == 403
    assert "ALERTMANAGER_TOKEN is not set" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", "body"),
        (b"\xff", "body"),
        (b"[" * 100_000, "body"),
        (message() | {"version": "9"}, "version"),
        (message(alert() | {"startsAt": "soon"}), "alerts[0].startsAt"),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_field_named(body: Any, field: str) -> None:
    answer = delivered(body)

    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_a_body_without_end_is_not_read(settings: LazySettings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000

    assert delivered(os.urandom(2_000)).status_code == 413


def test_only_a_post_delivers() -> None:
    assert delivered(b"", method="put").status_code == 405


def test_a_watchdog_that_stays_away_is_shown(viewer: Browser) -> None:
    delivered(message(alert("SignalboxWatchdog", severity="none")))
    for path in ("/", "/alerts"):
        assert "Prometheus is not heard of" not in viewer.see(path).text

    Alert.objects.filter(name="SignalboxWatchdog").update(seen_at=timezone.now() - timedelta(minutes=6))
    for path in ("/", "/alerts"):
        assert "Prometheus has stopped reporting. The last heartbeat arrived 6 m ago" in viewer.see(path).text


def test_an_alert_without_recent_updates_is_marked(viewer: Browser, engine: Engine) -> None:
    delivered(message(alert(queue=engine.queue)))
    assert "no recent update" not in viewer.see("/alerts").text

    Alert.objects.update(seen_at=timezone.now() - timedelta(hours=3, minutes=1))
    assert "no recent update" in viewer.see("/alerts").text
    delivered(message(alert(queue=engine.queue)))
    assert "no recent update" not in viewer.see("/alerts").text

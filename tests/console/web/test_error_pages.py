"""Error pages: the problem, and the next step."""

from __future__ import annotations

import logging
import sys

import pytest
from django.db import OperationalError
from django.test import RequestFactory

from console.web.errors import views as error_views
from console.web.errors.outages import OUTAGES, InBrief
from tests.console.browsers import Browser, Page


def test_an_address_that_leads_nowhere_says_so(viewer: Browser) -> None:
    page = viewer.see("/no/such/page", status=404)

    assert "No page has this address." in page.text
    assert page.link("Open Queues") == "/"


def test_errors_keep_the_sidebar_and_lead_to_the_page_of_the_thing(admin: Browser, viewer: Browser) -> None:
    page = admin.see("/people/999999/grants", status=404)

    assert page.one("a", aria_current="page", data_goto="people").text == "Users & access"
    assert page.link("Open Users & access") == "/people"
    assert "retention" not in page.text
    assert admin.see("/streams/no-such-stream", status=404).link("Open Streams") == "/streams"
    assert admin.see("/redrives/999999", status=404).link("Open Jobs") == "/redrives"
    assert viewer.see("/people", status=403).all("nav", id="sidebar-nav")
    assert not Browser().get("/v1/no-such-page").content.count(b"sidebar-nav")


def test_hostile_addresses_are_text(viewer: Browser) -> None:
    page = viewer.see("/queues/%3Cscript%3Ealert(1)%3C/script%3E", status=404)

    assert "<script>alert" not in page.html


@pytest.mark.parametrize(
    ("view", "status", "words"),
    [
        (lambda request: error_views.bad_request(request, ValueError()), 400, "Nothing was changed."),
        (error_views.expired_form, 403, "This form has expired"),
        (lambda request: error_views.forbidden(request, PermissionError("Because.")), 403, "Because."),
        (
            lambda request: error_views.not_found(request, ValueError({"path": 1})),
            404,
            "No page has this address.",
        ),
        (error_views.server_error, 500, "check before you send it again"),
    ],
)
def test_each_page_stands_without_a_database_or_a_person(view, status: int, words: str) -> None:
    answer = view(RequestFactory().get("/"))

    assert answer.status_code == status
    assert words in Page(answer.content.decode()).text


@pytest.mark.parametrize("slug", OUTAGES)
@pytest.mark.parametrize("method", ["get", "post"])
def test_the_page_of_an_outage_says_what_to_do(slug: str, method: str) -> None:
    """Call the view as Django does: while the error is being handled."""
    outage = OUTAGES[slug]
    request = getattr(RequestFactory(), method)("/queues")
    trouble = ConnectionError()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("console.web.errors.outages.of", lambda error: outage if error is trouble else None)
        try:
            raise trouble
        except ConnectionError:
            answer = error_views.server_error(request)

    assert (answer.status_code, answer["Retry-After"]) == (503, str(outage.retry_seconds))
    page = Page(answer.content.decode())
    assert page.one("h1").text == outage.title
    assert outage.advice in page.text
    assert ("Nothing was changed" in page.text) == (method == "post" and outage.nothing_done)
    assert ("may or may not" in page.text) == (method == "post" and not outage.nothing_done)


def test_a_request_that_found_no_database_is_one_line_of_the_log() -> None:
    try:
        raise OperationalError("host 10.0.0.7 is down")
    except OperationalError:
        record = logging.LogRecord(
            "django.request", logging.ERROR, "", 0, "%s: %s", ("Away", "/queues"), sys.exc_info()
        )

    assert InBrief().filter(record)
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)
    assert record.getMessage().startswith("Away: /queues (")


def test_a_fault_of_ours_keeps_its_stack() -> None:
    try:
        raise RuntimeError("a fault")
    except RuntimeError:
        record = logging.LogRecord("django.request", logging.ERROR, "", 0, "%s", ("/queues",), sys.exc_info())

    assert InBrief().filter(record)
    assert (record.levelno, bool(record.exc_info)) == (logging.ERROR, True)


@pytest.mark.parametrize("path", ["/", "/dead-letters"])
def test_filters_that_are_too_long_are_refused_and_not_kept_whole(viewer: Browser, path: str) -> None:
    page = viewer.see(path, q="x" * 20_000)

    assert "The filter is 2,001 characters long. Expected at most 2,000." in page.text
    assert len(page.one("input", id="q").attributes["value"] or "") == 2_001


@pytest.mark.parametrize("path", ["/", "/audit", "/dead-letters"])
@pytest.mark.parametrize("text", ["\x00", "\ud800", '"', "a:", "-", ",", "is:", '"\\x"', "payload.:1"])
def test_no_filter_breaks_a_page(viewer: Browser, path: str, text: str) -> None:
    answer = viewer.get(path, {"q": text.encode("utf-8", "surrogatepass")})

    assert answer.status_code == 200

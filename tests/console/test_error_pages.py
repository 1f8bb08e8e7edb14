"""What went wrong, and what to do next."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from django.views.csrf import csrf_failure

from console.pages import errors
from tests.console.browsers import Browser, Page


def test_an_address_that_leads_nowhere_says_so(viewer: Browser) -> None:
    page = viewer.see("/no/such/page", status=404)

    assert "Nothing lives at this address." in page.text
    assert page.link("To the overview") == "/"


def test_hostile_addresses_are_text(viewer: Browser) -> None:
    page = viewer.see("/queues/%3Cscript%3Ealert(1)%3C/script%3E", status=404)

    assert "<script>alert" not in page.html


@pytest.mark.parametrize(
    ("view", "status", "words"),
    [
        (lambda request: errors.bad_request(request, ValueError()), 400, "Nothing was changed."),
        (csrf_failure, 403, "This form is out of date"),
        (lambda request: errors.forbidden(request, PermissionError("Because.")), 403, "Because."),
        (lambda request: errors.not_found(request, ValueError({"path": 1})), 404, "Nothing lives at this address."),
        (errors.server_error, 500, "look before you send it again"),
    ],
)
def test_each_page_stands_without_a_database_or_a_person(view, status: int, words: str) -> None:
    answer = view(RequestFactory().get("/"))

    assert answer.status_code == status
    assert words in Page(answer.content.decode()).text


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

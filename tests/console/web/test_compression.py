"""Compressed answers: small for the console's own requests, plain for those that another site may have provoked."""

from __future__ import annotations

import gzip

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from console.web.caching import CompressionMiddleware
from tests.console.browsers import Browser

GZIP = {"Accept-Encoding": "gzip"}
STYLESHEET = "/static/console/styles/ground.css"


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_pages_that_the_console_or_the_person_asks_for_are_compressed(viewer: Browser, site: str) -> None:
    answer = viewer.get("/history", headers={**GZIP, "Sec-Fetch-Site": site})

    assert answer["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer["Vary"]
    page = gzip.decompress(answer.content)
    assert page.endswith(b"</html>\n")
    assert len(answer.content) < len(page) / 3


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_the_length_of_a_page_tells_other_sites_nothing(viewer: Browser, site: str) -> None:
    headers = GZIP | ({"Sec-Fetch-Site": site} if site else {})

    answer = viewer.get("/dead-letters?q=guess", headers=headers)

    assert "Content-Encoding" not in answer
    assert b"</html>" in answer.content


def test_two_answers_of_one_page_differ_in_length_by_chance() -> None:
    pages = [
        CompressionMiddleware(lambda request: HttpResponse("x" * 1000))(RequestFactory().get("/", headers=GZIP))
        for _ in range(20)
    ]

    assert len({len(page.content) for page in pages}) > 1


def test_programs_get_compressed_metrics() -> None:
    answer = Client().get("/metrics", headers=GZIP)

    assert answer["Content-Encoding"] == "gzip"
    assert b"signalbox_" in gzip.decompress(answer.content)


def test_a_client_that_does_not_ask_gets_plain_text() -> None:
    assert b"signalbox_" in Client().get("/metrics").content


@pytest.mark.parametrize("file", [STYLESHEET, "/static/console/console.js", "/static/console/favicon.svg"])
def test_static_files_are_compressed_and_found_again_by_their_etag(file: str) -> None:
    plain = Client().get(file)

    answer = Client().get(file, headers=GZIP)
    again = Client().get(file, headers={**GZIP, "If-None-Match": answer["ETag"]})

    assert gzip.decompress(answer.content) == plain.content
    assert again.status_code == 304


def test_a_part_of_a_file_is_a_part_of_the_file_itself() -> None:
    answer = Client().get(STYLESHEET, headers={**GZIP, "Range": "bytes=5-9"})

    assert (answer.status_code, "Content-Encoding" in answer) == (206, False)


def test_what_streams_passes_as_it_comes() -> None:
    parts = iter([b"event: stat\n" * 100])
    answer = StreamingHttpResponse(parts, content_type="text/event-stream")

    passed = CompressionMiddleware(lambda request: answer)(RequestFactory().get("/live", headers=GZIP))

    assert passed.streaming_content.__next__() == b"event: stat\n" * 100
    assert "Content-Encoding" not in passed

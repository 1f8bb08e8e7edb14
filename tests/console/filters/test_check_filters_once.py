"""Each pattern of a filter is checked once in a request."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues.dead_letters.ids import newest_id
from tests.console.browsers import Browser
from tests.dlq.dead_letter_scenes import DeadLetterScene

FILTER = "error:/timed? out/,/refused/i"


def checks(captured: CaptureQueriesContext) -> int:
    return sum("'' ~ " in query["sql"] for query in captured)


def read(browser: Browser, address: str, **parameters: str) -> int:
    """Read a page or a file to its end, and count the checks of patterns."""
    with CaptureQueriesContext(connection) as captured:
        answer = browser.get(address, parameters)
        assert answer.status_code == 200, answer.status_code
        b"".join(answer.streaming_content if answer.streaming else [answer.content])
    return checks(captured)


@pytest.mark.parametrize(
    "address", ["/dead-letters", "/dead-letters/failure-groups", "/exports/dead-letters", "/deletions/new"]
)
def test_a_page_checks_each_pattern_once(admin: Browser, scene: DeadLetterScene, address: str) -> None:
    scene.add_dead(2, error="timed out")

    assert read(admin, address, q=f"{scene.filter} {FILTER}") == 2


@pytest.mark.parametrize("address", ["/queues/{}/messages", "/exports/messages/{}"])
def test_a_list_of_messages_checks_each_pattern_once(operator: Browser, scene: DeadLetterScene, address: str) -> None:
    scene.engine.send({"a": "b"})

    assert read(operator, address.format(scene.queue), q="payload.a:/b/,/c/", state="ready") == 2


def test_a_plan_and_a_deletion_check_each_pattern_once(
    operator: Browser, admin: Browser, scene: DeadLetterScene
) -> None:
    scene.add_dead(2, error="timed out")
    text = f"{scene.filter} {FILTER}"

    with CaptureQueriesContext(connection) as captured:
        operator.submit("/redrives/new", filter_text=text, reason="again")
    assert checks(captured) == 2

    with CaptureQueriesContext(connection) as captured:
        admin.submit(
            "/deletions/new",
            filter_text=text,
            upper_bound=str(newest_id()),
            as_of="2099-01-01T00:00:00Z",
            reason="away",
            confirmation="delete",
        )
    assert checks(captured) == 2

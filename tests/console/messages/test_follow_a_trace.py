"""Links from a message to its trace, and to the dead letters of the trace."""

from __future__ import annotations

from pytest_django.fixtures import Settings

from tests.console.browsers import Browser
from tests.engine import Engine

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
ATTRIBUTES = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "correlation_id": "order-7"}


def path_of(engine: Engine, message_id: int) -> str:
    return f"/queues/{engine.queue}/messages/{message_id}"


def test_a_trace_is_a_link_where_the_installation_says_where_traces_are(
    operator: Browser, engine: Engine, settings: Settings
) -> None:
    message_id = engine.send(attributes=ATTRIBUTES)
    path = path_of(engine, message_id)
    assert not [one for one in operator.see(path).all("a") if "tempo" in one.attributes["href"]]

    settings.TRACE_URL_TEMPLATE = "https://tempo.example/trace/{trace_id}?from=signalbox"
    page = operator.see(path)

    assert page.link(TRACE) == f"https://tempo.example/trace/{TRACE}?from=signalbox"
    assert page.one("a", rel="noopener noreferrer").text == TRACE


def test_a_hostile_trace_id_stays_within_its_place(operator: Browser, engine: Engine, settings: Settings) -> None:
    settings.TRACE_URL_TEMPLATE = "https://tempo.example/trace/{trace_id}"
    message_id = engine.send(trace_id='../"><script>?#{trace_id}')

    page = operator.see(path_of(engine, message_id))

    url = page.one("a", rel="noopener noreferrer").attributes["href"]
    assert url == "https://tempo.example/trace/..%2F%22%3E%3Cscript%3E%3F%23%7Btrace_id%7D"


def test_what_died_of_the_same_story_is_a_click_away(operator: Browser, engine: Engine) -> None:
    message_id = engine.send(attributes=ATTRIBUTES, trace_id=TRACE)
    other_id = engine.send()
    for row in engine.receive(2):
        engine.nack(row[1], reason="rejected")

    page = operator.see(path_of(engine, message_id))
    links = [one.attributes["href"] for one in page.all("a") if one.text == "its dead letters"]

    assert len(links) == 2
    for link in links:
        rows = " ".join(operator.see(link).rows())
        assert str(message_id) in rows
        assert str(other_id) not in rows


def test_a_correlation_id_is_masked_with_the_attributes_it_is_one_of(
    viewer: Browser, operator: Browser, engine: Engine
) -> None:
    message_id = engine.send(attributes=ATTRIBUTES)

    assert "order-7" in operator.see(path_of(engine, message_id)).text
    page = viewer.see(path_of(engine, message_id))
    assert TRACE in page.text
    assert "order-7" not in page.html

"""Two messages side by side: what is different about the one that fails."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.messages.comparison_views import MAX_LINE_CHARACTERS, MAX_LINES, compare_documents, compare_texts
from tests.console.browsers import Browser, Page
from tests.engine import Engine

STACK = '  File "/app/pay.py", line {line}, in charge\n    charge()\n'


def message_of(engine: Engine, letter: int) -> int:
    return int(engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", letter))


def marked(page: Page) -> list[str]:
    return [one.text for one in page.all("mark")]


def test_two_dead_letters_are_shown_with_their_differences(operator: Browser, engine: Engine) -> None:
    one = message_of(engine, engine.die({"a": 1, "card": "x"}, error="no 1", details=STACK.format(line=1)))
    other = message_of(engine, engine.die({"card": "y", "a": 1}, error="no 2", details=STACK.format(line=1)))

    page = operator.see("/dead-letters/compare", id=[str(one), str(other)])

    assert marked(page) == ['"card": "x"', '"card": "y"', "no 1", "no 2"]
    assert "Stack identical" in page.text
    assert "Payload differences are marked" in page.text
    assert [one.text for one in page.all("th", scope="col")][1:3] == [str(one), str(other)]


def test_a_failure_beside_the_last_success_of_its_queue(operator: Browser, engine: Engine) -> None:
    done = engine.send({"a": 1})
    engine.ack(engine.receive_one()[1])
    dead = message_of(engine, engine.die({"a": 2}))

    page = operator.see("/dead-letters/compare", id=str(dead), **{"with": "success"})

    assert f"{done} completed" in page.text
    assert marked(page) == ['"a": 2', '"a": 1']
    assert f"Message {done}" in operator.see(page.link(str(done))).title


def test_a_success_of_the_same_kind_is_preferred(operator: Browser, engine: Engine) -> None:
    alike = engine.send(1, attributes={"kind": "card"})
    engine.send(2, attributes={"kind": "cash"})
    engine.ack(*[row[1] for row in engine.receive(2)])
    engine.send(3, attributes={"kind": "card"})
    engine.nack(engine.receive_one()[1], reason="rejected")
    dead = engine.value("select message_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id)

    assert f"{alike} completed" in operator.see("/dead-letters/compare", id=str(dead), **{"with": "success"}).text


def test_a_success_of_the_same_group_comes_before_all(operator: Browser, engine: Engine) -> None:
    alike = engine.send(1, group_id="customer-7")
    engine.send(2, group_id="customer-8")
    engine.ack(*[row[1] for row in engine.receive(2)])
    engine.send(3, group_id="customer-7")
    engine.nack(engine.receive_one()[1], reason="rejected")
    dead = engine.value("select message_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id)

    assert f"{alike} completed" in operator.see("/dead-letters/compare", id=str(dead), **{"with": "success"}).text


def test_a_success_whose_body_is_gone_says_so(operator: Browser, engine: Engine) -> None:
    done = engine.send({"a": 1})
    engine.ack(engine.receive_one()[1])
    dead = message_of(engine, engine.die({"a": 2}))
    engine.connection.execute(
        "delete from signalbox.message where queue_id = %s and message_id = %s", [engine.queue_id, done]
    )

    page = operator.see("/dead-letters/compare", id=str(dead), **{"with": "success"})

    assert f"{done} completed" in page.text
    assert "Its payload is no longer kept: the log has dropped it." in page.text
    assert marked(page) == []


def test_without_any_success_there_is_nothing_to_compare(operator: Browser, engine: Engine) -> None:
    dead = message_of(engine, engine.die(1))

    page = operator.see("/dead-letters/compare", id=str(dead), **{"with": "success"})

    assert f"No acknowledged message in the history of {engine.queue}." in page.text


@pytest.mark.parametrize("asked", [[], ["x"], ["9" * 30], ["999999999999"], ["-1", "1 or 1=1"]])
def test_whatever_is_asked_there_is_a_form(operator: Browser, asked: list[str]) -> None:
    page = operator.see("/dead-letters/compare", id=asked)

    assert "Two dead letters are compared at a time." in page.text
    assert "Select two messages" in page.text


def test_a_viewer_compares_facts_alone(viewer: Browser, engine: Engine) -> None:
    ids = [str(message_of(engine, engine.die({"card": number}, error=f"secret {number}"))) for number in (1, 2)]

    page = viewer.see("/dead-letters/compare", id=ids)

    assert "Payloads, attributes, errors and stacks are masked." in page.text
    assert "secret" not in page.html
    assert page.all("table", class_="compare") == []


def test_what_messages_hold_is_text(operator: Browser, engine: Engine) -> None:
    ids = [str(message_of(engine, engine.die({"<b>": f"<script>{number}"}))) for number in (1, 2)]

    page = operator.see("/dead-letters/compare", id=ids)

    assert '"<b>": "<script>1"' in page.text
    assert "<script>1" not in page.html


def test_the_number_of_queries_is_fixed(operator: Browser, engine: Engine) -> None:
    ids = [str(message_of(engine, engine.die({"a": list(range(number * 100))}))) for number in (1, 2, 3)]

    def queries(*asked: str) -> int:
        operator.see("/dead-letters/compare", id=list(asked))
        with CaptureQueriesContext(connection) as captured:
            operator.see("/dead-letters/compare", id=list(asked))
        return len(captured)

    assert queries(*ids[:2]) == queries(*ids[1:])


def test_a_comparison_is_bounded() -> None:
    part = compare_texts("Error", "a\n" * 100_000, "x" * 1_000_000)

    assert part.cut
    assert len(part.lines) <= 2 * MAX_LINES
    assert max(len(line.right or "") for line in part.lines) <= MAX_LINE_CHARACTERS


def test_keys_in_another_order_are_no_difference() -> None:
    assert compare_documents("Payload", {"a": 1, "b": [{"c": 1, "d": 2}]}, {"b": [{"d": 2, "c": 1}], "a": 1}).same
    assert not compare_documents("Payload", {"a": 1}, {"a": None}).same

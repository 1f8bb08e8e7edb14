"""Words without a key find what rows show, and short names of classes find their classes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection, transaction

from dlq.filters import Target, parse
from dlq.search import anchors
from dlq.search.checked_filter import check_filter
from dlq.search.counting import survey
from dlq.search.dead_letter_list import dead_letters
from dlq.search.finding import find
from dlq.search.message_list import messages
from queues.database.query import Query, database_now
from queues.dead_letters import known
from queues.dead_letters.ids import Order, Span, newest_id
from queues.messages.lists import State
from queues.reach import Bounds, Reach
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is slow, and here that is no failure."""
    monkeypatch.setattr(anchors, "LOOK_UP_MILLISECONDS", 60_000)


def found(text: str, reach: Reach | None = None) -> list[int]:
    """The dead letters on the first page, after checking that the count and a job agree with it."""
    filter = check_filter(text) if reach is None else check_filter(text, reach)
    ids = [row.dead_letter_id for row in dead_letters(filter).rows]
    search = find(filter, database_now())
    assert survey(search).count.number == len(ids)
    assert {row[0] for row in search.ids_within(100).rows()} == set(ids)
    return ids


def plan(query: Query, how: str = "verbose") -> str:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"explain ({how}) {query.sql}", query.params)
        return "\n".join(line for (line,) in cursor.fetchall())


@pytest.mark.parametrize(
    "word",
    [
        "carddeclined",
        "shop.errors.",
        "{queue}",
        "{upper}",
        "{message_id} -refused",
        "expired",
        "ORD-4711",
        "4711",
        "98765.43",
        '"two words"',
        "/^ORD-\\d+$/",
        "nothing,4711",
        "declined -refused 4711",
        "class:{queue}CardDeclined",
        "-class:Refused",
        "name:{queue}carddeclined",
        "name:{message_id} class:{queue}CardDeclined",
    ],
)
def test_a_word_finds_what_the_row_shows(scene: DeadLetterScene, word: str) -> None:
    scene.add_dead(2, error_class="Refused", error="no", payload={"other": True})
    payload = {"order": {"id": "ORD-4711"}, "lines": [{"total": 98765.43}, "two words"]}
    [wanted] = scene.add_dead(
        1, error_class=f"shop.errors.{scene.queue}CardDeclined", error="Card expired", payload=payload
    )
    [row] = dead_letters(check_filter(f"{scene.filter} class:*Declined".replace("*", f"{scene.queue}Card"))).rows
    written = word.format(queue=scene.queue, upper=scene.queue.upper(), message_id=row.message_id)

    ids = found(written if word.startswith("name:") else f"{scene.filter} {written}")

    assert wanted in ids
    assert word in ("{queue}", "{upper}") or ids == [wanted]


@pytest.mark.parametrize("word", ["kind", "order", "true-", "zzz", "0000{message_id}1", "clas%", "Card_eclined"])
def test_a_word_finds_no_names_of_fields_and_no_wildcards(scene: DeadLetterScene, word: str) -> None:
    [dead] = scene.add_dead(1, error_class="CardDeclined", payload={"order": 1, "kind": True})

    assert found(f"{scene.filter} {word.format(message_id=dead)}") == []


def test_a_job_takes_what_the_list_showed(scene: DeadLetterScene) -> None:
    scene.add_dead(3, error_class="shop.CardDeclined", payload={"order": "North-1"})
    scene.add_dead(2, error_class="Refused", payload={"order": "North-1"})

    redrive = create_redrive(f"{scene.filter} class:CardDeclined north-1", newest_id(), actor="ana", reason="x")

    assert (redrive.total_estimate, redrive.filter_text) == (3, f"{scene.filter} class:CardDeclined text:north-1")


def test_words_search_messages_of_every_state(scene: DeadLetterScene) -> None:
    ready = scene.engine.send({"order": "North-17"}, group_id="customer-9")
    scene.engine.send({"order": "South-2"})

    for word in ("north-17", "customer-9", str(ready), f"name:{ready}", "-South-2"):
        page = messages(scene.engine.queue_id, State.READY, check_filter(word, targets=(Target.READY,)))
        assert [row.message_id for row in page.rows] == [ready], word


def test_a_word_held_to_names_looks_into_no_payload_and_no_error(scene: DeadLetterScene) -> None:
    scene.add_dead(1, error="secret 4711", payload={"order": 4711})

    held = parse(f"{scene.filter} 4711 -TimeoutError").held_to_names()

    assert str(held) == f"{scene.filter} name:4711 -name:TimeoutError"
    assert dead_letters(check_filter(held)).rows == []


def test_a_reach_of_one_queue_holds_for_names(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    mine, theirs = make_dead_letter_scene(), make_dead_letter_scene()
    dead = mine.add_dead(2, error_class=f"x.{mine.queue}Error")
    theirs.add_dead(2, error_class=f"x.{mine.queue}Error")
    reach = Reach((Bounds(prefix=mine.queue),))

    assert found(f"name:{mine.queue}Error", reach) == dead[::-1]
    assert found(f"class:{mine.queue}Error", reach) == dead[::-1]
    assert found(f"name:{theirs.queue}", reach) == []


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("class:Rare", "dead_letter_class"),
        ("class:Rare,x.Rarer", "dead_letter_class"),
        ("name:rare", "dead_letter_class"),
        ("name:{queue}", "dead_letter_source"),
        ("name:{queue}", "dead_letter_queue"),
        ("name:{message_id}", "dead_letter_message_id_key"),
        ("name:{message_id} class:Rare", "dead_letter_class"),
    ],
)
def test_names_are_read_by_their_indexes(
    make_dead_letter_scene: Callable[..., DeadLetterScene], text: str, index: str
) -> None:
    large, small = make_dead_letter_scene(), make_dead_letter_scene()
    [*_, last] = small.add_dead(40, error_class="shop.Rare")
    large.add_dead(3_000)
    large.engine.connection.execute("analyze signalbox.dead_letter")
    query = find(check_filter(text.format(queue=small.queue, message_id=last)), database_now()).ids(51, Order.ANY)

    explained = plan(query)

    assert index in explained
    assert "Seq Scan on signalbox.dead_letter" not in explained, explained


def test_a_name_that_nothing_has_reads_no_dead_letter(scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    for text in ("class:NoSuchClass", "name:nosuch-name"):
        assert "One-Time Filter: false" in plan(find(check_filter(text), database_now()).ids(51, Order.NEWEST_FIRST))


def test_classes_are_looked_up_by_jumps_in_their_index(scene: DeadLetterScene) -> None:
    scene.add_dead(3_000)
    scene.engine.connection.execute("analyze signalbox.dead_letter")

    for query in (known.classes_named(["A"], ["%.A"], 41), known.classes_containing(["%a%"], 41)):
        explained = plan(query, "verbose, analyze")  # a subquery of the walk is listed only where it runs
        assert explained.count("using dead_letter_class") == 2, explained
        assert "Seq Scan" not in explained, explained


def test_a_word_in_payloads_is_searched_between_two_ids(scene: DeadLetterScene) -> None:
    """A page looks at slices of the newest, and a job at windows: neither may read beyond."""
    buried = scene.add_dead(3_000)
    scene.engine.connection.execute("analyze signalbox.dead_letter")
    search = find(check_filter("4711"), database_now(), Span(buried[1_000], buried[1_100]))

    explained = plan(search.ids(51, Order.NEWEST_FIRST))

    [condition] = [line for line in explained.splitlines() if "Index Cond" in line and "dead_letter_id" in line]
    assert str(buried[1_000]) in condition, explained
    assert str(buried[1_100]) in condition, explained


def test_too_many_names_are_left_to_the_walk(scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchors, "MAX_ANCHORS", 2)
    for number in range(4):
        scene.add_dead(1, error_class=f"{scene.queue}.{number}.Declined")

    assert anchors.of(parse("name:declined").terms) is None
    assert len(found(f"{scene.filter} name:declined")) == 4

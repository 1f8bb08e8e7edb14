"""Suggestions from the data for a filter that is being typed."""

from __future__ import annotations

from typing import Any

import pytest

from dlq.filters import Target, parse
from dlq.masking.masks import Rules
from dlq.search import samples, suggestions
from dlq.search.samples import Place
from dlq.search.suggestions import suggest
from queues.database.time_limits import OutOfTime
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is slow, and here that is no failure."""
    monkeypatch.setattr(samples, "MILLISECONDS", 60_000)


def offered(text: str, place: Place | None = None, see_payloads: bool = True) -> list[str]:
    return [one.insert for one in suggest(text, len(text), place or Place(), see_payloads=see_payloads)]


def test_names_of_queues_and_tenants_are_offered(scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    assert offered(f"queue:{scene.queue[:-1]}")[0].startswith(scene.queue[:-1])
    assert f"{scene.queue}-dlq" in offered(f"class:x -queue:{scene.queue.upper()}-")
    assert offered("tenant:def") == ["default"]
    assert offered("queue:no-such-queue-") == []


def test_causes_of_the_newest_are_offered_the_commonest_first(scene: DeadLetterScene) -> None:
    scene.add_dead(2, error_class="Suggested.KeyError")
    scene.add_dead(3, error_class="Suggested.Timeout out, of time")

    assert offered("class:suggested") == ['"Suggested.Timeout out, of time"', "Suggested.KeyError"]
    assert offered("fp:fp-suggested.k") == ["fp-Suggested.KeyError"]


def test_fingerprints_are_offered_with_their_error_and_errors_with_none_masked(scene: DeadLetterScene) -> None:
    scene.add_dead(2, error_class=f"Shop.{scene.queue}", error=f"refused by {scene.queue}")

    def helps(**how: Any) -> list[str]:
        return [one.help for one in suggest(f"fp:{scene.queue}", len(scene.queue) + 3, Place(), **how)]

    shown, masked = {"see_payloads": True}, Rules(payload=frozenset([("card",)]))
    assert helps(**shown) == [f"Shop.{scene.queue}: refused by {scene.queue}"]
    assert helps(see_payloads=False) == helps(**shown, masked=masked) == [f"Shop.{scene.queue}"]
    typed = f"error:{scene.queue}"
    assert offered(typed) == [f'"refused by {scene.queue}"']
    assert offered(typed, see_payloads=False) == []
    assert suggest(typed, len(typed), Place(), **shown, masked=masked) == []


def test_a_bare_word_is_offered_as_the_queue_or_the_class_that_has_it(scene: DeadLetterScene) -> None:
    scene.add_dead(1, error_class=f"Shop.{scene.queue}Declined")

    assert offered(scene.queue[1:]) == [
        f"queue:{scene.queue}",
        f"queue:{scene.queue}-dlq",
        f"class:Shop.{scene.queue}Declined",
    ]
    assert offered(f"-name:{scene.queue}Decl") == [f"Shop.{scene.queue}Declined"]
    assert offered(scene.queue[1:], Place(Target.READY, scene.engine.queue_id)) == []


def test_dead_letters_are_offered_no_state_but_dead(scene: DeadLetterScene) -> None:
    assert offered("state:") == ["dead"]
    assert offered("state:", Place(Target.READY, scene.engine.queue_id)) == ["ready", "pending"]


def test_paths_and_their_values_come_from_a_sample(scene: DeadLetterScene) -> None:
    payload = {"zorder": {"state id": "5", "done": True, "tags": ["x y", "b"], "lines": [{"sku": 7}]}}
    scene.add_dead(60, payload=payload)

    assert set(offered("payload.zor")) == {
        'payload.zorder."state id":',
        "payload.zorder.done:",
        "payload.zorder.tags[]:",
        "payload.zorder.lines[].sku:",
    }
    assert offered('payload.zorder."state id":') == ['"5"']
    assert offered("payload.zorder.done:") == ["true"]
    assert offered("-payload.zorder.tags[]:b,") == ['"x y"', "b"]
    assert offered("payload.zorder.lines[].sku:") == ["7"]


def test_what_is_offered_means_what_it_came_from(scene: DeadLetterScene) -> None:
    nasty = ['a"b', "a\\b", "1..2", "*", "/x/", ">3", "null", "<b>", "it's", "5", "\n"]
    scene.add_dead(
        1, payload={"nasty": nasty[: samples.ELEMENTS], "more": {str(n): one for n, one in enumerate(nasty)}}
    )

    for number, text in enumerate(nasty):
        [value] = offered(f"payload.more.{number}:")
        assert parse(f"payload.more.{number}:{value}").values("payload") == (text,)


def test_messages_of_a_queue_offer_their_own(engine: Engine, commits: None) -> None:
    engine.send({"only": {"here": "yes"}}, attributes={"region": "eu"})
    engine.receive(consumer="suggested-worker")
    place = Place(Target.LEASE, engine.queue_id)

    assert offered("payload.only", place) == ["payload.only.here:"]
    assert offered("attr.region:", place) == ["eu"]
    assert offered("consumer:sug", place) == ["suggested-worker"]
    assert offered("class:", place) == []


def test_what_is_masked_is_not_offered(scene: DeadLetterScene) -> None:
    scene.add_dead(1, payload={"secret": "hunter2"})

    assert offered("pay", see_payloads=False) == []
    assert offered("payload.sec", see_payloads=False) == []
    assert offered("payload.secret:", see_payloads=False) == []
    assert "error:" not in offered("", see_payloads=False)


@pytest.mark.parametrize("text", ["\0", "queue:\ud800", "x" * 2_001, 'payload."', "nothing:x", "payload.a[0].b:", "-"])
def test_hostile_and_half_typed_text_is_no_mistake(scene: DeadLetterScene, text: str) -> None:
    assert isinstance(offered(text), list)


@pytest.mark.parametrize("cursor", [-5, 0, 10_000])
def test_any_place_of_the_cursor_is_one(scene: DeadLetterScene, cursor: int) -> None:
    assert all(0 <= one.start <= one.end <= 3 for one in suggest("cla", cursor, Place(), see_payloads=True))


def test_what_takes_too_long_is_not_offered(scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_time(milliseconds: float) -> None:
        raise OutOfTime

    monkeypatch.setattr(samples, "time_limit", no_time)

    assert offered("queue:") == offered("payload.a:") == []


def test_suggestions_never_scan(scene: DeadLetterScene) -> None:
    """The sample is read from the end of an index, whatever the number of dead letters."""
    scene.add_dead(3)
    query = suggestions._query("class", "", Place())
    assert query is not None
    for way in ("seqscan", "bitmapscan", "sort"):  # of a small table the planner would read all
        scene.engine.connection.execute(f"set enable_{way} = off")
    plan = "\n".join(row[0] for row in scene.engine.connection.execute(f"explain {query.sql}", query.params))
    assert "Scan Backward using dead_letter_pkey" in plan, plan

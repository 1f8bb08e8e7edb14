"""Dead letters: from a number that alarms to the cause behind it in two clicks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.dead_letters import views
from console.web.sorting import MAX_SORTED
from tests.console.browsers import Browser, Page
from tests.dlq.dead_letter_scenes import DeadLetterScene


def look(browser: Browser, scene: DeadLetterScene, more: str = "", **parameters: str) -> Page:
    return browser.see("/dead-letters", q=f"{scene.filter} {more}".strip(), **parameters)


def test_clusters_come_first_the_worst_at_the_top(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2, error_class=f"KeyError-{scene.queue}", error="'customer'")
    scene.add_dead(5, error_class=f"TimeoutError-{scene.queue}", error="POST timed out")

    page = look(operator, scene)

    clusters = [one.text for one in page.all("article")]
    assert clusters[0].startswith(f"TimeoutError-{scene.queue} POST timed out Example: POST timed out open")
    assert " 5 dead now Messages Redrive…" in clusters[0]
    assert clusters[1].startswith(f"KeyError-{scene.queue} <n> Example: 'customer' open")


def test_a_cluster_leads_to_its_own_messages(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2, error_class="KeyError")
    scene.add_dead(1, error_class="TimeoutError")

    page = operator.see(look(operator, scene).link("Messages"))

    assert len(page.rows()) == 2
    assert page.one("input", id="q").attributes["value"] == f"{scene.filter} fp:fp-KeyError"


def test_a_filter_on_messages_says_that_clusters_are_of_more(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(3, payload={"a": 1})

    page = look(operator, scene, "payload.a:2")

    assert "Failure groups ignore payload.a:2" in page.text
    assert page.all("article")[0].text.count(" 3 dead now")
    assert "Failure groups ignore" not in look(operator, scene).text


def test_many_are_counted_up_to_ten_thousand(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(10_050)

    assert "50 shown of 10,000+" in look(operator, scene).text


def test_pages_lead_on_and_back(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(60)

    first = look(operator, scene)
    second = operator.see(first.link("Next page"))

    assert (len(first.rows()), len(second.rows())) == (50, 10)
    assert second.all("article") == []
    back = operator.see(second.link("Previous page"))
    assert [row.split()[0] for row in back.rows()] == [row.split()[0] for row in first.rows()]  # their ages move on


def test_hostile_errors_and_payloads_are_text(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(
        1,
        error_class='<script>alert("class")</script>',
        error="<img src=x onerror=alert(1)>",
        payload={"</td>": "<svg onload=alert(2)>"},
    )

    page = look(operator, scene)

    assert '<script>alert("class")</script>' in page.text
    assert "<script>alert" not in page.html
    assert "<img" not in page.html
    assert "<svg onload" not in page.html
    assert len(operator.see(page.link("Messages")).rows()) == 1


def test_a_viewer_sees_classes_but_no_texts(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, error="card 411122223333 declined", payload={"card": "411122223333"})

    page = look(viewer, scene)

    assert "TimeoutError" in page.text
    assert "411122223333" not in page.html
    denied = [one for one in page.all("span", aria_disabled="true") if one.text.startswith("Redrive matching")]
    assert "Redriving and triaging dead letters requires the operator role." in denied[0].attributes["title"]


def test_a_viewer_cannot_guess_at_what_is_masked(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, error="card 411122223333 declined", payload={"card": "411122223333"})

    for question in ("payload.card:411122223333", "error:411122223333", "attr.a:1"):
        page = look(viewer, scene, question)
        assert "is masked. Viewing payloads, attributes and stacks requires the operator role." in page.text
        assert len(page.rows()) >= 1  # not filtered


def test_a_word_of_a_viewer_finds_names_only(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, error_class="shop.CardDeclined", error="card 411122223333", payload={"card": "411122223333"})

    found, hidden = look(viewer, scene, "carddecl"), look(viewer, scene, "411122223333")

    assert len(found.rows()) == 1
    assert "No dead letter matches this filter" in hidden.text
    for page in (found, hidden):
        assert "Words search names only: classes, queues and message ids." in page.text


def test_a_word_finds_what_a_row_shows(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, error_class="shop.CardDeclined", payload={"order": "ORD-4711"})
    scene.add_dead(1, error_class="shop.Refused")
    message_id = look(operator, scene, "class:CardDeclined").rows()[0].split()[0]

    for word in ("CardDeclined", "ord-4711", f"{message_id} -Refused"):
        assert [row.split()[0] for row in look(operator, scene, word).rows()] == [message_id], word
    assert len(operator.see("/dead-letters", q=scene.queue).rows()) == 2


def test_failure_groups_match_the_words_too(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, error_class=f"shop.{scene.queue}Declined", error="card 4742", payload={"order": "ORD-1"})
    scene.add_dead(1, error_class="shop.Refused", error="no")

    for word in (f"{scene.queue}Declined", "4742 -nothing", "class:" + f"{scene.queue}Declined"):
        groups = [one.text for one in look(operator, scene, word).all("article")]
        assert len(groups) == 1, word
        assert groups[0].startswith(f"shop.{scene.queue}Declined")
    page = look(operator, scene, "ord-1")
    assert (len(page.rows()), page.all("article")) == (1, [])
    assert "No failure group has these words in its class, its error or the name of its queue." in page.text


def test_an_empty_list_says_why(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, error_class=f"shop.{scene.queue}Declined")
    ready = scene.engine.send({"a": 1})

    for wrong, sentence, meant in (
        (f"class:{scene.queue}Declinde", f"has the class {scene.queue}Declinde.", f"class:{scene.queue}Declined"),
        (f"{scene.queue}Declinde", f"No row shows {scene.queue}Declinde.", f"{scene.queue}Declined"),
        (f"queue:{scene.queue}x", f"There is no queue {scene.queue}x.", f"queue:{scene.queue}"),
        ("tenant:defualt", "There is no tenant defualt.", "tenant:default"),
    ):
        page = operator.see("/dead-letters", q=f"{wrong} attempts:>0")
        assert "No dead letter matches this filter" in page.text
        assert sentence in page.text
        fixed = operator.see(page.link(meant))
        assert fixed.one("input", id="q").attributes["value"].startswith(meant if ":" in meant else f"text:{meant}")
        assert fixed.rows()
    assert "none of them is ready" in look(operator, scene, "state:ready").text
    assert "No failure group has the fingerprint nosuch." in look(operator, scene, "fp:nosuch").text
    page = look(operator, scene, f"id:{ready}")
    assert page.link(f"Find message {ready}") == f"/messages/{ready}"


def test_a_misspelled_key_names_the_nearest_and_lists_all(operator: Browser, scene: DeadLetterScene) -> None:
    page = look(operator, scene, "quue:x")

    assert "Unknown key quue:. Did you mean queue:? Expected queue: or another key, or quotes" in page.text
    assert [one for one in page.all("details") if one.text.startswith("See all keys queue: Name of the queue")]


def test_columns_with_an_index_sort(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(3)
    newest = [row.split()[0] for row in look(operator, scene).rows()]

    page = operator.see(look(operator, scene).link("Failed ↓"))

    assert [row.split()[0] for row in page.rows()] == newest[::-1]
    assert [one.text for one in page.all("th", aria_sort="ascending")] == ["Failed ↑"]
    assert "Oldest first" in page.text
    assert page.text.count("Reverse order") == 1
    everything = operator.see(operator.see("/dead-letters", q="attempts:>0").link("Message"))
    ids = [int(row.split()[0]) for row in everything.rows()]
    assert ids == sorted(ids, reverse=True)


def test_other_columns_sort_the_newest_unless_these_take_too_long_to_find(
    operator: Browser, scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error_class in ("app.Late", "app.Early", "app.Middle"):
        scene.engine.die({}, error_class=error_class)

    page = operator.see(look(operator, scene).link("Error"))

    classes = [row.split()[1] for row in page.rows()]
    assert [one for one in classes if one.startswith("app.")] == ["app.Early", "app.Late", "app.Middle"]
    assert page.one("th", aria_sort="ascending").text == "Error ↑"

    found = views.dead_letters
    monkeypatch.setattr(
        views,
        "dead_letters",
        lambda *args, size, **options: replace(
            found(*args, size=size, **options), searched_to=datetime.now(UTC) if size == MAX_SORTED else None
        ),
    )
    page = look(operator, scene, sort="error")
    assert "3 shown of 3, not sorted: the search takes too long" in page.text
    assert [row.split()[1] for row in page.rows()] == ["app.Middle", "app.Early", "app.Late"]


def test_the_number_of_rows_is_chosen_and_remembered(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(60)

    page = operator.see(look(operator, scene).link("25"))

    assert len(page.rows()) == 25
    assert [one.text for one in page.all("a", aria_current="true") if one.text.isdigit()] == ["25"]
    assert len(operator.see(page.link("Next page")).rows()) == 25
    assert len(look(operator, scene).rows()) == 25
    assert len(look(operator, scene, rows="100").rows()) == 60


def test_a_mistake_is_underlined_and_nothing_is_filtered(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    page = look(operator, scene, "age:old")

    assert page.one("mark").text == "old"
    assert "Showing unfiltered results." in page.text
    assert page.rows()


def test_the_bar_asks_for_what_the_filter_selects(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    page = look(operator, scene, "  class:TimeoutError")

    bar = [one for one in page.all("form") if one.attributes.get("action") == "/redrives/new"]
    assert "Redrive all matching…" in bar[0].text
    assert page.one("input", type="hidden", name="q").attributes["value"] == (f"{scene.filter} class:TimeoutError")


def test_nothing_dead_says_what_would_be_here(operator: Browser, scene: DeadLetterScene) -> None:
    assert "No dead letter matches this filter" in look(operator, scene).text


def test_the_number_of_queries_does_not_grow(
    operator: Browser, make_dead_letter_scene: Callable[..., DeadLetterScene]
) -> None:
    scene = make_dead_letter_scene()
    scene.add_dead(1)
    look(operator, scene)
    with CaptureQueriesContext(connection) as few:
        look(operator, scene)
    scene.add_dead(80, error_class="KeyError")
    with CaptureQueriesContext(connection) as many:
        look(operator, scene)

    assert len(many) <= len(few) + 8  # a count in portions


def test_each_row_leads_to_the_redrive_and_the_deletion_of_its_message(
    admin: Browser, viewer: Browser, scene: DeadLetterScene
) -> None:
    [letter] = scene.add_dead(1)
    message_id = scene.engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", letter)

    page = admin.see("/dead-letters", q=scene.filter)

    assert page.one("a", id=f"redrive-{letter}").attributes["href"] == f"/redrives/new?q=id:{message_id}"
    assert page.one("a", id=f"delete-{letter}").attributes["href"] == f"/deletions/new?q=id:{message_id}"
    denied = viewer.see("/dead-letters", q=scene.filter).all("span", aria_disabled="true")
    rows = [one for one in denied if "tabindex" not in one.attributes]
    assert [one.text.split(",")[0].strip() for one in rows] == ["Redrive…", "Delete…"]
    assert all(one.attributes["title"] for one in rows)

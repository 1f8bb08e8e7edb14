"""The filter bar helps: it offers what may come next and keeps filters under a name."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.search.saved_filters import SavedFilter
from tests.console.browsers import Browser, Page
from tests.dlq.dead_letter_scenes import DeadLetterScene

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is slow, and here that is no failure."""
    monkeypatch.setattr("dlq.search.samples.MILLISECONDS", 60_000)


def options(browser: Browser, text: str, **parameters: str) -> list[str]:
    page = browser.see("/filter-suggestions", q=text, at=str(len(text)), **parameters)
    return [one.attributes["data-insert"] for one in page.all("li", role="option")]


def keep(browser: Browser, name: str, text: str, **more: str) -> Page:
    return browser.submit("/saved-filters/new", page="dead-letters", name=name, text=text, **more)


def test_options_are_served_as_a_fragment(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, error_class=f"{scene.queue}{HOSTILE}", payload={"zz": {HOSTILE: HOSTILE}})

    assert options(operator, "cla")[0] == "class:"
    page = operator.see("/filter-suggestions", q=f"class:{scene.queue}")
    assert page.one("li").attributes["data-insert"] == f'"{scene.queue}\\"><script>alert(1)</script>"'
    assert "<script>" not in page.html
    assert "<script>" not in operator.see("/filter-suggestions", q="payload.zz").html
    assert options(operator, "payload.onl", queue=scene.queue, state="nonsense") == []
    assert options(operator, "x", queue="a\0b") == []


def test_a_viewer_is_offered_no_payloads(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, payload={"zzsecret": "hunter2"})

    assert options(viewer, "payload.zz") == options(viewer, "payload.zzsecret:") == []


def test_the_field_says_where_to_ask(operator: Browser, scene: DeadLetterScene) -> None:
    scene.engine.send({"a": 1})

    page = operator.see(f"/queues/{scene.queue}/messages", state="leased")
    assert page.one("input", id="q").attributes["data-suggest-url"] == (
        f"/filter-suggestions?queue={scene.queue}&state=leased"
    )
    assert operator.see("/dead-letters").one("input", id="q").attributes["data-suggest-url"] == "/filter-suggestions"


def test_a_filter_is_saved_listed_offered_renamed_and_deleted(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2, error_class="KeyError")
    name = f"Keys of {scene.queue}"

    page = keep(operator, name, f"{scene.filter}  class:KeyError", next="/dead-letters?q=x&after=7")

    assert f"Saved this filter as {name}. You find it under Saved." in page.text
    assert len(page.rows()) == 2
    assert page.link(name) == f"/dead-letters?q=queue%3A{scene.queue}%20class%3AKeyError"
    assert f"{scene.filter} class:KeyError" in options(operator, "keys")

    kept = SavedFilter.objects.get(name=name)
    page = operator.submit(f"/saved-filters/{kept.pk}", name="Renamed", shared="on")
    assert "Changed Renamed." in page.text
    assert any(row.startswith("Renamed") for row in page.rows())
    page = operator.submit(f"/saved-filters/{kept.pk}/delete")
    assert f"Deleted Renamed. It selected: {kept.text}" in page.text


def test_names_and_texts_are_hostile_until_rendered(operator: Browser, admin: Browser, scene: DeadLetterScene) -> None:
    keep(operator, HOSTILE + scene.queue, f'error:"{HOSTILE[1:]}"', shared="on", next="https://evil.example/")

    for path in ("/dead-letters", "/saved-filters"):
        page = admin.see(path)
        assert HOSTILE + scene.queue in page.text
        assert "<script>alert" not in page.html


def test_another_users_filter_cannot_be_changed(operator: Browser, viewer: Browser, scene: DeadLetterScene) -> None:
    keep(operator, f"of {scene.queue}", scene.filter, shared="on")
    kept = SavedFilter.objects.get(name=f"of {scene.queue}")

    assert viewer.post(f"/saved-filters/{kept.pk}", {"name": "x"}).status_code == 404
    assert viewer.post(f"/saved-filters/{kept.pk}/delete").status_code == 404
    row = next(row for row in viewer.see("/saved-filters").rows() if scene.queue in row)
    assert f"Only {operator.name} or an administrator can change this filter." in row


def test_a_shared_filter_does_not_tell_what_is_masked(
    operator: Browser, viewer: Browser, scene: DeadLetterScene
) -> None:
    keep(operator, f"secret {scene.queue}", f"{scene.filter} payload.card:411122223333", shared="on")
    keep(operator, f"plain {scene.queue}", f"{scene.filter} class:KeyError", shared="on")

    for path in ("/dead-letters", "/saved-filters"):
        page = viewer.see(path)
        assert f"plain {scene.queue}" in page.text
        assert "411122223333" not in page.html
    assert options(viewer, f"secret {scene.queue}"[:6]) == []
    assert f"secret {scene.queue}" in operator.see("/saved-filters").text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bad of {queue}", "age:old", "age: does not take old."),
        ("taken of {queue}", "class:X", "You already have a saved filter called 'taken of {queue}' for this list."),
        ("  ", "class:X", "Enter a name."),
    ],
)
def test_a_refused_filter_comes_back_as_it_was_typed(
    operator: Browser, scene: DeadLetterScene, name: str, text: str, said: str
) -> None:
    keep(operator, f"taken of {scene.queue}", scene.filter)
    name, back = name.format(queue=scene.queue), "/dead-letters?q=x&after=7"

    answer = operator.post(
        "/saved-filters/new",
        {"page": "dead-letters", "name": name, "text": text, "shared": "on", "next": back},
    )
    page = Page(answer.content.decode())

    assert answer.status_code == 422
    assert said.format(queue=scene.queue) in page.text
    given = [page.one("input", id=f"id_{field}").attributes["value"] for field in ("name", "text", "next")]
    assert given == [name, text, back]
    assert "checked" in page.one("input", id="id_shared").attributes
    assert SavedFilter.objects.filter(name__contains=scene.queue).count() == 1


def test_a_refused_new_name_stays_in_its_row(operator: Browser, scene: DeadLetterScene) -> None:
    keep(operator, f"one of {scene.queue}", scene.filter)
    keep(operator, f"two of {scene.queue}", scene.filter)
    kept = SavedFilter.objects.get(name=f"two of {scene.queue}")

    answer = operator.post(f"/saved-filters/{kept.pk}", {"name": f"one of {scene.queue}", "shared": "on"})
    page = Page(answer.content.decode())

    assert answer.status_code == 422
    assert page.one("input", id=f"name-{kept.pk}").attributes["value"] == f"one of {scene.queue}"
    assert "Nothing was changed. You already have a saved filter called" in page.text


def test_a_stale_filter_shows_its_mistake(operator: Browser, scene: DeadLetterScene) -> None:
    keep(operator, f"stale {scene.queue}", scene.filter)
    SavedFilter.objects.filter(name=f"stale {scene.queue}").update(text="colour:red")

    page = operator.see("/dead-letters")

    assert "no longer valid" in page.text
    assert operator.see(page.link(f"stale {scene.queue}")).one("mark").text == "colour"
    assert "No longer valid: Unknown key colour:." in operator.see("/saved-filters").text


@pytest.mark.parametrize("pattern", ["/(/", "/a**/i"])
def test_a_pattern_that_cannot_be_read_is_underlined(operator: Browser, scene: DeadLetterScene, pattern: str) -> None:
    scene.add_dead(1)

    for path in ("/dead-letters", f"/queues/{scene.queue}/messages", "/redrives/new"):
        page = operator.see(path, q=f"payload.a:{pattern}", status=422 if path == "/redrives/new" else 200)
        assert "PostgreSQL cannot read this pattern: " in page.text
    assert page.all("mark")[0].text == pattern if page.all("mark") else True


def test_too_long_a_filter_is_refused_and_never_cut(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    page = operator.see("/dead-letters", q=f"{scene.filter} -id:" + "9" * 15 + ",9" * 1_000)

    assert "The filter is 2,001 characters long." in page.text


def test_saved_filters_cost_the_page_one_query(operator: Browser, scene: DeadLetterScene) -> None:
    operator.see("/dead-letters", q=scene.filter)
    with CaptureQueriesContext(connection) as few:
        operator.see("/dead-letters", q=scene.filter)
    for number in range(5):
        keep(operator, f"{number} of {scene.queue}", scene.filter)
    with CaptureQueriesContext(connection) as many:
        operator.see("/dead-letters", q=scene.filter)

    assert len(many) == len(few)

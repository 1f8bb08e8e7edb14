"""Failure groups: error, frequency, age, owner, and the actions of people."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.failure_groups.notes import merge, set_state
from dlq.failure_groups.reading import read_group
from dlq.redrives import redrives
from queues.dead_letters.ids import newest_id
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive
from tests.engine import Engine
from tests.queues.dead_letters.clusters import fold


@pytest.fixture
def cause(scene: DeadLetterScene) -> str:
    """A class of error that only this test has."""
    return f"shop.Declined-{scene.queue}"


def address(cause: str) -> str:
    return f"/dead-letters/failure-groups/fp-{cause}"


def clusters(page: Page) -> list[str]:
    return [one.text for one in page.all("article")]


def test_the_list_has_all_of_a_filter_in_pages(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    for number in range(30):
        scene.add_dead(number + 1, error_class=f"{cause}-{number}")
    fold(scene.engine)

    first = operator.see("/dead-letters/failure-groups", q=scene.filter)
    assert len(clusters(first)) == 25
    assert clusters(first)[0].startswith("shop.Declined")
    assert "30 dead now" in clusters(first)[0]
    second = operator.see(first.link("Next page"))
    assert len(clusters(second)) == 5
    assert len(clusters(operator.see(second.link("Previous page")))) == 25


def test_the_few_above_the_messages_lead_to_all(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    for number in range(12):
        scene.add_dead(1, error_class=f"{cause}-{number}")

    page = operator.see("/dead-letters", q=scene.filter)

    assert len(clusters(page)) == 10
    assert len(clusters(operator.see(page.link("All failure groups")))) == 12


def test_a_list_of_one_state_or_newest_first(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(2, error_class=f"{cause}-1")
    scene.add_dead(1, error_class=f"{cause}-2")
    set_state(f"fp-{cause}-1", "acknowledged", actor="ana")

    page = operator.see("/dead-letters/failure-groups", q=scene.filter)
    assert ["acknowledged" in one for one in clusters(page)] == [True, False]
    assert len(clusters(operator.see(page.link("Acknowledged")))) == 1
    assert f"{cause}-2"[5:] in clusters(operator.see(page.link("Newest")))[0]
    assert "No failure group matches" in operator.see(page.link("Resolved")).text


def test_another_filter_keeps_the_order_and_the_state(operator: Browser) -> None:
    page = operator.see("/dead-letters/failure-groups", sort="newest", state="open")

    form = next(one for one in page.all("form") if one.attributes.get("role") == "search")
    assert form.attributes["action"] == "/dead-letters/failure-groups"
    assert page.one("input", name="sort").attributes["value"] == "newest"
    assert page.one("input", name="state").attributes["value"] == "open"


def test_a_page_says_everything_of_one_cause(
    operator: Browser, scene: DeadLetterScene, make_dead_letter_scene: Callable[..., DeadLetterScene], cause: str
) -> None:
    scene.add_dead(3, error_class=cause, error="card declined", payload={"card": 7})
    make_dead_letter_scene().add_dead(2, error_class=cause)

    page = operator.see(address(cause))

    assert f"Failure group {cause}" in page.title
    facts = ("dead letters now 5", "m 5 in the last hour 5", "in total 5", "2 queues", scene.queue, "State open")
    for words in facts:
        assert words in page.text
    assert "Failures: failures" in page.html  # the chart in words
    assert "per 10 m, last 2 h" in page.text.replace("\u00a0", " ")  # as young as the group
    assert page.link("Redrive…") == f"/redrives/new?q=fp%3Afp-{cause}"
    assert page.link("Messages") == f"/dead-letters?q=fp%3Afp-{cause}"
    assert len(page.all("input", type="checkbox")) == 5


def test_the_plan_of_a_redrive_is_of_the_whole_cluster(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(3, error_class=f"{cause}-1")
    scene.add_dead(2, error_class=f"{cause}-2")
    merge(f"fp-{cause}-2", f"fp-{cause}-1", actor="ana")

    asked = operator.see(operator.see(address(f"{cause}-1")).link("Redrive…")).fields()
    page = operator.submit("/redrives/new", **asked | {"reason": "the bank answers again"})

    assert "Messages 5" in page.text


def test_an_owner_a_runbook_and_a_note_are_kept(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(1, error_class=cause)
    known = {"owner": "payments", "runbook_url": "https://wiki.acme.eu/cards", "note": "ask <b>the bank</b>\nfirst"}

    page = operator.submit(f"{address(cause)}/care", **known)

    assert "Saved." in page.text
    assert page.link("https://wiki") == known["runbook_url"]
    assert "ask <b>the bank</b> first" in page.text
    assert "<b>the bank" not in page.html
    row = clusters(operator.see("/dead-letters", q=scene.filter))[0]
    assert "payments" in row
    assert "note" in row
    event = AuditEvent.objects.filter(action="failure_group.describe", details__fingerprint=f"fp-{cause}").get()
    assert event.actor == "test-operator"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "wiki.acme.eu", "file:///etc/passwd"])
def test_a_runbook_that_is_no_web_page_is_refused(
    operator: Browser, scene: DeadLetterScene, cause: str, url: str
) -> None:
    scene.add_dead(1, error_class=cause)

    page = operator.submit(f"{address(cause)}/care", owner="payments", runbook_url=url, note="ask <b>the bank</b>")

    assert (
        "the runbook must be an address that begins with http:// or https://" in page.one("div", id="form-errors").text
    )
    assert (page.fields()["owner"], page.fields()["runbook_url"]) == ("payments", url)
    assert "ask &lt;b&gt;the bank" in page.html
    assert f'href="{url}"' not in page.html
    assert operator.see(address(cause)).fields()["owner"] == ""


def test_a_cluster_is_acknowledged_resolved_and_regresses(
    operator: Browser, scene: DeadLetterScene, cause: str
) -> None:
    scene.add_dead(1, error_class=cause)
    page = operator.submit(f"{address(cause)}/state", state="acknowledged", reason="looking")
    assert "The failure group is acknowledged." in page.text
    assert "State acknowledged set" in page.text
    page = operator.submit(f"{address(cause)}/state", state="resolved", reason="")
    assert "State resolved set" in page.text

    scene.add_dead(1, error_class=cause)
    assert "State regressed" in operator.see(address(cause)).text
    assert "Select a valid choice" in operator.submit(f"{address(cause)}/state", state="regressed", reason="").text


def test_a_regression_names_the_redrive_and_leads_there(operator: Browser, engine: Engine) -> None:
    engine.die(1, error_class=engine.queue)
    job = create_redrive(f"queue:{engine.queue}", newest_id(), actor="ana", reason="r")
    redrives.run_in_foreground(job.pk)
    engine.nack(engine.receive_one()[1], reason="rejected", error_class=engine.queue)

    page = operator.see("/dead-letters", q=f"queue:{engine.queue}")

    assert f"regressed after redrive #{job.pk}" in clusters(page)[0]
    assert page.link(f"redrive #{job.pk}") == f"/redrives/{job.pk}"


def test_clusters_are_merged_and_split(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(2, error_class=f"{cause}-1")
    scene.add_dead(3, error_class=f"{cause}-2")

    page = operator.submit(f"{address(f'{cause}-2')}/merge", into=f"fp-{cause}-1", reason="the same card")

    assert f"fp-{cause}-2 was merged into fp-{cause}-1." in page.text
    assert "dead letters now 5" in page.text  # the address of a member leads to the whole
    assert f"Merged failure groups 1 fp-{cause}-2" in page.text
    assert len(clusters(operator.see("/dead-letters", q=scene.filter))) == 1
    page = operator.submit(f"{address(f'{cause}-1')}/split", fingerprint=f"fp-{cause}-2", reason="")
    assert "out of the group." in page.text
    assert "dead letters now 2" in page.text
    page = operator.submit(f"{address(f'{cause}-1')}/merge", status=422, into="nobody", reason="typed")
    assert "there is no failure group" in page.text
    assert page.one("input", name="reason").attributes["value"] == "typed"
    page = operator.submit(f"{address(f'{cause}-1')}/merge", status=422, into="", reason="")
    assert "Fingerprint of the other failure group : This field is required." in page.text


def test_a_viewer_sees_facts_and_changes_nothing(viewer: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(1, error_class=cause, error="card 411122223333 declined", payload={"card": "411122223333"})

    page = viewer.see(address(cause))

    assert "dead letters now 1" in page.text
    assert "411122223333" not in page.html
    denied = {one.text.split(",")[0].strip() for one in page.all("span", aria_disabled="true")}
    assert {
        "Redrive…",
        "Delete…",
        "Save triage notes",
        "Update status",
        "Merge…",
        "Snooze group",
        "Add comment",
    } <= denied
    for verb in ("care", "state", "snooze", "end-snooze", "comment", "merge", "split"):
        refused = viewer.submit(f"{address(cause)}/{verb}", 403)
        assert "Redriving and triaging dead letters requires the operator role." in refused.text
    assert read_group(f"fp-{cause}").care is None  # type: ignore[union-attr]


def test_an_unknown_cluster_is_not_found(operator: Browser) -> None:
    assert "There is no failure group" in operator.see("/dead-letters/failure-groups/v2:nobody", 404).text


def test_fingerprints_of_any_letters_have_an_address(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    odd = f'a/b%2Fc?d#e"<i>{cause}'
    scene.add_dead(1, error_class=odd)

    page = operator.see(operator.see("/dead-letters", q=scene.filter).link('a/b%2Fc?d#e"<i>shop'))

    assert "dead letters now 1" in page.text
    assert "<i>shop" not in page.html


def test_live_updates_bring_the_fragment_alone(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(1, error_class=cause)

    for path in (address(cause), "/dead-letters/failure-groups"):
        assert operator.fetch(path).all("form", method="post") == []
        assert 'id="results"' in operator.fetch(path).html


def test_the_number_of_queries_does_not_grow(
    operator: Browser, scene: DeadLetterScene, make_dead_letter_scene: Callable[..., DeadLetterScene], cause: str
) -> None:
    def queries(path: str, **parameters: str) -> int:
        operator.see(path, **parameters)
        with CaptureQueriesContext(connection) as captured:
            operator.see(path, **parameters)
        return len(captured)

    pages = {"/dead-letters/failure-groups": {"q": scene.filter}, address(cause): {}}
    scene.add_dead(1, error_class=cause)
    few = [queries(path, **parameters) for path, parameters in pages.items()]
    for number in range(8):
        scene.add_dead(20, error_class=f"{cause}-{number}")
        make_dead_letter_scene().add_dead(20, error_class=cause)
    assert [queries(path, **parameters) for path, parameters in pages.items()] == few

"""Failure groups on pages: exact, in order, merged by hand, and regressed when they fail again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.failure_groups.listing import Narrowing, list_groups
from dlq.failure_groups.notes import MAX_MEMBERS, NOTE_CHARACTERS, describe, merge, set_state, split
from dlq.failure_groups.reading import FailureGroup, State, read_group
from dlq.redrives import redrives
from dlq.search.checked_filter import check_filter
from dlq.search.dead_letter_list import dead_letters
from dlq.search.pages import PagePosition
from queues.dead_letters.ids import newest_id
from queues.errors import InvalidArgument
from queues.failure_groups.order import Sort
from queues.models import AuditEvent
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive
from tests.queues.dead_letters.clusters import fold

pytestmark = pytest.mark.usefixtures("commits")


def of(scene: DeadLetterScene, error_class: str) -> str:
    """Fingerprint of dead letters with an error class."""
    return f"fp-{error_class}"


def known(fingerprint: str) -> FailureGroup:
    cluster = read_group(fingerprint)
    assert cluster is not None
    return cluster


def listed(scene: DeadLetterScene, more: str = "", **options: Any) -> list[tuple[str, int]]:
    narrowing = Narrowing.of(check_filter(f"{scene.filter} {more}"), options.pop("state", None))
    page = list_groups(narrowing, **options)
    assert page is not None
    return [(one.fingerprint, one.dead) for one in page.rows]


def own(scene: DeadLetterScene, *names: str) -> list[str]:
    """Classes that no other test has."""
    return [f"{name}.{scene.queue}" for name in names]


@pytest.mark.parametrize("folded", [False, True])
def test_the_worst_come_first_folded_or_not(scene: DeadLetterScene, folded: bool) -> None:
    a, b, c = own(scene, "A", "B", "C")
    scene.add_dead(2, error_class=a)
    scene.add_dead(5, error_class=b)
    if folded:
        fold(scene.engine)
    scene.add_dead(4, error_class=a)
    scene.add_dead(1, error_class=c)

    assert listed(scene) == [(f"fp-{a}", 6), (f"fp-{b}", 5), (f"fp-{c}", 1)]
    newest = listed(scene, sort=Sort.NEWEST)
    assert [one for one, _ in newest] == [f"fp-{c}", f"fp-{a}", f"fp-{b}"]


def test_pages_lead_on_and_back_whatever_is_folded(scene: DeadLetterScene) -> None:
    names = own(scene, *"ABCDEFG")
    for count, name in enumerate(names, 1):
        scene.add_dead(count, error_class=name)
        if count == 4:
            fold(scene.engine)
    narrowing = Narrowing.of(check_filter(scene.filter))

    first = list_groups(narrowing, size=3)
    assert first is not None
    second = list_groups(narrowing, place=PagePosition(after=first.after), size=3)
    assert second is not None
    third = list_groups(narrowing, place=PagePosition(after=second.after), size=3)
    assert third is not None
    counts = [[one.dead for one in page.rows] for page in (first, second, third)]
    assert counts == [[7, 6, 5], [4, 3, 2], [1]]
    back = list_groups(narrowing, place=PagePosition(before=third.before), size=3)
    assert back is not None
    assert [one.dead for one in back.rows] == [4, 3, 2]
    assert (first.before, third.after) == ("", "")


def test_the_list_of_all_walks_an_index_and_sorts_in_what_is_not_folded(scene: DeadLetterScene) -> None:
    a, b = own(scene, "A", "B")
    scene.add_dead(2_003, error_class=a)
    fold(scene.engine)
    scene.add_dead(2_004, error_class=b)
    scene.add_dead(2, error_class=a)
    narrowing = Narrowing(fingerprints=(f"fp-{a}", f"fp-{b}"))

    for _ in range(2):
        page = list_groups(narrowing, size=1)
        assert page is not None
        assert [(one.fingerprint, one.dead) for one in page.rows] == [(f"fp-{a}", 2_005)]
        rest = list_groups(narrowing, place=PagePosition(after=page.after), size=1)
        assert rest is not None
        assert [(one.fingerprint, one.dead) for one in rest.rows] == [(f"fp-{b}", 2_004)]
        fold(scene.engine)


def test_a_cluster_says_when_where_and_how_much(
    scene: DeadLetterScene, make_dead_letter_scene: Callable[..., DeadLetterScene]
) -> None:
    (a,) = own(scene, "A")
    other = make_dead_letter_scene()
    scene.add_dead(3, error_class=a, error="it went wrong")
    other.add_dead(2, error_class=a, age_seconds=2 * 3600)
    other.add_dead(1, error_class=a, age_seconds=3 * 86_400)

    cluster = known(f"fp-{a}")
    assert (cluster.dead, cluster.deaths, cluster.error_class, cluster.error) == (6, 6, a, "timed out")
    assert [(one.queue, one.tenant, one.dead) for one in cluster.sources] == sorted(
        [(scene.queue, "default", 3), (other.queue, "default", 3)]
    )
    assert (cluster.died_last_hour, cluster.died_last_day) == (3, 5)
    assert (cluster.died_recently, 10 <= cluster.recent_minutes <= 20) == (3, True)
    assert len(cluster.spark) == 60
    assert sum(cluster.spark) == 5
    assert (cluster.last_seen - cluster.first_seen).total_seconds() > 3 * 86_000
    assert cluster.tenants == ["default"]
    assert (cluster.state, cluster.care) == (State.OPEN, None)


def test_narrowed_to_a_queue_numbers_are_of_that_queue(
    scene: DeadLetterScene, make_dead_letter_scene: Callable[..., DeadLetterScene]
) -> None:
    (a,) = own(scene, "A")
    scene.add_dead(3, error_class=a)
    make_dead_letter_scene().add_dead(9, error_class=a)

    assert listed(scene) == [(f"fp-{a}", 3)]
    assert listed(scene, f"class:{a}") == [(f"fp-{a}", 3)]
    assert listed(scene, "class:Else") == []
    assert listed(scene, "reason:rejected") == []
    assert listed(scene, f"fp:fp-{a}") == [(f"fp-{a}", 3)]


def test_what_clusters_cannot_be_asked_is_said(scene: DeadLetterScene) -> None:
    narrowing = Narrowing.of(check_filter(f"{scene.filter} payload.a:1 -class:B age:<1d class:*"))

    assert [str(term) for term in narrowing.unasked] == ["payload.a:1", "-class:B", "age:<1d", "class:*"]
    assert narrowing.queue_ids == (scene.engine.queue_id,)
    scene.add_dead(1)
    held = Narrowing.of(check_filter(f"queue:{scene.queue}-dlq"))
    assert held.queue_ids is None  # its own dead letters count in their source queue
    assert [str(term) for term in held.unasked] == [f"queue:{scene.queue}-dlq"]


def test_an_unknown_queue_has_no_clusters() -> None:
    page = list_groups(Narrowing.of(check_filter("queue:nobody-has-this")))

    assert page is not None
    assert page.rows == []


def test_merged_clusters_count_as_one_and_so_do_later_deaths(scene: DeadLetterScene) -> None:
    a, b, c = own(scene, "A", "B", "C")
    for count, name in enumerate((a, b, c), 1):
        scene.add_dead(count, error_class=name)
    fold(scene.engine)

    assert merge(f"fp-{b}", f"fp-{a}", actor="ana") == f"fp-{a}"
    assert listed(scene) == sorted([(f"fp-{a}", 3), (f"fp-{c}", 3)], reverse=True)
    scene.add_dead(4, error_class=b)
    assert listed(scene) == [(f"fp-{a}", 7), (f"fp-{c}", 3)]
    assert list(known(f"fp-{a}").members) == [f"fp-{b}"]
    assert known(f"fp-{a}").deaths == 7
    fold(scene.engine)
    everything = list_groups(Narrowing(fingerprints=(f"fp-{b}", f"fp-{c}")))  # not of queues: the walk of an index
    assert everything is not None
    assert [(one.fingerprint, one.dead) for one in everything.rows] == [(f"fp-{a}", 7), (f"fp-{c}", 3)]

    assert merge(f"fp-{a}", f"fp-{c}", actor="ana") == f"fp-{c}"  # with what was merged into it
    assert listed(scene) == [(f"fp-{c}", 10)]
    assert split(f"fp-{b}", actor="ana") is True
    assert listed(scene) == [(f"fp-{b}", 6), (f"fp-{c}", 4)]
    assert split(f"fp-{b}", actor="ana") is False


def test_the_filter_of_a_merged_cluster_selects_all_of_it(scene: DeadLetterScene) -> None:
    a, b = own(scene, "A", "B")
    scene.add_dead(2, error_class=a)
    scene.add_dead(3, error_class=b)
    assert len(dead_letters(check_filter(f"fp:fp-{a}")).rows) == 2
    merge(f"fp-{b}", f"fp-{a}", actor="ana")

    for text in (f"fp:fp-{a}", f"fp:fp-{b}", f"fp:fp-{a} {scene.filter}"):
        assert len(dead_letters(check_filter(text)).rows) == 5, text
    assert len(dead_letters(check_filter(f"-fp:fp-{a} {scene.filter}")).rows) == 0
    newest = [row.dead_letter_id for row in dead_letters(check_filter(f"fp:fp-{a}")).rows]
    assert newest == sorted(newest, reverse=True)


def test_a_job_takes_what_was_one_cluster_when_it_was_made(scene: DeadLetterScene) -> None:
    a, b, c = own(scene, "A", "B", "C")
    letters = scene.add_dead(2, error_class=a) + scene.add_dead(3, error_class=b)
    scene.add_dead(4, error_class=c)
    merge(f"fp-{b}", f"fp-{a}", actor="ana")
    job = create_redrive(f"fp:fp-{a}", newest_id(), actor="ana", reason="r")
    merge(f"fp-{c}", f"fp-{a}", actor="ana")

    redrives.run_in_foreground(job.pk)

    assert scene.redriven(job.pk) == letters
    assert len(scene.dead()) == 4


def test_a_resolved_cluster_that_has_a_death_has_regressed(scene: DeadLetterScene) -> None:
    (a,) = own(scene, "A")
    scene.add_dead(1, error_class=a)
    assert set_state(f"fp-{a}", "resolved", actor="ana", reason="fixed in 7") is True
    assert set_state(f"fp-{a}", "resolved", actor="ana") is False
    assert known(f"fp-{a}").state is State.RESOLVED
    assert listed(scene, state=State.RESOLVED) == [(f"fp-{a}", 1)]

    scene.add_dead(1, error_class=a)
    assert known(f"fp-{a}").state is State.REGRESSED
    assert listed(scene, state=State.REGRESSED) == [(f"fp-{a}", 2)]
    assert listed(scene, state=State.RESOLVED) == listed(scene, state=State.OPEN) == []
    assert set_state(f"fp-{a}", "resolved", actor="ana") is True
    assert known(f"fp-{a}").state is State.RESOLVED


@pytest.mark.parametrize("folded", [False, True])
def test_a_message_that_dies_again_after_a_redrive_makes_its_cluster_regress(
    scene: DeadLetterScene, folded: bool
) -> None:
    engine = scene.engine
    engine.die(1, error_class=engine.queue)
    fingerprint = engine.value(
        "select fingerprint from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
    )
    job = create_redrive(scene.filter, newest_id(), actor="ana", reason="r")
    redrives.run_in_foreground(job.pk)
    assert known(fingerprint).state is State.OPEN
    engine.nack(engine.receive_one()[1], reason="rejected", error_class=engine.queue)
    if folded:
        fold(engine)

    assert known(fingerprint).state is State.REGRESSED
    assert known(fingerprint).regressed_after == job.pk
    assert [one for one, _ in listed(scene, state=State.REGRESSED)] == [fingerprint]
    set_state(fingerprint, "acknowledged", actor="ana")
    assert known(fingerprint).state is State.ACKNOWLEDGED
    assert known(fingerprint).regressed_after is None


def test_a_death_of_what_was_merged_makes_the_cluster_regress(scene: DeadLetterScene) -> None:
    engine = scene.engine
    first, later = own(scene, "First", "Later")
    letters = engine.die({}, error_class=first), engine.die({}, error_class=later)
    fingerprints = dict(
        engine.rows(
            "select dead_letter_id, fingerprint from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
        )
    )
    old, new = (fingerprints[one] for one in letters)
    job = create_redrive(f"{scene.filter} fp:{old}", newest_id(), actor="ana", reason="r")
    redrives.run_in_foreground(job.pk)
    merge(old, new, actor="ana")
    assert known(new).state is State.OPEN

    engine.nack(engine.receive_one()[1], reason="rejected", error_class=later)

    assert known(new).state is State.REGRESSED
    assert known(new).regressed_after == job.pk


def test_what_people_write_is_kept_and_audited(scene: DeadLetterScene) -> None:
    (a,) = own(scene, "A")
    scene.add_dead(1, error_class=a)
    words = {"note": "the card service", "owner": "payments", "runbook_url": "https://wiki.acme.eu/cards"}

    assert describe(f"fp-{a}", **words, actor="ana") is True
    assert describe(f"fp-{a}", **words, actor="ana") is False
    set_state(f"fp-{a}", "acknowledged", actor="ana", reason="looking")
    care = known(f"fp-{a}").care
    assert care is not None
    assert (care.note, care.owner, care.runbook_url) == tuple(words.values())
    assert (care.state, care.state_changed_by) == ("acknowledged", "ana")
    events = AuditEvent.objects.filter(details__fingerprint=f"fp-{a}").order_by("pk")
    assert [(one.action, one.actor, one.reason) for one in events] == [
        ("failure_group.describe", "ana", ""),
        ("failure_group.set_state", "ana", "looking"),
    ]
    assert events[0].details["changes"]["owner"] == {"before": "", "after": "payments"}


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "http:",
        "https://",
        "//a.eu",
        "ftp://a.eu",
        "https://a b",
        "data:text/html,x",
        "http://[",
        " https://a.eu",
    ],
)
def test_a_runbook_is_a_web_page(scene: DeadLetterScene, url: str) -> None:
    scene.add_dead(1)
    with pytest.raises(InvalidArgument) as caught:
        describe("fp-TimeoutError", note="", owner="", runbook_url=url, actor="ana")
    assert caught.value.field == "runbook_url"


def test_bad_input_is_refused_by_name_and_changes_nothing(scene: DeadLetterScene) -> None:
    a, b = own(scene, "A", "B")
    scene.add_dead(1, error_class=a)
    refusals: dict[str, Callable[[], object]] = {
        "fingerprint": lambda: set_state("nobody", "open", actor="ana"),
        "state": lambda: set_state(f"fp-{a}", "regressed", actor="ana"),
        "note": lambda: describe(f"fp-{a}", note="x" * (NOTE_CHARACTERS + 1), owner="", runbook_url="", actor="ana"),
        "owner": lambda: describe(f"fp-{a}", note="", owner="x" * 151, runbook_url="", actor="ana"),
        "into": lambda: merge(f"fp-{a}", f"fp-{b}", actor="ana"),
    }
    for field, call in refusals.items():
        with pytest.raises(InvalidArgument) as caught:
            call()
        assert caught.value.field == field
    with pytest.raises(InvalidArgument, match="the same failure group already"):
        merge(f"fp-{a}", f"fp-{a}", actor="ana")
    scene.add_dead(1, error_class=b)
    merge(f"fp-{a}", f"fp-{b}", actor="ana")
    with pytest.raises(InvalidArgument, match="the same failure group already"):
        merge(f"fp-{a}", f"fp-{b}", actor="ana")
    assert not AuditEvent.objects.filter(action="failure_group.set_state", details__fingerprint=f"fp-{a}").exists()


def test_merged_groups_are_limited(scene: DeadLetterScene) -> None:
    names = own(scene, *(str(number) for number in range(MAX_MEMBERS + 2)))
    for name in names:
        scene.add_dead(1, error_class=name)
    for name in names[1 : MAX_MEMBERS + 1]:
        merge(f"fp-{name}", f"fp-{names[0]}", actor="ana")

    with pytest.raises(InvalidArgument, match="at most 50"):
        merge(f"fp-{names[-1]}", f"fp-{names[0]}", actor="ana")
    assert known(f"fp-{names[0]}").dead == MAX_MEMBERS + 1


def test_a_list_is_a_fixed_number_of_queries(scene: DeadLetterScene) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            list_groups(Narrowing.of(check_filter(scene.filter)))
        return len(captured)

    scene.add_dead(1)
    few = queries()
    for name in own(scene, *"ABCDEFGHIJ"):
        scene.add_dead(30, error_class=name)
    assert queries() == few


@pytest.mark.parametrize("cursor", ["x", "~", "12", "-1~fp", "9" * 40 + "~fp", "\uff11~fp"])
def test_an_edited_cursor_leads_to_the_first_page(scene: DeadLetterScene, cursor: str) -> None:
    scene.add_dead(1)

    assert listed(scene, place=PagePosition(after=cursor)) == [("fp-TimeoutError", 1)]

"""Regular expressions in filters: how they read, what PostgreSQL finds by them, and how long they may take."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dlq.filters import FilterError, Pattern, Target, parse
from dlq.jobs.models import Redrive
from dlq.redrives import redrives
from dlq.search import selecting
from dlq.search.checked_filter import check_filter, check_patterns
from dlq.search.dead_letter_list import dead_letters
from dlq.search.finding import find
from dlq.search.message_list import messages
from queues.database.query import database_now
from queues.dead_letters.ids import newest_id
from queues.messages.lists import State
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive

# The first part would have to be longer than all parts together: every way to share them out is tried.
CATASTROPHE = r"^(a+)(a+)(a+)(a+)(a+)(a+)b\1$"
TEXT = "a" * 300 + "b" + "a" * 400


def only(text: str) -> Pattern:
    [pattern] = parse(text).patterns
    return pattern


def mistake(text: str) -> FilterError:
    with pytest.raises(FilterError) as caught:
        check_patterns(parse(text))
    return caught.value


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("error:/timed? out/", Pattern("timed? out")),
        ("error:/timed? out/i", Pattern("timed? out", ignores_case=True)),
        ("/timed? out/", Pattern("timed? out")),
        ("-/a:b,c/i", Pattern("a:b,c", ignores_case=True)),
        (r"class:/^App\\/", Pattern(r"^App\\")),
        (r"payload.url:/^https:\/\/x\//", Pattern("^https://x/")),
        ('payload."a b"[].c:/"/', Pattern('"')),
    ],
)
def test_a_pattern_stands_between_slashes(text: str, pattern: Pattern) -> None:
    assert only(text) == pattern
    assert parse(str(parse(text))) == parse(text)


@given(st.text(st.sampled_from('a/\\ ",:i()\n'), min_size=1, max_size=8), st.booleans())
@example("\\\\/", True)
def test_what_reads_is_written_so_that_it_reads_again(source: str, ignores_case: bool) -> None:
    try:
        read = parse(f"error:/{source}/{'i' if ignores_case else ''}")
    except FilterError:
        return
    assert parse(str(read)) == read


@pytest.mark.parametrize(
    ("text", "token", "message", "expected"),
    [
        ("error:/timed out", "/timed out", "error: has a pattern that is not closed.", "a closing /"),
        ("class:x error:/a\\/", "/a\\/", "error: has a pattern that is not closed.", "a closing /"),
        ("payload.path:/orders/42", "/orders/42", "payload: has text right after its pattern.", "quotes around text"),
        ("error://", "//", "error: has a pattern of 0 characters.", "1 to 200 characters"),
        (
            "error:/" + "a" * 201 + "/",
            "/" + "a" * 201 + "/",
            "error: has a pattern of 201 characters.",
            "1 to 200 characters",
        ),
        ("queue:/^orders/", "/^orders/", "queue: does not take a pattern.", "quotes around text"),
        ("attempts:/3/", "/3/", "attempts: does not take /3/.", "a whole number"),
        ("error:" + ",".join(["/a/"] * 11), "/a/", "The filter has more than 10 patterns.", "at most 10"),
        ("payload.a[0].b:1", "a[0]", "payload: takes only empty brackets in a path.", "[] for any element"),
    ],
)
def test_an_invalid_pattern_is_reported_at_its_position(text: str, token: str, message: str, expected: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert (caught.value.token, caught.value.message) == (token, message)
    assert expected in caught.value.expected
    assert text[caught.value.position :].startswith(token)


@pytest.mark.parametrize("pattern", ["(", "a**", "[z-a]", "a{2,1}", r"\x{zz}", "(((((a{1,200}){1,200}){1,200}){1,200}"])
def test_what_postgresql_cannot_read_is_underlined(commits: None, pattern: str) -> None:
    found = mistake(f"queue:x error:/ok/,/{pattern}/i")

    assert found.token == f"/{pattern}/i"
    assert found.position == len("queue:x error:/ok/,")
    assert "pattern" in found.message


def test_a_filter_without_patterns_asks_nothing(scene: DeadLetterScene, django_assert_num_queries) -> None:
    with django_assert_num_queries(0):
        check_patterns(parse(f"{scene.filter} error:x class:y payload.a:5"))


def test_lists_counts_and_jobs_understand_patterns(scene: DeadLetterScene) -> None:
    scene.add_dead(2, error="timed out after 30 s", payload={"lines": [{"sku": "A-1"}, {"sku": "B-22"}]})
    scene.add_dead(1, error="refused", payload={"lines": [{"sku": "A-1"}]})
    chosen = f"{scene.filter} error:/time[ds]? out/ payload.lines[].sku:/^B-\\d+$/"

    assert len(dead_letters(check_filter(chosen)).rows) == 2
    assert find(check_filter(chosen), database_now()).ids_within(10).rows()
    assert create_redrive(chosen, newest_id(), actor="ana", reason="x").total_estimate == 2
    assert (
        messages(scene.engine.queue_id, State.READY, check_filter("payload.a:/x/", targets=(Target.READY,))).rows == []
    )


def test_nothing_is_begun_with_a_pattern_that_cannot_be_read(scene: DeadLetterScene) -> None:
    with pytest.raises(FilterError):
        create_redrive(f"{scene.filter} error:/(/", newest_id(), actor="ana", reason="x")
    with pytest.raises(FilterError):
        messages(scene.engine.queue_id, State.READY, check_filter("payload.a:/(/", targets=(Target.READY,)))
    assert not Redrive.objects.filter(filter_text__contains=scene.queue).exists()


@pytest.mark.timeout(600)
@pytest.mark.proof
def test_a_pattern_that_takes_for_ever_is_stopped_and_named(scene: DeadLetterScene, monkeypatch) -> None:
    scene.add_dead(3, error=TEXT)
    scene.engine.send({"a": TEXT})
    monkeypatch.setattr(selecting, "PATTERN_MILLISECONDS", 500)
    for limit in ("search.counting.COUNT", "redrives.impact.LIST", "search.pages.LIST"):
        monkeypatch.setattr(f"dlq.{limit}_MILLISECONDS", 500)

    for ask in (
        lambda: dead_letters(check_filter(f"{scene.filter} error:/{CATASTROPHE}/")),
        lambda: messages(
            scene.engine.queue_id, State.READY, check_filter(f"payload.a:/{CATASTROPHE}/", targets=(Target.READY,))
        ),
    ):
        with pytest.raises(FilterError) as caught:
            ask()
        assert caught.value.token == f"/{CATASTROPHE}/"
        assert caught.value.message == "This pattern takes too long to match."

    with pytest.raises(FilterError):
        create_redrive(f"{scene.filter} error:/{CATASTROPHE}/", newest_id(), actor="ana", reason="x")


@pytest.mark.timeout(600)
def test_a_pattern_is_tried_only_on_what_the_other_terms_select(make_dead_letter_scene, monkeypatch) -> None:
    scene, other = make_dead_letter_scene(), make_dead_letter_scene()
    other.add_dead(3, error=TEXT)
    scene.add_dead(3, error="harmless")
    scene.engine.connection.execute("analyze signalbox.dead_letter")  # samples hold what others' errors say
    monkeypatch.setattr("dlq.search.pages.LIST_MILLISECONDS", 60_000)
    monkeypatch.setattr("dlq.search.counting.COUNT_MILLISECONDS", 60_000)

    chosen = f"{scene.filter} error:/{CATASTROPHE}|^harm/"
    assert len(dead_letters(check_filter(chosen)).rows) == 3
    job = create_redrive(chosen, newest_id(), actor="ana", reason="x")
    assert (job.total_estimate, job.total_is_exact) == (3, True)


@pytest.mark.timeout(600)
def test_a_job_that_meets_what_its_pattern_cannot_bear_fails_and_says_so(scene: DeadLetterScene, monkeypatch) -> None:
    monkeypatch.setattr(selecting, "PATTERN_MILLISECONDS", 500)
    scene.add_dead(3, error="harmless")
    job = create_redrive(f"{scene.filter} error:/{CATASTROPHE}/", newest_id(), actor="ana", reason="x")
    scene.engine.connection.execute(
        "update signalbox.dead_letter set error = %s where source_queue = %s", [TEXT, scene.queue]
    )

    redrives.run_slice(job.redrive_id)
    job.refresh_from_db()
    assert (job.state, job.moved) == ("failed", 0)
    assert "This pattern takes too long to match." in job.error

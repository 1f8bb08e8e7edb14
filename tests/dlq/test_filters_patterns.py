"""Regular expressions in filters: how they read, what PostgreSQL finds by them, and how long they may take."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dlq import browse, redrives, selecting
from dlq.browse import State
from dlq.filters import FilterError, Pattern, parse
from dlq.finding import database_now, find
from dlq.models import Redrive
from dlq.patterns import check_patterns
from tests.dlq.graveyards import Graveyard

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
        ("error:/timed out", "/timed out", "The pattern is not closed.", "a closing /"),
        ("class:x error:/a\\/", "/a\\/", "The pattern is not closed.", "a closing /"),
        ("payload.path:/orders/42", "/orders/42", "Text follows the closing slash.", "quotes around text"),
        ("error://", "//", "The pattern has 0 characters.", "from 1 to 200"),
        ("error:/" + "a" * 201 + "/", "/" + "a" * 201 + "/", "The pattern has 201 characters.", "from 1 to 200"),
        ("queue:/^orders/", "/^orders/", "queue: takes no pattern.", "quotes around text"),
        ("attempts:/3/", "/3/", "attempts: cannot read this.", "a whole number"),
        ("error:" + ",".join(["/a/"] * 11), "/a/", "The filter has more than 10 patterns.", "at most 10"),
        ("payload.a[0].b:1", "a[0]", "Brackets hold nothing here.", "[] for any element"),
    ],
)
def test_what_is_no_pattern_is_told_at_its_place(text: str, token: str, message: str, expected: str) -> None:
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


def test_a_filter_without_patterns_asks_nothing(graveyard: Graveyard, django_assert_num_queries) -> None:
    with django_assert_num_queries(0):
        check_patterns(parse(f"{graveyard.filter} error:x class:y payload.a:5"))


def test_lists_counts_and_jobs_understand_patterns(graveyard: Graveyard) -> None:
    graveyard.bury(2, error="timed out after 30 s", payload={"lines": [{"sku": "A-1"}, {"sku": "B-22"}]})
    graveyard.bury(1, error="refused", payload={"lines": [{"sku": "A-1"}]})
    chosen = f"{graveyard.filter} error:/time[ds]? out/ payload.lines[].sku:/^B-\\d+$/"

    assert len(browse.dead_letters(parse(chosen)).rows) == 2
    assert find(parse(chosen), database_now()).ids_within(10).rows()
    assert redrives.create(chosen, selecting.newest_id(), actor="ana", reason="x").total_estimate == 2
    assert browse.messages(graveyard.engine.queue_id, State.READY, parse("payload.a:/x/")).rows == []


def test_nothing_is_begun_with_a_pattern_that_cannot_be_read(graveyard: Graveyard) -> None:
    with pytest.raises(FilterError):
        redrives.create(f"{graveyard.filter} error:/(/", selecting.newest_id(), actor="ana", reason="x")
    with pytest.raises(FilterError):
        browse.messages(graveyard.engine.queue_id, State.READY, parse("payload.a:/(/"))
    assert not Redrive.objects.filter(filter_text__contains=graveyard.queue).exists()


@pytest.mark.timeout(600)
def test_a_pattern_that_takes_for_ever_is_stopped_and_named(graveyard: Graveyard, monkeypatch) -> None:
    graveyard.bury(3, error=TEXT)
    graveyard.engine.send({"a": TEXT})
    monkeypatch.setattr(selecting, "PATTERN_MILLISECONDS", 500)
    for limit in ("counting.COUNT", "radius.LIST", "browse.dead_letter_list.LIST", "browse.message_list.LIST"):
        monkeypatch.setattr(f"dlq.{limit}_MILLISECONDS", 500)

    for ask in (
        lambda: browse.dead_letters(parse(f"{graveyard.filter} error:/{CATASTROPHE}/")),
        lambda: browse.messages(graveyard.engine.queue_id, State.READY, parse(f"payload.a:/{CATASTROPHE}/")),
    ):
        with pytest.raises(FilterError) as caught:
            ask()
        assert caught.value.token == f"/{CATASTROPHE}/"
        assert caught.value.message == "This pattern takes too long to match."

    with pytest.raises(FilterError):
        redrives.create(f"{graveyard.filter} error:/{CATASTROPHE}/", selecting.newest_id(), actor="ana", reason="x")


@pytest.mark.timeout(600)
def test_a_pattern_is_tried_only_on_what_the_other_terms_select(make_graveyard, monkeypatch) -> None:
    graveyard, other = make_graveyard(), make_graveyard()
    other.bury(3, error=TEXT)
    graveyard.bury(3, error="harmless")
    graveyard.engine.connection.execute("analyze signalbox.dead_letter")  # samples hold what others' errors say
    monkeypatch.setattr("dlq.browse.dead_letter_list.LIST_MILLISECONDS", 60_000)
    monkeypatch.setattr("dlq.counting.COUNT_MILLISECONDS", 60_000)

    chosen = f"{graveyard.filter} error:/{CATASTROPHE}|^harm/"
    assert len(browse.dead_letters(parse(chosen)).rows) == 3
    job = redrives.create(chosen, selecting.newest_id(), actor="ana", reason="x")
    assert (job.total_estimate, job.total_is_exact) == (3, True)


@pytest.mark.timeout(600)
def test_a_job_that_meets_what_its_pattern_cannot_bear_fails_and_says_so(graveyard: Graveyard, monkeypatch) -> None:
    monkeypatch.setattr(selecting, "PATTERN_MILLISECONDS", 500)
    graveyard.bury(3, error="harmless")
    job = redrives.create(f"{graveyard.filter} error:/{CATASTROPHE}/", selecting.newest_id(), actor="ana", reason="x")
    graveyard.engine.connection.execute(
        "update signalbox.dead_letter set error = %s where source_queue = %s", [TEXT, graveyard.queue]
    )

    redrives.run_slice(job.redrive_id)
    job.refresh_from_db()
    assert (job.state, job.moved) == ("failed", 0)
    assert "This pattern takes too long to match." in job.error

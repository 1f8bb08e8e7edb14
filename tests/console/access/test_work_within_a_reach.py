"""A user with roles for some queues at work: totals, plans, destinations, failure groups, silences, the audit."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import psycopg
import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.access.grants.models import Grant
from console.overview import standings
from console.web import live
from dlq.filters import parse
from dlq.jobs.models import Deletion, Redrive
from dlq.redrives import plans
from dlq.redrives.plan_models import Plan
from dlq.search import saved_filters
from dlq.search.checked_filter import CheckedFilter, check_filter
from metrics.alerts.models import Silence
from pipeline.analysis.analysis_models import Comparison, Finding
from pipeline.models import Run
from queues import audit
from queues.control import streams
from queues.models import DeadLetter, Queue
from queues.reach import Bounds, Reach
from tests.console.access.reaches import make_queue, sign_in_with
from tests.console.browsers import Browser
from tests.engine import Engine

MINE, THEIRS = "order 480111842 failed", "order 930275513 failed"
"""Two texts of one cause: numbers make no other."""


class Two:
    """Two tenants with a queue each and a dead letter of the same cause in both."""

    def __init__(self, connection: psycopg.Connection[object]) -> None:
        run = uuid.uuid4().hex[:8]
        self.cause = f"Cause{run}"
        self.ours, self.theirs = f"work-ours-{run}", f"work-theirs-{run}"
        self.mine = make_queue(connection, f"m{run}-orders", self.ours)
        self.other = make_queue(connection, f"o{run}-orders", self.theirs)
        for engine, error in ((self.mine, MINE), (self.other, THEIRS)):
            self.letter = engine.die({"of": engine.queue}, error_class=self.cause, error=error)
        connection.execute("select signalbox.aggregate_counters()")

    @property
    def fingerprint(self) -> str:
        return str(
            self.mine.value("select fingerprint from signalbox.dead_letter where dead_letter_id = %s", self.letter)
        )

    def sign_in(self, role: str) -> Browser:
        return sign_in_with({role: [(self.ours, "")]})


@pytest.fixture
def two(commits: None, connect: Callable[..., psycopg.Connection[object]]) -> Two:
    return Two(connect())


def test_totals_are_of_what_is_seen(two: Two) -> None:
    page = two.sign_in("viewer").see("/")
    facts = [one.text for one in page.all("div", class_="fact")]

    assert "dead letters 1" in facts
    assert two.other.queue not in page.html
    assert two.theirs not in page.html


def test_the_list_of_dead_letters_and_its_count_are_cut(two: Two) -> None:
    browser = two.sign_in("operator")

    for query in ("", f"class:{two.cause}", f"fp:{two.fingerprint}", f"queue:{two.mine.queue},{two.other.queue}"):
        page = browser.see("/dead-letters", q=query)
        assert "1 shown of 1" in page.text
        assert two.mine.queue in page.text
        assert two.theirs not in page.html
        assert THEIRS not in page.html
    for query in (f"queue:{two.other.queue}", f"tenant:{two.theirs}", f'error:"{THEIRS}"'):
        assert browser.see("/dead-letters", q=query).rows() == []
    exported = b"".join(browser.get("/exports/dead-letters").streaming_content)
    assert MINE.encode() in exported
    assert THEIRS.encode() not in exported


def test_a_mistaken_filter_shows_no_more(two: Two) -> None:
    page = two.sign_in("operator").see("/dead-letters", q="nonsense:1")

    assert two.mine.queue in page.text
    assert two.other.queue not in page.html


def test_a_shared_cluster_tells_nothing_of_others(two: Two) -> None:
    browser = two.sign_in("operator")

    page = browser.see(f"/dead-letters/failure-groups/{two.fingerprint}")

    assert two.mine.queue in page.text
    assert two.other.queue not in page.html
    assert THEIRS not in page.html
    assert "This failure group also has messages in queues that your roles do not include." in page.text
    refused = browser.post(f"/dead-letters/failure-groups/{two.fingerprint}/state", {"state": "resolved"})
    assert refused.status_code == 403


def test_a_plan_is_held_to_what_its_author_may_redrive(two: Two) -> None:
    browser = two.sign_in("operator")

    page = browser.submit("/redrives/new", filter_text=f"class:{two.cause}", reason="x")

    plan = Plan.objects.order_by("-plan_id")[0]
    assert plan.source_queues == [two.mine.queue]
    assert f"tenant:{two.ours}" in plan.filter_text
    assert two.other.queue not in page.html
    browser.submit(f"/redrives/plans/{plan.pk}/run", rate_per_second="")
    assert Redrive.objects.get(plan=plan).filter_text == plan.filter_text


def test_a_prefix_holds_a_job_by_the_names_of_its_queues(two: Two) -> None:
    browser = sign_in_with({"admin": [(None, two.mine.queue)]})

    browser.submit("/deletions/new", filter_text=f"class:{two.cause}", **_frozen(browser, two), reason="x")

    deletion = Deletion.objects.order_by("-deletion_id")[0]
    assert f"queue:{two.mine.queue}" in deletion.filter_text
    assert deletion.source_queues == [two.mine.queue]


def _frozen(browser: Browser, two: Two) -> dict[str, str]:
    fields = browser.see("/deletions/new", q=f"class:{two.cause}").fields()
    return {name: fields[name] for name in ("upper_bound", "as_of") if name in fields} | {"confirmation": "delete"}


def test_others_queues_are_no_destination_and_are_not_offered(two: Two) -> None:
    browser = two.sign_in("operator")

    page = browser.see("/redrives/new")
    refused = browser.submit("/redrives/new", status=422, target_queue=two.other.queue, reason="x")
    none = browser.submit("/redrives/new", status=422, target_queue="nowhere-at-all", reason="x")

    assert two.mine.queue in page.html
    assert two.other.queue not in page.html
    assert f"queue &#x27;{two.other.queue}&#x27; does not exist" in refused.html
    assert "queue &#x27;nowhere-at-all&#x27; does not exist" in none.html


def test_a_filter_that_names_others_alone_selects_nothing(two: Two) -> None:
    browser = two.sign_in("operator")

    page = browser.submit(
        "/redrives/new", status=422, filter_text=f"queue:{two.other.queue}", target_queue=two.mine.queue, reason="x"
    )

    assert "no queue that your roles are for" in page.text
    assert not Plan.objects.filter(filter_text__contains=two.other.queue).exists()


def test_jobs_of_all_queues_are_not_seen_by_who_sees_some(two: Two) -> None:
    whole = plans.make(check_filter(f"class:{two.cause}"), actor="ana", reason="of both")
    into = plans.make(check_filter(f"queue:{two.other.queue}"), actor="ana", reason="of theirs")
    browser = two.sign_in("admin")

    for plan in (whole, into):
        browser.see(f"/redrives/plans/{plan.pk}", status=404)
        assert browser.post(f"/redrives/plans/{plan.pk}/run").status_code == 404
    assert "of both" not in browser.see("/redrives/plans").text
    assert not Redrive.objects.filter(plan__in=[whole, into]).exists()


def test_who_sees_everything_acts_where_it_is_granted(two: Two, engine: Engine) -> None:
    browser = two.sign_in("operator")
    person = User.objects.get(pk=int(browser.session["_auth_user_id"]))
    person.groups.set([Group.objects.get(name="viewer")])

    assert f"Sending requires the operator role for {engine.queue}." in browser.see(f"/queues/{engine.queue}").text
    browser.see(f"/queues/{engine.queue}/send", status=403)
    browser.see(f"/queues/{two.mine.queue}/send")
    assert browser.post(f"/queues/{engine.queue}/send", {"payload": "1"}).status_code == 403
    assert browser.post(f"/queues/{engine.queue}-none/send", {"payload": "1"}).status_code == 404
    assert two.other.queue in browser.see("/dead-letters", q=f"class:{two.cause}").text
    browser.submit("/redrives/new", filter_text=f"class:{two.cause}", reason="x")
    assert Plan.objects.order_by("-plan_id")[0].source_queues == [two.mine.queue]


def test_dead_letters_kept_with_others_are_seen_in_the_list_alone(
    commits: None, make_engine: Callable[..., Engine]
) -> None:
    graves = f"graves-{uuid.uuid4().hex[:8]}"
    mine, other = (make_engine(dead_letter_queue=graves) for _ in range(2))
    mine.die("mine", error_class="Boom")
    other.die("theirs", error_class="Boom")
    browser = sign_in_with({"admin": [(None, mine.queue)]})

    browser.see(f"/queues/{graves}", status=404)
    assert browser.post(f"/queues/{graves}/purge", {}).status_code == 404
    page = browser.see("/dead-letters", q=f"queue:{graves}")
    assert "1 shown of 1" in page.text
    assert other.queue not in page.html


def test_a_silence_is_of_ones_own_queues(two: Two) -> None:
    browser = two.sign_in("operator")
    wish = {"alert": "SignalboxDeadLetters", "hours": "1", "comment": "known"}

    for pattern in ("", "*", "m*", two.other.queue):
        page = browser.submit("/alerts/silences", status=422, queue=pattern, **wish)
        assert "your role may not silence every queue that this pattern matches" in page.text
    browser.submit("/alerts/silences", queue=two.mine.queue, **wish)

    assert Silence.objects.filter(queue_pattern=two.mine.queue).count() == 1
    assert not Silence.objects.filter(queue_pattern=two.other.queue).exists()


def test_the_audit_of_ones_queue_tells_no_names_of_others(two: Two) -> None:
    mine = Queue.objects.get(name=two.mine.queue)
    audit.record("ana", "redrive.create", mine, "from theirs", {"filter": f"queue:{two.other.queue}"})
    audit.record("ana", "redrive.create", mine, "from theirs too", {"filter": f"tenant:{two.theirs},{two.ours}"})
    audit.record("ana", "redrive.create", mine, "from mine", {"filter": f"queue:{two.mine.queue}"})
    browser = two.sign_in("viewer")
    exported = b"".join(browser.get("/exports/audit").streaming_content).decode()

    for text in (browser.see("/audit").html, browser.see(f"/queues/{two.mine.queue}/audit").html, exported):
        assert "from mine" in text
        assert "from theirs" not in text
        assert two.other.queue not in text
        assert two.theirs not in text


def test_saved_filters_that_name_others_are_not_offered(two: Two) -> None:
    for name in (two.mine.queue, two.other.queue):
        saved_filters.save("dead-letters", f"of {name}", f"queue:{name}", owner=f"owner-of-{name}", shared=True)

    page = two.sign_in("viewer").see("/saved-filters")

    assert two.mine.queue in page.text
    assert two.other.queue not in page.html


def test_suggestions_come_from_what_is_seen(two: Two) -> None:
    browser = two.sign_in("operator")

    def offered(text: str) -> str:
        return browser.see("/filter-suggestions", q=text, at=len(text)).html

    assert two.mine.queue in offered(f"queue:{two.mine.queue[:4]}")
    assert two.other.queue not in offered(f"queue:{two.other.queue[:4]}")
    assert two.theirs not in offered("tenant:work-theirs")
    assert two.mine.queue in offered("payload.of:")
    assert two.other.queue not in offered("payload.of:")


def test_new_queues_are_made_within_reach(two: Two) -> None:
    browser = two.sign_in("admin")
    name = f"made-{uuid.uuid4().hex[:8]}"
    wish = browser.see("/new-queue").fields() | {"name": name}

    page = browser.submit("/new-queue", status=422, **wish | {"tenant": two.theirs})
    assert "your role may make all queues of" in page.text
    assert not Queue.objects.filter(name=name).exists()
    browser.submit("/new-queue", **wish | {"tenant": two.ours})
    assert Queue.objects.get(name=name).tenant.name == two.ours
    page = browser.submit("/new-queue", status=422, **wish | {"tenant": two.ours, "name": f"{two.theirs}-{name}"})
    assert "names that begin so are for another tenant" in page.text


def test_hints_of_changes_are_of_what_is_seen(two: Two) -> None:
    person = User.objects.create_user(f"hints-{uuid.uuid4().hex[:8]}")
    Grant.objects.create(person=person, role="viewer", tenant_name=two.ours, created_by="x")

    reached = live._reached(person)

    assert reached is not None
    assert str(two.mine.queue_id) in reached
    assert str(two.other.queue_id) not in reached


def test_a_message_of_others_is_not_found_by_its_number(two: Two) -> None:
    message_id = two.other.send({"n": 1})
    two.other.receive_one(visibility_timeout=3600)
    browser = two.sign_in("viewer")

    answer = browser.get(f"/messages/{message_id}")

    assert answer.status_code == 404
    assert two.other.queue not in answer.content.decode()


def test_pages_cost_as_many_queries_however_many_grants_and_queues(
    two: Two, connect: Callable[..., psycopg.Connection[object]]
) -> None:
    browser = two.sign_in("operator")
    person = User.objects.get(pk=int(browser.session["_auth_user_id"]))

    def queries(path: str) -> int:
        standings.forget()
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(path).status_code == 200
        return len(captured)

    paths = ("/", "/dead-letters", "/dead-letters/failure-groups", "/audit", "/alerts", "/consumers", "/redrives/new")
    for path in paths:
        queries(path)  # what a process asks but once it has asked
    few = {path: queries(path) for path in paths}
    for number in range(5):
        make_queue(connect(), f"{two.mine.queue}-{number}", two.ours)
        Grant.objects.create(person=person, role="viewer", queue_prefix=f"{two.mine.queue}-{number}", created_by="x")

    assert {path: queries(path) for path in paths} == few


def test_a_checked_filter_keeps_its_reach_when_it_is_frozen() -> None:
    reach = Reach((Bounds("acme"),))
    checked = CheckedFilter(parse("class:Boom"), parse("class:Boom"), reach)

    assert checked.frozen(None).reach == reach


def test_the_page_of_ones_queue_tells_no_message_of_others(two: Two) -> None:
    two.other.die({"of": two.other.queue, "kept": "secret"}, error_class=two.cause, error=THEIRS)
    browser = two.sign_in("admin")
    dead = DeadLetter.objects.filter(source__name=two.other.queue).values_list("message_id", flat=True)

    for message_id in [*dead, two.other.send({"kept": "secret"})]:
        address = f"/queues/{two.mine.queue}/messages/{message_id}"
        for answer in (browser.get(address), browser.get(f"{address}/body")):
            assert answer.status_code == 404
            assert two.other.queue not in answer.content.decode()
        assert browser.post(f"{address}/reveal", {"reason": "x"}).status_code == 404


def test_a_message_that_left_for_others_tells_nothing_of_them(two: Two) -> None:
    letter = DeadLetter.objects.get(source__name=two.mine.queue)
    two.mine.rows("select signalbox.redrive(array[%s]::bigint[], %s)", letter.pk, two.other.queue)
    ((_, handle, *_),) = two.other.receive()
    two.other.nack(handle, reason="rejected", error_class=two.cause, error=THEIRS)

    page = two.sign_in("operator").see(f"/queues/{two.mine.queue}/messages/{letter.message_id}")

    assert MINE in page.text
    assert THEIRS not in page.html
    assert two.other.queue not in page.html


def test_the_analysis_of_a_shared_cluster_is_of_what_is_seen(two: Two) -> None:
    run = Run.objects.create(
        kind=Run.Kind.ANALYSE, token="", url="", parts=[], state=Run.State.COMMITTED, started_by="ann",
        finished_at=timezone.now(), outcome={"days": ["2026-11-20"], "archive_runs": [], "failures": 40_000},
    )  # fmt: skip
    for engine, code in ((two.mine, "of-mine"), (two.other, "of-theirs")):
        compared = {"failures": 1_281, "failures_unread": 0, "successes": 2_950, "successes_unread": 0, "tests": 214}
        Comparison.objects.create(cause=two.fingerprint, queue_id=engine.queue_id, run=run, **compared)
        Finding.objects.create(
            cause=two.fingerprint, queue_id=engine.queue_id, place=1, run=run, path=["payload", "code"], kind="value",
            value=f'"{code}"', failures_with=1_200, successes_with=88,
        )  # fmt: skip
    address = f"/dead-letters/failure-groups/{two.fingerprint}"

    page = two.sign_in("operator").see(address)
    mixed = sign_in_with({"operator": [(two.ours, "")], "viewer": [(two.theirs, "")]}).see(address)
    run.delete()

    assert "code = of-mine" in page.text
    assert "of-theirs" not in page.html
    assert two.other.queue not in page.html
    assert "more queue" not in page.text
    assert "of-theirs" not in mixed.html


def test_who_reaches_a_stream_does_not_reach_the_queues_that_it_feeds(two: Two) -> None:
    fed = make_queue(two.other.connection, f"{two.other.queue}-fed", two.ours).queue
    stream = streams.create_stream(f"{two.mine.queue}-stream", {}, tenant=two.ours, actor="ana")
    streams.create_group(stream.name, "feeder", actor="ana", point="beginning", queue=fed)
    browser = sign_in_with({"admin": [(None, two.mine.queue)]})

    for path in ("", "/groups/feeder", "/new-group"):
        assert fed not in browser.see(f"/streams/{stream.name}{path}").html
    assert fed in two.sign_in("admin").see(f"/streams/{stream.name}/groups/feeder").html
    for verb in ("seek", "drop"):
        given = {"point": "beginning", "confirmation": "feeder", "reason": "x"}
        answer = browser.post(f"/streams/{stream.name}/groups/feeder/{verb}", given)
        assert answer.status_code == 403
        assert fed not in answer.content.decode()

"""Failure analysis on pages: error templates with their trend, and what failures have in common."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from celery import current_app
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.masking import rules
from dlq.masking.rules import MaskingRule
from pipeline.analysis.analysis_models import Comparison, Finding, Template
from pipeline.models import Run, RunRequest
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.dlq.dead_letter_scenes import DeadLetterScene

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CAUSE = "fp-shop.Declined"
ADDRESS = f"/dead-letters/failure-groups/{CAUSE}"


@pytest.fixture(autouse=True)
def nothing_left(commits: None) -> Iterator[None]:
    yield
    Run.objects.all().delete()
    MaskingRule.objects.all().delete()


@pytest.fixture
def dead(scene: DeadLetterScene) -> DeadLetterScene:
    scene.add_dead(2, error_class="shop.Declined", error="card declined")
    scene.engine.value("select signalbox.aggregate_failure_groups()")
    return scene


@pytest.fixture
def run(commits: None) -> Run:
    return Run.objects.create(
        kind=Run.Kind.ANALYSE,
        token="",
        url="",
        parts=[],
        state=Run.State.COMMITTED,
        started_by="ann",
        finished_at=NOW,
        outcome={
            "days": ["2026-11-20", "2026-11-21"],
            "archive_runs": [],
            "failures": 4_000,
            "templates": 2,
            "comparisons": 1,
            "findings": 1,
            "left_out": 0,
        },
    )


def compared(run: Run, dead: DeadLetterScene, **numbers: int) -> Comparison:
    usual = {"failures": 1_281, "failures_unread": 0, "successes": 2_950, "successes_unread": 0, "tests": 214}
    return Comparison.objects.create(cause=CAUSE, queue_id=dead.engine.queue_id, run=run, **(usual | numbers))


def found(run: Run, dead: DeadLetterScene, *path: str, value: str = '"XX"', place: int = 1) -> None:
    Finding.objects.create(
        cause=CAUSE,
        queue_id=dead.engine.queue_id,
        place=place,
        run=run,
        path=list(path),
        kind="value",
        value=value,
        failures_with=1_204 - place,
        successes_with=88,
    )


def template(run: Run, queue: str = "orders", number: int = 1, **given: Any) -> Template:
    usual = {
        "template": f"v2:{number:016}",
        "run": run,
        "reason": "runtime_error",
        "error_class": f"shop.Declined{number}",
        "error": "card * <b>declined</b>",
        "failures": 1_000,
        "deaths": 10,
        "first_seen": NOW,
        "last_seen": NOW,
        "trend": "rising",
        "days": [10, 990],
        "queue_count": 1,
        "tenant_count": 1,
        "fingerprint_count": 1,
        "queues": [{"queue_id": 1, "queue": queue, "tenant": "acme", "failures": 1_000}],
        "fingerprints": [{"fingerprint": CAUSE, "failures": 1_000}],
    }
    return Template.objects.create(**(usual | given))


def test_before_any_analysis_the_pages_say_how_to_begin(operator: Browser, dead: DeadLetterScene) -> None:
    assert "Not analysed yet" in operator.see(ADDRESS).text
    assert "manage.py pipeline analyse" in operator.see("/pipeline/failures").text


def test_a_cluster_says_in_a_sentence_what_sets_its_failures_apart(
    operator: Browser, dead: DeadLetterScene, run: Run
) -> None:
    compared(run, dead)
    found(run, dead, "payload", "country")

    page = operator.see(ADDRESS)

    assert (
        "94 % of these failures have country = XX ; of what succeeded in the same queue 3 % do: 31 times as likely."
        " 1,203 of 1,281 failures, 88 of 2,950 successes."
    ) in page.text
    assert "days from 2026-11-20 to 2026-11-21" in page.text
    assert page.link(f"analysis {run.pk}") == f"/pipeline/{run.pk}"
    assert "sets these failures apart" not in operator.fetch(ADDRESS).text  # what is refreshed is the live part


def test_when_nothing_stands_out_it_says_so(operator: Browser, dead: DeadLetterScene, run: Run) -> None:
    assert "The archive has no dead letters of this failure group for these days." in operator.see(ADDRESS).text
    compared(run, dead)
    assert "There are no findings: 1,281 failures and 2,950 successes were compared" in operator.see(ADDRESS).text


def test_values_are_masked_without_the_right_to_see_payloads(viewer: Browser, dead: DeadLetterScene, run: Run) -> None:
    compared(run, dead)
    found(run, dead, "payload", "country", value='"Atlantis"')
    template(run)

    page = viewer.see(ADDRESS)

    assert "Atlantis" not in page.html
    assert "1 finding is masked. Viewing payloads, attributes and stacks requires the operator role." in page.text
    assert "declined" not in viewer.see("/pipeline/failures").html.replace("shop.Declined", "")


@pytest.mark.parametrize("path", ["card.number", "card", "**.number", "*.number"])
def test_a_rule_of_later_masks_what_was_found_before(
    admin: Browser, dead: DeadLetterScene, run: Run, path: str
) -> None:
    compared(run, dead)
    found(run, dead, "payload", "card", "number", value='"411122223333-2222"')
    found(run, dead, "payload", "country", place=2)
    template(run, queue=dead.queue)
    assert "411122223333-2222" in admin.see(ADDRESS).html

    rules.add(part="payload", path=path, queue=dead.queue, actor="tests")

    page = admin.see(ADDRESS)
    assert "411122223333-2222" not in page.html
    assert "1 finding is masked" in page.text
    assert "country = XX" in page.text
    assert "<b>declined" not in admin.see("/pipeline/failures").text


def test_templates_are_listed_with_share_trend_and_live_failure_group(
    operator: Browser, dead: DeadLetterScene, run: Run
) -> None:
    template(run)
    template(run, number=2, trend="gone", failures=10, fingerprints=[{"fingerprint": "fp-never-died", "failures": 10}])

    page = operator.see("/pipeline/failures")

    assert [row.split()[1] for row in page.rows()] == ["card", "card"]
    assert "card * <b>declined</b>" in page.text
    assert "1,000 25 % of all" in page.text
    assert "rising" in page.rows()[0]
    assert page.link("failure group") == ADDRESS
    assert len([one for one in page.all("a") if one.text.startswith("failure group")]) == 1
    assert len(operator.see(page.link("Gone")).rows()) == 1
    assert "No failure has this trend" in operator.see(page.link("New")).text


def test_an_admin_starts_an_analysis(admin: Browser, commits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, **options: asked.append(name))

    page = admin.submit("/pipeline/start/analyse")

    assert "Requested a failure analysis. It is listed here when it starts." in page.text
    assert asked == ["pipeline.run"]
    assert RunRequest.objects.latest("pk").kind == "analyse"
    assert AuditEvent.objects.filter(actor=admin.name, action="pipeline.analyse").exists()


def test_others_see_the_verb_disabled(operator: Browser) -> None:
    assert (
        "not available: Starting and cancelling pipeline runs requires the admin role."
        in operator.see("/pipeline/failures").text
    )


def test_a_run_leads_to_what_it_made(viewer: Browser, run: Run) -> None:
    page = viewer.see(f"/pipeline/{run.pk}")

    assert page.link("2 templates, 1 comparisons, 1 findings") == "/pipeline/failures"
    assert viewer.see("/pipeline").link("2 templates") == "/pipeline/failures"


def test_the_pages_cost_no_more_when_more_was_found(operator: Browser, dead: DeadLetterScene, run: Run) -> None:
    def queries(path: str) -> int:
        operator.see(path)
        with CaptureQueriesContext(connection) as captured:
            operator.see(path)
        return len(captured)

    compared(run, dead)
    found(run, dead, "payload", "country")
    template(run)
    few = [queries(path) for path in (ADDRESS, "/pipeline/failures")]
    for number in range(2, 15):
        found(run, dead, "payload", f"field{number}", place=number)
        template(run, number=number)

    assert [queries(path) for path in (ADDRESS, "/pipeline/failures")] == few

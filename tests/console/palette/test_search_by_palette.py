"""The palette finds queues, messages, failure groups, jobs, streams and pages, and nothing beyond a person's reach."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from dlq.jobs.models import Purge
from dlq.redrives import plans, redrives
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges, restore
from queues.control import streams
from tests.console.access.reaches import sign_in_with
from tests.console.browsers import Browser, Page
from tests.dlq.dead_letter_scenes import DeadLetterScene


@dataclass
class Things:
    """Things of one queue by the text that a person types, and the addresses of their pages."""

    queue: str
    addresses: dict[str, str]


@pytest.fixture
def things(scene: DeadLetterScene) -> Things:
    queue, engine = scene.queue, scene.engine
    error_class = f"Boom{queue.replace('-', 'x')}"
    letter = engine.die({"n": 1}, error_class=error_class, error="late")
    fingerprint = engine.value("select fingerprint from signalbox.dead_letter where dead_letter_id = %s", letter)
    message_id = engine.send({"n": 2})
    engine.value("select signalbox.aggregate_counters()")
    stream = streams.create_stream(f"{queue}.log", {}, tenant="default", actor="ana")
    addresses = {
        queue[1:].upper(): reverse("queue", args=[queue]),
        f"{queue}.LO": reverse("stream", args=[stream.name]),
        str(message_id): reverse("message", args=[queue, message_id]),
        error_class.upper(): reverse("failure_group", args=[fingerprint]),
    }
    return Things(queue, addresses | _jobs(scene))


def _jobs(scene: DeadLetterScene) -> dict[str, str]:
    """A job of each kind about the queue, and a plan."""
    filter, why = check_filter(scene.filter), {"actor": "ana", "reason": "why"}
    plan = plans.make(filter, **why)
    redrive, deletion = redrives.run(plan.pk, actor="ana"), deletions.create(filter, 2**62, **why)
    purge = _purged(scene, why)
    undo = restore.create("purge", purge.pk, **why)
    return {
        f"plan {plan.pk}": f"/redrives/plans/{plan.pk}",
        f"Redrive #{redrive.pk}": f"/redrives/{redrive.pk}",
        f"deletion {deletion.pk}": f"/deletions/{deletion.pk}",
        f"purge{purge.pk}": f"/purges/{purge.pk}",
        f"undo {undo.pk}": f"/undos/{undo.pk}",
    }


def _purged(scene: DeadLetterScene, why: dict[str, Any]) -> Purge:
    scene.engine.send({"n": 3}, delay_seconds=600)
    bounds = purges.preview(scene.queue, ["scheduled"]).bounds
    job = purges.create(scene.queue, ["scheduled"], bounds, scene.queue, **why)
    purges.run_in_foreground(job.pk)
    return job


def found(page: Page) -> list[str]:
    """Addresses that the results lead to."""
    return [one.attributes["href"] for one in page.all("a", role="option")]


def test_each_text_leads_to_what_it_names(viewer: Browser, things: Things) -> None:
    wrong = {
        text: results
        for text, address in things.addresses.items()
        if address not in (results := found(viewer.fetch("/palette", q=text)))
    }

    assert wrong == {}


def test_people_find_what_is_within_their_reach_and_nothing_else(things: Things) -> None:
    insider = sign_in_with({"viewer": [(None, things.queue)]})
    stranger = sign_in_with({"admin": [(None, "another-queue-")]})

    unfound = {
        text for text, address in things.addresses.items() if address not in found(insider.fetch("/palette", q=text))
    }
    leaked = {text for text in things.addresses if found(stranger.fetch("/palette", q=text))}

    assert (unfound, leaked) == (set(), set())


def test_a_number_alone_names_jobs_of_every_kind(viewer: Browser, things: Things) -> None:
    number = next(text for text in things.addresses if text.startswith("purge")).removeprefix("purge")

    assert things.addresses[f"purge{number}"] in found(viewer.fetch("/palette", q=number))


def test_without_a_text_the_palette_lists_the_pages_that_the_person_sees(viewer: Browser) -> None:
    addresses = found(viewer.fetch("/palette"))

    assert "/alerts" in addresses
    assert "/people" not in addresses


def test_without_javascript_a_page_links_to_the_results(viewer: Browser, scene: DeadLetterScene) -> None:
    assert viewer.see("/").link("Search") == "/palette"

    page = viewer.see("/palette", q=scene.queue)

    assert page.link(scene.queue) == f"/queues/{scene.queue}"
    assert page.one("input", id="palette-text").attributes["value"] == scene.queue


@pytest.mark.parametrize("text", ["no-such-thing", "%", "\\", "no\0thing", "9" * 18, "9" * 30, "<b>", "é" * 300])
def test_a_text_that_names_nothing_finds_nothing(viewer: Browser, text: str) -> None:
    page = viewer.see("/palette", q=text)

    assert "No results" in page.text


def test_a_search_by_name_reads_no_table_of_messages(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2)

    with CaptureQueriesContext(connection) as queries:
        viewer.fetch("/palette", q=scene.queue)

    read = {table for one in queries for table in re.findall(r'signalbox"?\."?(\w+)', one["sql"])}
    assert "failure_cluster" in read
    assert read.isdisjoint({"message", "dead_letter", "ready", "lease", "scheduled", "failure", "settled", "trash"})

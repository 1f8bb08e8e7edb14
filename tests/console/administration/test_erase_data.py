"""An admin erases one person's data: looks, counts, types the word, follows it, and takes the report."""

from __future__ import annotations

import io
import itertools
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dlq.erasure import erasures, external
from dlq.erasure.models import Erasure
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.dlq.erasure.whole_samples import whole_samples as whole_samples
from tests.engine import Engine
from tests.races.sessions import until

pytestmark = pytest.mark.usefixtures("whole_samples")

_people = itertools.count(1)


@pytest.fixture(autouse=True)
def no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove data that other tests have left."""
    monkeypatch.setattr(external, "_locations", {})


@pytest.fixture
def person(engine: Engine) -> str:
    return f"person {engine.queue} {next(_people)}"


def fields(person: str, **more: str) -> dict[str, str]:
    return {
        "part": "payload",
        "path": "customer.id",
        "value": person,
        "live": "hold",
        "queues": "",
        "tenant": "",
        "since": "",
        "until": "",
        "rows_per_second": "1000000",
        "reason": "request 7",
    } | more


def posted(browser: Browser, status: int = 200, **given: str) -> Page:
    answer = browser.post("/erasures/new", given, follow=True)
    assert answer.status_code == status, answer.content.decode()
    return Page(answer.content.decode())


def previewed(browser: Browser, person: str, **more: str) -> dict[str, str]:
    """The form as the preview gave it back."""
    page = posted(browser, **fields(person, **more), step="preview")
    return fields(person, **more) | {"previewed": page.fields()["previewed"]}


def over(job: Erasure) -> Erasure:
    def ended() -> bool:
        erasures.run_slice(job.pk)
        job.refresh_from_db()
        return not job.is_active

    until(ended, "the end of the erasure")
    return job


def test_the_whole_way(admin: Browser, engine: Engine, person: str) -> None:
    letter = engine.die({"customer": {"id": person}})
    engine.send({"customer": {"id": person}})
    assert "No erasures yet" in admin.see("/erasures").text or admin.see("/erasures").rows()

    form = previewed(admin, person)
    page = posted(admin, **form, step="erase", confirmation="erase")
    job = Erasure.objects.latest("pk")
    assert f"Erasure {job.pk} is pending." in page.text
    over(job)

    page = admin.see(f"/erasures/{job.pk}")
    assert "done" in page.text
    assert "1 messages wait to be processed and were not changed" in page.text
    assert "Earlier backups and copies of the database" in page.text
    assert person not in page.html
    assert engine.value("select payload from signalbox.dead_letter where dead_letter_id = %s", letter) == {
        "erased": str(job.pk)
    }
    answer = admin.get(f"/erasures/{job.pk}/report")
    told = json.loads(answer.content)
    assert (told["messages"], told["state"], told["reason"]) == ({"erased": 1, "held": 1}, "done", "request 7")
    assert answer["Content-Disposition"] == f'attachment; filename="erasure-{job.pk}.json"'
    assert person not in answer.content.decode()
    event = AuditEvent.objects.get(action="erasure.create", details__erasure_id=job.pk)
    assert (event.actor, event.reason) == (admin.name, "request 7")
    assert person not in json.dumps(event.details)


def test_a_preview_shows_places_and_changes_nothing(admin: Browser, engine: Engine, person: str) -> None:
    engine.die({"customer": {"id": person}})
    before = Erasure.objects.count()

    page = posted(admin, **fields(person), step="preview")

    assert any(row.startswith("Dead letters") and row.endswith(" 1") for row in page.rows())
    assert Erasure.objects.count() == before


def test_a_count_is_exact_and_needs_no_word(admin: Browser, engine: Engine, person: str) -> None:
    engine.die({"customer": {"id": person}})

    posted(admin, **previewed(admin, person), step="count")
    job = over(Erasure.objects.latest("pk"))

    assert (job.only_counts, job.states, job.became) == (True, {"dead": 1}, {"counted": 1})
    assert "The job only counted, and changed nothing." in admin.see(f"/erasures/{job.pk}").text


def test_the_word_is_asked_for(admin: Browser, person: str) -> None:
    before = Erasure.objects.count()

    page = posted(admin, 422, **previewed(admin, person), step="erase", confirmation="yes")

    assert "Type the word erase." in page.text
    assert Erasure.objects.count() == before


@pytest.mark.parametrize("change", [{"value": "other"}, {"path": "other"}, {"live": "delete"}, {"queues": ""}])
def test_what_is_erased_is_what_was_looked_at(
    admin: Browser, engine: Engine, person: str, change: dict[str, str]
) -> None:
    before = Erasure.objects.count()

    page = posted(admin, **previewed(admin, person, queues=engine.queue) | change, step="erase", confirmation="erase")

    assert "Preview" in page.text
    assert Erasure.objects.count() == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"path": "a..b"}, "path has no key"),
        ({"value": "null"}, "value is null, which identifies no person"),
        ({"value": ""}, "This field is required."),
        ({"queues": "nowhere, more"}, "queue 'nowhere' does not exist"),
        ({"tenant": "missing"}, "tenant 'missing' does not exist"),
        ({"live": "burn"}, "Select a valid choice"),
        ({"since": "2026-02-01", "until": "2026-01-01"}, "until must be later than since"),
        ({"reason": ""}, "This field is required."),
        ({"rows_per_second": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_makes_no_sense_says_where(admin: Browser, person: str, given: dict[str, str], said: str) -> None:
    assert said in posted(admin, 422, **fields(person) | given, step="preview").text


def test_hostile_values_are_text(admin: Browser) -> None:
    value = "<script>alert('x')</script>\"%s{{ 7 }}"

    page = posted(admin, **fields(value), step="preview")

    assert value not in page.html
    assert page.fields()["value"] == value


def test_it_is_paused_resumed_and_cancelled(admin: Browser, engine: Engine, person: str) -> None:
    engine.die({"customer": {"id": person}})
    posted(admin, **previewed(admin, person), step="erase", confirmation="erase")
    job = Erasure.objects.latest("pk")

    assert "is paused" in admin.submit(f"/erasures/{job.pk}/pause").text
    assert "goes on" in admin.submit(f"/erasures/{job.pk}/resume").text
    assert "is cancelled. Erased data stays erased" in admin.submit(f"/erasures/{job.pk}/cancel").text
    assert "was not to cancel" in admin.submit(f"/erasures/{job.pk}/cancel").text
    job.refresh_from_db()
    assert (job.state, job.value) == ("cancelled", "")
    assert admin.post(f"/erasures/{job.pk}/burn").status_code == 404
    assert admin.get("/erasures/999999999").status_code == 404


@pytest.mark.parametrize("path", ["/erasures", "/erasures/new"])
def test_only_admins_may(operator: Browser, viewer: Browser, path: str) -> None:
    for browser in (operator, viewer):
        assert browser.get(path).status_code == 403
        assert browser.post("/erasures/new", fields("x")).status_code == 403
        assert "Erasures" not in browser.see("/").text


# ---- from a terminal


def erase(*words: object) -> str:
    answer = io.StringIO()
    call_command("erase", *[str(word) for word in words], stdout=answer)
    return answer.getvalue()


def document(*words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(erase(*words, "--json"))
    return found


def test_a_terminal_previews(commits: None, engine: Engine, person: str) -> None:
    engine.die({"customer": {"id": person}})

    seen = document("customer.id", person, "--preview")

    assert {one["place"]: one["found"] for one in seen["places"]}["dead"] == 1
    assert "dead letters:" in erase("customer.id", person, "--preview")


def test_a_terminal_erases_and_reports(commits: None, engine: Engine, person: str) -> None:
    engine.die({"customer": {"id": person}})
    engine.send({"customer": {"id": person}})
    how = ["--yes", "--reason", "request 8", "--rate", 1_000_000, "--queue", engine.queue, "--live", "delete"]

    told = document("customer.id", person, *how)

    assert (told["state"], told["messages"], told["asked_by"]) == ("done", {"erased": 1, "deleted": 1}, "manage.py")
    assert person not in json.dumps(told)
    again = erase("--show", told["erasure"])
    assert "messages: " in again
    assert "- Earlier backups" in again
    assert engine.counted() == engine.recounted() == (0, 0, 0, 1, 0)


def test_a_terminal_says_what_is_in_work(commits: None, engine: Engine, person: str) -> None:
    engine.send({"customer": {"id": person}})
    handle = engine.receive_one()[1]

    with pytest.raises(SystemExit) as ended:
        erase("customer.id", person, "--yes", "--reason", "r", "--rate", 1_000_000)
    assert ended.value.code == 3
    job = Erasure.objects.latest("pk")
    engine.ack(handle)

    assert document("--resume", job.pk)["messages"] == {"in_work": 0, "erased": 1}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b", "--reason", "r"], "yes: add --yes"),
        (["a", "b", "--yes"], "reason: "),
        (["a..b", "c", "--preview"], "path: "),
        (["a", "null", "--preview"], "value: "),
        (["a", "b", "--since", "soon", "--preview"], "since must be"),
        (["--show", "999999999"], "erasure 999999999 does not exist"),
    ],
)
def test_a_terminal_refuses_by_field(commits: None, words: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        erase(*words)

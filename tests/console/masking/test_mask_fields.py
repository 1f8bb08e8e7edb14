"""Masking a field: the value is hidden on every page and in every filter, and each reveal is audited."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.core.management import call_command

from dlq.masking import rules
from dlq.masking.masks import MASK
from dlq.masking.rules import MaskingRule
from dlq.redrives import plans
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.console.masking.masks import no_rules_left as no_rules_left
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("no_rules_left")

SECRET = "411122223333-2222-3333"


def masked(engine: Engine, path: str = "card.number", part: str = "payload") -> MaskingRule:
    return rules.add(part=part, path=path, queue=engine.queue, actor="ann")


def asked(browser: Browser, status: int = 200, **fields: str) -> Page:
    """The answer to the form of a rule."""
    answer = browser.post("/masking", fields, follow=True)
    assert answer.status_code == status
    return Page(answer.content.decode())


def test_an_admin_masks_a_field_and_shows_it_again(admin: Browser, engine: Engine) -> None:
    page = asked(admin, part="payload", path="card.number", queue=engine.queue, reason="PCI")

    assert "payload.card.number is masked from now on." in page.text
    rule = MaskingRule.objects.get(queue_name=engine.queue)
    event = AuditEvent.objects.get(action="masking.add", queue_name=engine.queue)
    assert (event.actor, event.reason, event.details["path"]) == (admin.name, "PCI", "card.number")
    remove = admin.see("/masking").link("Remove…")
    assert "everybody with the permission see_payloads sees the field" in admin.see(remove).text
    assert "This field is required." in admin.submit(remove, status=422, reason=" ").text
    assert MaskingRule.objects.filter(pk=rule.pk).exists()
    assert "payload.card.number is shown again." in admin.submit(remove, reason="not card data").text
    assert AuditEvent.objects.get(action="masking.remove", queue_name=engine.queue).reason == "not card data"
    assert "was removed already" in admin.submit(remove, reason="again").text


def test_a_rule_is_made_with_suggested_names(admin: Browser, engine: Engine) -> None:
    page = admin.see("/masking")

    field = page.one("input", name="queue")
    offered = page.html.partition(f'<datalist id="{field.attributes["list"]}">')[2].partition("</datalist>")[0]
    assert f'value="{engine.queue}"' in offered


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"path": "a..b"}, "path has no key"),
        ({"path": ""}, "This field is required."),
        ({"queue": "nowhere"}, "queue 'nowhere' does not exist"),
        ({"tenant": "missing"}, "tenant 'missing' does not exist"),
        ({"part": "body"}, "Select a valid choice"),
    ],
)
def test_a_rule_that_makes_no_sense_says_where(admin: Browser, given: dict[str, str], said: str) -> None:
    fields = {"part": "payload", "path": "a", "queue": "", "tenant": "", "reason": ""} | given

    assert said in asked(admin, status=422, **fields).text


def test_a_rule_is_made_once(admin: Browser, engine: Engine) -> None:
    masked(engine)

    page = asked(admin, status=422, part="payload", path="card.number", queue=engine.queue)

    assert "is masked there already" in page.text


def test_the_value_is_on_no_page(admin: Browser, operator: Browser, engine: Engine) -> None:
    masked(engine)
    payload = {"card": {"number": SECRET, "brand": "visa"}, "order": 7}
    ready = engine.send(payload)
    for _ in range(2):
        engine.die(payload, error_class="Declined", error=f"card {SECRET} declined", details=f"stack of {SECRET}")
    (dead, fingerprint), (other, _) = engine.rows(
        "select message_id, fingerprint from signalbox.dead_letter where source_queue = %s", engine.queue
    )
    copies = Options(patch_kind="json", patch=[{"op": "copy", "from": "/card/number", "path": "/note"}])
    plan = plans.make(check_filter(f"queue:{engine.queue}"), actor="ann", reason="", options=copies)
    pages = [
        f"/queues/{engine.queue}",
        f"/queues/{engine.queue}-dlq",
        f"/queues/{engine.queue}/messages",
        f"/queues/{engine.queue}/messages/{ready}",
        f"/queues/{engine.queue}/messages/{dead}",
        f"/dead-letters?q=queue:{engine.queue}",
        f"/redrives/new?q=queue:{engine.queue}",
        f"/dead-letters/failure-groups?q=queue:{engine.queue}",
        f"/dead-letters/failure-groups/{fingerprint}",
        f"/dead-letters/compare?id={dead}&id={other}",
        f"/dead-letters/compare?id={dead}&with=success",
        f"/redrives/plans/{plan.pk}",
        f"/filter-suggestions?q=payload.&at=8&queue={engine.queue}",
        f"/filter-suggestions?q=payload.card.number:&at=20&queue={engine.queue}",
        "/filter-suggestions?q=payload.card.number:&at=20",
    ]

    for browser in (admin, operator):
        for path in [*pages, f"/deletions/new?q=queue:{engine.queue}"] if browser is admin else pages:
            page = browser.get(path)
            assert page.status_code == 200, path
            assert SECRET not in page.content.decode(), path
    story = operator.see(f"/queues/{engine.queue}/messages/{dead}")
    assert f"card {MASK} declined" in story.text
    assert "visa" in story.text
    assert "Masked: payload.card.number" in story.text


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_an_export_is_masked(operator: Browser, engine: Engine, form: str) -> None:
    masked(engine)
    masked(engine, "email", part="attributes")
    engine.die({"card": {"number": SECRET}}, error_class="Declined", error=f"card {SECRET}", details=f"of {SECRET}")
    engine.send({"card": {"number": SECRET}, "order": 7}, attributes={"email": "ann@example.org"})

    for path in (f"dead-letters?q=queue:{engine.queue}", f"messages/{engine.queue}?state=ready"):
        answer = operator.get(f"/exports/{path}&format={form}")
        written = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
        assert not [value for value in (SECRET, "ann@example.org") if value in written], path
        assert MASK in written


def test_the_terminal_reveals_with_an_option_and_audits_it(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    masked(engine)
    engine.die({"card": {"number": SECRET}})

    call_command("export", f"queue:{engine.queue}")
    assert SECRET not in capsys.readouterr().out
    call_command("export", f"queue:{engine.queue}", reveal=True)
    assert SECRET in capsys.readouterr().out

    [masked_one, revealed] = AuditEvent.objects.filter(
        action="export.start", details__filter=f"queue:{engine.queue}"
    ).order_by("pk")
    assert "reveal" not in masked_one.details
    assert revealed.details["reveal"] is True


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "test", "path": "/card/number", "value": SECRET}],
        [{"op": "copy", "from": "/card", "path": "/note"}],
        [{"op": "move", "from": "/card/number", "path": "/note"}],
    ],
    ids=["test", "copy", "move"],
)
def test_no_patch_asks_for_what_is_masked(operator: Browser, engine: Engine, patch: list[dict[str, str]]) -> None:
    masked(engine)
    engine.die({"card": {"number": SECRET}})
    fields = operator.see("/redrives/new", q=f"queue:{engine.queue}").fields()

    page = operator.submit(
        "/redrives/new", 422, **fields | {"patch_kind": "json", "patch": json.dumps(patch), "reason": "mended"}
    )

    assert "which is masked: use another path" in page.text
    assert not Plan.objects.filter(filter_text=f"queue:{engine.queue}").exists()


def test_attributes_states_and_results_are_masked_too(admin: Browser, engine: Engine) -> None:
    masked(engine, "email", part="attributes")
    masked(engine, "card")
    message_id = engine.send({"card": SECRET}, attributes={"email": "ann@example.org", "region": "eu"})
    handle = engine.receive_one()[1]
    engine.value(
        'select signalbox.nack(%s, delay_seconds => 60, error => %s, state => \'{"seen": "411122223333-2222-3333"}\')',
        handle,
        "no mail to ann@example.org",
    )

    page = admin.see(f"/queues/{engine.queue}/messages/{message_id}")

    assert not [value for value in (SECRET, "ann@example.org") if value in page.html]
    assert "eu" in page.text
    assert f"no mail to {MASK}" in page.text


def test_a_reveal_shows_one_view_and_is_written_down(admin: Browser, engine: Engine) -> None:
    masked(engine)
    message_id = engine.send({"card": {"number": SECRET}})
    path = f"/queues/{engine.queue}/messages/{message_id}"

    page = admin.submit(f"{path}/reveal", status=200, reason="the customer called")

    assert SECRET in page.text
    assert "Revealed: payload.card.number." in page.text
    assert "hx-get" not in page.html.split('id="results"')[1].split(">")[0]
    event = AuditEvent.objects.get(action="message.reveal", details__message_id=message_id)
    assert (event.actor, event.reason) == (admin.name, "the customer called")
    assert event.details["fields"] == ["payload.card.number"]
    assert SECRET not in admin.see(path).html


def test_without_a_reason_nothing_is_revealed(admin: Browser, engine: Engine) -> None:
    masked(engine)
    message_id = engine.send({"card": {"number": SECRET}})

    page = admin.submit(f"/queues/{engine.queue}/messages/{message_id}/reveal", status=422, reason=" ")

    assert SECRET not in page.html
    assert not AuditEvent.objects.filter(action="message.reveal", details__message_id=message_id).exists()


def test_an_operator_sees_why_not(operator: Browser, engine: Engine) -> None:
    masked(engine)
    message_id = engine.send({"card": {"number": SECRET}})

    page = operator.see(f"/queues/{engine.queue}/messages/{message_id}")

    assert "Revealing masked fields requires the admin role." in page.text
    assert operator.post(f"/queues/{engine.queue}/messages/{message_id}/reveal", {"reason": "r"}).status_code == 403


@pytest.mark.parametrize(
    "question", ["payload.card.number:x", "-payload.card.number:x", "payload.CARD.number:*", "error:x"]
)
def test_who_may_not_reveal_may_not_ask(
    operator: Browser, admin: Browser, scene: DeadLetterScene, question: str
) -> None:
    masked(scene.engine)
    scene.add_dead(1)
    here, queue = f"queue:{scene.queue} {question}", scene.queue

    assert "masked" in operator.see("/dead-letters", q=here).one("p", id="q-mistake").text
    assert "masked" in operator.see("/redrives/new", status=422, q=here).text
    if question.startswith(("payload", "-payload")):
        assert "masked" in operator.see(f"/queues/{queue}/messages", q=question).one("p", id="q-mistake").text
    assert not [one for one in admin.see("/dead-letters", q=here).elements if one.attributes.get("id") == "q-mistake"]


def test_a_form_is_no_way_around(operator: Browser, scene: DeadLetterScene) -> None:
    masked(scene.engine)
    scene.add_dead(1)
    form = operator.see("/redrives/new", q=scene.filter).fields()

    page = operator.submit(
        "/redrives/new",
        status=422,
        **{**form, "filter_text": f"{scene.filter} payload.card.number:1", "reason": "r"},
    )

    assert "is masked." in page.text
    assert len(scene.dead()) == 1


def test_other_queues_and_other_fields_can_be_asked_for(
    operator: Browser, scene: DeadLetterScene, engine: Engine
) -> None:
    masked(engine)
    scene.add_dead(1, payload={"card": {"number": "x"}})

    page = operator.see("/dead-letters", q=f"queue:{scene.queue} payload.card.number:x")

    assert len(page.rows()) >= 1
    assert not [one for one in page.elements if one.attributes.get("id") == "q-mistake"]


def plan_form(browser: Browser, scene: DeadLetterScene, target: str) -> dict[str, str]:
    fields = browser.see("/redrives/new", q=scene.filter).fields()
    return {**fields, "target_queue": target, "reason": "mended"}


def test_a_redrive_does_not_carry_what_is_masked_to_where_it_is_seen(
    operator: Browser, admin: Browser, scene: DeadLetterScene, make_engine: Callable[..., Engine]
) -> None:
    masked(scene.engine)
    scene.add_dead(2)
    target = make_engine().queue
    asked_for = plan_form(operator, scene, target)

    page = operator.submit("/redrives/new", 422, **asked_for)

    assert "ask a person with the permission reveal" in page.text
    admin.submit("/redrives/new", **asked_for)
    plan = Plan.objects.filter(filter_text=scene.filter).latest("pk")
    assert plan.choices.target_queue == target
    refused = operator.submit(f"/redrives/plans/{plan.pk}/run", 422, rate_per_second="")
    assert "ask a person with the permission reveal" in refused.text
    assert "started." in admin.submit(f"/redrives/plans/{plan.pk}/run", rate_per_second="").text


def test_a_plan_to_a_queue_that_masks_as_much_is_made_and_held_to_the_rules_of_its_run(
    operator: Browser, scene: DeadLetterScene, make_engine: Callable[..., Engine]
) -> None:
    masked(scene.engine)
    scene.add_dead(1)
    target = make_engine()
    there = masked(target, "card")

    operator.submit("/redrives/new", **plan_form(operator, scene, target.queue))
    plan = Plan.objects.filter(filter_text=scene.filter).latest("pk")
    rules.remove(there.pk, actor="ann")

    refused = operator.submit(f"/redrives/plans/{plan.pk}/run", 422, rate_per_second="")
    assert "ask a person with the permission reveal" in refused.text


def test_queues_without_masks_are_free_to_exchange(
    operator: Browser, engine: Engine, scene: DeadLetterScene, make_engine: Callable[..., Engine]
) -> None:
    masked(engine)
    scene.add_dead(1)
    other = make_engine()

    operator.submit("/redrives/new", **plan_form(operator, scene, other.queue))

    assert Plan.objects.filter(filter_text=scene.filter).exists()


def test_what_a_patch_writes_over_a_masked_field_is_masked(operator: Browser, engine: Engine) -> None:
    masked(engine)
    engine.die({"card": {"number": SECRET}, "n": 1})
    for kind, patch in (
        ("merge", {"card": {"number": "5500-new-secret"}, "note": "5500-new-secret"}),
        ("json", [{"op": "replace", "path": "/card", "value": {"number": "5500-new-secret"}}]),
    ):
        options = Options(patch_kind=kind, patch=patch)
        plan = plans.make(check_filter(f"queue:{engine.queue}"), actor="ann", reason="", options=options)

        page = operator.see(f"/redrives/plans/{plan.pk}")

        assert SECRET not in page.html
        assert "5500-new-secret" not in page.one("pre", class_="diff").text
        event = AuditEvent.objects.filter(action="plan.create").latest("pk")
        assert event.details["plan_id"] == plan.pk
        assert ("5500-new-secret" in json.dumps(event.details)) == (kind == "merge")  # as its note, which is not masked
        assert MASK in page.text
        if kind == "json":
            assert "5500-new-secret" not in page.html


def test_rules_hold_by_the_names_that_a_queue_had(operator: Browser, engine: Engine) -> None:
    engine.die({"card": {"number": SECRET}}, error=f"saw {SECRET}")
    masked(engine)
    new = f"{engine.queue}-renamed"
    engine.value("select signalbox.rename_queue(%s, %s)", engine.queue, new)  # by a program: no rule is copied
    Engine(engine.connection, new, engine.queue_id).send({"card": {"number": SECRET}})

    for path in (f"/queues/{new}/messages", f"/dead-letters?q=queue:{new}", f"/queues/{new}"):
        assert SECRET not in operator.see(path).html, path


def test_rules_hold_where_dead_letters_were_kept_before(operator: Browser, engine: Engine) -> None:
    engine.die({"card": {"number": SECRET}})
    engine.value("select count(*) from signalbox.receive(%s)", f"{engine.queue}-dlq")
    masked(engine)
    elsewhere = json.dumps({"dead_letter_queue": f"{engine.queue}-graves"})
    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, elsewhere)
    listed = f"/queues/{engine.queue}-dlq/messages?state=leased"

    assert SECRET not in operator.see(listed).html
    assert "masked" in operator.see(f"{listed}&q=payload.card.number:x").one("p", id="q-mistake").text


def test_a_rule_of_a_tenant_or_of_a_stream_holds_for_streams_and_what_they_feed(
    admin: Browser, operator: Browser, engine: Engine
) -> None:
    stream = f"{engine.queue}-stream"
    engine.value("select signalbox.create_stream(%s, '{\"partitions\": 1}')", stream)
    engine.value("select signalbox.append(%s, %s, key => %s)", stream, json.dumps({"card": {"number": SECRET}}), SECRET)
    engine.value("select signalbox.create_group(%s, 'feeds', queue => %s)", stream, engine.queue)
    engine.send({"card": {"number": SECRET}})
    listed = f"/streams/{stream}/messages"
    assert SECRET in operator.see(listed).html

    rule = rules.add(part="payload", path="card", tenant="default", actor="ann")
    assert SECRET not in operator.see(listed).html
    rules.remove(rule.pk, actor="ann")
    assert "is masked from now on" in asked(admin, part="payload", path="card", queue=stream).text

    assert SECRET not in operator.see(listed).html
    assert SECRET not in operator.see(f"/queues/{engine.queue}/messages").html
    assert admin.see("/masking").link(stream) == f"/streams/{stream}"


@pytest.mark.parametrize("named", ["", "-dlq"])
def test_a_rule_of_a_dead_letter_queue_bars_questions_by_either_name(
    operator: Browser, scene: DeadLetterScene, named: str
) -> None:
    scene.add_dead(1, payload={"card": {"number": SECRET}})
    rules.add(part="payload", path="card.number", queue=f"{scene.queue}-dlq", actor="ann")

    page = operator.see("/dead-letters", q=f"queue:{scene.queue}{named} payload.card.number:x")

    assert "is masked" in page.one("p", id="q-mistake").text


def test_a_rule_of_a_tenant_holds_in_its_queues(operator: Browser, engine: Engine) -> None:
    rules.add(part="payload", path="**.iban", tenant="default", actor="ann")
    engine.send({"to": [{"iban": "DE00-SECRET"}]})

    assert "DE00-SECRET" not in operator.see(f"/queues/{engine.queue}/messages").html


def test_a_filter_on_a_masked_field_says_so_to_an_admin(admin: Browser, operator: Browser, engine: Engine) -> None:
    masked(engine)
    engine.die({"card": {"number": SECRET}}, error_class="shop.Declined")
    here = f"queue:{engine.queue}"

    page = admin.see("/dead-letters", q=f'{here} payload.card.number:"{SECRET}"')
    assert "payload.card.number: may look into masked fields. Rows show a mask there" in page.text
    assert len(page.rows()) == 1
    assert "masked fields" not in admin.see("/dead-letters", q=f"{here} class:Declined").text
    assert len(admin.see("/dead-letters", q=f"{here} {SECRET}").rows()) == 1
    word = operator.see("/dead-letters", q=f"{here} {SECRET}")
    assert "Words search names only" in word.text
    assert word.rows() == []

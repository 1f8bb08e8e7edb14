"""manage.py redrive: plan, run, watch and stop from a terminal."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dlq.jobs.models import Redrive
from dlq.redrives import redrives
from dlq.redrives.plan_models import Plan
from queues.models import AuditEvent
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.dlq.processes import PROJECT, environment


def redrive(*words: object) -> str:
    answer = io.StringIO()
    call_command("redrive", *[str(word) for word in words], stdout=answer)
    return answer.getvalue()


def document(*words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(redrive(*words, "--json"))
    return found


def test_a_plan_is_kept_and_moves_nothing(scene: DeadLetterScene) -> None:
    buried = scene.add_dead(3)

    planned = document("plan", scene.filter, "--rate", 50, "--canary", 2, "--reason", "partner is back")

    plan = Plan.objects.get(pk=planned["id"])
    assert (planned["count"], planned["count_is_exact"], planned["seconds_at_rate"]) == (3, True, 0.06)
    assert (plan.created_by, plan.choices.canary_messages, plan.choices.rate_per_second) == ("manage.py", 2, 50)
    assert scene.dead() == buried
    assert AuditEvent.objects.get(action="plan.create", details__plan_id=plan.pk).reason == "partner is back"


def test_a_plan_is_printed_in_words(scene: DeadLetterScene) -> None:
    scene.add_dead(2, redrive_count=4)

    said = redrive("plan", scene.filter)

    assert "2 dead letters" in said
    assert f"queues: {scene.queue} 2" in said
    assert "causes: TimeoutError 2" in said
    assert "skipped: 2 that were redriven too often" in said
    assert f"! {scene.queue} has no consumer" in said


def test_a_canary_goes_first_unless_it_is_turned_off(scene: DeadLetterScene) -> None:
    scene.add_dead(12)
    scene.add_dead(3, error_class="KeyError")
    plan_id = document("plan", scene.filter)["id"]

    assert "canary: 10 of 15 messages" in redrive("plan", scene.filter)
    assert "canary: none" in redrive("plan", scene.filter, "--canary", 0)
    job = Redrive.objects.get(pk=document("run", plan_id)["id"])
    assert (job.step_limit, len(job.canaries)) == (10, 2)
    redrive("cancel", job.pk)
    whole = Redrive.objects.get(pk=document("run", plan_id, "--canary", 0)["id"])
    assert (whole.step_limit, whole.canaries, whole.canary) == (None, [], {})


def test_run_and_wait_takes_what_the_plan_selected(scene: DeadLetterScene) -> None:
    buried = scene.add_dead(3)
    plan_id = document("plan", scene.filter)["id"]
    later = scene.add_dead(1)

    job = document("run", plan_id, "--wait")

    assert (job["state"], job["moved"], job["plan_id"]) == ("done", 3, plan_id)
    assert scene.redriven(job["id"]) == buried
    assert scene.dead() == later
    assert document("show", job["id"])["outcomes"]["open"] == 3
    assert f"redrive {job['id']}: done, 3 sent again" in redrive("show", job["id"])


def test_a_run_may_go_elsewhere_and_slower(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    source, target = make_dead_letter_scene(), make_dead_letter_scene()
    source.add_dead(2)
    plan_id = document("plan", source.filter)["id"]

    document("run", plan_id, "--wait", "--target", target.queue, "--rate", 100)

    job = Redrive.objects.get(plan_id=plan_id)
    assert (job.target_queue, job.rate_per_second, target.ready()) == (target.queue, 100, 2)


def test_the_lever_from_a_terminal(scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    job_id = document("run", document("plan", scene.filter)["id"])["id"]

    assert document("pause", job_id)["state"] == "paused"
    assert document("resume", job_id)["state"] == "pending"
    assert document("cancel", job_id, "--reason", "wrong queue")["state"] == "cancelled"
    with pytest.raises(CommandError, match=f"nothing was changed: redrive {job_id} has already ended"):
        redrive("cancel", job_id)
    assert AuditEvent.objects.get(action="redrive.cancel", details__redrive_id=job_id).reason == "wrong queue"


def test_who_waits_for_a_job_that_stops_learns_it_by_the_exit_code(scene: DeadLetterScene) -> None:
    """A destination that closes during the redrive fails the job."""
    scene.add_dead(1)
    plan_id = document("plan", scene.filter)["id"]
    scene.engine.value("select signalbox.configure_queue(%s, '{\"closed\": true}')", scene.queue)

    with pytest.raises(SystemExit) as ended:
        redrive("run", plan_id, "--wait")

    assert ended.value.code == 3
    assert Redrive.objects.get(plan_id=plan_id).state == "failed"


def test_mistakes_name_their_field(scene: DeadLetterScene) -> None:
    plan_id = document("plan", scene.filter)["id"]

    for words, said in (
        (["plan", "class:x", "--rate", "0"], "rate_per_second: rate_per_second is 0: it must be from 1 to 5000"),
        (["plan", "class:x", "--target", "nowhere"], "queue 'nowhere' does not exist"),
        (["plan", "class:x", "--json-patch", "{"], "--json-patch is not JSON: "),
        (["plan", "class:x", "--json-patch", "[{}]"], "patch: patch is no JSON Patch"),
        (["run", "999999999"], "there is no plan 999999999"),
        (["run", str(plan_id), "--canary", "-1"], "canary_messages: canary_messages is -1"),
        (["show", "999999999"], "job_id: redrive 999999999 does not exist"),
    ):
        with pytest.raises(CommandError) as refused:
            redrive(*words)
        assert str(refused.value).startswith(said)


def test_a_mistake_in_the_filter_is_underlined(commits: None) -> None:
    with pytest.raises(CommandError) as refused:
        redrive("plan", "class:X age:old")

    lines = str(refused.value).splitlines()
    assert lines[1:] == ["  class:X age:old", "              ^^^"]
    assert lines[0].startswith("filter: ")


def test_a_plan_is_run_by_one_redrive_at_a_time(scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    plan_id = document("plan", scene.filter)["id"]
    first = document("run", plan_id)["id"]

    with pytest.raises(CommandError, match=f"plan_id: Already running as redrive #{first}"):
        redrive("run", plan_id)
    redrives.cancel(first, actor="ann")
    assert document("run", plan_id, "--wait")["moved"] == 1


def test_a_program_reads_json_and_an_exit_code(scene: DeadLetterScene, dsn: str) -> None:
    scene.add_dead(1)
    command = [sys.executable, "manage.py", "redrive", "plan", scene.filter, "--json"]
    answer = subprocess.run(command, cwd=PROJECT, env=environment(dsn), capture_output=True, text=True)
    refused = subprocess.run(
        [*command[:4], "age:old"], cwd=PROJECT, env=environment(dsn), capture_output=True, text=True
    )

    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["count"] == 1
    assert (answer.returncode, refused.returncode, refused.stdout) == (0, 1, "")

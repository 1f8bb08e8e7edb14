"""Queues of the system tenant are visible to users with every role and cannot be sent to, received from or changed."""

from __future__ import annotations

import pytest
from django.conf import settings

from console.access.api_keys import keys
from console.access.grants import grants as grants
from dlq.jobs.models import Redrive
from dlq.redrives import moving, plans
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from queues.control import queues, renaming
from queues.database.query import database_now
from queues.errors import InvalidArgument
from queues.models import DeadLetter, Queue
from queues.reach import SYSTEM_QUEUES, SYSTEM_TENANT
from tests.console.browsers import Browser
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")


@pytest.fixture
def broker(engine: Engine) -> str:
    """A queue as the workers have it."""
    name = f"{engine.queue}-own"
    queues.create_queue(name, tenant=SYSTEM_TENANT)
    return name


def test_the_name_that_is_reserved_is_the_one_that_workers_use() -> None:
    assert settings.CELERY_TASK_DEFAULT_QUEUE in SYSTEM_QUEUES


def test_an_admin_looks_and_does_nothing_else(admin: Browser, broker: str) -> None:
    page = admin.see(f"/queues/{broker}")
    assert "Pausing and resuming queues is not possible there." in page.text
    assert "is:system" in admin.see("/", q=f"{broker} is:system").html

    for path, given in (
        ("send", {"payload": "{}"}),
        ("settings", {"max_receives": "3"}),
        ("purge", {"states": "ready", "confirmation": broker}),
        ("pause", {}),
        ("resume", {}),
        ("rename", {"new_name": f"{broker}2"}),
        ("close", {}),
    ):
        admin.submit(f"/queues/{broker}/{path}", status=403, **given)
    assert Queue.objects.filter(name=broker, paused=False, closed=False).exists()


def test_a_superuser_sends_nothing_to_it_by_hand(sign_in: object, broker: str) -> None:
    assert callable(sign_in)
    sign_in("superuser").submit(f"/queues/{broker}/send", status=403, payload="{}")


def test_an_old_name_of_it_is_no_way_in(admin: Browser, broker: str) -> None:
    renaming.rename_queue(broker, f"{broker}-new", actor="test")
    admin.submit(f"/queues/{broker}/send", status=404, payload="{}")


def test_queues_of_the_system_tenant_cannot_be_created(admin: Browser) -> None:
    form = admin.see("/new-queue").fields()
    page = admin.submit("/new-queue", status=422, **{**form, "name": "mine", "tenant": SYSTEM_TENANT})
    assert "reserved for Signalbox" in page.text
    page = admin.submit("/new-queue", status=422, **{**form, "name": "signalbox", "tenant": "default"})
    assert "reserved for Signalbox" in page.text or "There is a queue of this name" in page.text


def test_rights_to_the_system_tenant_cannot_be_granted(admin: Browser) -> None:
    with pytest.raises(InvalidArgument, match="no key or grant reaches"):
        keys.create("own", "*", tenant=SYSTEM_TENANT, actor="test")
    with pytest.raises(InvalidArgument, match="no key or grant reaches"):
        grants.checked("admin", SYSTEM_TENANT, "")


def test_no_plan_sends_there(engine: Engine, broker: str) -> None:
    with pytest.raises(InvalidArgument, match="belongs to Signalbox itself"):
        plans.make(check_filter("queue:any"), actor="ann", reason="", options=Options(target_queue=broker))


@pytest.mark.parametrize("way", ["patched", "elsewhere", "as it was"])
def test_a_dead_task_goes_back_unchanged_or_stays(engine: Engine, broker: str, way: str) -> None:
    own = Engine(engine.connection, broker, Queue.objects.get(name=broker).queue_id)
    own.die({"task": "dlq.sweep"})
    (letter,) = DeadLetter.objects.filter(source__name=broker).values_list("pk", flat=True)
    merge = {"patch_kind": "merge", "patch": {"task": "pipeline.erase"}}
    options = Options(**(merge if way == "patched" else {}))
    target = engine.queue if way == "elsewhere" else None
    job = Redrive.objects.create(
        filter_text=f"queue:{broker}",
        as_of=database_now(),
        lower_bound=letter - 1,
        upper_bound=letter,
        cursor=letter - 1,
        total_estimate=1,
        target_queue=target,
        created_by="ann",
    )

    moved = moving.move(job, [letter], options)

    assert (moved.number, dict(+moved.left)) == ((1, {}) if way == "as it was" else (0, {"system": 1}))

"""Periodic tasks of the demo: a Celery beat of its own, whose tasks the workers of the demo receive."""

from __future__ import annotations

from threading import Thread

from celery import Celery
from celery.beat import Scheduler, Service
from celery.schedules import crontab
from django.conf import settings

SCHEDULE = {
    "remind of full carts": {
        "task": "shop.remind_of_full_carts",
        "schedule": 60.0,
        "options": {"queue": "reminders"},
    },
    "close the day": {
        "task": "shop.close_the_day",
        "schedule": crontab("5", "0"),
        "options": {"queue": "ledger-export"},
    },
    "print monthly invoices": {
        "task": "shop.print_monthly_invoices",
        "schedule": crontab("0", "6", day_of_month="1"),
        "options": {"queue": "invoices-pdf"},
    },
}


def start() -> None:
    """Send the periodic tasks in a thread, until the process ends."""
    app = Celery("shop", broker=settings.CELERY_BROKER_URL, set_as_current=False)
    app.conf.update(beat_schedule=SCHEDULE, task_ignore_result=True)
    Thread(target=Service(app, scheduler_cls=Scheduler).start, name="beat", daemon=True).start()

"""Wrong passwords and codes that come at the same moment: each is counted, and none is looked at beyond the limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.db import connection

from console.access.lockout import NOWHERE
from tests.console.browsers import Browser
from tests.console.security.test_second_factor import enrolled, name, with_password, wrong_code
from tests.races.sessions import finish, start, until

__all__ = ["enrolled", "name"]

Connect = Callable[..., psycopg.Connection[Any]]
HELD = "select from signalbox.mfa_authenticator where user_id = %s and type = 'totp' for update"
COUNTED_ONCE = """
insert into signalbox.axes_accessattempt
  (username, ip_address, user_agent, http_accept, path_info, get_data, post_data, failures_since_start, attempt_time)
values (%s, %s, 'agent', '', '', '', '', 1, now())
"""


def status_of(browser: Browser, path: str, **form: str) -> int:
    """The answer to a form sent from a thread, and so through a connection, of its own."""
    try:
        return browser.post(path, form, REMOTE_ADDR="", HTTP_USER_AGENT="agent").status_code
    finally:
        connection.close()


def until_waiting(observer: psycopg.Connection[Any], sessions: int) -> None:
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    until(lambda: (observer.execute(waiting).fetchone() or (0,))[0] >= sessions, f"{sessions} sessions that wait")


def test_of_many_codes_at_once_no_more_are_looked_at_than_may_be_wrong(enrolled: str, connect: Connect) -> None:
    browsers = [with_password(enrolled) for _ in range(5)]
    holder, observer = connect(autocommit=False), connect()
    holder.execute(HELD, [User.objects.get(username=enrolled).pk])

    code = wrong_code(enrolled)
    tries = [start(status_of, one, "/login/code", code=code) for one in browsers]
    until_waiting(observer, len(tries))
    holder.rollback()

    assert sorted(finish(one) for one in tries) == [422, 422, 422, 429, 429]


def test_concurrent_attempts_without_an_address_make_one_row(name: str, connect: Connect) -> None:
    """Two rows would make each attempt after them an error that is not counted."""
    first, observer = connect(autocommit=False), connect()
    first.execute(COUNTED_ONCE, [name, NOWHERE])

    second = start(status_of, Browser(), "/login", username=name, password="wrong")
    until_waiting(observer, 1)
    first.commit()

    assert finish(second) == 422
    assert AccessAttempt.objects.get(username=name).failures_since_start == 2
    assert status_of(Browser(), "/login", username=name, password="wrong") == 429

"""Limits on sending after a promotion: what they are counted by is not logged, and reaches a standby as it was made."""

from __future__ import annotations

import pytest

from signalbox import Client, QuotaExceeded
from tests.proof.failover.pair import Pair

pytestmark = [pytest.mark.timeout(900)]


def test_a_limit_that_was_set_a_moment_before_the_promotion_holds_after_it() -> None:
    with Pair() as pair:
        with Client(pair.primary.url) as client:
            client.create_queue("limited", {"max_backlog_messages": 3})
            client.create_queue("other", {"max_backlog_messages": 3})
            pair.wait_for_each_commit()
            client.send_batch("limited", [1, 2])

        pair.kill_primary()
        pair.promote()
        with pair.connect_to_standby() as connection:
            assert connection.execute("select signalbox.notice_promotion()").fetchone() == (2,)

        with Client(pair.url) as client:
            client.send("limited", 3)
            client.send_batch("other", [1, 2, 3])
            for queue in ("limited", "other"):
                with pytest.raises(QuotaExceeded) as refused:
                    client.send(queue, 4)
                assert refused.value.reason == "backlog"

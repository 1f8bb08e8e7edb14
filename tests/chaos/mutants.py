"""Engines and clients that are wrong on purpose: the checker must convict each, or it would not be worth much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.chaos import directed
from tests.chaos.directed import Schedule
from tests.races.naive import changed, definition


@dataclass(frozen=True)
class Mutant:
    schedule: Schedule
    charges: frozenset[str]
    """Of which it must be convicted, of one at least."""
    changes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For a function of the engine, which words become which."""
    statements: tuple[str, ...] = ()
    split_transactions: bool = False

    def install(self, connection: psycopg.Connection[Any]) -> None:
        for function, words in self.changes.items():
            connection.execute(changed(definition(connection, function), dict(words)).encode())
        for statement in self.statements:
            connection.execute(statement.encode())


def _charges(*names: str) -> frozenset[str]:
    return frozenset(names)


SETTLE_WHAT_IS_GIVEN_OUT = """
create function signalbox.settle_at_once() returns trigger language plpgsql as $$
begin
  delete from signalbox.lease l where l.message_id = new.message_id;
  insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms, consumer)
  values (new.queue_id, clock_timestamp(), array[new.message_id], array[new.receive_count], array[0], new.consumer);
  return null;
end $$;
create trigger settle_at_once after insert on signalbox.lease for each row execute function signalbox.settle_at_once();
"""

MUTANTS: dict[str, Mutant] = {
    "an ack that does not look at the nonce": Mutant(
        directed.late_ack,
        _charges("stale receipt accepted"),
        {"ack": {"where l.message_id = v_id and l.nonce = v_nonce and": "where l.message_id = v_id and"}},
    ),
    "a nack that does not look at the nonce": Mutant(
        directed.late_nack,
        _charges("stale receipt accepted"),
        {"nack": {"    and l.nonce = split_part(nack.receipt_handle, '.', 3)::uuid\n": ""}},
    ),
    "a nonce that comes again": Mutant(
        directed.late_ack,
        _charges("stale receipt accepted"),
        {"receive": {"v_nonce uuid := gen_random_uuid();": "v_nonce uuid := md5(receive.queue)::uuid;"}},
    ),
    "an extension that changes the receipt": Mutant(
        directed.extend_and_ack,
        _charges("held lease refused"),
        {
            "change_visibility_batch": {
                "set deadline = m.deadline": "set deadline = m.deadline, nonce = gen_random_uuid()"
            }
        },
    ),
    "a lease that goes on after its end": Mutant(
        directed.die_with_a_message,
        _charges("in two places", "stranded"),
        {
            "_return_expired": {
                "delete from signalbox.lease l\n": "update signalbox.lease l set deadline = 'infinity'\n",
            }
        },
    ),
    "a message that is settled when it is given out": Mutant(
        directed.die_with_a_message, _charges("settled without a client"), statements=(SETTLE_WHAT_IS_GIVEN_OUT,)
    ),
    "a nack that is not counted": Mutant(
        directed.nack_and_again,
        _charges("counter drift"),
        {
            "nack": {
                "values (v_lease.queue_id, {event.nacked_ready}, 1)": "select v_lease.queue_id, {event.nacked_ready}, 1"
                " where false"
            }
        },
    ),
    "a FIFO group that lets several go": Mutant(
        directed.take_turns,
        _charges("FIFO violation"),
        {"_promote_lanes": {"when q.mode = 'fifo' then 1": "when false then 1"}},
    ),
    "a FIFO group that does not wait for the one that failed": Mutant(
        directed.fail_in_a_group, _charges("FIFO violation"), {"nack": {" and v_queue.mode <> 'fifo' then": " then"}}
    ),
    "a deduplication id without effect": Mutant(
        directed.send_again_by_key,
        _charges("published twice"),
        {"_deduplicate": {"if not found then": "if true then"}},
    ),
    "a redrive in two commits": Mutant(
        directed.redrive_and_die,
        _charges("in two places", "unexplained duplicate", "published twice"),
        {
            "_redrive": {
                "delete from signalbox.dead_letter d\n    using picked p\n"
                "    where d.dead_letter_id = any(array[p.dead_letter_id])\n"
                "    returning d.*, coalesce": "select d.*, coalesce",
                "as target_queue_id\n  ), placed": "as target_queue_id from signalbox.dead_letter d"
                " join picked p on d.dead_letter_id = p.dead_letter_id\n  ), placed",
            }
        },
    ),
    "floors that overlook who is still writing": Mutant(
        directed.commit_late,
        _charges("stranded"),
        {"ticket_writers": {"and l.granted": "and false"}},
    ),
    "a send that does not wait for the disk": Mutant(
        directed.send_and_crash,
        _charges("lost"),
        {"send": {"v_id := nextval(": "perform set_config('synchronous_commit', 'off', true);\n  v_id := nextval("}},
    ),
    "a send beside the transaction it belongs to": Mutant(
        directed.order_and_roll_back, _charges("unexpected"), split_transactions=True
    ),
    "an ack before the commit of the work": Mutant(
        directed.work_and_die_before_the_commit, _charges("effect missing"), split_transactions=True
    ),
}

"""Short schedules with nothing left to chance: a few clients in one process, one after the other, at one weak spot.

On the engine as it is every one of them is valid; each mutant is convicted by one of them.
"""

from __future__ import annotations

import signal
from collections.abc import Callable

from tests.chaos.judging.history import FAILED, OK
from tests.chaos.stage import Stage

CRASHES = 2

Schedule = Callable[[Stage], None]


def late_ack(stage: Stage) -> None:
    """Let a lease expire and the message be redelivered, and then let the first consumer ack."""
    early, late = stage.actor(), stage.actor()
    early.send()
    first = early.take(visibility=0)
    second = late.take()
    early.ack(first)
    late.ack(second)


def late_nack(stage: Stage) -> None:
    early, late = stage.actor(), stage.actor()
    early.send()
    first = early.take(visibility=0)
    second = late.take()
    early.nack(first)
    late.ack(late.take() + second)


def nack_and_again(stage: Stage) -> None:
    actor = stage.actor()
    actor.send()
    actor.nack(actor.take())
    actor.ack(actor.take())


def extend_and_ack(stage: Stage) -> None:
    actor = stage.actor()
    actor.send()
    actor.extend(actor.take())


def die_with_a_message(stage: Stage) -> None:
    actor = stage.actor()
    actor.send()
    actor.take(visibility=0)


def take_turns(stage: Stage) -> None:
    """Two consumers at one FIFO group."""
    left_hand, right_hand = stage.actor("fifo"), stage.actor("fifo")
    for _ in range(3):
        left_hand.send(group_id="g", attributes={"fifo": True})
    first = left_hand.take()
    second = right_hand.take()
    if second:
        right_hand.ack(second)
    left_hand.ack(first)


def fail_in_a_group(stage: Stage) -> None:
    """The first of a FIFO group fails and rests; the second is not its turn."""
    actor, other = stage.actor("fifo"), stage.actor("fifo")
    for _ in range(2):
        actor.send(group_id="g", attributes={"fifo": True})
    actor.nack(actor.take(), delay=0.2)
    if found := other.take():
        other.ack(found)


def send_again_by_key(stage: Stage) -> None:
    actor = stage.actor("keyed")
    (token,) = actor.tokens(1)
    actor.send_token(token, deduplication_id=str(token), heard=False)
    actor.send_token(token, deduplication_id=str(token))


def order_and_roll_back(stage: Stage) -> None:
    """A send beside a row of one's own, and then it is not to be."""
    actor = stage.actor("orders")
    with stage.connect() as own:
        (token,) = actor.tokens(1)
        number = actor.journal.invoke("send in a transaction", queue="orders", tokens=[token])
        own.execute("begin")
        own.execute("insert into public.business values (%s)", [token])
        sender = actor.connection if stage.split_transactions else own
        sender.execute("select signalbox.send('orders', to_jsonb(%s))", [token])
        own.execute("rollback")
        actor.journal.complete(number, FAILED)


def work_and_die_before_the_commit(stage: Stage) -> None:
    """The effect of a message is in the transaction of its ack, which is never committed."""
    actor = stage.actor("orders")
    actor.send()
    (message,) = actor.take(visibility=0)
    with stage.connect() as own:
        actor.journal.invoke("ack", handles=[message.receipt_handle])
        own.execute("begin")
        own.execute("insert into public.effect values (%s)", [message.id])
        acker = actor.connection if stage.split_transactions else own
        acker.execute("select * from signalbox.ack(%s)", [[message.receipt_handle]])
        own.execute("rollback")


def redrive_and_die(stage: Stage) -> None:
    """A redrive is killed after its first commit, and another begins where the first one stood."""
    actor = stage.actor("mortal")
    actor.send()
    actor.nack(actor.take(), reason="rejected")
    for _ in range(2):
        rows = actor.connection.execute("select dead_letter_id, message_id from signalbox.dead_letter").fetchall()
        actor.attempt(
            "redrive",
            lambda: actor.connection.execute("select * from signalbox.redrive(%s)", [[row[0] for row in rows]]),  # noqa: B023
            lambda _: {},
            messages=[row[1] for row in rows],
        )
    with stage.connect() as connection:
        connection.execute("delete from signalbox.dead_letter")  # what the second commit would have done


def commit_late(stage: Stage) -> None:
    """A send that commits after the floors have moved on."""
    writer = stage.actor()
    stage.tick()
    (token,) = writer.tokens(1)
    number = writer.journal.invoke("send", queue=writer.queue, tokens=[token])
    writer.connection.execute("begin")
    message_id = writer.verbs.send(writer.queue, token)
    stage.tick(6)
    writer.connection.execute("commit")
    writer.journal.complete(number, OK, ids=[message_id])
    stage.tick(1)


def send_and_crash(stage: Stage) -> None:
    """The server is killed right after it has acknowledged."""
    actor = stage.actor()
    for _ in range(CRASHES):
        actor.send()
        stage.server.end(signal.SIGKILL)
        actor.drop()

"""Every SQL function is called here: one that is new and has no call of its own in the table fails the first test.

PostgreSQL checks the body of a plpgsql function only when it runs, so a function that no test calls may not even parse.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from queues.database.sql_names import rendered
from tests.engine import Engine


@dataclass(frozen=True)
class Refusal:
    """The SQLSTATE that a call is answered with."""

    sqlstate: str


@dataclass(frozen=True)
class AnyOf:
    """A call whose answer depends on what else is in the database."""

    kind: type


ARRAY = AnyOf(list)
NUMBER = AnyOf(int)
TEXT = AnyOf(str)
NOTHING = (None, "")
"""What a function that returns void answers: null from one in SQL, nothing from one in plpgsql."""

CALLS: dict[str, tuple[str, Any]] = {
    "_ack_claims": ("(signalbox._ack_claims(array[%(handle)s])).acked", True),
    "_refuse_claim": ("signalbox._refuse_claim('q', 1, 0, null)", Refusal("SB400")),
    "_audit_hash": (
        "signalbox._audit_hash(e, 1, e.hash) is null from (select (null::signalbox.audit_event).*) e",
        True,
    ),
    "_enter_audit": ("signalbox._enter_audit()", Refusal("0A000")),
    "_keep_audit": ("signalbox._keep_audit()", Refusal("0A000")),
    "_record_audit": ("(signalbox._record_audit('ana', 'test', null, '', 'why', '{}')).actor", "ana"),
    "record_audit": ("signalbox.record_audit('test.done', %(queue)s, 'why', '{}') > 0", True),
    "_owns_audit": ("signalbox._owns_audit()", True),
    "_audit_verb": ("signalbox._audit_verb('test', null, null, '{}')", NOTHING),
    "_audit_configuration": (
        "signalbox._audit_configuration(q, '{}') from signalbox.queue q where q.name = %(queue)s",
        NOTHING,
    ),
    "_audit_deletion": ("signalbox._audit_deletion(q) from signalbox.queue q where q.name = %(queue)s", NOTHING),
    "_audit_renaming": (
        "signalbox._audit_renaming(q, 'n', 1) from signalbox.queue q where q.name = %(queue)s",
        NOTHING,
    ),
    "_audit_stream": ("signalbox._audit_stream('test', 's', '{}')", NOTHING),
    "_was_just_made": ("signalbox._was_just_made(%(queue_id)s, '{\"paused\": true}')", False),
    "_copy_grants": ("signalbox._copy_grants('signalbox.register_grants', 'signalbox.message_id')", NOTHING),
    "_purge": ("signalbox._purge(%(queue)s, null, '{ready}', 100, null, null)", NUMBER),
    "purge_to_trash": ("signalbox.purge_to_trash(%(queue)s)", 2),
    "_trash_batch_of_purge": ("signalbox._trash_batch_of_purge(%(queue)s, '{ready}', 60) > 0", True),
    "_note_purge": ("signalbox._note_purge(0, %(queue)s, '{ready}', 0, 0) is null", True),
    "_make_segment": ("signalbox._make_segment(999999999)", False),
    "_seal_audit": ("signalbox._seal_audit()", Refusal("0A000")),
    "verify_audit": ("(signalbox.verify_audit()).complaint", None),
    "_anchor_facts": ("signalbox._anchor_facts(1, 'h', 2, 'file', 'f') ->> 'rows'", "2"),
    "_check_owner_of_audit": ("signalbox._check_owner_of_audit()", NOTHING),
    "_keep_anchors": ("signalbox._keep_anchors()", Refusal("0A000")),
    "prune_audit": ("signalbox.prune_audit(9000000000, 'hash', 'file', sha256('file'))", Refusal("SB400")),
    "_is_from_elsewhere": ("signalbox._is_from_elsewhere('counters', 0)", False),
    "_note_home": ("signalbox._note_home('counters')", NOTHING),
    "_system_identifier": ("signalbox._system_identifier() <> 0", True),
    "_skip_positions": ("signalbox._skip_positions(1000)", NOTHING),
    "drop_segments": ("signalbox.drop_segments()", ARRAY),
    "drop_stream_segments": ("signalbox.drop_stream_segments()", ARRAY),
    "_is_led": ("signalbox._is_led()", AnyOf(bool)),
    "_segments": ("count(*) > 0 from signalbox._segments()", True),
    "_is_attached": ("signalbox._is_attached('settled_default')", True),
    "_detach": ("signalbox._detach('settled', 'no_such_table')", Refusal("42P01")),
    "_pass_over": ("signalbox._pass_over('step', 1, 'XX000', 'broken')", NOTHING),
    "_clock_at": ("signalbox._clock_at() >= timestamptz 'epoch'", True),
    "_leases_ahead": ("count(*) from signalbox._leases_ahead('infinity', 'infinity')", 0),
    "_scheduled_ahead": ("count(*) from signalbox._scheduled_ahead('infinity', 'infinity', false)", 0),
    "clock_ahead_seconds": ("signalbox.clock_ahead_seconds() < 5", True),
    "clock_state": ("signalbox.clock_state() ->> 'leased'", "0"),
    "reset_clock": ("signalbox.reset_clock()", Refusal("SB400")),
    "restored": ("signalbox.restored(0) ->> 'from_elsewhere'", "false"),
    "_check_new_name": ("signalbox._check_new_name('no name')", Refusal("SB400")),
    "_drop_alias": (
        "signalbox._drop_alias(a) from signalbox.queue_alias a where a.name = %(queue)s || '-of-old'",
        NOTHING,
    ),
    "_keep_alias": ("signalbox._keep_alias('kept', %(queue_id)s, 60)", NOTHING),
    "_renamed": ("signalbox._renamed(%(queue)s || '-of-old') = %(queue)s", True),
    "free_queue_name": ("signalbox.free_queue_name(%(queue)s || '-of-old')", True),
    "rename_queue": ("signalbox.rename_queue(%(queue)s, %(queue)s || '-new') = %(queue_id)s", True),
    "_body_facts": ("(signalbox._body_facts(%(queue_id)s, %(message_id)s)).payload::text", '"ready"'),
    "_archive_needs": ("signalbox._archive_needs('settled_default')", False),
    "_archived_below": ("signalbox._archived_below()", None),
    "_rebase_archive": ("signalbox._rebase_archive()", NOTHING),
    "_unarchived_endings": ("count(*) from signalbox._unarchived_endings()", 0),
    "hold_for_archive": ("(signalbox.hold_for_archive()).low", 0),
    "move_archive_horizon": ("signalbox.move_archive_horizon(-2, -1)", False),
    "_archive_needs_segment": ("signalbox._archive_needs_segment(0, 'no_such_table')", False),
    "unarchived_positions": ("count(*) from signalbox.unarchived_positions()", NUMBER),
    "move_archived_position": ("signalbox.move_archived_position(0, 0, 1, 2)", False),
    "release_archive": ("signalbox.release_archive()", False),
    "_enter_ledger": ("signalbox._enter_ledger('w', 'queue 0', 1, 1)", True),
    "_lock_staged": ("signalbox._lock_staged(%(queue_id)s, '{}')", NOTHING),
    "_target_of": ("(signalbox._target_of(null, null)).queue_id", Refusal("SB400")),
    "drop_staged": ("signalbox.drop_staged('{}')", 0),
    "forget_writes": ("signalbox.forget_writes()", NUMBER),
    "send_staged": ("signalbox.send_staged(null, null, '{}', 0)", Refusal("SB400")),
    "stage_messages": ("signalbox.stage_messages(gen_random_uuid(), 0, null, null, '{1}')", Refusal("SB400")),
    "stream_bounds": ("(signalbox.stream_bounds('no such stream')).last_position", Refusal("SB404")),
    "_replay": ("(signalbox._replay('no such queue', '{1}', '{1}')).message_id", Refusal("SB404")),
    "_check_readable": ("signalbox._check_readable('payload', '[1]')", NOTHING),
    "_unreadable": (
        "signalbox._unreadable('1e1000', '1e1000'::jsonb::text)",
        "has a number of 1001 characters, written out: at most 1000",
    ),
    "_made_readable": ("signalbox._made_readable('[1]')::text", "[1]"),
    "_printable": ("signalbox._printable(E'a\\nb')", "ab"),
    "_kept_back": ("signalbox._kept_back(%(queue_id)s, 4, '12345', null, null, false)", "too_large"),
    "_note_replayed": ("signalbox._note_replayed(%(queue_id)s, now(), '{}', '{}', '{}', '{}', null, null)", NOTHING),
    "_check_trash_batch": ("signalbox._check_trash_batch(0)", Refusal("SB400")),
    "_count_trashed": ("signalbox._count_trashed(%(trash_batch)s, 1)", NOTHING),
    "_empty_trash_batch": ("signalbox._empty_trash_batch(%(trash_batch)s, 10)", 1),
    "_hold_keys_again": ("signalbox._hold_keys_again('{1}')", []),
    "_hold_groups_again": ("signalbox._hold_groups_again('{1}')", NOTHING),
    "empty_trash": ("signalbox.empty_trash()", NUMBER),
    "hold_trash_batch": ("signalbox.hold_trash_batch(%(trash_batch)s, 60)", True),
    "open_trash_batch": ("signalbox.open_trash_batch(60) > %(trash_batch)s", True),
    "restore": ("(signalbox.restore(%(trash_batch)s)).restored", 1),
    "_body_is_needed": ("signalbox._body_is_needed(sha256('nowhere'))", False),
    "_body_of": ("signalbox._body_of(null, null)", None),
    "_next_priority": ("(signalbox._next_priority(%(queue_id)s, '{0}', '{-infinity}', '60 s')).priority", 0),
    "_dead_letter": (
        (
            "signalbox._dead_letter(%(queue_id)s,"
            " array(select l from signalbox.lease l where l.queue_id = %(queue_id)s),"
            " 'rejected', 'E', 'error', 'stack')"
        ),
        NOTHING,
    ),
    "_check_batch_length": ("signalbox._check_batch_length('priorities', 2, 3)", Refusal("SB400")),
    "_check_body_hash": ("signalbox._check_body_hash('short')", Refusal("SB400")),
    "_check_handles": ("signalbox._check_handles(array['nonsense'])", Refusal("SB400")),
    "_check_options": ("signalbox._check_options('[]', 0, 0, null, null, null)", Refusal("SB400")),
    "_is_too_large": ("signalbox._is_too_large('[1,2,3]', '[1, 2, 3]', 3)", True),
    "_largest_body": ("signalbox._largest_body(%(queue_id)s, 1000)", 1000),
    "_check_payload": ("signalbox._check_payload('[1,2,3]', 3)", Refusal("SB413")),
    "_check_results": ("signalbox._check_results(array['1']::jsonb[], 2)", Refusal("SB400")),
    "_check_settings": ("signalbox._check_settings('{\"max_receives\": 0}')", Refusal("SB400")),
    "_check_state": ("signalbox._check_state(to_jsonb(repeat('x', 16384)))", Refusal("SB400")),
    "_count": ("signalbox._count(%(queue_id)s, {event.published}, 1)", NOTHING),
    "_dead_letter_queue": ("signalbox._dead_letter_queue(%(queue_id)s) > %(queue_id)s", True),
    "_make_default_dead_letter_queue": ("signalbox._make_default_dead_letter_queue(%(queue_id)s, 2147483647)", False),
    "make_dead_letter_queues": ("signalbox.make_dead_letter_queues()", NUMBER),
    "source_queues": ("count(*) from signalbox.source_queues(%(queue_id)s)", 0),
    "dead_letter_queue_name": ("signalbox.dead_letter_queue_name(%(queue_id)s)", TEXT),
    "_keep_queue": ("signalbox._keep_queue(%(queue_id)s)", NOTHING),
    "_keep_place": ("signalbox._keep_place(1025)", 1),
    "_claim_queue": ("signalbox._claim_queue(%(queue_id)s)", True),
    "_dead_letter_queue_of": (
        "signalbox._dead_letter_queue_of(q) > q.queue_id from signalbox.queue q where q.queue_id = %(queue_id)s",
        True,
    ),
    "_can_keep_dead_letters": (
        "signalbox._can_keep_dead_letters(q) from signalbox.queue q where q.queue_id = %(queue_id)s",
        True,
    ),
    "_reserved_names": ("signalbox._reserved_names()", "-dlq-[0-9]+$"),
    "_reserved_name": ("signalbox._reserved_name('orders', 7)", "orders-dlq-7"),
    "_check_reserved_name": ("signalbox._check_reserved_name('name', 'orders-dlq-7', 1)", Refusal("SB400")),
    "_lock_queue_name": ("signalbox._lock_queue_name('orders')", NOTHING),
    "_is_name_taken": ("signalbox._is_name_taken(%(queue)s)", True),
    "_try_new_name": ("signalbox._try_new_name(%(queue)s)", False),
    "_id_for_new_queue": ("signalbox._id_for_new_queue(%(queue)s || '-x', 1) > %(queue_id)s", True),
    "_configure_queue": ("signalbox._configure_queue(%(queue_id)s, '{}', false) = %(queue_id)s", True),
    "_refuse_unless_deserted": (
        "signalbox._refuse_unless_deserted(q) from signalbox.queue q where q.queue_id = %(queue_id)s",
        Refusal("SB400"),
    ),
    "_outlive": ("signalbox._outlive('{}')", True),
    "_was_closed": ("signalbox._was_closed(%(queue_id)s)", False),
    "_prepared_messages": ("signalbox._prepared_messages()", []),
    "_deduplicate": ("signalbox._deduplicate(%(queue_id)s, 'key', '1', null, 0, null)", None),
    "_delete_dead_letters": (
        "signalbox._delete_dead_letters(%(all_dead)s, {outcome.expired}, {event.expired_dead}, {event.expired_held})",
        1,
    ),
    "_ending_of": ("(signalbox._ending_of(%(queue_id)s, %(message_id)s, now())).status", "pending"),
    "_ensure_period": (
        "cardinality(signalbox._ensure_period('failure', '2001-01-01Z', '2001-01-02Z', 'YYYYMMDD'))",
        1,
    ),
    "_ensure_segment": ("signalbox._ensure_segment(%(message_id)s)", False),
    "_forget_states": ("signalbox._forget_states(array[%(message_id)s::bigint])", NOTHING),
    "_aggregation_snapshot": ("signalbox._aggregation_snapshot()::text", TEXT),
    "_check_lanes": (
        "signalbox._check_lanes(row(q.*), '{}') from signalbox.queue q where q.queue_id = %(queue_id)s",
        NOTHING,
    ),
    "_check_ordered_settings": (
        (
            "signalbox._check_ordered_settings(row(q.*), '{\"backoff_cap_seconds\": 1}')"
            " from signalbox.queue q where q.queue_id = %(queue_id)s"
        ),
        Refusal("SB400"),
    ),
    "_admit": ("signalbox._admit(%(queue_id)s, 1, 1)", NOTHING),
    "_estimate_batch": ("signalbox._estimate_batch(%(queue_id)s, array['1', '2']::jsonb[], '{a,a}', null)::text", TEXT),
    "_admit_batch": ("signalbox._admit_batch(%(queue_id)s, array['1', '2']::jsonb[], '{a,a}', null)", NOTHING),
    "_check_queue_count": (
        "signalbox._check_queue_count(t) from signalbox.tenant t where t.tenant_id = 1",
        Refusal("SB429"),
    ),
    "_ensure_admission_counter": ("signalbox._ensure_admission_counter(null, 1)", NOTHING),
    "_ensure_refusals": ("signalbox._ensure_refusals(%(queue_id)s, '{closed}')", NOTHING),
    "_duration_bucket": ("signalbox._duration_bucket(5)", 1),
    "_evaluate": (
        "signalbox._evaluate(g.counter_id) from signalbox.admission_counter g where g.queue_id = %(queue_id)s",
        NOTHING,
    ),
    "_forget_keys": ("signalbox._forget_keys(%(queue_id)s)", NOTHING),
    "_holds_groups": ("signalbox._holds_groups(%(queue_id)s)", False),
    "_free_in_flight": ("signalbox._free_in_flight(%(queue_id)s)", 1000),
    "_create_admission_counters": ("signalbox._create_admission_counters()", Refusal("0A000")),
    "_set_admission_flags": ("signalbox._set_admission_flags()", Refusal("0A000")),
    "_set_stream_flags": ("signalbox._set_stream_flags()", Refusal("0A000")),
    "_admit_append": ("signalbox._admit_append(1, 0::smallint, 1)", NOTHING),
    "_reserve_rate": ("(signalbox._reserve_rate(1, 1)).allowed", None),
    "once": ("signalbox.once(1, 'h')", True),
    "_apply_tenant_quotas": ("signalbox._apply_tenant_quotas()", Refusal("0A000")),
    "_held_key": ("signalbox._held_key(%(queue_id)s, 'key', '1', null, 0, null)", None),
    "_hold_key": ("signalbox._hold_key(%(queue_id)s, 'key', %(message_id)s, '1', null, 0, null)", NOTHING),
    "_is_marked": ("signalbox._is_marked(gen_random_uuid())", False),
    "_limits": (
        "(signalbox._limits(g)).weighed from signalbox.admission_counter g where g.queue_id = %(queue_id)s",
        False,
    ),
    "_limits_sending": ("signalbox._limits_sending(0, 0, 0, 0.5)", True),
    "_long_poll_key": ("signalbox._long_poll_key(1) = signalbox._long_poll_key(2)", False),
    "_marked_nonce": ("signalbox._is_marked(signalbox._marked_nonce(gen_random_uuid()))", True),
    "_now_ns": ("signalbox._now_ns()", NUMBER),
    "_ensure_tenant_refusals": ("signalbox._ensure_tenant_refusals(1, '{queues}')", NOTHING),
    "_admit_stream_bytes": ("signalbox._admit_stream_bytes(1, 1000)", NOTHING),
    "_stream_bytes_of": ("signalbox._stream_bytes_of(-1)", 0),
    "_ensure_stream_bytes_counter": ("signalbox._ensure_stream_bytes_counter(1)", NOTHING),
    "_check_stream_count": ("signalbox._check_stream_count(t) from signalbox.tenant t limit 1", Refusal("SB429")),
    "_refuse_tenant": (
        "signalbox._refuse_tenant(t, 'queues', 'max_queues', 1, 2, null) from signalbox.tenant t limit 1",
        Refusal("SB429"),
    ),
    "_refuse_other_body": ("signalbox._refuse_other_body('key', 1)", Refusal("SB409")),
    "_refuse_quota": ("signalbox._refuse_quota('queue', 'queue', 'rate', 'limit', 1, 2, 3)", Refusal("SB429")),
    "_read_counter": (
        "signalbox._read_counter(g.admitted) from signalbox.admission_counter g where g.queue_id = %(queue_id)s",
        0,
    ),
    "_release_keys": ("signalbox._release_keys(array[%(message_id)s::bigint])", NOTHING),
    "_release_keys_of": ("signalbox._release_keys_of(%(queue_id)s, array[%(message_id)s::bigint])", NOTHING),
    "_retake_keys": ("signalbox._retake_keys(array[%(dead)s::bigint], null) = array[%(dead)s::bigint]", True),
    "_stored_bytes": ("signalbox._stored_bytes(array[sha256('claimed'), null])", 300000),
    "_reserve": (
        (
            "(signalbox._reserve(g.counter_id, 1, 1)).reason from signalbox.admission_counter g"
            " where g.queue_id = %(queue_id)s"
        ),
        None,
    ),
    "_enter_lane": ("signalbox._enter_lane(%(queue_id)s, 'lane', 0::smallint, 0::smallint, 888888888888)", NOTHING),
    "_fifo_turn": ("signalbox._fifo_turn(1, 'a') = signalbox._fifo_turn(1, 'b')", False),
    "_keep_state": ("signalbox._keep_state(%(queue_id)s, %(message_id)s, '{}')", NOTHING),
    "_kept_bodies": ("(signalbox._kept_bodies(%(queue_id)s, '{0}')).payload", Refusal("XX001")),
    "_first_ended": ("signalbox._first_ended(9000000000000, '{3}')", 3),
    "_rebase_counters": ("signalbox._rebase_counters()", NOTHING),
    "_last_aggregation": ("(signalbox._last_aggregation()).aggregation_id", NUMBER),
    "_lane_of": ("signalbox._lane_of('fifo', false, null)", ""),
    "_returns_to_group": ("signalbox._returns_to_group(1, 'a', 0::smallint, 0::smallint, 999999999999)", False),
    "_leave_lanes": ("signalbox._leave_lanes('{999999999999}')", NOTHING),
    "_make_group_claim_floors": ("signalbox._make_group_claim_floors(%(queue_id)s)", NOTHING),
    "_floors_are_kept": ("signalbox._floors_are_kept()", AnyOf(bool)),
    "_note_lane": ("signalbox._note_lane(%(queue_id)s, 'lane', 1, null, 0, 0, 0, '{}')", NOTHING),
    "_distrust_lanes": ("signalbox._distrust_lanes()", NOTHING),
    "_turn_is_free": ("signalbox._turn_is_free(%(queue_id)s, 'a')", True),
    "_hint_lanes": ("signalbox._hint_lanes(%(queue_id)s, true)", 1),
    "forget_lanes": ("signalbox.forget_lanes()", NUMBER),
    "_leads": ("signalbox._leads(%(token)s)", True),
    "_log_of": ("(signalbox._log_of(%(message_id)s)).queue_id = %(queue_id)s", True),
    "_make_dead_letter_queue": ("signalbox._make_dead_letter_queue('of-every-function', 1)", NUMBER),
    "_make_claim_floors": ("signalbox._make_claim_floors(%(queue_id)s)", NOTHING),
    "_point_to_body": (
        "signalbox._point_to_body(%(queue_id)s, %(message_id)s, 'null', sha256('claimed'), 262144)",
        NOTHING,
    ),
    "_copy_masks": ("signalbox._copy_masks('no-such-name', 'another')", 0),
    "_share_lanes": ("signalbox._share_lanes(%(queue_id)s, 10)", 1),
    "_promote_lanes": ("signalbox._promote_lanes(%(queue_id)s, 10)", 1),
    "reschedule": ("signalbox.reschedule(%(queue)s, 0, clock_timestamp())", None),
    "_promote_due": ("signalbox._promote_due(%(queue_id)s, '-infinity', 10)", 1),
    "_receive_dead_letters": ("signalbox._receive_dead_letters(%(dead_queue_id)s, 10)", 1),
    "_refuse": ("signalbox._refuse('field', 'is wrong')", Refusal("SB400")),
    "_refuse_closed": ("signalbox._refuse_closed('queue')", Refusal("SB423")),
    "_refuse_fifo_delay": ("signalbox._refuse_fifo_delay()", Refusal("SB400")),
    "_refuse_full_lane": ("signalbox._refuse_full_lane(%(queue_id)s, 'lane', 1)", Refusal("SB429")),
    "_lock_queues": ("signalbox._lock_queues()", NOTHING),
    "_maintenance_flags": ("signalbox._maintenance_flags('default')", 0),
    "begin_maintenance": ("signalbox.begin_maintenance('ada', 'x', null, true, false)", NOTHING),
    "end_maintenance": ("signalbox.end_maintenance()", False),
    "_refuse_in_maintenance": ("signalbox._refuse_in_maintenance()", Refusal("SB503")),
    "_refuse_isolation": ("signalbox._refuse_isolation('receive')", Refusal("SB425")),
    "_refuse_step": ("signalbox._refuse_step('step', '{a,b}')", Refusal("SB400")),
    "_refuse_too_large": ("signalbox._refuse_too_large(2, 1)", Refusal("SB413")),
    "_refuse_unknown_queue": ("signalbox._refuse_unknown_queue('queue')", Refusal("SB404")),
    "_remember_deduplication": (
        "signalbox._remember_deduplication(%(queue_id)s, 'key', %(message_id)s, '1', null, 0, null)",
        NOTHING,
    ),
    "_request_hash": (
        "signalbox._request_hash('1', null, 0, null) = signalbox._request_hash('2', null, 0, null)",
        False,
    ),
    "_return_expired": ("signalbox._return_expired(%(queue_id)s, '-infinity', 10)", 1),
    "_see_consumer": ("signalbox._see_consumer(%(queue_id)s, 'consumer')", NOTHING),
    "_send_to_lanes": (
        "signalbox._send_to_lanes(%(queue_id)s, 'fifo', array[nextval('signalbox.message_id')], '{1}', null)",
        NOTHING,
    ),
    "_remove": ("signalbox._remove(%(queue_id)s, 'ready', {event.purged_ready}, {outcome.purged}, '{}')", None),
    "_state_of": ("signalbox._state_of(%(message_id)s)", None),
    "_pending_deltas": (
        "(select count(*) from signalbox._pending_deltas(0, 0, '{}') u where u.queue_id = %(queue_id)s)",
        NUMBER,
    ),
    "_use_priority": ("signalbox._use_priority(%(queue_id)s, 5::smallint)", NOTHING),
    "_work_ms": ("signalbox._work_ms(now() + interval '60 days')", 0),
    "ack_returned": ("signalbox.ack_returned(%(handle)s, 1)", False),
    "ack": ("(signalbox.ack(array[%(handle)s])).acked", True),
    "advance_floor": ("signalbox.advance_floor(%(token)s, 1, array[%(queue_id)s])", NUMBER),
    "announce_appends": ("signalbox.announce_appends('{}') ? %(stream_id)s::text", True),
    "announce": ("signalbox.announce(pg_current_snapshot())::text", TEXT),
    "announce_consumer": ("signalbox.announce_consumer(%(queue)s, 'consumer', '{\"pid\": 1}')", NOTHING),
    "backoff_seconds": ("signalbox.backoff_seconds(3, 5, 3600, 0)", 20.0),
    "_begin_long_poll": ("signalbox._begin_long_poll(t, '{}') from signalbox.tenant t where t.tenant_id = 1", None),
    "begin_long_poll_of": ("signalbox.begin_long_poll_of(1, '{}')", None),
    "end_long_poll_of": ("signalbox.end_long_poll_of(1, 1000)", False),
    "receivable_queues": ("signalbox.receivable_queues(array[%(queue)s]) = %(queue)s", True),
    "see_consumers": ("signalbox.see_consumers(array[%(queue)s], array['consumer'])", 1),
    "bind_queue": ("signalbox.bind_queue('exchange', 'topic', 'a.#', %(queue)s)", NOTHING),
    "unbind_queue": ("signalbox.unbind_queue('exchange', 'a', %(queue)s)", False),
    "route": ("(select count(*) from signalbox.route('nowhere', 'key'))", 0),
    "_topic_pattern": ("'.orders.eu.paid' ~ signalbox._topic_pattern('orders.*.#')", True),
    "declare_queue": ("signalbox.declare_queue(%(queue)s, '{\"max_receives\": 77}') = %(queue_id)s", True),
    "open_mailbox": ("signalbox.open_mailbox('mailbox')", NUMBER),
    "keep_mailboxes": ("signalbox.keep_mailboxes('{nobodys}')", "nobodys"),
    "close_mailbox": ("signalbox.close_mailbox('nobodys')", False),
    "expire_mailboxes": ("signalbox.expire_mailboxes()", NUMBER),
    "put_mail": ("signalbox.put_mail('nobodys', '1')", False),
    "take_mail": ("(select count(*) from signalbox.take_mail('{nobodys}'))", 0),
    "report_schedule": ("signalbox.report_schedule('shop', 'host:1', '[]')", NOTHING),
    "store_result": ("signalbox.store_result('result', 'x')", NOTHING),
    "read_results": ("(select count(*) from signalbox.read_results('{nobodys}'))", 0),
    "keep_result": ("signalbox.keep_result('nobodys', 60)", False),
    "delete_results": ("signalbox.delete_results('{nobodys}')", 0),
    "count_part": ("signalbox.count_part('chord', 'part')", 1),
    "expire_results": ("signalbox.expire_results()", NUMBER),
    "_result_end": ("signalbox._result_end(60) > now()", True),
    "_redrivable_here": ("signalbox._redrivable_here(array[%(dead)s::bigint], null) = array[%(dead)s::bigint]", True),
    "_takes_group": ("signalbox._takes_group(%(queue)s, 'standard', null)", False),
    "_trash_elsewhere": ("signalbox._trash_elsewhere('{1}')", []),
    "_is_placed": ("signalbox._is_placed(%(queue)s)", False),
    "_check_placement": ("signalbox._check_placement(%(queue)s, 'standard', null, null, 1)", NOTHING),
    "_refuse_moved": ("signalbox._refuse_moved('q', 'a', 1, 'b', 1, 'settled', 1)", Refusal("SB421")),
    "_next_version": ("signalbox._next_version()", Refusal("SB400")),
    "_note_placement": ("signalbox._note_placement(array[%(queue)s])", NOTHING),
    "_check_placeable": ("signalbox._check_placeable(%(queue)s)", Refusal("SB424")),
    "_fleet_join": ("signalbox._fleet_join('a', 'a')", NOTHING),
    "fleet_add": ("signalbox.fleet_add('a', '')", Refusal("SB400")),
    "fleet_place": ("signalbox.fleet_place(%(queue)s)", Refusal("SB400")),
    "_fleet_plan_move": ("signalbox._fleet_plan_move(%(queue)s, '{1}', 'b', 'ada')", Refusal("SB400")),
    "_fleet_advance": ("signalbox._fleet_advance(0, 'preparing')", Refusal("SB400")),
    "_fleet_revert": ("signalbox._fleet_revert(0, '', true)", Refusal("SB400")),
    "_fleet_waiting_groups": ("signalbox._fleet_waiting_groups(%(queue)s, null, 10)", []),
    "_fleet_emptied_groups": ("signalbox._fleet_emptied_groups(%(queue)s, '{none}')", ["none"]),
    "_fleet_release_groups": ("signalbox._fleet_release_groups(%(queue)s, '{none}')", NOTHING),
    "_fleet_remaining": ("signalbox._fleet_remaining(%(queue)s, '{1}', 10)", 0),
    "_fleet_keys": ("count(*) from signalbox._fleet_keys(%(queue)s, '{1}')", 0),
    "_fleet_take_keys": ("signalbox._fleet_take_keys(%(queue)s, '{}', '{}', '{}', '{}', '{}')", 0),
    "_place": ("signalbox._place(null, 'a', null, 'settled', 1)", NOTHING),
    "_waits_for_source": ("signalbox._waits_for_source(%(queue)s, 'group')", False),
    "_refuse_placed": ("signalbox._refuse_placed('queue', q) from signalbox.queue q where q.name = %(queue)s", NOTHING),
    "_check_movable": ("signalbox._check_movable(q) from signalbox.queue q where q.name = %(queue)s", NOTHING),
    "_fleet_changes": ("signalbox._fleet_changes(0)", None),
    "_fleet_copy": ("signalbox._fleet_copy('{}')", Refusal("SB400")),
    "fleet_map": ("signalbox.fleet_map(%(queue)s)", None),
    "publish": ("signalbox.publish('every_function')", "every_function"),
    "begin_long_poll": ("signalbox.begin_long_poll(%(queue)s)", None),
    "change_visibility": ("signalbox.change_visibility(%(handle)s, 60) > now()", True),
    "change_visibility_batch": ("(signalbox.change_visibility_batch(array[%(handle)s], 60)).deadline > now()", True),
    "claim_body": ("signalbox.claim_body(sha256('new'), 7)", True),
    "clean_up": ("signalbox.clean_up()", NUMBER),
    "clock_time": ("signalbox.clock_time() >= now()", True),
    "configure_queue": ("signalbox.configure_queue(%(queue)s, '{\"max_receives\": 7}') = %(queue_id)s", True),
    "create_queue": ("signalbox.create_queue(%(queue)s) = %(queue_id)s", True),
    "delete_dead_letters": ("signalbox.delete_dead_letters(array[%(dead)s])", 1),
    "depth": ("signalbox.depth('{5,0,2}', 'ready')", 3),
    "drop_body": ("(signalbox.drop_body(0)).dropped", True),
    "drop_history": ("signalbox.drop_history()", ARRAY),
    "drop_kept": ("signalbox.drop_kept()", NUMBER),
    "drop_lost_keys": ("signalbox.drop_lost_keys()", NUMBER),
    "drop_segment": ("signalbox.drop_segment(999999999)", NOTHING),
    "duration_bounds": ("(signalbox.duration_bounds())[14]", 86400.0),
    "empty_deltas": ("signalbox.empty_deltas()", NUMBER),
    "end_long_poll": ("signalbox.end_long_poll(%(queue)s, 1)", False),
    "ensure_floors": ("signalbox.ensure_floors(%(token)s, array[%(queue_id)s])", 5),
    "ensure_partitions": ("signalbox.ensure_partitions()", ARRAY),
    "event_total": ("signalbox.event_total('{5,1,2}', 'published', 'delivered')", 7),
    "expire_messages": ("signalbox.expire_messages()", NUMBER),
    "expired_segments": ("array(select signalbox.expired_segments())", ARRAY),
    "fingerprint": ("signalbox.fingerprint('r', 'E', 'no 7') = signalbox.fingerprint('r', 'E', 'no 8')", True),
    "floor_time": ("isfinite(signalbox.floor_time(null))", False),
    "aggregate_counters": ("signalbox.aggregate_counters()", ARRAY),
    "history_kept": ("signalbox.history_kept() > interval '1 day'", True),
    "hint_lanes": ("signalbox.hint_lanes(%(queue_id)s)", 0),
    "identify_tables": ("signalbox.identify_tables()", ARRAY),
    "_unidentified_tables": ("(select count(*) from signalbox._unidentified_tables())", NUMBER),
    "_identify_table": ("signalbox._identify_table('signalbox.lease')", NOTHING),
    "_identify_partition": ("signalbox._identify_partition('lease', 'queue')", NOTHING),
    "keep_live_bodies": ("signalbox.keep_live_bodies(%(segment)s) >= 3", True),
    "lower_floors": ("signalbox.lower_floors(%(token)s, 0)", True),
    "mark_floor": ("(signalbox.mark_floor(%(token)s)).mark", NUMBER),
    "message_story": ("(signalbox.message_story(%(message_id)s)).deliveries", []),
    "message_outcome": ("(signalbox.message_outcome(%(message_id)s)).status", "pending"),
    "nack": ("signalbox.nack(%(handle)s)", "retry"),
    "capture": ("signalbox.capture('signalbox.queue', 's')", Refusal("SB400")),
    "uncapture": ("signalbox.uncapture('pg_class', 'no-such')", Refusal("SB404")),
    "captures": ("count(*) from signalbox.captures()", NUMBER),
    "backfill_capture": ("signalbox.backfill_capture(0)", 0),
    "_captured_table": ("signalbox._captured_table('no_such')", Refusal("SB400")),
    "_key_columns": ("signalbox._key_columns('signalbox.queue', null)::text", "{queue_id}"),
    "_check_columns": ("signalbox._check_columns('signalbox.queue', '{name}')", NOTHING),
    "_table_signature": ("signalbox._table_signature('signalbox.queue'::regclass)", TEXT),
    "_make_capture_triggers": ("signalbox._make_capture_triggers('signalbox.queue', 0)", NOTHING),
    "_drop_capture_triggers": ("signalbox._drop_capture_triggers('signalbox.queue', 0)", NOTHING),
    "_capture_changes": ("signalbox._capture_changes()", Refusal("0A000")),
    "_row_key": ("signalbox._row_key('{\"a\": 1, \"b\": 2}', '{a}')::text", '{"a": 1}'),
    "_key_text": ("signalbox._key_text('{\"a\": 1}', '{a}')", "1"),
    "_append_changes": ("signalbox._append_changes(0, 'insert', null, null)", Refusal("P0002")),
    "_captured_columns": ("signalbox._captured_columns('{\"a\": 1, \"b\": 2}', '{b}')::text", '{"b": 2}'),
    "_fitting_event": ('signalbox._fitting_event(\'{"op": "insert"}\', 100)::text', '{"op": "insert"}'),
    "_append_to_all_partitions": ("signalbox._append_to_all_partitions(0, 'truncate', null)", Refusal("P0002")),
    "_note_schema_change": ("signalbox._note_schema_change(0)", NOTHING),
    "_next_keys": ("cardinality(signalbox._next_keys('signalbox.queue', '{queue_id}', null, 1))", 1),
    "_lock_rows": ("signalbox._lock_rows('signalbox.queue', '{queue_id}', '{}', true)::text", "{}"),
    "subscribe": ("signalbox.subscribe(%(queue)s, %(queue)s)", Refusal("SB400")),
    "unsubscribe": ("signalbox.unsubscribe(%(queue)s, %(queue)s)", False),
    "pause_subscription": ("signalbox.pause_subscription(%(queue)s, %(queue)s)", Refusal("SB400")),
    "queue_subscriptions": ("count(*) from signalbox.queue_subscriptions()", NUMBER),
    "subscriptions_with_copies": ("count(*) from signalbox.subscriptions_with_copies()", NUMBER),
    "send_held_copies": ("signalbox.send_held_copies(0)", 0),
    "_expire_held_copies": ("signalbox._expire_held_copies(0, 60)", NOTHING),
    "_subscribed_queue": ("(signalbox._subscribed_queue('source', %(queue)s)).queue_id > 0", True),
    "_refuse_circle": (
        "signalbox._refuse_circle(q, q) from signalbox.queue q where q.name = %(queue)s",
        Refusal("SB400"),
    ),
    "_send_to_subscribers": ("signalbox._send_to_subscribers(%(queue_id)s, '{1}')", NOTHING),
    "_send_copies": ("signalbox._send_copies(%(queue)s, array[null::signalbox.held_copy], 0)", Refusal("SB400")),
    "_compile_filter": ("cardinality((signalbox._compile_filter('payload.a:b')).conditions)", 1),
    "_filter_path": ("signalbox._filter_path('payload', '.a', 'b', 'payload.a:b')::text", TEXT),
    "_filter_text": ("signalbox._filter_text('a')::text", '"a"'),
    "_filter_values": ("signalbox._filter_values('group', 'a', 'group:a')", '@ == "a"'),
    "_selects": ("signalbox._selects('{}', '{}', '1', null, null, 0, null)", True),
    "defer": ("signalbox.defer(%(handle)s, 60) > now()", True),
    "_note_deferral": ("signalbox._note_deferral(l, now(), null) from signalbox.lease l limit 1", NOTHING),
    "_counted_receives": ("signalbox._counted_receives(0, 3)", 3),
    "oldest_visible_at": ("signalbox.oldest_visible_at(%(queue_id)s) < clock_timestamp()", True),
    "publish_log_end": ("signalbox.publish_log_end()", NUMBER),
    "long_polls": ("signalbox.long_polls(1)", 0),
    "lane_counts": ("(signalbox.lane_counts(%(queue_id)s, '{lane}')).waiting", 0),
    "recount_lanes": ("(signalbox.recount_lanes(%(queue_id)s)).waiting", 1),
    "_pending_lane_deltas": ("(select count(*) from signalbox._pending_lane_deltas(0, 0, '{}'))", NUMBER),
    "log_warnings": ("signalbox.log_warnings()", NUMBER),
    "schedule_upkeep": ("signalbox.schedule_upkeep()", Refusal("SB400")),
    "unschedule_upkeep": ("signalbox.unschedule_upkeep()", Refusal("SB400")),
    "_require_cron": ("signalbox._require_cron()", Refusal("SB400")),
    "_repair_admission_counters": ("signalbox._repair_admission_counters()", 0),
    "_are_readable": ("signalbox._are_readable(array['signalbox.message_id'::regclass])", True),
    "_counter_sequences": ("signalbox._counter_sequences(null::signalbox.admission_counter)", ARRAY),
    "notice_promotion": ("signalbox.notice_promotion()", None),
    "upkeep_steps": ("signalbox.upkeep_steps()", ARRAY),
    "counter_drift": ("signalbox.counter_drift(%(queue_id)s)", Refusal("SB400")),
    "correct_counters": ("signalbox.correct_counters(%(queue_id)s)", Refusal("SB400")),
    "set_group_policy": ("signalbox.set_group_policy(%(queue)s, 'lane', 1)", Refusal("SB400")),
    "clear_group_policy": ("signalbox.clear_group_policy(%(queue)s, 'lane')", False),
    "_queue_of_group": ("(signalbox._queue_of_group(%(queue)s, 'lane')) is null", False),
    "_apply_group_policy": (
        "signalbox._apply_group_policy(%(queue_id)s, %(queue)s, 'lane', 'group.policy', '{}')",
        NOTHING,
    ),
    "limit_lane": ("signalbox.limit_lane(%(queue)s, 'lane', null)", NOTHING),
    "next_lane": ("signalbox.next_lane(%(queue_id)s)", "lane"),
    "purge": ("signalbox.purge(%(queue)s)", 2),
    "queue_durations": ("(signalbox.queue_durations(array[%(queue_id)s])).queue_id = %(queue_id)s", True),
    "queue_leases": ("(signalbox.queue_leases(array[%(queue_id)s])).expired", NUMBER),
    "queue_numbers": ("(signalbox.queue_numbers(array[%(queue_id)s])).consumers", 0),
    "queue_totals": ("((signalbox.queue_totals(array[%(queue_id)s])).totals)[1]", 4),
    "receive_groups": ("(signalbox.receive_groups(%(queue)s)).message_id = %(message_id)s", True),
    "_receive_behind": ("count(*) from signalbox._receive_behind(%(message_id)s, 1)", 0),
    "receive": ("(signalbox.receive(%(queue)s)).message_id = %(message_id)s", True),
    "record_history": ("signalbox.record_history()", NUMBER),
    "_record_since": ("signalbox._record_since(now(), 10, 0, 9223372036854775807)", NUMBER),
    "_roll_up_history": ("signalbox._roll_up_history(10)", NUMBER),
    "_due_history": ("(select count(*) from signalbox._due_history(10, 60))", NUMBER),
    "_history_steps": ("(select count(*) from signalbox._history_steps())", 3),
    "_unneeded_history": ("array(select name from signalbox._unneeded_history())", ARRAY),
    "_depths_of": ("(select array[d.ready, d.held] from signalbox._depths_of('{2,0,1}') d)", [1, 0]),
    "_totals_of": ("(select array[t.added, t.acked] from signalbox._totals_of('{2,3,1}') t)", [5, 0]),
    "outcome_name": ("signalbox.outcome_name('a')", "acked"),
    "_counts_between": ("signalbox._counts_between('{1,5,7}', '{1,2}', 2)", [3, 7]),
    "_add_counts": ("signalbox._add_counts('{1,5}', '{2,2}')", [3, 7]),
    "_oldest_visible": ("signalbox._oldest_visible(%(queue_id)s) < clock_timestamp()", True),
    "recount": ("(signalbox.recount(%(queue_id)s)).dead", 1),
    "redrive": ("(signalbox.redrive(array[%(dead)s::bigint])).queue_id = %(queue_id)s", True),
    "_redrive": (
        "(signalbox._redrive(array[%(dead)s::bigint], null, null, null, null)).queue_id = %(queue_id)s",
        True,
    ),
    "_leave_log": ("signalbox._leave_log(array[%(dead)s::bigint], null, null)", NOTHING),
    "settle_redriven": ("(signalbox.settle_redriven(-1)).looked", 0),
    "resign_lead": ("signalbox.resign_lead(%(token)s)", True),
    "release_lanes": ("signalbox.release_lanes() > 0", True),
    "return_and_promote": ("signalbox.return_and_promote(array[%(queue_id)s])", 2),
    "send": ("signalbox.send(%(queue)s, '1') > %(message_id)s", True),
    "delete_queue": ("signalbox.delete_queue(%(queue)s)", Refusal("SB424")),
    "open_transactions": ("signalbox.open_transactions()", ARRAY),
    "_refuse_in_use": ("signalbox._refuse_in_use('q', 'has messages', '{}')", Refusal("SB424")),
    "_refuse_queue_in_use": (
        "signalbox._refuse_queue_in_use(q) from signalbox.queue q where q.name = %(queue)s",
        Refusal("SB424"),
    ),
    "delete_stream": ("signalbox.delete_stream('no-such')", Refusal("SB404")),
    "rename_stream": ("signalbox.rename_stream('no-such', 'other')", Refusal("SB404")),
    "_refuse_stream_in_use": ("signalbox._refuse_stream_in_use(0)", NOTHING),
    "_enter_capture": (
        "signalbox._enter_capture('signalbox.queue', 'no-such', null, null, '', true)",
        Refusal("SB404"),
    ),
    "capture_from_log": ("signalbox.capture_from_log('no-such', 's')", Refusal("SB400")),
    "open_capture_slot": ("signalbox.open_capture_slot(0)", False),
    "log_captures": ("(select count(*) from signalbox.log_captures())", NUMBER),
    "append_log_changes": ("signalbox.append_log_changes(0, '[]', '0/0')", Refusal("P0002")),
    "_drop_capture_slot": ("signalbox._drop_capture_slot('no_such')", NOTHING),
    "end_capture": ("signalbox.end_capture(0)", False),
    "send_limited": ("signalbox.send_limited(%(queue)s, '1', max_receives => 1) > %(message_id)s", True),
    "send_counted": ("(signalbox.send_counted(%(queue)s, '1')).group_waiting", None),
    "_send_message": (
        "signalbox._send_message(%(queue)s, '1', null, 0, null, null, null, null, null, true) > %(message_id)s",
        True,
    ),
    "send_binary": ("signalbox.send_binary(%(queue)s, 'bytes') > %(message_id)s", True),
    "_binary_payload": ("signalbox._binary_payload(decode(repeat('ff', 60), 'hex')) #>> '{}'", "/" * 80),
    "_binary_attributes": ("signalbox._binary_attributes('a/b', null)", {"binary_content_type": "a/b"}),
    "_check_binary": ("signalbox._check_binary('1', '{\"binary_content_type\": \"a/b\"}', false)", Refusal("SB400")),
    "payload_bytes": ('signalbox.payload_bytes(\'"QUJD"\', \'{"binary_content_type": "a/b"}\')', b"ABC"),
    "append_binary": ("(signalbox.append_binary(%(stream)s, 'bytes')).position > 0", True),
    "send_each_limited": (
        "(select count(*) from signalbox.send_each_limited(%(queue)s, array['1']::jsonb[], max_receives => array[1]))",
        1,
    ),
    "send_batch_limited": ("(select count(*) from signalbox.send_batch_limited(%(queue)s, array['1']::jsonb[]))", 1),
    "_send_with_options": (
        "cardinality(signalbox._send_with_options(%(queue_id)s, '{1,2}', null, '{0,3}', null, null))",
        2,
    ),
    "_check_limits": ("signalbox._check_limits(%(queue)s, null, 0, null, '[1]')", Refusal("SB400")),
    "_limit_messages": ("signalbox._limit_messages(%(queue)s, '{}', null, null, 0)", NOTHING),
    "_expire_claimed": ("signalbox._expire_claimed(%(queue_id)s, '{}', gen_random_uuid(), now())", NOTHING),
    "_look_at_limits": ("signalbox._look_at_limits(%(queue_id)s, 10)", 0),
    "send_each": ("(select count(*) from signalbox.send_each(%(queue)s, array['1', '2']::jsonb[]))", 2),
    "_lock_batch": ("signalbox._lock_batch(%(queue)s, null, array['d'], 1)", NOTHING),
    "nack_batch": ("(signalbox.nack_batch(array[%(handle)s])).outcome", "retry"),
    "send_batch": ("(select count(*) from signalbox.send_batch(%(queue)s, array['1', '2']::jsonb[]))", 2),
    "summarize_history": ("signalbox.summarize_history()", NUMBER),
    "sweep_floors": ("signalbox.sweep_floors(%(token)s)", NUMBER),
    "take_lead": ("signalbox.take_lead(%(token)s)", "leading"),
    "ticket_writers": ("signalbox.ticket_writers()", ARRAY),
    "upkeep": ("signalbox.upkeep('drop_kept')", TEXT),
    "estimate_sizes": ("signalbox.estimate_sizes()", NUMBER),
    "erase_messages": (
        "(signalbox.erase_messages(1, array[%(message_id)s::bigint], live => 'redact')).became",
        "erased",
    ),
    "_erase_everywhere": ("signalbox._erase_everywhere(1, array[%(message_id)s::bigint], '{}')", NOTHING),
    "_purge_messages": (
        "signalbox._purge_messages(array[%(message_id)s::bigint]) = array[%(message_id)s::bigint]",
        True,
    ),
    "erase_stream_messages": (
        "signalbox.erase_stream_messages(1, %(stream_id)s, array[%(partition)s]::smallint[], '{1}')",
        1,
    ),
    "erase_causes": ("signalbox.erase_causes(1, '{}', '{}')", 0),
    "erase_body": ("signalbox.erase_body(1, sha256('claimed'))", True),
    "_normal_error": ("signalbox._normal_error('no 7 of `x`')", "no * of *"),
    "_top_frame": ("signalbox._top_frame('File \"/app/a.py\", line 1, in f')", "f (a.py)"),
    "_file_name": ("signalbox._file_name('/app/a.py')", "a.py"),
    "_python_frame": ("signalbox._python_frame('File \"/app/a.py\", line 1, in f')", "f (a.py)"),
    "_called_at": ("signalbox._called_at('  at com.acme.A.f(A.java:1)')", "com.acme.A.f (A.java)"),
    "_go_frame": (r"signalbox._go_frame(E'main.f()\n\t/app/a.go:1')", "main.f (a.go)"),
    "_ruby_frame": ("signalbox._ruby_frame('/app/a.rb:1:in ''f''')", "f (a.rb)"),
    "_same_cause": ("signalbox._same_cause('v2:a', 'v2:b')", False),
    "_is_put_back": ("signalbox._is_put_back(%(message_id)s, 1)", False),
    "_sign": ("signalbox._sign('a') <> signalbox._sign('b')", True),
    "_as_list": ("signalbox._as_list('f', '[0:1]={1,2}'::int[])", [1, 2]),
    "_commit_durably": ("signalbox._commit_durably()", NOTHING),
    "_refuse_older_snapshot": ("signalbox._refuse_older_snapshot('ack')", NOTHING),
    "_died_before": ("signalbox._died_before(%(message_id)s, 'v2:', now())", False),
    "_died_of": ("signalbox._died_of(%(message_id)s, now())", None),
    "_count_deaths": ("signalbox._count_deaths()", Refusal("0A000")),
    "_count_departures": ("signalbox._count_departures()", Refusal("0A000")),
    "aggregate_failure_groups": ("signalbox.aggregate_failure_groups()", NUMBER),
    "pending_failure_groups": ("(select count(*) > 0 from signalbox.pending_failure_groups() u)", True),
    "_pending_failure_groups": ("(select count(*) from signalbox._pending_failure_groups(0, '{}'))", NUMBER),
    "_last_failure_group_aggregation": ("(signalbox._last_failure_group_aggregation()).xmax", NUMBER),
    "_recount_failure_groups": ("signalbox._recount_failure_groups()", NOTHING),
    "forget_failure_groups": ("signalbox.forget_failure_groups()", NUMBER),
    "empty_failure_group_deltas": ("signalbox.empty_failure_group_deltas()", NUMBER),
    "create_stream": ("signalbox.create_stream('of-every-function', '{\"partitions\": 1}') > 0", True),
    "_stream_defaults": ("(signalbox._stream_defaults() ->> 'partitions')::int", 4),
    "_check_stream_settings": ("signalbox._check_stream_settings('{}')::text", "{}"),
    "_check_stream_name": ("signalbox._check_stream_name('name', 'not a name')", Refusal("SB400")),
    "_compare_stream": (
        "signalbox._compare_stream(%(stream_id)s, '{}', null)",
        NOTHING,
    ),
    "_equip_stream": (
        "signalbox._equip_stream(%(stream_id)s, 1)",
        Refusal("SB400"),
    ),
    "configure_stream": ("signalbox.configure_stream(%(stream)s, '{\"closed\": true}') > 0", True),
    "_stream_of": ("to_jsonb(signalbox._stream_of(%(stream)s)) is null", False),
    "_group_of": ("to_jsonb(signalbox._group_of(%(stream_id)s, 'g')) is null", False),
    "_refuse_unknown_stream": ("signalbox._refuse_unknown_stream('stream')", Refusal("SB404")),
    "_enter_partition": (
        "signalbox._enter_partition(s.stream_id, 0, s.positions[1]) from signalbox.stream s where s.name = %(stream)s",
        NOTHING,
    ),
    "_partition_class": ("signalbox._partition_class(2, 1)", -130),
    "_partition_of": ("signalbox._partition_of('customer-7', 4)", 2),
    "_horizons": (
        "signalbox._horizons(s.stream_id, s.positions) from signalbox.stream s where s.name = %(stream)s",
        [0, 0],
    ),
    "append": ("(signalbox.append(%(stream)s, '1', key => 'customer-7')).position", 2),
    "_check_append": (
        "signalbox._check_append('stream', false, 100, null, null, null, null)",
        Refusal("SB400"),
    ),
    "append_batch": ("(select count(*) from signalbox.append_batch(%(stream)s, array['1', '2']::jsonb[]))", 2),
    "append_deduplicated": ("(signalbox.append_deduplicated(%(stream)s, '1', 'id')).partition in (0, 1)", True),
    "append_batch_deduplicated": (
        "(select count(*) from signalbox.append_batch_deduplicated(%(stream)s, array['1', '1']::jsonb[], '{id,id}'))",
        2,
    ),
    "_append_batch_deduplicated": (
        (
            "(select count(*) from signalbox._append_batch_deduplicated("
            "%(stream)s, array['1', '1']::jsonb[], '{id,id}', null, null, null, null))"
        ),
        2,
    ),
    "append_batch_large": (
        (
            "(select count(*) from signalbox.append_batch_large("
            "%(stream)s, array['null', '1']::jsonb[], array[sha256('claimed'), null]))"
        ),
        2,
    ),
    "_check_stream_bodies": (
        "signalbox._check_stream_bodies(array['null']::jsonb[], array[sha256('claimed')], 262144)",
        300_000,
    ),
    "_hold_bodies": ("signalbox._hold_bodies(array[sha256('claimed'), sha256('unknown')])", False),
    "_stream_body": ("signalbox._stream_body(%(stream_id)s, 0::smallint, 1)", None),
    "_release_stream_bodies": ("signalbox._release_stream_bodies(%(stream_id)s, '{0}', '{1}')", []),
    "_check_append_ids": ("signalbox._check_append_ids(%(stream_id)s, '{\"\"}')", Refusal("SB400")),
    "_first_append": ("(signalbox._first_append(%(stream_id)s, 'none', '')).position is null", True),
    "preview_partitions": ("(signalbox.preview_partitions(%(stream)s, 4)).moved_keys", 0.5),
    "_refuse_fewer_partitions": ("signalbox._refuse_fewer_partitions(3, 2)", Refusal("SB400")),
    "_add_partitions": ("signalbox._add_partitions(%(stream_id)s, 3)", NOTHING),
    "_make_positions": ("cardinality(signalbox._make_positions(%(stream_id)s, 40, 41))", 2),
    "ensure_stream_segments": ("signalbox.ensure_stream_segments()", ARRAY),
    "_ensure_stream_segments": ("signalbox._ensure_stream_segments(%(stream_id)s)", ARRAY),
    "_segment_length": ("signalbox._segment_length(28800) = interval '1 hour'", True),
    "create_group": ("signalbox.create_group(%(stream)s, 'late', 'end') > 0", True),
    "_check_point": ("signalbox._check_point('time', null, '{time}')", Refusal("SB400")),
    "_position_at": (
        "signalbox._position_at(%(stream_id)s, 0, 'time', now() - interval '1 day')",
        0,
    ),
    "_first_behind": ("(signalbox._first_behind(%(stream_id)s, %(partition)s, 0, 9)).position", 1),
    "drop_group": ("signalbox.drop_group(%(stream)s, 'g')", True),
    "set_group_filter": ("signalbox.set_group_filter(%(stream)s, 'g', 'payload.n:1')", True),
    "configure_group": ("(signalbox.configure_group(%(stream)s, 'g', '{\"filter\": \"payload.n:1\"}')).skipped", 1),
    "_check_group_settings": (
        "signalbox._check_group_settings(null, '{\"paused\": true}')",
        Refusal("SB400"),
    ),
    "_preview_filter": (
        (
            "(signalbox._preview_filter(s, %(group_id)s, '{}', '{}')).examined from signalbox.stream s"
            " where s.name = %(stream)s"
        ),
        1,
    ),
    "list_groups": ("(select name from signalbox.list_groups(%(stream)s))", "g"),
    "join_group": ("(select count(*) from signalbox.join_group(%(stream)s, 'g', 'm'))", 2),
    "leave_group": ("signalbox.leave_group(%(stream)s, 'g', 'm')", 2),
    "_check_member": ("signalbox._check_member('g', false, null)", Refusal("SB400")),
    "_renew_member": ("signalbox._renew_member(%(group_id)s, 'm', 30)", NOTHING),
    "_balance": ("signalbox._balance(%(group_id)s, 'm', 2)", NOTHING),
    "read_stream": ("(select count(*) from signalbox.read_stream(%(stream)s, 'g', 'm'))", 0),
    "read_stream_with_bodies": ("(select count(*) from signalbox.read_stream_with_bodies(%(stream)s, 'g', 'm'))", 0),
    "_read_group_messages": ("(select count(*) from signalbox._read_group_messages(%(group_id)s, 'm', 10))", 0),
    "_refuse_body": ("signalbox._refuse_body('s', 0, 1)", Refusal("SB400")),
    "_read_partition": (
        "(signalbox._read_partition(%(stream_id)s, %(partition)s, 0, 9, 10, 1)).position",
        1,
    ),
    "browse_stream": ("(signalbox.browse_stream(%(stream)s, %(partition)s)).payload_text", '"appended"'),
    "commit_offset": ("signalbox.commit_offset(%(stream)s, 'g', 'm', %(partition)s, 1, 99)", False),
    "_commit_offset": ("signalbox._commit_offset(%(group_id)s, %(partition)s, 'm', 2, 1)", True),
    "_pass_lost": ("signalbox._pass_lost(%(group_id)s, %(partition)s, 'm', 2, 0, 2)", True),
    "seek": ("(select sum(r.messages) from signalbox.seek(%(stream)s, 'g', 'beginning') r)::int", 0),
    "group_partitions": ("(select sum(p.lag) from signalbox.group_partitions(array[%(group_id)s]) p)::int", 1),
    "group_numbers": ("(signalbox.group_numbers(array[%(group_id)s])).members", 1),
    "feed_queues": ("signalbox.feed_queues()", NUMBER),
    "subscriptions_to_feed": ("(select count(*) from signalbox.subscriptions_to_feed())", NUMBER),
    "feed_queue": ("signalbox.feed_queue(%(group_id)s)", 0),
    "_feed_share": ("signalbox._feed_share(%(group_id)s, 1)", 0),
    "_take_turns": ("signalbox._take_turns(%(queue_id)s, array['g', null])", []),
    "expired_stream_segments": ("(select count(*) from signalbox.expired_stream_segments())", NUMBER),
    "leave_stream_segment": ("signalbox.leave_stream_segment(%(stream_id)s, now())", NOTHING),
    "_positions_after": (
        "(select signalbox._positions_after(s, '-infinity') from signalbox.stream s where s.name = %(stream)s)",
        1,
    ),
    "_segment_bytes": ("signalbox._segment_bytes('no-such')", 0),
    "drop_stream_segment": ("signalbox.drop_stream_segment(%(stream_id)s, now())", NOTHING),
    "record_group_history": ("signalbox.record_group_history()", NUMBER),
    "_group_history_steps": ("(select count(*) from signalbox._group_history_steps())", 3),
    "compact_streams": ("signalbox.compact_streams()", NUMBER),
    "_compactable": ("signalbox._compactable(null::signalbox.stream)", ARRAY),
    "_compact_partition": ("signalbox._compact_partition(0, 0, 1, 1, now())", Refusal("42P01")),
    "_drop_tombstones": ("signalbox._drop_tombstones(0, '{}', 1, now())", Refusal("42P01")),
    "_compaction_needs_segment": (
        "signalbox._compaction_needs_segment((0, now(), now(), 'no_such_table', false)::signalbox.stream_segment)",
        False,
    ),
    "clean_streams": ("signalbox.clean_streams()", NUMBER),
}
"""A call of every function, as an expression, and its answer in the scene below."""


@pytest.fixture(scope="module")
def stage(dsn: str) -> Iterator[tuple[Engine, dict[str, Any]]]:
    """A queue with one message each ready, due, dead, in a lane, and with a lease that has run out; a stream.

    Only the queue is committed.
    """
    with psycopg.connect(dsn, autocommit=True) as connection:
        session = make_queue(connection)
        connection.execute("begin")
        names = set_up(session)
        streamed(session, f"{session.queue}-standing")  # for functions that go through all streams
        yield session, names
        connection.execute("rollback")


@contextmanager
def scene(stage: tuple[Engine, dict[str, Any]], call: str) -> Iterator[tuple[psycopg.Connection[Any], dict[str, Any]]]:
    """The stage, the lead, and a stream if the call names one; what it changes is rolled back before the next call.

    Both are made for each call: a stream's positions are sequences, which no rollback moves back, and the lead expires.
    """
    session, names = stage
    session.connection.execute("savepoint as_set_up")
    session.connection.execute("update signalbox.upkeep_leader set expires_at = '-infinity'")
    session.value("select signalbox.take_lead(%s)", names["token"])
    stream = streamed(session, f"{session.queue}-stream") if any(f"%({one})s" in call for one in OF_STREAM) else {}
    session.connection.execute("set constraints all immediate; set constraints all deferred")  # chains its audit rows
    try:
        yield session.connection, names | stream
    finally:
        session.connection.execute("rollback to savepoint as_set_up; release savepoint as_set_up")


def make_queue(connection: psycopg.Connection[Any]) -> Engine:
    name = f"every-function-{uuid.uuid4().hex[:8]}"
    row = connection.execute("select signalbox.create_queue(%s)", [name]).fetchone()
    assert row is not None
    return Engine(connection, name, row[0])


def set_up(session: Engine) -> dict[str, Any]:
    """Make what the calls need; return the names by which they refer to it."""
    names: dict[str, Any] = {"queue": session.queue, "queue_id": session.queue_id, "dead": session.die("dead")}
    names["all_dead"] = [names["dead"]]
    names["trash_batch"] = session.value("select signalbox.open_trash_batch(3600)")
    session.value(
        "select signalbox.delete_dead_letters(array[%s::bigint], %s)", session.die("trashed"), names["trash_batch"]
    )
    names["dead_queue_id"] = session.value(
        "select queue_id from signalbox.queue where name = %s", f"{session.queue}-dlq"
    )
    session.send("leased")
    names["handle"] = session.receive_one(visibility_timeout=0)[1]
    session.send("due", delay_seconds=0.000001)
    names["message_id"] = session.send("ready")
    names["segment"] = (names["message_id"] - 1) // 1_000_000
    names["token"] = uuid.uuid4()
    session.value("select signalbox._make_group_claim_floors(%s)", names["queue_id"])
    session.value("select signalbox._enter_lane(%s, 'lane', 0::smallint, 0::smallint, 999999999999)", names["queue_id"])
    session.value("select signalbox._ensure_admission_counter(%s, null)", names["queue_id"])
    session.value("select signalbox.claim_body(sha256('claimed'), 300000)")
    session.value("select signalbox._keep_alias(%s, %s, 60)", f"{session.queue}-of-old", session.queue_id)
    session.connection.execute("create table signalbox.message_999999999 (like signalbox.message)")
    return names


OF_STREAM = ("stream", "stream_id", "group_id", "partition")


def streamed(session: Engine, name: str) -> dict[str, Any]:
    """A stream of two partitions with one message, and a group whose only member has both."""
    stream_id = session.value("select signalbox.create_stream(%s, '{\"partitions\": 2}')", name)
    group_id = session.value("select signalbox.create_group(%s, 'g', 'beginning')", name)
    partition = session.value("select partition from signalbox.append(%s, '\"appended\"', key => 'customer-7')", name)
    session.rows("select * from signalbox.join_group(%s, 'g', 'm')", name)
    return dict(zip(OF_STREAM, (name, stream_id, group_id, partition), strict=True))


def test_every_function_has_a_call_of_its_own(engine: Engine) -> None:
    rows = engine.rows("select distinct proname from pg_proc where pronamespace = 'signalbox'::regnamespace")

    assert {row[0] for row in rows} == set(CALLS)


@pytest.mark.parametrize("function", CALLS)
def test_the_function_runs(stage: tuple[Engine, dict[str, Any]], function: str) -> None:
    call, expected = CALLS[function]
    assert f"signalbox.{function}(" in call
    with scene(stage, call) as (session, names):
        if isinstance(expected, Refusal):
            with pytest.raises(psycopg.Error) as caught:
                session.execute(rendered(f"select {call}").encode(), names)
            assert caught.value.sqlstate == expected.sqlstate
            return
        row = session.execute(rendered(f"select {call}").encode(), names).fetchone()
    assert row is not None
    if isinstance(expected, AnyOf):
        assert isinstance(row[0], expected.kind)
    elif expected is NOTHING:
        assert row[0] in NOTHING
    else:
        assert row[0] == expected

"""The rights of database roles: exactly those that the verbs of a role's kind need, and no others on the schema.

The lists here are complete: `statements` revokes every other right on the schema's tables and sequences, so a table
of a later release is refused until it is listed. A test logs in as each kind, calls each of its verbs, and tries every
other table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from queues.database.query import query_text
from queues.errors import InvalidArgument
from queues.settings import SETTINGS

READ = "select"
ADD = "select, insert"
ADD_AND_REMOVE = "select, insert, delete"
ALL = "select, insert, update, delete"
DRAW = "usage, select"
COUNT = "usage, select, update"

_MADE = "queue_id, name, tenant_id, is_dead_letter_queue, retention_seconds"
_SETTINGS = ", ".join(SETTINGS)
_STREAM_SETTINGS = (
    "retention_seconds, retention_bytes, retention_messages, compaction,"
    " dedup_window_seconds, max_payload_bytes, closed, alert_group_lag_seconds"
)
_GROUP_SETTINGS = "filter, conditions, negated, queue_window, delay_seconds, paused"

#: Table -> privileges that sending, receiving, settling, purging and configuring queues need.
MESSAGES: Mapping[str, str] = {
    "body_pointer": ADD,
    "cluster_delta": "insert",
    "failure_group_member": READ,
    "consumer": "select, insert, update",
    "counter_delta": ADD,
    "counter_event": READ,
    "dead_letter": ALL,
    "dedup": ADD_AND_REMOVE,
    "dedup_in_flight": ALL,
    "deferral": ADD,
    "failure": ADD,
    "aggregation": READ,
    "former_dead_letter_queue": READ,
    "fleet_cell": READ,
    "fleet_directory": READ,
    "fleet_placement": READ,
    "fleet_released": READ,
    "fleet_queue": READ,
    "admission_counter": READ,
    "claim_floor": ADD,
    "inbox": ADD,
    "lane_floor": ADD_AND_REMOVE,
    "lane_hint": ALL,
    "lane_limit": ALL,
    "lane_slot": f"{ADD_AND_REMOVE}, update (place)",
    "large_body": ALL,
    "held_copy": ADD,
    "lease": ALL,
    "live_message": READ,
    "maintenance": READ,
    "message": "select, insert, update (body_sha256, body_bytes, expires_at)",
    "message_kept": READ,
    "message_limit": ALL,
    "message_state": ALL,
    "message_status": READ,
    "queue": f"select, insert ({_MADE}), update ({_SETTINGS}, is_dead_letter_queue)",
    "queue_alias": READ,
    "queue_stat": READ,
    "queue_subscription": ALL,
    "ready": ALL,
    "redriven": ADD,
    "refusal": READ,
    "trash_batch": "select, insert, update",
    "scheduled": ALL,
    "secret": READ,
    "setting_definition": READ,
    "settled": ADD,
    "tenant": "select, insert (name)",
    "tenant_refusal": READ,
    "trash": ADD,
    "waiting": ALL,
}
MESSAGE_SEQUENCES: Mapping[str, str] = {
    "clock": READ,
    "dead_letter_id": DRAW,
    "failure_id": DRAW,
    "lane_epoch": DRAW,
    "lane_noted": DRAW,
    "log_end": READ,
    "message_id": DRAW,
    "place": DRAW,
    "place_horizon": READ,
    "queue_queue_id_seq": DRAW,
    "redriven_id": DRAW,
    "register_grants": COUNT,
}
STREAMS: Mapping[str, str] = {
    "consumer_group": f"select, insert, delete, update ({_GROUP_SETTINGS})",
    "group_member": ALL,
    "group_offset": ADD,
    "group_partition": "select, insert, update",
    "staged_write": ALL,
    "stream": f"select, insert, update ({_STREAM_SETTINGS})",
    "stream_bytes_counter": READ,
    "stream_dedup": ADD,
    "stream_message": ADD,
    "stream_partition": READ,
    "stream_segment": READ,
    "write_ledger": "select, insert, update",
}
MAILBOXES: Mapping[str, str] = {
    "beat_schedule": ALL,
    "binding": ADD_AND_REMOVE,
    "mail": ALL,
    "mailbox": ALL,
    "celery_result": ALL,
    "celery_part": ADD,
}
ARCHIVE: Mapping[str, str] = {
    "_known_queue": READ,
    "dead_letter": READ,
    "failure": READ,
    "message": READ,
    "message_kept": READ,
    "redriven": READ,
    "rewritten": READ,
    "settled": READ,
    "stream": READ,
    "stream_message": READ,
    "tenant": "select (tenant_id, name)",
}

#: Sequences and tables of one queue, tenant or stream; those made later get the same (sql/queues/_copy_grants.sql).
MESSAGE_REGISTERS: Mapping[str, str] = {
    r"(admission_[qt]|refused_|tenant_refused_)\d+_\w+": COUNT,
    r"floor_\d+_t?\d+": READ,
    r"alias_used_\d+_\d+": "select, update",
}
STREAM_REGISTERS: Mapping[str, str] = {
    r"stream_((turn|repeats)_\d+|position_\d+_\d+)": DRAW,
    r"stream_message_\d+": ADD,
}

MESSAGE_FUNCTIONS = (
    "_record_audit(text, text, integer, text, text, jsonb)",
    "_was_just_made(integer, jsonb)",
    "_make_default_dead_letter_queue(integer, integer)",
    "_make_segment(bigint)",
    "_trash_batch_of_purge(text, text[], double precision)",
    "_note_purge(bigint, text, text[], bigint, bigint)",
)
STREAM_FUNCTIONS = (
    "_ensure_stream_segments(integer)",
    "_equip_stream(integer, integer)",
    "_add_partitions(integer, integer)",
)


@dataclass(frozen=True)
class Kind:
    """The rights of roles of one kind. `registers` are sequences and tables whose names match a pattern."""

    tables: Mapping[str, str]
    sequences: Mapping[str, str]
    registers: Mapping[str, str]
    functions: Sequence[str]


KINDS: Mapping[str, Kind] = {
    "application": Kind(
        {**MESSAGES, **STREAMS},
        {**MESSAGE_SEQUENCES, "group_offset_id": DRAW},
        {**MESSAGE_REGISTERS, **STREAM_REGISTERS},
        (*MESSAGE_FUNCTIONS, *STREAM_FUNCTIONS),
    ),
    "archiver": Kind(ARCHIVE, {}, {}, ()),
    "broker": Kind({**MESSAGES, **MAILBOXES}, MESSAGE_SEQUENCES, MESSAGE_REGISTERS, MESSAGE_FUNCTIONS),
}


def statements(connection: psycopg.Connection[Any], roles: Mapping[str, Iterable[str]]) -> list[str]:
    """Write the SQL that gives these roles the rights of their kinds, and revokes every other right on the schema.

    Raises `InvalidArgument` for a role that does not exist, or that no grant can limit.
    """
    written = []
    for role, kinds in roles.items():
        _check(connection, role)
        written += _of_role(connection, role, [KINDS[kind] for kind in kinds])
    return written


def write(connection: psycopg.Connection[Any], roles: Mapping[str, Iterable[str]]) -> list[str]:
    """Execute the statements in one transaction, so that no verb of a role fails between two of them."""
    with connection.transaction():
        written = statements(connection, roles)
        for statement in written:
            connection.execute(statement.encode())
    return written


def _check(connection: psycopg.Connection[Any], role: str) -> None:
    row = connection.execute(_ROLE, [role]).fetchone()
    if row is None:
        raise InvalidArgument(f"role {role} does not exist: make it with `create role {role} login`", "role")
    if row[0]:
        message = f"role {role} is a superuser, or a member of the role that owns the schema: name another role"
        raise InvalidArgument(message, "role")
    if row[1]:
        message = f"role {role} is a member of {', '.join(row[1])}, which no grant can limit: revoke that first"
        raise InvalidArgument(message, "role")


def _of_role(connection: psycopg.Connection[Any], role: str, kinds: Sequence[Kind]) -> list[str]:
    name = sql.Identifier(role).as_string(connection)
    made = connection.execute(_OBJECTS).fetchall()
    written = [template.format(role=name) for template in _REVOKE_ALL]
    for table in sorted({table for kind in kinds for table in kind.tables}):
        rights = _merged_privileges(kind.tables[table] for kind in kinds if table in kind.tables)
        written.append(f"grant {rights} on table signalbox.{table} to {name}")
    for sequence in sorted({sequence for kind in kinds for sequence in kind.sequences}):
        rights = _merged_privileges(kind.sequences[sequence] for kind in kinds if sequence in kind.sequences)
        written.append(f"grant {rights} on sequence signalbox.{sequence} to {name}")
    registers = {pattern: rights for kind in kinds for pattern, rights in kind.registers.items()}
    for relation, is_sequence in made:
        for pattern, rights in registers.items():
            if re.fullmatch(pattern, relation):
                noun = "sequence" if is_sequence else "table"
                written.append(f"grant {rights} on {noun} signalbox.{relation} to {name}")
    functions = sorted({function for kind in kinds for function in kind.functions})
    return written + [f"grant execute on function signalbox.{function} to {name}" for function in functions]


def _merged_privileges(rights: Iterable[str]) -> str:
    """List each privilege once; `update` and `update (columns)` are two privileges."""
    return ", ".join(dict.fromkeys(re.findall(r"\w+(?: \([^)]*\))?", ", ".join(rights))))


_ROLE = query_text("grants/role")
_OBJECTS = query_text("grants/made_later")
_REVOKE_ALL = (
    "revoke all on all tables in schema signalbox from {role}",
    "revoke all on all sequences in schema signalbox from {role}",
    "revoke all on all routines in schema signalbox from {role}",
    "alter default privileges in schema signalbox revoke all on tables from {role}",
    "alter default privileges in schema signalbox revoke all on sequences from {role}",
    "revoke all on schema signalbox from {role}",
    "grant usage on schema signalbox to {role}",
)

"""What a message carries beside its payload: state from one delivery to the next, a result, a body in object storage.

The log gets two columns and no index: what its rows point to is in `body_pointer`, which only large messages write.
"""

from django.db import migrations

STATE = """
create table signalbox.message_state (
  message_id bigint primary key,
  queue_id integer not null,
  state jsonb not null
);
alter table signalbox.message_state set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table signalbox.dead_letter add column state jsonb;
alter table signalbox.settled add column results jsonb[];
"""

BODIES = """
create table signalbox.large_body (
  sha256 bytea primary key check (octet_length(sha256) = 32),
  bytes bigint not null check (bytes > 0),
  stored_at timestamptz not null default clock_timestamp(),
  last_claimed_at timestamptz not null default clock_timestamp()
);
create table signalbox.body_pointer (
  sha256 bytea not null,
  message_id bigint not null,
  primary key (sha256, message_id)
);
create index body_pointer_message on signalbox.body_pointer (message_id);
alter table signalbox.message add column body_sha256 bytea, add column body_bytes bigint;
alter table signalbox.message_kept add column body_sha256 bytea, add column body_bytes bigint;
alter table signalbox.dead_letter add column body_sha256 bytea, add column body_bytes bigint;
create index message_kept_body on signalbox.message_kept (body_sha256) where body_sha256 is not null;
create index dead_letter_body on signalbox.dead_letter (body_sha256) where body_sha256 is not null;
"""

# Their arguments or results are others now; the scripts make them anew after this migration.
REPLACED = """
drop function if exists signalbox.send(text, jsonb, jsonb, int, double precision, text, text, text);
drop function if exists signalbox.send_batch(text, jsonb[], jsonb[], int[], double precision[], text[], text[], text[]);
drop function if exists signalbox.receive(text, int, double precision, text, boolean);
drop function if exists signalbox.receive(text, int, double precision, text, boolean, text[]);
drop function if exists signalbox.ack(text[]);
drop function if exists signalbox._ack_claims(text[]);
drop function if exists signalbox.nack(text, double precision, text, text, text, text);
drop function if exists signalbox._request_hash(jsonb, jsonb, int, text);
drop function if exists signalbox._deduplicate(integer, text, jsonb, jsonb, int, text);
drop function if exists signalbox._held_key(integer, text, jsonb, jsonb, int, text);
drop function if exists signalbox._hold_key(integer, text, bigint, jsonb, jsonb, int, text);
drop function if exists signalbox._admit_batch(integer, jsonb[]);
drop function if exists signalbox._remember_deduplication(integer, text, bigint, jsonb, jsonb, int, text);
delete from signalbox.sql_script where name in ('send', 'send_batch', 'receive', 'ack', 'nack', '_deduplicate', '_hold_key', '_admit');
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0004_admission")]
    operations = [
        migrations.RunSQL(STATE),
        migrations.RunSQL(BODIES),
        migrations.RunSQL(REPLACED),
    ]

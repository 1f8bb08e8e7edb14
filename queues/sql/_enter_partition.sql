-- Positions without gaps that a reader could fall into. Before its transaction draws its first position of a partition, an
-- appender takes a shared advisory lock whose key says after which position it may still commit: the first half is the
-- partition, the second the low half of the last position drawn so far. Shared, and nobody takes it otherwise: it waits for
-- nothing. It ends with the transaction, after what that wrote can be seen, and survives PREPARE TRANSACTION.
-- The transaction's own setting signalbox.appending remembers what was entered, signed; a rolled back savepoint undoes both.
create or replace function signalbox._enter_partition(p_stream_id integer, p_partition integer, p_positions regclass) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_class integer := signalbox._partition_class(p_stream_id, p_partition);
  v_noted text := current_setting('signalbox.appending', true);
  v_entered text := coalesce(split_part(v_noted, ' ', 2), '');
begin
  if v_entered <> '' then
    if v_noted is distinct from signalbox._sign('appending ' || v_entered) || ' ' || v_entered then
      v_entered := ''; -- not a note of this transaction
    elsif strpos(v_entered, v_class || ';') > 0 then
      return;
    end if;
  end if;
  perform pg_advisory_xact_lock_shared(v_class, coalesce(pg_sequence_last_value(p_positions), 0)::bit(32)::integer);
  v_entered := v_entered || v_class || ';';
  perform set_config('signalbox.appending', signalbox._sign('appending ' || v_entered) || ' ' || v_entered, true);
end $$;

-- Below zero, where no other lock of the engine is.
create or replace function signalbox._partition_class(p_stream_id integer, p_partition integer) returns integer
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select -(p_stream_id * 64 + p_partition + 1)
$$;

-- The horizon of each partition: up to there every position is committed, or rolled back for good. First the last positions
-- drawn, then who may still commit below them, and only a later statement may look at messages: whoever had drawn one of
-- these positions either is seen in pg_locks or has ended, and then a fresh snapshot sees what it wrote.
create or replace function signalbox._horizons(p_stream_id integer, p_positions regclass[]) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last bigint[];
  v_horizons bigint[];
  v_held record;
  v_at integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('reading a stream');
  end if;
  v_last := array(select coalesce(pg_sequence_last_value(p), 0) from unnest(p_positions) with ordinality u(p, place) order by place);
  v_horizons := v_last;
  for v_held in
    select l.classid::bigint - 4294967296 as class, l.objid::bigint as low
    from pg_locks l
    where l.locktype = 'advisory'
      and l.objsubid = 2
      and l.classid::bigint - 4294967296
        between signalbox._partition_class(p_stream_id, 63) and signalbox._partition_class(p_stream_id, 0)
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
  loop
    v_at := -v_held.class - p_stream_id * 64;
    -- As a signed half: one that entered after the last positions were read is ahead of them, and holds nothing back.
    v_horizons[v_at] := least(v_horizons[v_at], v_last[v_at] - (v_last[v_at] - v_held.low)::bit(32)::integer);
  end loop;
  return v_horizons;
end $$;

-- Which partition a key belongs to: the same in every version of PostgreSQL.
create or replace function signalbox._partition_of(p_key text, p_partitions integer) returns integer
language sql immutable
begin atomic
  select ('x' || substr(md5(p_key), 1, 7))::bit(28)::integer % p_partitions;
end;

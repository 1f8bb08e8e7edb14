-- configure_queue(name, settings): change the settings that are named, leave the others; returns the queue's id.
-- Unknown names, wrong types and values out of range are errors that name the setting, and nothing is changed.
-- A dead-letter queue that is named and does not exist is made. `mode` changes only while the queue is closed and empty, and
-- waits a little for transactions that may have found it open. Locks the queue's row, which no other verb waits for.
create or replace function signalbox.configure_queue(name text, settings jsonb) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_settings jsonb := signalbox._check_settings(configure_queue.settings);
  v_queue_id integer;
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = configure_queue.name for no key update;
  if not found then
    perform signalbox._refuse_unknown_queue(configure_queue.name);
  end if;
  return signalbox._configure_queue(v_queue_id, v_settings, false);
end $$;

-- The same, for settings that were checked. A queue that this transaction has made is known to nobody else: it is empty.
create or replace function signalbox._configure_queue(p_queue_id integer, p_settings jsonb, p_is_new boolean) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settings jsonb := p_settings;
  v_queue signalbox.queue;
  v_dead_letter_queue_id integer;
begin
  select * into v_queue from signalbox.queue q where q.queue_id = p_queue_id for no key update;
  if v_settings ->> 'dead_letter_queue' is not null then
    if v_settings ->> 'dead_letter_queue' !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' then
      perform signalbox._refuse('dead_letter_queue', format('%s is not a queue name', v_settings -> 'dead_letter_queue'));
    end if;
    if v_settings ->> 'dead_letter_queue' = v_queue.name then
      perform signalbox._refuse('dead_letter_queue', 'is the queue itself');
    end if;
    v_dead_letter_queue_id := signalbox._make_dead_letter_queue(v_settings ->> 'dead_letter_queue', v_queue.tenant_id);
    if v_dead_letter_queue_id is null then
      perform signalbox._refuse_unknown_queue(v_settings ->> 'dead_letter_queue');  -- another tenant's is not found
    elsif v_dead_letter_queue_id = v_queue.queue_id then
      perform signalbox._refuse('dead_letter_queue', 'is the queue itself');
    end if;
    v_settings := v_settings || jsonb_build_object(
      'dead_letter_queue', (select q.name from signalbox.queue q where q.queue_id = v_dead_letter_queue_id)
    );
  end if;
  perform signalbox._check_lanes(v_queue, v_settings);
  if v_settings ->> 'mode' <> v_queue.mode and not p_is_new then
    perform signalbox._refuse_unless_deserted(v_queue);
  end if;
  perform signalbox._audit_configuration(v_queue, v_settings);
  v_queue := jsonb_populate_record(v_queue, v_settings);
  update signalbox.queue q
  set visibility_timeout_seconds = v_queue.visibility_timeout_seconds,
    max_receives = v_queue.max_receives,
    dead_letter_queue = v_queue.dead_letter_queue,
    retention_seconds = v_queue.retention_seconds,
    delay_seconds = v_queue.delay_seconds,
    mode = v_queue.mode,
    lane_max_in_flight = v_queue.lane_max_in_flight,
    lane_release_interval_seconds = v_queue.lane_release_interval_seconds,
    lane_max_waiting = v_queue.lane_max_waiting,
    block_lane_on_dead = v_queue.block_lane_on_dead,
    backoff_base_seconds = v_queue.backoff_base_seconds,
    backoff_cap_seconds = v_queue.backoff_cap_seconds,
    jitter = v_queue.jitter,
    aging_seconds = v_queue.aging_seconds,
    dedup_window_seconds = v_queue.dedup_window_seconds,
    dedup_scope = v_queue.dedup_scope,
    max_payload_bytes = v_queue.max_payload_bytes,
    max_backlog_messages = v_queue.max_backlog_messages,
    max_backlog_bytes = v_queue.max_backlog_bytes,
    max_oldest_age_seconds = v_queue.max_oldest_age_seconds,
    max_in_flight = v_queue.max_in_flight,
    publish_rate_per_second = v_queue.publish_rate_per_second,
    paused = v_queue.paused,
    closed = v_queue.closed,
    alert_oldest_age_seconds = v_queue.alert_oldest_age_seconds,
    alert_dead_letters = v_queue.alert_dead_letters,
    alert_dead_letters_per_minute = v_queue.alert_dead_letters_per_minute,
    alert_no_consumers_seconds = v_queue.alert_no_consumers_seconds,
    alert_drain_seconds = v_queue.alert_drain_seconds,
    alert_lease_age_seconds = v_queue.alert_lease_age_seconds,
    alert_redelivery_ratio = v_queue.alert_redelivery_ratio,
    warn_every_seconds = v_queue.warn_every_seconds,
    wait_target_seconds = v_queue.wait_target_seconds,
    wait_target_ratio = v_queue.wait_target_ratio
  where q.queue_id = v_queue.queue_id;
  if v_settings ?| array['mode', 'lane_max_in_flight', 'lane_release_interval_seconds'] then
    if v_queue.mode = 'fifo' or v_queue.lane_max_in_flight > 0 then
      perform signalbox._make_lane_heads(v_queue.queue_id);
    end if;
    perform signalbox.hint_lanes(v_queue.queue_id);
  end if;
  if v_settings ? 'block_lane_on_dead' and not v_queue.block_lane_on_dead then
    perform pg_advisory_xact_lock(hashtext('signalbox.holds_groups'), v_queue.queue_id);
    perform signalbox._leave_lanes(array(
      select d.message_id
      from signalbox.dead_letter d
      where d.source_queue_id = v_queue.queue_id
        and exists (select from signalbox.lane_slot s where s.message_id = any(array[d.message_id]))
      order by d.dead_letter_id
      for update -- one that is being redriven keeps its slot: it goes first, and alone
    ));
  end if;
  return v_queue.queue_id;
end $$;

-- What the settings of lanes ask of the others: an order that began otherwise cannot be kept, and FIFO knows no delay.
create or replace function signalbox._check_lanes(p_queue signalbox.queue, p_settings jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_new signalbox.queue := jsonb_populate_record(p_queue, p_settings);
begin
  if (v_new.mode = 'fifo' or v_new.lane_max_in_flight > 0)
    and (p_queue.is_dead_letter_queue or exists (select from signalbox.queue q where q.dead_letter_queue_id = p_queue.queue_id))
  then
    if v_new.mode = 'fifo' then
      perform signalbox._refuse('mode', 'of a dead-letter queue is standard');
    end if;
    perform signalbox._refuse('lane_max_in_flight', 'of a dead-letter queue is 0');
  end if;
  if v_new.block_lane_on_dead and v_new.mode <> 'fifo' then
    perform signalbox._refuse('block_lane_on_dead', 'needs a FIFO queue: elsewhere no message waits for one before it');
  end if;
  if v_new.mode = 'fifo' and v_new.delay_seconds > 0 then
    perform signalbox._refuse_fifo_delay();
  end if;
end $$;

-- Refuses to change the mode of a queue that holds messages, or that somebody may still put messages into as its mode was. So
-- the queue must be closed, by a transaction that is committed, and those that may have begun before must have ended. The
-- tables are looked at last, by a new statement: it sees what those have left.
create or replace function signalbox._refuse_unless_deserted(p_queue signalbox.queue) returns void
language plpgsql
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  if not signalbox._was_closed(p_queue.queue_id) then
    perform signalbox._refuse('mode', 'can be changed only while the queue is closed and empty: first set closed to true, in a transaction of its own');
  end if;
  if not signalbox._claim_queue(p_queue.queue_id)
    or not signalbox._outlive(signalbox.open_transactions())
    or not signalbox._outlive(signalbox._prepared_messages())
  then
    perform signalbox._refuse('mode', 'cannot be changed while transactions are open that may have found the queue open: try again when they have ended');
  end if;
  if exists (select from signalbox.ready r where r.queue_id = p_queue.queue_id)
    or exists (select from signalbox.scheduled s where s.queue_id = p_queue.queue_id)
    or exists (select from signalbox.waiting w where w.queue_id = p_queue.queue_id)
    or exists (select from signalbox.lease l where l.queue_id = p_queue.queue_id)
  then
    perform signalbox._refuse('mode', 'can be changed only while the queue is empty');
  end if;
end $$;

-- Wait until these transactions have ended, two seconds at most; whether they have.
create or replace function signalbox._outlive(p_transactions text[]) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  c_patience constant interval := '2 s';
  c_pause_seconds constant double precision := 0.02;
  v_ends_at timestamptz := clock_timestamp() + c_patience;
begin
  while signalbox.open_transactions() && p_transactions loop
    if clock_timestamp() > v_ends_at then
      return false;
    end if;
    perform pg_sleep(c_pause_seconds);
  end loop;
  return true;
end $$;

-- Settings as given, or an error that names the first that is wrong. Table: setting_definition.
create or replace function signalbox._check_settings(p_settings jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_given record;
  v_kind text;
begin
  if p_settings is null or jsonb_typeof(p_settings) <> 'object' then
    perform signalbox._refuse('settings', 'must be a JSON object of setting names and values');
  end if;
  for v_given in
    select s.key, s.value, d.kind, d.minimum, d.maximum, d.choices, jsonb_typeof(s.value) as given_kind, d.name is not null as known,
      d.default_value
    from jsonb_each(p_settings) s
    left join signalbox.setting_definition d on d.name = s.key
    order by s.key
  loop
    v_kind := v_given.kind;
    if not v_given.known then
      perform signalbox._refuse(left(v_given.key, 60), format('is not a setting; settings are %s',
        (select string_agg(d.name, ', ' order by d.name) from signalbox.setting_definition d)));
    elsif v_given.given_kind = 'null' and v_kind = 'text' then
      continue;
    elsif v_kind in ('number', 'integer') and v_given.given_kind <> 'number' then
      perform signalbox._refuse(v_given.key, format('is %s: it must be a number', v_given.value));
    elsif v_kind = 'integer' and (v_given.value #>> '{}')::numeric <> trunc((v_given.value #>> '{}')::numeric) then
      perform signalbox._refuse(v_given.key, format('is %s: it must be a whole number', v_given.value));
    elsif v_kind in ('number', 'integer')
      and ((v_given.value #>> '{}')::numeric < v_given.minimum::numeric or (v_given.value #>> '{}')::numeric > v_given.maximum::numeric)
    then
      perform signalbox._refuse(v_given.key, format('is %s: it must be from %s to %s', v_given.value, v_given.minimum, v_given.maximum));
    elsif v_kind = 'number' and not exists (
      select from unnest(coalesce(v_given.choices, array[v_given.value #>> '{}'])) c where c::numeric = (v_given.value #>> '{}')::numeric
    ) then
      perform signalbox._refuse(v_given.key, format('is %s: it must be one of %s', v_given.value, array_to_string(v_given.choices, ', ')));
    elsif v_kind = 'boolean' and v_given.given_kind <> 'boolean' then
      perform signalbox._refuse(v_given.key, format('is %s: it must be true or false', v_given.value));
    elsif v_kind in ('text', 'choice') and v_given.given_kind <> 'string' then
      perform signalbox._refuse(v_given.key, format('is %s: it must be text', left(v_given.value::text, 80)));
    elsif v_kind = 'choice' and not (v_given.value #>> '{}') = any(v_given.choices) then
      perform signalbox._refuse(v_given.key, format('is %s: it must be one of %s', left(v_given.value::text, 80), array_to_string(v_given.choices, ', ')));
    end if;
  end loop;
  return p_settings;
end $$;

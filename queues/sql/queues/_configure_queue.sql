-- Configure a queue as configure_queue does, with settings that were checked. A queue that this transaction has made is
-- known to no other, and empty.
create or replace function signalbox._configure_queue(p_queue_id integer, p_settings jsonb, p_is_new boolean)
returns integer
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
      perform signalbox._refuse(
        'dead_letter_queue', format('%s is not a queue name', v_settings -> 'dead_letter_queue')
      );
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
  perform signalbox._check_ordered_settings(v_queue, v_settings);
  if v_settings ->> 'mode' <> v_queue.mode and v_queue.admission_flags & {flag.is_placed} > 0 and not p_is_new then
    perform signalbox._refuse('mode', 'cannot be changed while the queue is on several cells');
  end if;
  if v_settings ->> 'mode' <> v_queue.mode and not p_is_new then
    perform signalbox._refuse_unless_deserted(v_queue);
  end if;
  perform signalbox._audit_configuration(v_queue, v_settings);
  v_queue := jsonb_populate_record(v_queue, v_settings);
  update signalbox.queue q
  set {settings.from:v_queue}
  where q.queue_id = v_queue.queue_id;
  if v_settings ?| array['mode', 'group_max_in_flight', 'group_release_interval_seconds', 'fair_groups'] then
    if v_queue.mode = 'fifo' or v_queue.group_max_in_flight > 0 or v_queue.fair_groups then
      perform signalbox._make_group_claim_floors(v_queue.queue_id);
    end if;
    perform signalbox.hint_lanes(v_queue.queue_id);
  end if;
  if v_settings ? 'fifo_block_on_dead_letter' and not v_queue.fifo_block_on_dead_letter then
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

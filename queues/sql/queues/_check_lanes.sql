-- Check that the settings of message groups agree: a queue that keeps dead letters has no groups, only a FIFO queue can
-- block on a dead letter, and a FIFO queue has no delay.
create or replace function signalbox._check_lanes(p_queue signalbox.queue, p_settings jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_new signalbox.queue := jsonb_populate_record(p_queue, p_settings);
begin
  if (v_new.mode = 'fifo' or v_new.group_max_in_flight > 0 or v_new.fair_groups)
    and (
      p_queue.is_dead_letter_queue
        or exists (select from signalbox.queue q where q.dead_letter_queue_id = p_queue.queue_id)
    )
  then
    if v_new.mode = 'fifo' then
      perform signalbox._refuse('mode', 'of a dead-letter queue is standard');
    end if;
    if v_new.group_max_in_flight > 0 then
      perform signalbox._refuse('group_max_in_flight', 'of a dead-letter queue is 0');
    end if;
    perform signalbox._refuse('fair_groups', 'of a dead-letter queue is no');
  end if;
  if v_new.fifo_block_on_dead_letter and v_new.mode <> 'fifo' then
    perform signalbox._refuse(
      'fifo_block_on_dead_letter', 'needs a FIFO queue: elsewhere no message waits for one before it'
    );
  end if;
  if v_new.mode = 'fifo' and v_new.delay_seconds > 0 then
    perform signalbox._refuse_fifo_delay();
  end if;
end $$;

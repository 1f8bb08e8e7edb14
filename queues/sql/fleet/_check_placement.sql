-- Refuse messages that belong to another cell, in the send's own transaction and by this cell's copy of the directory:
-- SB421, whose detail is a JSON object. The key of a message is its group id, otherwise its deduplication id; in a FIFO
-- queue the messages without a group are one group. A message without a key can go to any cell that takes a part.
create or replace function signalbox._check_placement(
  p_queue text, p_mode text, p_group_ids text[], p_deduplication_ids text[], p_count integer
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_other record;
begin
  with needed as (
    select distinct signalbox._partition_of(
      coalesce(p_group_ids[i], case when p_mode = 'fifo' then '' else p_deduplication_ids[i] end),
      {fleet.partitions}
    ) as partition
    from generate_series(1, p_count) i
  )
  select n.partition, p.cell, p.epoch, p.state, d.version, d.cell as here
  into v_other
  from needed n
  cross join signalbox.fleet_directory d
  left join signalbox.fleet_placement p on p.queue = p_queue and p.partition = n.partition
  where case
    when n.partition is not null then p.cell is distinct from d.cell or p.state = 'closing'
    else not exists (
      select from signalbox.fleet_placement t where t.queue = p_queue and t.cell = d.cell and t.state <> 'closing'
    )
  end
  order by n.partition
  limit 1;
  if found then
    perform signalbox._refuse_moved(
      p_queue, v_other.here, v_other.partition, v_other.cell, v_other.epoch, v_other.state, v_other.version
    );
  end if;
end $$;

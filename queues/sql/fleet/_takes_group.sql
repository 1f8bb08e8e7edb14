-- Return whether this cell takes messages of this group of a queue on several cells; for a message without a group,
-- whether it takes a partition at all. In a cell that does not, no consumer would ask for the message, or the order of
-- its group would be lost.
create or replace function signalbox._takes_group(p_queue text, p_mode text, p_group_id text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
    from signalbox.fleet_placement p, signalbox.fleet_directory d
    where p.queue = p_queue and p.cell = d.cell and p.state <> 'closing' and p.partition = coalesce(
        signalbox._partition_of(coalesce(p_group_id, case p_mode when 'fifo' then '' end), {fleet.partitions}),
        p.partition
      )
  )
$$;

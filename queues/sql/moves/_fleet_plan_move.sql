-- Enter moves of these partitions to a cell, one for each cell that has
-- some of them. Returns their ids; partitions that are there already need none. In the directory's home only. A
-- partition is in one move at a time.
create or replace function signalbox._fleet_plan_move(queue text, partitions integer[], cell text, actor text)
returns setof integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_other integer;
begin
  perform signalbox._next_version(); -- one writer at a time
  if not exists (select from signalbox.fleet_queue f where f.queue = _fleet_plan_move.queue) then
    perform signalbox._refuse(
      'queue', format('%s is not placed: place it first', quote_literal(_fleet_plan_move.queue))
    );
  end if;
  if not exists (select from signalbox.fleet_cell c where c.name = _fleet_plan_move.cell) then
    perform signalbox._refuse('cell', format('%s is no cell of the fleet', quote_literal(_fleet_plan_move.cell)));
  end if;
  if coalesce(cardinality(_fleet_plan_move.partitions), 0) = 0
    or exists (
      select from unnest(_fleet_plan_move.partitions) p where (p between 0 and {fleet.partitions} - 1) is not true
    )
  then
    perform signalbox._refuse('partitions', format('must be numbers from 0 to %s', {fleet.partitions} - 1));
  end if;
  perform signalbox._check_movable(q) from signalbox.queue q where q.name = _fleet_plan_move.queue;
  select m.move_id into v_other
  from signalbox.fleet_move m
  where m.queue = _fleet_plan_move.queue and m.ended_at is null
    and m.partitions::integer[] && _fleet_plan_move.partitions
  order by m.move_id
  limit 1;
  if found then
    perform signalbox._refuse('partitions', format('are in the move %s, which has not ended', v_other));
  end if;
  return query
  insert into signalbox.fleet_move (queue, partitions, from_cell, to_cell, started_by)
  select p.queue, array_agg(p.partition order by p.partition), p.cell, _fleet_plan_move.cell, _fleet_plan_move.actor
  from signalbox.fleet_placement p
  where p.queue = _fleet_plan_move.queue and p.partition = any(_fleet_plan_move.partitions)
    and p.cell <> _fleet_plan_move.cell
  group by p.queue, p.cell
  order by p.cell
  returning move_id;
end $$;

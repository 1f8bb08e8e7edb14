-- Raise SB421: another cell takes this part of the queue, or soon will. The detail says which, and how new this cell's
-- copy of the directory is; `retry_after` is set while no cell takes the part.
create or replace function signalbox._refuse_moved(
  p_queue text, p_here text, p_partition integer, p_cell text, p_epoch bigint, p_state text, p_version bigint
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB421',
    message = case
      when p_partition is null then format('cell %s takes no message of the queue %s', p_here, quote_literal(p_queue))
      when p_state = 'closing' then
        format('partition %s of the queue %s is moving to cell %s', p_partition, quote_literal(p_queue), p_cell)
      else format('partition %s of the queue %s is on cell %s', p_partition, quote_literal(p_queue), p_cell)
    end,
    detail = json_build_object(
      'version', p_version,
      'partition', p_partition,
      'cell', p_cell,
      'epoch', p_epoch,
      'retry_after', case when p_state = 'closing' then 0.05 end
    ),
    hint = 'Read the directory again, and send to that cell.',
    column = 'queue';
end $$;

-- Refuse a queue on several cells as an end of a subscription: the copies would be made in one cell only.
create or replace function signalbox._refuse_placed(p_field text, p_queue signalbox.queue) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_queue.admission_flags & {flag.is_placed} > 0 then
    perform signalbox._refuse(
      p_field, format('is %s, a queue on several cells: it cannot be an end of a subscription', quote_literal(p_queue.name))
    );
  end if;
end $$;

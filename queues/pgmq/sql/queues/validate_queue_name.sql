-- validate_queue_name(queue_name): raise SB400 for a name that no queue can have. The words for a
-- long name are pgmq's: programs look for them.
create or replace function pgmq.validate_queue_name(queue_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(validate_queue_name.queue_name) > 47 then
    perform signalbox._refuse('queue_name', format(
      'is %s: the queue name is too long, maximum length is 47 characters',
      quote_literal(left(validate_queue_name.queue_name, 120))
    ));
  end if;
  if (validate_queue_name.queue_name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,46}$') is not true then
    perform signalbox._refuse('queue_name', format(
      'is %s: it must have 1 to 47 letters, digits, dots, dashes and underscores, and start with a letter or digit',
      coalesce(quote_literal(left(validate_queue_name.queue_name, 120)), 'null')
    ));
  end if;
end $$;

-- Raise the refusal of a verb that needs READ COMMITTED (SB425).
create or replace function signalbox._refuse_isolation(p_verb text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB425',
    message = format(
      '%s needs a READ COMMITTED transaction, this one is %s', p_verb, upper(current_setting('transaction_isolation'))
    ),
    hint = 'It must see what others have just committed. Call it in a transaction of its own.';
end $$;

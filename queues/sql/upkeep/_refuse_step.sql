-- Raise the refusal of an unknown step, with the steps that exist.
create or replace function signalbox._refuse_step(p_step text, p_steps text[]) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._refuse(
    'step', format('is %s: it must be one of %s', quote_literal(left(p_step, 60)), array_to_string(p_steps, ', '))
  );
  return null;
end $$;

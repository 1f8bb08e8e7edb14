-- Check pairs of settings of which one is at most the other. A pair is checked when one of its settings is given, so
-- that the other settings of a queue that breaks a rule can still be changed.
create or replace function signalbox._check_ordered_settings(p_queue signalbox.queue, p_settings jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_new signalbox.queue := jsonb_populate_record(p_queue, p_settings);
  v_pair record;
begin
  for v_pair in
    select *
    from (values {settings.ordered:v_new}) p(smaller, larger, smaller_value, larger_value)
    where p_settings ?| array[p.smaller, p.larger] and p.smaller_value > p.larger_value
  loop
    if p_settings ? v_pair.smaller then
      perform signalbox._refuse(v_pair.smaller, format(
        'is %s: it must be at most %s, which is %s', v_pair.smaller_value, v_pair.larger, v_pair.larger_value
      ));
    end if;
    perform signalbox._refuse(v_pair.larger, format(
      'is %s: it must be at least %s, which is %s', v_pair.larger_value, v_pair.smaller, v_pair.smaller_value
    ));
  end loop;
end $$;

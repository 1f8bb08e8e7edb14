-- Raise SB503: maintenance refuses sends. The detail says until when.
create or replace function signalbox._refuse_in_maintenance() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_maintenance signalbox.maintenance;
begin
  select * into v_maintenance from signalbox.maintenance m;
  raise exception using
    errcode = 'SB503',
    message = format('maintenance by %s refuses sends: %s', v_maintenance.started_by, v_maintenance.reason),
    detail = json_build_object(
      'until', v_maintenance.until,
      'retry_after', case
        when v_maintenance.until > clock_timestamp()
          then greatest(extract(epoch from v_maintenance.until - clock_timestamp()), 1)
      end
    ),
    hint = 'Send it again when it has ended.',
    column = 'queue';
end $$;

-- report_schedule(application, sender, entries): store the schedule of an application's Celery beat for the console, in
-- place of the schedule that it reported before. `entries` is a list of at most 1,000 objects with name, task, queue,
-- schedule, last_at and next_at. Also deletes schedules that were last reported more than a week ago. Index:
-- beat_schedule_pkey.
create or replace function signalbox.report_schedule(application text, sender text, entries jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if report_schedule.application is null or length(report_schedule.application) not between 1 and 200 then
    perform signalbox._refuse('application', 'must have from 1 to 200 characters');
  end if;
  if report_schedule.sender is null or length(report_schedule.sender) not between 1 and 200 then
    perform signalbox._refuse('sender', 'must have from 1 to 200 characters');
  end if;
  if jsonb_typeof(report_schedule.entries) is distinct from 'array'
    or octet_length(report_schedule.entries::text) > 1048576 then
    perform signalbox._refuse('entries', 'must be a list of at most 1048576 bytes');
  end if;
  if jsonb_array_length(report_schedule.entries) > 1000 then
    perform signalbox._refuse('entries', 'must have at most 1000 entries');
  end if;
  insert into signalbox.beat_schedule as b (application, sender, entries, reported_at)
  values (report_schedule.application, report_schedule.sender, report_schedule.entries, clock_timestamp())
  on conflict (application) do update
  set sender = excluded.sender, entries = excluded.entries, reported_at = excluded.reported_at;
  delete from signalbox.beat_schedule b
  where b.application = any(array(
    select o.application
    from signalbox.beat_schedule o
    where o.reported_at < clock_timestamp() - interval '7 days'
    for update skip locked
  ));
end $$;

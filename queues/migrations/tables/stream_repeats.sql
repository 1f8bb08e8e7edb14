-- Counts, for each stream, the appends that were answered with the place of an earlier message.
alter table signalbox.stream add column if not exists repeats regclass;

-- Streams that exist already get their sequence, with the grants of the sequence of turns.
do $$
declare
  v_stream record;
  v_grant record;
begin
  for v_stream in
    select s.stream_id, s.turn, format('signalbox.stream_repeats_%s', s.stream_id) as name
    from signalbox.stream s
    where s.repeats is null and s.turn is not null
  loop
    execute format('create sequence %s', v_stream.name);
    for v_grant in
      select a.privilege_type, a.grantee::regrole as grantee
      from pg_class c
      cross join lateral aclexplode(c.relacl) a
      where c.oid = v_stream.turn and a.grantee not in (0, c.relowner)
    loop
      execute format('grant %s on sequence %s to %s', v_grant.privilege_type, v_stream.name, v_grant.grantee);
    end loop;
    update signalbox.stream s set repeats = v_stream.name::regclass where s.stream_id = v_stream.stream_id;
  end loop;
end $$;

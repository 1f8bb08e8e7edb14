-- Messages of streams that point to a large body. Only these have a row, so the log of a stream has no column and no
-- index for them. `appended_at` is that of the message: the pointers of a segment are found by it.
create table if not exists signalbox.stream_body_pointer (
  stream_id integer not null,
  partition smallint not null,
  position bigint not null,
  sha256 bytea not null,
  bytes bigint not null,
  appended_at timestamptz not null,
  primary key (stream_id, partition, position)
);
create index if not exists stream_body_pointer_body on signalbox.stream_body_pointer (sha256);
create index if not exists stream_body_pointer_age on signalbox.stream_body_pointer (stream_id, appended_at)
  include (bytes);

-- Roles that append to streams or read them do so with large bodies too.
do $$
declare
  v_grant record;
begin
  for v_grant in
    select a.privilege_type, a.grantee::regrole as grantee
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'signalbox.stream_message'::regclass and a.grantee not in (0, c.relowner)
      and a.privilege_type in ('SELECT', 'INSERT')
  loop
    execute format('grant %s on table signalbox.stream_body_pointer to %s', v_grant.privilege_type, v_grant.grantee);
  end loop;
end $$;

-- Renew a member's lease. Writes at most twice in a lease, however often the member reads.
create or replace function signalbox._renew_member(p_group_id integer, p_member text, p_lease_seconds double precision)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from signalbox.group_member m
  where m.group_id = p_group_id and m.member = p_member
    and m.lease_seconds = coalesce(p_lease_seconds, m.lease_seconds)
    and m.lease_until > clock_timestamp() + m.lease_seconds / 2 * interval '1 second';
  if not found then
    insert into signalbox.group_member as m (group_id, member, lease_seconds, lease_until)
    values (
      p_group_id, p_member, coalesce(p_lease_seconds, 30),
      clock_timestamp() + coalesce(p_lease_seconds, 30) * interval '1 second'
    )
    on conflict (group_id, member) do update
    set lease_seconds = coalesce(p_lease_seconds, m.lease_seconds),
      lease_until = clock_timestamp() + coalesce(p_lease_seconds, m.lease_seconds) * interval '1 second';
  end if;
end $$;

-- Return why a message of the archive is held back; null: it is sent, and the locks of its deduplication id and its
-- body are held until the transaction ends.
create or replace function signalbox._kept_back(
  p_queue_id integer, p_most_bytes bigint, p_payload jsonb, p_deduplication_id text, p_body_sha256 bytea,
  p_repeats boolean
) returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bigint;
begin
  if signalbox._is_too_large(p_payload, p_payload::text, p_most_bytes) then
    return 'too_large';
  end if;
  if p_body_sha256 is not null then
    select b.bytes into v_bytes from signalbox.large_body b where b.sha256 = p_body_sha256 for key share skip locked;
    if not found then
      return 'large_body_gone';
    elsif v_bytes - 2 > signalbox._largest_body(p_queue_id, p_most_bytes) then
      return 'too_large';
    end if;
  end if;
  if p_deduplication_id is not null then
    if p_repeats or not pg_try_advisory_xact_lock(p_queue_id, hashtext(p_deduplication_id)) then
      return 'deduplication';
    end if;
    if exists (
      select from signalbox.dedup_in_flight k where k.queue_id = p_queue_id and k.deduplication_id = p_deduplication_id
    ) or exists (
      select from signalbox.dedup d
      where d.queue_id = p_queue_id and d.deduplication_id = p_deduplication_id and d.expires_at > clock_timestamp()
        and d.sent_at > clock_timestamp() - interval '24 hours'
    ) then
      return 'deduplication';
    end if;
  end if;
  return null;
end $$;

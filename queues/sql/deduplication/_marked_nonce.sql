-- The nonce of a claim whose messages may hold deduplication ids: a UUID of version 8 where others have 4, so that ack,
-- which has the nonce, looks for ids only there.
create or replace function signalbox._marked_nonce(p_nonce uuid) returns uuid
language sql immutable
begin atomic
  select overlay(p_nonce::text placing '8' from 15 for 1)::uuid;
end;

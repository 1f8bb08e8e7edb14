-- backoff_seconds(receive_count, base_seconds, cap_seconds, jitter): the pause before the next delivery: the base,
-- doubled for every earlier retry, capped, less a random share up to jitter.
create or replace function signalbox.backoff_seconds(
  receive_count int, base_seconds double precision, cap_seconds double precision, jitter double precision
) returns double precision
language sql volatile
begin atomic
  select least(
    cap_seconds, base_seconds * power(2::double precision, least(receive_count - 1, 60))
  ) * (1 - jitter * random());
end;

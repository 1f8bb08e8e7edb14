-- Raise SB429: the limit that would be exceeded, its scope, and in how many seconds to try again (null: never).
create or replace function signalbox._refuse_quota(
  p_who text,
  p_scope text,
  p_reason text,
  p_limit_name text,
  p_limit double precision,
  p_actual double precision,
  p_retry_after double precision
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB429',
    message = format(
      '%s of %s is %s, and this would make it %s', p_limit_name, p_who, p_limit::numeric, round(p_actual::numeric, 3)
    ),
    detail = json_build_object(
      'reason', p_reason, 'limit', p_limit, 'actual', p_actual, 'retry_after', p_retry_after, 'scope', p_scope
    ),
    hint = case
      when p_retry_after is null then 'It would not go later either: ask for less, or raise the limit.'
      else format('Try again in %s s.', trim_scale(round(p_retry_after::numeric, 3)))
    end,
    column = p_limit_name;
end $$;

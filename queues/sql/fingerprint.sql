-- fingerprint(reason, error_class, error, details): what failures have in common, whatever happened to be in them: the
-- reason, the class, the error with its numbers, ids and quoted values taken out, and the topmost frame of the stack in
-- details that is the application's own. The version stands in front: what an older one has named stays findable.
-- Looks at a bounded part of each text, with patterns that need no backtracking, and raises nothing.
create or replace function signalbox.fingerprint(reason text, error_class text, error text, details text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return 'v2:' || left(encode(sha256(convert_to(concat_ws(
      E'\n', coalesce(reason, ''), coalesce(left(error_class, 200), ''), coalesce(signalbox._normal_error(error), ''),
      coalesce(signalbox._top_frame(details), '')
    ), 'UTF8')), 'hex'), 16);
end $$;

-- Without a stack.
create or replace function signalbox.fingerprint(reason text, error_class text, error text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return signalbox.fingerprint(reason, error_class, error, null);
end $$;

-- An error with everything taken out that differs between two occurrences of the same one. In the "C" collation, so that
-- every server sees the same words.
create or replace function signalbox._normal_error(p_error text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
      left(p_error, 2000) collate "C",
      -- a quotation that was cut off, since what follows is not read
      case when length(p_error) > 2000 then '"[^"]*$|^$' else '^$' end, '"*"', ''),
      -- of an address on the web its host stays
      '([a-z][a-z0-9+.-]*://[^\s/?#"''()<>]+)[^\s"''()<>]*', '\1', 'gi'),
      '"[^"]*"|`[^`]*`|(?<![a-z0-9])''[^'']*''(?![a-z0-9])'                                              -- quoted values
      || '|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'                                  -- uuids
      || '|[a-z0-9_.+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*'                                                     -- e-mail
      || '|\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:z|utc|[+-]\d\d:?\d\d))?)?(?![a-z0-9])' -- moments
      || '|(?<![a-z0-9])[0-9a-f]{1,4}:(?:[0-9a-f]{0,4}:)+[0-9a-f]{0,4}(?![a-z0-9])'                       -- IPv6, MAC
      || '|0x[0-9a-f]+|(?<![a-z0-9])[0-9a-f]{8,}(?![a-z0-9])'                                             -- hexadecimal
      || '|(?<![a-z0-9._*~-])(?:[a-z]:)?(?:[/\\][a-z0-9_.@%+~*-]+){2,}[/\\]?'                             -- paths
      || '|[a-z]*\d+[a-z]+\d[a-z0-9]*'                                                                    -- mixed ids
      || '|[+-]?\d+(?:[.,_]\d+)*(?:e[+-]?\d+)?(?:st|nd|rd|th)?(?:%|\s?(?:ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?'
      || '|bytes?|[kmgt]?i?b)(?![a-z0-9_]))?',                                                            -- numbers, with units
      '*', 'gi'),
      '\*(?:[\s,;]*\*)+', '*', 'g'),                                                                      -- lists of them
      '\s+', ' ', 'g'), 500);
end $$;

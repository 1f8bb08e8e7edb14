-- outcome_name(outcome): the word for a code of settled.outcome: acked, purged, expired. Inlined by the planner.
create or replace function signalbox.outcome_name(outcome "char") returns text
language sql immutable
begin atomic
  select case outcome
    when {outcome.acked} then 'acked'
    when {outcome.purged} then 'purged'
    when {outcome.expired} then 'expired'
  end;
end;

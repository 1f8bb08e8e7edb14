-- The filter of a consumer group, as written and as compiled; and how many messages it has skipped.
alter table signalbox.consumer_group
  add column filter text not null default '',
  add column conditions jsonpath[] not null default '{}',
  add column negated boolean[] not null default '{}';
alter table signalbox.group_partition add column skipped bigint not null default 0;
